"""What the CPU kernels share: how arrays are shown, checked and cut into blocks."""

from __future__ import annotations

import operator
from collections.abc import Iterator

import numpy as np

# A block and its temporaries stay in a core's second-level cache, so a kernel of
# several passes reads main memory once.
BLOCK_BYTES = 256 * 1024


def shown(array: np.ndarray) -> str:
    """The dtype and shape of *array*, as ``float32[4, 8]``."""
    return f"{str(array.dtype).rpartition('.')[2]}[{', '.join(map(str, array.shape))}]"


def floating_array(name: str, value: object) -> np.ndarray:
    """*value* as a floating-point array in native byte order, or a TypeError that names *name*."""
    array = np.asarray(value)
    if array.dtype.kind != "f" and array.dtype.name != "bfloat16":
        raise TypeError(f"{name} must be floating-point, got {shown(array)}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def working_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype to compute in: float32 for the 16-bit types, otherwise *dtype* itself."""
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def axis_index(name: str, axis: int, owner: str, array: np.ndarray) -> int:
    """*axis* counted from the front, or an AxisError that names it and the array *owner*."""
    index = operator.index(axis)
    if not -array.ndim <= index < array.ndim:
        raise np.exceptions.AxisError(f"{name} {index} is out of range for {owner} {shown(array)}")
    return index % array.ndim


def row_blocks(rows: int, row_bytes: int) -> Iterator[slice]:
    """Slices that cut *rows* into blocks of about BLOCK_BYTES, at least one row each."""
    step = max(1, BLOCK_BYTES // max(1, row_bytes))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
