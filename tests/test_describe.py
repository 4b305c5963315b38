from types import SimpleNamespace

import pytest

from c10cli.describe import callable_name, describe, dtype_name


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (3, "int 3"),
        (2.5, "float 2.5"),
        ([1, 2], "list of 2"),
        ((), "tuple of 0"),
        ({1: 2}, "dict of 1"),
        ("text", "str 'text'"),
        (SimpleNamespace(dtype="float32", shape=(4, 8)), "float32[4, 8]"),
        (SimpleNamespace(dtype=SimpleNamespace(name="int64"), shape=()), "int64[]"),
        (SimpleNamespace(dtype="float32", shape=None), "SimpleNamespace"),
    ],
)
def test_a_value_is_described_by_dtype_and_shape_or_by_type(value, text):
    assert describe(value) == text


def test_a_long_number_is_cut():
    assert len(describe(10**100)) == 40


def test_a_description_never_fails():
    class Hostile:
        @property
        def shape(self):
            raise ValueError("no shape today")

    assert describe(Hostile()) == ("test_a_description_never_fails.<locals>.Hostile")


def test_contents_are_never_shown():
    import numpy

    assert describe(numpy.full((2, 2), 7.0)) == "float64[2, 2]"


def test_torch_dtypes_lose_their_prefix():
    assert dtype_name("torch.float16") == "float16"


class Called:
    def __call__(self):
        return None


class Nameless(Called):
    @property
    def __name__(self):
        raise OSError("no name today")


class Named(Called):
    __name__ = "own"


@pytest.mark.parametrize(
    ("make", "name"), [(lambda: len, "len"), (Called, "Called"), (Nameless, "Nameless"), (Named, "own")]
)
def test_a_callable_is_named_without_its_address_and_without_error(make, name):
    assert callable_name(make()) == name


def test_a_numpy_scalar_is_shown_by_its_value_and_an_array_is_not():
    numpy = pytest.importorskip("numpy")
    assert describe(numpy.int64(3)) == "int64 3"
    assert describe(numpy.ones(())) == "float64[]"
