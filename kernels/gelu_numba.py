"""c10::gelu on the CPU, compiled by numba."""

from __future__ import annotations

import numpy as np
from numba import njit, prange, types
from numba.extending import overload

from ._common import floating_array
from ._numba import compiled, compiled_input, launch

_THRESHOLD = 32 * 1024  # elements; below, waking the threads costs more than they save
_CHUNK = 16 * 1024  # elements per task


def gelu_numba(self: np.ndarray, *, approximate: str = "none") -> np.ndarray:
    """Each element of *self* times the normal law's distribution function at it.

    Keeps its relative precision for negative elements, where ``0.5 * x * (1 + erf(...))``
    cancels. The limits are taken at the ends: ``inf`` stays, ``-inf`` gives 0.

    Args:
        self: any array; not modified.
        approximate: ``"none"``, or ``"tanh"`` for the approximation of that name.

    Shapes:
        self ``[*]`` to ``[*]``.
    Dtypes:
        floating point up to 64 bits; the result keeps the dtype, 16-bit types are
        computed in float32.
    Cost:
        Reads the array once and writes the result once; a copy first if it is not contiguous.
    Raises:
        TypeError: *self* is not floating-point, or longer than 64 bits.
        ValueError: *approximate* is another word.
    Source:
        Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415.

    >>> gelu_numba(np.array([-np.inf, 0.0, 1.0])).round(4)
    array([0.    , 0.    , 0.8413])
    """
    array = floating_array("self", self)
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate must be 'none' or 'tanh', got {approximate!r}")
    values = compiled_input("self", array).reshape(-1)
    out = np.empty_like(values)
    launch(_serial, _parallel, values.size >= _THRESHOLD, values, out, approximate == "tanh")
    return out.astype(array.dtype, copy=False).reshape(array.shape)


# Only "contract" (a fused multiply-add) is allowed of the fast-math flags: the others may assume
# that nan and inf do not occur, or undo the rounding that _exp relies on. The error model "numpy"
# spares the test for a zero divisor, whose branch would keep LLVM from vectorising.


@njit(error_model="numpy", fastmath={"contract"}, forceinline=True)
def _exp_single(x):
    """Exp(x) for x <= 0 within one unit in the last place; plain arithmetic, so that LLVM vectorises it."""
    # Results below the smallest normal number become 0: making subnormals takes a hundred times as long.
    kept = np.float32(-87.3) if x < np.float32(-87.3) else x  # nan is not below, and passes
    # Adding 1.5 * 2**23 rounds x / log(2) to a whole number, which is then in the low bits.
    shifted = kept * np.float32(1.4426950408889634) + np.float32(12582912.0)
    whole = shifted - np.float32(12582912.0)
    exponent = np.int32(np.float32(shifted).view(np.int32) - 0x4B400000)
    r = kept - whole * np.float32(0.693145751953125)
    r = r - whole * np.float32(1.428606765330187e-06)
    p = np.float32(0.00138145488366848434)
    p = p * r + np.float32(0.0083687156031713059)
    p = p * r + np.float32(0.0416683886921654024)
    p = p * r + np.float32(0.166665206276775043)
    p = p * r + np.float32(0.499999934451631833)
    p = p * r + np.float32(1.0)
    p = p * r + np.float32(1.0)
    power = np.int32((exponent + 127) << 23).view(np.float32)
    return np.float32(0.0) if x < np.float32(-87.3) else p * power


@njit(error_model="numpy", fastmath={"contract"}, forceinline=True)
def _exp_double(x):
    """Exp(x) for x <= 0; as _exp_single, with 1.5 * 2**52."""
    kept = -708.3 if x < -708.3 else x
    shifted = kept * 1.4426950408889634 + 6755399441055744.0
    whole = shifted - 6755399441055744.0
    exponent = np.float64(shifted).view(np.int64) - 0x4338000000000000
    r = kept - whole * 0.6931471803691238
    r = r - whole * 1.9082149292705877e-10
    p = 2.50003542088164553e-8
    p = p * r + 2.76302349651430012e-7
    p = p * r + 2.75575854010708789e-6
    p = p * r + 0.0000248014931324751571
    p = p * r + 0.000198412695077145228
    p = p * r + 0.00138888889436021561
    p = p * r + 0.00833333333349392069
    p = p * r + 0.0416666666665302457
    p = p * r + 0.166666666666664134
    p = p * r + 0.500000000000001062
    p = p * r + 1.0
    p = p * r + 1.0
    power = np.int64((exponent + 1023) << 52).view(np.float64)
    return 0.0 if x < -708.3 else p * power


# The upper tail of the normal law is exp(-z*z/2) * P(z) / Q(z) for z >= 0: our own minimax
# fits, relative error 5e-7 on [0, 15] and 6e-17 on [0, 39]. Beyond, the exponential is 0 anyway.


@njit(error_model="numpy", fastmath={"contract"}, forceinline=True)
def _gelu_single(x):
    """Gelu of a float32: x - x * tail(x) above zero, -|x| * tail(|x|) below, which does not cancel."""
    z = abs(x)
    z = np.float32(15.0) if z > np.float32(15.0) else z
    p = np.float32(0.0172884832158065439)
    p = p * z + np.float32(0.120544862161338421)
    p = p * z + np.float32(0.36373058920593832)
    p = p * z + np.float32(0.499999791837739681)
    q = np.float32(0.0433402665749398362)
    q = q * z + np.float32(0.301973748921962595)
    q = q * z + np.float32(0.958284411527212348)
    q = q * z + np.float32(1.52532522808960005)
    q = q * z + np.float32(1.0)
    above = np.float32(0.0) if x < np.float32(0.0) else x
    return above - z * _exp_single(z * z * np.float32(-0.5)) * p / q


@njit(error_model="numpy", fastmath={"contract"}, forceinline=True)
def _gelu_double(x):
    """Gelu of a float64, as _gelu_single."""
    z = abs(x)
    z = 39.0 if z > 39.0 else z
    p = 1.38602687784451079e-6
    p = p * z + 0.0000372614596417502766
    p = p * z + 0.000490497500198005206
    p = p * z + 0.00408986533255720504
    p = p * z + 0.0236250097851358593
    p = p * z + 0.0977077590744083056
    p = p * z + 0.289351247463456905
    p = p * z + 0.594072145544575621
    p = p * z + 0.774891648765174446
    p = p * z + 0.499999999999999975
    q = 3.47425416141386929e-6
    q = q * z + 0.0000934006282899019811
    q = q * z + 0.00123296915699254382
    q = q * z + 0.0103451726991401089
    q = q * z + 0.060441664335127216
    q = q * z + 0.254981990666353449
    q = q * z + 0.782091132326902088
    q = q * z + 1.71446156905561337
    q = q * z + 2.56131222914666477
    q = q * z + 2.34766785833320422
    q = q * z + 1.0
    above = 0.0 if x < 0.0 else x
    return above - z * _exp_double(z * z * -0.5) * p / q


# In the tanh approximation the tail is 1 / (1 + exp(u)) with u = sqrt(8/pi) * (z + 0.044715 z**3).


@njit(error_model="numpy", fastmath={"contract"}, forceinline=True)
def _gelu_tanh_single(x):
    """The tanh approximation of a float32."""
    z = abs(x)
    z = np.float32(15.0) if z > np.float32(15.0) else z
    e = _exp_single(z * (z * z * np.float32(-0.07135481627260025) + np.float32(-1.5957691216057308)))
    above = np.float32(0.0) if x < np.float32(0.0) else x
    return above - z * e / (np.float32(1.0) + e)


@njit(error_model="numpy", fastmath={"contract"}, forceinline=True)
def _gelu_tanh_double(x):
    """The tanh approximation of a float64."""
    z = abs(x)
    z = 39.0 if z > 39.0 else z
    e = _exp_double(z * (z * z * -0.07135481627260025 + -1.5957691216057308))
    above = 0.0 if x < 0.0 else x
    return above - z * e / (1.0 + e)


def _gelu(x):
    """Stands for the function of the type of *x* in compiled code, where it is chosen by overload."""
    return _gelu_double.py_func(x)


def _gelu_tanh(x):
    """As _gelu, for the tanh approximation."""
    return _gelu_tanh_double.py_func(x)


@overload(_gelu, jit_options={"forceinline": True})
def _choose_gelu(x):
    return (lambda x: _gelu_single(x)) if x == types.float32 else (lambda x: _gelu_double(x))


@overload(_gelu_tanh, jit_options={"forceinline": True})
def _choose_gelu_tanh(x):
    return (lambda x: _gelu_tanh_single(x)) if x == types.float32 else (lambda x: _gelu_tanh_double(x))


# The loops run over whole slices, from 0 to size: with a start that might be negative numba wraps
# every index around, and LLVM no longer vectorises.


@compiled(nogil=True)
def _serial(values, out, tanh):
    if tanh:
        for i in range(values.size):
            out[i] = _gelu_tanh(values[i])
    else:
        for i in range(values.size):
            out[i] = _gelu(values[i])


@compiled(nogil=True, parallel=True)
def _parallel(values, out, tanh):
    for chunk in prange((values.size + _CHUNK - 1) // _CHUNK):
        part = slice(chunk * _CHUNK, (chunk + 1) * _CHUNK)
        _serial(values[part], out[part], tanh)
