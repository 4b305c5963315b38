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


def place(array: Array, dispatch_key: DispatchKey | str, library: str = "") -> Any:
    """*array* as a tensor of *dispatch_key*; on the CPU it shares the memory where that is possible.

    Args:
        library: whose tensor it becomes; empty: the one this machine has for the key.

    Raises:
        DispatchError: C10E607, this machine can make none, with the reason.
    """
    device = device_of(dispatch_key, library)
    if not device.available:
        raise DispatchError(
            Diagnostic(
                "C10E607",
                f"no {device.dispatch_key} tensor can be made here: {device.reason}",
                help="run on a machine that has the device, or choose another key",
            ),
            dispatch_key=device.dispatch_key,
        )
    return _PLACERS[device.dispatch_key, device.library](array)


def as_torch(array: Array) -> Any:
    """*array* as a torch tensor in host memory, of the same memory where torch can have that.

    Raises:
        ArgumentError: C10E405, torch has no such dtype.
    """
    import torch

    # Not ascontiguousarray, which makes one axis of none; torch warns of what it could not write.
    array = np.array(array) if not array.flags.writeable else np.asarray(array, order="C")
    name = array.dtype.name
    try:
        if array.dtype.kind == "V" and hasattr(torch, name):  # ml_dtypes' bfloat16 and its like
            return torch.from_numpy(array.view(f"int{8 * array.itemsize}")).view(getattr(torch, name))
        return torch.from_numpy(array)
    except TypeError as error:
        fact = f"torch has no dtype for an array of {name}"
        raise ArgumentError(Diagnostic("C10E405", fact, help="choose another dtype")) from error


def _torch_cuda(array: Array) -> Any:
    return as_torch(array).cuda()


def _torch_sparse(array: Array) -> Any:
    return as_torch(array).to_sparse()


def _cupy(array: Array) -> Any:
    import cupy

    return cupy.asarray(array)


def _scipy(array: Array) -> Any:
    from scipy import sparse

    return sparse.csr_array(array)


def _numpy(array: Array) -> Any:
    return array


_PLACERS: dict[tuple[str, str], Callable[[Array], Any]] = {
    ("CPU", "numpy"): _numpy,
    ("CPU", "torch"): as_torch,
    ("CUDA", "torch"): _torch_cuda,
    ("CUDA", "cupy"): _cupy,
    ("SparseCPU", "scipy"): _scipy,
    ("SparseCPU", "torch"): _torch_sparse,
}


def to_numpy(tensor: Any) -> Array:
    """*tensor* in host memory as a plain NumPy array; a view where that is possible.

    Floats that NumPy does not have, such as torch's bfloat16, come as float32.
    A subclass of NumPy's array comes as the array below it: what the subclass
    says of its elements, or how it compares them, is left out.

    Raises:
        ArgumentError: C10E408, nothing known turns *tensor* into an array.
    """
    if isinstance(tensor, np.ndarray):
        return np.asarray(tensor)  # of the base class, which a subclass cannot change
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
    if tensor.is_floating_point() and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
        tensor = tensor.float()
    return np.asarray(tensor.resolve_conj().resolve_neg().numpy())


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
