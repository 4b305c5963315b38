"""Conditions of a domain that leave no value: each names one bound, and together they leave nothing."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterable, Iterator, Sequence

from c10cli.errors import ManifestError
from c10cli.schema.expression import conjuncts
from c10cli.schema.expression_value import Evaluation

_MIRRORED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq}


def contradictions(
    conditions: Sequence[tuple[ast.expr, str]], dims: Collection[str]
) -> Iterator[tuple[int, ast.expr, str]]:
    """The conditions that leave no value of a name, by place, with the part and the fact.

    Args:
        conditions: each with the argument whose value ``_`` is.
        dims: the names of sizes, which are integers from 0 on.
    """
    ranges = {name: (0.0, math.inf) for name in dims}
    for at, (tree, argument) in enumerate(conditions):
        for part in conjuncts(tree):
            for name, op, bound in _bounds(part):
                subject = f"_ of {argument}" if name == "_" else name
                low, high = ranges.get(subject, (-math.inf, math.inf))
                low, high = _narrowed(low, high, op, bound, 1.0 if name in dims else 0.0)
                ranges[subject] = low, high
                if low > high:
                    yield at, part, f"no value of `{name}` meets `{ast.unparse(part)}` and what else is said"
            if _constant(part) is False:
                yield at, part, f"`{ast.unparse(part)}` is never true"


def ranges(parts: Iterable[ast.expr]) -> dict[str, tuple[float, float]]:
    """What the comparisons with numbers in *parts* leave of each name."""
    found: dict[str, tuple[float, float]] = {}
    for name, op, bound in (bound for part in parts for bound in _bounds(part)):
        low, high = found.get(name, (-math.inf, math.inf))
        found[name] = _narrowed(low, high, op, bound, 0.0)
    return found


def _narrowed(low: float, high: float, op: type[ast.cmpop], bound: float, step: float) -> tuple[float, float]:
    """What a comparison with *bound* leaves of a range; of integers *step* is 1."""
    strict = step or math.ulp(bound)
    if op in (ast.Gt, ast.GtE, ast.Eq):
        low = max(low, bound + strict * (op is ast.Gt))
    if op in (ast.Lt, ast.LtE, ast.Eq):
        high = min(high, bound - strict * (op is ast.Lt))
    return low, high


def _bounds(part: ast.expr) -> Iterator[tuple[str, type[ast.cmpop], float]]:
    """The comparisons of a name with a number in *part*."""
    if not isinstance(part, ast.Compare):
        return
    left = part.left
    for op, right in zip(part.ops, part.comparators, strict=True):
        for one, other, kind in ((left, right, type(op)), (right, left, _MIRRORED.get(type(op)))):
            bound = _constant(other)
            if isinstance(one, ast.Name) and kind in _MIRRORED and isinstance(bound, int | float):
                yield one.id, kind, float(bound)
        left = right


def _constant(node: ast.expr) -> object:
    """The value of *node*, which no name decides; None where one does."""
    try:
        return Evaluation("", {"inf": math.inf}, {}).value(node)
    except (ManifestError, OverflowError):
        return None
