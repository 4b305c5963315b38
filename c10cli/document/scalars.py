"""What a YAML scalar without quotes means: the core schema of YAML 1.2."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["TOO_LONG", "describe", "resolve_scalar"]

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, object]] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    **{f"{sign}.{word}": float(f"{sign}inf") for sign in ("", "-", "+") for word in ("inf", "Inf", "INF")},
    **{f".{word}": float("nan") for word in ("nan", "NaN", "NAN")},
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_MAX_DIGITS: Final = 4_300  # where Python's own int() refuses, from 3.10.7 on
_MAX_HEX_DIGITS: Final = 3_500  # fewer than that many decimal ones, so that it can be printed


class _TooLong:
    def __repr__(self) -> str:
        return "TOO_LONG"


TOO_LONG: Final = _TooLong()


def resolve_scalar(text: str) -> object:
    """The value of a plain scalar: null, bool, int, float, or the text itself.

    >>> [resolve_scalar(text) for text in ("1e-5", "017", "0o17", "no", "12:30", "")]
    [1e-05, 17, 15, 'no', '12:30', None]
    """
    if text[:1] not in _NUMBER_STARTS:  # most scalars are words
        return _WORDS.get(text, text)
    if _INT.fullmatch(text):
        is_decimal = text[1:2] not in ("o", "x")
        if len(text) > (_MAX_DIGITS if is_decimal else _MAX_HEX_DIGITS):
            return TOO_LONG
        return int(text) if is_decimal else int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    return _WORDS.get(text, text)


def describe(value: object) -> str:
    """What kind of YAML value *value* is, with an article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean `{str(value).lower()}`"
    if value is TOO_LONG:
        return "a number of thousands of digits"
    names = {dict: "a mapping", list: "a list", str: "a string", int: "an integer", float: "a float"}
    return names.get(type(value), "something else")
