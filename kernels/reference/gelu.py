"""The reference of c10::gelu."""

import math

import numpy as np


def gelu(self, *, approximate="none"):
    """X times Phi(x), or its tanh approximation; -inf gives the limit, 0."""
    x = self.astype(np.float64)
    with np.errstate(all="ignore"):
        share = _normal(x) if approximate == "none" else _logistic(x)
        return np.asarray(np.where(x == -np.inf, 0.0, x * share))


def _normal(x):
    """Phi(x) = erfc(-x / sqrt(2)) / 2, one element after the other: NumPy has no erfc."""
    values = map(math.erfc, (-x / math.sqrt(2.0)).ravel().tolist())
    return 0.5 * np.fromiter(values, np.float64, count=x.size).reshape(x.shape)


def _logistic(x):
    """(1 + tanh(u)) / 2 written as 1 / (1 + exp(-2u)), which keeps small values."""
    u = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
    return 1.0 / (1.0 + np.exp(-2.0 * u))
