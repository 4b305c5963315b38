"""What checked calls ask about the memory of tensors, told with NumPy."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from c10cli.arrays.placement import to_numpy
from c10cli.dispatch.keys import DispatchKey
from c10cli.dispatch.tensor_types import is_tensor, key_of
from c10cli.dispatch.watch import MemoryCheck
from c10cli.errors import ArgumentError
from c10cli.verify.inputs import tensors_of

__all__ = ["MEMORY"]


class _NumpyMemory:
    """The `MemoryCheck` of tensors that NumPy can read; what it cannot read counts as untouched."""

    def contents(self, value: Any) -> Any:
        """Dtype, shape and bytes of a tensor, so that nan is nan and -0.0 is not 0.0; see `MemoryCheck`."""
        if isinstance(value, list | tuple):
            return [self.contents(element) for element in value]
        if is_tensor(value):
            array = _readable(value)
            return None if array is None else (array.dtype, array.shape, array.tobytes())
        # What can change is told by identity, and so is what may compare in a way of its own.
        return (type(value), value) if isinstance(value, _CONSTANT) else id(value)

    def contents_code(self, kind: type) -> tuple[str, ...]:
        """Of arrays; see `MemoryCheck`."""
        return ("{}.dtype", "{}.shape", "{}.tobytes()") if kind is np.ndarray else ()

    def apart_code(self, result: type, kind: type) -> str:
        """Of arrays, that both own their memory: a sixth of what NumPy's own question costs."""
        if result is kind is np.ndarray:
            return "{0} is not {1} and {0}.flags.owndata and {1}.flags.owndata"
        return ""

    def shared(
        self, returns: Sequence[Any], values: Sequence[Any], pairs: Sequence[tuple[int, int]]
    ) -> tuple[int, int] | None:
        """Tensors that are no plain arrays in host memory share it only if they are one object."""
        for pair in pairs:
            left, right = returns[pair[0]], values[pair[1]]
            if any(_overlap(one, other) for one in tensors_of(left) for other in tensors_of(right)):
                return pair
        return None


_CONSTANT = (bool, int, float, complex, str, bytes)


def _overlap(left: Any, right: Any) -> bool:
    types: tuple[type, type] = type(left), type(right)
    if all(map(_is_immutable, types)):
        return False  # or nobody can observe it
    if left is right:
        return True
    left, right = _in_host_memory(left), _in_host_memory(right)
    if left is None or right is None:
        return False
    return np.may_share_memory(left, right) and np.shares_memory(left, right, max_work=-1)


def _in_host_memory(tensor: Any) -> Any:
    return _readable(tensor) if _key(tensor) is DispatchKey.CPU else None


def _key(tensor: Any) -> DispatchKey | None:
    """The key of *tensor*; None also where it has none yet, as in a trace of jax."""
    try:
        return key_of(tensor)
    except ArgumentError:
        return None


@functools.lru_cache(maxsize=256)
def _is_immutable(tensor_type: type) -> bool:
    """Whether nothing can write to such a tensor: jax's, whose functions give an argument itself back."""
    return any(base.__module__.partition(".")[0] in ("jax", "jaxlib") for base in tensor_type.__mro__)


@functools.lru_cache(maxsize=256)
def _has_memory(tensor_type: type) -> bool:
    """Whether anything makes an array of such a tensor; a type that was taught need not have it."""
    return any(hasattr(tensor_type, way) for way in ("__array__", "__dlpack__", "toarray"))


def _readable(tensor: Any) -> Any:
    """*tensor* as an array, or None where nothing can read it or it has no contents."""
    tensor_type: type = type(tensor)
    if not _has_memory(tensor_type) or _key(tensor) in (None, DispatchKey.Meta):
        return None
    try:
        return to_numpy(tensor)
    except ArgumentError:
        return None


MEMORY: Final[MemoryCheck] = _NumpyMemory()
"""The one that a checked dispatcher uses."""
