"""The schema that a Python function's annotations and defaults amount to.

Plain types, optional ones, lists, tuples and the tensors of the array
libraries are understood; anything else is refused by name.  What comes out is
always a schema that the strict dialect reads back.
"""

from __future__ import annotations

import inspect
import numbers
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

from c10cli.describe import callable_name, describe, describe_error
from c10cli.errors import Diagnostic, SchemaError, did_you_mean
from c10cli.schema.convert import Mismatch, convert
from c10cli.schema.model import AliasInfo, Argument, FunctionSchema, OperatorName
from c10cli.schema.parser import parse_name, parse_schema
from c10cli.schema.types import BASE_TYPES, TENSOR, CompoundType, ListType, OptionalType, Type, optional

_PLAIN: Final = (
    (numbers.Number, "Scalar"),
    (Any, "Any"),
    *((t, t.__name__) for t in (int, float, bool, str, complex)),
)
# Where a class is from and its name; those of subclasses have one of these among their bases.
_TENSORS: Final = {"numpy.ndarray", "torch.Tensor", "jax.Array", "cupy.ndarray", "scipy._spbase"}
_KNOWN: Final = (
    "write an array type such as `numpy.ndarray`, `int`, `float`, `bool`, `str`, `complex`, `Any`, "
    "`numbers.Number`, or a list, a tuple or `| None` of these"
)
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


# From Python 3.12 on; from NumPy 2.5 on its NDArray is one.
_ALIAS_TYPE: Any = getattr(typing, "TypeAliasType", ())


def type_of(annotation: object) -> Type:
    """The schema type of a Python annotation, such as ``int | None`` or ``list[float]``.

    Raises:
        SchemaError: C10E204, no schema type stands for it.

    >>> [str(type_of(t)) for t in (int | None, list[float], tuple[int, str], tuple[bool, ...])]
    ['int?', 'float[]', '(int, str)', 'bool[]']
    """
    for plain, name in _PLAIN:
        if annotation is plain:
            return BASE_TYPES[name]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    alias: Any = origin or annotation
    if isinstance(alias, _ALIAS_TYPE):
        return type_of(alias.__value__)
    if origin in (typing.Union, types.UnionType):
        inside = [arg for arg in args if arg is not type(None)]
        if len(inside) == 1:
            return optional(type_of(inside[0]))
    if origin in (list, Sequence) or (origin is tuple and args[1:] == (Ellipsis,)):
        return ListType(type_of(args[0]))
    if origin is tuple:
        return CompoundType("", tuple(map(type_of, args)))
    bases = getattr(origin or annotation, "__mro__", ())
    names = {f"{b.__module__.partition('.')[0]}.{b.__name__.rpartition('.')[2]}" for b in bases}
    if names & _TENSORS:
        return TENSOR
    fact = f"annotation `{inspect.formatannotation(annotation)}` has no schema type"
    raise SchemaError(Diagnostic("C10E204", fact, help=_KNOWN))


def infer_schema(
    function: Callable[..., Any], *, name: str | None = None, mutates: Sequence[str] = ()
) -> FunctionSchema:
    """The schema of *function*, from its annotations and defaults.

    A tuple of fixed length is returned as that many returns.  A default of
    None makes its argument optional.  That a result shares memory with an
    argument cannot be seen, and is not in the schema.

    Args:
        name: the operator's; without one, the last part of the function's
            module and its own name: ``layer_norm::layer_norm_cpu``.
        mutates: the arguments that *function* writes.

    Raises:
        SchemaError: the function has something that no schema has: an
            annotation (C10E204), a default (C10E205), ``*args`` (C10E207); or
            *mutates* names what cannot be written (C10E208).

    >>> def scale(x: list[float], by: float = 2.0, *, limit: int | None = None) -> float: ...
    >>> str(infer_schema(scale, name="demo::scale", mutates=["x"]))
    'demo::scale(float[](a!) x, float by=2.0, *, int? limit=None) -> float'
    """
    shown = callable_name(function).rpartition(".")[2]
    try:
        signature = _signature(function)
        arguments = [_argument(parameter) for parameter in signature.parameters.values()]
        module = (getattr(function, "__module__", None) or "").rpartition(".")[2].strip("_")
        schema = FunctionSchema(
            OperatorName(module or "unnamed", shown) if name is None else parse_name(name),
            _mutated(arguments, [mutates] if isinstance(mutates, str) else mutates),
            _returns(signature.return_annotation),
        )
        parsed = parse_schema(str(schema), "strict")
        if parsed != schema:
            _refuse("C10E205", f"`{parsed}` is all that can be written of its schema", "change the defaults")
    except SchemaError as error:
        raise SchemaError(replace(error.diagnostics[0], span=None, place=f"function {shown}")) from error
    return parsed


def _refuse(code: str, message: str, help: str) -> NoReturn:
    raise SchemaError(Diagnostic(code, message, help=help))


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        _refuse("C10E204", "it returns a coroutine or a generator", "return the values themselves")
    try:
        return inspect.signature(function, eval_str=True)
    except (TypeError, ValueError, NameError, AttributeError, SyntaxError) as error:
        message = f"its signature cannot be read: {describe_error(error)}"
        help = "annotate a Python function with types that are imported, not for type checkers alone"
        _refuse("C10E204", message, help)


def _argument(parameter: inspect.Parameter) -> Argument:
    what = f"parameter `{parameter.name}`"
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        _refuse("C10E207", f"{what} takes any number of values", "take a list, or name each argument")
    t, default = _type(parameter.annotation, what), parameter.default
    has_default = default is not parameter.empty
    if has_default and default is not None:
        default = _default(default, t, what)
    return Argument(
        parameter.name,
        optional(t) if default is None else t,
        has_default=has_default,
        default=default if has_default else None,
        kwarg_only=parameter.kind is parameter.KEYWORD_ONLY,
    )


def _type(annotation: object, what: str) -> Type:
    if annotation is inspect.Parameter.empty:
        _refuse("C10E204", f"{what} has no annotation", "write its type")
    try:
        return type_of(annotation)
    except SchemaError as error:
        fault = error.diagnostics[0]
        _refuse(fault.code, f"{what}: {fault.message}", fault.help)


def _default(value: object, t: Type, what: str) -> object:
    try:
        return _written_value(convert(value, t, lambda value: False))
    except Mismatch as mismatch:
        message = f"the default of {what} must be {mismatch.expected}, not {describe(mismatch.value)}"
        _refuse("C10E205", message, "make None the default, and fill it in inside the function")


def _written_value(value: object) -> object:
    """*value* as a text gives it back: lists as tuples, a complex number without the sign of a zero."""
    if isinstance(value, list):
        return tuple(map(_written_value, value))
    return value + 0.0 if isinstance(value, complex) else value


def _returns(annotation: object) -> tuple[Argument, ...]:
    if annotation is None or annotation is type(None):
        return ()
    t = _type(annotation, "the return")
    return tuple(Argument("", part) for part in (t.parts if isinstance(t, CompoundType) else (t,)))


def _mutated(arguments: list[Argument], mutates: Sequence[str]) -> tuple[Argument, ...]:
    """*arguments*, those named in *mutates* annotated as written, each in a set of its own."""
    known = [argument.name for argument in arguments]
    for name in mutates:
        if name not in known:
            _refuse("C10E208", f"there is no parameter `{name}` to mutate", did_you_mean(name, known))
    written = [name for name in known if name in mutates]
    sets = {name: _LETTERS[i] if i < len(_LETTERS) else f"s{i}" for i, name in enumerate(written)}
    return tuple(_written(a, sets[a.name]) if a.name in sets else a for a in arguments)


def _written(argument: Argument, name: str) -> Argument:
    t = argument.type
    inner = t.element if isinstance(t, OptionalType) else t
    alias = AliasInfo((name,), (name,), True)
    if isinstance(inner, ListType) and inner.element in (TENSOR, OptionalType(TENSOR)):
        alias = AliasInfo((), (), True, alias)  # of tensors the elements are written, of numbers the list
    elif inner != TENSOR and not isinstance(inner, ListType):
        message = f"parameter `{argument.name}` is `{t}`, which cannot be written"
        _refuse("C10E208", message, "leave it out of `mutates`")
    return replace(argument, alias=alias)
