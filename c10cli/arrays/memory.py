"""What a tensor holds, and whether two overlap; asking leaves no trace in a tensor."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.placement import to_numpy
from c10cli.arrays.tensor_types import is_tensor, key_of, tensors_of
from c10cli.errors import ArgumentError

_CONSTANT = (bool, int, float, complex, str, bytes)


def contents_of(value: Any) -> Any:
    """What is the same while *value* is: of a tensor dtype, shape and bytes.

    So nan is nan, and -0.0 is not 0.0.  What cannot be read, or is too large
    to be kept, is None, and so counts as untouched.
    """
    if isinstance(value, list | tuple):
        return [contents_of(element) for element in value]
    if not is_tensor(value):
        # What can change is told by identity, and so is what may compare in a way of its own.
        return (type(value), value) if isinstance(value, _CONSTANT) else id(value)
    if placed_key(value) in (None, DispatchKey.Meta):
        return None
    try:
        return _READERS.get(library_of(value), _of_any)(value)
    except Exception:  # noqa: BLE001 - out of memory, or whatever a tensor's own code raises
        return None


def share_memory(left: Any, right: Any) -> bool:
    """Whether a tensor of *left*, one or a list of them, overlaps one of *right*, as far as can be told.

    Tensors that are not in host memory share it only if they are one object.
    Two of jax's never do: nobody can write to one and see it in the other.
    """
    return any(_overlap(one, other) for one in tensors_of(left) for other in tensors_of(right))


def placed_key(tensor: Any) -> DispatchKey | None:
    """The key of *tensor*; None also where it has none yet, as in a trace of jax."""
    try:
        return key_of(tensor)
    except ArgumentError:
        return None


def library_of(tensor: Any) -> str:
    """The package that made the type of *tensor*, or a base of it that has a reader here."""
    roots = [base.__module__.partition(".")[0] for base in type(tensor).__mro__]
    return next((root for root in roots if root in _READERS), roots[0])


def _of_array(array: Any) -> tuple[object, ...]:
    stored = array
    if 0 in array.strides:  # the same elements over and over
        stored = array[tuple(slice(None) if stride else slice(1) for stride in array.strides)]
    return array.dtype, array.shape, stored.tobytes()


def _of_any(tensor: Any) -> tuple[object, ...]:
    # What has no way to be read is told apart by its type alone, and never asked for it.
    if not any(hasattr(type(tensor), way) for way in ("__array__", "__dlpack__", "toarray")):
        return ()
    return _of_array(to_numpy(tensor))


def _of_torch(tensor: Any) -> tuple[object, ...]:
    tensor = tensor.detach()
    layout = str(tensor.layout).rpartition(".")[2]
    if layout in _TORCH_PARTS:
        parts = (getattr(tensor, part)() for part in _TORCH_PARTS[layout])
        return (layout, tuple(tensor.shape), *map(_of_torch, parts))
    if layout == "strided":
        tensor = tensor[tuple(slice(None) if stride else slice(1) for stride in tensor.stride())]
    # Of a copy: torch never again resizes the memory that NumPy has seen.
    array = to_numpy(tensor.clone())
    return str(tensor.dtype), tuple(tensor.shape), array.tobytes()


_TORCH_PARTS = {
    "sparse_coo": ("_indices", "_values"),
    "sparse_csr": ("crow_indices", "col_indices", "values"),
    "sparse_bsr": ("crow_indices", "col_indices", "values"),
    "sparse_csc": ("ccol_indices", "row_indices", "values"),
    "sparse_bsc": ("ccol_indices", "row_indices", "values"),
}


def _of_scipy(tensor: Any) -> tuple[object, ...]:
    stored = tensor.tocoo(copy=True)
    stored.sum_duplicates()  # kernels that read may also sort what they read, in place
    coordinates = stored.coords if hasattr(stored, "coords") else (stored.row, stored.col)
    return (tensor.format, tensor.shape, *map(_of_array, (*coordinates, stored.data)))


def _of_cupyx(tensor: Any) -> tuple[object, ...]:
    return _of_scipy(tensor.get())


def _of_jax(tensor: Any) -> tuple[object, ...]:
    # Nothing can change it, but it may be given away.
    held = getattr(tensor, "data", tensor)
    return (getattr(held, "is_deleted", bool)(),)


_READERS: Final[dict[str, Callable[[Any], tuple[object, ...]]]] = {
    "numpy": _of_any,
    "torch": _of_torch,
    "scipy": _of_scipy,
    "cupyx": _of_cupyx,
    "jax": _of_jax,
    "jaxlib": _of_jax,
}


def _owns_memory(tensor: Any) -> bool:
    """Whether *tensor* says, as NumPy's arrays do, that its memory is of nobody before it."""
    return getattr(getattr(tensor, "flags", None), "owndata", False) is True


def _overlap(left: Any, right: Any) -> bool:
    if left is not right and _owns_memory(left) and _owns_memory(right):
        return False  # a tenth of what it costs to look at the memory
    if all(library_of(tensor) in ("jax", "jaxlib") for tensor in (left, right)):
        return False
    if left is right:
        return True
    one, other = _host_memory(left), _host_memory(right)
    if one is None or other is None:
        return False
    import numpy as np

    return np.may_share_memory(one, other) and np.shares_memory(one, other, max_work=-1)


def _host_memory(tensor: Any) -> Any:
    """An array over the memory of the stored elements of *tensor*; None where there is none."""
    if placed_key(tensor) not in (DispatchKey.CPU, DispatchKey.SparseCPU):
        return None
    library = library_of(tensor)
    try:
        if library == "torch":
            return _torch_memory(tensor)
        return to_numpy(tensor.data if library == "scipy" else tensor)
    except Exception:  # noqa: BLE001 - whatever a tensor's own code raises
        return None


def _torch_memory(tensor: Any) -> Any:
    """The memory of any dtype, to be compared and never read; torch does not hear of it."""
    import numpy as np

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
