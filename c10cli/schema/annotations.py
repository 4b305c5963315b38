"""Python annotations to schema types: real objects, or strings that need not resolve.

Tensors and what belongs to them (dtypes, devices, …) are known by the name of
their class, so that no array library is imported.  A string is read as an
expression of names, subscripts and ``|``; each name is looked up where the
function can see it, so that aliases work, and taken as it is spelled where
that fails, as it does for imports under ``TYPE_CHECKING``.  Nothing is evaluated.
"""

from __future__ import annotations

import ast
import builtins
import enum
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Final

from c10cli.schema.types import (
    ANY,
    BASE_TYPES,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    GENERATOR,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    NONE,
    SCALAR,
    SCALAR_TYPE,
    STR,
    SYM_BOOL,
    SYM_INT,
    TENSOR,
    DictType,
    ListType,
    TupleType,
    Type,
    optional,
    union,
)

__all__ = ["Unknown", "named_tuple_fields", "returns_of", "type_of_annotation"]

# By the last part of a class's name, whatever library it is from.
_BY_NAME: Final[dict[str, Type]] = {
    **dict.fromkeys(("Tensor", "ndarray", "NDArray", "Array"), TENSOR),
    "NoneType": NONE,
    "None": NONE,
    "Any": ANY,
    "object": ANY,
    **{t.name: t for t in (BOOL, INT, FLOAT, COMPLEX, STR)},
    **dict.fromkeys(("Number", "Complex", "Real", "Rational", "number"), SCALAR),
    **dict.fromkeys(("Integral", "integer", "signedinteger", "unsignedinteger"), INT),
    **dict.fromkeys(("floating", "SymFloat"), FLOAT),
    "complexfloating": COMPLEX,
    **dict.fromkeys(("bool_",), BOOL),
    **dict.fromkeys(("dtype", "DType"), SCALAR_TYPE),
    **dict.fromkeys(("device", "Device"), DEVICE),
    "layout": LAYOUT,
    "memory_format": MEMORY_FORMAT,
    "SymInt": SYM_INT,
    "SymBool": SYM_BOOL,
    "Size": ListType(INT),
    "torch.Generator": GENERATOR,  # `typing` has another one
    "qscheme": BASE_TYPES["QScheme"],
    "Stream": BASE_TYPES["Stream"],
    **dict.fromkeys(("Storage", "UntypedStorage", "TypedStorage"), BASE_TYPES["Storage"]),
}
_LISTS: Final = ("list", "List", "Sequence", "MutableSequence", "Iterable", "Collection")
_DICTS: Final = ("dict", "Dict", "Mapping", "MutableMapping")
_TUPLES: Final = ("tuple", "Tuple")
_OF_SOMETHING: Final = (*_LISTS, *_DICTS, *_TUPLES, "Union", "Optional", "Literal")
_NUMBERS: Final = {INT, FLOAT, COMPLEX, BOOL, SCALAR, SYM_INT}
_ENDLESS: Final = "an annotation is defined by itself, or nests too deep"
# What is passed on to the annotation inside.
_TRANSPARENT: Final = ("Annotated", "Final", "Required", "NotRequired", "ReadOnly")


class Unknown(Exception):
    """An annotation that no schema type stands for: what is wrong, and what to write instead."""

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help


Names = Mapping[str, object]


def type_of_annotation(annotation: object, names: Names) -> Type:
    """The schema type of *annotation*, whose strings may use *names*.

    Raises:
        Unknown: there is none.
    """
    try:
        return _type(annotation, names)
    except RecursionError:
        raise Unknown(_ENDLESS) from None


def _type(annotation: object, names: Names) -> Type:
    head, args = _take_apart(annotation, names)
    if isinstance(head, str):
        return _generic(head, args, annotation, names)
    return _plain(head, names)


def returns_of(annotation: object, names: Names) -> list[tuple[str, Type]]:
    """The returns that a return annotation stands for: name, or the empty string, and type.

    A tuple of fixed length is as many returns, a named one gives them its
    names; a tuple of one is one return, since a schema has no other.

    Raises:
        Unknown: no type stands for one of them.
    """
    head, args = _take_apart(annotation, names)
    if isinstance(head, str) and head in _TRANSPARENT and args:
        return returns_of(args[0], names)
    if isinstance(head, str) and head in _TUPLES and args is not None and not _is_open(args):
        return [("", type_of_annotation(arg, names)) for arg in args]
    named = named_tuple_fields(head)
    if named is not None:
        return [(name, type_of_annotation(t, names_of(head))) for name, t in named.items()]
    t = type_of_annotation(annotation, names)
    return [] if t == NONE else [("", t)]


def _is_open(args: Sequence[object]) -> bool:
    return any(arg is Ellipsis for arg in args)


def named_tuple_fields(head: object) -> dict[str, object] | None:
    """The fields of a named tuple with their annotations; None for anything else."""
    if not (isinstance(head, type) and issubclass(head, tuple) and hasattr(head, "_fields")):
        return None
    annotations = {name: t for base in reversed(head.__mro__) for name, t in _annotations_of(base).items()}
    missing = [name for name in head._fields if name not in annotations]
    if missing:
        raise Unknown(f"field `{missing[0]}` of `{head.__name__}` has no annotation", "use typing.NamedTuple")
    return {name: annotations[name] for name in head._fields}


def _annotations_of(cls: type) -> dict[str, object]:
    found: dict[str, object] = getattr(cls, "__annotations__", {})
    return found


def names_of(cls: object) -> Names:
    """The names that the annotations of a class may use."""
    return vars(sys.modules.get(getattr(cls, "__module__", ""), types.ModuleType("")))


def _take_apart(annotation: Any, names: Names) -> tuple[object, tuple[object, ...] | None]:
    """The head of an annotation, and its arguments; None where it has none.

    Heads that take arguments come by their last name, others as they are.
    """
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _take_apart(_parse(annotation), names)
    if isinstance(annotation, ast.expr):
        return _take_apart_expression(annotation, names)
    origin = typing.get_origin(annotation)
    if hasattr(annotation, "__metadata__"):  # Annotated, whose origin differs between versions
        return "Annotated", (annotation.__origin__,)
    if origin is None or not hasattr(annotation, "__args__"):  # `List` has an origin, but says nothing
        return annotation if origin is None else origin, None
    if origin is typing.Union or isinstance(annotation, types.UnionType):
        return "Union", typing.get_args(annotation)
    args = typing.get_args(annotation)
    if getattr(origin, "__name__", "") in _TUPLES and args == ((),):  # what 3.10 gives for `Tuple[()]`
        args = ()
    return _last_name(origin), args


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unknown(f"annotation `{text}` is no expression") from None


def _take_apart_expression(node: ast.expr, names: Names) -> tuple[object, tuple[object, ...] | None]:
    if isinstance(node, ast.Constant):
        value = node.value
        return _take_apart(value, names) if isinstance(value, str) else (value, None)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return "Union", (node.left, node.right)
    if isinstance(node, ast.Subscript):
        head = _dotted(node.value, names)
        inside = node.slice
        args: tuple[object, ...] = tuple(inside.elts) if isinstance(inside, ast.Tuple) else (inside,)
        name = _last_name(head)
        if name == "Literal":
            return name, tuple(_literal_member(arg) for arg in args)
        return name, tuple(Ellipsis if _is_ellipsis(arg) else arg for arg in args)
    found = _dotted(node, names)
    return (found, None) if isinstance(found, _Name) else _take_apart(found, names)


class _Name(str):
    """A name in a string annotation that stands for no object that can be seen from there."""

    __slots__ = ()


def _dotted(node: ast.expr, names: Names) -> object:
    """The object that a dotted name stands for, or the name."""
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value, names)
        if isinstance(owner, _Name):
            return _Name(f"{owner}.{node.attr}")
        return getattr(owner, node.attr, _Name(node.attr))
    if isinstance(node, ast.Name):
        return names.get(node.id, getattr(builtins, node.id, _Name(node.id)))
    raise Unknown(f"annotation `{ast.unparse(node)}` is no type")


def _literal_member(node: object) -> object:
    try:
        return ast.literal_eval(node)  # type: ignore[arg-type]
    except ValueError:
        return node


def _is_ellipsis(node: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _last_name(head: object) -> str:
    name = head if isinstance(head, str) else getattr(head, "__name__", None) or getattr(head, "_name", None)
    return str(name or head).rpartition(".")[2]


def _generic(head: str, args: tuple[object, ...] | None, annotation: object, names: Names) -> Type:
    """The type of ``head[args]``, or of a bare name that stands for nothing else."""
    if args is None:
        return _by_class_name([head, _last_name(head)], head)
    if head in _LISTS and len(args) == 1:
        return ListType(_type(args[0], names))
    if head in _TUPLES:
        return _tuple(args, names)
    if head in _DICTS and len(args) == 2:
        return DictType(*(_type(arg, names) for arg in args))
    if head == "Optional" and len(args) == 1:
        return _union([_type(args[0], names), NONE])
    if head == "Union":
        return _union([_type(arg, names) for arg in args])
    if head == "Literal":
        return _union([_literal_type(member) for member in args])
    if head in _TRANSPARENT:
        return _type(args[0], names)
    # `NDArray[float32]`, `dtype[Any]`: what is inside says nothing that a schema says.
    return _by_class_name([head], f"{head}[…]")


def _tuple(args: Sequence[object], names: Names) -> Type:
    if len(args) == 2 and args[1] is Ellipsis:
        return ListType(_type(args[0], names))
    if _is_open(args):
        raise Unknown("`...` in a tuple stands for nothing here", "write `tuple[T, ...]`")
    return TupleType(tuple(_type(arg, names) for arg in args))


def _union(members: list[Type]) -> Type:
    """The union of *members*, where several kinds of numbers are one ``Scalar``."""
    if ANY in members:
        return ANY
    is_optional = NONE in members
    flat = list(dict.fromkeys(member for member in members if member != NONE))
    numbers = [member for member in flat if member in _NUMBERS]
    if len(numbers) > 1:
        flat = [SCALAR, *(member for member in flat if member not in _NUMBERS)]
    if not flat:
        return NONE
    joined = (union(flat) or flat[0]) if len(flat) > 1 else flat[0]
    return optional(joined) if is_optional else joined


def _literal_type(member: object) -> Type:
    by_kind: dict[type, Type] = {bool: BOOL, int: INT, str: STR, type(None): NONE}
    t = by_kind.get(type(member))
    if t is None:
        shown = ast.unparse(member) if isinstance(member, ast.expr) else repr(member)
        raise Unknown(f"`{shown}` in a Literal has no schema type", "use strings, ints or bools")
    return t


def _plain(head: object, names: Names) -> Type:
    """The type of an annotation without arguments."""
    if head is None or head is type(None):
        return NONE
    if head is Any or head is object:
        return ANY
    if isinstance(head, typing.TypeVar):
        return _type_variable(head, names)
    supertype = getattr(head, "__supertype__", None)  # of a NewType
    if supertype is not None:
        return _type(supertype, names)
    alias = getattr(head, "__value__", None)  # of a `type` statement
    if alias is not None:
        return _type(alias, names)
    if isinstance(head, type):
        return _class(head)
    return _by_class_name([_last_name(head)], _spelled(head))


def _type_variable(variable: typing.TypeVar, names: Names) -> Type:
    if variable.__constraints__:
        return _union([_type(member, names) for member in variable.__constraints__])
    if variable.__bound__ is not None:
        return _type(variable.__bound__, names)
    raise Unknown(f"type variable `{variable.__name__}` stands for any type", "write `Any`, or the type")


def _class(cls: type) -> Type:
    if issubclass(cls, enum.Enum):
        help = "take its value, such as a `str`, and make the member inside the function"
        raise Unknown(f"`{cls.__name__}` is an Enum, and no schema type has its members", help)
    fields = named_tuple_fields(cls)
    if fields is not None:
        return TupleType(tuple(_type(t, names_of(cls)) for t in fields.values()))
    if cls.__name__ == "Generator" and cls.__module__.partition(".")[0] == "torch":
        return GENERATOR
    if issubclass(cls, (bool, int, float, complex, str)):
        return next(t for kind, t in _PYTHON if issubclass(cls, kind))
    return _by_class_name([base.__name__ for base in cls.__mro__[:-1]], cls.__qualname__)


_PYTHON: Final[tuple[tuple[type, Type], ...]] = (
    (bool, BOOL),
    (int, INT),
    (float, FLOAT),
    (complex, COMPLEX),
    (str, STR),
)


def _by_class_name(candidates: list[str], shown: str) -> Type:
    """The type that the first known name of *candidates* stands for."""
    for name in candidates:
        if name in _BY_NAME:
            return _BY_NAME[name]
    bare = next((name for name in candidates if name in _OF_SOMETHING), None)
    if bare is not None:
        example = f"{bare}[str, int]" if bare in _DICTS else f"{bare}[int]"
        raise Unknown(f"annotation `{shown}` does not say of what", f"write `{example}`, or what it holds")
    known = (
        "`Tensor`, `ndarray`, `int`, `float`, `bool`, `str`, `Any`, lists, tuples, dicts and unions of them"
    )
    raise Unknown(f"annotation `{shown}` has no schema type", f"use {known}")


def _spelled(annotation: object) -> str:
    return getattr(annotation, "__qualname__", None) or str(annotation).removeprefix("typing.")
