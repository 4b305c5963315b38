import numpy as np
import pytest

from c10cli.arrays import filling
from c10cli.arrays.dtypes import DTYPES
from c10cli.arrays.filling import array_functions, available_bytes


def make(name, *arguments, dtype="float32", seed=7, **keywords):
    return array_functions(dtype, np.random.default_rng(seed))[name](*arguments, **keywords)


def test_shapes_are_given_one_by_one_or_as_one_list():
    assert make("randn", 2, 3).shape == make("randn", [2, 3]).shape == make("zeros", (2, 3)).shape == (2, 3)
    assert make("ones").shape == ()
    assert make("randn", 0, 3).shape == (0, 3)


@pytest.mark.parametrize("dtype", [name for name in DTYPES if not name.startswith(("bfloat", "float8"))])
def test_every_dtype_can_be_filled(dtype):
    for name, arguments in (("randn", (3,)), ("zeros", (3,)), ("arange", (3,)), ("linspace", (0, 1, 3))):
        result = make(name, *arguments, dtype=dtype)
        assert (result.dtype.name, result.shape) == (dtype, (3,))
        assert DTYPES[dtype] == result.dtype.itemsize


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
