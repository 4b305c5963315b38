"""The reference of c10::softmax."""

import numpy as np


def softmax(self, dim=-1):
    """Exp(self) over its sum along dim, shifted by the maximum."""
    values = self.astype(np.float64)
    with np.errstate(all="ignore"):
        powers = np.exp(values - values.max(axis=dim, keepdims=True, initial=-np.inf))
        return powers / powers.sum(axis=dim, keepdims=True)
