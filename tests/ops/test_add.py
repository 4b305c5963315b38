import numpy as np
import pytest

ADD = "add:add_cpu"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("first", "second"),
    [((4, 8), (4, 8)), ((3, 5), (5,)), ((5, 1), (1, 7)), ((), (3,)), ((), ()), ((0, 4), (4,)), ((1,), (1,))],
)
def test_agrees_with_the_reference_on_broadcast_shapes(agrees, rng, dtype, first, second):
    x, y = (np.asarray(rng.standard_normal(s)).astype(dtype) for s in (first, second))
    for alpha in (1, 2, -0.5):
        assert agrees(ADD, "add", x, y, alpha=alpha).dtype == dtype


def test_non_contiguous_input(agrees, rng):
    x = rng.standard_normal((6, 10))[::2, ::-3]
    agrees(ADD, "add", x, x[:1], alpha=3.0)


def test_nan_and_inf_pass_without_a_warning(agrees):
    x = np.array([np.nan, np.inf, -np.inf, np.inf], np.float32)
    agrees(ADD, "add", x, x[::-1].copy(), alpha=-1.0)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
def test_integers_wrap_around(agrees, dtype):
    x = np.array([100, 120, 7], dtype)
    assert agrees(ADD, "add", x, x, alpha=2).dtype == dtype


def test_booleans_are_joined_by_or(agrees):
    agrees(ADD, "add", np.array([True, False, False]), np.array([True, True, False]))
    agrees(ADD, "add", np.array([True, False, False]), np.array([True, True, False]), alpha=False)


def test_float16_is_rounded_once(load):
    """0.1 * 3 rounded to float16 first would be off by one unit in the sum."""
    x, y = np.float16([1000.0, 0.3]), np.float16([0.1, 0.1])
    expected = (x.astype(float) + 3.7 * y.astype(float)).astype(np.float16)
    np.testing.assert_array_equal(load(ADD)(x, y, alpha=3.7), expected)


def test_mixed_dtypes_give_numpys_common_dtype(load):
    assert load(ADD)(np.float32([1]), np.int64([1])).dtype == np.float64
    assert load(ADD)(np.float16([1]), np.float32([1]), alpha=2).dtype == np.float32


def test_shapes_that_do_not_broadcast_are_named(load):
    for alpha in (1, 2):
        with pytest.raises(ValueError, match=r"^self float32\[3\] and other int64\[4, 2\] do not broadcast$"):
            load(ADD)(np.zeros(3, np.float32), np.zeros((4, 2), np.int64), alpha=alpha)


@pytest.mark.parametrize(("dtype", "alpha"), [("int32", 0.5), ("bool", 2), ("float32", 1j)])
def test_an_alpha_of_a_wider_kind_is_refused(load, dtype, alpha):
    with pytest.raises(TypeError, match=r"alpha .* does not fit a result of dtype"):
        load(ADD)(np.ones(3, dtype), np.ones(3, dtype), alpha=alpha)


def test_an_alpha_out_of_range_is_refused(load):
    with pytest.raises(ValueError, match="alpha 300 is out of range for int8"):
        load(ADD)(np.ones(3, np.int8), np.ones(3, np.int8), alpha=300)
