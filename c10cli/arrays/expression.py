"""The little language of inputs and costs: `randn(rows, cols) * 2`, `2 * nbytes(input)`.

Python's parser reads it, a whitelist walks the tree, nothing is ever passed to
``eval``.  Numbers stay bounded, so that no text can take the machine down.
"""

from __future__ import annotations

import ast
import operator
import sys
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from c10cli.arrays.dtypes import ARRAY_FUNCTIONS, CONSTANTS, WORDS
from c10cli.describe import describe
from c10cli.errors import Diagnostic, ManifestError, Span, did_you_mean

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
_ON_ARRAYS: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_SIGNS: Final = (ast.USub, ast.UAdd)
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
        raise ManifestError(Diagnostic("C10E110", "expression is empty", _span(text, 0, len(text))))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a backslash in a string
            tree = ast.parse(_flat(text), mode="eval").body
    except SyntaxError as error:
        start = _margin(text) + max((error.offset or 1) - 1, 0)
        message = f"`{_short(text)}` is not an expression: {error.msg}"
        blank = "write an ordinary blank" if "\u00a0" in text else ""
        raise ManifestError(
            Diagnostic("C10E110", message, _span(text, start, start + 1), help=blank)
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
        return None if isinstance(node.op, _SIGNS) else "`not` and `~` are not part of an expression"
    if isinstance(node, ast.BinOp):
        return None if type(node.op) in _BINARY else "only + - * / // % ** combine values"
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name):
            return "only a function's plain name can be called"
        return "`**` is not part of an expression" if any(k.arg is None for k in node.keywords) else None
    start, end = _place(text, node)
    return f"`{_short(text[start:end])}` is not part of an expression"


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


def makes_array(expression: Expression) -> bool:
    """Whether the value is an array, as far as the functions tell without calling them."""

    def makes(node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return makes(node.left) or makes(node.right)
        return makes(node.operand) if isinstance(node, ast.UnaryOp) else isinstance(node, ast.Call)

    return makes(expression.tree)


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
    return _Evaluation(expression.text, known, functions, dtype, of_items).value(expression.tree)


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """One walk over a tree that `parse_expression` has already found harmless."""

    text: str
    names: Mapping[str, object]
    functions: Mapping[str, Callable[..., object]]
    dtype: str
    of_items: bool

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in self.names:
                raise ManifestError(_unknown(self.text, node, "name", self.names))
            return self.names[node.id]
        if isinstance(node, ast.List):
            return [self._item(item) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple(self._item(item) for item in node.elts)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        assert isinstance(node, ast.BinOp)  # the whitelist has nothing else
        return self._binary(node)

    def _item(self, node: ast.expr) -> Any:
        value = self.value(node)
        if not (self.of_items and isinstance(value, str)):
            return value
        item = parse_expression(value)
        return replace(self, text=value, of_items=False).value(item.tree)

    def _call(self, node: ast.Call) -> Any:
        assert isinstance(node.func, ast.Name)  # the whitelist has nothing else
        name = node.func.id
        if name not in self.functions:
            raise ManifestError(_unknown(self.text, node.func, "function", self.functions))
        arguments = [self.value(argument) for argument in node.args]
        keywords = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        try:
            return self.functions[name](*arguments, **keywords)
        except (TypeError, ValueError, OverflowError, MemoryError, ImportError) as error:
            raise _fault(self.text, f"`{name}`: {str(error).removeprefix('_Filler.')}", node) from error

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if not (_is_number(operand) or _is_array(operand)):
            raise _fault(self.text, f"`-` takes a number or an array, not {describe(operand)}", node)
        try:
            return self._calculated(operator.neg if isinstance(node.op, ast.USub) else operator.pos, operand)
        except (TypeError, ValueError) as error:  # NumPy refuses minus on booleans
            raise _fault(self.text, str(error), node) from error

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        array, function = left if _is_array(left) else right, _BINARY[type(node.op)]
        if not _is_array(array):
            self._check_numbers(node, left, right)
        elif type(node.op) not in _ON_ARRAYS or not (_is_number(left) or _is_number(right)):
            raise _fault(self.text, "an array combines with one number, by + - * /", node)
        try:
            if array is left:
                return self._calculated(lambda operand: function(operand, right), left)
            return self._calculated(lambda operand: function(left, operand), right)
        except (ArithmeticError, TypeError, ValueError) as error:
            is_large = isinstance(error, OverflowError) and not _is_array(array)
            reason = "result is too large" if is_large else str(error)
            raise _fault(self.text, reason, node) from error

    def _check_numbers(self, node: ast.BinOp, left: Any, right: Any) -> None:
        for operand in (left, right):
            if not _is_number(operand):
                raise _fault(self.text, f"a number is wanted, not {describe(operand)}", node)
        if isinstance(left, int) and isinstance(right, int) and _bits(node.op, left, right) > MAX_BITS:
            raise _fault(self.text, f"result of more than {MAX_BITS:,} bits", node)

    def _calculated(self, function: Callable[[Any], Any], operand: Any) -> Any:
        if not _is_array(operand):
            return function(operand)
        from c10cli.arrays.filling import calculate  # which imports NumPy

        return calculate(function, operand, self.dtype)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, complex))


def _is_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")  # without which nobody has made one
    return numpy is not None and isinstance(value, numpy.ndarray)


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
        f"unknown {kind} `{node.id}` in `{_short(text)}`",
        _span(text, *_place(text, node)),
        notes=(f"{kind}s known here: {shown}",),
        help=did_you_mean(node.id, known),
    )


def _fault(text: str, message: str, node: ast.expr | None = None) -> ManifestError:
    """*message* about *node*, or about all of *text*."""
    span = _span(text, *_place(text, node))
    todo = "give what the dtype can hold, or another dtype" if " cannot hold " in message else ""
    return ManifestError(Diagnostic("C10E110", f"{message}, in `{_short(text)}`", span, help=todo))


def _place(text: str, node: ast.expr | None) -> tuple[int, int]:
    """Where *node* starts and ends in *text*, or where that does, without its margins."""
    margin, line = _margin(text), _flat(text)
    if node is None:
        return margin, margin + len(line)
    counted = line.encode("utf-8", "surrogatepass")  # `ast` counts bytes
    start, end = counted[: node.col_offset], counted[: node.end_col_offset]
    return margin + len(start.decode("utf-8", "replace")), margin + len(end.decode("utf-8", "replace"))


def _span(text: str, start: int, end: int) -> Span:
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


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."
