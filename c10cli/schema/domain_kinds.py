"""Of what kind the value of a domain's expression will be, told without values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from c10cli.errors import did_you_mean
from c10cli.schema import types as schema_types
from c10cli.schema.domain_functions import SIGNATURES
from c10cli.schema.dtypes import CONSTANTS, DTYPE_CLASSES, DTYPES, WORDS
from c10cli.schema.types import ListType, OptionalType, Type

# How the kinds are called in messages; `any` is what nothing is known of.
_IN_WORDS: Final = {
    "number": "a number",
    "truth": "a condition",
    "text": "a text",
    "dtype": "a dtype",
    "dtypes": "a class of dtypes",
    "sizes": "several sizes",
    "list": "a list",
    "tensor": "a tensor",
    "tensors": "a list of tensors",
    "any": "a value",
}
# Those of values that may be equal; a tensor is compared with `none` alone.
_COMPARED: Final = ("number", "truth", "text", "dtype", "dtypes", "sizes", "list")
# What to write where something else is wanted.
_INSTEAD: Final = {
    ("sizes", "number"): "write `prod({0})` or `len({0})`",
    ("tensor", "number"): "write `size({0}, 0)`, `rank({0})`, or `_` for all elements",
    ("dtype", "number"): "write `itemsize({0})`",
    ("number", "sizes"): "give it a star where it stands among the dims: `*{0}`",
}
WORD_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(CONSTANTS, "number"),
    **{word: "any" if value is None else "truth" for word, value in WORDS.items()},
    **dict.fromkeys(DTYPES, "dtype"),
    **{name: "dtypes" for name in DTYPE_CLASSES if name not in DTYPES},
}


def kind_of_type(t: Type) -> str:
    """The kind of the values of a schema type."""
    if isinstance(t, OptionalType):
        return kind_of_type(t.element)
    if isinstance(t, ListType):
        return "tensors" if schema_types.is_tensor_list(t) else "list"
    kinds = {"Tensor": "tensor", "bool": "truth", "str": "text", "ScalarType": "dtype"}
    numbers = ("int", "SymInt", "float", "complex", "Scalar")
    return "number" if str(t) in numbers else kinds.get(str(t), "any")


class KindFault(Exception):
    """What is wrong with a part of an expression."""

    def __init__(self, node: ast.expr, message: str, help: str = "") -> None:
        super().__init__(message)
        self.node, self.message, self.help = node, message, help


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of names, and so of what is made of them.

    Args:
        own: the kind of the value that the text is about, ``_``; empty where there is none.
        of_elements: whether that stands for all elements of a tensor.
    """

    names: Mapping[str, str]
    own: str = ""
    of_elements: bool = False

    def expect(self, node: ast.expr, *wanted: str) -> str:
        """The kind of *node*, which has to be one of *wanted*.

        Raises:
            KindFault: it is not, or a part of it cannot be.
        """
        kind = self.of(node)
        if kind in (*wanted, "any") or (kind == "truth" and "number" in wanted):
            return kind
        text = ast.unparse(node)
        todo = next((t for w in wanted if (t := _INSTEAD.get((kind, w)))), "")
        message = f"`{text}` is {_IN_WORDS[kind]}, and {_IN_WORDS[wanted[0]]} is wanted"
        raise KindFault(node, message, todo.format(text))

    def of(self, node: ast.expr) -> str:
        """The kind of *node*.

        Raises:
            KindFault: a part of it has none.
        """
        if isinstance(node, ast.Constant):
            value = node.value
            is_truth, is_text = isinstance(value, bool), isinstance(value, str)
            return "truth" if is_truth else "text" if is_text else "any" if value is None else "number"
        method = getattr(self, f"_of_{type(node).__name__.lower()}")
        kind: str = method(node)
        return kind

    def _of_name(self, node: ast.Name) -> str:
        if node.id == "_":
            if self.own:
                return self.own
            raise KindFault(node, "`_` is the value of an argument, and here is none", "name what is meant")
        known = {**WORD_KINDS, **self.names}
        if node.id not in known:
            named = sorted(self.names)
            message = f"nothing is called `{node.id}` here; there is {', '.join(named) or 'no name'}"
            help = did_you_mean(node.id, known) or "let the dims of an argument give it a value"
            raise KindFault(node, message, help)
        return known[node.id]

    def _of_list(self, node: ast.List | ast.Tuple) -> str:
        for item in node.elts:
            self.expect(item, *_COMPARED)
        return "list"

    _of_tuple = _of_list

    def _of_unaryop(self, node: ast.UnaryOp) -> str:
        wanted = "truth" if isinstance(node.op, ast.Not) else "number"
        self.expect(node.operand, wanted)
        return wanted

    def _of_binop(self, node: ast.BinOp) -> str:
        self.expect(node.left, "number")
        self.expect(node.right, "number")
        return "number"

    def _of_boolop(self, node: ast.BoolOp) -> str:
        first = self.of(node.values[0])
        wanted = "dtype" if first == "dtype" and isinstance(node.op, ast.Or) else "truth"
        for value in node.values:
            self.expect(value, wanted)
        return wanted

    def _of_compare(self, node: ast.Compare) -> str:
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, (ast.In, ast.NotIn)):
                kind = self.expect(right, "list", "dtypes", "sizes")
                self.expect(left, *{"dtypes": ["dtype"], "sizes": ["number"]}.get(kind, _COMPARED))
            elif isinstance(op, (ast.Eq, ast.NotEq)):
                self._same(left, right)
            else:
                self.expect(left, "number")
                self.expect(right, "number")
            left = right
        return "truth"

    def _same(self, left: ast.expr, right: ast.expr) -> None:
        """Two that may be equal."""
        kind, other = self.of(left), self.of(right)
        alike = ({"sizes", "list"}, {"truth", "number"})
        if (kind == other and kind in _COMPARED) or "any" in (kind, other) or {kind, other} in alike:
            return
        raise KindFault(
            right, f"`{ast.unparse(right)}` is {_IN_WORDS[other]}, compared with {_IN_WORDS[kind]}"
        )

    def _of_subscript(self, node: ast.Subscript) -> str:
        kind = self.expect(node.value, "list", "sizes", "tensors")
        if isinstance(node.slice, ast.Slice):
            for end in (node.slice.lower, node.slice.upper):
                if end is not None:
                    self.expect(end, "number")
            return kind
        self.expect(node.slice, "number")
        return {"sizes": "number", "tensors": "tensor"}.get(kind, "any")

    def _of_call(self, node: ast.Call) -> str:
        assert isinstance(node.func, ast.Name)  # the language has nothing else
        name, given = node.func.id, node.args
        if name not in SIGNATURES:
            known = ", ".join(sorted(SIGNATURES))
            message = f"there is no function `{name}` here; known are {known}"
            raise KindFault(node.func, message, did_you_mean(name, SIGNATURES))
        wanted, result = SIGNATURES[name]
        if node.keywords:
            raise KindFault(node.keywords[0].value, f"`{name}` takes its arguments by position")
        self._count(node, wanted)
        for at, argument in enumerate(given):
            kind = wanted[min(at, len(wanted) - 1)].rstrip("?*")
            if kind == "_":
                self._check_element(node, argument)
            elif kind in ("sizes", "any"):
                lists = ("sizes", "list", "text", "tensors") if name == "len" else ("sizes", "list")
                self.expect(argument, *(lists if kind == "sizes" else _IN_WORDS))
            else:
                many = ("sizes", "list") if name in ("min", "max") and len(given) == 1 else ()
                self.expect(argument, kind, *many)
        return result

    def _check_element(self, node: ast.Call, argument: ast.expr) -> None:
        assert isinstance(node.func, ast.Name)
        if not (isinstance(argument, ast.Name) and argument.id == "_" and self.of_elements):
            told = "takes `_`, the elements of a tensor"
            raise KindFault(node, f"`{node.func.id}` {told}", "write it in the text of that argument")

    def _count(self, node: ast.Call, wanted: Sequence[str]) -> None:
        assert isinstance(node.func, ast.Name)
        name, count = node.func.id, len(node.args)
        fewest = sum(not kind.endswith("?") for kind in wanted)
        if count < fewest or (count > len(wanted) and not wanted[-1].endswith("*")):
            takes = ", ".join(kind.rstrip("*?") for kind in wanted)
            raise KindFault(node, f"`{name}({takes})` takes {fewest} arguments, and here are {count}")
