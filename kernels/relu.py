"""c10::relu on the CPU, in NumPy."""

from __future__ import annotations

import numpy as np

from ._common import shown


def relu_cpu(self: np.ndarray) -> np.ndarray:
    """The larger of each element of *self* and zero; ``nan`` stays ``nan``.

    Args:
        self: any array; not modified.

    Shapes:
        self ``[*]`` to ``[*]``.
    Dtypes:
        real numbers; the result keeps the dtype.
    Cost:
        Reads the array, writes the result.
    Raises:
        TypeError: *self* is boolean or complex.
    Source:
        max(self, 0)

    >>> relu_cpu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    self = np.asarray(self)
    if self.dtype.kind not in "fiu" and self.dtype.name != "bfloat16":
        raise TypeError(f"self must be a real number, got {shown(self)}")
    with np.errstate(invalid="ignore"):  # some builds report nan here
        return np.asarray(np.maximum(self, self.dtype.type(0)))
