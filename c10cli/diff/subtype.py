"""Which types are part of which others, and what two spellings of one type have in common."""

from __future__ import annotations

from c10cli.schema.model import AliasInfo
from c10cli.schema.types import (
    ANY,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    SCALAR,
    SYM_INT,
    GenericType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    substitute,
)


def is_subtype(t: Type, other: Type) -> bool:
    """Whether every value of type *t* is one of type *other*; lists and Dicts must be the same.

    >>> is_subtype(INT, SCALAR), is_subtype(INT, FLOAT), is_subtype(INT, OptionalType(INT))
    (True, False, True)
    """
    if t == other or other == ANY:
        return True
    if isinstance(t, OptionalType):
        return is_subtype(t.element, other) and is_subtype(NONE, other)
    if isinstance(t, UnionType):
        return all(is_subtype(member, other) for member in t.members)
    if isinstance(other, OptionalType):
        return t == NONE or is_subtype(t, other.element)
    if isinstance(other, UnionType):
        return any(is_subtype(t, member) for member in other.members)
    if isinstance(t, TupleType) and isinstance(other, TupleType) and len(t.elements) == len(other.elements):
        return all(map(is_subtype, t.elements, other.elements))
    if isinstance(t, GenericType) and isinstance(other, GenericType):
        # A remote reference may be written through, so it must be the same.
        return t.base == other.base != "RRef" and is_subtype(t.element, other.element)
    return other == SCALAR and t in (INT, FLOAT, COMPLEX)


def plain_type(t: Type) -> Type:
    """*t* with ``int`` for ``SymInt``, which takes the same values."""
    return substitute(t, {SYM_INT: INT})


def plain_alias(alias: AliasInfo | None) -> AliasInfo | None:
    """*alias* without the numbers of sets that were never named, which count all of a schema's."""
    if alias is None:
        return None
    before, after = (tuple("$" if s[0] == "$" else s for s in sets) for sets in (alias.before, alias.after))
    return AliasInfo(before, after, alias.is_write, plain_alias(alias.element))
