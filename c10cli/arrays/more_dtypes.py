"""The dtypes that NumPy has none of its own for, such as bfloat16: those of the package ml_dtypes.

An .npy file has no word for them: NumPy writes raw bytes.  So they are written
as a record of one unsigned integer, whose name says what it holds.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any, Final

import numpy as np

_PREFIX: Final = "ml_dtypes."


def numpy_dtype(name: str) -> Any:
    """The dtype called *name*, of NumPy or of ml_dtypes.

    Raises:
        ImportError: it is of ml_dtypes, which is not installed or does not have it.
    """
    with contextlib.suppress(TypeError):  # NumPy has none
        return np.dtype(name)
    with contextlib.suppress(ImportError):
        scalar = getattr(importlib.import_module("ml_dtypes"), name, None)
        if isinstance(scalar, type) and issubclass(scalar, np.generic):
            return np.dtype(scalar)
    raise ImportError(f"{name} needs the package ml_dtypes (extra `dtypes`)")


def storable(array: Any) -> Any:
    """*array* of a dtype that an .npy file has a word for; see `restored`.

    Raises:
        ValueError: there is none for it.
    """
    dtype = array.dtype
    if dtype.isbuiltin != 2:  # NumPy's own
        return array
    if dtype.type.__module__ != "ml_dtypes":
        raise ValueError(f"an .npy file has no word for {dtype.name}")
    return array.view([(_PREFIX + dtype.name, f"u{dtype.itemsize}")])


def restored(array: Any) -> Any:
    """What was given to `storable` to get *array*.

    Raises:
        ImportError: its dtype is of ml_dtypes, which is not installed.
    """
    name = array.dtype.names[0] if len(array.dtype.names or ()) == 1 else ""
    return array.view(numpy_dtype(name.removeprefix(_PREFIX))) if name.startswith(_PREFIX) else array
