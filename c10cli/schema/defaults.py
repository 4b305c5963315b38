"""Defaults: from text to a value of the argument's type.

The strict dialect gives typed values or refuses.  The torch dialect takes what
torch's parser takes, which checks little: an int may default to a string.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from c10cli.errors import did_you_mean
from c10cli.schema.constants import Constant, read_constant
from c10cli.schema.convert import INT64, Mismatch, convert
from c10cli.schema.lexer import STRING, WORD, Lexer, clip
from c10cli.schema.types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    NONE,
    SCALAR,
    SCALAR_TYPE,
    STR,
    SYM_INT,
    TENSOR,
    BaseType,
    ListType,
    OptionalType,
    Type,
)
from c10cli.schema.words import (
    DEVICE_NAME,
    LAYOUTS,
    MEMORY_FORMATS,
    REDUCTIONS,
    SCALAR_TYPE_NUMBERS,
    SCALAR_TYPES,
    TORCH_WORDS,
)

# `int[1000000000] x=1` is twenty characters, and its value a billion items.
_MAX_REPEATED: Final = 1024

_EXPECTED: Final[Mapping[Type, str]] = {
    INT: "an integer of 64 bits",
    SYM_INT: "an integer of 64 bits",
    FLOAT: "a number",
    COMPLEX: "a number such as `1.5` or `2j`",
    SCALAR: "a number or a bool",
    BOOL: "True or False",
    STR: "a string in quotes",
    DEVICE: 'a device in quotes, such as `"cuda:0"`',
    SCALAR_TYPE: "an element type such as `float32`",
    LAYOUT: "`strided`",
    MEMORY_FORMAT: "`contiguous_format`",
}
_REALS = {"inf": math.inf, "nan": math.nan}
# The words that stand for values of a type; those of a bool are keywords, and here for near ones.
_WORDS: Final[Mapping[Type, Mapping[str, object]]] = {
    INT: REDUCTIONS,
    SYM_INT: REDUCTIONS,
    FLOAT: _REALS,
    SCALAR: _REALS,
    BOOL: {"True": True, "False": False},
    SCALAR_TYPE: SCALAR_TYPES,
    LAYOUT: {word: word for word in LAYOUTS},
    MEMORY_FORMAT: {word: word for word in MEMORY_FORMATS},
}
# By the number that torch prints in its place; no other constant is one of these types.
_BY_NUMBER: Final[Mapping[Type, Mapping[object, str]]] = {
    t: {number: word for word, number in numbers.items()}
    for t, numbers in ((SCALAR_TYPE, SCALAR_TYPE_NUMBERS), (LAYOUT, LAYOUTS), (MEMORY_FORMAT, MEMORY_FORMATS))
}
_WRITE_INSTEAD = {"null": "None", "none": "None", "nullptr": "None", "true": "True", "false": "False"}

_TORCH_NONE_ONLY = (TENSOR, BaseType("Generator"), BaseType("Quantizer"))
_TORCH_ELEMENTS: dict[Type, type] = {
    **dict.fromkeys((INT, SYM_INT, SCALAR_TYPE, LAYOUT, MEMORY_FORMAT), int),
    FLOAT: float,
    COMPLEX: complex,
    BOOL: bool,
}


def read_default(lexer: Lexer, t: Type, size: int | None, *, strict: bool) -> object:
    """The default at the lexer's place as a value of type *t*; lists become tuples.

    Args:
        size: the fixed length of *t*, for which one constant stands for all items.
    """
    return _strict_default(lexer, t, size) if strict else _torch_default(lexer, t, size)


def _strict_default(lexer: Lexer, t: Type, size: int | None) -> object:
    inner = t.element if isinstance(t, OptionalType) else t
    start = lexer.start
    if inner is t and t not in _EXPECTED and not isinstance(t, ListType):
        hint = f"write `{t}?` with `=None`, or leave the default out"
        hint = "leave the default out" if t == NONE else hint
        lexer.fail("C10E205", f"`{clip(str(t))}` cannot have a default", start, lexer.end, help=hint)
    if lexer.kind == "[" and isinstance(inner, ListType):
        items = [_fit(lexer, c, inner.element) for c in _read_list(lexer, strict=True)]
        if size is not None and len(items) not in (0, size):
            message = f"the default of a list of {size} has {len(items)} items"
            lexer.fail("C10E205", message, start, lexer.last_end)
        return tuple(items)
    constant = read_constant(lexer, strict=True)
    if inner is not t and constant.value is None:
        return None
    if isinstance(inner, ListType) and size is not None:
        return _repeat(lexer, constant, _fit(lexer, constant, inner.element), size)
    return _fit(lexer, constant, inner)


def _read_list(lexer: Lexer, *, strict: bool) -> list[Constant]:
    lexer.advance()
    if lexer.take("]"):
        return []
    items = [read_constant(lexer, strict=strict)]
    while lexer.take(","):
        items.append(read_constant(lexer, strict=strict))
    if not lexer.take("]"):
        lexer.fail_here("C10E205", "`,` or `]` in the list")
    return items


def _repeat(lexer: Lexer, constant: Constant, value: object, size: int) -> tuple[object, ...]:
    if size > _MAX_REPEATED:
        message = f"one default for all items is limited to {_MAX_REPEATED} of them, not {size}"
        lexer.fail("C10E205", message, constant.start, constant.end)
    return (value,) * size


def _fit(lexer: Lexer, c: Constant, t: Type) -> object:
    """The value of *c* as one of type *t*."""
    if isinstance(t, OptionalType):
        return None if c.value is None else _fit(lexer, c, t.element)
    try:
        return _value(c, t)
    except (KeyError, Mismatch):
        _refuse(lexer, c, t)


def _value(c: Constant, t: Type) -> object:
    if c.kind is WORD:
        return _WORDS[t][str(c.value)]
    if t not in _EXPECTED:  # `Any` takes anything, but has no default
        raise KeyError(t)
    if t in _BY_NUMBER:
        return _BY_NUMBER[t][c.value if type(c.value) is int else None]
    # An int that a float does not hold exactly is no argument, but may be a default.
    is_real = t in (FLOAT, COMPLEX) and type(c.value) is int
    value = convert(float(c.value) if is_real else c.value, t, lambda value: False)  # type: ignore[arg-type]
    return _as_complex(value) if t == COMPLEX else value


def _as_complex(value: Any) -> complex:
    """A number as a complex one, without the sign of a zero."""
    return complex(value) + 0.0


def _refuse(lexer: Lexer, c: Constant, t: Type, expected: str = "") -> NoReturn:
    source = lexer.text[c.start : min(c.end, c.start + 80)]
    expected = expected or _EXPECTED.get(t) or ("a list `[…]`" if isinstance(t, ListType) else "None")
    hint = ""
    if c.kind is WORD:
        instead = _WRITE_INSTEAD.get(source)
        known = [word for word in _WORDS.get(t, ()) if word != source]  # `inf` is no default to torch
        hint = f"write `{instead}`" if instead else did_you_mean(source, known)
        if t in (STR, DEVICE):
            hint = f'write `"{clip(source)}"`'
    elif c.value is None:
        hint = f"write `{t}?` as the type to allow None"
    message = f"a default of `{t}` is {expected}, found `{clip(source)}`"
    lexer.fail("C10E205", message, c.start, c.end, help=hint)


def _torch_default(lexer: Lexer, t: Type, size: int | None) -> object:
    if isinstance(t, ListType):
        return _torch_list(lexer, t.element, size)
    if not (t in _EXPECTED or t in _TORCH_NONE_ONLY or isinstance(t, OptionalType)):
        lexer.fail("C10E205", f"`{clip(str(t))}` cannot have a default", lexer.start, lexer.end)
    constant = read_constant(lexer, strict=False)
    if t in _TORCH_NONE_ONLY and constant.value is not None:
        _refuse(lexer, constant, t)
    if t == DEVICE and not (constant.kind is STRING and DEVICE_NAME.fullmatch(str(constant.value))):
        _refuse(lexer, constant, t)
    return _torch_value(lexer, constant, t)


def _torch_value(lexer: Lexer, c: Constant, t: Type) -> object:
    inner = t.element if isinstance(t, OptionalType) else t
    value = c.value
    if c.kind is WORD:
        known = SCALAR_TYPE_NUMBERS.get(SCALAR_TYPES.get(str(value), "")) if inner == SCALAR_TYPE else None
        value = TORCH_WORDS.get(str(value), known)
        if value is None:
            _refuse(lexer, c, inner)
    elif c.kind is STRING and inner in _BY_NUMBER:
        _refuse(lexer, c, inner)
    if t == COMPLEX and type(value) in (int, float):
        return _as_complex(value)
    if t == FLOAT and type(value) is int:
        return float(value)
    if type(value) is int and value not in INT64:
        _refuse(lexer, c, inner, _EXPECTED[INT])
    return value


def _torch_list(lexer: Lexer, element: Type, size: int | None) -> tuple[object, ...]:
    start, end = lexer.start, lexer.end
    is_list = lexer.kind == "["
    if is_list:
        constants = _read_list(lexer, strict=False)
    elif size is None or lexer.kind is WORD:
        lexer.fail_here("C10E205", "a list `[…]`")
    else:
        constants = [read_constant(lexer, strict=False)]
    kind = _TORCH_ELEMENTS.get(element)
    if kind is None:
        lexer.fail("C10E205", f"a list of `{clip(str(element))}` cannot have a default", start, end)
    values = [_torch_value(lexer, c, element) for c in constants]
    for c, value in zip(constants, values, strict=True):
        if type(value) is not kind:
            _refuse(lexer, c, element)
    return tuple(values) if is_list or size is None else _repeat(lexer, constants[0], values[0], size)
