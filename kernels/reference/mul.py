"""The reference of c10::mul."""

import numpy as np


def mul(self, other):
    """Self times other; whole numbers and booleans exactly, the rest in float64."""
    with np.errstate(all="ignore"):
        if np.result_type(self, other).kind in "biu":
            return np.asarray(self * other)
        return np.asarray(_wide(self) * _wide(other))


def _wide(array):
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
