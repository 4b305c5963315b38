"""The reference of c10::gelu."""

import math

import numpy as np


def gelu(self, *, approximate="none"):
    """X times Phi(x), element by element with the math module; -inf gives the limit, 0."""
    function = _exact if approximate == "none" else _tanh
    values = [function(float(x)) for x in self.reshape(-1)]
    return np.array(values, np.float64).reshape(self.shape)


def _exact(x):
    if x == -math.inf:
        return 0.0
    return 0.5 * x * math.erfc(-x / math.sqrt(2.0))


def _tanh(x):
    """Half of x times 1 + tanh(u), with 1 + tanh(u) written as 2 / (1 + exp(-2u)) to keep small values."""
    if x == -math.inf:
        return 0.0
    u = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)
    return x / (1.0 + math.exp(-2.0 * u)) if not u < -350.0 else 0.0  # exp would overflow
