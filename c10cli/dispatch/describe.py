"""Values in messages: tensors as ``float32[4, 8]``, everything else by type."""

from __future__ import annotations

from typing import Any


def describe(value: Any) -> str:
    """A value's dtype and shape, or its type; never its contents, and never an error.

    >>> describe([1, 2])
    'list of 2'
    >>> describe(None)
    'None'
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
        return f"{dtype_name(dtype)}[{', '.join(str(extent) for extent in shape)}]"
    if isinstance(value, list | tuple):
        return f"{type(value).__qualname__} of {len(value)}"
    if isinstance(value, int | float | complex):
        return f"{type(value).__qualname__} {value!r}"[:40]
    return type(value).__qualname__


def dtype_name(dtype: Any) -> str:
    """``float32`` for NumPy's, torch's and other libraries' spelling of it."""
    name = getattr(dtype, "name", None)
    return (name if isinstance(name, str) else str(dtype)).removeprefix("torch.")
