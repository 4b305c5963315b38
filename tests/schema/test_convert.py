import enum
from collections import deque

import numpy as np
import pytest

from c10cli.schema.convert import Mismatch, convert, looks_like_tensor
from c10cli.schema.parser import parse_schema


class Opaque:
    pass


class Level(enum.IntEnum):
    HIGH = 3


class Index:
    def __index__(self):
        return 5


OPAQUE, ARRAY = Opaque(), np.zeros((4, 8), np.float32)


def type_of(text):
    return parse_schema(f"c10::f({text} x) -> ()", "torch").arguments[0].type


def converted(text, value):
    return convert(value, type_of(text), looks_like_tensor)


@pytest.mark.parametrize(
    ("t", "value", "result"),
    [
        ("int", 2**63 - 1, 2**63 - 1),
        ("int", np.int8(3), 3),
        ("int", Level.HIGH, 3),
        ("int", Index(), 5),
        ("SymInt", np.uint64(7), 7),
        ("float", 2, 2.0),
        ("float", 2**70, 2.0**70),
        ("float", np.float32(0.5), 0.5),
        ("float", np.int64(2), 2.0),
        ("float", np.longdouble(0.5), 0.5),
        ("complex", 1, 1 + 0j),
        ("complex", np.complex64(1j), 1j),
        ("bool", np.bool_(True), True),
        ("str", "a\0b", "a\0b"),
        ("Scalar", True, True),
        ("Scalar", 2, 2),
        ("Scalar", np.float64(2.0), 2.0),
        ("Scalar", 1j, 1j),
        ("ScalarType", "half", "float16"),
        ("Device", "cuda:1", "cuda:1"),
        ("Layout", "strided", "strided"),
        ("int[]", range(3), [0, 1, 2]),
        ("int[]", deque([1]), [1]),
        ("int?[]", [3, None], [3, None]),
        ("int[]?", None, None),
        ("str[]", ("ab",), ["ab"]),
        ("(int, float)", [1, 2], (1, 2.0)),
        ("()", (), ()),
        ("Dict(str, float)", {"b": 1, "a": 2}, {"b": 1.0, "a": 2.0}),
        ("Union(float, int)", 1, 1),
        ("Union(float, str)", 1, 1.0),
        ("NoneType", None, None),
        ("Any", None, None),
        ("t", "x", "x"),
    ],
)
def test_what_fits_becomes_a_plain_value(t, value, result):
    found = converted(t, value)
    assert found == result
    assert repr(found) == repr(result)


def test_dictionaries_keep_their_order():
    assert list(converted("Dict(str, int)", {"b": 1, "a": 2})) == ["b", "a"]


@pytest.mark.parametrize(
    "t", ["Tensor", "Tensor?", "Generator", "Storage", "Device", "Layout", "ScalarType", "Any"]
)
def test_an_object_of_a_library_passes_through(t):
    assert converted(t, OPAQUE) is OPAQUE


@pytest.mark.parametrize("dtype", [np.dtype("float32"), np.float32, float])
def test_a_dtype_object_passes_through(dtype):
    assert converted("ScalarType", dtype) is dtype


@pytest.mark.parametrize(
    ("t", "value"),
    [
        ("Tensor", None),
        ("Tensor", 1),
        ("Tensor", np.float32(1)),
        ("Tensor", [ARRAY]),
        ("int", 2**63),
        ("int", -(2**63) - 1),
        ("int", 1.0),
        ("int", True),
        ("int", np.bool_(True)),
        ("int", np.float32(1)),
        ("int", np.array(3)),
        ("int", "1"),
        ("int", None),
        ("float", True),
        ("float", 2**60 + 1),
        ("float", 10**400),
        ("float", 1j),
        ("float", np.array(1.0)),
        ("complex", "1"),
        ("bool", 1),
        ("bool", None),
        ("str", b"a"),
        ("Scalar", None),
        ("Scalar", 2**63),
        ("Scalar", ARRAY),
        ("ScalarType", 6),
        ("ScalarType", "byte"),
        ("ScalarType", ARRAY),
        ("Device", 0),
        ("Device", "cuda:"),
        ("Layout", "sparse"),
        ("Generator", 3),
        ("int[]", "12"),
        ("int[]", b"12"),
        ("int[]", {1, 2}),
        ("int[]", np.array([1, 2])),
        ("int[]", iter([1])),
        ("int[]", 1),
        ("str[]", "ab"),
        ("bool[]", [1]),
        ("(int, int)", (1,)),
        ("(int, int)", range(2)),
        ("Dict(str, int)", [("a", 1)]),
        ("Dict(str, int)", {1: 1}),
        ("Union(int, str)", 1.5),
        ("NoneType", 0),
    ],
)
def test_what_would_lose_or_guess_is_refused(t, value):
    with pytest.raises(Mismatch):
        converted(t, value)


def test_a_mismatch_says_where_inside_it_is():
    with pytest.raises(Mismatch) as raised:
        converted("int[][]", [[1], [2, "a"]])
    assert (raised.value.value, raised.value.expected, raised.value.where) == ("a", "int", "item 1 of item 1")
