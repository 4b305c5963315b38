"""Whether a kernel's Python signature can take a schema's arguments.

Asked once, at registration.  The comparison works on `inspect.Signature`
values, so that it serves functions and signatures read from source alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS, Parameter, Signature
from types import FunctionType
from typing import Any

from c10cli.errors import counted
from c10cli.schema.model import FunctionSchema
from c10cli.schema.types import Type, is_optional_tensor, is_tensor, is_tensor_list

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def mismatch(
    schema: FunctionSchema, signature: Signature, *, has_cache: bool = False, boxed: bool = False
) -> str | None:
    """Why a kernel with *signature* cannot serve *schema*, or None where it can.

    Args:
        has_cache: the kernel takes its cache as one more, last argument.
        boxed: the kernel takes a stack and a cache.
    """
    parameters = list(signature.parameters.values())
    if boxed:
        return _boxed_mismatch(parameters)
    names = {p.name for p in schema.arguments}
    if has_cache:
        parameter = cache_parameter(schema, signature)
        if parameter is None and not _takes_any_position(parameters):
            return f"takes {len(parameters)} arguments and none of them is left for the cache"
        misplaced = parameter and _misplaced_cache(schema, parameters, parameter)
        if misplaced:
            return misplaced
        parameters = [p for p in parameters if p is not parameter]
    return (
        _count_mismatch(schema, parameters)
        or _passing_mismatch(schema, parameters, names)
        or _annotation_mismatch(schema, signature)
    )


def cache_parameter(schema: FunctionSchema, signature: Signature) -> Parameter | None:
    """The parameter that takes the kernel cache: the last one that is no argument of *schema*."""
    names = {argument.name for argument in schema.arguments}
    left = [p for p in signature.parameters.values() if p.name not in names and p.kind not in _VARIADIC]
    return left[-1] if left else None


_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def _misplaced_cache(schema: FunctionSchema, parameters: Sequence[Parameter], cache: Parameter) -> str | None:
    """Why *cache* would get an argument's value, or another parameter the cache's."""
    positional = [p for p in parameters if p.kind in _POSITIONAL]
    if cache not in positional:
        return None
    index, wanted = positional.index(cache), len(schema.positional)
    # By keyword it may stand anywhere behind what comes by position.
    if index == wanted or (index > wanted and cache.kind is not Parameter.POSITIONAL_ONLY):
        return None
    return f"takes its cache `{cache.name}` as argument {index}, and is passed it as argument {wanted}"


def has_arguments_of(schema: FunctionSchema, kernel: object) -> bool:
    """Whether *kernel* is a plain function with the arguments of *schema*, each by name and kind."""
    if not isinstance(kernel, FunctionType):
        return False
    code, names = kernel.__code__, [argument.name for argument in schema.arguments]
    return (
        list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) == names
        and code.co_argcount == len(schema.positional)
        and not code.co_posonlyargcount
        and not code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    )


def has_schema_signature(schema: FunctionSchema, kernel: Any) -> bool:
    """Whether every call of *kernel* is one of *schema*: no default anywhere, and one return."""
    return (
        len(schema.returns) == 1
        and has_arguments_of(schema, kernel)
        and not (kernel.__defaults__ or kernel.__kwdefaults__)
        and not any(argument.has_default for argument in schema.arguments)
    )


def _takes_any_position(parameters: Sequence[Parameter]) -> bool:
    return any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)


def _boxed_mismatch(parameters: Sequence[Parameter]) -> str | None:
    positional = [p for p in parameters if p.kind in _POSITIONAL]
    required = [p for p in parameters if p.default is Parameter.empty and p.kind not in _VARIADIC]
    fits = len(positional) >= 2 or _takes_any_position(parameters)
    if fits and all(p in positional[:2] for p in required):
        return None
    return f"is registered as boxed, which takes (stack, cache), but takes {_listed(parameters)}"


def _count_mismatch(schema: FunctionSchema, parameters: Sequence[Parameter]) -> str | None:
    """The difference in number alone, which explains itself better than the first name that differs."""
    named = [p for p in parameters if p.kind not in _VARIADIC]
    required = [p for p in named if p.default is Parameter.empty]
    wanted = len(schema.arguments)
    too_many = len(required) > wanted
    too_few = len(named) < wanted and not any(p.kind in _VARIADIC for p in parameters)
    if not (too_many or too_few):
        return None
    taken = len(required) if too_many else len(named)
    listed = f"{_listed(named)} against {_schema_list(schema)}"
    return f"takes {counted(taken, 'argument')}, and the schema has {wanted}: {listed}"


def _passing_mismatch(schema: FunctionSchema, parameters: Sequence[Parameter], names: set[str]) -> str | None:
    """What is passed in another way, or under another name, than it is taken."""
    keywords = {argument.name: argument.name for argument in schema.keyword_only}
    try:
        bound = Signature(parameters).bind(*(argument.name for argument in schema.positional), **keywords)
    except TypeError as error:
        bare = [p.replace(annotation=Parameter.empty, default=Parameter.empty) for p in parameters]
        return f"takes {Signature(bare)}, which cannot be called as the schema says: {error}"
    by_name = {p.name: p for p in parameters}
    for index, (name, passed) in enumerate(bound.arguments.items()):
        # A positional-only name is nobody's to use, so it may differ, but not be that of another argument.
        free = by_name[name].kind is Parameter.POSITIONAL_ONLY and name not in names
        if isinstance(passed, str) and name != passed and not free:
            return f"calls argument {index} `{name}`, and the schema calls it `{passed}`"
    return None


# What Python has for a value of a schema type, where that is something plain.
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "SymInt": (int,),
    "float": (float,),
    "bool": (bool,),
    "str": (str,),
    "complex": (complex,),
    "Scalar": (bool, int, float, complex),
}
_PLAIN = {plain.__name__: plain for types in PYTHON_TYPES.values() for plain in types}


def _annotation_mismatch(schema: FunctionSchema, signature: Signature) -> str | None:
    """A contradiction between annotations and schema; only plain Python types are judged."""
    for argument in schema.arguments:
        parameter = signature.parameters.get(argument.name)
        plain = _plain_type(parameter.annotation) if parameter else None
        if plain is not None and not _may_be(argument.type, plain):
            return f"annotates `{argument.name}` as {plain.__name__}, and the schema says {argument.type}"
    plain, returns = _plain_type(signature.return_annotation), schema.returns
    if plain is not None and len(returns) != 1:
        return f"is annotated to return 1 value ({plain.__name__}), and the schema returns {len(returns)}"
    if plain is not None and not _may_be(returns[0].type, plain):
        return f"is annotated to return {plain.__name__}, and the schema returns {returns[0].type}"
    return None


def _plain_type(annotation: Any) -> type | None:
    """The plain type that *annotation* is, or is the name of."""
    if isinstance(annotation, str):
        return _PLAIN.get(annotation)
    return next((plain for plain in _PLAIN.values() if annotation is plain), None)


def _may_be(declared: Type, plain: type) -> bool:
    if any(test(declared) for test in (is_tensor, is_optional_tensor, is_tensor_list)):
        return False
    accepted = PYTHON_TYPES.get(str(declared))
    return accepted is None or plain in accepted


def _listed(parameters: Sequence[Parameter]) -> str:
    return "(" + ", ".join(str(p).split(":")[0].split("=")[0].strip() for p in parameters) + ")"


def _schema_list(schema: FunctionSchema) -> str:
    return "(" + ", ".join(argument.name for argument in schema.arguments) + ")"
