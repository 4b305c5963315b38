"""c10::cat on the CPU, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._common import axis_index, shown


def cat_cpu(tensors: Sequence[np.ndarray], dim: int = 0) -> np.ndarray:
    """The *tensors* joined one after the other along *dim*, in a new array.

    Args:
        tensors: at least one array of at least one axis; not modified.
        dim: the axis to join along; a negative one counts from the end.

    Shapes:
        tensors ``[*, D_i, *]`` to ``[*, sum of D_i, *]``, with D_i at *dim*; D_i may be 0.
    Dtypes:
        any; the result has NumPy's common dtype of all.
    Cost:
        Reads every tensor, writes the result.
    Raises:
        ValueError: no tensors, or shapes that differ outside *dim*.
        numpy.exceptions.AxisError: *dim* is out of range.
    Source:
        concatenation

    >>> cat_cpu([np.array([[1, 2]]), np.array([[3, 4]])], dim=-1)
    array([[1, 2, 3, 4]])
    """
    arrays = [np.asarray(tensor) for tensor in tensors]
    if not arrays:
        raise ValueError("tensors must hold at least one tensor, got none")
    first = arrays[0]
    axis = axis_index("dim", dim, "tensors[0]", first)
    for place, array in enumerate(arrays):
        if array.ndim != first.ndim or _without(array.shape, axis) != _without(first.shape, axis):
            raise ValueError(
                f"tensors[{place}] {shown(array)} does not match tensors[0] {shown(first)} outside dim {axis}"
            )
    return np.concatenate(arrays, axis=axis)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]
