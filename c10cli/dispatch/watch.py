"""Watched kernels: what they return, and what they must neither change nor give out.

Note [Memory checks]: whether an argument changed and whether two tensors
overlap is told by `MemoryCheck`, which needs array libraries, and a later
layer has them.  The package itself, above all layers, names the one in use
(`c10cli._lazy.provide`), and a checked dispatcher asks for it when it is made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from c10cli.dispatch import call_errors
from c10cli.dispatch.generated import compiled, passed_values
from c10cli.dispatch.returns import check_returns
from c10cli.errors import KernelError
from c10cli.schema import types as schema_types
from c10cli.schema.model import AliasInfo, Argument, FunctionSchema
from c10cli.schema.types import Type

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ContentsCode:
    """Code that says what `MemoryCheck.contents` says, in expressions over `{}`, the value.

    Args:
        holds: the condition under which it does.
        parts: of more than one, a tuple.
        compare: how each part is told to be the same, ``is`` or ``==``.
    """

    holds: str
    parts: tuple[str, ...]
    compare: tuple[str, ...]


class MemoryCheck(Protocol):
    """What a checked call asks about the memory of tensors."""

    def contents(self, value: Any) -> Any:
        """What is the same while *value* is unchanged."""

    def contents_code(self, kind: type) -> ContentsCode | None:
        """For values of type *kind*; None where no code is quicker than the call."""

    def apart_code(self, result: type, kind: type) -> str:
        """An expression that is true only where the *result* `{0}` and the value `{1}` share no memory.

        It need not find that out for all; empty where no code is quicker than `shared`.
        """

    def shared(
        self, returns: Sequence[Any], values: Sequence[Any], pairs: Sequence[tuple[int, int]]
    ) -> tuple[int, int] | None:
        """The first of *pairs*, of a return and a value, that overlap in memory, as far as can be told."""


class MemoryWatch:
    """What a kernel of *schema* may neither change nor give out.

    Args:
        memory: see Note [Memory checks].
    """

    __slots__ = ("announced", "memory", "pairs", "read_only", "schema", "written")

    def __init__(self, schema: FunctionSchema, memory: MemoryCheck) -> None:
        self.schema, self.memory = schema, memory
        arguments = [(i, a) for i, a in enumerate(schema.arguments) if _may_hold_tensors(a.type)]
        self.read_only = tuple(i for i, argument in arguments if not argument.is_mutable)
        self.written = tuple(i for i, argument in arguments if argument.is_mutable)
        self.pairs = [
            (r, i)
            for r, declared in enumerate(schema.returns)
            for i, argument in arguments
            if _may_hold_tensors(declared.type) and not _announced(declared, argument)
        ]
        self.announced = [
            [i for i, argument in arguments if _announced(declared, argument)] for declared in schema.returns
        ]

    def _is_one_of(self, others: Sequence[int], index: int, values: Sequence[Any]) -> bool:
        """Whether the caller passed, as argument *index*, memory of one of the arguments *others* as well."""
        return any(self.memory.shared([values[i]], [values[index]], [(0, 0)]) for i in others)

    def _unannounced(self, returns: Sequence[Any], values: Sequence[Any]) -> tuple[int, int] | None:
        """A return and an argument that share memory, where the schema does not say so."""
        pairs = self.pairs
        while (found := self.memory.shared(returns, values, pairs)) is not None:
            if not self._is_one_of(self.announced[found[0]], found[1], values):
                return found
            pairs = pairs[pairs.index(found) + 1 :]
        return None

    def contents(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """What `check` compares: of those arguments among *values* that are not written."""
        return tuple(self.memory.contents(values[i]) for i in self.read_only)

    def check(
        self, kernel: str, values: Sequence[Any], returns: Sequence[Any], before: tuple[Any, ...]
    ) -> None:
        """Compare the `contents` of *values* with those *before* the call, and *returns* with the arguments.

        Raises:
            KernelError: C10E505, C10E506.
        """
        schema, after = self.schema, self.contents(values)
        for i, old, new in zip(self.read_only, before, after, strict=True):
            if old != new and not self._is_one_of(self.written, i, values):
                raise call_errors.argument_changed(schema, kernel, schema.arguments[i])
        shared = self._unannounced(returns, values)
        if shared is not None:
            result, argument = schema.returns[shared[0]], schema.arguments[shared[1]]
            raise call_errors.result_aliases(schema, kernel, result, argument)


class WatchedKernel:
    """A kernel whose every call is checked on the way out, and for what it must leave alone.

    Args:
        function: in schema form.
        name: for messages.
        place: where the kernel is defined, for messages.
    """

    __slots__ = ("_function", "_name", "_place", "_watch")

    def __init__(self, watch: MemoryWatch, function: Function, name: str, place: str) -> None:
        self._watch, self._function, self._name, self._place = watch, function, name, place

    def call(self, values: Sequence[Any]) -> Any:
        """The result for *values* of all arguments, in schema order, as the schema returns it.

        Raises:
            KernelError: C10E502, C10E505, C10E506.
        """
        schema, before = self._watch.schema, self._watch.contents(values)
        split = len(schema.positional)
        keywords = {a.name: value for a, value in zip(schema.keyword_only, values[split:], strict=True)}
        try:
            result = self._function(*values[:split], **keywords)
        except Exception as error:
            self._tell(error, *values)
            raise
        return self._finish(values, result, before)

    def _finish(self, values: Sequence[Any], result: Any, before: tuple[Any, ...]) -> Any:
        schema = self._watch.schema
        try:
            returns = check_returns(schema, self._name, result)
            self._watch.check(self._name, values, returns, before)
        except KernelError as error:
            note = f"the kernel is defined at {self._place}"
            raise KernelError(*(d.with_notes(note) for d in error.diagnostics), **error.facts) from None
        return result if len(schema.returns) == 1 else returns or None

    def _tell(self, error: Exception, *values: Any) -> None:
        """Add to *error* which kernel of which operator raised it, and for what."""
        schema = self._watch.schema
        if isinstance(error, KernelError) and error.facts.get("operator") == str(schema.name):
            return  # it says so itself
        arguments = {a.name: value for a, value in zip(schema.arguments, values, strict=True)}
        told = call_errors.kernel_raised(schema, self._name, error, arguments)
        with contextlib.suppress(Exception):  # the class may have notes of its own; its error comes through
            present = error.__dict__.get("__notes__", [])
            # One exception may be raised often, and pass through many kernels.
            if told.concise() not in present and len(present) < _MOST_NOTES:
                # As `add_note`, on Python 3.10 too, and past a `__setattr__` that refuses.
                BaseException.__setattr__(error, "__notes__", [*present, told.concise(), f"--> {told.place}"])

    def generate(self, types: Sequence[type], result: type, refused: Function) -> Function:
        """`call` for values of *types*, given one by one, written out: a third of the cost for two arrays.

        Args:
            result: the type of a result that was right.
            refused: called instead for an int of more than 64 bits, or a tensor that needs more care.
        """
        texts, compare, finish = self._contents_code(types)
        parts = list(enumerate(texts))
        same = [f"p{n} {how} {text}" for (n, text), how in zip(parts, compare, strict=True)]
        source = _TEMPLATE.format(
            values=", ".join(f"v{i}" for i in range(len(types))),
            fitting=self._fitting_code(types),
            taken="; ".join(f"p{n} = {text}" for n, text in parts) or "pass",
            parts="".join(f"p{n}, " for n, _ in parts),
            passed=passed_values(self._watch.schema),
            fine=" and ".join([self._fine_code(types, result), *same]),
        )
        names: dict[str, Any] = {
            "contents": self._watch.memory.contents,
            "finish": finish,
            "fitting": result,
            "kernel": self._function,
            "refused": refused,
            "tell": self._tell,
        }
        exec(compiled(source), names)
        made: Function = names.pop("call")
        return made

    def _contents_code(self, types: Sequence[type]) -> tuple[list[str], list[str], Function]:
        """The code of all `contents`, flat, how each is compared, and `_finish` for a tuple of them."""
        of_type, read_only = self._watch.memory.contents_code, self._watch.read_only
        codes = [of_type(types[i]) for i in read_only]
        parts = [code.parts if code else ("contents({})",) for code in codes]
        compare = [how for code in codes for how in (code.compare if code else ("==",))]

        def finish(values: Sequence[Any], result: Any, before: tuple[Any, ...]) -> Any:
            flat = iter(before)
            nested = [tuple(next(flat) for _ in code.parts) if code else next(flat) for code in codes]
            return self._finish(values, result, tuple(nested))

        texts = [text.format(f"v{i}") for i, part in zip(read_only, parts, strict=True) for text in part]
        return texts, compare, finish

    def _fitting_code(self, types: Sequence[type]) -> str:
        """The code of a condition under which the values may be passed on and read by code."""
        tests = [_64_BITS.format(i) for i, kind in enumerate(types) if kind is int]
        codes = [(i, self._watch.memory.contents_code(types[i])) for i in self._watch.read_only]
        tests += [code.holds.format(f"v{i}") for i, code in codes if code is not None]
        return " and ".join(tests) or "True"

    def _fine_code(self, types: Sequence[type], result: type) -> str:
        """The code of a condition under which a result is right and shares no memory with the arguments."""
        returns = self._watch.schema.returns
        apart = [
            self._watch.memory.apart_code(result, types[i]).format("result", f"v{i}")
            for _, i in self._watch.pairs
        ]
        # Of a list, the type does not tell what is in it.
        if len(returns) != 1 or not isinstance(returns[0].type, schema_types.BaseType) or not all(apart):
            return "False"
        return " and ".join(["type(result) is fitting", *apart])


_MOST_NOTES = 8
_64_BITS = "-0x8000000000000000 <= v{} <= 0x7FFFFFFFFFFFFFFF"
_TEMPLATE = """\
def call({values}):
    if not ({fitting}):
        return refused({values})
    {taken}
    try:
        result = kernel({passed})
    except Exception as error:
        tell(error, {values})
        raise
    if {fine}:
        return result
    return finish(({values},), result, ({parts}))
"""

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
