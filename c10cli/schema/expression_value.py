"""The value of a parsed expression, where its names and functions stand for values of Python's own."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from c10cli.describe import describe
from c10cli.errors import ManifestError
from c10cli.schema.expression import BINARY, COMPARISONS, MAX_BITS, UNARY, fault_in, unknown_name


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One walk over a tree that `parse_expression` has already found harmless.

    As it stands, values are Python's own; a subclass says what others do.

    Args:
        names: what the free names stand for.
        functions: what may be called.
    """

    text: str
    names: Mapping[str, object]
    functions: Mapping[str, Callable[..., object]]

    def value(self, node: ast.expr) -> Any:
        """The value of *node*.

        Raises:
            ManifestError: C10E110: an unknown name, wrong arguments, a result out of bounds.
        """
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in self.names:
                raise ManifestError(unknown_name(self.text, node, "name", self.names))
            return self.names[node.id]
        if isinstance(node, ast.List):
            return [self.item(item) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple(self.item(item) for item in node.elts)
        operation = getattr(self, f"_{type(node).__name__.lower()}")  # the whitelist has nothing else
        return operation(node)

    def item(self, node: ast.expr) -> Any:
        """The value of *node*, an item of a list."""
        return self.value(node)

    def calculate(self, node: ast.expr, function: Callable[..., Any], *operands: Any) -> Any:
        """*function*, arithmetic, of *operands*."""
        for operand in operands:
            if not is_number(operand):
                raise self.fault(f"a number is wanted, not {describe(operand)}", node)
        are_integers = all(isinstance(operand, int) for operand in operands)
        if isinstance(node, ast.BinOp) and are_integers and _bits(node.op, *operands) > MAX_BITS:
            raise self.fault(f"result of more than {MAX_BITS:,} bits", node)
        return function(*operands)

    def compare(self, node: ast.expr, function: Callable[..., Any], left: Any, right: Any) -> Any:
        """*function*, a comparison, of two values."""
        is_order = function not in (operator.eq, operator.ne)
        for operand in (left, right) if is_order else ():
            if not is_number(operand) or isinstance(operand, complex):
                raise self.fault(f"`<` and `>` compare numbers, not {describe(operand)}", node)
        if left is None or right is None:  # a tensor would compare its elements
            return (left is right) is (function is operator.eq)
        left, right = (list(v) if isinstance(v, tuple) else v for v in (left, right))
        held = function(left, right)
        if isinstance(held, bool) or is_symbolic(held):
            return held
        raise self.fault(f"{describe(left)} and {describe(right)} are not compared", node)

    def negated(self, node: ast.expr, value: Any) -> Any:
        """``not value``."""
        return not self.truth(node, value)

    def both(self, left: Any, right: Any) -> Any:
        """``left and right``, of truths."""
        return left and right

    def either(self, left: Any, right: Any) -> Any:
        """``left or right``, of truths."""
        return left or right

    def truth(self, node: ast.expr, value: Any) -> Any:
        """*value*, if it is a truth; none is false."""
        if value is None or isinstance(value, bool) or is_symbolic(value):
            return False if value is None else value
        raise self.fault(f"a condition is wanted, not {describe(value)}", node)

    def fault(self, message: str, node: ast.expr) -> ManifestError:
        """The error for *node*."""
        return fault_in(self.text, message, node)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return self.negated(node, operand)
        return self._calculated(node, UNARY[type(node.op)], operand)

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        return self._calculated(node, BINARY[type(node.op)], left, right)

    def _boolop(self, node: ast.BoolOp) -> Any:
        joins = self.both if isinstance(node.op, ast.And) else self.either
        first, *others = node.values
        value = self.value(first)
        for other in others:
            if isinstance(node.op, ast.Or) and (value is None or isinstance(value, str)):
                value = self.value(other) if value is None else value  # `dtype or T`
                continue
            if isinstance(self.truth(first, value), bool) and value is isinstance(node.op, ast.Or):
                return value  # what follows may rely on it
            value = joins(value, self.truth(other, self.value(other)))
        return value

    def _compare(self, node: ast.Compare) -> Any:
        left, result = self.value(node.left), True
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            if isinstance(op, (ast.In, ast.NotIn)):
                held = self._contained(node, left, right)
                held = self.negated(node, held) if isinstance(op, ast.NotIn) else held
            else:
                held = self.compare(node, COMPARISONS[type(op)], left, right)
            result = self.both(result, held)
            if result is False:
                return result
            left = right
        return result

    def _contained(self, node: ast.Compare, value: Any, container: Any) -> Any:
        if not isinstance(container, (list, tuple)):
            raise self.fault(f"`in` looks into a list, not into {describe(container)}", node)
        result: Any = False
        for item in container:
            result = self.either(result, self.compare(node, operator.eq, value, item))
        return result

    def _subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.slice, ast.Slice):
            return self._sliced(node, node.slice)
        value, index = self.value(node.value), self.value(node.slice)
        if not isinstance(value, (list, tuple)) or type(index) is not int:
            what = f"{describe(value)} at {describe(index)}"
            raise self.fault(f"`[ ]` takes an item of a list by its number, not {what}", node)
        if not -len(value) <= index < len(value):
            raise self.fault(f"item {index} of a list of {len(value)}", node)
        return value[index]

    def _sliced(self, node: ast.Subscript, places: ast.Slice) -> Any:
        value = self.value(node.value)
        ends = [None if end is None else self.value(end) for end in (places.lower, places.upper)]
        if not isinstance(value, (list, tuple)) or not all(end is None or type(end) is int for end in ends):
            raise self.fault(f"`[ : ]` takes items of a list by their numbers, not {describe(value)}", node)
        return value[slice(*ends)]

    def _call(self, node: ast.Call) -> Any:
        assert isinstance(node.func, ast.Name)  # the whitelist has nothing else
        name = node.func.id
        if name not in self.functions:
            raise ManifestError(unknown_name(self.text, node.func, "function", self.functions))
        arguments = [self.value(argument) for argument in node.args]
        keywords = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        try:
            return self.functions[name](*arguments, **keywords)
        except (TypeError, ValueError, LookupError, OverflowError, MemoryError, ImportError) as error:
            raise self.fault(f"`{name}`: {str(error).removeprefix('_Filler.')}", node) from error

    def _calculated(self, node: ast.expr, function: Callable[..., Any], *operands: Any) -> Any:
        try:
            return self.calculate(node, function, *operands)
        except (ArithmeticError, TypeError, ValueError) as error:  # NumPy refuses minus on booleans
            if isinstance(error, ManifestError):
                raise
            is_large = isinstance(error, OverflowError) and all(map(is_number, operands))
            raise self.fault("result is too large" if is_large else str(error), node) from error


def is_number(value: object) -> bool:
    """Whether *value* is one of Python's numbers, or stands for one."""
    return isinstance(value, (int, float, complex)) or is_symbolic(value)


def is_symbolic(value: object) -> bool:
    """Whether *value* is one of torch's or jax's, that stands for a size that is not known yet."""
    return type(value).__name__ in ("SymInt", "SymFloat", "SymBool", "_DimExpr")


def _bits(op: ast.operator, left: int, right: int) -> int:
    """An upper bound of the result's length in bits."""
    if isinstance(op, ast.Pow):
        return left.bit_length() * max(right, 1) if abs(left) > 1 else 1
    if isinstance(op, ast.Mult):
        return left.bit_length() + right.bit_length()
    return max(left.bit_length(), right.bit_length())
