"""SciPy's sparse arrays and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import Library, contents_of_array


class _Scipy(Library):
    companions = ("numpy",)  # what is dense there

    def make(self, array: Any, key: DispatchKey) -> Any:
        from scipy import sparse

        return sparse.csr_array(array)

    def read(self, tensor: Any) -> Any:
        return np.asarray(tensor.toarray())

    def contents(self, tensor: Any) -> tuple[object, ...]:
        return stored_contents(tensor)

    def memory(self, tensor: Any) -> Any:
        return np.asarray(tensor.data)


def stored_contents(tensor: Any) -> tuple[object, ...]:
    """The coordinates and values that a sparse array holds, in order."""
    stored = tensor.tocoo(copy=True)
    stored.sum_duplicates()  # kernels that read may also sort what they read, in place
    coordinates = stored.coords if hasattr(stored, "coords") else (stored.row, stored.col)
    return (tensor.format, tensor.shape, *map(contents_of_array, (*coordinates, stored.data)))


LIBRARY = _Scipy("scipy", {"_spbase": DispatchKey.SparseCPU, "spmatrix": DispatchKey.SparseCPU})
