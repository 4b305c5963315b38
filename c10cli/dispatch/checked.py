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
from c10cli.dispatch.tensor_types import is_tensor, key_of, resolve_type
from c10cli.errors import KernelError
from c10cli.schema import Argument, FunctionSchema, Type, types as schema_types
from c10cli.schema.model import AliasInfo

if TYPE_CHECKING:
    from c10cli.dispatch.operator import OperatorHandle
    from c10cli.dispatch.table import DispatchTable


# A kernel in schema form, and its name.
Choice = tuple[Callable[..., Any], str]


class MemoryCheck(Protocol):
    """What a checked call asks about the memory of tensors."""

    def snapshot(self, values: Sequence[Any]) -> list[Any]:
        """Per value, something that is equal as long as the value is the same, bit by bit."""

    def shared(self, pairs: Sequence[tuple[Any, Any]]) -> int | None:
        """The first of *pairs* of tensors, or lists of them, that overlap in memory, if that can be told."""


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
        self._fitting: set[type] = set()

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """As `OperatorHandle.call`.

        Raises:
            ArgumentError: C10E404, C10E405; C10E406, tensors on different devices.
            KernelError: C10E502, returns that the schema does not have;
                C10E505, an argument changed; C10E506, a result shares memory
                with an argument without saying so.
        """
        table = self._op.table()
        values: Sequence[Any] = args
        if self._keyword_names:
            values = (*args, *[kwargs.get(name, _missing) for name in self._keyword_names])
        types = tuple(map(type, values))
        choice = table.checked.get(types)
        if choice is None or len(kwargs) != len(self._keyword_names) or not _fit_64_bits(types, values):
            choice, values = self._slow_choice(table, types, args, kwargs)
        function, kernel = choice
        watched, before = self._watch.begin(values)
        try:
            if self._keyword_names:
                split = self._positional
                keywords = dict(zip(self._keyword_names, values[split:], strict=True))
                result = function(*values[:split], **keywords)
            else:
                result = function(*values)
        except Exception as error:
            _tell(error, self._op.schema, kernel, values)
            raise
        returns = (result,) if type(result) in self._fitting else self._slow_returns(kernel, result)
        self._watch.end(kernel, values, returns, watched, before)
        return returns[0] if self._outputs == 1 else returns or None

    def _slow_choice(
        self, table: DispatchTable, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Choice, Sequence[Any]]:
        """The kernel, and the value of every argument in schema order; remembered where types tell all."""
        schema = self._op.schema
        values = list(schema.bind(args, kwargs, is_tensor=is_tensor).values())
        check_keys(schema, values)
        entry = table.entry_for(self._op.calling().key_tensor_of(values))
        choice = table.function_of(entry), entry.source.name
        if len(types) == len(values) and all(map(_accepts, schema.arguments, types)):
            table.checked[types] = choice
        return choice, values

    def _slow_returns(self, kernel: str, result: Any) -> tuple[Any, ...]:
        schema = self._op.schema
        returns = check_returns(schema, kernel, result)
        if self._outputs == 1 and isinstance(schema.returns[0].type, schema_types.BaseType):
            self._fitting.add(type(result))
        return returns


def _fit_64_bits(types: tuple[type, ...], values: Sequence[Any]) -> bool:
    return int not in types or all(-(2**63) <= value < 2**63 for value in values if type(value) is int)


class _Missing:
    """The type of what was not passed."""


_missing = _Missing()


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
    if isinstance(error, KernelError):  # it says so itself
        return
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
        self._read_only = [i for i, argument in arguments if not argument.is_mutable]
        self._pairs = [
            (r, i)
            for r, declared in enumerate(schema.returns)
            for i, argument in arguments
            if _may_hold_tensors(declared.type) and not _announced(declared, argument)
        ]

    def begin(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The arguments among *values* that are not written, and their snapshots."""
        watched = [values[i] for i in self._read_only]
        return watched, self._memory.snapshot(watched)

    def end(
        self,
        kernel: str,
        values: Sequence[Any],
        returns: Sequence[Any],
        watched: Sequence[Any],
        before: Sequence[Any],
    ) -> None:
        """Compare *watched* with *before*, and *returns* with the arguments.

        Raises:
            KernelError: C10E505, C10E506.
        """
        if self._memory.snapshot(watched) != before:
            raise self._changed(kernel, watched, before)
        shared = self._memory.shared([(returns[r], values[i]) for r, i in self._pairs])
        if shared is not None:
            schema, (r, i) = self._schema, self._pairs[shared]
            raise call_errors.result_aliases(schema, kernel, schema.returns[r], schema.arguments[i])

    def _changed(self, kernel: str, watched: Sequence[Any], before: Sequence[Any]) -> KernelError:
        after = self._memory.snapshot(watched)
        changed = next(i for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new)
        return call_errors.argument_changed(
            self._schema, kernel, self._schema.arguments[self._read_only[changed]]
        )


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
