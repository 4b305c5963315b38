"""What an operator is: its name, arguments, returns and alias annotations, as frozen values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from c10cli.schema import match, printer, torch_printer
from c10cli.schema.types import Type

__all__ = ["AliasInfo", "Argument", "Dialect", "FunctionSchema", "OperatorName"]

Dialect = Literal["strict", "torch"]
Offsets = tuple[int, int]


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
        marks: where the pieces start and end in the text: whole, type, name,
            default.
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
    def span(self) -> Offsets:
        """Start and end of the argument in the schema's text."""
        return self.marks[0], self.marks[3]

    @property
    def type_span(self) -> Offsets:
        """Start and end of its type, with size and annotation."""
        return self.marks[0], self.marks[1]

    @property
    def name_span(self) -> Offsets:
        """Start and end of its name; empty at the end where it has none."""
        return self.marks[2], self.marks[2] + len(self.name)

    @property
    def default_span(self) -> Offsets:
        """Start and end of its default; empty at the end where it has none."""
        return self.marks[3] - len(self.default_source or ""), self.marks[3]

    @property
    def is_mutable(self) -> bool:
        """Whether a kernel may write the argument or an element of it."""
        return self.alias is not None and self.alias.writes_any

    def __str__(self) -> str:
        return printer.render_argument(self)


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
        return printer.render_schema(self)

    def to_torch_string(self) -> str:
        """The text that torch prints for the same schema; alias sets sorted.

        Raises:
            SchemaError: a default has no spelling in torch, such as ``inf`` (C10E205).
        """
        return torch_printer.render_torch(self)

    def bind(
        self,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        *,
        is_tensor: Callable[[object], bool] | None = None,
    ) -> dict[str, object]:
        """The values of a call by argument name, in schema order, defaults filled in.

        Conversions are those of the table in `c10cli.schema.match`.

        Args:
            is_tensor: tells tensors from other values; without it, a value
                of no known plain type counts as a tensor.

        Raises:
            ArgumentError: a value is missing, extra, unknown or given twice
                (C10E404), or does not fit its type (C10E405).
        """
        return match.bind(self, args, kwargs, is_tensor)
