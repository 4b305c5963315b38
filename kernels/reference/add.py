"""The reference of c10::add."""

import numpy as np


def add(self, other, *, alpha=1):
    """Self plus alpha times other; whole numbers wrap around in the dtype of the result."""
    dtype = np.result_type(self, other)
    if dtype.kind == "b":
        return np.logical_or(self, np.logical_and(other, alpha))
    if dtype.kind in "iu":
        return (
            np.asarray(self.astype(object) + alpha * other.astype(object), object)
            .astype(np.int64)
            .astype(dtype)
        )
    with np.errstate(all="ignore"):
        return np.asarray(_wide(self) + alpha * _wide(other))


def _wide(array):
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
