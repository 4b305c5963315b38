"""Schema values to the text that torch 2.13 prints for them, quirks included."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from c10cli.errors import Diagnostic, SchemaError
from c10cli.schema.printer import quote, render_parts
from c10cli.schema.types import (
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    SCALAR_TYPE,
    STR,
    SYM_BOOL,
    SYM_INT,
    BOOL,
    DictType,
    GenericType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
)
from c10cli.schema.words import LAYOUTS, MEMORY_FORMATS, SCALAR_TYPE_NUMBERS

if TYPE_CHECKING:
    from c10cli.schema.model import AliasInfo, Argument, FunctionSchema

__all__ = ["render_torch"]

# Inside another type torch keeps what the value is made of, not what it was called.
_STORED: dict[Type, Type] = {SYM_INT: INT, SCALAR_TYPE: INT, LAYOUT: INT, MEMORY_FORMAT: INT, SYM_BOOL: BOOL}
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
