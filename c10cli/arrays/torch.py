"""torch's tensors, on whatever device and in whatever layout."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import Array, Library, Shortcut, key_of_device, sparse_key
from c10cli.arrays.more_dtypes import numpy_dtype
from c10cli.describe import dtype_name
from c10cli.errors import ArgumentError, Diagnostic, RegistrationError
from c10cli.schema.model import FunctionSchema
from c10cli.schema.serving import refusal
from c10cli.schema.types import LAYOUT, MEMORY_FORMAT, SCALAR_TYPE, ListType, OptionalType, Type


def _key(value: Any) -> DispatchKey:
    # is_cpu and is_cuda cost a tenth of device.type, and they are the common answers.
    if value.is_cpu:
        key = DispatchKey.CPU
    elif value.is_cuda:  # which a ROCm build says, too
        key = _cuda_key()
    else:
        key = key_of_device(value, value.device.type)
    if value.layout is sys.modules["torch"].strided:
        return key
    # Not every other layout is sparse: nested and mkldnn tensors have their own.
    return sparse_key(value, key) if "sparse" in str(value.layout) else key


def _cuda_key() -> DispatchKey:
    return DispatchKey.HIP if sys.modules["torch"].version.hip else DispatchKey.CUDA


class _Torch(Library):
    def shortcuts(self, key_of: Callable[[Any], DispatchKey]) -> tuple[Shortcut, ...]:
        if key_of is not _key:
            return ()
        strided = sys.modules["torch"].strided
        return (
            Shortcut(_cuda_key(), "{tensor}.is_cuda and {tensor}.layout is {0}", (strided,)),
            Shortcut(DispatchKey.CPU, "{tensor}.is_cpu and {tensor}.layout is {0}", (strided,)),
        )

    def make(self, array: Any, key: DispatchKey) -> Any:
        tensor = _on_the_cpu(array)
        if key is DispatchKey.CUDA:
            return tensor.cuda()
        return tensor.to_sparse() if key is DispatchKey.SparseCPU else tensor

    def read(self, tensor: Any) -> Any:
        torch = sys.modules["torch"]
        tensor = tensor.detach()
        tensor = (tensor.dequantize() if tensor.is_quantized else tensor).cpu()
        tensor = tensor.to_dense() if tensor.layout is not torch.strided else tensor
        if tensor.is_floating_point() and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
            with contextlib.suppress(ImportError):  # float32 holds them as well
                narrow = numpy_dtype(dtype_name(tensor.dtype))
                integers = tensor.view(getattr(torch, f"int{8 * narrow.itemsize}"))
                return self.read(integers).view(narrow)
            tensor = tensor.float()
        elif tensor.dtype is torch.complex32:
            tensor = tensor.to(torch.complex64)
        array = np.asarray(tensor.resolve_conj().resolve_neg().numpy())
        if array.size and not tensor.data_ptr():  # in torch.func.functionalize; what was read is chance
            raise ValueError("it stands for another tensor, and has no memory")
        return array

    def contents(self, tensor: Any) -> tuple[object, ...]:
        tensor = tensor.detach()
        if "sparse" in str(tensor.layout):
            return str(tensor.layout), tensor.shape, *map(self.contents, _parts(tensor))
        if tensor.layout is sys.modules["torch"].strided:
            tensor = tensor[tuple(slice(None) if stride else slice(1) for stride in tensor.stride())]
        # Of a copy: torch never again resizes the memory that NumPy has seen.
        array = self.read(tensor.clone())
        return str(tensor.dtype), tuple(tensor.shape), array.tobytes()

    def memory(self, tensor: Any) -> list[Array]:
        return [_located(part) for part in _parts(tensor.detach()) if part.numel() and part.data_ptr()]

    def write(self, tensor: Any, contents: Any) -> None:
        tensor.copy_(contents)

    def synchronizer(self, key: DispatchKey) -> Any:
        if key is not DispatchKey.CUDA:
            return None
        import torch

        return torch.cuda.synchronize

    def adapted(self, schema: FunctionSchema, function: Callable[..., Any]) -> Callable[..., Any]:
        """*function*, given torch's dtypes, layouts and memory formats for the words of *schema*.

        Raises:
            RegistrationError: C10E305, *function* is an operator of torch with another schema.
        """
        declared = getattr(function, "_schema", None)  # its Python signature takes anything
        finding = refusal(schema, str(declared)) if declared is not None else None
        if finding is not None:
            raise RegistrationError(finding, operator=str(schema.name))
        words = [argument.name for argument in schema.arguments if _is_word(argument.type)]
        if not words:
            return function
        names = [argument.name for argument in schema.positional]

        @functools.wraps(function, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            given = [_object(v) if n in words else v for n, v in zip(names, args, strict=False)]
            named = {n: _object(v) if n in words else v for n, v in kwargs.items()}
            return function(*given, *args[len(names) :], **named)

        return call


def _parts(tensor: Any) -> list[Any]:
    """The dense tensors that a sparse one is made of; of any other, itself."""
    layout = str(tensor.layout)
    if "sparse" not in layout:
        return [tensor]
    if layout.endswith("coo"):
        return [tensor._indices(), tensor._values()]
    if layout.endswith(("csr", "bsr")):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]


def _located(tensor: Any) -> Array:
    """An array over the memory of a dense tensor, of any dtype; torch does not hear of it."""
    size = tensor.element_size()
    strides = [stride * size for stride in tensor.stride()]
    span = sum((n - 1) * stride for n, stride in zip(tensor.shape, strides, strict=True)) + size
    memory = (ctypes.c_char * span).from_address(tensor.data_ptr())
    return np.ndarray(tuple(tensor.shape), f"V{size}", memory, strides=tuple(strides))


def _on_the_cpu(array: npt.NDArray[Any]) -> Any:
    """*array* as a tensor, of the same memory where torch can have that."""
    import torch

    # torch has no steps backwards or of parts of an element, and warns of what it could not write.
    is_steppable = all(step >= 0 and step % array.itemsize == 0 for step in array.strides)
    array = array if array.flags.writeable and is_steppable else np.array(array)
    name = array.dtype.name
    try:
        if array.dtype.kind == "V" and hasattr(torch, name):  # ml_dtypes' bfloat16 and its like
            return torch.from_numpy(array.view(f"int{8 * array.itemsize}")).view(getattr(torch, name))
        return torch.from_numpy(array)
    except TypeError as error:
        fact = f"torch has no dtype for an array of {name}"
        raise ArgumentError(Diagnostic("C10E405", fact, help="choose another dtype")) from error


def _is_word(declared: Type) -> bool:
    while isinstance(declared, OptionalType | ListType):
        declared = declared.element
    return declared in (SCALAR_TYPE, LAYOUT, MEMORY_FORMAT)


def _object(value: Any) -> Any:
    """torch's object for a word: its kernels take no other."""
    if isinstance(value, list):
        return [_object(element) for element in value]
    if not isinstance(value, str):
        return value
    import torch

    return getattr(torch, value)


LIBRARY = _Torch("torch", {"Tensor": _key})
