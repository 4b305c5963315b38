import numpy as np
import pytest

VARIANTS = ["softmax:softmax_cpu", "softmax_numba:softmax_numba"]

pytestmark = pytest.mark.parametrize("entry", VARIANTS)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((1,), 0),
        ((0,), 0),
        ((0, 3), 1),
        ((3, 0), 1),
        ((3, 0), 0),
        ((5, 7), -1),
        ((5, 7), 0),
        ((3, 17, 301), 0),
        ((3, 17, 301), 1),
        ((3, 17, 301), 2),
        ((301, 401), 0),
        ((2, 70001), 1),
    ],
)
def test_agrees_with_the_reference_along_any_axis(agrees, rng, entry, dtype, shape, dim):
    x = (3 * rng.standard_normal(shape)).astype(dtype)
    assert agrees(entry, "softmax", x, dim, tolerance=None if dtype == "float16" else 1e-6).dtype == dtype


def test_non_contiguous_and_big_endian_input(agrees, rng, entry):
    x = rng.standard_normal((6, 10, 4)).T[1:, ::2]
    for dim in range(3):
        agrees(entry, "softmax", x, dim)
    agrees(entry, "softmax", x.astype(">f4"), 1)


@pytest.mark.parametrize("dim", [0, 1])
def test_rows_with_nan_or_inf_agree_with_the_reference(agrees, entry, dim):
    nan, inf = np.nan, np.inf
    rows = [
        [1, nan, 2],
        [inf, 1, 2],
        [-inf, -inf, -inf],
        [-inf, 0, 0],
        [inf, -inf, nan],
        [-nan, 3, 1],
        [1, 2, 3],
    ]
    for dtype in (np.float32, np.float64):
        x = np.array(rows, dtype)
        result = agrees(entry, "softmax", x if dim else x.T.copy(), dim)
        finite = np.isfinite(result if dim else result.T).all(axis=1)
        assert finite.tolist() == [False, False, False, True, False, False, True]


def test_scores_far_apart_neither_overflow_nor_lose_the_sum(agrees, entry):
    result = agrees(entry, "softmax", np.linspace(-1000, 1000, 41).astype(np.float32))
    assert result.sum() == pytest.approx(1.0, abs=1e-6)


def test_an_axis_out_of_range_is_named(load, entry):
    with pytest.raises(np.exceptions.AxisError, match=r"dim 2 is out of range for self float32\[4, 8\]"):
        load(entry)(np.zeros((4, 8), np.float32), 2)


def test_a_0d_array_has_no_axis(load, entry):
    with pytest.raises(np.exceptions.AxisError, match=r"dim -1 is out of range for self float64\[\]"):
        load(entry)(np.array(1.0))


def test_whole_numbers_are_refused(load, entry):
    with pytest.raises(TypeError, match=r"^self must be floating-point, got int64\[3\]$"):
        load(entry)(np.arange(3))
