"""What the Triton kernels share: arrays of the caller's library as launch arguments."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import triton
import triton.language as tl

from ._common import shown
from ._triton_interpreter import HostTensor

# With TRITON_INTERPRET=1 at import, kernels run on the host, on NumPy arrays or torch's CPU tensors.
INTERPRETED = bool(triton.knobs.runtime.interpret)

# Options of every launch. Fusing multiply-adds is said aloud: Triton is about to change its default.
LAUNCH = {"enable_fp_fusion": True}

_WORK = {"float16": tl.float32, "bfloat16": tl.float32, "float32": tl.float32, "float64": tl.float64}


class TorchLibrary:
    """Tensors of torch, which Triton takes as they are."""

    def __init__(self) -> None:
        self.torch = sys.modules["torch"]

    def empty(self, shape: Sequence[int], dtype: str, like: Any) -> Any:
        """A new tensor on the device of *like*."""
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device=like.device)

    def expand(self, array: Any, shape: Sequence[int]) -> Any:
        """*array* in *shape* and contiguous; a copy only where it is neither yet."""
        return array.detach().expand(shape).contiguous()

    def promote(self, first: Any, second: Any) -> str:
        """The name of the dtype that a sum of the two has."""
        return str(self.torch.result_type(first, second)).removeprefix("torch.")

    def argument(self, array: Any) -> Any:
        """What the launch takes for *array*."""
        return array

    def guard(self, array: Any) -> AbstractContextManager:
        """Makes the device of *array* the current one; Triton launches there."""
        return self.torch.cuda.device_of(array) if array.is_cuda else _silent()


class ArrayLibrary:
    """Arrays of cupy; in the interpreter, arrays of NumPy, which has the same functions."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def empty(self, shape: Sequence[int], dtype: str, like: Any) -> Any:
        """A new array; the guard has made the device of *like* the current one."""
        return self.module.empty(shape, dtype=dtype)

    def expand(self, array: Any, shape: Sequence[int]) -> Any:
        """*array* in *shape* and contiguous; a copy only where it is neither yet."""
        return self.module.ascontiguousarray(self.module.broadcast_to(array, shape)).reshape(shape)

    def promote(self, first: Any, second: Any) -> str:
        """The name of the dtype that a sum of the two has."""
        return self.module.result_type(first.dtype, second.dtype).name

    def argument(self, array: Any) -> Any:
        """What the launch takes for *array*."""
        return HostTensor(array) if INTERPRETED else DevicePointer(array)

    def guard(self, array: Any) -> AbstractContextManager:
        """Makes the device of *array* the current one; Triton launches there."""
        return _silent() if INTERPRETED else array.device


class DevicePointer:
    """The address and dtype of a cupy array, which is all that a launch reads."""

    def __init__(self, array: Any) -> None:
        self.array = array  # keeps the memory alive until the launch is queued
        self.dtype = array.dtype

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.array.data.ptr


def library_of(name: str, array: Any) -> TorchLibrary | ArrayLibrary:
    """The library of *array*, or a TypeError that names the argument *name*."""
    root = type(array).__module__.partition(".")[0]
    if root == "torch" and (array.is_cuda or INTERPRETED):
        return TorchLibrary()
    if root == ("numpy" if INTERPRETED else "cupy"):
        return ArrayLibrary(sys.modules[root])
    raise TypeError(f"{name} must be a CUDA array, got {type(array).__module__}.{type(array).__qualname__}")


def adopted(name: str, *arrays: Any) -> tuple[list[Any], Callable[[Any], Any]]:
    """*arrays* in a library that can allocate, and the function that gives a result back.

    torch and cupy arrays pass unchanged. Arrays of other libraries that speak DLPack or
    ``__cuda_array_interface__`` are viewed, without a copy, by whichever of the two is loaded.
    """
    root = type(arrays[0]).__module__.partition(".")[0]
    if root in ("torch", "cupy", "numpy") or not _speaks(arrays[0]):
        return list(arrays), _unchanged
    host = next((sys.modules[m] for m in ("torch", "cupy", "numpy") if m in sys.modules and _usable(m)), None)
    if host is None:
        raise TypeError(f"{name} of {root} needs torch or cupy to be loaded, to allocate the result")
    return [_viewed(host, array) for array in arrays], _way_back(root)


def work_dtype(name: str, array: Any, dtype: str) -> tl.dtype:
    """The Triton type to compute in for results of *dtype*; float32 for the 16-bit types."""
    if dtype not in _WORK:
        raise TypeError(f"{name} must be floating-point of at most 64 bits, got {shown(array)}")
    return _WORK[dtype]


def count(shape: Sequence[int]) -> int:
    """The number of elements."""
    return math.prod(shape)


def _silent() -> AbstractContextManager:
    """The interpreter computes in NumPy, which warns where a device is silent."""
    return np.errstate(all="ignore")


def _unchanged(result: Any) -> Any:
    return result


def _speaks(array: Any) -> bool:
    return hasattr(array, "__dlpack__") or hasattr(array, "__cuda_array_interface__")


def _usable(module: str) -> bool:
    return (module == "numpy") == INTERPRETED


def _viewed(host: Any, array: Any) -> Any:
    if hasattr(array, "__dlpack__"):
        return host.from_dlpack(array)
    return host.asarray(array)


def _way_back(root: str) -> Callable[[Any], Any]:
    """The function of the library *root* that views an array of another one."""
    if root in ("jax", "jaxlib"):
        return sys.modules["jax.numpy"].from_dlpack
    if root == "numba":
        return sys.modules["numba.cuda"].as_cuda_array
    return getattr(sys.modules[root], "from_dlpack", _unchanged)
