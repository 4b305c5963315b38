"""Elements that meet a condition of a domain, as far as that can be constructed."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from c10cli.arrays.more_dtypes import numpy_dtype
from c10cli.errors import ManifestError
from c10cli.schema.bindings import Bindings
from c10cli.schema.expression import Expression, conjuncts, part_of


class NotFound(Exception):
    """What could not be chosen this time."""


@dataclass
class Limits:
    """What a condition says of ``_``: its ends, the values it is among or not, the forms of all elements."""

    low: float = -math.inf
    high: float = math.inf
    among: Sequence[Any] | None = None
    other_than: tuple[Any, ...] = ()
    forms: tuple[tuple[str, tuple[Any, ...]], ...] = ()


_FLIPPED: Final = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def limits_of(condition: Expression, bindings: Bindings) -> Limits:
    """What *condition* says of ``_`` that can be met by construction."""
    limits = Limits()
    for part in conjuncts(condition.tree):
        name = part.func.id if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) else ""
        if isinstance(part, ast.Call) and name in _FORMS:
            limits.forms += ((name, tuple(_value(node, bindings) for node in part.args[1:])),)
        if isinstance(part, ast.Compare):
            left = part.left
            for op, right in zip(part.ops, part.comparators, strict=True):
                _narrow(limits, left, type(op), right, bindings)
                left = right
    return limits


def _narrow(limits: Limits, left: ast.expr, op: type[ast.cmpop], right: ast.expr, bindings: Bindings) -> None:
    if _is_value(right):
        left, op, right = right, _FLIPPED.get(op, op), left
    if not _is_value(left) or _is_value(right):
        return
    bound = value_if_known(right, bindings)
    if bound is None:  # of what is chosen later: whether it fits shows then
        return
    if op is ast.In:
        limits.among = bound
    elif op is ast.Eq:
        limits.among = [bound]
    elif op is ast.NotEq:
        limits.other_than += (bound,)
    elif op in (ast.Gt, ast.GtE):
        limits.low = max(limits.low, bound + (op is ast.Gt) * _step(bound))
    elif op in (ast.Lt, ast.LtE):
        limits.high = min(limits.high, bound - (op is ast.Lt) * _step(bound))


def _step(bound: Any) -> float:
    return 1 if isinstance(bound, int) else abs(bound) * 1e-3 or 1e-3


def _is_value(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "_"


def _value(node: ast.expr, bindings: Bindings) -> Any:
    return bindings.evaluate(part_of(node))


def value_if_known(node: ast.expr, bindings: Bindings) -> Any:
    """The value of *node*; None where a name in it has none, or it cannot be computed."""
    expression = part_of(node)
    try:
        return bindings.evaluate(expression) if bindings.knows(expression) else None
    except ManifestError:
        return None


def make_elements(
    shape: tuple[int, ...],
    dtype: str,
    condition: Expression | None,
    bindings: Bindings,
    rng: np.random.Generator,
) -> Any:
    """An array of *shape* and *dtype* whose elements meet *condition*, as far as that can be constructed."""
    limits = limits_of(condition, bindings) if condition is not None else Limits()
    values = _drawn(shape, dtype, limits, rng)
    for name, arguments in limits.forms:
        values = _FORMS[name](values, limits, rng, *arguments)
    for unwanted in limits.other_than:
        values = np.where(values == unwanted, values + 1, values)
    return np.asarray(values).astype(numpy_dtype(dtype))


def _drawn(shape: tuple[int, ...], dtype: str, limits: Limits, rng: np.random.Generator) -> Any:
    kind = numpy_dtype(dtype).kind
    if limits.among is not None:
        return rng.choice(np.asarray(list(limits.among)), shape) if limits.among else np.zeros(shape)
    if kind == "b":
        return rng.integers(0, 2, shape)
    if kind in "iu":
        low, high = _integer_ends(dtype, limits)
        return rng.integers(low, high + 1, shape) if low <= high else np.zeros(shape)
    if math.isfinite(limits.low) and math.isfinite(limits.high):
        return rng.uniform(limits.low, limits.high, shape)
    drawn = rng.standard_normal(shape)
    if math.isfinite(limits.low):
        drawn = limits.low + abs(drawn)
    elif math.isfinite(limits.high):
        drawn = limits.high - abs(drawn)
    return drawn + 1j * rng.standard_normal(shape) if kind == "c" else drawn


def _integer_ends(dtype: str, limits: Limits) -> tuple[int, int]:
    held = np.iinfo(dtype)
    low = max(held.min, math.ceil(limits.low)) if math.isfinite(limits.low) else max(held.min, -9)
    high = min(held.max, math.floor(limits.high)) if math.isfinite(limits.high) else min(held.max, low + 18)
    return low, high


def _in_order(values: Any, _limits: Limits, _rng: Any, axis: int | None = None) -> Any:
    return np.sort(values, axis) if axis is not None else np.sort(values.ravel()).reshape(values.shape)


def _unique(values: Any, limits: Limits, rng: Any, axis: int | None = None) -> Any:
    rows = values.ravel()[None] if axis is None else np.moveaxis(values, axis, -1)
    size = rows.shape[-1]
    low = math.ceil(limits.low) if math.isfinite(limits.low) else 0
    high = math.floor(limits.high) if math.isfinite(limits.high) else low + 2 * size
    if high - low + 1 < size:
        raise NotFound(f"there are no {size} different values from {low} to {high}")
    made = np.array([rng.permutation(high - low + 1)[:size] + low for _ in range(math.prod(rows.shape[:-1]))])
    made = made.reshape(rows.shape)
    return made.reshape(values.shape) if axis is None else np.moveaxis(made, -1, axis)


def _distribution(values: Any, _limits: Limits, _rng: Any, axis: int | None = None) -> Any:
    weights = np.exp(values - values.max(axis, keepdims=True, initial=0))
    return weights / weights.sum(axis, keepdims=True)


def _offsets(values: Any, _limits: Limits, rng: Any, total: int) -> Any:
    if values.ndim != 1 or not values.size or (values.size == 1 and total):
        raise NotFound(f"{list(values.shape)} is no shape of offsets to {total}")
    inner = np.sort(rng.integers(0, total + 1, values.size))
    inner[0], inner[-1] = 0, total
    return inner


_FORMS: Final[Mapping[str, Callable[..., Any]]] = {
    "unique": _unique,
    "sorted": _in_order,
    "distribution": _distribution,
    "offsets": _offsets,
}
