"""CuPy's arrays, and the sparse ones of its cupyx."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import Library, sparse_key
from c10cli.arrays.scipy import stored_contents


def _key(value: Any) -> DispatchKey:
    return DispatchKey.HIP if sys.modules["cupy"].cuda.runtime.is_hip else DispatchKey.CUDA


def _sparse_key(value: Any) -> DispatchKey:
    return sparse_key(value, _key(value))


class _Cupy(Library):
    def make(self, array: Any, key: DispatchKey) -> Any:
        import cupy

        return cupy.asarray(array)

    def read(self, tensor: Any) -> Any:
        dense = tensor.toarray() if hasattr(tensor, "toarray") else tensor
        return np.asarray(sys.modules["cupy"].asnumpy(dense))

    def contents(self, tensor: Any) -> tuple[object, ...]:
        return stored_contents(tensor.get()) if hasattr(tensor, "toarray") else super().contents(tensor)

    def synchronizer(self, key: DispatchKey) -> Any:
        import cupy

        return cupy.cuda.runtime.deviceSynchronize


LIBRARY = _Cupy("cupy", {"ndarray": _key, "_spbase": _sparse_key, "spmatrix": _sparse_key})
