"""NumPy arrays as the tensors of Triton's interpreter: a kernel runs without a GPU or torch."""

from __future__ import annotations

import numpy as np


class HostTensor:
    """A NumPy array with the few methods of a torch tensor that the interpreter calls.

    The interpreter copies storages to the host and back. The memory is there already, so
    the copies are the storage itself, and writing back does nothing.
    """

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.dtype = array.dtype

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.array.ctypes.data

    def untyped_storage(self) -> HostTensor:
        """The memory, which is the tensor's own."""
        return self

    def cpu(self) -> HostTensor:
        """The same memory, already on the host."""
        return self

    def copy_(self, source: HostTensor) -> None:
        """Nothing: *source* is this memory."""
        if source.data_ptr() != self.data_ptr():
            raise ValueError("a host tensor is only copied onto itself")

    def new_empty(self, _size: int, device: str) -> HostTensor:
        """A tensor still without memory, which the interpreter then sets."""
        if device != "cpu":
            raise ValueError(f"a host tensor lives on the cpu, not on {device}")
        return HostTensor(np.empty(0, self.dtype))

    def set_(
        self, storage: HostTensor, _offset: int, _size: tuple[int, ...], _stride: tuple[int, ...]
    ) -> None:
        """Take over the memory of *storage*."""
        self.array = storage.array

    def storage_offset(self) -> int:
        """0, because a host tensor starts where its memory starts."""
        return 0

    def size(self) -> tuple[int, ...]:
        """The shape."""
        return self.array.shape

    def stride(self) -> tuple[int, ...]:
        """The strides in elements."""
        return tuple(step // self.array.itemsize for step in self.array.strides)
