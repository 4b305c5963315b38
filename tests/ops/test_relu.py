import numpy as np
import pytest

RELU = "relu:relu_cpu"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8"])
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (5, 7)])
def test_agrees_with_the_reference_and_keeps_the_dtype(agrees, rng, dtype, shape):
    x = np.asarray(rng.integers(-9, 9, shape)).astype(dtype)
    assert agrees(RELU, "relu", x, tolerance=0.0).dtype == dtype


def test_non_contiguous_input(agrees, rng):
    agrees(RELU, "relu", rng.standard_normal((6, 10)).T[1:, ::2], tolerance=0.0)


def test_nan_stays_and_minus_inf_becomes_zero(agrees):
    result = agrees(RELU, "relu", np.array([np.nan, np.inf, -np.inf]))
    np.testing.assert_array_equal(result, [np.nan, np.inf, 0.0])


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_other_kinds_are_refused(load, dtype):
    with pytest.raises(TypeError, match=rf"^self must be a real number, got {dtype}\[3\]$"):
        load(RELU)(np.ones(3, dtype))
