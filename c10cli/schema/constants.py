"""Single constants of a default: from tokens to Python values, each with its place."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, NoReturn

from c10cli.schema.lexer import KEYWORD, NUMBER, STRING, WORD, Lexer, clip

# Integers with more digits are out of range; the cut keeps `int` linear.
_MAX_DIGITS: Final = 400

_KEYWORD_VALUES = {"None": None, "True": True, "False": False}
_ESCAPE = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPES |= {"\\": "\\", "'": "'", '"': '"', "\n": "\n"}
_SMALLEST_NORMAL = 2.0**-1022


@dataclass(frozen=True, slots=True)
class Constant:
    """One constant as written: its kind of token, its value and its place.

    The value of a word is the word.
    """

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
        value = _number(lexer, start, strict)
    else:
        lexer.fail_here("C10E205", "a number after `-`")
    lexer.advance()
    if negative:  # the real part stays 0.0, where `-2j` would make it -0.0
        value = complex(0.0, -value.imag) if isinstance(value, complex) else -value
    return Constant(NUMBER, value, start, lexer.last_end)


def _number(lexer: Lexer, start: int, strict: bool) -> int | float | complex:
    word = lexer.word.lower()
    if word.endswith("j"):
        return complex(0.0, _float(lexer, word[:-1], start, strict))
    is_hex = word.startswith("0x")
    if any(mark in word for mark in (".p" if is_hex else ".e")):
        return _float(lexer, word, start, strict)
    value = int(word, 16 if is_hex else 10) if len(word) <= _MAX_DIGITS else None
    if value is None or value.bit_length() > 1023:  # more than a float can hold
        _out_of_range(lexer, start)
    return value


def _float(lexer: Lexer, word: str, start: int, strict: bool) -> float:
    is_hex = word.startswith("0x")
    try:
        value = float.fromhex(word) if is_hex else float(word)
    except OverflowError:
        value = math.inf
    digits = re.split("p" if is_hex else "e", word)[0]
    lost = value == 0.0 and digits.strip("0x.") != ""
    if math.isinf(value) or lost or (not strict and 0.0 < value < _SMALLEST_NORMAL):
        _out_of_range(lexer, start)
    return value


def _out_of_range(lexer: Lexer, start: int) -> NoReturn:
    literal = clip(lexer.text[start : min(lexer.end, start + 80)])
    lexer.fail("C10E205", f"the number `{literal}` is out of range", start, lexer.end)


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
