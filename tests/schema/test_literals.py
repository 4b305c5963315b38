import enum
import math

import numpy as np
import pytest

from c10cli.schema.literals import NoLiteral, default_of
from c10cli.schema.parser import parse_schema


class Color(enum.IntEnum):
    RED = 1


def type_named(text):
    (argument,) = parse_schema(f"c10::f({text} x) -> ()").arguments
    return argument.type


class Word:
    """An object that prints as torch's dtypes, layouts and formats do."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text


@pytest.mark.parametrize(
    ("value", "t", "default"),
    [
        (1, "int", 1),
        (np.int32(3), "int", 3),
        (1, "float", 1.0),
        (np.float32(0.5), "float", 0.5),
        (math.inf, "float", math.inf),
        (2, "complex", 2 + 0j),
        (-2j, "complex", complex(0, -2)),
        (True, "bool", True),
        (True, "Scalar", True),
        (1, "Scalar", 1),
        (1.5, "Scalar", 1.5),
        (2j, "Scalar", 2j),
        ("it's\n", "str", "it's\n"),
        ("cuda:0", "Device", "cuda:0"),
        ("float32", "ScalarType", "float32"),
        ("half", "ScalarType", "float16"),
        (np.float32, "ScalarType", "float32"),
        (np.dtype("int8"), "ScalarType", "int8"),
        (Word("torch.bfloat16"), "ScalarType", "bfloat16"),
        (Word("torch.strided"), "Layout", "strided"),
        (Word("torch.contiguous_format"), "MemoryFormat", "contiguous_format"),
        ([1, 2], "int[]", (1, 2)),
        ((), "str[]", ()),
        ([], "int[][]", ()),
        ([1, None], "int?[]", (1, None)),
        (None, "Tensor?", None),
        ([0.5], "float[]?", (0.5,)),
    ],
)
def test_a_value_becomes_one_of_the_type(value, t, default):
    found = default_of(value, type_named(t))
    assert (repr(found), type(found)) == (repr(default), type(default))


@pytest.mark.parametrize(
    ("value", "t", "message"),
    [
        (True, "int", "`True` does not fit `int`"),
        (2**63, "int", "`9223372036854775808` does not fit `int`"),
        (1.0, "int", "`1.0` does not fit `int`"),
        ("1", "float", "`'1'` does not fit `float`"),
        (True, "float", "`True` does not fit `float`"),
        (1, "bool", "`1` does not fit `bool`"),
        (b"x", "str", "`b'x'` does not fit `str`"),
        (Color.RED, "int", "`<Color.RED: 1>` does not fit `int`"),
        ("a b", "Device", "`'a b'` does not fit `Device`"),
        ("float99", "ScalarType", "`'float99'` does not fit `ScalarType`"),
        (np.ones(2), "float", "does not fit `float`"),
        (1 + 2j, "complex", "`(1+2j)` has two parts, and a schema can write one"),
        (complex(0, math.nan), "complex", "`nanj` cannot be written as a complex number"),
        (1 + 0j, "Scalar", "`(1+0j)` would be read back as a float"),
        (3, "int[]", "`3` is not a list"),
        ([[1]], "int[][]", "a list of lists cannot be written in a schema"),
        ({}, "Dict(str, int)", "an argument of type `Dict(str, int)` can only default to None"),
        ((1, 2), "(int, int)", "an argument of type `(int, int)` can only default to None"),
        (3, "Tensor", "an argument of type `Tensor` can only default to None"),
        (["x" * 99], "int[]", f"`'{'x' * 38}…` does not fit `int`"),
    ],
)
def test_what_no_schema_can_hold_is_refused(value, t, message):
    with pytest.raises(NoLiteral) as raised:
        default_of(value, type_named(t))
    assert message in raised.value.message
    assert raised.value.help
