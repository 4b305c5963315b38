"""c10::softmax on the CPU, in NumPy."""

from __future__ import annotations

import math

import numpy as np

from ._common import axis_index, floating_array, row_blocks, working_dtype


def softmax_cpu(self: np.ndarray, dim: int = -1) -> np.ndarray:
    """Exponentials of *self* divided by their sum along *dim*.

    The maximum along *dim* is subtracted first, so the exponential never overflows.
    A slice that holds ``nan`` or ``inf``, or nothing but ``-inf``, becomes ``nan``.

    Args:
        self: scores; not modified.
        dim: axis of the sum; a negative one counts from the end.

    Shapes:
        self ``[*, D, *]`` to ``[*, D, *]``, with D at *dim*; D may be 0.
    Dtypes:
        floating point; the result keeps the dtype, 16-bit types are computed in float32.
    Cost:
        Reads the array once and writes the result once, in blocks that stay in cache.
    Raises:
        TypeError: *self* is not floating-point.
        numpy.exceptions.AxisError: *dim* is out of range.
    Source:
        Blanchard, Higham and Higham, "Accurately computing the log-sum-exp and softmax
        functions", IMA J. Numer. Anal. 41 (2021), the shifted form.

    >>> softmax_cpu(np.array([0.0, np.log(3.0)]), dim=0)
    array([0.25, 0.75])
    """
    self = floating_array("self", self)
    axis = axis_index("dim", dim, "self", self)
    size = self.shape[axis]
    outer, inner = math.prod(self.shape[:axis]), math.prod(self.shape[axis + 1 :])
    scores = self.reshape(outer, size, inner)
    out = np.empty(scores.shape, self.dtype)
    work = working_dtype(self.dtype)
    with np.errstate(all="ignore"):  # inf minus inf is the documented nan
        for rows in row_blocks(outer, size * inner * work.itemsize):
            part = scores[rows].astype(work, copy=False)
            block = out[rows] if work == self.dtype else np.empty_like(part)
            _softmax_into(block, part)
            if work != self.dtype:
                out[rows] = block
    return out.reshape(self.shape)


def _softmax_into(block: np.ndarray, part: np.ndarray) -> None:
    """Fill *block* with the softmax of *part* along the middle axis."""
    np.subtract(part, part.max(axis=1, keepdims=True, initial=-np.inf), out=block)
    np.exp(block, out=block)
    block /= block.sum(axis=1, keepdims=True)
