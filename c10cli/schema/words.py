"""The words that stand for values in a schema: element types, layouts, memory formats."""

from __future__ import annotations

import re
from typing import Final

# In the order of torch's numbers, from 0.
_NAMES_TEXT = """
    uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8
    qint32 bfloat16 quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 float8_e5m2 float8_e4m3fn
    float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 uint64 uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2
    int3 int4 int5 int6 int7 float8_e8m0fnu float4_e2m1fn_x2
"""
_NAMES = _NAMES_TEXT.split()

_OTHER_NAMES = {"half": "float16", "float": "float32", "double": "float64", "bit": "uint1"}
_OTHER_NAMES |= {"short": "int16", "int": "int32", "long": "int64"}
_OTHER_NAMES |= {"chalf": "complex32", "cfloat": "complex64", "complex": "complex64", "cdouble": "complex128"}

# Every spelling of an element type, with the one that is printed.
SCALAR_TYPES: Final[dict[str, str]] = {**{name: name for name in _NAMES}, **_OTHER_NAMES}
SCALAR_TYPE_NUMBERS: Final[dict[str, int]] = {name: number for number, name in enumerate(_NAMES)}

# A device: what it is, and which one of several.
DEVICE_NAME: Final = re.compile(r"[A-Za-z_]\w*(:\d+)?", re.ASCII)

# torch's parser reads no other layout or memory format.
LAYOUTS: Final = {"strided": 0}
MEMORY_FORMATS: Final = {"contiguous_format": 0}
REDUCTIONS: Final = {"Mean": 1}

# The words that torch takes as a default of whatever type.
TORCH_WORDS: Final[dict[str, int]] = {
    **{name: SCALAR_TYPE_NUMBERS[SCALAR_TYPES[name]] for name in ("float", "complex", "long")},
    **LAYOUTS,
    **MEMORY_FORMATS,
    **REDUCTIONS,
}
