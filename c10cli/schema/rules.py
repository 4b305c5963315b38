"""What a schema must keep to beyond its grammar: order, names, alias sets."""

from __future__ import annotations

from typing import Final

from c10cli.schema.lexer import Lexer, clip
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.types import ListType

# Names to torch, but no names of a Python function's parameters.
_PYTHON_ONLY: Final = {"async", "await", "except", "finally", "from", "lambda", "nonlocal", "try", "yield"}
_PYTHON_ONLY.add("__debug__")


def check_order(lexer: Lexer, schema: FunctionSchema, *, strict: bool) -> None:
    """Raise where a default stands before an argument without one, or beside ``...``.

    torch lets a list without default follow; Python, and so the strict dialect, does not.
    """
    seen = False
    for argument in schema.arguments:
        if argument.has_default:
            if schema.is_vararg:
                message = f"`{argument.name}` has a default, but the arguments end in `...`"
                lexer.fail("C10E207", message, *argument.span)
            seen = True
        elif seen and not argument.kwarg_only and (strict or not isinstance(argument.type, ListType)):
            message = f"`{argument.name}` without a default follows an argument with one"
            hint = "give it a default, or move it before the others or behind `*`"
            lexer.fail("C10E207", message, *argument.name_span, help=hint)


def check_strict(
    lexer: Lexer, schema: FunctionSchema, name_start: int, stars: list[int], dropped: tuple[int, int] | None
) -> None:
    """Raise for what torch takes and an operator of ours may not have.

    Args:
        stars: where each ``*`` between the arguments stands.
        dropped: the annotation that stands where it has no meaning.
    """
    _check_stars(lexer, schema, stars)
    _check_names(lexer, schema.arguments, "argument")
    _check_names(lexer, schema.returns, "return")
    if dropped:
        message = "an alias annotation inside another type is not kept"
        lexer.fail("C10E208", message, *dropped, help="annotate the outermost list or value only")
    _check_aliases(lexer, schema)
    # Last, so that a text with another fault is told of that one.
    if not schema.name.namespace:
        base = schema.name.base
        message = f"the operator name `{clip(base)}` has no namespace"
        hint = f"write `c10::{clip(base)}`, or your namespace for `c10`"
        lexer.fail("C10E203", message, name_start, name_start + len(base), help=hint)


def _check_stars(lexer: Lexer, schema: FunctionSchema, stars: list[int]) -> None:
    if len(stars) > 1:
        message = "`*` is given twice among the arguments"
        lexer.fail("C10E207", message, stars[1], stars[1] + 1, help="keep the first one")
    if stars and not (schema.arguments and schema.arguments[-1].kwarg_only):
        message = "no keyword-only argument follows `*`"
        lexer.fail("C10E207", message, stars[0], stars[0] + 1, help="remove the `*`")


def _check_names(lexer: Lexer, values: tuple[Argument, ...], what: str) -> None:
    seen: set[str] = set()
    for value in values:
        name = value.name
        if name and name in seen:
            message = f"the {what} name `{name}` is used twice"
            lexer.fail("C10E206", message, *value.name_span, help=f"rename one of the two {what}s")
        if name in _PYTHON_ONLY and what == "argument":
            message = f"`{name}` is a Python keyword and cannot name an argument"
            lexer.fail("C10E201", message, *value.name_span, help=f"write `{name}_`")
        seen.add(name)


def _check_aliases(lexer: Lexer, schema: FunctionSchema) -> None:
    """Sets of returns must be those of arguments, and a written set has one argument."""
    declared: set[str] = set()
    written: set[str] = set()
    for argument in schema.arguments:
        if argument.alias is not None:
            twice = written & argument.alias.written_sets
            if twice:
                message = f"two arguments write the alias set `{min(twice)}`"
                lexer.fail("C10E208", message, *argument.type_span, help="give each its own set")
            written |= argument.alias.written_sets
            declared |= argument.alias.sets
    for value in schema.returns:
        unknown = value.alias.sets - declared if value.alias is not None else None
        if unknown:
            name = min(unknown)
            message = f"no argument declares the alias set `{name}` of the return"
            hint = f"annotate the argument that it aliases: `Tensor({name})`"
            if name[0] == "$":  # `Tensor!`, whose set has no name to share
                message = "no argument declares the alias set of the return"
                hint = "name the set, on the return and on the argument that it aliases: `Tensor(a!)`"
            lexer.fail("C10E208", message, *value.type_span, help=hint)
