"""The schema that a Python function's annotations and defaults amount to.

What comes out is always a schema that the strict dialect reads back; what
cannot be one is refused with the parameter named.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import sys
import typing
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

from c10cli.errors import Diagnostic, SchemaError, Span, did_you_mean
from c10cli.schema.annotations import Unknown, returns_of, type_of_annotation
from c10cli.schema.literals import NoLiteral, default_of
from c10cli.schema.model import AliasInfo, Argument, FunctionSchema, OperatorName
from c10cli.schema.parser import parse_name, parse_schema
from c10cli.schema.types import TENSOR, DictType, ListType, OptionalType, Type, optional

__all__ = ["infer_schema", "type_of"]

_EMPTY: Final = inspect.Parameter.empty
_STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def type_of(annotation: object) -> Type:
    """The schema type of a Python annotation, such as ``int | None`` or ``"list[Tensor]"``.

    Raises:
        SchemaError: C10E204, no schema type stands for it.

    >>> [str(type_of(t)) for t in (int | None, list[float], tuple[int, str], int | float, "npt.NDArray")]
    ['int?', 'float[]', '(int, str)', 'Scalar', 'Tensor']
    """
    try:
        return type_of_annotation(annotation, vars(typing))
    except Unknown as fault:
        raise SchemaError(Diagnostic("C10E204", fault.message, help=fault.help)) from None


def infer_schema(
    function: Callable[..., Any], *, name: str | None = None, mutates: Sequence[str] = ()
) -> FunctionSchema:
    """The schema of *function*, from its annotations and defaults.

    A tuple of fixed length is returned as that many returns, a NamedTuple as
    named ones.  A default of None makes its argument optional.  That a result
    shares memory with an argument cannot be seen, and is not in the schema.

    Args:
        name: the operator's; without one, the last part of the function's
            module and its own name: ``layer_norm::layer_norm_cpu``.
        mutates: the arguments that *function* writes.

    Raises:
        SchemaError: the function has something that no schema has: an
            annotation (C10E204), a default (C10E205), ``*args`` (C10E207); or
            *mutates* names what cannot be written (C10E208).

    >>> def scale(x: "Tensor", by: float = 2.0, *, out: "Tensor | None" = None) -> "Tensor": ...
    >>> str(infer_schema(scale, name="demo::scale", mutates=["out"]))
    'demo::scale(Tensor x, float by=2.0, *, Tensor(a!)? out=None) -> Tensor'
    """
    return _Function(function).schema(name, mutates)


class _Function:
    """A function under inspection."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        # Where its annotations were written: below decorators, inside a method or an object that is called.
        plain = inspect.unwrap(function)
        while isinstance(plain, functools.partial):
            plain = inspect.unwrap(plain.func)
        plain = getattr(plain, "__func__", plain)
        names = (getattr(f, "__name__", None) for f in (function, plain))
        self.shown: str = next(filter(None, names), type(function).__name__)
        if not hasattr(plain, "__code__") and not isinstance(plain, type):
            plain = getattr(type(plain).__call__, "__wrapped__", type(plain).__call__)
        self.plain = plain
        self.names = {**vars(typing), **getattr(plain, "__globals__", {}), **_closure(plain)}

    def schema(self, name: str | None, mutates: Sequence[str]) -> FunctionSchema:
        """The schema called *name*."""
        signature = self._signature()
        arguments = tuple(self._argument(p) for p in signature.parameters.values())
        schema = FunctionSchema(
            self._name(name), self._mutated(arguments, mutates), self._returns(signature.return_annotation)
        )
        try:
            return parse_schema(str(schema), "strict")
        except SchemaError as error:
            first = error.diagnostics[0]
            note = f"it would be `{schema}`"
            self._refuse(first.code, first.message, help=first.help, notes=(*first.notes, note), cause=error)

    def _signature(self) -> inspect.Signature:
        if inspect.iscoroutinefunction(self.plain) or inspect.isgeneratorfunction(self.plain):
            kind = "a coroutine" if inspect.iscoroutinefunction(self.plain) else "a generator"
            self._refuse("C10E204", f"`{self.shown}` returns {kind}", help="return the values themselves")
        try:
            if sys.version_info >= (3, 14):  # where names that do not resolve are no strings
                import annotationlib

                return inspect.signature(self.function, annotation_format=annotationlib.Format.FORWARDREF)
            return inspect.signature(self.function)
        except (TypeError, ValueError) as error:
            message = f"`{self.shown}` has no signature that Python can see"
            self._refuse("C10E204", message, help="wrap it in an annotated function", cause=error)

    def _name(self, name: str | None) -> OperatorName:
        if name is not None:
            return parse_name(name)
        module = (getattr(self.plain, "__module__", None) or "").rpartition(".")[2].strip("_")
        if not self.shown.isidentifier():
            message = f"`{self.shown}` is no name for an operator"
            self._refuse("C10E203", message, help='give one: `name="ns::name"`')
        return OperatorName(module or "unnamed", self.shown)

    def _argument(self, parameter: inspect.Parameter) -> Argument:
        name = parameter.name
        if parameter.kind in _STARS:
            stars = _STARS[parameter.kind]
            message = f"`{stars}{name}` of `{self.shown}` takes any number of values"
            self._refuse("C10E207", message, help="take a list, or name each argument")
        if parameter.annotation is _EMPTY:
            message = f"parameter `{name}` of `{self.shown}` has no annotation"
            self._refuse("C10E204", message, help=f"write its type: `{name}: Tensor`")
        t = self._type(parameter.annotation, f"parameter `{name}`")
        has_default = parameter.default is not _EMPTY
        default = None
        if has_default and parameter.default is None:
            t = optional(t)
        elif has_default:
            default = self._default(parameter, t)
        is_keyword_only = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        return Argument(name, t, has_default=has_default, default=default, kwarg_only=is_keyword_only)

    def _type(self, annotation: object, what: str) -> Type:
        try:
            return type_of_annotation(annotation, self.names)
        except Unknown as fault:
            self._refuse("C10E204", f"{what} of `{self.shown}`: {fault.message}", help=fault.help)

    def _default(self, parameter: inspect.Parameter, t: Type) -> object:
        try:
            return default_of(parameter.default, t)
        except NoLiteral as fault:
            message = f"default of parameter `{parameter.name}` of `{self.shown}`: {fault.message}"
            self._refuse("C10E205", message, help=fault.help)

    def _returns(self, annotation: object) -> tuple[Argument, ...]:
        if annotation is _EMPTY:
            message = f"the return of `{self.shown}` has no annotation"
            self._refuse("C10E204", message, help="write `-> Tensor`, or `-> None` where nothing is returned")
        try:
            found = returns_of(annotation, self.names)
        except Unknown as fault:
            self._refuse("C10E204", f"the return of `{self.shown}`: {fault.message}", help=fault.help)
        return tuple(Argument(name, t) for name, t in found)

    def _mutated(self, arguments: tuple[Argument, ...], mutates: Sequence[str]) -> tuple[Argument, ...]:
        """*arguments*, those named in *mutates* annotated as written, each in a set of its own."""
        wanted = [mutates] if isinstance(mutates, str) else list(mutates)
        known = [argument.name for argument in arguments]
        for name in wanted:
            if name not in known:
                message = f"`{self.shown}` has no parameter `{name}` to mutate"
                self._refuse("C10E208", message, help=did_you_mean(name, known))
        sets = iter(_set_names(len(wanted)))
        found = []
        for argument in arguments:
            alias = None
            if argument.name in wanted:
                alias = _written(argument.type, next(sets))
                if alias is None:
                    message = f"parameter `{argument.name}` of `{self.shown}` is `{argument.type}`"
                    self._refuse(
                        "C10E208", f"{message}, which cannot be written", help="leave it out of `mutates`"
                    )
            found.append(replace(argument, alias=alias))
        return tuple(found)

    def _refuse(
        self,
        code: str,
        message: str,
        *,
        help: str = "",
        notes: tuple[str, ...] = (),
        cause: Exception | None = None,
    ) -> NoReturn:
        span = _place(self.plain)
        place = "" if span else f"function {self.shown}"
        raise SchemaError(
            Diagnostic(code, message, span, place=place, notes=notes, help=help), function=self.function
        ) from cause


def _closure(function: object) -> dict[str, object]:
    """The names of enclosing functions that *function* uses."""
    cells = zip(
        getattr(getattr(function, "__code__", None), "co_freevars", ()),
        getattr(function, "__closure__", None) or (),
        strict=False,
    )
    found = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not filled yet
            continue
    return found


def _place(function: object) -> Span | None:
    """The line on which *function* begins."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    line = code.co_firstlineno
    text = linecache.getline(code.co_filename, line).rstrip("\n")
    column = len(text) - len(text.lstrip()) + 1
    return Span(code.co_filename, line, column, max(len(text), column) + 1, text or None)


def _set_names(count: int) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [letters[i] if i < len(letters) else f"s{i}" for i in range(count)]


def _written(t: Type, name: str) -> AliasInfo | None:
    """The annotation of an argument of type *t* that is written; None where nothing can be."""
    inner = t.element if isinstance(t, OptionalType) else t
    own = AliasInfo((name,), (name,), True)
    if inner == TENSOR or isinstance(inner, DictType):
        return own
    if isinstance(inner, ListType):
        element = inner.element.element if isinstance(inner.element, OptionalType) else inner.element
        # Of tensors the elements are written, of numbers the list.
        return AliasInfo((), (), True, own) if element == TENSOR else own
    return None
