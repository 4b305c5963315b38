"""Binding a call to a schema: which value each argument gets, by a strict table of conversions.

A tensor never becomes a number and a bool never an int: what would lose a
value or guess a meaning is refused.  A NumPy scalar counts as its Python value.

==================  ====================================================  ==========================
type                takes                                                 gives
==================  ====================================================  ==========================
Tensor              what *is_tensor* says is one                          the same object
int, SymInt         int, ``__index__``; 64 bits; no bool, no array        int
float               float; an int that a double holds exactly             float
complex             complex, and what float takes                         complex
bool, SymBool       bool                                                  bool
str                 str, not bytes                                        the same object
Scalar              bool, int of 64 bits, float, complex                  of the same Python type
ScalarType          a name (``float32``, ``half``), a dtype object        the full name, the object
Layout,             the word (``strided``, ``contiguous_format``), an     the same object
MemoryFormat        object of a library
Device              ``"cuda:0"``, a device object                         the same object
T[]                 list, tuple, range, other sequence; no string,        new list; where the schema
                    array, set or iterator                                says it is written, itself
T[N]                the same with N items, in torch's dialect with any    new list
                    number; one T, for all of them; what the default is
T?                  None, what T takes                                    None, what T gives
(A, B)              tuple or list of as many values                       tuple
Dict(K, V)          dict                                                  new dict, same order
Union(A, B)         what a member takes                                   the first that changes
                                                                          nothing, else the first
Any, variables      anything                                              the same object
NoneType            None                                                  None
others              any object but plain Python values                    the same object
==================  ====================================================  ==========================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from c10cli.describe import describe
from c10cli.errors import ArgumentError, Diagnostic, did_you_mean
from c10cli.schema.convert import IsTensor, Mismatch, convert, is_sequence, looks_like_tensor
from c10cli.schema.types import BaseType, ListType, OptionalType, Type

if TYPE_CHECKING:
    from c10cli.schema.model import Argument, FunctionSchema

__all__ = ["bind"]

# One value for all items of `int[1000000000]` would be a list of a billion.
_MAX_REPEATED: Final = 2**20


def bind(
    schema: FunctionSchema,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    is_tensor: IsTensor | None = None,
) -> dict[str, object]:
    """As `FunctionSchema.bind`; what ``...`` takes is the tuple under ``"..."``."""
    test = is_tensor or looks_like_tensor
    positional = len(schema.positional)
    _check_names(schema, args, kwargs, positional)
    bound: dict[str, object] = {}
    for i, argument in enumerate(schema.arguments):
        if i < min(len(args), positional):
            bound[argument.name] = _value(schema, i, args[i], test)
        elif argument.name in kwargs:
            bound[argument.name] = _value(schema, i, kwargs[argument.name], test)
        else:
            default = argument.default
            bound[argument.name] = list(default) if isinstance(default, tuple) else default
    if schema.is_vararg:
        bound["..."] = tuple(args[positional:])
    return bound


def _check_names(
    schema: FunctionSchema, args: Sequence[object], kwargs: Mapping[str, object], positional: int
) -> None:
    """Every argument has one value, and every value an argument."""
    names = [argument.name for argument in schema.arguments]
    for name in kwargs:
        if name not in names:
            _refuse(schema, f"`{schema.name}` has no argument `{name}`", help=did_you_mean(name, names))
    for name in names[: min(len(args), positional)]:
        if name in kwargs:
            _refuse(schema, f"argument `{name}` of `{schema.name}` is given twice")
    if len(args) > positional and not schema.is_vararg:
        takes = f"{positional} positional argument{'s' * (positional != 1)}"
        behind = names[positional:]
        hint = f"pass {_listed(behind)} by keyword" if behind else ""
        _refuse(schema, f"`{schema.name}` takes {takes}, {len(args)} are given", help=hint)
    missing = [
        a.name
        for i, a in enumerate(schema.arguments)
        if not a.has_default and a.name not in kwargs and i >= min(len(args), positional)
    ]
    if missing:
        _refuse(schema, f"`{schema.name}` is missing argument{'s' * (len(missing) > 1)} {_listed(missing)}")


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _refuse(schema: FunctionSchema, message: str, *, help: str = "") -> NoReturn:
    diagnostic = Diagnostic(
        "C10E404", message, place=f"call of {schema.name}", notes=_notes(schema), help=help
    )
    raise ArgumentError(diagnostic, operator=str(schema.name))


def _notes(schema: FunctionSchema) -> tuple[str, ...]:
    return (f"declared as `{schema}`",)


def _value(schema: FunctionSchema, index: int, value: object, is_tensor: IsTensor) -> object:
    argument = schema.arguments[index]
    try:
        return _fit(argument, value, is_tensor, holds_size=schema.dialect == "strict")
    except Mismatch as mismatch:
        what = f"argument `{argument.name}` of `{schema.name}`"
        found = describe(mismatch.value)
        if mismatch.where:
            message = (
                f"{what} must be {_spelled(argument)}: {mismatch.where} is {found}, not {mismatch.expected}"
            )
        else:
            message = f"{what} must be {mismatch.expected}, not {found}"
        diagnostic = Diagnostic(
            "C10E405",
            message,
            place=f"call of {schema.name}, argument {index} `{argument.name}`",
            notes=_notes(schema),
            help=_hint(mismatch, argument.type),
        )
        raise ArgumentError(diagnostic, operator=str(schema.name), argument=argument.name) from None


def _spelled(argument: Argument) -> str:
    """The type as in the schema, with its size and without annotations."""
    if argument.N is None:
        return str(argument.type)
    inner = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
    mark = "?" if inner is not argument.type else ""
    return f"{str(inner)[:-1]}{argument.N}]{mark}"


def _fit(argument: Argument, value: object, is_tensor: IsTensor, *, holds_size: bool) -> object:
    t = argument.type
    inner = t.element if isinstance(t, OptionalType) else t
    if not isinstance(inner, ListType) or (value is None and inner is not t):
        return convert(value, t, is_tensor)
    if argument.N is not None and not is_sequence(value):
        return _repeated(argument, inner.element, argument.N, value, is_tensor)
    items = convert(value, inner, is_tensor)
    assert isinstance(items, list)
    if holds_size and argument.N not in (None, len(items)) and not _is_default(argument, items):
        raise Mismatch(value, _spelled(argument))
    if argument.alias is not None and argument.alias.is_write and argument.alias.before:
        if not isinstance(value, list):
            raise Mismatch(value, f"a list, because `{argument.name}` is written")
        return value
    return items


def _is_default(argument: Argument, items: list[object]) -> bool:
    """Whether *items* repeats a default of another length, such as ``int[2] stride=[]``."""
    return not items and argument.default == ()


def _repeated(
    argument: Argument, element: Type, size: int, value: object, is_tensor: IsTensor
) -> list[object]:
    try:
        item = convert(value, element, is_tensor)
    except Mismatch as mismatch:
        raise Mismatch(mismatch.value, f"{_spelled(argument)} or one {element} for all items") from None
    if size > _MAX_REPEATED:
        raise Mismatch(value, f"a list of {size} items")
    return [item] * size


def _hint(mismatch: Mismatch, t: Type) -> str:
    value = mismatch.value
    if value is None:
        return f"leave `None` out, or declare the argument `{t}?`" if isinstance(t, BaseType) else ""
    if hasattr(value, "tolist") and mismatch.expected.endswith("]"):
        holds_tensors = mismatch.expected.startswith("Tensor")
        return "pass a list of tensors" if holds_tensors else "pass `.tolist()` of the array"
    if mismatch.expected.startswith("Tensor") and looks_like_tensor(value):
        name = type(value).__qualname__
        return f"pass an array, or teach the type with register_tensor_type({name}, KEY)"
    if isinstance(value, bool):
        return (
            f"pass `{mismatch.expected}({value})` if that is meant"
            if mismatch.expected in ("int", "float")
            else ""
        )
    if isinstance(value, str) and mismatch.expected.endswith("[]"):
        return "pass a list"
    return ""
