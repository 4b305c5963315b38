import numpy as np
import pytest

TOPK = "topk:topk_cpu"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int64", "bool"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("in_order", [True, False])
def test_agrees_with_the_reference_where_many_are_equal(agrees, rng, dtype, largest, in_order):
    x = rng.integers(-4, 4, (5, 9, 3)).astype(dtype)
    for dim in (0, 1, -1):
        for k in range(x.shape[dim] + 1):
            values, indices = agrees(TOPK, "topk", x, k, dim, largest, in_order, tolerance=0.0)
            assert values.dtype == dtype
            assert indices.dtype == np.int64


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (1,), (2, 1001)])
def test_empty_single_and_odd_sizes(agrees, rng, shape):
    agrees(TOPK, "topk", rng.standard_normal(shape), min(2, shape[-1]), tolerance=0.0)


@pytest.mark.parametrize("largest", [True, False])
def test_nan_is_the_largest_and_zeros_are_equal(agrees, largest):
    nan, inf = np.nan, np.inf
    x = np.array([0.0, nan, -0.0, inf, -nan, -inf, 1.0], np.float32)
    _, indices = agrees(TOPK, "topk", x, 7, -1, largest)
    assert indices.tolist() == ([1, 4, 3, 6, 0, 2, 5] if largest else [5, 0, 2, 6, 3, 1, 4])


def test_non_contiguous_and_big_endian_input(agrees, rng):
    x = rng.standard_normal((6, 10)).T[1:, ::2]
    agrees(TOPK, "topk", x, 2, tolerance=0.0)
    agrees(TOPK, "topk", x.astype(">f8"), 2, tolerance=0.0)


@pytest.mark.parametrize("k", [-1, 4])
def test_a_k_out_of_range_is_refused(load, k):
    with pytest.raises(
        ValueError, match=rf"k must be from 0 to 3, the size of dim 1 of float64\[2, 3\], got {k}"
    ):
        load(TOPK)(np.ones((2, 3)), k)


def test_complex_numbers_are_refused(load):
    with pytest.raises(TypeError, match="self must be a real number"):
        load(TOPK)(np.ones(3, complex), 1)


def test_an_axis_out_of_range_is_named(load):
    with pytest.raises(np.exceptions.AxisError, match=r"dim 1 is out of range for self float64\[3\]"):
        load(TOPK)(np.ones(3), 1, 1)
