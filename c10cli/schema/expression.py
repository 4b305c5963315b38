"""The little language of inputs, costs and domains: `randn(rows, cols) * 2`, `0 <= _ < rows`.

Python's parser reads it, a whitelist walks the tree, nothing is ever passed to
``eval``.  Numbers stay bounded, so that no text can take the machine down.
What arrays do in it is `c10cli.arrays`' to say.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from c10cli.describe import describe
from c10cli.errors import Diagnostic, ManifestError, Span, did_you_mean
from c10cli.schema.dtypes import ARRAY_FUNCTIONS, CONSTANTS, WORDS

MAX_LENGTH: Final = 10_000
MAX_DEPTH: Final = 40
MAX_BITS: Final = 4_096  # of an integer
_MOST_UNKNOWN: Final = 8  # names of one expression that are found
_TO_BLANKS: Final = dict.fromkeys(map(ord, "\n\r\t\f\v"), " ")

_BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_CONSTANT_TYPES: Final = (bool, int, float, complex, str, type(None))


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression, and the free names that it uses."""

    text: str
    names: frozenset[str]
    tree: ast.expr = field(repr=False, compare=False)


@lru_cache(maxsize=512)
def parse_expression(text: str) -> Expression:
    """The expression that *text* spells.

    Raises:
        ManifestError: C10E110, with the column of what is not understood.
    """
    if len(text) > MAX_LENGTH:
        raise _fault(text, f"expression of {len(text):,} characters is longer than {MAX_LENGTH:,}")
    if not text.strip():
        raise ManifestError(Diagnostic("C10E110", "expression is empty", span_in(text, 0, len(text))))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a backslash in a string
            tree = ast.parse(_flat(text), mode="eval").body
    except SyntaxError as error:
        start = _margin(text) + max((error.offset or 1) - 1, 0)
        message = f"`{shortened(text)}` is not an expression: {error.msg}"
        blank = "write an ordinary blank" if "\u00a0" in text else ""
        raise ManifestError(
            Diagnostic("C10E110", message, span_in(text, start, start + 1), help=blank)
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise _fault(text, "expression is too deeply nested or has a null character") from error
    _check(text, tree, 0)
    names = {name.id for name in _names_in(tree)[0]}
    return Expression(text, frozenset(names - CONSTANTS.keys()), tree)


def _check(text: str, node: ast.AST, depth: int) -> None:
    """Refuse everything outside the whitelist."""
    if isinstance(node, ast.expr):
        too_deep = f"expression is nested more than {MAX_DEPTH} levels deep" if depth > MAX_DEPTH else None
        fault = too_deep or _node_fault(text, node)
        if fault:
            raise _fault(text, fault, node)
    for child in ast.iter_child_nodes(node):
        _check(text, child, depth + isinstance(child, ast.expr))


def _node_fault(text: str, node: ast.expr) -> str | None:
    """Why *node* is not in the language; None where it is."""
    if isinstance(node, ast.Constant) and type(node.value) in _CONSTANT_TYPES:
        too_long = type(node.value) is int and node.value.bit_length() > MAX_BITS
        return f"integer of more than {MAX_BITS:,} bits" if too_long else None
    if isinstance(node, (ast.Name, ast.List, ast.Tuple)):
        return None
    if isinstance(node, ast.UnaryOp):
        return None if type(node.op) in _UNARY else "`~` is not part of an expression"
    if isinstance(node, (ast.BoolOp, ast.Subscript)):
        return None
    if isinstance(node, ast.Slice):
        return None if node.step is None else "a step is not part of an expression"
    if isinstance(node, ast.Compare):
        known = all(type(op) in _COMPARISONS or isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
        return None if known else "`is` is not part of an expression"
    if isinstance(node, ast.BinOp):
        return None if type(node.op) in _BINARY else "only + - * / // % ** combine values"
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name):
            return "only a function's plain name can be called"
        return "`**` is not part of an expression" if any(k.arg is None for k in node.keywords) else None
    start, end = place_in(text, node)
    return f"`{shortened(text[start:end])}` is not part of an expression"


def _names_in(tree: ast.expr) -> tuple[list[ast.Name], list[ast.Name]]:
    """The names that stand for values, and those that are called."""
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    functions = [name for name in called if isinstance(name, ast.Name)]
    known = set(map(id, functions))
    return [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in known], functions


def find_unknown_names(
    expression: Expression, names: Collection[str], functions: Collection[str] = ARRAY_FUNCTIONS
) -> list[Diagnostic]:
    """A C10E110 finding for the first functions and names that the expression may not use."""
    used, called = _names_in(expression.tree)
    known, text = {*names, *CONSTANTS, *WORDS}, expression.text
    unknown = [(name, "function", functions) for name in called if name.id not in functions]
    unknown += [(name, "name", known) for name in used if name.id not in known]
    return [_unknown(text, *fault) for fault in unknown[:_MOST_UNKNOWN]]


def part_of(tree: ast.expr) -> Expression:
    """*tree*, a part of a parsed expression, as one of its own."""
    return Expression(ast.unparse(tree), frozenset(name.id for name in _names_in(tree)[0]), tree)


def makes_array(expression: Expression) -> bool:
    """Whether the value is an array, as far as the functions tell without calling them."""

    def makes(node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return makes(node.left) or makes(node.right)
        if isinstance(node, ast.Compare):
            return makes(node.left) or any(map(makes, node.comparators))
        return makes(node.operand) if isinstance(node, ast.UnaryOp) else isinstance(node, ast.Call)

    return makes(expression.tree)


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
                raise ManifestError(_unknown(self.text, node, "name", self.names))
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
        return _fault(self.text, message, node)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return self.negated(node, operand)
        return self._calculated(node, _UNARY[type(node.op)], operand)

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        return self._calculated(node, _BINARY[type(node.op)], left, right)

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
                held = self.compare(node, _COMPARISONS[type(op)], left, right)
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
            raise ManifestError(_unknown(self.text, node.func, "function", self.functions))
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


def _unknown(text: str, node: ast.Name, kind: str, known: Collection[str]) -> Diagnostic:
    shown = ", ".join(f"`{name}`" for name in sorted(known)) or "none"
    return Diagnostic(
        "C10E110",
        f"unknown {kind} `{node.id}` in `{shortened(text)}`",
        span_in(text, *place_in(text, node)),
        notes=(f"{kind}s known here: {shown}",),
        help=did_you_mean(node.id, known),
    )


def _fault(text: str, message: str, node: ast.expr | None = None) -> ManifestError:
    """*message* about *node*, or about all of *text*."""
    span = span_in(text, *place_in(text, node))
    todo = "give what the dtype can hold, or another dtype" if " cannot hold " in message else ""
    todo = "install it, or choose another dtype" if " needs the package " in message else todo
    return ManifestError(Diagnostic("C10E110", f"{message}, in `{shortened(text)}`", span, help=todo))


def place_in(text: str, node: ast.expr | None) -> tuple[int, int]:
    """Where *node* starts and ends in *text*, or where that does, without its margins."""
    margin, line = _margin(text), _flat(text)
    if node is None:
        return margin, margin + len(line)
    counted = line.encode("utf-8", "surrogatepass")  # `ast` counts bytes
    start, end = counted[: node.col_offset], counted[: node.end_col_offset]
    return margin + len(start.decode("utf-8", "replace")), margin + len(end.decode("utf-8", "replace"))


def span_in(text: str, start: int, end: int) -> Span:
    """The place of the characters from *start* to *end*, on the line where they start."""
    before = text.rfind("\n", 0, start) + 1
    line = text[before:].partition("\n")[0]
    column = start - before + 1
    end_column = max(min(end - before, len(line)) + 1, column + 1)
    return Span("<expression>", text.count("\n", 0, start) + 1, column, end_column, line)


def _flat(text: str) -> str:
    """*text* on one line, since an expression may span several, without the margins."""
    return text.translate(_TO_BLANKS).strip()


def _margin(text: str) -> int:
    return len(text) - len(text.lstrip())


def shortened(text: str) -> str:
    """*text* on one line, its end left out where it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."
