"""What a kernel's annotations say, as schema types.

They are judged as text, whether they are values, quoted, or stand in a source
that nobody imports.  Of what is not understood, nothing is said: it is `Any`.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from c10cli.schema.types import ANY, BASE_TYPES, NONE, TENSOR, BaseType, CompoundType, ListType, Type, union

# Python's own, which mean something else as attributes: `np.bool`.
_PLAIN: Final = {name: BASE_TYPES[name] for name in ("int", "float", "bool", "str", "complex")}
_OWN: Final = {*_PLAIN, "list", "tuple"}
_BARE: Final[dict[str, Type]] = {
    **_PLAIN,
    **dict.fromkeys(("None", "NoneType"), NONE),
    **dict.fromkeys(("Tensor", "ndarray", "NDArray", "Array"), TENSOR),
    **dict.fromkeys(("list", "List", "tuple", "Tuple"), ListType(ANY)),
}
_TUPLES: Final = ("tuple", "Tuple")
_LISTS: Final = ("list", "List", *_TUPLES)
_SEQUENCES: Final = ("Sequence", "MutableSequence", "Collection", "Iterable")
# What such a one may be instead of a list: an array or a text.
ARRAY_OR_TEXT: Final = BaseType("array or text")


def annotation_text(annotation: object) -> str:
    """*annotation* as it is written in a source; empty for none, and for what cannot be shown."""
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return " ".join(annotation.split())
    with contextlib.suppress(Exception):  # its own code, which may raise anything
        return inspect.formatannotation(annotation)
    return ""


@lru_cache(maxsize=1024)
def said(text: str) -> Type:
    """The type that an annotation with *text* certainly means; `Any` where it may be anything.

    >>> [str(said(text)) for text in ("int | None", "list['str']", "tuple[np.ndarray, int]", "Mine")]
    ['int?', 'str[]', '(Tensor, int)', 'Any']
    """
    if "\\" in text:  # of which Python might warn
        return ANY
    try:
        return _type(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, IndexError, RecursionError, MemoryError):
        return ANY


def _type(node: ast.expr) -> Type:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return said(node.value)
        return NONE if node.value is None else ANY
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _either([_type(node.left), _type(node.right)])
    if isinstance(node, ast.Subscript):
        inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return _generic(_name(node.value), inside)
    if isinstance(node, ast.Starred):
        raise ValueError("any number of types")
    return _BARE.get(_name(node), ANY)


def _generic(name: str, inside: Sequence[ast.expr]) -> Type:
    """``name[inside]``."""
    if name == "Literal":
        return _either([_of_value(node) for node in inside])
    if name == "Unpack":
        raise ValueError("any number of types")
    if name in _TUPLES and not (inside and _is_ellipsis(inside[-1])):
        return CompoundType("", tuple(map(_type, inside)))
    if name == "Union":
        return _either([_type(node) for node in inside])
    if name == "Optional":
        return _either([_type(inside[0]), NONE])
    if name == "Annotated":
        return _type(inside[0])
    if name in _LISTS:
        return ListType(_type(inside[0]))
    if name in _SEQUENCES:
        return _either([ListType(_type(inside[0])), ARRAY_OR_TEXT])
    return TENSOR if _BARE.get(name) == TENSOR else ANY


def _either(members: list[Type]) -> Type:
    return union(members) or members[0]


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _of_value(node: ast.expr) -> Type:
    """The type of a constant."""
    kind = type(node.value).__name__ if isinstance(node, ast.Constant) else ""
    return NONE if kind == "NoneType" else _PLAIN.get(kind, ANY)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and node.attr not in _OWN:
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
