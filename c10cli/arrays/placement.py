"""Arrays moved between NumPy and the library of a dispatch key."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from c10cli.arrays.devices import Device, device_of
from c10cli.arrays.keys import DispatchKey
from c10cli.describe import describe, error_text
from c10cli.errors import ArgumentError, C10Error, Diagnostic, DispatchError

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def place(array: Array, dispatch_key: DispatchKey | str, library: str = "") -> Any:
    """*array* as a tensor of *dispatch_key*; on the CPU it shares the memory where that is possible.

    Args:
        library: whose tensor it becomes; empty: the one this machine has for the key.

    Raises:
        DispatchError: C10E607, this machine can make none, with the reason.
        ArgumentError: C10E405, the library makes none of such an array.
    """
    device = device_of(dispatch_key, library)
    if not device.available:
        raise _not_here(device, device.reason, device.help or _ELSEWHERE)
    try:
        return _PLACERS[device.dispatch_key, device.library](array)
    except (C10Error, MemoryError):
        raise
    except Exception as error:  # whatever a library raises when it does not load, start or take the array
        raise _not_made(device, array, error) from error


def _not_made(device: Device, array: Array, error: Exception) -> DispatchError:
    """What to tell of *error*, which the making of *array* ended with: is it the array, or any?"""
    import numpy as np

    try:
        _PLACERS[device.dispatch_key, device.library](np.zeros((1, 1), np.float32))
    except Exception:  # noqa: BLE001 - as before, which is told
        todo = f"make `{device.library}` work here, or choose another key"
        return _not_here(device, _on_one_line(error), todo)
    fact = f"{device.library} makes no {device.dispatch_key} array of {describe(array)}"
    told = Diagnostic("C10E405", f"{fact}: {_on_one_line(error)}", help="choose another shape or dtype")
    return ArgumentError(told)


_ELSEWHERE = "run on a machine that has the device, or choose another key"


def _not_here(device: Device, reason: str, todo: str) -> DispatchError:
    key = device.dispatch_key
    diagnostic = Diagnostic("C10E607", f"no {key} tensor can be made here: {reason}", help=todo)
    return DispatchError(diagnostic, dispatch_key=key)


def _on_one_line(error: Exception) -> str:
    """*error* without what follows its first line: torch and jax go on for a page."""
    return f"{type(error).__name__}: {error_text(error).partition(chr(10))[0] or 'no message'}"


def as_torch(array: Array) -> Any:
    """*array* as a torch tensor in host memory, of the same memory where torch can have that.

    Raises:
        ArgumentError: C10E405, torch has no such dtype.
    """
    import numpy as np
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


def _jax(array: Array) -> Any:
    return _as_jax(array, "cpu")


def _jax_cuda(array: Array) -> Any:
    return _as_jax(array, "cuda")


def _as_jax(array: Array, platform: str) -> Any:
    """*array* as jax's, a copy: jax takes what it is given for unchangeable.

    Raises:
        ArgumentError: C10E405, jax has no such dtype, or is not to use it.
        RuntimeError, AssertionError: jax has no such platform, or is not to use it.
    """
    import jax

    device = jax.devices(platform)[0]
    try:
        made = jax.numpy.array(array, device=device)
    except TypeError as error:
        fact = f"jax has no dtype for an array of {array.dtype.name}"
        raise ArgumentError(Diagnostic("C10E405", fact, help="choose another dtype")) from error
    if made.dtype != array.dtype:
        fact = f"jax makes {made.dtype.name} of an array of {array.dtype.name}"
        todo = "set JAX_ENABLE_X64=1 in the environment, or choose another dtype"
        raise ArgumentError(Diagnostic("C10E405", fact, help=todo))
    return made.block_until_ready()


def _jax_sparse(array: Array) -> Any:
    from jax.experimental import sparse

    return sparse.BCOO.fromdense(_jax(array))


def _scipy(array: Array) -> Any:
    from scipy import sparse

    return sparse.csr_array(array)


def _numpy(array: Array) -> Any:
    return array


_PLACERS: dict[tuple[str, str], Callable[[Array], Any]] = {
    ("CPU", "numpy"): _numpy,
    ("CPU", "torch"): as_torch,
    ("CPU", "jax"): _jax,
    ("CUDA", "torch"): _torch_cuda,
    ("CUDA", "cupy"): _cupy,
    ("CUDA", "jax"): _jax_cuda,
    ("SparseCPU", "scipy"): _scipy,
    ("SparseCPU", "torch"): _torch_sparse,
    ("SparseCPU", "jax"): _jax_sparse,
}


def to_numpy(tensor: Any) -> Array:
    """*tensor* in host memory as a plain NumPy array; a view where that is possible.

    Floats that NumPy does not have, such as torch's bfloat16, come as float32,
    as do quantized ones; jax's random keys as the integers below them.
    A subclass of NumPy's array comes as the array below it: what the subclass
    says of its elements, or how it compares them, is left out.

    What gives its contents by ``__dlpack__`` alone, and only once, is used up.

    Raises:
        ArgumentError: C10E408, nothing known turns *tensor* into an array.
    """
    import numpy as np

    if isinstance(tensor, np.ndarray):
        return np.asarray(tensor)  # of the base class, which a subclass cannot change
    if isinstance(tensor, np.generic):
        return np.asarray(tensor)
    roots = (base.__module__.partition(".")[0] for base in type(tensor).__mro__)
    read = next((_READERS[root] for root in roots if root in _READERS), _from_protocol)
    try:
        return read(tensor)
    except Exception as error:  # a tensor of any library may run any code when it is read
        name = f"{type(tensor).__module__}.{type(tensor).__qualname__}"
        why = error_text(error).partition("\n")[0]  # torch and jax go on for a page
        raise ArgumentError(
            Diagnostic("C10E408", f"a `{name}` cannot be read as an array: {why}"), tensor_type=type(tensor)
        ) from error


def _from_torch(tensor: Any) -> Array:
    import numpy as np

    torch = sys.modules["torch"]
    tensor = tensor.detach()
    tensor = (tensor.dequantize() if tensor.is_quantized else tensor).cpu()
    tensor = tensor.to_dense() if tensor.layout is not torch.strided else tensor
    if tensor.is_floating_point() and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
        tensor = tensor.float()
    elif tensor.dtype is torch.complex32:
        tensor = tensor.to(torch.complex64)
    array = np.asarray(tensor.resolve_conj().resolve_neg().numpy())
    if array.size and not tensor.data_ptr():  # in torch.func.functionalize; what was read is chance
        raise ValueError("it stands for another tensor, and has no memory")
    return array


def _from_cupy(tensor: Any) -> Array:
    import numpy as np

    dense = tensor.toarray() if hasattr(tensor, "toarray") else tensor
    return np.asarray(sys.modules["cupy"].asnumpy(dense))


def _from_scipy(tensor: Any) -> Array:
    import numpy as np

    return np.asarray(tensor.toarray())


def _from_jax(tensor: Any) -> Array:
    import numpy as np

    jax = sys.modules["jax"]
    if hasattr(tensor, "todense"):
        return np.asarray(tensor.todense())
    is_key = jax.dtypes.issubdtype(tensor.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(tensor) if is_key else tensor)


def _from_protocol(tensor: Any) -> Array:
    import numpy as np

    return np.asarray(tensor if hasattr(tensor, "__array__") else np.from_dlpack(tensor))


_READERS: dict[str, Callable[[Any], Array]] = {
    "torch": _from_torch,
    "cupy": _from_cupy,
    "cupyx": _from_cupy,
    "scipy": _from_scipy,
    "jaxlib": _from_protocol,
    "jax": _from_jax,  # whose other arrays are written in Python
}
