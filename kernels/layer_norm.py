"""c10::layer_norm on the CPU, in NumPy."""

from __future__ import annotations

import math

import numpy as np

from ._common import axis_index, floating_array, row_blocks, working_dtype


def layer_norm_cpu(
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
        floating point; all three results keep it, 16-bit types are computed in float32.
    Cost:
        Reads the array once and writes the result once, in blocks that stay in cache.
    Raises:
        TypeError: *input* is not floating-point.
        ValueError: *epsilon* is negative or nan.
        numpy.exceptions.AxisError: *axis* is out of range.
    Source:
        Ba, Kiros and Hinton, "Layer Normalization", arXiv:1607.06450, without gain and
        bias; variance over N (not N - 1), in two passes.

    >>> [result.tolist() for result in layer_norm_cpu(np.array([[1.0, 3.0]]), epsilon=0.0)]
    [[[-1.0, 1.0]], [2.0], [1.0]]
    """
    input = floating_array("input", input)
    first = axis_index("axis", axis, "input", input)
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon}")
    leading = input.shape[:first]
    values = input.reshape(math.prod(leading), math.prod(input.shape[first:]))
    output = np.empty(values.shape, input.dtype)
    mean, stdev = np.empty(len(values), input.dtype), np.empty(len(values), input.dtype)
    work = working_dtype(input.dtype)
    with np.errstate(all="ignore"):  # inf minus inf and 0 / 0 are the documented nan
        for rows in row_blocks(len(values), values.shape[1] * work.itemsize):
            part = values[rows].astype(work, copy=False)
            block = output[rows] if work == input.dtype else np.empty_like(part)
            mean[rows], stdev[rows] = _normalise_into(block, part, epsilon)
            if work != input.dtype:
                output[rows] = block
    return output.reshape(input.shape), mean.reshape(leading), stdev.reshape(leading)


def _normalise_into(block: np.ndarray, part: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The means and deviations of the rows of *part*; *block* is filled with the normalised rows."""
    count = part.dtype.type(part.shape[1])
    mean = part.sum(axis=1) / count
    np.subtract(part, mean[:, None], out=block)
    stdev = np.sqrt(np.square(block).sum(axis=1) / count + part.dtype.type(epsilon))
    block /= stdev[:, None]
    return mean, stdev
