"""Whether an array is what it should be, within a tolerance, and where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from c10cli.describe import describe

Array = npt.NDArray[Any]


def compare_arrays(actual: Array, expected: Array, *, rtol: float, atol: float) -> str | None:
    """How *actual* differs from *expected*, or None.

    An element fits where it differs by at most ``atol + rtol * |expected|``,
    where both are nan, or where both are the same infinity.  Floats are
    compared in float64, so float16 results do not overflow in the comparison;
    integers, and what is no number, are compared exactly.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)  # a subclass may compare as it likes
    if actual.shape != expected.shape:
        return f"the shape is {list(actual.shape)} where the reference gives {list(expected.shape)}"
    if actual.size == 0:
        return None
    fits, error = _fitting(actual, expected, rtol, atol)
    if fits.all():
        return None
    excess = np.where(fits, -1.0, np.where(np.isnan(error), np.inf, error))
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), actual.shape))
    count = int(actual.size - np.count_nonzero(fits))
    return (
        f"{count} of {actual.size} elements differ; at {list(index)} it is {actual[index]!s}"
        f" where the reference gives {expected[index]!s} (rtol {rtol:g}, atol {atol:g})"
    )


def _fitting(actual: Array, expected: Array, rtol: float, atol: float) -> tuple[Array, Array]:
    """Which elements fit, and by how much each differs."""
    kinds = {actual.dtype.kind, expected.dtype.kind}
    # As floats, large integers that are neighbours would be equal.
    if kinds <= set("iub") or not (_is_number(actual.dtype) and _is_number(expected.dtype)):
        fits = np.broadcast_to(np.asarray(actual == expected, bool), actual.shape)
        return fits, np.where(fits, 0.0, 1.0)
    wide = np.complex128 if "c" in kinds else np.float64
    got, want = actual.astype(wide), expected.astype(wide)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(got - want)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        return same | (np.isfinite(want) & (error <= atol + rtol * np.abs(want))), error


def _is_number(dtype: np.dtype[Any]) -> bool:
    """Whether *dtype* is one of numbers; those of ml_dtypes (bfloat16) count as void to NumPy."""
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.type is not np.void)


def view_of(array: Array, *, limit: int = 6) -> str:
    """A short look at *array*: dtype, shape, and its first and last elements."""
    with np.printoptions(threshold=limit * limit, edgeitems=3, precision=5, linewidth=100, suppress=False):
        return f"{describe(array)}\n{np.array2string(array, separator=', ')}"
