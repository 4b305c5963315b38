"""Python values as defaults of schema arguments: typed, or refused with the reason."""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Callable
from typing import Any, Final, SupportsIndex, cast

from c10cli.schema.constants import INT64
from c10cli.schema.types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    SCALAR,
    SCALAR_TYPE,
    STR,
    SYM_INT,
    ListType,
    OptionalType,
    Type,
)
from c10cli.schema.words import DEVICE_NAME, LAYOUTS, MEMORY_FORMATS, SCALAR_TYPES

__all__ = ["NoLiteral", "default_of"]


class NoLiteral(Exception):
    """A default that a schema cannot hold: why, and what to do instead."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help


_USE_NONE: Final = "make None the default, and fill it in inside the function"
_NO_FIT: Final = object()


def default_of(value: object, t: Type) -> object:
    """*value* as a default of type *t*; lists become tuples.

    Raises:
        NoLiteral: it does not fit, or no text of a schema stands for it.
    """
    if isinstance(t, OptionalType):
        return None if value is None else default_of(value, t.element)
    if isinstance(t, ListType):
        if not isinstance(value, list | tuple):
            raise NoLiteral(f"{_shown(value)} is not a list", _USE_NONE)
        if isinstance(t.element, ListType) and value:
            raise NoLiteral("a list of lists cannot be written in a schema", _USE_NONE)
        return tuple(default_of(item, t.element) for item in value)
    rule = _RULES.get(t)
    if rule is None:
        raise NoLiteral(f"an argument of type `{t}` can only default to None", _USE_NONE)
    found = _NO_FIT if isinstance(value, enum.Enum) else rule(value)
    if found is _NO_FIT:
        raise NoLiteral(f"{_shown(value)} does not fit `{t}`", f"give a value of type `{t}`, or None")
    return found


def _shown(value: object) -> str:
    text = repr(value)
    return f"`{text if len(text) <= 40 else text[:39] + '…'}`"


def _int(value: object) -> object:
    if isinstance(value, bool):
        return _NO_FIT
    try:
        number = operator.index(cast(SupportsIndex, value))
    except TypeError:
        return _NO_FIT
    return number if number in INT64 else _NO_FIT


def _float(value: Any) -> object:
    if isinstance(value, float):
        return float(value)
    number = _int(value)
    if number is _NO_FIT:
        return _float_like(value)
    return float(cast(int, number))


def _float_like(value: Any) -> object:
    """A NumPy scalar, which is no Python float."""
    if isinstance(value, bool | complex | str) or getattr(value, "shape", None) != ():
        return _NO_FIT
    found = value.item()
    return found if type(found) is float else _NO_FIT


def _complex(value: Any) -> object:
    if isinstance(value, complex):
        if value.real and value.imag:
            raise NoLiteral(f"{_shown(value)} has two parts, and a schema can write one", _USE_NONE)
        if not (math.isfinite(value.real) and math.isfinite(value.imag)):
            raise NoLiteral(f"{_shown(value)} cannot be written as a complex number", _USE_NONE)
        return complex(value) + 0.0
    number = _float(value)
    if number is _NO_FIT:
        return _NO_FIT
    return _complex(complex(cast(float, number)))


def _bool(value: object) -> object:
    return value if isinstance(value, bool) else _NO_FIT


def _scalar(value: Any) -> object:
    if isinstance(value, bool):
        return value
    if isinstance(value, complex):
        found = _complex(value)
        # `1j` is complex; a number without `j` would be read back as a float.
        if not cast(complex, found).imag:
            raise NoLiteral(f"{_shown(value)} would be read back as a float", f"write `{value.real!r}`")
        return found
    number = _int(value)
    return _float(value) if number is _NO_FIT else number


def _str(value: object) -> object:
    return str.__str__(value) if isinstance(value, str) else _NO_FIT


def _word(known: dict[str, str]) -> Callable[[object], object]:
    """Words of *known*, or objects of a library whose name ends in one: ``torch.float32``."""

    def fit(value: Any) -> object:
        text = value if isinstance(value, str) else getattr(value, "__name__", None)
        text = text or getattr(value, "name", None) or str(value)
        return known.get(str(text).rpartition(".")[2], _NO_FIT)

    return fit


def _device(value: object) -> object:
    text = str(value)
    return text if DEVICE_NAME.fullmatch(text) else _NO_FIT


_RULES: Final[dict[Type, Callable[[Any], object]]] = {
    INT: _int,
    SYM_INT: _int,
    FLOAT: _float,
    COMPLEX: _complex,
    BOOL: _bool,
    SCALAR: _scalar,
    STR: _str,
    DEVICE: _device,
    SCALAR_TYPE: _word(SCALAR_TYPES),
    LAYOUT: _word({name: name for name in LAYOUTS}),
    MEMORY_FORMAT: _word({name: name for name in MEMORY_FORMATS}),
}
