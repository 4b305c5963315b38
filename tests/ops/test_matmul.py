import numpy as np
import pytest

MATMUL = "matmul:matmul_cpu"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((4, 8), (8, 3)),
        ((1, 1), (1, 1)),
        ((0, 4), (4, 3)),
        ((3, 0), (0, 5)),
        ((7,), (7,)),
        ((7,), (7, 3)),
        ((5, 7), (7,)),
        ((3, 1, 5, 7), (2, 7, 3)),
    ],
)
def test_agrees_with_the_reference(agrees, rng, dtype, left, right):
    x, y = rng.integers(-9, 9, left).astype(dtype), rng.integers(-9, 9, right).astype(dtype)
    assert agrees(MATMUL, "matmul", x, y).dtype == dtype


def test_non_contiguous_input(agrees, rng):
    x = rng.standard_normal((6, 10)).T[1:, ::2]
    agrees(MATMUL, "matmul", x, x.T)


def test_float16_is_summed_in_float32(load):
    """In float16 the sum of ones would stop at 2048."""
    ones = np.ones((1, 5000), np.float16)
    assert load(MATMUL)(ones, ones.T).item() == 5000


def test_nan_and_inf_pass_without_a_warning(agrees):
    x = np.array([[np.inf, 1.0], [np.nan, 1.0], [1.0, 2.0]])
    agrees(MATMUL, "matmul", x, np.array([[0.0], [1.0]]))


@pytest.mark.parametrize(("left", "right"), [((4, 8), (4, 8)), ((), (3,)), ((2, 3, 4), (5, 4, 3))])
def test_shapes_that_do_not_fit_are_named(load, left, right):
    with pytest.raises(
        ValueError, match=r"^self float64\[.*\] and other float64\[.*\] do not fit a matrix product$"
    ):
        load(MATMUL)(np.ones(left), np.ones(right))
