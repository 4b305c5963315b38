"""Expressions of inputs and costs, evaluated: what arrays do in them."""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from c10cli.describe import describe
from c10cli.schema.dtypes import CONSTANTS, WORDS
from c10cli.schema.expression import Expression, parse_expression
from c10cli.schema.expression_value import Evaluation, is_number

_ON_ARRAYS: Final = (operator.add, operator.sub, operator.mul, operator.truediv)


def evaluate(
    expression: Expression,
    names: Mapping[str, object] | None = None,
    dtype: str = "float32",
    rng: Any = None,
    *,
    functions: Mapping[str, Callable[..., object]] | None = None,
    of_items: bool = False,
) -> Any:
    """The value of *expression*.

    Args:
        names: what its free names stand for.
        dtype: of the arrays it makes.
        rng: a ``numpy.random.Generator``; one with seed 0 if None.
        functions: what it may call instead of `ARRAY_FUNCTIONS`, for costs.
        of_items: whether texts in lists are expressions too, as in a manifest, where lists are YAML's.

    Raises:
        ManifestError: C10E110: an unknown name, wrong arguments, a result
            out of bounds, or more memory than there is.
    """
    if functions is None:
        from c10cli.arrays.filling import array_functions  # which imports NumPy

        functions = array_functions(dtype, rng)
    known = {**WORDS, **CONSTANTS, **(names or {})}
    return _ArrayEvaluation(expression.text, known, functions, dtype, of_items).value(expression.tree)


@dataclass(frozen=True, slots=True)
class _ArrayEvaluation(Evaluation):
    """The same where values may be arrays of NumPy, which combine with one number."""

    dtype: str
    of_items: bool

    def item(self, node: ast.expr) -> Any:
        value = self.value(node)
        if not (self.of_items and isinstance(value, str)):
            return value
        item = parse_expression(value)
        return replace(self, text=value, of_items=False).value(item.tree)

    def calculate(self, node: ast.expr, function: Callable[..., Any], *operands: Any) -> Any:
        arrays = [operand for operand in operands if _is_array(operand)]
        if not arrays:
            return Evaluation.calculate(self, node, function, *operands)
        if len(operands) == 2 and (function not in _ON_ARRAYS or not any(map(is_number, operands))):
            raise self.fault("an array combines with one number, by + - * /", node)
        from c10cli.arrays.filling import calculate  # which imports NumPy

        def of_one(array: Any) -> Any:
            return function(*(array if _is_array(operand) else operand for operand in operands))

        return calculate(of_one, arrays[0], self.dtype)

    def compare(self, node: ast.expr, function: Callable[..., Any], left: Any, right: Any) -> Any:
        if _is_array(left) or _is_array(right):
            raise self.fault(f"an array is not compared: {describe(left)} with {describe(right)}", node)
        return Evaluation.compare(self, node, function, left, right)


def _is_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")  # without which nobody has made one
    return numpy is not None and isinstance(value, numpy.ndarray)
