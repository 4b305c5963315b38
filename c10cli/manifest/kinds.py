"""Inputs of cases that surely do not fit their argument, told without making an array."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from c10cli.arrays.expression import Expression, evaluate, makes_array, parse_expression
from c10cli.errors import ArgumentError, Diagnostic, ManifestError
from c10cli.manifest.model import CaseDecl, OperatorDecl
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.types import is_optional_tensor, is_tensor, is_tensor_list

__all__ = ["check_kinds"]


class _Array:
    """What stands for an array that an expression would make."""

    shape = None


_ARRAY = _Array()


def check_kinds(
    operator: OperatorDecl, case: CaseDecl, leave_out: Collection[str] = ()
) -> Iterator[Diagnostic]:
    """A finding for each input that no value of its argument's type can come from.

    Args:
        leave_out: inputs whose expressions are not understood.
    """
    arguments = {argument.name: argument for argument in operator.schema.arguments}
    for name, source in case.inputs.items():
        if name not in arguments or name in leave_out:
            continue
        for value in _values(case, source):
            fault = _fault(operator.schema, arguments[name], value)
            if fault is not None:
                span = case.node.child("inputs").span(name)
                yield replace(fault, span=span, place="").with_notes(f"in case {case.name}")
                break


def _values(case: CaseDecl, source: object) -> list[object]:
    """What an input may be, as far as it can be told: one value, or one for each of a sweep."""
    if not isinstance(source, str):
        return [source]
    expression = parse_expression(source)
    if makes_array(expression):
        return [_ARRAY]
    if expression.text.strip() in case.sweep:
        return list(case.sweep[expression.text.strip()])
    return [] if expression.names or expression.functions else _constant(expression)


def _constant(expression: Expression) -> list[object]:
    try:
        return [evaluate(expression, functions={})]
    except ManifestError:  # such as a division by 0, which evaluating it for the case tells
        return []


def _fault(schema: FunctionSchema, argument: Argument, value: object) -> Diagnostic | None:
    """Why *value* does not fit *argument*; nested lists are arrays where one is wanted."""
    kind = argument.type
    takes_tensor = is_tensor(kind) or is_optional_tensor(kind)
    if isinstance(value, list | tuple) and (takes_tensor or is_tensor_list(kind)):
        return None
    try:
        replace(schema, arguments=(replace(argument, kwarg_only=True),)).bind(
            (), {argument.name: value}, is_tensor=lambda given: given is _ARRAY
        )
    except ArgumentError as error:
        fault = error.diagnostics[0]
        message = fault.message.replace(_Array.__name__, "a tensor")
        is_number = takes_tensor and isinstance(value, int | float) and not isinstance(value, bool)
        todo = f"write `full((), {value})` for a tensor without dimensions" if is_number else fault.help
        return replace(fault, message=message, notes=(f"declared as `{schema}`",), help=todo)
    return None
