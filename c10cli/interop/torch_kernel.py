"""A kernel of a registry as torch calls it: torch's values in, torch's values out."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.memory import share_memory
from c10cli.arrays.placement import place
from c10cli.describe import describe
from c10cli.dispatch.checked import wrong_return
from c10cli.dispatch.kernel import OpKernel
from c10cli.errors import ArgumentError, Diagnostic, NoKernelError
from c10cli.manifest.declarations import KernelDecl
from c10cli.manifest.link import LinkedOperator, Variant
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.types import is_optional_tensor, is_tensor, is_tensor_list


def make_torch_kernel(linked: LinkedOperator, variants: Sequence[Variant]) -> Callable[..., Any]:
    """The first of *variants* that takes a call, as a function for `torch.library.Library.impl`.

    A kernel is imported at its first call.  torch leaves out arguments that
    equal their default, so the schema's defaults are filled in again.  A
    kernel that takes NumPy's arrays gets the tensors' own memory.  A result
    that shares memory with an argument where the schema does not say so is
    copied: torch takes every other result for new.
    """
    ready = threading.local()  # one OpKernel, and so one cache, serves one thread

    def call(*args: Any, **kwargs: Any) -> Any:
        kernel = _choose(linked, variants, args, kwargs)
        kernels = vars(ready).setdefault("kernels", {})
        if kernel.name not in kernels:
            key = DispatchKey(kernel.dispatch_key)
            kernels[kernel.name] = OpKernel(linked.handle.calling, key, linked.bind(kernel))
        exchange = _Exchange(linked.decl.schema, kernel)
        named = {keyword: exchange.take(value) for keyword, value in kwargs.items()}
        return exchange.give(kernels[kernel.name](*map(exchange.take, args), **named))

    apart: list[Any] = []

    def call_apart(*args: Any, **kwargs: Any) -> Any:
        """What is compiled calls the operator; the kernel's own Python is not to be compiled as well."""
        if "torch._dynamo" not in sys.modules:
            return call(*args, **kwargs)
        if not apart:
            compiler: Any = sys.modules["torch"].compiler
            apart.append(compiler.disable(call))
        return apart[0](*args, **kwargs)

    return call_apart


def _choose(
    linked: LinkedOperator, variants: Sequence[Variant], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> KernelDecl:
    """The first of *variants* whose condition holds.

    Raises:
        NoKernelError: C10E413.
    """
    if not variants[0].kernel.when:
        return variants[0].kernel
    schema = linked.decl.schema
    values = linked.handle.calling.slow_bind(args, kwargs)
    named = dict(zip((argument.name for argument in schema.arguments), values, strict=True))
    refused = []
    for variant in variants:
        why = linked.why_not(variant.kernel, named)
        if not why:
            return variant.kernel
        refused.append(f"`{variant.kernel.name}`: {why}")
    fact, todo = f"no variant of `{schema.name}` takes this call", "give arguments that one of them takes"
    finding = Diagnostic("C10E413", fact, place=f"call of {schema.name}", notes=tuple(refused[:8]), help=todo)
    raise NoKernelError(finding, operator=str(schema.name))


class _Exchange:
    """What one call takes and gives: torch's tensors as they are, or as arrays of NumPy over their memory."""

    __slots__ = ("_has_tensors", "_kernel", "_schema", "_taken")

    def __init__(self, schema: FunctionSchema, kernel: KernelDecl) -> None:
        self._schema = schema
        self._kernel = kernel.entry_point.text
        self._has_tensors = kernel.arrays == "torch" or (not kernel.arrays and kernel.dispatch_key != "CPU")
        # What the kernel gets and the tensor that it stands for, by id of the first.
        self._taken: dict[int, tuple[Any, Any]] = {}

    def take(self, value: Any) -> Any:
        """*value* of torch as the kernel takes it: words for dtypes and devices where it knows no torch."""
        import torch

        if isinstance(value, torch.Tensor):
            taken = value if self._has_tensors else self._array(value)
            self._taken[id(taken)] = taken, value
            return taken
        if isinstance(value, list | tuple):
            return [self.take(element) for element in value]
        if self._has_tensors:
            return value
        if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
            return str(value).rpartition(".")[2]
        return str(value) if isinstance(value, torch.device) else value

    def _array(self, tensor: Any) -> Any:
        try:
            # Whatever is recorded for gradients is recorded above the kernel.
            return tensor.detach().resolve_conj().resolve_neg().numpy()
        except (TypeError, RuntimeError) as error:
            fact = f"a {describe(tensor)} of torch cannot be an array of NumPy, which the kernel takes"
            where = f"call of {self._schema.name}"
            raise ArgumentError(
                Diagnostic("C10E405", fact, place=where, help="choose another dtype"),
                operator=str(self._schema.name),
            ) from error

    def give(self, result: Any) -> Any:
        """*result* for torch, which crashes, or goes on without a word, where types are wrong."""
        declared = self._schema.returns
        if len(declared) == 1:
            return self._return(declared[0], result)
        return tuple(map(self._return, declared, result)) if declared else None

    def _return(self, declared: Argument, value: Any) -> Any:
        kind = declared.type
        if is_tensor_list(kind) and isinstance(value, list | tuple):
            return [None if element is None else self._tensor(declared, element) for element in value]
        if is_tensor(kind) or (is_optional_tensor(kind) and value is not None):
            return self._tensor(declared, value)
        return value.item() if isinstance(value, np.generic) else value

    def _tensor(self, declared: Argument, value: Any) -> Any:
        import torch

        known: Any = (np.ndarray, np.generic, torch.Tensor)
        if not isinstance(value, known):
            fact = f"gave {describe(value)} for a return that is {declared.type}"
            raise wrong_return(self._schema, self._kernel, fact, "return a tensor")
        if declared.alias is None:
            if share_memory(value, [taken for taken, _ in self._taken.values()]):
                value = value.clone() if self._has_tensors else value.copy()
        elif id(value) in self._taken:
            return self._taken[id(value)][1]
        return value if self._has_tensors else place(np.asarray(value), DispatchKey.CPU, "torch")
