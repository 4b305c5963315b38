"""Whether a kernel's Python signature can take a schema's arguments.

Asked once, at registration.  The comparison works on `inspect.Signature`
values, so that it serves functions and signatures read from source alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS, Parameter, Signature
from types import FunctionType
from typing import Any, Final

from c10cli.dispatch.annotations import ARRAY_OR_TEXT, annotation_text, said
from c10cli.errors import counted
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.types import ANY, NONE, STR, TENSOR, CompoundType, ListType, Type, union_parts

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


def annotation_advice(fact: str) -> str:
    """What to do about a mismatch of annotations; empty where *fact* is another one."""
    is_one = fact.startswith(("annotates", "is annotated"))
    return (
        "correct the annotation, or declare in the schema what the kernel takes and returns" if is_one else ""
    )


def by_position(schema: FunctionSchema, signature: Signature) -> list[str]:
    """The keyword-only arguments of *schema* that a kernel takes by position, too."""
    names = {argument.name for argument in schema.keyword_only}
    return [p.name for p in signature.parameters.values() if p.name in names and p.kind in _POSITIONAL]


def other_defaults(schema: FunctionSchema, signature: Signature) -> list[str]:
    """Defaults of a kernel that are not the schema's, in words; only plain values are compared."""
    return [
        f"has `{argument.name}={signature.parameters[argument.name].default!r}`, and the schema `{argument}`"
        for argument in schema.arguments
        if argument.has_default and _defaults_differ(argument, signature.parameters.get(argument.name))
    ]


def _defaults_differ(argument: Argument, parameter: Parameter | None) -> bool:
    if parameter is None or parameter.default in (Parameter.empty, ...):
        return False
    plain = str(argument.type).replace("?", "").replace("[]", "")
    given, declared = parameter.default, argument.default
    if isinstance(declared, tuple) and not isinstance(given, tuple):  # `int[2] n=1` may be declared so
        given = (given,) * len(declared)
    return plain in PYTHON_TYPES and bool(given != declared)


def needed_by(creator: Signature | None) -> str:
    """The parameters that a cache *creator*, which is given nothing, must have; empty where it needs none."""
    parameters = creator.parameters.values() if creator else ()
    needed = [p.name for p in parameters if p.default is Parameter.empty and p.kind not in _VARIADIC]
    return ", ".join(f"`{name}`" for name in needed)


CREATOR_ADVICE: Final = "give them defaults, or name a function that makes the cache and takes nothing"


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
# An argument annotated as one of these may be given one before it (PEP 484).
_TOWER: Final = ("bool", "int", "float", "complex")


def _annotation_mismatch(schema: FunctionSchema, signature: Signature) -> str | None:
    """What annotations say that certainly contradicts the schema."""
    for argument in schema.arguments:
        parameter = signature.parameters.get(argument.name)
        if parameter is None or parameter.kind in _VARIADIC:
            continue
        text = annotation_text(parameter.annotation)
        if not _takes(said(text), argument):
            return f"annotates `{argument.name}` as {text}, and the schema says {argument.type}"
    text, returns = annotation_text(signature.return_annotation), schema.returns
    given = said(text)
    if len(returns) == 1:
        fact = f"is annotated to return {text}, and the schema returns {returns[0].type}"
        return None if _may_be(given, returns[0].type) else fact
    if any(_gives(part, returns) for part in union_parts(given)):
        return None
    count = _count(given)
    if count in (None, len(returns)):
        listed = ", ".join(str(declared.type) for declared in returns)
        return f"is annotated to return {text}, and the schema returns ({listed})"
    return f"is annotated to return {counted(count, 'value')} ({text}), and the schema returns {len(returns)}"


def _takes(annotated: Type, argument: Argument) -> bool:
    """Whether a parameter that is *annotated* so may be given a value of *argument*."""
    fits = _may_be(annotated, argument.type, below=True)
    # A list of fixed length is called with a single value, too.
    if not fits and argument.N is not None and isinstance(argument.type, ListType):
        return _may_be(annotated, argument.type.element, below=True)
    return fits


def _gives(annotated: Type, returns: Sequence[Argument]) -> bool:
    """Whether a function that is *annotated* to return so may give *returns*, which are not one."""
    if annotated == ANY:
        return True
    if isinstance(annotated, ListType):
        return all(_may_be(annotated.element, declared.type) for declared in returns)
    if _count(annotated) != len(returns):
        return False
    parts = annotated.parts if isinstance(annotated, CompoundType) else ()
    return all(_may_be(part, declared.type) for part, declared in zip(parts, returns, strict=True))


def _count(annotated: Type) -> int | None:
    """How many returns a value so *annotated* is; None where that is open."""
    if isinstance(annotated, CompoundType) and not annotated.head:
        return len(annotated.parts)
    if isinstance(annotated, ListType) or len(union_parts(annotated)) > 1:
        return None
    return int(annotated != NONE)


def _may_be(annotated: Type, declared: Type, *, below: bool = False) -> bool:
    """Whether a value may be of both types, as far as can be told.

    Args:
        below: *annotated* stands for the numbers below it, too.
    """
    wanted, parts = union_parts(declared), union_parts(annotated)
    if len(wanted) > 1 or len(parts) > 1:
        # That both may be None tells nothing of what else they are.
        if len(wanted) > 1 and len(parts) > 1 and NONE in wanted and NONE in parts:
            parts = tuple(part for part in parts if part != NONE)
        return any(_may_be(part, one, below=below) for part in parts for one in wanted)
    if ANY in (annotated, declared):
        return True
    if annotated == ARRAY_OR_TEXT:
        return declared in (TENSOR, STR)
    if isinstance(declared, ListType):
        if isinstance(annotated, ListType):
            return _may_be(annotated.element, declared.element, below=below)
        if isinstance(annotated, CompoundType):
            return all(_may_be(part, declared.element, below=below) for part in annotated.parts)
        return annotated == TENSOR
    if declared in (TENSOR, NONE):
        return annotated == declared
    accepted = {kind.__name__ for kind in PYTHON_TYPES.get(str(declared), ())}
    if not accepted or annotated == TENSOR:  # types without a rule; an array may stand for a number
        return True
    name = str(annotated)
    names = _TOWER[: _TOWER.index(name) + 1] if below and name in _TOWER else (name,)
    return not accepted.isdisjoint(names)


def _listed(parameters: Sequence[Parameter]) -> str:
    return "(" + ", ".join(str(p).split(":")[0].split("=")[0].strip() for p in parameters) + ")"


def _schema_list(schema: FunctionSchema) -> str:
    return "(" + ", ".join(argument.name for argument in schema.arguments) + ")"
