"""c10::matmul on the CPU, in NumPy (BLAS for floating point)."""

from __future__ import annotations

import numpy as np

from ._common import shown, working_dtype


def matmul_cpu(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The matrix product of *self* and *other*, over the last two axes.

    A vector on the left counts as one row, on the right as one column; that axis is
    then dropped from the result. Leading axes are broadcast.

    Args:
        self: left factor of at least one axis; not modified.
        other: right factor of at least one axis; not modified.

    Shapes:
        self ``[*, M, K]`` and other ``[*, K, N]`` to ``[*, M, N]``; K may be 0.
    Dtypes:
        any number or bool; the result has NumPy's common dtype of the two. float16
        is multiplied and summed in float32.
    Cost:
        2·M·N·K operations; reads both, writes the result; float16 copies both to float32.
    Raises:
        ValueError: an argument is 0-d, or the inner or leading axes do not fit.
    Source:
        result[i, j] = sum over k of self[i, k] * other[k, j]

    >>> matmul_cpu(np.array([[1, 2], [3, 4]]), np.array([1, 10]))
    array([21, 43])
    """
    self, other = np.asarray(self), np.asarray(other)
    dtype = np.result_type(self, other)
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        self, other = self.astype(working_dtype(dtype)), other.astype(working_dtype(dtype))
    try:
        with np.errstate(all="ignore"):
            return np.asarray(np.matmul(self, other)).astype(dtype, copy=False)
    except ValueError as error:
        raise ValueError(
            f"self {shown(self)} and other {shown(other)} do not fit a matrix product"
        ) from error
