"""c10::topk on the CPU, in NumPy."""

from __future__ import annotations

import operator

import numpy as np

from ._common import axis_index, shown


def topk_cpu(
    self: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The *k* largest (or smallest) elements along *dim*, and where they are.

    ``nan`` counts as larger than everything, ``-0.0`` equals ``0.0``. Of equal
    elements the one with the lower index comes first, and is the one chosen.

    Args:
        self: any array of at least one axis; not modified.
        k: how many, from 0 to the size of *dim*.
        dim: the axis to choose along; a negative one counts from the end.
        largest: False chooses the smallest.
        sorted: True orders the result from best to worst, False by index.

    Shapes:
        self ``[*, D, *]`` to values and indices ``[*, k, *]``.
    Dtypes:
        real numbers and bool; values keep the dtype, indices are int64.
    Cost:
        One partition of every slice, three passes over it, and a sort of k elements.
    Raises:
        TypeError: *self* is complex.
        ValueError: *k* is negative or larger than the size of *dim*.
        numpy.exceptions.AxisError: *dim* is out of range.
    Source:
        selection by the k-th largest key, then a stable sort of what was selected

    >>> topk_cpu(np.array([3, 1, 3, 2]), 3)
    (array([3, 3, 2]), array([0, 2, 3]))
    """
    self = np.asarray(self)
    axis = axis_index("dim", dim, "self", self)
    k = operator.index(k)
    if not 0 <= k <= self.shape[axis]:
        raise ValueError(
            f"k must be from 0 to {self.shape[axis]}, the size of dim {axis} of {shown(self)}, got {k}"
        )
    values = np.moveaxis(self, axis, -1)
    keys = _ordered_keys(values)
    indices = _choose(keys if largest else ~keys, k, sorted)
    chosen = np.take_along_axis(values, indices, axis=-1)
    return (
        np.ascontiguousarray(np.moveaxis(chosen, -1, axis)),
        np.ascontiguousarray(np.moveaxis(indices, -1, axis)),
    )


def _ordered_keys(values: np.ndarray) -> np.ndarray:
    """Integers in the order of *values*, all ``nan`` equal and on top.

    Integers make the comparisons below exact for ``nan``, and ``~`` reverses their order.
    """
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind != "f" or values.dtype.itemsize > 8:
        raise TypeError(f"self must be a real number of at most 64 bits, got {shown(values)}")
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    integer = np.dtype(f"i{values.dtype.itemsize}")
    bits = (native + native.dtype.type(0)).view(integer)  # adding 0 turns -0.0 into 0.0
    keys = np.where(bits < 0, bits ^ np.iinfo(integer).max, bits)
    keys[np.isnan(native)] = np.iinfo(integer).max
    return keys


def _choose(keys: np.ndarray, k: int, in_order: bool) -> np.ndarray:
    """Indices of the *k* largest keys along the last axis."""
    if k == 0 or keys.size == 0:
        return np.zeros((*keys.shape[:-1], k), np.int64)
    place = keys.shape[-1] - k
    bound = np.partition(keys, place, axis=-1)[..., place, None]
    above = keys > bound
    equal = keys == bound
    missing = k - above.sum(axis=-1, keepdims=True)
    chosen = above | (equal & (equal.cumsum(axis=-1) <= missing))
    indices = np.nonzero(chosen)[-1].reshape(*keys.shape[:-1], k)
    if not in_order:
        return indices
    order = np.argsort(~np.take_along_axis(keys, indices, axis=-1), axis=-1, kind="stable")
    return np.take_along_axis(indices, order, axis=-1)
