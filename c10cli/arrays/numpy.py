"""NumPy's own arrays: a subclass, such as a masked array, may mean something else than its elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import Library


class _Numpy(Library):
    has_subclasses = False

    def make(self, array: Any, key: DispatchKey) -> Any:
        return array

    def fault(self, tensor: Any) -> tuple[str, str]:
        dtype = tensor.dtype
        if dtype.kind == "O":
            return "holds Python objects", "give it a dtype, as by `.astype(float)`"
        if dtype.names:
            return "holds records", f"take one of its fields, as by `[{dtype.names[0]!r}]`"
        if issubclass(dtype.type, np.void):
            return "holds raw bytes", "say what they are, as by `.view('float16')`"
        if not dtype.isnative:
            return "has a foreign byte order", "change it by `.astype(x.dtype.newbyteorder('='))`"
        return "", ""


LIBRARY = _Numpy("numpy", {"ndarray": DispatchKey.CPU, "memmap": DispatchKey.CPU})
