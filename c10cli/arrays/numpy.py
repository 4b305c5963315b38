"""NumPy's arrays; those of its subclasses are the array below."""

from __future__ import annotations

from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import Library


class _Numpy(Library):
    def make(self, array: Any, key: DispatchKey) -> Any:
        return array


LIBRARY = _Numpy("numpy", {"ndarray": DispatchKey.CPU})
