import numpy as np
import pytest

CAT = "cat:cat_cpu"


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "bool", "complex64"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_agrees_with_the_reference(agrees, rng, dtype, dim):
    shapes = [[4, 3], [4, 3], [4, 3]]
    for shape, size in zip(shapes, (1, 0, 5), strict=True):
        shape[dim] = size
    tensors = [rng.integers(0, 9, shape).astype(dtype) for shape in shapes]
    assert agrees(CAT, "cat", tensors, dim, tolerance=0.0).dtype == dtype


def test_one_tensor_is_copied(agrees, rng):
    agrees(CAT, "cat", [rng.standard_normal(3)])


def test_non_contiguous_tensors(agrees, rng):
    x = rng.standard_normal((6, 10)).T[1:, ::2]
    agrees(CAT, "cat", [x, x], 1, tolerance=0.0)


def test_mixed_dtypes_give_numpys_common_dtype(load):
    assert load(CAT)([np.float32([1]), np.int64([1])]).dtype == np.float64


def test_no_tensors_is_refused(load):
    with pytest.raises(ValueError, match="tensors must hold at least one tensor"):
        load(CAT)([])


def test_the_tensor_that_does_not_match_is_named(load):
    message = r"tensors\[2\] float32\[2, 4\] does not match tensors\[0\] float32\[2, 3\] outside dim 0"
    with pytest.raises(ValueError, match=message):
        load(CAT)([np.ones((2, 3), np.float32), np.ones((5, 3), np.float32), np.ones((2, 4), np.float32)])


def test_an_axis_out_of_range_is_named(load):
    with pytest.raises(np.exceptions.AxisError, match=r"dim 0 is out of range for tensors\[0\] float64\[\]"):
        load(CAT)([np.array(1.0)])
