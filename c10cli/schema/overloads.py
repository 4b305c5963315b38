"""Which of several overloads a call means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from c10cli.errors import ArgumentError, Diagnostic
from c10cli.schema.model import FunctionSchema

__all__ = ["ResolvedOverload", "resolve_overload"]


@dataclass(frozen=True, slots=True)
class ResolvedOverload:
    """The overload that a call means, and why none before it.

    Args:
        bound: the values by argument name, as `FunctionSchema.bind` gives them.
        refused: of each overload before it, why it does not take the call.
    """

    schema: FunctionSchema
    bound: dict[str, object]
    refused: tuple[str, ...]


def resolve_overload(
    schemas: Sequence[FunctionSchema],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    *,
    is_tensor: Callable[[object], bool] | None = None,
) -> ResolvedOverload:
    """The first of *schemas* that takes the call; torch too goes by the order of registration.

    Raises:
        ArgumentError: none does (C10E402); a note for each says why.

    >>> from c10cli.schema.parser import parse_schema
    >>> texts = "t::op.Tensor(Tensor self, Tensor other) -> ()", "t::op.Scalar(Tensor self, Scalar n) -> ()"
    >>> str(resolve_overload([parse_schema(t) for t in texts], [object(), 2], {}).schema.name)
    't::op.Scalar'
    """
    refused: list[str] = []
    for schema in schemas:
        try:
            bound = schema.bind(args, kwargs, is_tensor=is_tensor)
        except ArgumentError as error:
            refused += [d.message for d in error.diagnostics]
        else:
            return ResolvedOverload(schema, bound, tuple(refused))
    name = schemas[0].name.qualified if schemas else ""
    message = f"none of the {len(schemas)} overloads of `{name}` takes this call"
    declared = tuple(f"declared as `{schema}`" for schema in schemas[:8])
    diagnostic = Diagnostic("C10E402", message, place=f"call of {name}", notes=(*refused[:8], *declared))
    raise ArgumentError(diagnostic, operator=name)
