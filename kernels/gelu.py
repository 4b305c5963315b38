"""c10::gelu on the CPU, in NumPy."""

from __future__ import annotations

import math

import numpy as np

from ._common import floating_array, row_blocks, working_dtype

# The upper tail of the normal law is exp(-z*z/2) * P(z) / Q(z) for z >= 0: our own minimax
# fits, relative error 5e-7 on [0, 15] and 6e-17 on [0, 39]. Beyond, exp gives 0 anyway.
_SINGLE = (
    15.0,
    (0.499999791837739681, 0.36373058920593832, 0.120544862161338421, 0.0172884832158065439),
    (1.0, 1.52532522808960005, 0.958284411527212348, 0.301973748921962595, 0.0433402665749398362),
)
_DOUBLE = (
    39.0,
    (0.499999999999999975, 0.774891648765174446, 0.594072145544575621, 0.289351247463456905,
     0.0977077590744083056, 0.0236250097851358593, 0.00408986533255720504, 0.000490497500198005206,
     0.0000372614596417502766, 1.38602687784451079e-6),
    (1.0, 2.34766785833320422, 2.56131222914666477, 1.71446156905561337, 0.782091132326902088,
     0.254981990666353449, 0.060441664335127216, 0.0103451726991401089, 0.00123296915699254382,
     0.0000934006282899019811, 3.47425416141386929e-6),
)  # fmt: skip
_TANH_SCALE = math.sqrt(8 / math.pi)  # twice the usual factor: tanh becomes a logistic function
_TANH_CUBIC = 0.044715


def gelu_cpu(self: np.ndarray, *, approximate: str = "none") -> np.ndarray:
    """Each element of *self* times the normal law's distribution function at it.

    Keeps its relative precision for negative elements, where ``0.5 * x * (1 + erf(...))``
    cancels. The limits are taken at the ends: ``inf`` stays, ``-inf`` gives 0.

    Args:
        self: any array; not modified.
        approximate: ``"none"``, or ``"tanh"`` for the approximation of that name.

    Shapes:
        self ``[*]`` to ``[*]``.
    Dtypes:
        floating point; the result keeps the dtype, 16-bit types are computed in float32,
        types longer than 64 bits to the precision of float64.
    Cost:
        Reads the array once and writes the result once, in blocks that stay in cache.
    Raises:
        TypeError: *self* is not floating-point.
        ValueError: *approximate* is another word.
    Source:
        Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415.

    >>> gelu_cpu(np.array([-np.inf, 0.0, 1.0])).round(4)
    array([0.    , 0.    , 0.8413])
    """
    self = floating_array("self", self)
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate must be 'none' or 'tanh', got {approximate!r}")
    tail = _normal_tail if approximate == "none" else _tanh_tail
    values = self.reshape(-1)
    out = np.empty(values.shape, self.dtype)
    work = working_dtype(self.dtype)
    with np.errstate(all="ignore"):  # underflow and overflow towards the tails
        for part in row_blocks(len(values), work.itemsize):
            block = values[part].astype(work, copy=False)
            z = np.minimum(np.abs(block), _constants(work)[0])
            weight = tail(z)
            weight *= z
            # x * cdf(x) without cancellation: x - x * tail above zero, -|x| * tail below.
            out[part] = np.subtract(np.maximum(block, 0), weight, out=weight)
    return out.reshape(self.shape)


def _constants(dtype: np.dtype) -> tuple[float, tuple[float, ...], tuple[float, ...]]:
    return _SINGLE if dtype.itemsize == 4 else _DOUBLE


def _normal_tail(z: np.ndarray) -> np.ndarray:
    """The upper tail of the normal law beyond *z*, where z >= 0."""
    _, numerator, denominator = _constants(z.dtype)
    tail = np.square(z)
    tail *= -0.5
    np.exp(tail, out=tail)
    tail *= _polynomial(numerator, z)
    tail /= _polynomial(denominator, z)
    return tail


def _tanh_tail(z: np.ndarray) -> np.ndarray:
    """What the tanh approximation puts in the place of the normal tail."""
    u = np.square(z)
    u *= _TANH_CUBIC * _TANH_SCALE
    u += _TANH_SCALE
    u *= z
    np.exp(u, out=u)
    u += 1
    return np.reciprocal(u, out=u)


def _polynomial(coefficients: tuple[float, ...], z: np.ndarray) -> np.ndarray:
    """Horner's scheme, lowest coefficient first."""
    value = z * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        value += coefficient
        value *= z
    value += coefficients[0]
    return value
