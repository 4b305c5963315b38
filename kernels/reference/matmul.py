"""The reference of c10::matmul."""

import numpy as np


def matmul(self, other):
    """Every result element as a sum of products, in float64 (whole numbers exactly)."""
    dtype = np.result_type(self, other)
    left = self[None, :] if self.ndim == 1 else self
    right = other[:, None] if other.ndim == 1 else other
    if dtype.kind == "f":
        left, right = left.astype(np.float64), right.astype(np.float64)
    with np.errstate(all="ignore"):
        result = np.einsum("...ik,...kj->...ij", left, right)
    if other.ndim == 1:
        result = result[..., 0]
    if self.ndim == 1:
        result = result[..., 0] if other.ndim == 1 else result[..., 0, :]
    return np.asarray(result)
