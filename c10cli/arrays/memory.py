"""What checked calls ask about the memory of tensors, told with NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from c10cli.arrays.contents import MOST_WRITTEN_OUT, contents_of, library_of, placed_key
from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.placement import to_numpy
from c10cli.arrays.tensor_types import tensors_of
from c10cli.dispatch.watch import ContentsCode, MemoryCheck

__all__ = ["MEMORY"]

_CODE = ContentsCode(
    f"{{}}.nbytes <= {MOST_WRITTEN_OUT}", ("{}.dtype", "{}.shape", "{}.tobytes()"), ("is", "==", "==")
)


class _NumpyMemory:
    """The `MemoryCheck` of tensors in host memory; what cannot be read counts as untouched."""

    def contents(self, value: Any) -> Any:
        """`contents_of`."""
        return contents_of(value)

    def contents_code(self, kind: type) -> ContentsCode | None:
        """Of arrays; see `MemoryCheck`."""
        return _CODE if kind is np.ndarray else None

    def apart_code(self, result: type, kind: type) -> str:
        """Of arrays, that both own their memory: a sixth of what NumPy's own question costs."""
        if result is kind is np.ndarray:
            return "{0} is not {1} and {0}.flags.owndata and {1}.flags.owndata"
        return ""

    def shared(
        self, returns: Sequence[Any], values: Sequence[Any], pairs: Sequence[tuple[int, int]]
    ) -> tuple[int, int] | None:
        """Tensors that are not in host memory share it only if they are one object.

        Two of jax's never do: nobody can write to one and see it in the other.
        """
        for pair in pairs:
            left, right = returns[pair[0]], values[pair[1]]
            if any(_overlap(one, other) for one in tensors_of(left) for other in tensors_of(right)):
                return pair
        return None


def _overlap(left: Any, right: Any) -> bool:
    if all(library_of(tensor) in ("jax", "jaxlib") for tensor in (left, right)):
        return False
    if left is right:
        return True
    one, other = _host_memory(left), _host_memory(right)
    if one is None or other is None:
        return False
    return np.may_share_memory(one, other) and np.shares_memory(one, other, max_work=-1)


def _host_memory(tensor: Any) -> Any:
    """An array over the memory of the stored elements of *tensor*; None where there is none."""
    if placed_key(tensor) not in (DispatchKey.CPU, DispatchKey.SparseCPU):
        return None
    library = library_of(tensor)
    try:
        if library == "torch":
            return _torch_memory(tensor)
        if library == "scipy":
            return tensor.data if isinstance(tensor.data, np.ndarray) else None
        return to_numpy(tensor)
    except Exception:  # noqa: BLE001 - whatever a tensor's own code raises
        return None


def _torch_memory(tensor: Any) -> Any:
    """The memory of any dtype, to be compared and never read; torch does not hear of it."""
    tensor = tensor.detach()
    layout = str(tensor.layout)
    if "sparse" in layout:
        tensor = tensor._values() if layout.endswith("coo") else tensor.values()
    size = tensor.element_size()
    if not tensor.numel() or not tensor.data_ptr():
        return None
    strides = [stride * size for stride in tensor.stride()]
    span = sum((n - 1) * stride for n, stride in zip(tensor.shape, strides, strict=True)) + size
    memory = (ctypes.c_char * span).from_address(tensor.data_ptr())
    return np.ndarray(tuple(tensor.shape), f"V{size}", memory, strides=tuple(strides))


MEMORY: Final[MemoryCheck] = _NumpyMemory()
"""The one that a checked dispatcher uses."""
