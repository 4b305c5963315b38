"""c10::add on the CPU, in NumPy."""

from __future__ import annotations

import numpy as np

from ._common import shown, working_dtype


def add_cpu(self: np.ndarray, other: np.ndarray, *, alpha: complex = 1) -> np.ndarray:
    """*self* plus *alpha* times *other*, broadcast against each other.

    Args:
        self: first summand; not modified.
        other: second summand; not modified.
        alpha: factor of *other*; an integer result needs an integer, a boolean result 0 or 1.

    Shapes:
        self and other ``[*]``, broadcast to one shape.
    Dtypes:
        any number or bool; the result has NumPy's common dtype of the two. float16
        is rounded once: the product and the sum are taken in float32.
    Cost:
        Reads both arrays, writes the result; one temporary like *other* unless alpha is 1.
    Raises:
        ValueError: the shapes do not broadcast, or *alpha* does not fit the dtype.
        TypeError: *alpha* is of a wider kind than the result.
    Source:
        self + alpha * other

    >>> add_cpu(np.array([1, 2]), np.array([[10], [20]]), alpha=2)
    array([[21, 22],
           [41, 42]])
    """
    self, other = np.asarray(self), np.asarray(other)
    if alpha != 1:
        return _add_scaled(self, other, alpha)
    try:
        with np.errstate(all="ignore"):
            return np.asarray(np.add(self, other))
    except ValueError as error:
        raise _shape_error(self, other) from error


def _add_scaled(self: np.ndarray, other: np.ndarray, alpha: complex) -> np.ndarray:
    """The sum with a factor other than 1."""
    dtype = np.result_type(self, other)
    factor = _factor(alpha, dtype)
    work = working_dtype(dtype) if dtype.kind != "b" and dtype.kind not in "iu" else dtype
    try:
        with np.errstate(all="ignore"):
            scaled = np.multiply(other, factor, dtype=work)
            return np.asarray(np.add(self, scaled, dtype=work)).astype(dtype, copy=False)
    except ValueError as error:
        raise _shape_error(self, other) from error


def _factor(alpha: complex, dtype: np.dtype) -> np.generic:
    """*alpha* as a scalar to multiply with, or an error where *dtype* cannot take it."""
    kinds = {
        "b": (bool,),
        "i": (int, np.integer),
        "u": (int, np.integer),
        "c": (complex, float, int, np.number),
    }
    allowed = kinds.get(dtype.kind, (float, int, np.floating, np.integer))
    if not isinstance(alpha, allowed) and not (dtype.kind == "b" and alpha in (0, 1)):
        raise TypeError(f"alpha {alpha!r} does not fit a result of dtype {dtype}")
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= alpha <= np.iinfo(dtype).max:
        raise ValueError(f"alpha {alpha} is out of range for {dtype}")
    return working_dtype(dtype).type(alpha) if dtype.kind not in "biu" else dtype.type(alpha)


def _shape_error(self: np.ndarray, other: np.ndarray) -> ValueError:
    return ValueError(f"self {shown(self)} and other {shown(other)} do not broadcast")
