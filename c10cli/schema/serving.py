"""Whether what has one schema can serve the calls of another, as a kernel of torch's those of an operator."""

from __future__ import annotations

from c10cli.errors import Diagnostic, SchemaError, counted
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.parser import parse_schema
from c10cli.schema.type_parser import custom_classes
from c10cli.schema.types import ListType, OptionalType, Type, is_subtype, plain_type


def refusal(schema: FunctionSchema, declared: str) -> Diagnostic | None:
    """Why the operator that torch declares as *declared* cannot be a kernel of *schema*, if so."""
    try:
        other = parse_schema(declared, "torch", known_classes=custom_classes(declared))
    except SchemaError:  # torch prints some defaults so that nobody can read them
        return None
    reason = misfit(schema, other)
    fact = f"torch's `{other.name}` does not fit the schema of `{schema.name}`: it {reason}"
    notes = f"the schema is {schema}", f"torch has {declared}"
    todo = "correct the schema, or name another kernel"
    return Diagnostic("C10E305", fact, notes=notes, help=todo) if reason else None


def misfit(schema: FunctionSchema, other: FunctionSchema) -> str:
    """Why a kernel of the schema *other* cannot serve calls of *schema*; empty where it can.

    A kernel gets all arguments, positional ones by their place and keyword-only
    ones by name.  So it may have other defaults, more arguments with a default,
    and for what comes by its place a name that nothing else has.

    >>> sub = parse_schema("t::sub(Tensor self, Tensor other) -> Tensor")
    >>> misfit(parse_schema("t::sub(Tensor other, Tensor self) -> Tensor"), sub)
    'takes `self` where the schema has `other`'
    """
    names, places = {argument.name: argument for argument in other.arguments}, other.positional
    known = {argument.name for argument in schema.arguments}
    for index, mine in enumerate(schema.arguments):
        by_place = places[index] if index < len(places) else None
        its = names.get(mine.name) if mine.kwarg_only else by_place
        if its is None or its.name not in names:
            return f"takes no `{mine.name}` {'by keyword' if mine.kwarg_only else 'at its place'}"
        if mine.name != its.name and (mine.name in names or its.name in known):
            return f"takes `{its.name}` where the schema has `{mine.name}`"
        reason = _argument_misfit(mine, its)
        if reason:
            return reason
        del names[its.name]
    needed = [argument.name for argument in names.values() if not argument.has_default]
    if needed:
        return f"needs `{needed[0]}`, which the schema does not have"
    return _returns_misfit(schema.returns, other.returns)


def _argument_misfit(mine: Argument, its: Argument) -> str:
    if not _fits(mine.type, its.type):
        return f"takes `{its.type}` for `{mine.name}`, and the schema has `{mine.type}`"
    if mine.is_mutable != its.is_mutable:
        does, says = ("does not write", "does") if mine.is_mutable else ("writes", "does not")
        return f"{does} `{mine.name}`, and the schema says that it {says}"
    return ""


def _returns_misfit(mine: tuple[Argument, ...], its: tuple[Argument, ...]) -> str:
    if len(mine) != len(its):
        return f"returns {counted(len(its), 'value')}, and the schema has {len(mine)}"
    names, known = ({declared.name for declared in returns} - {""} for returns in (its, mine))
    for wanted, given in zip(mine, its, strict=True):
        if not _fits(given.type, wanted.type):
            return f"returns `{given.type}`, and the schema has `{wanted.type}`"
        if wanted.name != given.name and (wanted.name in names or given.name in known):
            return f"returns `{given}` where the schema has `{wanted}`"
    return ""


def _fits(t: Type, wanted: Type) -> bool:
    """Whether a value of type *t* is one of type *wanted*; a list is passed for its items."""
    if isinstance(t, OptionalType) and isinstance(wanted, OptionalType):
        return _fits(t.element, wanted.element)
    inner = wanted.element if isinstance(wanted, OptionalType) else wanted
    if isinstance(t, ListType) and isinstance(inner, ListType):
        return _fits(t.element, inner.element)
    return is_subtype(plain_type(t), plain_type(wanted))
