import re

import numpy as np
import pytest

from c10cli.arrays import filling
from c10cli.arrays.filling import array_functions, available_bytes
from c10cli.schema.dtypes import DTYPES


def make(name, *arguments, dtype="float32", seed=7, **keywords):
    return array_functions(dtype, np.random.default_rng(seed))[name](*arguments, **keywords)


def test_shapes_are_given_one_by_one_or_as_one_list():
    assert make("randn", 2, 3).shape == make("randn", [2, 3]).shape == make("zeros", (2, 3)).shape == (2, 3)
    assert make("ones").shape == ()
    assert make("randn", 0, 3).shape == (0, 3)


@pytest.mark.parametrize("dtype", [name for name in DTYPES if not name.startswith(("bfloat", "float8"))])
def test_every_dtype_can_be_filled(dtype):
    for name, arguments in (("randn", (2,)), ("zeros", (2,)), ("arange", (2,)), ("linspace", (0, 1, 2))):
        result = make(name, *arguments, dtype=dtype)
        assert (result.dtype.name, result.shape) == (dtype, (2,))
        assert DTYPES[dtype] == result.dtype.itemsize


@pytest.mark.parametrize(
    ("dtype", "name", "arguments", "value"),
    [
        ("int8", "arange", (200,), "128"),
        ("int8", "arange", (0, 1, 0.5), "0.5"),
        ("int8", "full", (2, 300), "300"),
        ("int32", "full", (2, np.nan), "nan"),
        ("int32", "full", (2, -np.inf), "-inf"),
        ("int32", "full", (2, 1.5), "1.5"),
        ("int64", "full", (2, 2.0**63), "9.223372036854776e+18"),
        ("int64", "full", (2, 2**63), "9223372036854775808"),
        ("uint64", "full", (2, -1), "-1"),
        ("uint8", "arange", (2, -2, -1), "-1"),
        ("int16", "linspace", (0, 1, 3), "0.5"),
        ("int8", "randint", (0, 300, 2), "299"),
        ("uint8", "randint", (-3, 3, 2), "-3"),
        ("bool", "arange", (3,), "2"),
        ("bool", "full", (2, 0.5), "0.5"),
        ("float16", "full", (2, 1e6), "1000000.0"),
        ("float16", "arange", (0, 10**6, 70000), "70000"),
        ("float16", "linspace", (0, -1e6, 2), "-1000000.0"),
        ("float32", "full", (2, 1j), "1j"),
        ("bfloat16", "full", (2, 1e39), "1e+39"),
        ("float8_e4m3fn", "full", (2, 1000), "1000"),
        ("float8_e4m3fn", "full", (2, np.inf), "inf"),
    ],
)
def test_what_a_dtype_cannot_hold_is_refused_with_the_value(needs, dtype, name, arguments, value):
    if dtype.startswith(("bfloat", "float8")):
        needs("ml_dtypes")
    with pytest.raises(ValueError, match=f"^{dtype} cannot hold {re.escape(value)}$"):
        make(name, *arguments, dtype=dtype)


def test_what_a_dtype_can_hold_is_made_of_any_number():
    assert make("full", 1, 3.0, dtype="int8").tolist() == [3]
    assert make("full", 1, 2**63 - 1, dtype="int64").tolist() == [2**63 - 1]
    assert make("full", 1, 2**64 - 1, dtype="uint64").tolist() == [2**64 - 1]
    assert make("full", 1, 1 + 0j, dtype="float32").tolist() == [1]
    assert make("full", 1, 0.1, dtype="float16").tolist() == [float(np.float16(0.1))]
    assert make("full", 1, np.nan, dtype="complex64").dtype == np.complex64
    assert make("full", 1, True, dtype="bool").tolist() == [True]
    assert make("full", 0, 1000, dtype="float16").shape == (0,)


def test_the_values():
    assert make("full", 2, 2, 1.5).tolist() == [[1.5, 1.5], [1.5, 1.5]]
    assert make("full", (2,), np.inf).tolist() == [np.inf, np.inf]
    assert make("arange", 5, 1, -2, dtype="int64").tolist() == [5, 3]
    assert make("arange", 0, 1, 0.5).tolist() == [0.0, 0.5]
    assert make("linspace", 0, 1, 3).tolist() == [0.0, 0.5, 1.0]


def test_randn_is_repeated_by_its_seed_and_differs_by_call():
    functions = array_functions("float64", np.random.default_rng(7))
    first, second = functions["randn"](50), functions["randn"](50)
    assert np.array_equal(first, make("randn", 50, dtype="float64"))
    assert not np.array_equal(first, second)


def test_randn_of_integers_is_not_all_zero():
    assert len(set(make("randn", 100, dtype="int8").tolist())) > 5
    assert make("randn", 100, dtype="uint8").max() < 30
    assert set(make("randn", 100, dtype="bool").tolist()) == {True, False}


def test_randint_is_int64_unless_integers_are_wanted():
    assert make("randint", 0, 10, 4, dtype="float32").dtype == np.int64
    assert make("randint", 0, 10, 4, dtype="int16").dtype == np.int16
    assert set(make("randint", 2, 4, 100).tolist()) == {2, 3}


def test_a_dtype_of_ones_own():
    for name, arguments in (("randn", (2,)), ("zeros", (2,)), ("arange", (2,)), ("linspace", (0, 1, 2))):
        assert array_functions("float32")[name](*arguments, dtype="int32").dtype == np.int32
    assert array_functions("float32")["randint"](0, 2, 4, dtype="bool").dtype == np.bool_


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("randn", (2.5,), "an integer is wanted"),
        ("randn", (True,), "an integer is wanted"),
        ("randn", (-1,), "negative"),
        ("zeros", (1,) * 40, "dimensions"),
        ("full", (), "a shape and a value"),
        ("full", (2, "x"), "a number is wanted"),
        ("arange", (0, 5, 0), "step is 0"),
        ("arange", ("x",), "a number is wanted"),
        ("randint", (3, 3, 2), "low"),
        ("randint", (0.5, 3, 2), "an integer is wanted"),
    ],
)
def test_wrong_arguments_are_refused(name, arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make(name, *arguments)


def test_an_unknown_dtype_is_refused():
    with pytest.raises(ValueError, match="unknown dtype `float31`"):
        array_functions("float31")
    with pytest.raises(ValueError, match="unknown dtype `float31`"):
        array_functions("float32")["zeros"](2, dtype="float31")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("randn", (10**6, 10**6)), ("arange", (10**15,)), ("zeros", (10**20,)), ("linspace", (0, 1, 10**14))],
)
def test_what_does_not_fit_into_memory_is_refused_before_it_is_made(name, arguments):
    with pytest.raises(MemoryError, match="GiB to make, more than is free"):
        make(name, *arguments)


def test_the_arrays_of_one_expression_add_up(monkeypatch):
    monkeypatch.setattr(filling, "available_bytes", lambda: 2 * 2**20)
    functions = array_functions("float32")
    functions["zeros"](2**17)
    with pytest.raises(MemoryError):
        functions["zeros"](2**17)


def test_some_memory_is_free():
    assert 2**20 < available_bytes() < 2**50


def test_a_literal_tensor_is_nested_lists_in_a_dtype_that_holds_them():
    assert make("tensor", [[0, 1], [2, 3]]).tolist() == [[0, 1], [2, 3]]
    assert (make("tensor", [0, 1], dtype="int64").dtype, make("tensor", 3).shape) == ("int64", ())


@pytest.mark.parametrize(
    ("values", "dtype", "reason"),
    [
        ([300], "int8", "int8 cannot hold 300"),
        ([1.5], "int8", "int8 cannot hold 1.5"),
        ([1], "int9", "unknown dtype `int9`"),
        ([[1], [1, 2]], "int8", "inhomogeneous"),
        (["a"], "int8", "a number is wanted"),
    ],
)
def test_a_literal_tensor_that_its_dtype_cannot_hold_is_refused(values, dtype, reason):
    with pytest.raises((ValueError, TypeError), match=re.escape(reason)):
        make("tensor", values, dtype=dtype)
