"""c10::mul on the CPU, in NumPy."""

from __future__ import annotations

import numpy as np

from ._common import shown


def mul_cpu(self: np.ndarray, other: np.ndarray) -> np.ndarray:
    """*self* times *other*, element by element, broadcast against each other.

    Args:
        self: first factor; not modified.
        other: second factor; not modified.

    Shapes:
        self and other ``[*]``, broadcast to one shape.
    Dtypes:
        any number or bool; the result has NumPy's common dtype of the two.
    Cost:
        Reads both arrays, writes the result.
    Raises:
        ValueError: the shapes do not broadcast.
    Source:
        self * other

    >>> mul_cpu(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([3., 8.])
    """
    self, other = np.asarray(self), np.asarray(other)
    try:
        with np.errstate(all="ignore"):
            return np.asarray(np.multiply(self, other))
    except ValueError as error:
        raise ValueError(f"self {shown(self)} and other {shown(other)} do not broadcast") from error
