"""Checked calls: what goes in, what comes out, and what a kernel must leave alone.

Note [Memory checks]: whether an argument changed and whether two tensors
overlap is told by `MemoryCheck`, which needs array libraries, and a later
layer has them.  The package itself, above all layers, names the one in use
(`c10cli._lazy.provide`), and a checked dispatcher asks for it when it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from c10cli.dispatch import call_errors
from c10cli.dispatch.describe import describe
from c10cli.dispatch.keys import DispatchKey
from c10cli.dispatch.tensor_types import is_tensor, key_of, remember, resolve_type
from c10cli.errors import KernelError
from c10cli.schema import Argument, FunctionSchema, Type, types as schema_types
from c10cli.schema.model import AliasInfo

if TYPE_CHECKING:
    from c10cli.dispatch.operator import OperatorHandle
    from c10cli.dispatch.table import DispatchTable


Snapshot = Callable[[Sequence[Any]], tuple[Any, ...]]
# A kernel in schema form, its name, what takes a snapshot of its arguments, and which of them are ints.
Choice = tuple[Callable[..., Any], str, Snapshot, tuple[int, ...]]


class MemoryCheck(Protocol):
    """What a checked call asks about the memory of tensors."""

    def snapshots(self, types: tuple[type, ...], indices: tuple[int, ...]) -> Snapshot:
        """A function of values of *types* whose result is the same while those at *indices* are."""

    def shared(
        self, returns: Sequence[Any], values: Sequence[Any], pairs: Sequence[tuple[int, int]]
    ) -> tuple[int, int] | None:
        """The first of *pairs*, of a return and a value, that overlap in memory, as far as can be told."""


class CheckedCall:
    """The calls of one operator, each checked; see `Dispatcher`.

    What is passed on is what `FunctionSchema.bind` makes of the arguments.
    """

    __slots__ = ("_fitting", "_keyword_names", "_op", "_outputs", "_positional", "_watch")

    def __init__(self, op: OperatorHandle, memory: MemoryCheck) -> None:
        schema = op.schema
        self._op = op
        self._keyword_names = [argument.name for argument in schema.keyword_only]
        self._positional, self._outputs = len(schema.positional), len(schema.returns)
        self._watch = MemoryWatch(schema, memory)
        # Types of results that fit; only where the type alone tells.
        self._fitting: dict[type, None] = {}

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """As `OperatorHandle.call`.

        Raises:
            ArgumentError: C10E404, C10E405; C10E406, tensors on different devices.
            KernelError: C10E502, returns that the schema does not have;
                C10E505, an argument changed; C10E506, a result shares memory
                with an argument without saying so.
        """
        table, names = self._op.table(), self._keyword_names
        # What is missing comes as None, whose type no choice is remembered for.
        values = (*args, *map(kwargs.get, names)) if names else args
        choice = table.checked.get(types := tuple(map(type, values)))
        if choice is None or len(kwargs) != len(names) or not _fit_64_bits(values, choice[3]):
            choice, values = self._slow_choice(table, types, args, kwargs)
            split = self._positional
            args, kwargs = values[:split], dict(zip(names, values[split:], strict=True))
        function, kernel, snapshot, _ = choice
        before = snapshot(values)
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            _tell(error, self._op.schema, kernel, values)
            raise
        returns = (result,) if type(result) in self._fitting else self._slow_returns(kernel, result)
        self._watch.check(kernel, values, returns, before, snapshot(values))
        return result if self._outputs == 1 else returns or None

    def _slow_choice(
        self, table: DispatchTable, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Choice, tuple[Any, ...]]:
        """The kernel, and the value of every argument in schema order; remembered where types tell all."""
        schema = self._op.schema
        values = tuple(schema.bind(args, kwargs, is_tensor=is_tensor).values())
        check_keys(schema, values)
        entry = table.entry_for(self._op.calling().key_tensor_of(values))
        ints = tuple(i for i, value in enumerate(values) if type(value) is int)
        choice = table.function_of(entry), entry.source.name, self._watch.snapshots(values), ints
        if len(types) == len(values) and all(map(_accepts, schema.arguments, types)):
            remember(table.checked, types, choice)
        return choice, values

    def _slow_returns(self, kernel: str, result: Any) -> tuple[Any, ...]:
        schema = self._op.schema
        returns = check_returns(schema, kernel, result)
        if self._outputs == 1 and isinstance(schema.returns[0].type, schema_types.BaseType):
            remember(self._fitting, type(result), None)
        return returns


def _fit_64_bits(values: Sequence[Any], ints: Sequence[int]) -> bool:
    for i in ints:  # noqa: SIM110 - `all` over a generator costs three times as much
        if not -(2**63) <= values[i] < 2**63:
            return False
    return True


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


def tensors_in(value: Any) -> list[Any]:
    """The tensors in an argument or a result: itself, or those of its list."""
    if is_tensor(value):
        return [value]
    return [element for element in value if is_tensor(element)] if isinstance(value, list | tuple) else []


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
        for tensor in tensors_in(value):
            key = key_of(tensor)
            if first is None or key is None:
                first = key
            elif key is not first and _SAME_DEVICE.get(key, key) is not _SAME_DEVICE.get(first, first):
                raise call_errors.different_keys(schema, _keys(schema, values))


def _keys(schema: FunctionSchema, values: Sequence[Any]) -> dict[str, list[str]]:
    """By argument, the names of the keys of its tensors."""
    found: dict[str, list[str]] = {}
    for argument, value in zip(schema.arguments, values, strict=True):
        keys = {key for key in map(key_of, tensors_in(value)) if key is not None}
        if keys:
            found[argument.name] = [key.name for key in sorted(keys)]
    return found


def _tell(error: Exception, schema: FunctionSchema, kernel: str, values: Sequence[Any]) -> None:
    """Add to *error* which kernel of which operator raised it, and for what."""
    if isinstance(error, KernelError) and error.facts.get("operator") == str(schema.name):
        return  # it says so itself
    arguments = {a.name: value for a, value in zip(schema.arguments, values, strict=True)}
    told = call_errors.kernel_raised(schema, kernel, error, arguments)
    notes = [*getattr(error, "__notes__", ()), told.concise(), f"--> {told.place}"]
    # As `add_note`, on Python 3.10 too, and past a `__setattr__` that refuses.
    BaseException.__setattr__(error, "__notes__", notes)


def check_returns(schema: FunctionSchema, kernel: str, result: Any) -> tuple[Any, ...]:
    """*result* as the schema's returns, each of its type.

    Raises:
        KernelError: C10E502.
    """
    wanted = len(schema.returns)
    if wanted == 1:
        values: tuple[Any, ...] = (result,)
    elif isinstance(result, tuple | list):
        values = tuple(result)
    else:
        values = () if result is None else (result,)
    if len(values) != wanted:
        fact = f"returned {len(values)} values where the schema returns {wanted}"
        raise call_errors.wrong_return(schema, kernel, fact)
    for index, (declared, value) in enumerate(zip(schema.returns, values, strict=True)):
        if not _fits(declared.type, value):
            raise _wrong_type(schema, kernel, index, value)
    return values


def _wrong_type(schema: FunctionSchema, kernel: str, index: int, value: Any) -> KernelError:
    declared = schema.returns[index]
    name = f" `{declared.name}`" if declared.name else ""
    came, todo = describe(value), ""
    if _is_numpy_scalar(value):
        came, todo = f"the NumPy scalar {value.dtype.name}", "make an array of it: numpy.asarray(...)"
    fact = f"gave {came} for return {index}{name}, declared {declared.type}"
    return call_errors.wrong_return(schema, kernel, fact, todo)


_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "SymInt": (int,),
    "float": (float,),
    "bool": (bool,),
    "str": (str,),
    "complex": (complex,),
    "Scalar": (int, float, complex),
}


def _fits(declared: Type, value: Any) -> bool:
    """Whether *value* may be returned as *declared*; types without a rule take anything."""
    if declared == schema_types.TENSOR:
        return is_tensor(value)
    if isinstance(declared, schema_types.OptionalType):
        return value is None or _fits(declared.element, value)
    if isinstance(declared, schema_types.ListType):
        return isinstance(value, list | tuple) and all(_fits(declared.element, v) for v in value)
    accepted = _PYTHON_TYPES.get(str(declared))
    if accepted is None:
        return True
    plain = value.item() if _is_numpy_scalar(value) else value
    return isinstance(plain, accepted) and (accepted[0] is bool or not isinstance(plain, bool))


def _is_numpy_scalar(value: object) -> bool:
    return any(c.__name__ == "generic" and c.__module__ == "numpy" for c in type(value).__mro__)


class MemoryWatch:
    """What a kernel of *schema* may neither change nor give out."""

    __slots__ = ("_memory", "_pairs", "_read_only", "_schema")

    def __init__(self, schema: FunctionSchema, memory: MemoryCheck) -> None:
        self._schema, self._memory = schema, memory
        arguments = [(i, a) for i, a in enumerate(schema.arguments) if _may_hold_tensors(a.type)]
        self._read_only = tuple(i for i, argument in arguments if not argument.is_mutable)
        self._pairs = [
            (r, i)
            for r, declared in enumerate(schema.returns)
            for i, argument in arguments
            if _may_hold_tensors(declared.type) and not _announced(declared, argument)
        ]

    def snapshots(self, values: Sequence[Any]) -> Snapshot:
        """What takes a snapshot of those arguments among such *values* that are not written."""
        return self._memory.snapshots(tuple(map(type, values)), self._read_only)

    def check(
        self,
        kernel: str,
        values: Sequence[Any],
        returns: Sequence[Any],
        before: tuple[Any, ...],
        after: tuple[Any, ...],
    ) -> None:
        """Compare the snapshots *before* and *after* the call, and *returns* with the arguments.

        Raises:
            KernelError: C10E505, C10E506.
        """
        schema = self._schema
        if before != after:
            changed = next(
                i for i, old, new in zip(self._read_only, before, after, strict=True) if old != new
            )
            raise call_errors.argument_changed(schema, kernel, schema.arguments[changed])
        shared = self._memory.shared(returns, values, self._pairs)
        if shared is not None:
            result, argument = schema.returns[shared[0]], schema.arguments[shared[1]]
            raise call_errors.result_aliases(schema, kernel, result, argument)


_NO_TENSORS = ("int", "SymInt", "float", "bool", "SymBool", "str", "complex", "Scalar", "NoneType")


def _may_hold_tensors(declared: Type) -> bool:
    if isinstance(declared, schema_types.OptionalType):
        return _may_hold_tensors(declared.element)
    return str(declared) not in _NO_TENSORS


def _announced(declared: Argument, argument: Argument) -> bool:
    """Whether the schema says that the return *declared* may be *argument*."""
    if declared.alias is None or argument.alias is None:
        return False
    if _has_wildcard(declared.alias) or _has_wildcard(argument.alias):
        return True
    return bool(declared.alias.sets & argument.alias.sets)


def _has_wildcard(alias: AliasInfo) -> bool:
    """Whether the value, or an element of it, may be in any set."""
    inside = alias.element is not None and _has_wildcard(alias.element)
    return inside or "*" in (*alias.before, *alias.after)
