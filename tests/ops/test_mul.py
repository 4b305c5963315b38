import numpy as np
import pytest

MUL = "mul:mul_cpu"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "bool"])
@pytest.mark.parametrize(
    ("first", "second"), [((4, 8), (4, 8)), ((5, 1), (1, 7)), ((), (3,)), ((), ()), ((0, 4), (4,))]
)
def test_agrees_with_the_reference_on_broadcast_shapes(agrees, rng, dtype, first, second):
    x, y = (np.asarray(rng.integers(-9, 9, s)).astype(dtype) for s in (first, second))
    assert agrees(MUL, "mul", x, y).dtype == dtype


def test_non_contiguous_input(agrees, rng):
    x = rng.standard_normal((6, 10))[::2, ::-3]
    agrees(MUL, "mul", x, x)


def test_nan_and_inf_pass_without_a_warning(agrees):
    agrees(MUL, "mul", np.array([np.nan, np.inf, -np.inf, 1e200]), np.array([1.0, 0.0, 2.0, 1e200]))


def test_shapes_that_do_not_broadcast_are_named(load):
    with pytest.raises(ValueError, match=r"^self float32\[3\] and other float32\[2\] do not broadcast$"):
        load(MUL)(np.zeros(3, np.float32), np.zeros(2, np.float32))
