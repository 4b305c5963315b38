"""Whether all elements of a tensor meet a condition of a domain."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from c10cli.arrays.placement import to_numpy
from c10cli.describe import describe, dtype_name
from c10cli.errors import ArgumentError, ManifestError
from c10cli.schema.domain_functions import FUNCTIONS
from c10cli.schema.expression import Expression, conjuncts
from c10cli.schema.expression_value import Evaluation, is_number


def judge_elements(condition: Expression, tensor: Any, names: Mapping[str, object]) -> str:
    """Why *condition* does not hold for all elements of *tensor*, with the first that fails; else empty.

    Args:
        names: what else it is about.
    """
    try:
        array = to_numpy(tensor)
    except ArgumentError:  # of a trace, or one without contents: it has no elements to judge
        return ""
    known = {**names, "_": _widened(array)}
    functions = {**FUNCTIONS, **_functions(dtype_name(array.dtype))}
    for part in conjuncts(condition.tree):
        text = ast.unparse(part)
        try:
            held = np.asarray(_OfElements(text, known, functions).value(part))
        except ManifestError as error:
            return error.diagnostics[0].message
        if held.all():
            continue
        where = f"in {describe(tensor)}"
        if held.shape == array.shape:
            place = np.unravel_index(int(np.argmin(held)), held.shape)
            where = f"element {[int(at) for at in place]} is {array[place]}" if place else f"it is {array}"
        return f"`{text}` is false: {where}"
    return ""


def _widened(array: Any) -> Any:
    """*array* in a dtype in which arithmetic with its elements is exact, or nearly so."""
    if array.dtype.kind in "biu":
        is_large = array.dtype == np.uint64 and array.max(initial=0) >= 2**63
        return array.astype(object if is_large else np.int64)
    return array if array.dtype.kind == "c" else array.astype(np.float64)


class _OfElements(Evaluation):
    """The same for all elements at once."""

    __slots__ = ()

    def calculate(self, node: ast.expr, function: Callable[..., Any], *operands: Any) -> Any:
        if all(map(is_number, operands)):
            return Evaluation.calculate(self, node, function, *operands)
        with np.errstate(all="ignore"):
            return np.asarray(function(*operands))  # of no axes, it would be a scalar

    def compare(self, node: ast.expr, function: Callable[..., Any], left: Any, right: Any) -> Any:
        is_order = function not in (operator.eq, operator.ne)
        if not _are_arrays(left, right) or (is_order and (np.iscomplexobj(left) or np.iscomplexobj(right))):
            return Evaluation.compare(self, node, function, left, right)
        return np.asarray(function(left, right))

    def negated(self, node: ast.expr, value: Any) -> Any:
        return np.logical_not(self.truth(node, value))

    def both(self, left: Any, right: Any) -> Any:
        return np.logical_and(left, right)

    def either(self, left: Any, right: Any) -> Any:
        return np.logical_or(left, right)

    def truth(self, node: ast.expr, value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "b":
            return value
        return Evaluation.truth(self, node, value)


def _are_arrays(*values: Any) -> bool:
    return any(isinstance(value, np.ndarray) for value in values)


def _functions(dtype: str) -> dict[str, Callable[..., Any]]:
    # Sums of rounded probabilities are as far from 1 as their dtype is coarse.
    near = 16 * 2.0 ** -{"float16": 10, "bfloat16": 7}.get(dtype, 20)

    def finite(values: Any, axis: int = -1) -> Any:
        return np.isfinite(values)

    def in_order(values: Any, axis: int | None = None) -> Any:
        rows = values.ravel() if axis is None else np.moveaxis(values, axis, -1)
        return np.all(rows[..., 1:] >= rows[..., :-1])

    def unique(values: Any, axis: int | None = None) -> Any:
        rows = np.sort(values.ravel() if axis is None else np.moveaxis(values, axis, -1))
        return np.all(rows[..., 1:] != rows[..., :-1])

    def distribution(values: Any, axis: int | None = None) -> Any:
        return np.all(values >= 0) and np.all(abs(values.sum(axis) - 1) <= near)

    def offsets(values: Any, total: int) -> Any:
        is_row = values.ndim == 1 and values.size > 0
        return is_row and values[0] == 0 and values[-1] == total and bool(in_order(values))

    def least(*values: Any) -> Any:
        return np.asarray(reduce(np.minimum, values)) if _are_arrays(*values) else FUNCTIONS["min"](*values)

    def greatest(*values: Any) -> Any:
        return np.asarray(reduce(np.maximum, values)) if _are_arrays(*values) else FUNCTIONS["max"](*values)

    return {
        "abs": lambda value: np.asarray(abs(value)) if _are_arrays(value) else abs(value),
        "min": least,
        "max": greatest,
        "finite": finite,
        "sorted": in_order,
        "unique": unique,
        "distribution": distribution,
        "offsets": offsets,
    }
