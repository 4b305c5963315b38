"""The types of a schema's arguments and returns, as frozen values that print as schema text.

With them, the words that stand for values of some: element types, layouts, memory formats, devices.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Type:
    """Base of all types; ``str`` gives the schema's spelling."""


@dataclass(frozen=True, slots=True)
class BaseType(Type):
    """A type with nothing inside, such as ``Tensor``, or a custom class, named by its whole path."""

    name: str

    def __str__(self) -> str:
        return self.name


class VarType(BaseType):
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
class CompoundType(Type):
    """``head(A, B)``: a Dict, Future, Await, RRef or Union (see `union`); without a head, a tuple."""

    head: str
    parts: tuple[Type, ...]

    def __str__(self) -> str:
        return f"{self.head}({', '.join(map(str, self.parts))})"


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

# In the order of torch's numbers, from 0.
_SCALAR_TYPE_NAMES = """
    uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8
    qint32 bfloat16 quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 float8_e5m2 float8_e4m3fn
    float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 uint64 uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2
    int3 int4 int5 int6 int7 float8_e8m0fnu float4_e2m1fn_x2
"""
# By type, the words that stand for its values and the numbers that torch has for
# them.  torch's parser reads no other layout or memory format.
NUMBERED: Final[dict[Type, dict[str, int]]] = {
    SCALAR_TYPE: {name: number for number, name in enumerate(_SCALAR_TYPE_NAMES.split())},
    LAYOUT: {"strided": 0},
    MEMORY_FORMAT: {"contiguous_format": 0},
}
_OTHER_NAMES = """
    half=float16 float=float32 double=float64 bit=uint1 short=int16 int=int32 long=int64 chalf=complex32
    cfloat=complex64 complex=complex64 cdouble=complex128
"""
# Every spelling of an element type, with the one that is printed.
SCALAR_TYPES: Final[dict[str, str]] = {
    **{name: name for name in NUMBERED[SCALAR_TYPE]},
    **dict(pair.split("=") for pair in _OTHER_NAMES.split()),
}

# A device: what it is, and which one of several.
DEVICE_NAME: Final = re.compile(r"[A-Za-z_]\w*(:\d+)?", re.ASCII)

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
    flat = list(dict.fromkeys(part for member in members for part in union_parts(member)))
    if len(flat) < 2:
        return None
    rest = [part for part in flat if part != NONE]
    if len(rest) == 1:
        return OptionalType(rest[0])
    return CompoundType("Union", tuple(sorted(flat, key=_union_rank)))


def union_parts(member: Type) -> tuple[Type, ...]:
    """What a value of type *member* may be one of: the members of a union, of ``T?`` also None."""
    if isinstance(member, CompoundType) and member.head == "Union":
        return member.parts
    if isinstance(member, OptionalType):
        return (*union_parts(member.element), NONE)
    return (member,)


def _union_rank(member: Type) -> tuple[int, str]:
    text = str(member)
    head = "List" if isinstance(member, ListType) else text.partition("(")[0] or "("
    return _UNION_ORDER.index(head) if head in _UNION_ORDER else len(_UNION_ORDER), text


def substitute(t: Type, others: Mapping[Type, Type]) -> Type:
    """*t* with what *others* has for the types without parts in it."""
    if isinstance(t, OptionalType | ListType):
        return type(t)(substitute(t.element, others))
    if isinstance(t, CompoundType):
        parts = tuple(substitute(part, others) for part in t.parts)
        return CompoundType(t.head, tuple(dict.fromkeys(parts)) if t.head == "Union" else parts)
    return others.get(t, t)


def plain_type(t: Type) -> Type:
    """*t* with ``int`` for ``SymInt``, which takes the same values."""
    return substitute(t, {SYM_INT: INT})


def is_subtype(t: Type, other: Type) -> bool:
    """Whether every value of type *t* is one of type *other*; lists, Dicts and RRefs must be the same.

    >>> is_subtype(INT, SCALAR), is_subtype(INT, FLOAT), is_subtype(INT, OptionalType(INT))
    (True, False, True)
    """
    if t == other or other == ANY:
        return True
    parts, others = union_parts(t), union_parts(other)
    if len(parts) > 1:
        return all(is_subtype(part, other) for part in parts)
    if len(others) > 1:
        return any(is_subtype(t, part) for part in others)
    if isinstance(t, CompoundType) and isinstance(other, CompoundType):
        alike = t.head == other.head in ("", "Future", "Await") and len(t.parts) == len(other.parts)
        return alike and all(map(is_subtype, t.parts, other.parts))
    return other == SCALAR and t in (INT, FLOAT, COMPLEX)


def is_tensor(t: Type) -> bool:
    """Whether *t* is plain ``Tensor``, the type whose first argument decides the dispatch key."""
    return t == TENSOR


def is_optional_tensor(t: Type) -> bool:
    """Whether *t* is ``Tensor?``."""
    return isinstance(t, OptionalType) and t.element == TENSOR


def holds_tensors(t: Type) -> bool:
    """Whether *t* is a tensor, an optional one or a list of them."""
    return is_tensor(t) or is_optional_tensor(t) or is_tensor_list(t)


def is_tensor_list(t: Type) -> bool:
    """Whether *t* is ``Tensor[]`` or ``Tensor?[]``."""
    return isinstance(t, ListType) and (is_tensor(t.element) or is_optional_tensor(t.element))
