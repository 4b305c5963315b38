"""Arrays moved between NumPy and the library of a dispatch key."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from c10cli.arrays.devices import device_of
from c10cli.dispatch import DispatchKey
from c10cli.errors import ArgumentError, Diagnostic, DispatchError

Array = npt.NDArray[Any]


def place(array: Array, dispatch_key: DispatchKey | str) -> Any:
    """*array* as a tensor of *dispatch_key*, in the library this machine has for it.

    Raises:
        DispatchError: C10E607, this machine can make none, with the reason.
    """
    device = device_of(dispatch_key)
    if not device.available:
        raise DispatchError(
            Diagnostic(
                "C10E607",
                f"no {device.dispatch_key} tensor can be made here: {device.reason}",
                help="run on a machine that has the device, or choose another key",
            ),
            dispatch_key=device.dispatch_key,
        )
    return _PLACERS[device.library](array)


def _torch_cuda(array: Array) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(array)).cuda()


def _cupy(array: Array) -> Any:
    import cupy

    return cupy.asarray(array)


def _scipy(array: Array) -> Any:
    from scipy import sparse

    return sparse.csr_array(array)


def _numpy(array: Array) -> Any:
    return array


_PLACERS: dict[str, Callable[[Array], Any]] = {
    "numpy": _numpy,
    "torch": _torch_cuda,
    "cupy": _cupy,
    "scipy": _scipy,
}


def to_numpy(tensor: Any) -> Array:
    """*tensor* in host memory as a NumPy array; a view where that is possible.

    bfloat16, which NumPy does not have, comes as float32.

    Raises:
        ArgumentError: C10E408, nothing known turns *tensor* into an array.
    """
    if isinstance(tensor, np.ndarray):
        return tensor
    if isinstance(tensor, np.generic):
        return np.asarray(tensor)
    root = type(tensor).__module__.partition(".")[0]
    if root == "torch":
        return _from_torch(tensor)
    if root in ("cupy", "cupyx"):
        dense = tensor if root == "cupy" else tensor.toarray()
        return np.asarray(sys.modules["cupy"].asnumpy(dense))
    if root == "scipy":
        return np.asarray(tensor.toarray())
    return _from_protocol(tensor)


def _from_torch(tensor: Any) -> Array:
    torch = sys.modules["torch"]
    tensor = tensor.detach().cpu()
    tensor = tensor.to_dense() if tensor.layout is not torch.strided else tensor
    tensor = tensor.float() if tensor.dtype is torch.bfloat16 else tensor
    return np.asarray(tensor.numpy())


def _from_protocol(tensor: Any) -> Array:
    try:
        if hasattr(tensor, "__array__"):
            return np.asarray(tensor)
        return np.asarray(np.from_dlpack(tensor))
    except (TypeError, ValueError, RuntimeError, BufferError, AttributeError) as error:
        name = f"{type(tensor).__module__}.{type(tensor).__qualname__}"
        raise ArgumentError(
            Diagnostic("C10E408", f"a `{name}` cannot be read as an array: {error}"), tensor_type=type(tensor)
        ) from error
