"""What an operator is: its name, arguments, returns and alias annotations, as frozen values.

They print as canonical text, one spelling per schema, which parses back to an
equal schema, or as torch 2.13 prints them, quirks included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final, Literal, NoReturn

from c10cli.describe import describe
from c10cli.errors import ArgumentError, Diagnostic, SchemaError, counted, did_you_mean
from c10cli.schema.convert import IsTensor, Mismatch, convert_argument, looks_like_tensor, spelled
from c10cli.schema.lexer import quote
from c10cli.schema.torch_printer import NoSpelling, torch_default, torch_type
from c10cli.schema.types import INT, NUMBERED, ListType, OptionalType, Type

Dialect = Literal["strict", "torch"]
_KINDS = """
    name vararg argument-added argument-removed argument-renamed argument-moved argument-type argument-size
    argument-alias argument-default argument-keyword-only return-count return-name return-type return-size
    return-alias
"""
# What `c10 diff` tells apart, and what a manifest may waive.
CHANGE_KINDS: Final = tuple(_KINDS.split())


@dataclass(frozen=True, slots=True)
class OperatorName:
    """``namespace::base.overload``; an empty part is left out with its mark."""

    namespace: str
    base: str
    overload: str = ""

    @property
    def qualified(self) -> str:
        """``namespace::base``, the name that all overloads share."""
        return f"{self.namespace}::{self.base}" if self.namespace else self.base

    def __str__(self) -> str:
        return f"{self.qualified}.{self.overload}" if self.overload else self.qualified


@dataclass(frozen=True, slots=True)
class AliasInfo:
    """An alias annotation: which sets a value is in, and whether it is written.

    Args:
        before: the sets before the call, sorted, the wildcard ``*`` last; one
            that starts with ``$`` was never named (``Tensor!``).
        after: the sets after the call, mostly the same.
        is_write: whether the value is written.  A list without annotation of
            its own is written where its elements are.
        element: of a list, what its elements carry.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    is_write: bool
    element: AliasInfo | None = None

    @property
    def sets(self) -> frozenset[str]:
        """All named sets here and in the elements, without the wildcard."""
        inner = self.element.sets if self.element else frozenset()
        return inner | (frozenset(self.before + self.after) - {"*"})

    @property
    def written_sets(self) -> frozenset[str]:
        """The named sets that are written, here or in the elements."""
        inner = self.element.written_sets if self.element else frozenset()
        return inner | (frozenset(self.before) - {"*"} if self.is_write else frozenset())

    @property
    def writes_any(self) -> bool:
        """Whether the value or an element of it is written."""
        return self.is_write or (self.element is not None and self.element.writes_any)


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """One argument, or one return (whose name may be empty).

    Two are equal where they say the same; a default of 1 is not one of 1.0.

    Args:
        N: the fixed length of the outermost list; None where there is none.
        default: a value of the argument's type; a list's default is a tuple.
        default_source: the default as it stands in the text.
        alias: the annotation of the outermost list or value.
        marks: offsets in the text: its start, the end of its type, its name's start, its end.
    """

    name: str
    type: Type
    N: int | None = None
    has_default: bool = False
    default: object = None
    default_source: str | None = None
    kwarg_only: bool = False
    alias: AliasInfo | None = None
    marks: tuple[int, int, int, int] = field(default=(0, 0, 0, 0), repr=False)

    def _key(self) -> tuple[object, ...]:
        # `repr`, because nan is not equal to itself and 1, 1.0 and True are equal.
        default = (self.has_default, repr(self.default))
        return self.name, self.type, self.N, default, self.kwarg_only, self.alias

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Argument) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def span(self) -> tuple[int, int]:
        """Start and end of the argument in the schema's text."""
        return self.marks[0], self.marks[3]

    @property
    def type_span(self) -> tuple[int, int]:
        """Start and end of its type, with size and annotation."""
        return self.marks[0], self.marks[1]

    @property
    def name_span(self) -> tuple[int, int]:
        """Start and end of its name; empty at the end where it has none."""
        return self.marks[2], self.marks[2] + len(self.name)

    @property
    def is_mutable(self) -> bool:
        """Whether a kernel may write the argument or an element of it."""
        return self.alias is not None and self.alias.writes_any

    def __str__(self) -> str:
        return _render_argument(self, in_torch=False)


@dataclass(frozen=True, slots=True)
class FunctionSchema:
    """The typed signature of one operator; ``str`` gives the canonical text.

    Two schemas are equal where they say the same, however they were written.

    Args:
        is_vararg: whether the arguments end in ``...``.
        is_varret: whether the returns do.
        text: what was parsed; the offsets of the arguments count in it.
        dialect: how it was read; torch's does not hold a list to its size.
    """

    name: OperatorName
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    is_varret: bool = False
    text: str = field(default="", compare=False, repr=False)
    dialect: Dialect = field(default="strict", compare=False, repr=False)

    @property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments before ``*``."""
        return tuple(a for a in self.arguments if not a.kwarg_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        """The arguments after ``*``."""
        return tuple(a for a in self.arguments if a.kwarg_only)

    @property
    def is_mutable(self) -> bool:
        """Whether a kernel may write any argument."""
        return any(a.is_mutable for a in self.arguments)

    def __str__(self) -> str:
        return _render_schema(self, in_torch=False)

    def to_torch_string(self) -> str:
        """The text that torch prints for the same schema; alias sets sorted.

        Raises:
            SchemaError: a default has no spelling in torch, such as ``inf`` (C10E205).
        """
        return _render_schema(self, in_torch=True)

    def bind(
        self, args: Sequence[object], kwargs: Mapping[str, object], *, is_tensor: IsTensor = looks_like_tensor
    ) -> dict[str, object]:
        """The values of a call by argument name, in schema order, defaults filled in.

        Conversions are those of the table in `c10cli.schema.convert`; what
        ``...`` takes is the tuple under ``"..."``.

        Args:
            is_tensor: tells tensors from other values; without it, a value
                of no known plain type counts as a tensor.

        Raises:
            ArgumentError: a value is missing, extra, unknown or given twice
                (C10E404), or does not fit its type (C10E405).
        """
        positional = len(self.positional)
        self._check_names(args, kwargs, positional)
        bound: dict[str, object] = {}
        for i, argument in enumerate(self.arguments):
            if i < min(len(args), positional):
                bound[argument.name] = self._value(i, args[i], is_tensor)
            elif argument.name in kwargs:
                bound[argument.name] = self._value(i, kwargs[argument.name], is_tensor)
            else:
                default = argument.default
                bound[argument.name] = list(default) if isinstance(default, tuple) else default
        if self.is_vararg:
            bound["..."] = tuple(args[positional:])
        return bound

    def _check_names(self, args: Sequence[object], kwargs: Mapping[str, object], positional: int) -> None:
        """Every argument has one value, and every value an argument."""
        names = [argument.name for argument in self.arguments]
        by_place = names[: min(len(args), positional)]
        for name in kwargs:
            if name not in names:
                self._refuse(f"`{self.name}` has no argument `{name}`", help=did_you_mean(name, names))
        for name in by_place:
            if name in kwargs:
                self._refuse(f"argument `{name}` of `{self.name}` is given twice")
        if len(args) > positional and not self.is_vararg:
            takes = counted(positional, "positional argument")
            behind = _listed(names[positional:])
            hint = f"pass {behind} by keyword" if behind else ""
            self._refuse(f"`{self.name}` takes {takes}, {len(args)} are given", help=hint)
        missing = [
            a.name for a in self.arguments[len(by_place) :] if not a.has_default and a.name not in kwargs
        ]
        if missing:
            arguments = f"argument{'s' * (len(missing) > 1)} {_listed(missing)}"
            self._refuse(f"`{self.name}` is missing {arguments}")

    def _refuse(
        self, message: str, *, code: str = "C10E404", help: str = "", where: str = "", **facts: str
    ) -> NoReturn:
        place, notes = f"call of {self.name}{where}", (f"declared as `{self}`",)
        diagnostic = Diagnostic(code, message, place=place, notes=notes, help=help)
        raise ArgumentError(diagnostic, operator=str(self.name), **facts) from None

    def _value(self, index: int, value: object, is_tensor: IsTensor) -> object:
        argument = self.arguments[index]
        # A list may also repeat a default of another length, such as `int[2] stride=[]`.
        sizes = (argument.N, 0) if argument.default == () else (argument.N,)
        alias = argument.alias
        try:
            return convert_argument(
                value,
                argument.type,
                argument.N,
                is_tensor,
                sizes=sizes if self.dialect == "strict" else None,
                is_written=alias is not None and alias.is_write and bool(alias.before),
            )
        except Mismatch as mismatch:
            found, must = describe(mismatch.value), f"argument `{argument.name}` of `{self.name}` must be"
            message = f"{must} {mismatch.expected}, not {found}"
            if mismatch.where:
                kind = spelled(argument.type, argument.N)
                message = f"{must} {kind}: {mismatch.where} is {found}, not {mismatch.expected}"
            where, help = f", argument {index} `{argument.name}`", mismatch.help(argument.type)
            self._refuse(message, code="C10E405", help=help, where=where, argument=argument.name)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _render_schema(schema: FunctionSchema, *, in_torch: bool) -> str:
    arguments = [_render_argument(argument, in_torch=in_torch) for argument in schema.arguments]
    if schema.keyword_only:
        arguments.insert(len(schema.positional), "*")
    if schema.is_vararg:
        arguments.append("...")
    returns = [_render_argument(value, in_torch=in_torch) for value in schema.returns]
    if schema.is_varret:
        returns.append("...")
    # `((A, B))` is one return, a tuple; `(A, B)` are two.
    bare = len(returns) == 1 and not returns[0].startswith("(")
    behind = returns[0] if bare else f"({', '.join(returns)})"
    return f"{schema.name}({', '.join(arguments)}) -> {behind}"


def _render_argument(argument: Argument, *, in_torch: bool) -> str:
    """``type name=default`` of an argument or a return, as far as it has them."""
    t, size = argument.type, argument.N
    text = _render_type(t, argument.alias, size, in_torch)
    if argument.name:
        text += f" {argument.name}"
    if not argument.has_default:
        return text
    if not in_torch:
        return f"{text}={_render_default(argument.default, t, size)}"
    try:
        return f"{text}={torch_default(argument.default, t, size)}"
    except NoSpelling:
        message = f"torch cannot read the default of `{argument.name}`, `{argument}`"
        raise SchemaError(Diagnostic("C10E205", message, help="choose another default for torch")) from None


def _render_type(t: Type, alias: AliasInfo | None, size: int | None, in_torch: bool) -> str:
    """A type with its annotations, each where it was written."""
    if isinstance(t, OptionalType):
        return f"{_render_type(t.element, alias, size, in_torch)}?"
    own = _render_alias(alias, in_torch) if alias and alias.before else ""
    if not isinstance(t, ListType):
        return f"{torch_type(t) if in_torch else t}{own}"
    inner = alias.element if alias else None
    # torch writes the annotation of the elements behind the whole element type.
    element = _render_type(t.element, None if in_torch else inner, None, in_torch)
    behind = _render_alias(inner, in_torch) if inner and in_torch else ""
    return f"{element}{behind}[{'' if size is None else size}]{own}"


def _render_alias(alias: AliasInfo, in_torch: bool) -> str:
    if alias.before and alias.before[0].startswith("$") and not in_torch:
        return "!"
    after = f" -> {'|'.join(alias.after)}" if alias.after != alias.before else ""
    return f"({'|'.join(alias.before)}{'!' if alias.is_write else ''}{after})"


def _render_default(value: object, t: Type, size: int | None) -> str:
    """A default as text that the parser reads back as the same value.

    A sized list of equal ints is written as the one int, as torch does.
    """
    if isinstance(t, OptionalType) and value is not None:
        return _render_default(value, t.element, size)
    if isinstance(value, tuple):
        element = t.element if isinstance(t, ListType) else t
        if element == INT and size is not None and len(value) == size > 1 and len(set(value)) == 1:
            return _render_constant(value[0], element)
        return f"[{', '.join(_render_constant(item, element) for item in value)}]"
    return _render_constant(value, t)


def _render_constant(value: object, t: Type) -> str:
    if isinstance(value, str):
        return value if t in NUMBERED else quote(value)
    if isinstance(value, complex):
        # Only one part can be written; the parser never makes a value with two.
        return repr(value.real) if value.real else f"{value.imag!r}j"
    return repr(value)


def schema_differences(first: FunctionSchema, second: FunctionSchema) -> list[str]:
    """What differs between two schemas, a sentence for each argument and return; none where they are equal.

    >>> from c10cli.schema.parser import parse_schema
    >>> schema_differences(parse_schema("t::f(Tensor x) -> Tensor"), parse_schema("t::f(Tensor x) -> ()"))
    ['return 0 is `Tensor` in the first and absent in the second']
    """
    if first == second:
        return []
    found = []
    for kind, left, right in (
        ("argument", first.arguments, second.arguments),
        ("return", first.returns, second.returns),
    ):
        for index, (one, other) in enumerate(
            zip_longest(map(_shown, left), map(_shown, right), fillvalue="absent")
        ):
            if one != other:
                found.append(f"{kind} {index} is {one} in the first and {other} in the second")
    return found or [f"the first is `{first}` and the second `{second}`"]


def _shown(argument: Argument) -> str:
    return f"keyword-only `{argument}`" if argument.kwarg_only else f"`{argument}`"
