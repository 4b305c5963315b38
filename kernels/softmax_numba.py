"""c10::softmax on the CPU, compiled by numba."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange, types
from numba.extending import overload

from ._common import axis_index, floating_array
from ._numba import compiled, compiled_input, launch

_THRESHOLD = 32 * 1024  # elements; below, waking the threads costs more than they save
_CHUNK = 16 * 1024  # elements per task
_WIDTH = 256  # columns done together where dim is not the last axis: a few cache lines of every row


def softmax_numba(self: np.ndarray, dim: int = -1) -> np.ndarray:
    """Exponentials of *self* divided by their sum along *dim*.

    The maximum along *dim* is subtracted first, so the exponential never overflows.
    A slice that holds ``nan`` or ``inf``, or nothing but ``-inf``, becomes ``nan``.

    Args:
        self: scores; not modified.
        dim: axis of the sum; a negative one counts from the end.

    Shapes:
        self ``[*, D, *]`` to ``[*, D, *]``, with D at *dim*; D may be 0.
    Dtypes:
        floating point up to 64 bits; the result keeps the dtype, 16-bit types are
        computed in float32. Quotients below the smallest normal number become 0.
    Cost:
        Reads the array once and writes the result once, a row or 256 columns at a time;
        a copy first if it is not contiguous.
    Raises:
        TypeError: *self* is not floating-point, or longer than 64 bits.
        numpy.exceptions.AxisError: *dim* is out of range.
    Source:
        Blanchard, Higham and Higham, "Accurately computing the log-sum-exp and softmax
        functions", IMA J. Numer. Anal. 41 (2021), the shifted form.

    >>> softmax_numba(np.array([0.0, np.log(3.0)]), dim=0)
    array([0.25, 0.75])
    """
    array = floating_array("self", self)
    axis = axis_index("dim", dim, "self", array)
    scores = compiled_input("self", array)
    out = np.empty_like(scores)
    use_threads = scores.size >= _THRESHOLD
    size, inner = array.shape[axis], math.prod(array.shape[axis + 1 :])
    if inner == 1:
        rows = (-1 if size else 0, size)
        bits = scores.view(np.int32 if scores.dtype.itemsize == 4 else np.int64)
        launch(
            _rows, _rows_parallel, use_threads, scores.reshape(rows), bits.reshape(rows), out.reshape(rows)
        )
    elif scores.size:
        slabs = (-1, size, inner)
        launch(_slabs, _slabs_parallel, use_threads, scores.reshape(slabs), out.reshape(slabs))
    return out.astype(array.dtype, copy=False)


# Only flags that are right for nan and inf are allowed of fast-math: "contract" (a fused
# multiply-add) everywhere, and "reassoc" (sum in any order) where a loop only sums; in _exp it
# would undo the rounding. The error model "numpy" spares the test for a zero divisor, whose
# branch would keep LLVM from vectorising.


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


def _exp(x):
    """Stands for the function of the type of *x* in compiled code, where it is chosen by overload."""
    return _exp_double.py_func(x)


@overload(_exp, jit_options={"forceinline": True})
def _choose_exp(x):
    return (lambda x: _exp_single(x)) if x == types.float32 else (lambda x: _exp_double(x))


def _from_bits(bits):
    """Stands for the number with the bits *bits*, as _exp does."""
    return bits.view(f"f{bits.itemsize}")


@overload(_from_bits, jit_options={"forceinline": True})
def _choose_from_bits(bits):
    if bits == types.int32:
        return lambda bits: np.int32(bits).view(np.float32)
    return lambda bits: np.int64(bits).view(np.float64)


@njit(forceinline=True)
def _largest(bits):
    """The maximum of the row with these *bits*; with ``nan`` in the row, any number will do.

    Compared as integers in the same order: a reduction that LLVM vectorises without being
    told that there is no ``nan``.
    """
    ones, sign = np.iinfo(bits.dtype).max, 8 * bits.itemsize - 1
    largest = bits.dtype.type(np.iinfo(bits.dtype).min)
    for i in range(bits.size):
        key = bits.dtype.type(bits[i] ^ ((bits[i] >> sign) & ones))
        largest = key if key > largest else largest
    return _from_bits(bits.dtype.type(largest ^ ((largest >> sign) & ones)))


@njit(fastmath={"contract", "reassoc"}, forceinline=True)
def _shifted_powers(row, shift, out):
    """Fill *out* with exp(row - shift); the sum of it."""
    total = row.dtype.type(0)
    for i in range(row.size):
        power = _exp(row[i] - shift)
        out[i] = power
        total += power
    return total


@compiled(nogil=True, error_model="numpy")
def _rows(values, bits, out):
    one = values.dtype.type(1)
    for i in range(len(values)):
        row = out[i]
        scale = one / _shifted_powers(values[i], _largest(bits[i]), row)
        for j in range(row.size):
            row[j] *= scale


@compiled(nogil=True, parallel=True)
def _rows_parallel(values, bits, out):
    step = max(1, _CHUNK // max(1, values.shape[1]))
    for chunk in prange((len(values) + step - 1) // step):
        part = slice(chunk * step, (chunk + 1) * step)
        _rows(values[part], bits[part], out[part])


@compiled(nogil=True, error_model="numpy")
def _slab(values, out, start, stop):
    """The softmax down the columns from *start* to *stop* of a matrix.

    Every loop runs along a row, so all of them vectorise. A row is sliced out of the whole
    matrix: out of a slice of the matrix numba would not know that it is contiguous.
    """
    shift, total = values[0, start:stop].copy(), np.zeros(stop - start, values.dtype)
    for i in range(1, len(values)):
        row = values[i, start:stop]
        for j in range(row.size):
            shift[j] = row[j] if row[j] > shift[j] else shift[j]
    for i in range(len(values)):
        row, powers = values[i, start:stop], out[i, start:stop]
        for j in range(row.size):
            power = _exp(row[j] - shift[j])
            powers[j] = power
            total[j] += power
    for i in range(len(values)):
        powers = out[i, start:stop]
        for j in range(powers.size):
            powers[j] /= total[j]


@compiled(nogil=True)
def _slabs(values, out):
    for k in range(len(values)):
        for start in range(0, values.shape[2], _WIDTH):
            _slab(values[k], out[k], start, min(start + _WIDTH, values.shape[2]))


@compiled(nogil=True, parallel=True)
def _slabs_parallel(values, out):
    per_slab = (values.shape[2] + _WIDTH - 1) // _WIDTH
    for task in prange(len(values) * per_slab):
        k, start = task // per_slab, task % per_slab * _WIDTH
        _slab(values[k], out[k], start, min(start + _WIDTH, values.shape[2]))
