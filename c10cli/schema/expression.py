"""The little language of inputs, costs and domains: `randn(rows, cols) * 2`, `0 <= _ < rows`.

Python's parser reads it, a whitelist walks the tree, nothing is ever passed to
``eval``.  Numbers stay bounded, so that no text can take the machine down.
What arrays do in it is `c10cli.arrays`' to say.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from c10cli.errors import Diagnostic, ManifestError, Span, did_you_mean
from c10cli.schema.dtypes import ARRAY_FUNCTIONS, CONSTANTS, WORDS

MAX_LENGTH: Final = 10_000
MAX_DEPTH: Final = 40
MAX_BITS: Final = 4_096  # of an integer
_MOST_UNKNOWN: Final = 8  # names of one expression that are found
_TO_BLANKS: Final = dict.fromkeys(map(ord, "\n\r\t\f\v"), " ")

BINARY: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
UNARY: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
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
        raise fault_in(text, f"expression of {len(text):,} characters is longer than {MAX_LENGTH:,}")
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
        raise fault_in(text, "expression is too deeply nested or has a null character") from error
    _check(text, tree, 0)
    names = {name.id for name in _names_in(tree)[0]}
    return Expression(text, frozenset(names - CONSTANTS.keys()), tree)


def _check(text: str, node: ast.AST, depth: int) -> None:
    """Refuse everything outside the whitelist."""
    if isinstance(node, ast.expr):
        too_deep = f"expression is nested more than {MAX_DEPTH} levels deep" if depth > MAX_DEPTH else None
        fault = too_deep or _node_fault(text, node)
        if fault:
            raise fault_in(text, fault, node)
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
        return None if type(node.op) in UNARY else "`~` is not part of an expression"
    if isinstance(node, (ast.BoolOp, ast.Subscript)):
        return None
    if isinstance(node, ast.Slice):
        return None if node.step is None else "a step is not part of an expression"
    if isinstance(node, ast.Compare):
        known = all(type(op) in COMPARISONS or isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
        return None if known else "`is` is not part of an expression"
    if isinstance(node, ast.BinOp):
        return None if type(node.op) in BINARY else "only + - * / // % ** combine values"
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
    return [unknown_name(text, *fault) for fault in unknown[:_MOST_UNKNOWN]]


def part_of(tree: ast.expr) -> Expression:
    """*tree*, a part of a parsed expression, as one of its own."""
    return Expression(ast.unparse(tree), frozenset(name.id for name in _names_in(tree)[0]), tree)


def conjuncts(tree: ast.expr) -> Iterator[ast.expr]:
    """The conditions that ``and`` joins in *tree*."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for value in tree.values:
            yield from conjuncts(value)
    else:
        yield tree


def makes_array(expression: Expression) -> bool:
    """Whether the value is an array, as far as the functions tell without calling them."""

    def makes(node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp):
            return makes(node.left) or makes(node.right)
        if isinstance(node, ast.Compare):
            return makes(node.left) or any(map(makes, node.comparators))
        return makes(node.operand) if isinstance(node, ast.UnaryOp) else isinstance(node, ast.Call)

    return makes(expression.tree)


def unknown_name(text: str, node: ast.Name, kind: str, known: Collection[str]) -> Diagnostic:
    """The finding that *node*, a name of *kind*, is none of those *known*."""
    shown = ", ".join(f"`{name}`" for name in sorted(known)) or "none"
    return Diagnostic(
        "C10E110",
        f"unknown {kind} `{node.id}` in `{shortened(text)}`",
        span_in(text, *place_in(text, node)),
        notes=(f"{kind}s known here: {shown}",),
        help=did_you_mean(node.id, known),
    )


def fault_in(text: str, message: str, node: ast.expr | None = None) -> ManifestError:
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
