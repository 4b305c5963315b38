"""Schema values to the text that torch 2.13 prints for them, quirks included."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NoReturn

from c10cli.errors import Diagnostic, SchemaError
from c10cli.schema.printer import quote, render_parts
from c10cli.schema.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    SCALAR_TYPE,
    STR,
    SYM_INT,
    BaseType,
    ListType,
    OptionalType,
    Type,
    substitute,
)
from c10cli.schema.words import LAYOUTS, MEMORY_FORMATS, SCALAR_TYPE_NUMBERS

if TYPE_CHECKING:
    from c10cli.schema.model import AliasInfo, Argument, FunctionSchema

__all__ = ["render_torch"]

# Inside another type torch keeps what the value is made of, not what it was called.
_STORED: dict[Type, Type] = dict.fromkeys((SYM_INT, SCALAR_TYPE, LAYOUT, MEMORY_FORMAT), INT)
_LISTS = (INT, SYM_INT, FLOAT, COMPLEX, BOOL, SCALAR_TYPE, LAYOUT, MEMORY_FORMAT)
_SMALLEST_NORMAL: Final = 2.0**-1022
_NUMBERS = {**SCALAR_TYPE_NUMBERS, **LAYOUTS, **MEMORY_FORMATS}


def render_torch(schema: FunctionSchema) -> str:
    """The text that torch prints; alias sets stand in order, where torch's order is by hash.

    Raises:
        SchemaError: a default has no spelling in torch (C10E205).
    """
    arguments, returns = render_parts(schema, _render_argument)
    return f"{schema.name}({arguments}) -> {returns}"


def _render_argument(argument: Argument) -> str:
    text = _render_type(argument.type, argument.alias, argument.N)
    if argument.name:
        text += f" {argument.name}"
    if argument.has_default:
        text += f"={_render_default(argument)}"
    return text


def _render_type(t: Type, alias: AliasInfo | None, size: int | None) -> str:
    if isinstance(t, OptionalType):
        return f"{_render_type(t.element, alias, size)}?"
    own = _render_alias(alias) if alias and alias.before else ""
    if not isinstance(t, ListType):
        return f"{t if isinstance(t, BaseType) else substitute(t, _STORED)}{own}"
    # torch writes the annotation of the elements behind the whole element type.
    inner = _render_alias(alias.element) if alias and alias.element else ""
    return f"{_render_type(t.element, None, None)}{inner}[{'' if size is None else size}]{own}"


def _render_alias(alias: AliasInfo) -> str:
    after = f" -> {'|'.join(alias.after)}" if alias.after != alias.before else ""
    return f"({'|'.join(alias.before)}{'!' if alias.is_write else ''}{after})"


def _render_default(argument: Argument) -> str:
    t, value = argument.type, argument.default
    if isinstance(value, tuple):
        if isinstance(t, OptionalType):
            return _render_optional_list(argument, value)
        element = t.element if isinstance(t, ListType) else t
        if element not in _LISTS:
            _refuse(argument)
        if element == INT and len(value) > 1 and len(set(value)) == 1:
            return str(value[0])
        return f"[{', '.join(_render_constant(argument, item, element) for item in value)}]"
    return _render_constant(argument, value, t.element if isinstance(t, OptionalType) else t)


def _render_optional_list(argument: Argument, value: tuple[object, ...]) -> str:
    """The one constant that torch reads where the default of an optional list is given."""
    if len(value) != argument.N or len(set(value)) != 1:
        _refuse(argument)
    t = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    return _render_constant(argument, value[0], t.element if isinstance(t, ListType) else t)


def _render_constant(argument: Argument, value: object, t: Type) -> str:
    if isinstance(value, str):
        if t in (SCALAR_TYPE, LAYOUT, MEMORY_FORMAT):
            return str(_NUMBERS[value])
        return quote(value) if t == STR and argument.N is None else value
    if isinstance(value, float):
        return _render_float(argument, value)
    if isinstance(value, complex):
        sign = "-" if value.imag < 0 else "+"
        return f"{_render_float(argument, value.real)}{sign}{_render_float(argument, abs(value.imag))}j"
    return str(value)


def _render_float(argument: Argument, value: float) -> str:
    if not math.isfinite(value) or 0 < abs(value) < _SMALLEST_NORMAL:
        _refuse(argument)
    if value.is_integer() and abs(value) < 2.0**63:
        return f"{int(value)}."
    return f"{value:.17g}"


def _refuse(argument: Argument) -> NoReturn:
    message = f"torch cannot read the default of `{argument.name}`, `{argument}`"
    raise SchemaError(Diagnostic("C10E205", message, help="choose another default for torch"))
