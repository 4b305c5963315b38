"""c10::layer_norm on the CPU, compiled by numba."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from ._common import axis_index, floating_array
from ._numba import compiled, compiled_input, launch

_THRESHOLD = 64 * 1024  # elements; below, waking the threads costs more than they save
_CHUNK = 32 * 1024  # elements per task
_PIECE = 4 * 1024  # elements summed in the array's own precision; the pieces are summed in float64


def layer_norm_numba(
    input: np.ndarray, axis: int = -1, epsilon: float = 1e-05
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """*input* with the axes from *axis* on shifted to mean 0 and scaled to variance 1.

    Args:
        input: values; not modified.
        axis: first normalised axis; a negative one counts from the end.
        epsilon: added to the variance before the root; at least 0.

    Returns:
        output, the mean of every slice, and stdev = sqrt(variance + epsilon).

    Shapes:
        input ``[R, N]`` to output ``[R, N]``, mean and stdev ``[R]``, where R are the axes
        before *axis* (none: 0-d) and N the rest; an empty N gives ``nan`` statistics.
    Dtypes:
        floating point up to 64 bits; all three results keep it, 16-bit types are computed
        in float32; long rows are summed piecewise in float64.
    Cost:
        Reads the array once and writes the result once, a row at a time; a copy first if
        it is not contiguous.
    Raises:
        TypeError: *input* is not floating-point, or longer than 64 bits.
        ValueError: *epsilon* is negative or nan.
        numpy.exceptions.AxisError: *axis* is out of range.
    Source:
        Ba, Kiros and Hinton, "Layer Normalization", arXiv:1607.06450, without gain and
        bias; variance over N (not N - 1), in two passes.

    >>> [result.tolist() for result in layer_norm_numba(np.array([[1.0, 3.0]]), epsilon=0.0)]
    [[[-1.0, 1.0]], [2.0], [1.0]]
    """
    array = floating_array("input", input)
    first = axis_index("axis", axis, "input", array)
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    leading = array.shape[:first]
    values = compiled_input("input", array).reshape(math.prod(leading), math.prod(array.shape[first:]))
    output = np.empty_like(values)
    mean, stdev = np.empty(len(values), values.dtype), np.empty(len(values), values.dtype)
    launch(_rows, _rows_parallel, values.size >= _THRESHOLD, values, float(epsilon), output, mean, stdev)
    return (
        output.astype(array.dtype, copy=False).reshape(array.shape),
        mean.astype(array.dtype, copy=False).reshape(leading),
        stdev.astype(array.dtype, copy=False).reshape(leading),
    )


# Only flags that are right for nan and inf are allowed of fast-math: "contract" (a fused
# multiply-add) and "reassoc" (sum in any order, which LLVM needs to vectorise a sum). The error
# model "numpy" spares the test for a zero divisor, and makes 0 / 0 the documented nan.


@njit(fastmath={"contract", "reassoc"}, forceinline=True)
def _sum(row):
    total = row.dtype.type(0)
    for i in range(row.size):
        total += row[i]
    return total


@njit(fastmath={"contract", "reassoc"}, forceinline=True)
def _sum_of_squares(row, mean):
    total = row.dtype.type(0)
    for i in range(row.size):
        centred = row[i] - mean
        total += centred * centred
    return total


@compiled(nogil=True, error_model="numpy")
def _rows(values, epsilon, output, mean, stdev):
    for i in range(len(values)):
        row, out = values[i], output[i]
        total = 0.0
        for start in range(0, row.size, _PIECE):
            total += _sum(row[start : start + _PIECE])
        mean[i] = total / row.size
        centre = mean[i]
        total = 0.0
        for start in range(0, row.size, _PIECE):
            total += _sum_of_squares(row[start : start + _PIECE], centre)
        root = math.sqrt(total / row.size + epsilon)
        stdev[i] = root
        scale = values.dtype.type(1.0 / root)
        for j in range(row.size):
            out[j] = (row[j] - centre) * scale


@compiled(nogil=True, parallel=True)
def _rows_parallel(values, epsilon, output, mean, stdev):
    step = max(1, _CHUNK // max(1, values.shape[1]))
    for chunk in prange((len(values) + step - 1) // step):
        part = slice(chunk * step, (chunk + 1) * step)
        _rows(values[part], epsilon, output[part], mean[part], stdev[part])
