import numpy as np
import pytest

VARIANTS = ["gelu:gelu_cpu", "gelu_numba:gelu_numba"]
MODES = ["none", "tanh"]


@pytest.mark.parametrize("approximate", MODES)
@pytest.mark.parametrize("entry", VARIANTS)
class TestEveryVariant:
    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    @pytest.mark.parametrize("shape", [(), (1,), (0, 3), (5, 7), (3, 70001)])
    def test_agrees_with_the_reference_and_keeps_the_dtype(
        self, agrees, rng, entry, approximate, dtype, shape
    ):
        x = (4 * np.asarray(rng.standard_normal(shape))).astype(dtype)
        assert agrees(entry, "gelu", x, approximate=approximate).dtype == dtype

    def test_non_contiguous_and_big_endian_input(self, agrees, rng, entry, approximate):
        x = rng.standard_normal((6, 10)).T[1:, ::2]
        agrees(entry, "gelu", x, approximate=approximate)
        agrees(entry, "gelu", x.astype(">f4"), approximate=approximate)

    def test_the_ends_take_their_limits(self, agrees, entry, approximate):
        for dtype in (np.float32, np.float64):
            x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, -0.0], dtype)
            result = agrees(entry, "gelu", x, approximate=approximate)
            np.testing.assert_array_equal(result, np.array([np.nan, np.inf, 0, 1e30, 0, 0], dtype))

    @pytest.mark.parametrize(("dtype", "limit"), [("float32", 1e-5), ("float64", 1e-12)])
    def test_keeps_relative_precision_in_the_negative_tail(self, load, entry, approximate, dtype, limit):
        x = np.linspace(-8, -1, 1001).astype(dtype)
        expected = load("reference.gelu:gelu")(x, approximate=approximate)
        np.testing.assert_allclose(load(entry)(x, approximate=approximate), expected, rtol=limit, atol=0)

    def test_whole_numbers_are_refused(self, load, entry, approximate):
        with pytest.raises(TypeError, match=r"^self must be floating-point, got int64\[3\]$"):
            load(entry)(np.arange(3), approximate=approximate)


@pytest.mark.parametrize("entry", VARIANTS)
def test_another_approximation_is_refused(load, entry):
    with pytest.raises(ValueError, match="approximate must be 'none' or 'tanh', got 'erf'"):
        load(entry)(np.ones(3), approximate="erf")
