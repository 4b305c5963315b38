import numpy as np
import pytest

VARIANTS = ["layer_norm:layer_norm_cpu", "layer_norm_numba:layer_norm_numba"]

pytestmark = pytest.mark.parametrize("entry", VARIANTS)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((1,), 0),
        ((1, 1), -1),
        ((0, 3), 1),
        ((3, 0), 1),
        ((0, 3), 0),
        ((5, 7), -1),
        ((5, 7), 0),
        ((3, 17, 301), 1),
        ((3, 17, 301), -3),
        ((301, 401), 1),
        ((2, 70001), 1),
    ],
)
def test_agrees_with_the_reference_from_any_axis(agrees, rng, entry, dtype, shape, axis):
    x = (3 * rng.standard_normal(shape) + 5).astype(dtype)
    tolerance = {"float16": 4e-3}.get(dtype)
    output, mean, stdev = agrees(entry, "layer_norm", x, axis, tolerance=tolerance)
    assert output.dtype == mean.dtype == stdev.dtype == dtype


def test_mean_and_stdev_have_the_leading_shape(load, entry):
    _, mean, stdev = load(entry)(np.ones((2, 3, 4, 5)), 2)
    assert mean.shape == stdev.shape == (2, 3)
    _, mean, stdev = load(entry)(np.ones((2, 3)), 0)
    assert mean.shape == stdev.shape == ()


def test_epsilon_stands_under_the_root(load, entry):
    output, _, stdev = load(entry)(np.full((2, 3), 7.0), epsilon=4.0)
    np.testing.assert_array_equal(stdev, [2.0, 2.0])
    np.testing.assert_array_equal(output, np.zeros((2, 3)))


def test_no_variance_and_no_epsilon_gives_nan(agrees, entry):
    output, _, _ = agrees(entry, "layer_norm", np.full((1, 3), 7.0), -1, 0.0)
    assert np.isnan(output).all()


def test_non_contiguous_and_big_endian_input(agrees, rng, entry):
    x = rng.standard_normal((6, 10, 4)).T[1:, ::2]
    agrees(entry, "layer_norm", x, 1)
    agrees(entry, "layer_norm", x.astype(">f4"), 1)


def test_nan_and_inf_spoil_their_own_row_only(agrees, entry):
    x = np.array([[1, 2, np.nan], [1, np.inf, 2], [-np.inf, np.inf, 1], [1, 2, 3]], np.float32)
    output, _, _ = agrees(entry, "layer_norm", x)
    assert np.isnan(output).all(axis=1).tolist() == [True, True, True, False]


def test_a_large_common_offset_does_not_swallow_the_variance(load, entry):
    """One pass over squares would lose it: 1e4 squared has no room for 1 in float32."""
    x = (np.array([[-1.0, 1.0] * 512]) + 1e4).astype(np.float32)
    _, mean, stdev = load(entry)(x, epsilon=0.0)
    np.testing.assert_allclose([mean[0], stdev[0]], [1e4, 1.0], rtol=1e-6)


@pytest.mark.parametrize("epsilon", [-1.0, np.nan])
def test_an_epsilon_below_zero_is_refused(load, entry, epsilon):
    with pytest.raises(ValueError, match="epsilon must be at least 0, got"):
        load(entry)(np.ones((2, 3)), epsilon=epsilon)


def test_an_axis_out_of_range_is_named(load, entry):
    with pytest.raises(np.exceptions.AxisError, match=r"axis -3 is out of range for input float32\[4, 8\]"):
        load(entry)(np.zeros((4, 8), np.float32), -3)


def test_whole_numbers_are_refused(load, entry):
    with pytest.raises(TypeError, match=r"^input must be floating-point, got int64\[3\]$"):
        load(entry)(np.arange(3))
