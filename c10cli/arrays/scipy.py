"""SciPy's sparse arrays and matrices."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import Array, Library, contents_of_array


class _Scipy(Library):
    companions = ("numpy",)  # what is dense there

    def make(self, array: Any, key: DispatchKey) -> Any:
        from scipy import sparse

        return sparse.csr_array(array)

    def read(self, tensor: Any) -> Any:
        return np.asarray(tensor.toarray())

    def contents(self, tensor: Any) -> tuple[object, ...]:
        return stored_contents(tensor)

    def memory(self, tensor: Any) -> list[Array]:
        return _parts(tensor)


def stored_contents(tensor: Any) -> tuple[object, ...]:
    """The arrays that a sparse one is made of, as they are: also the order of its elements counts."""
    # Some formats hold Python's lists or a dictionary.
    stored = tensor.tocoo(copy=True) if tensor.format in ("lil", "dok") else tensor
    return (tensor.format, tensor.shape, *map(contents_of_array, _parts(stored)))


def _parts(tensor: Any) -> list[Array]:
    """All arrays of a sparse one, such as ``data``, ``indices`` and ``indptr``, or those in ``coords``."""
    held = [value if isinstance(value, tuple) else (value,) for value in vars(tensor).values()]
    return [part for part in itertools.chain(*held) if isinstance(part, np.ndarray)]


LIBRARY = _Scipy("scipy", {"_spbase": DispatchKey.SparseCPU, "spmatrix": DispatchKey.SparseCPU})
