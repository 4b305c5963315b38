"""Defaults: from text to a value of the argument's type.

The strict dialect gives typed values or refuses.  The torch dialect takes what
torch's parser takes, which checks little: an int may default to a string.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from c10cli.errors import did_you_mean
from c10cli.schema import types
from c10cli.schema.convert import INT64, Mismatch, convert
from c10cli.schema.lexer import KEYWORD, NUMBER, STRING, WORD, Lexer, clip
from c10cli.schema.types import BaseType, ListType, OptionalType, Type

# Integers with more digits are out of range; the cut keeps `int` linear.
_MAX_DIGITS: Final = 400

_KEYWORD_VALUES = {"None": None, "True": True, "False": False}
_ESCAPE = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPES |= {"\\": "\\", "'": "'", '"': '"', "\n": "\n"}
# `int[1000000000] x=1` is twenty characters, and its value a billion items.
_MAX_REPEATED: Final = 1024

_EXPECTED: Final[Mapping[Type, str]] = {
    types.INT: "an integer of 64 bits",
    types.SYM_INT: "an integer of 64 bits",
    types.FLOAT: "a number",
    types.COMPLEX: "a number such as `1.5` or `2j`",
    types.SCALAR: "a number or a bool",
    types.BOOL: "True or False",
    types.STR: "a string in quotes",
    types.DEVICE: 'a device in quotes, such as `"cuda:0"`',
    types.SCALAR_TYPE: "an element type such as `float32`",
    types.LAYOUT: "`strided`",
    types.MEMORY_FORMAT: "`contiguous_format`",
}
_REALS = {"inf": math.inf, "nan": math.nan}
_REDUCTIONS = {"Mean": 1}
# The words that stand for values of a type; those of a bool are keywords, and here for near ones.
_WORDS: Final[Mapping[Type, Mapping[str, object]]] = {
    **{t: {word: word for word in numbers} for t, numbers in types.NUMBERED.items()},
    types.SCALAR_TYPE: types.SCALAR_TYPES,
    **dict.fromkeys((types.INT, types.SYM_INT), _REDUCTIONS),
    **dict.fromkeys((types.FLOAT, types.SCALAR), _REALS),
    types.BOOL: {"True": True, "False": False},
}
# By the number that torch prints in its place; no other constant is one of these types.
_BY_NUMBER: Final[Mapping[Type, Mapping[object, str]]] = {
    t: {number: word for word, number in numbers.items()} for t, numbers in types.NUMBERED.items()
}
_WRITE_INSTEAD = {"null": "None", "none": "None", "nullptr": "None", "true": "True", "false": "False"}

_TORCH_NONE_ONLY = (types.TENSOR, BaseType("Generator"), BaseType("Quantizer"))
# The words that torch takes as a default of whatever type.
_TORCH_WORDS = {"float": 6, "complex": 9, "long": 4, "strided": 0, "contiguous_format": 0, "Mean": 1}
_TORCH_ELEMENTS: dict[Type, type] = {
    **dict.fromkeys((types.INT, types.SYM_INT, *types.NUMBERED), int),
    **{types.FLOAT: float, types.COMPLEX: complex, types.BOOL: bool},
}


@dataclass(frozen=True, slots=True)
class Constant:
    """One constant as written: its kind of token, its value (of a word, the word) and its place."""

    kind: str
    value: bool | int | float | complex | str | None
    start: int
    end: int


def read_constant(lexer: Lexer, *, strict: bool) -> Constant:
    """The constant at the lexer's place; the lexer goes behind it."""
    start, kind, word = lexer.start, lexer.kind, lexer.word
    negative = lexer.take("-")
    if negative or kind is NUMBER:
        return _signed(lexer, start, negative, strict)
    value: bool | str | None = word
    if kind is STRING:
        value = _unquote(lexer)
    elif kind is KEYWORD and word in _KEYWORD_VALUES:
        value = _KEYWORD_VALUES[word]
    elif kind is not WORD:
        lexer.fail_here("C10E205", "a default", help="write `[…]` only for list types" if kind == "[" else "")
    lexer.advance()
    return Constant(kind, value, start, lexer.last_end)


def _signed(lexer: Lexer, start: int, negative: bool, strict: bool) -> Constant:
    word = lexer.word
    if strict and lexer.kind is WORD and word == "inf":
        value: int | float | complex = math.inf
    elif lexer.kind is NUMBER:
        try:
            value = _number(word.lower(), strict)
        except OverflowError:
            literal = clip(lexer.text[start : min(lexer.end, start + 80)])
            lexer.fail("C10E205", f"the number `{literal}` is out of range", start, lexer.end)
    else:
        lexer.fail_here("C10E205", "a number after `-`")
    lexer.advance()
    if negative:  # the real part stays 0.0, where `-2j` would make it -0.0
        value = complex(0.0, -value.imag) if isinstance(value, complex) else -value
    return Constant(NUMBER, value, start, lexer.last_end)


def _number(word: str, strict: bool) -> int | float | complex:
    """The number that *word* spells; an OverflowError where it is out of range."""
    if word.endswith("j"):
        return complex(0.0, _float(word[:-1], strict))
    is_hex = word.startswith("0x")
    if any(mark in word for mark in (".p" if is_hex else ".e")):
        return _float(word, strict)
    value = int(word, 16 if is_hex else 10) if len(word) <= _MAX_DIGITS else None
    if value is None or value.bit_length() > 1023:  # more than a float can hold
        raise OverflowError
    return value


def _float(word: str, strict: bool) -> float:
    is_hex = word.startswith("0x")
    value = float.fromhex(word) if is_hex else float(word)
    digits = re.split("p" if is_hex else "e", word)[0]
    lost = value == 0.0 and digits.strip("0x.") != ""
    if math.isinf(value) or lost or (not strict and 0.0 < value < sys.float_info.min):
        raise OverflowError
    return value


def _unquote(lexer: Lexer) -> str:
    """The value of the string literal at the lexer's place."""
    word = lexer.word
    quotes = 3 if word[:3] in ("'''", '"""') and len(word) >= 6 else 1
    body = word[quotes:-quotes]
    if "\\" not in body:
        return body
    return _ESCAPE.sub(lambda found: _unescape(lexer, found, lexer.start + quotes), body)


def _unescape(lexer: Lexer, found: re.Match[str], offset: int) -> str:
    code = found[1]
    if code in _ESCAPES:
        return _ESCAPES[code]
    if len(code) == 3 and code[0] in "0123":
        return chr(int(code, 8))
    message = f"`\\{code}` is no escape of a schema's strings"
    hint = "use `\\n`, `\\t` and the like, or three octal digits: `\\033`"
    return lexer.fail("C10E205", message, offset + found.start(), offset + found.end(), help=hint)


def read_default(lexer: Lexer, t: Type, size: int | None, *, strict: bool) -> object:
    """The default at the lexer's place as a value of type *t*; lists become tuples.

    Args:
        size: the fixed length of *t*, for which one constant stands for all items.
    """
    if not strict:
        return _torch_default(lexer, t, size)
    inner = t.element if isinstance(t, OptionalType) else t
    start = lexer.start
    if inner is t and t not in _EXPECTED and not isinstance(t, ListType):
        hint = f"write `{t}?` with `=None`, or leave the default out"
        hint = "leave the default out" if t == types.NONE else hint
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
    lexer.expect("]", "`,` or `]` in the list", "C10E205")
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
    is_real = t in (types.FLOAT, types.COMPLEX) and type(c.value) is int
    value = convert(float(c.value) if is_real else c.value, t, lambda value: False)  # type: ignore[arg-type]
    return _as_complex(value) if t == types.COMPLEX else value


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
        if t in (types.STR, types.DEVICE):
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
    if t == types.DEVICE and not (
        constant.kind is STRING and types.DEVICE_NAME.fullmatch(str(constant.value))
    ):
        _refuse(lexer, constant, t)
    return _torch_value(lexer, constant, t)


def _torch_value(lexer: Lexer, c: Constant, t: Type) -> object:
    inner = t.element if isinstance(t, OptionalType) else t
    value = c.value
    if c.kind is WORD:
        words = types.NUMBERED[inner] if inner == types.SCALAR_TYPE else {}
        value = _TORCH_WORDS.get(str(value), words.get(types.SCALAR_TYPES.get(str(value), "")))
    if (value is None and c.kind is WORD) or (c.kind is STRING and inner in _BY_NUMBER):
        _refuse(lexer, c, inner)
    if t == types.COMPLEX and type(value) in (int, float):
        return _as_complex(value)
    if t == types.FLOAT and type(value) is int:
        return float(value)
    if type(value) is int and value not in INT64:
        _refuse(lexer, c, inner, _EXPECTED[types.INT])
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
