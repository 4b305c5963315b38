"""The words for arrays: what a manifest and a domain may name of them.  Reading one needs no more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

_FUNCTIONS = """
    randn zeros ones full arange randint linspace tensor uniform permutation bernoulli sorted triangular
    strided transposed
"""
ARRAY_FUNCTIONS: Final = tuple(_FUNCTIONS.split())
COST_FUNCTIONS: Final = ("nbytes", "size", "dim", "rank", "prod", "len", "itemsize", "min", "max", "abs")
CONSTANTS: Final[Mapping[str, float]] = {"nan": math.nan, "inf": math.inf}
# As the schema language has them.
WORDS: Final[Mapping[str, bool | None]] = {"true": True, "false": False, "none": None}
RESERVED_NAMES: Final = frozenset((*ARRAY_FUNCTIONS, *COST_FUNCTIONS, *CONSTANTS))

# The dtypes that a manifest may name, with their bytes per element.
DTYPES: Final[Mapping[str, int]] = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}

_SIGNED: Final = ("int8", "int16", "int32", "int64")
_UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
_FLOATING: Final = ("float16", "bfloat16", "float32", "float64")
_COMPLEX: Final = ("complex64", "complex128")
# The words of a domain for several dtypes.
DTYPE_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "floating": _FLOATING,
    "integer": (*_SIGNED, *_UNSIGNED),
    "signed": _SIGNED,
    "unsigned": _UNSIGNED,
    "complex": _COMPLEX,
    "boolean": ("bool",),
    "number": (*_SIGNED, *_UNSIGNED, *_FLOATING, *_COMPLEX),
    "any": tuple(DTYPES),
}


def is_exact(dtype: str) -> bool:
    """Whether *dtype* holds integers or booleans, which are compared exactly."""
    return dtype.startswith(("int", "uint", "bool"))
