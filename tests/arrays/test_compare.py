import numpy as np
import pytest

from c10cli.arrays.compare import compare_arrays, view_of


def compare(actual, expected, rtol=0.0, atol=0.0):
    return compare_arrays(np.asarray(actual), np.asarray(expected), rtol=rtol, atol=atol)


def test_equal_arrays_do_not_differ():
    assert compare([1.0, -0.0, np.inf, -np.inf, np.nan], [1.0, 0.0, np.inf, -np.inf, np.nan]) is None


def test_a_difference_in_shape_comes_before_any_in_value():
    assert compare(np.ones((2, 1)), np.ones(2)) == "the shape is [2, 1] where the reference gives [2]"


def test_empty_arrays_of_one_shape_do_not_differ():
    assert compare(np.ones((0, 3)), np.ones((0, 3))) is None
    assert compare(np.ones((0, 3)), np.ones((3, 0))) is not None


@pytest.mark.parametrize(
    ("actual", "fits"), [(1.0, True), (1.05, True), (0.95, True), (1.07, False), (0.93, False)]
)
def test_an_element_fits_within_both_tolerances_together(actual, fits):
    assert (compare([actual], [1.0], rtol=0.04, atol=0.02) is None) is fits


def test_tolerance_is_relative_to_the_expected_value():
    assert compare([150.0], [100.0], rtol=0.4) is not None
    assert compare([100.0], [150.0], rtol=0.4) is None


@pytest.mark.parametrize(
    ("actual", "expected"),
    [(np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0), (1.0, np.inf), (np.inf, -np.inf), (np.inf, np.nan)],
)
def test_what_is_not_finite_fits_only_itself(actual, expected):
    assert compare([actual], [expected], rtol=10.0, atol=1e300) is not None


def test_the_largest_difference_is_named_and_nan_is_the_largest():
    found = compare([[1.0, 2.0], [3.0, 9.0]], [[1.0, 2.5], [3.0, 4.0]], atol=0.1)
    assert found == (
        "2 of 4 elements differ; at [1, 1] it is 9.0 where the reference gives 4.0 (rtol 0, atol 0.1)"
    )
    assert "at [0] it is" in compare([np.nan, 900.0], [1.0, 1.0])


def test_an_element_that_fits_is_never_the_one_named():
    assert "at [1] it is" in compare([1000.0, 2.0], [1001.0, 1.0], rtol=0.01)


def test_a_scalar_array_has_an_empty_index():
    assert "at [] it is" in compare(2.0, 1.0)


def test_integers_are_exact_where_floats_would_round_and_tolerances_do_not_count():
    assert "at [0] it is" in compare([2**62 + 1], [2**62], rtol=1.0, atol=9.0)
    assert compare(np.array([2**64 - 1], np.uint64), np.array([2**64 - 2], np.uint64)) is not None
    assert compare([True, False], [True, False]) is None
    assert compare([3], np.array([3], np.int8)) is None


def test_half_precision_does_not_overflow_in_the_comparison():
    small = np.array([60000.0], np.float16)
    assert compare(small, -small) is not None
    assert compare(small, [60000.0]) is None


def test_complex_numbers_are_compared_by_distance():
    assert compare([1 + 1j], [1 + 1.05j], atol=0.1) is None
    assert compare([1 + 1j], [1 - 1j], atol=0.1) is not None
    assert compare([complex(np.nan, 1)], [complex(np.nan, 2)]) is None


def test_a_view_has_dtype_shape_and_the_ends():
    text = view_of(np.arange(1000, dtype=np.float32))
    head, _, body = text.partition("\n")
    assert head == "float32[1000]"
    assert "997., 998., 999." in body
    assert "..." in body


def test_a_view_of_a_small_array_is_whole():
    assert view_of(np.array([[1, 2], [3, 4]])) == "int64[2, 2]\n[[1, 2],\n [3, 4]]"


def test_what_is_no_number_is_compared_exactly():
    words = np.array(["a", "b"])
    assert compare_arrays(words, words.copy(), rtol=1, atol=1) is None
    assert "at [1] it is" in compare_arrays(words, np.array(["a", "c"]), rtol=1, atol=1)
    days = np.array(["2025-01-01"], "M8[D]")
    assert compare_arrays(days, days + np.timedelta64(1, "D"), rtol=1, atol=1) is not None


class Agreeable(np.ndarray):
    def __array_ufunc__(self, *args, **kwargs):
        return np.ones(self.shape, bool)


def test_a_subclass_does_not_decide_how_it_compares():
    mismatch = compare_arrays(np.zeros(2).view(Agreeable), np.ones(2), rtol=0, atol=0)
    assert mismatch.startswith("2 of 2 elements differ")
