"""The little language of inputs and costs: `randn(rows, cols) * 2`, `2 * nbytes(input)`.

Python's parser reads it, a whitelist walks the tree, nothing is ever passed to
``eval``.  Numbers stay bounded, so that no text can take the machine down.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from c10cli.arrays.dtypes import ARRAY_FUNCTIONS, CONSTANTS
from c10cli.arrays.filling import array_functions, convert_like, is_array
from c10cli.errors import Diagnostic, ManifestError, Span, did_you_mean

__all__ = ["Expression", "evaluate", "find_unknown_names", "makes_array", "parse_expression"]

MAX_LENGTH: Final = 10_000
MAX_DEPTH: Final = 40
MAX_BITS: Final = 4_096  # of an integer
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
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_CONSTANT_TYPES: Final = (bool, int, float, complex, str, type(None))
_KINDS: Final[Mapping[type[ast.AST], str]] = {
    ast.Attribute: "attribute access",
    ast.Subscript: "indexing",
    ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.Compare: "a comparison",
    ast.BoolOp: "`and` or `or`",
    ast.IfExp: "a condition",
    ast.JoinedStr: "an f-string",
    ast.Starred: "`*`",
    ast.NamedExpr: "an assignment",
    ast.Dict: "a dictionary",
    ast.Set: "a set",
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: the free names and the functions it uses."""

    text: str
    names: frozenset[str]
    functions: frozenset[str]
    tree: ast.expr = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=512)
def parse_expression(text: str) -> Expression:
    """The expression that *text* spells.

    Raises:
        ManifestError: C10E110, with the column of what is not understood.
    """
    if len(text) > MAX_LENGTH:
        raise _fault(text, None, f"expression of {len(text):,} characters is longer than {MAX_LENGTH:,}")
    if not text.strip():
        raise _fault(text, None, "expression is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a backslash in a string
            tree = ast.parse(_flat(text).strip(), mode="eval").body
    except SyntaxError as error:
        raise _syntax_fault(text, error) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise _fault(text, None, "expression is too deeply nested or has a null character") from error
    names: set[str] = set()
    functions: set[str] = set()
    _walk(text, tree, names, functions, 0)
    return Expression(text, frozenset(names - CONSTANTS.keys()), frozenset(functions), tree)


def _walk(text: str, node: ast.expr, names: set[str], functions: set[str], depth: int) -> None:
    """Refuse everything outside the whitelist; collect names and functions."""
    if depth > MAX_DEPTH:
        raise _fault(text, node, f"expression is nested more than {MAX_DEPTH} levels deep")
    fault = _node_fault(node)
    if fault:
        raise _fault(text, node, fault)
    if isinstance(node, ast.Name):
        names.add(node.id)
    if isinstance(node, ast.Call):
        assert isinstance(node.func, ast.Name)  # _node_fault refuses the rest
        functions.add(node.func.id)
    for child in _children(node):
        _walk(text, child, names, functions, depth + 1)


def _children(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call):
        return [*node.args, *(keyword.value for keyword in node.keywords)]
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _node_fault(node: ast.expr) -> str | None:
    """Why *node* is not in the language; None where it is."""
    if isinstance(node, ast.Constant):
        value = node.value
        if type(value) not in _CONSTANT_TYPES:
            return f"`{value!r}` is not part of an expression"
        too_long = type(value) is int and value.bit_length() > MAX_BITS
        return f"integer of more than {MAX_BITS:,} bits" if too_long else None
    if isinstance(node, (ast.Name, ast.List, ast.Tuple)):
        return None
    if isinstance(node, ast.UnaryOp):
        return None if type(node.op) in _UNARY else "`not` and `~` are not part of an expression"
    if isinstance(node, ast.BinOp):
        return None if type(node.op) in _BINARY else "only + - * / // % ** combine values"
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name):
            return "only a function's plain name can be called"
        return "`**` is not part of an expression" if any(k.arg is None for k in node.keywords) else None
    return f"{_KINDS.get(type(node), type(node).__name__)} is not part of an expression"


def find_unknown_names(
    expression: Expression, names: Collection[str], functions: Collection[str] = ARRAY_FUNCTIONS
) -> list[Diagnostic]:
    """A C10E110 finding for each function and name that the expression may not use."""
    found = []
    for node in ast.walk(expression.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in functions:
            found.append(_unknown(expression.text, node.func, "function", functions))
    called = {id(node.func) for node in ast.walk(expression.tree) if isinstance(node, ast.Call)}
    known = {*names, *CONSTANTS}
    for node in ast.walk(expression.tree):
        if isinstance(node, ast.Name) and id(node) not in called and node.id not in known:
            found.append(_unknown(expression.text, node, "name", known))
    return found


def makes_array(expression: Expression) -> bool:
    """Whether the value is an array, as far as the functions tell without calling them."""
    return _makes_array(expression.tree)


def _makes_array(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _makes_array(node.left) or _makes_array(node.right)
    if isinstance(node, ast.UnaryOp):
        return _makes_array(node.operand)
    return isinstance(node, ast.Call)


def evaluate(
    expression: Expression,
    names: Mapping[str, object] | None = None,
    dtype: str = "float32",
    rng: Any = None,
    *,
    functions: Mapping[str, Callable[..., object]] | None = None,
) -> Any:
    """The value of *expression*.

    Args:
        names: what its free names stand for.
        dtype: of the arrays it makes.
        rng: a ``numpy.random.Generator``; one with seed 0 if None.
        functions: what it may call instead of `ARRAY_FUNCTIONS`, for costs.

    Raises:
        ManifestError: C10E110: an unknown name, wrong arguments, a result
            out of bounds, or more memory than there is.
    """
    table = array_functions(dtype, rng) if functions is None else functions
    return _Evaluation(expression.text, names or {}, table, dtype).value(expression.tree)


class _Evaluation:
    """One walk over a tree that `parse_expression` has already found harmless."""

    __slots__ = ("dtype", "functions", "names", "text")

    def __init__(
        self,
        text: str,
        names: Mapping[str, object],
        functions: Mapping[str, Callable[..., object]],
        dtype: str,
    ) -> None:
        self.text = text
        self.names = names
        self.functions = functions
        self.dtype = dtype

    def value(self, node: ast.expr) -> Any:
        """The value of one node."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        assert isinstance(node, ast.BinOp)  # the whitelist has nothing else
        return self._binary(node)

    def _name(self, node: ast.Name) -> Any:
        if node.id in self.names:
            return self.names[node.id]
        if node.id in CONSTANTS:
            return CONSTANTS[node.id]
        raise ManifestError(_unknown(self.text, node, "name", (*self.names, *CONSTANTS)))

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
            raise _fault(self.text, node, f"`{name}`: {str(error).removeprefix('_Filler.')}") from error

    def _unary(self, node: ast.UnaryOp) -> Any:
        operand = self.value(node.operand)
        if not (_is_number(operand) or is_array(operand)):
            raise _fault(self.text, node, f"`-` takes a number or an array, not {_describe(operand)}")
        try:
            result = _UNARY[type(node.op)](operand)
            return convert_like(operand, result, self.dtype) if is_array(operand) else result
        except TypeError as error:  # NumPy refuses minus on booleans
            raise _fault(self.text, node, str(error)) from error

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        compute = _BINARY[type(node.op)]
        array = left if is_array(left) else right if is_array(right) else None
        try:
            if array is None:
                self._check_numbers(node, left, right)
                return compute(left, right)
            if type(node.op) not in _ON_ARRAYS or not (_is_number(left) or _is_number(right)):
                raise _fault(self.text, node, "an array combines with one number, by + - * /")
            return convert_like(array, compute(left, right), self.dtype)
        except (ArithmeticError, TypeError, ValueError) as error:
            if isinstance(error, ManifestError):
                raise
            reason = "result is too large" if isinstance(error, OverflowError) else str(error)
            raise _fault(self.text, node, reason) from error

    def _check_numbers(self, node: ast.BinOp, left: Any, right: Any) -> None:
        for operand in (left, right):
            if not _is_number(operand):
                raise _fault(self.text, node, f"a number is wanted, not {_describe(operand)}")
        if isinstance(left, int) and isinstance(right, int) and _bits(node.op, left, right) > MAX_BITS:
            raise _fault(self.text, node, f"result of more than {MAX_BITS:,} bits")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, complex))


def _bits(op: ast.operator, left: int, right: int) -> int:
    """An upper bound of the result's length in bits."""
    if isinstance(op, ast.Pow):
        return left.bit_length() * max(right, 1) if abs(left) > 1 else 1
    if isinstance(op, ast.Mult):
        return left.bit_length() + right.bit_length()
    return max(left.bit_length(), right.bit_length())


def _describe(value: object) -> str:
    return f"a {type(value).__name__}" if value is not None else "None"


def _unknown(text: str, node: ast.Name, kind: str, known: Collection[str]) -> Diagnostic:
    shown = ", ".join(f"`{name}`" for name in sorted(known)) or "none"
    finding = _finding(text, node, f"unknown {kind} `{node.id}` in `{_short(text)}`")
    finding = finding.with_notes(f"{kind}s known here: {shown}")
    return Diagnostic(
        finding.code, finding.message, finding.span, notes=finding.notes, help=did_you_mean(node.id, known)
    )


def _fault(text: str, node: ast.expr | None, message: str) -> ManifestError:
    return ManifestError(_finding(text, node, f"{message}, in `{_short(text)}`" if text.strip() else message))


def _syntax_fault(text: str, error: SyntaxError) -> ManifestError:
    """Python's complaint, at its place in *text*."""
    start = _margin(text) + max((error.offset or 1) - 1, 0)
    span = _span(text, start, start + 1)
    return ManifestError(Diagnostic("C10E110", f"`{_short(text)}` is not an expression: {error.msg}", span))


def _finding(text: str, node: ast.expr | None, message: str) -> Diagnostic:
    """A finding at *node*, or about all of *text*."""
    start, end = _margin(text), len(text.rstrip())
    if node is not None:
        line = _flat(text).strip().encode("utf-8", "surrogatepass")  # `ast` counts its bytes
        start, end = (
            _margin(text) + len(line[:offset].decode("utf-8", "replace"))
            for offset in (node.col_offset, node.end_col_offset)
        )
    return Diagnostic("C10E110", message, _span(text, start, end))


def _span(text: str, start: int, end: int) -> Span:
    """The place of the characters from *start* to *end*, on the line where they start."""
    before = text.rfind("\n", 0, start) + 1
    after = text.find("\n", start)
    after = len(text) if after < 0 else after
    column = start - before + 1
    end_column = max(min(end, after) - before + 1, column + 1)
    return Span("<expression>", text.count("\n", 0, start) + 1, column, end_column, text[before:after])


def _flat(text: str) -> str:
    """*text* on one line of the same length, since an expression may span several."""
    return text.translate(_TO_BLANKS)


def _margin(text: str) -> int:
    flat = _flat(text)
    return len(flat) - len(flat.lstrip())


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."
