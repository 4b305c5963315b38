"""Checked calls: what goes in; what comes out, and what a kernel must leave alone, is in `watch`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.tensor_types import is_tensor, key_of, remember, resolve_type, tensors_of
from c10cli.dispatch import call_errors
from c10cli.dispatch.generated import generate_call_by_types
from c10cli.dispatch.watch import MemoryCheck, MemoryWatch, WatchedKernel
from c10cli.errors import ArgumentError
from c10cli.schema import types as schema_types
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.types import Type

Function = Callable[..., Any]

if TYPE_CHECKING:
    from c10cli.dispatch.kernel import BoundKernel
    from c10cli.dispatch.operator import OperatorHandle
    from c10cli.dispatch.table import DispatchTable


class CheckedCall:
    """The calls of one operator, each checked; see `Dispatcher`.

    What is passed on is what `FunctionSchema.bind` makes of the arguments.
    Where the types of all arguments tell that this is the arguments
    themselves, which kernel it is and that the devices agree, a function
    written for these types does the rest from the second call on.

    ``call`` is called as `OperatorHandle.call` is.

    Raises:
        ArgumentError: C10E404, C10E405; C10E406, tensors on different devices.
        KernelError: C10E502, returns that the schema does not have; C10E505,
            an argument changed; C10E506, a result shares memory with an
            argument without saying so.
    """

    __slots__ = ("_op", "_watch", "call", "swap")

    def __init__(self, op: OperatorHandle, memory: MemoryCheck) -> None:
        self._op = op
        self._watch = MemoryWatch(op.schema, memory)
        defaults = {a.name: _passed_default(a) for a in op.schema.arguments if a.has_default}
        made = generate_call_by_types(op.schema, defaults, op.table().by_types, self._slow_call)
        dispatch, self.swap = made or (self._any_call, lambda table: None)
        self.call = _explaining(op, dispatch)

    def _slow_call(self, /, *given: Any) -> Any:
        """Call with *given* for all arguments, in schema order; written out where types tell all."""
        arguments, types = self._op.schema.arguments, tuple(map(type, given))
        named = {a.name: value for a, value in zip(arguments, given, strict=True) if value is not _LEFT_OUT}
        values = self._bound((), named)
        table, kernel = self._kernel(values)
        result = kernel.call(values)
        if types not in table.by_types and all(map(_accepts, arguments, types)):
            remember(table.by_types, types, kernel.generate(types, type(result), self._slow_call))
        return result

    def _any_call(self, /, *args: Any, **kwargs: Any) -> Any:
        """The same for the rare schema that no function of Python can have."""
        values = self._bound(args, kwargs)
        return self._kernel(values)[1].call(values)

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        schema = self._op.schema
        values = tuple(schema.bind(args, kwargs, is_tensor=is_tensor).values())
        check_keys(schema, values)
        return values

    def _kernel(self, values: tuple[Any, ...]) -> tuple[DispatchTable, WatchedKernel]:
        """The table in use, and the kernel that serves *values*."""
        table = self._op.table()
        entry = table.entry_for(self._op.calling().key_tensor_of(values))
        function, bound = table.function_of(entry), entry.bound(self._op.schema)
        return table, WatchedKernel(self._watch, function, bound.name, bound.place)

    def around(self, function: Function, bound: BoundKernel) -> Function:
        """The kernel *bound*, as *function* in schema form, with the checks of `call` around it."""
        kernel = WatchedKernel(self._watch, function, bound.name, bound.place)
        return lambda *args, **kwargs: kernel.call(self._bound(args, kwargs))


def _explaining(op: OperatorHandle, dispatch: Function) -> Function:
    """*dispatch* with the errors of `OperatorHandle.__call__`, to be called and shown as ``op.call`` is."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return dispatch(*args, **kwargs)
        except TypeError as error:
            op.explain(error, args, kwargs)
            raise

    functools.update_wrapper(call, op.call)
    vars(call)["__signature__"] = inspect.signature(op.call)
    del vars(call)["__wrapped__"]  # the unchecked call is nobody's
    return call


# For an argument that the caller left out, where its type does not tell that
# `bind` passes the default on as it is.
_LEFT_OUT = object()


def _passed_default(argument: Argument) -> object:
    return argument.default if _accepts(argument, type(argument.default)) else _LEFT_OUT


def _is_tensor_of_one_key(value_type: type) -> bool:
    return isinstance(resolve_type(value_type), DispatchKey)


# Types whose values `bind` passes on as they are (ints, if they have 64 bits):
# a call with nothing else needs no binding, which costs some 5 µs, next time.
_PASSED_ON: dict[Type, Callable[[type], bool]] = {
    schema_types.TENSOR: _is_tensor_of_one_key,
    schema_types.INT: lambda value_type: value_type is int,
    schema_types.FLOAT: lambda value_type: value_type is float,
    schema_types.BOOL: lambda value_type: value_type is bool,
    schema_types.STR: lambda value_type: value_type is str,
    schema_types.SCALAR: lambda value_type: value_type in (int, float, bool, complex),
}


def _accepts(argument: Argument, value_type: type) -> bool:
    passed_on = _PASSED_ON.get(argument.type)
    return passed_on is not None and passed_on(value_type)


# A sparse tensor and a dense one may be arguments of one call.
_SAME_DEVICE = {DispatchKey.SparseCPU: DispatchKey.CPU, DispatchKey.SparseCUDA: DispatchKey.CUDA}


def check_keys(schema: FunctionSchema, values: Sequence[Any]) -> None:
    """Refuse tensors of one call that live on different devices.

    Args:
        values: of all arguments, in schema order.

    Raises:
        ArgumentError: C10E406, with each argument and its key.
    """
    first: DispatchKey | None = None
    for value in values:
        for tensor in tensors_of(value):
            key = _key_of(tensor)
            if first is None or key is None:
                first = first or key
            elif key is not first and _SAME_DEVICE.get(key, key) is not _SAME_DEVICE.get(first, first):
                raise call_errors.different_keys(schema, _keys(schema, values))


def _key_of(tensor: Any) -> DispatchKey | None:
    """The key; None where there is none, as in a trace of jax: the kernel may be chosen by another tensor."""
    try:
        return key_of(tensor)
    except ArgumentError:
        return None


def _keys(schema: FunctionSchema, values: Sequence[Any]) -> dict[str, list[str]]:
    """By argument, the names of the keys of its tensors."""
    found: dict[str, list[str]] = {}
    for argument, value in zip(schema.arguments, values, strict=True):
        keys = {key for key in map(_key_of, tensors_of(value)) if key is not None}
        if keys:
            found[argument.name] = [key.name for key in sorted(keys)]
    return found
