"""Types and defaults as torch 2.13 prints them, quirks included."""

from __future__ import annotations

import math
import sys

from c10cli.schema import types
from c10cli.schema.lexer import quote
from c10cli.schema.types import INT, BaseType, ListType, OptionalType, Type, substitute

# Inside another type torch keeps what the value is made of, not what it was called.
_STORED: dict[Type, Type] = dict.fromkeys((types.SYM_INT, *types.NUMBERED), INT)
_LISTS = (INT, types.SYM_INT, types.FLOAT, types.COMPLEX, types.BOOL, *types.NUMBERED)


class NoSpelling(Exception):
    """A default that torch cannot read."""


def torch_type(t: Type) -> Type:
    """What torch prints for a type that is no list and not optional."""
    return t if isinstance(t, BaseType) else substitute(t, _STORED)


def torch_default(value: object, t: Type, size: int | None) -> str:
    """The text that torch prints for the default *value* of type *t*.

    Raises:
        NoSpelling: torch has none.
    """
    inner = t.element if isinstance(t, OptionalType) else t
    if not isinstance(value, tuple):
        return _constant(value, inner, size)
    element = inner.element if isinstance(inner, ListType) else inner
    if inner is not t:
        # The one constant that torch reads where the default of an optional list is given.
        if len(value) != size or len(set(value)) != 1:
            raise NoSpelling
        return _constant(value[0], element, size)
    if element not in _LISTS:
        raise NoSpelling
    if element == INT and len(value) > 1 and len(set(value)) == 1:
        return str(value[0])
    return f"[{', '.join(_constant(item, element, size) for item in value)}]"


def _constant(value: object, t: Type, size: int | None) -> str:
    if isinstance(value, str):
        if t in types.NUMBERED:
            return str(types.NUMBERED[t][value])
        return quote(value) if t == types.STR and size is None else value
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, complex):
        return f"{_float(value.real)}{'-' if value.imag < 0 else '+'}{_float(abs(value.imag))}j"
    return str(value)


def _float(value: float) -> str:
    if not math.isfinite(value) or 0 < abs(value) < sys.float_info.min:
        raise NoSpelling
    if value.is_integer() and abs(value) < 2.0**63:
        return f"{int(value)}."
    return f"{value:.17g}"
