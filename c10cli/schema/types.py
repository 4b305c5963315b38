"""The types of a schema's arguments and returns, as frozen values that print as schema text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Type:
    """Base of all types; ``str`` gives the schema's spelling."""


@dataclass(frozen=True, slots=True)
class _Named(Type):
    name: str

    def __str__(self) -> str:
        return self.name


class BaseType(_Named):
    """A type with a name and nothing inside, such as ``Tensor`` or ``int``."""

    __slots__ = ()


class ClassType(_Named):
    """A registered custom class, named by its whole path."""

    __slots__ = ()


class VarType(_Named):
    """A type variable such as ``t``; only the torch dialect has them."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ListType(Type):
    """``T[]``; a fixed length belongs to the argument, not to the type."""

    element: Type

    def __str__(self) -> str:
        return f"{self.element}[]"


@dataclass(frozen=True, slots=True)
class OptionalType(Type):
    """``T?``: a value of the element type, or None."""

    element: Type

    def __str__(self) -> str:
        return f"{self.element}?"


@dataclass(frozen=True, slots=True)
class TupleType(Type):
    """``(A, B)``: a fixed number of values, each of its own type."""

    elements: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


@dataclass(frozen=True, slots=True)
class DictType(Type):
    """``Dict(K, V)``."""

    key: Type
    value: Type

    def __str__(self) -> str:
        return f"Dict({self.key}, {self.value})"


@dataclass(frozen=True, slots=True)
class UnionType(Type):
    """``Union(A, B)``: flat, without repetitions, in a fixed order (see `union`)."""

    members: tuple[Type, ...]

    def __str__(self) -> str:
        return f"Union({', '.join(map(str, self.members))})"


@dataclass(frozen=True, slots=True)
class GenericType(Type):
    """``Future(T)``, ``Await(T)`` or ``RRef(T)``."""

    base: str
    element: Type

    def __str__(self) -> str:
        return f"{self.base}({self.element})"


TENSOR: Final = BaseType("Tensor")
INT: Final = BaseType("int")
SYM_INT: Final = BaseType("SymInt")
FLOAT: Final = BaseType("float")
BOOL: Final = BaseType("bool")
COMPLEX: Final = BaseType("complex")
STR: Final = BaseType("str")
SCALAR: Final = BaseType("Scalar")
SCALAR_TYPE: Final = BaseType("ScalarType")
LAYOUT: Final = BaseType("Layout")
MEMORY_FORMAT: Final = BaseType("MemoryFormat")
DEVICE: Final = BaseType("Device")
GENERATOR: Final = BaseType("Generator")
ANY: Final = BaseType("Any")
NONE: Final = BaseType("NoneType")

_NAMES = """
    Tensor int SymInt float bool SymBool complex str Scalar Device Generator Any NoneType ScalarType Layout
    MemoryFormat Storage QScheme Quantizer Stream Capsule AnyClassType AnyEnumType
"""

# By the word in a schema.  Three words are other names: torch forgets them
# when it prints, so two schemas that differ in them only are the same.
BASE_TYPES: Final[dict[str, BaseType]] = {
    **{name: BaseType(name) for name in _NAMES.split()},
    "ConstQuantizerPtr": INT,
    "DeviceIndex": INT,
    "None": NONE,
}

# In the order in which torch prints the members of a union.
_UNION_HEADS = """
    Any Tensor Storage ( List Dict Scalar float complex Future Await RRef int SymInt ScalarType Layout
    MemoryFormat NoneType str
"""
_UNION_ORDER = _UNION_HEADS.split()


def optional(element: Type) -> Type:
    """``element?``, where ``T??`` is ``T?``."""
    return element if isinstance(element, OptionalType) else OptionalType(element)


def union(members: list[Type]) -> Type | None:
    """The union of *members*, or None where fewer than two different ones are left.

    Unions inside are dissolved, repetitions dropped and the rest put in
    torch's order; ``Union(T, NoneType)`` is ``T?``.
    """
    flat = list(dict.fromkeys(part for member in members for part in _union_parts(member)))
    if len(flat) < 2:
        return None
    rest = [part for part in flat if part != NONE]
    if len(rest) == 1:
        return OptionalType(rest[0])
    return UnionType(tuple(sorted(flat, key=_union_rank)))


def _union_parts(member: Type) -> tuple[Type, ...]:
    if isinstance(member, UnionType):
        return member.members
    if isinstance(member, OptionalType):
        return (*_union_parts(member.element), NONE)
    return (member,)


def _union_rank(member: Type) -> tuple[int, str]:
    text = str(member)
    head = "List" if isinstance(member, ListType) else text[:1] if text[0] == "(" else text.split("(")[0]
    return _UNION_ORDER.index(head) if head in _UNION_ORDER else len(_UNION_ORDER), text


def substitute(t: Type, others: Mapping[Type, Type]) -> Type:
    """*t* with what *others* has for the types without parts in it."""
    if isinstance(t, OptionalType | ListType):
        return type(t)(substitute(t.element, others))
    if isinstance(t, GenericType):
        return GenericType(t.base, substitute(t.element, others))
    if isinstance(t, TupleType):
        return TupleType(tuple(substitute(element, others) for element in t.elements))
    if isinstance(t, UnionType):
        return UnionType(tuple(dict.fromkeys(substitute(member, others) for member in t.members)))
    if isinstance(t, DictType):
        return DictType(substitute(t.key, others), substitute(t.value, others))
    return others.get(t, t)


def is_tensor(t: Type) -> bool:
    """Whether *t* is plain ``Tensor``, the type whose first argument decides the dispatch key."""
    return t == TENSOR


def is_optional_tensor(t: Type) -> bool:
    """Whether *t* is ``Tensor?``."""
    return isinstance(t, OptionalType) and t.element == TENSOR


def is_tensor_list(t: Type) -> bool:
    """Whether *t* is ``Tensor[]`` or ``Tensor?[]``."""
    return isinstance(t, ListType) and (is_tensor(t.element) or is_optional_tensor(t.element))
