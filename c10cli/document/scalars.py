"""What a YAML scalar without quotes means: the core schema of YAML 1.2."""

from __future__ import annotations

import re
from typing import Final

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, object]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{f"{sign}.{word}": float(f"{sign}inf") for sign in ("", "-", "+") for word in ("inf", "Inf", "INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_MAX_DIGITS: Final = 3_500  # of base 16 too, an integer that Python prints: at most 4,300 decimal ones


class TooLong:
    """A number that no field takes."""


def resolve_scalar(text: str) -> object:
    """The value of a plain scalar: null, bool, int, float, or the text itself.

    An integer of thousands of digits is `TooLong`: Python could not print it.

    >>> [resolve_scalar(text) for text in ("1e-5", "017", "0o17", "no", "12:30", "")]
    [1e-05, 17, 15, 'no', '12:30', None]
    """
    if text[:1] not in _NUMBER_STARTS:  # most scalars are words
        return _WORDS.get(text, text)
    if _INT.fullmatch(text):
        if len(text) > _MAX_DIGITS:
            return TooLong()
        return int(text, 0) if text[1:2] in ("o", "x") else int(text)
    return float(text) if _FLOAT.fullmatch(text) else _WORDS.get(text, text)


def kind_name(value: object) -> str:
    """What kind of YAML value *value* is, with an article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean `{str(value).lower()}`"
    names = {dict: "a mapping", list: "a list", str: "a string", int: "an integer", float: "a float"}
    return names.get(type(value), "a number of thousands of digits")
