"""A kernel of a registry as torch calls it: torch's values in, torch's values out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.placement import as_torch
from c10cli.describe import describe
from c10cli.dispatch.kernel import OpKernel
from c10cli.errors import ArgumentError, Diagnostic, KernelError
from c10cli.manifest.link import LinkedOperator, Variant
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.types import is_optional_tensor, is_tensor, is_tensor_list

__all__ = ["make_torch_kernel"]

Function = Callable[..., Any]
# A return as the kernel gave it, whether it may share memory with arguments, to what torch gets.
Convert = Callable[[Any, bool], Any]


def make_torch_kernel(linked: LinkedOperator, candidate: Variant) -> Function:
    """The kernel of *candidate* as a function for `torch.library.Library.impl`.

    The kernel is imported at the first call.  torch leaves out arguments that
    equal their default, so the schema's defaults are filled in again.  A
    kernel that takes NumPy's arrays gets the tensors' own memory.  A result
    that shares memory with an argument where the schema does not say so is
    copied: torch takes every other result for new.
    """
    schema, name = linked.decl.schema, candidate.kernel.entry_point.text
    ready = threading.local()  # one OpKernel, and so one cache, serves one thread

    def kernel() -> OpKernel:
        if not hasattr(ready, "kernel"):
            key = DispatchKey(candidate.kernel.dispatch_key)
            ready.kernel = OpKernel(linked.handle.calling(), key, linked.bind(candidate.kernel))
        found: OpKernel = ready.kernel
        return found

    if _takes_tensors(candidate):
        return _on_torch(schema, name, kernel)
    return _on_numpy(schema, name, kernel)


def _takes_tensors(candidate: Variant) -> bool:
    """Whether torch's tensors are what the kernel takes."""
    kernel = candidate.kernel
    return kernel.arrays == "torch" or (not kernel.arrays and kernel.dispatch_key != "CPU")


def _on_torch(schema: FunctionSchema, name: str, kernel: Callable[[], OpKernel]) -> Function:
    """For a kernel that takes torch's tensors as they are."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [tensor for _, tensor in _tensors((*args, *kwargs.values()))]

        def convert(value: Any, may_alias: bool) -> Any:
            if may_alias or not any(_same_storage(value, tensor) for tensor in given):
                return value
            return value.clone()

        return _returns(schema, name, kernel()(*args, **kwargs), convert)

    return call


def _on_numpy(schema: FunctionSchema, name: str, kernel: Callable[[], OpKernel]) -> Function:
    """For a kernel that takes and gives NumPy's arrays."""

    def call(*args: Any, **kwargs: Any) -> Any:
        values = [_from_torch(schema, value) for value in args]
        named = {keyword: _from_torch(schema, value) for keyword, value in kwargs.items()}
        given = _pairs((*args, *kwargs.values()), (*values, *named.values()))

        def convert(value: Any, may_alias: bool) -> Any:
            if may_alias and id(value) in given:
                return given[id(value)][0]
            array = np.asarray(value)
            if not may_alias and any(np.may_share_memory(array, other) for _, other in given.values()):
                array = array.copy()
            return as_torch(array)

        return _returns(schema, name, kernel()(*values, **named), convert)

    return call


def _tensors(values: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Every tensor among *values* and in their lists, with its place."""
    import torch

    place = 0
    for value in values:
        for element in value if isinstance(value, list | tuple) else (value,):
            if isinstance(element, torch.Tensor):
                yield place, element
            place += 1


def _pairs(tensors: Sequence[Any], arrays: Sequence[Any]) -> Mapping[int, tuple[Any, Any]]:
    """Each tensor with its array, by the array's id; both sequences are of one shape."""
    flat = [e for value in arrays for e in (value if isinstance(value, list | tuple) else (value,))]
    return {id(flat[place]): (tensor, flat[place]) for place, tensor in _tensors(tensors)}


def _from_torch(schema: FunctionSchema, value: Any) -> Any:
    """*value* as a kernel of ours takes it: arrays for tensors, words for dtypes and devices."""
    import torch

    if isinstance(value, torch.Tensor):
        try:
            # Whatever is recorded for gradients is recorded above the kernel.
            return value.detach().resolve_conj().resolve_neg().numpy()
        except (TypeError, RuntimeError) as error:
            fact = f"a {describe(value)} of torch cannot be an array of NumPy, which the kernel takes"
            raise ArgumentError(
                Diagnostic("C10E405", fact, place=f"call of {schema.name}", help="choose another dtype"),
                operator=str(schema.name),
            ) from error
    if isinstance(value, list | tuple):
        return [_from_torch(schema, element) for element in value]
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return str(value).rpartition(".")[2]
    return str(value) if isinstance(value, torch.device) else value


def _same_storage(value: Any, tensor: Any) -> bool:
    import torch

    if value is tensor:
        return True
    if not (value.layout is tensor.layout is torch.strided):
        return False
    own: int = value.untyped_storage().data_ptr()
    return own != 0 and own == tensor.untyped_storage().data_ptr()


def _returns(schema: FunctionSchema, kernel: str, result: Any, convert: Convert) -> Any:
    """*result* for torch, which crashes, or goes on without a word, where types are wrong."""
    declared = schema.returns
    if len(declared) == 1:
        return _return(schema, kernel, declared[0], result, convert)
    if not declared:
        return None
    pairs = zip(declared, result, strict=True)
    return tuple(_return(schema, kernel, one, value, convert) for one, value in pairs)


def _return(schema: FunctionSchema, kernel: str, declared: Argument, value: Any, convert: Convert) -> Any:
    may_alias = declared.alias is not None
    if is_optional_tensor(declared.type) and value is None:
        return None
    if is_tensor(declared.type) or is_optional_tensor(declared.type):
        return convert(_checked(schema, kernel, declared, value), may_alias)
    if is_tensor_list(declared.type) and isinstance(value, list | tuple):
        return [
            None if v is None else convert(_checked(schema, kernel, declared, v), may_alias) for v in value
        ]
    return value.item() if isinstance(value, np.generic) else value


def _checked(schema: FunctionSchema, kernel: str, declared: Argument, value: Any) -> Any:
    """*value*, which must be a tensor."""
    import torch

    if isinstance(value, np.ndarray | np.generic | torch.Tensor):
        return value
    fact = f"kernel `{kernel}` of `{schema.name}` gave {describe(value)} for a return that is {declared.type}"
    raise KernelError(
        Diagnostic("C10E502", fact, notes=(f"the schema is {schema}",), help="return a tensor"),
        operator=str(schema.name),
        kernel=kernel,
    )
