"""The words of a manifest: what it may name of arrays.  Reading one needs no more than the words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

ARRAY_FUNCTIONS: Final = ("randn", "zeros", "ones", "full", "arange", "randint", "linspace", "tensor")
COST_FUNCTIONS: Final = ("nbytes", "size", "dim")
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


def is_exact(dtype: str) -> bool:
    """Whether *dtype* holds integers or booleans, which are compared exactly."""
    return dtype.startswith(("int", "uint", "bool"))
