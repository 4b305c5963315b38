"""Values in messages: tensors as ``float32[4, 8]``, numbers and texts as they are, others by type."""

from __future__ import annotations

import unicodedata
from typing import Any, Final, TypeGuard

# Parts of words and emoji; other characters without a shape of their own hide text, or turn it around.
JOINERS: Final = "\u200c\u200d"


def printable(text: str) -> str:
    """*text* of others as it may be written: what a terminal would obey, or cannot show, is spelt out.

    Lines stay lines.

    >>> printable("a\\x1b[2J\\u202eb")
    'a\\\\x1b[2J\\\\u202eb'
    """
    return "\n".join(line if line.isprintable() else "".join(map(_spelt, line)) for line in text.split("\n"))


def _spelt(character: str) -> str:
    if character.isprintable() or character in JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def describe(value: Any) -> str:
    """A value's dtype and shape, or its type, and what a number or text is; never an error.

    >>> [describe(value) for value in ([1, 2], None, 3, "cpu")]
    ['list of 2', 'None', 'int 3', "str 'cpu'"]
    """
    try:
        return _describe(value)
    except Exception:  # noqa: BLE001 - a message about an error must not raise another one
        return type(value).__qualname__


def _describe(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if dtype is not None and isinstance(shape, tuple):
        if is_numpy_scalar(value):
            return f"{dtype_name(dtype)} {value}"[:40]
        shown = f"{dtype_name(dtype)}[{', '.join(str(extent) for extent in shape)}]"
        kind = type(value)
        is_plain = kind.__name__ in ("ndarray", "memmap") or not _has_numpy_base(kind, "ndarray")
        return shown if is_plain else f"{kind.__qualname__} {shown}"
    if isinstance(value, list | tuple | dict | set):
        return f"{type(value).__qualname__} of {len(value)}"
    if isinstance(value, int | float | complex | str | bytes):
        return f"{type(value).__qualname__} {value!r}"[:40]
    return type(value).__qualname__


def is_numpy_scalar(value: object) -> TypeGuard[Any]:
    """Whether *value* is one of NumPy's, told without importing it."""
    return _has_numpy_base(type(value), "generic")


def _has_numpy_base(kind: type, name: str) -> bool:
    return any(base.__name__ == name and base.__module__ == "numpy" for base in kind.__mro__)


def callable_name(function: object) -> str:
    """A short, stable name of a callable, without addresses; never an error."""
    try:
        name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    except Exception:  # noqa: BLE001 - it is the callable's own code that raised, and a name is for messages
        name = None
    return name if isinstance(name, str) else type(function).__qualname__


def describe_error(error: BaseException) -> str:
    """``ValueError: no such block`` on one line; never an error, whatever *error* does when it is shown.

    >>> describe_error(KeyError())
    'KeyError: no message'
    """
    text = " ".join(error_text(error).split()) or "no message"
    return f"{type(error).__name__}: {text}"


def error_text(error: BaseException) -> str:
    """What *error* says of itself, at most some thousand characters, all of which can be written."""
    try:
        # Past whatever a subclass of `str` has made of itself; half a surrogate pair is no text.
        text = str.encode(str(error), "utf-8", "backslashreplace").decode()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a message about an error must not raise another one
        return "a message that cannot be shown"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 2000


def dtype_name(dtype: Any) -> str:
    """``float32`` for NumPy's, torch's and other libraries' spelling of it."""
    name = getattr(dtype, "name", None)
    if getattr(dtype, "isnative", True) is False:  # whose name says nothing of its byte order
        return str(dtype)
    return (name if isinstance(name, str) else str(dtype)).removeprefix("torch.")
