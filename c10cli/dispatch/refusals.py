"""What the dispatcher refuses to register or deregister, as errors with both places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from c10cli.arrays.keys import DispatchKey
from c10cli.describe import describe
from c10cli.errors import ArgumentError, Diagnostic, RegistrationError, capped
from c10cli.schema.model import Argument, FunctionSchema

if TYPE_CHECKING:
    from c10cli.dispatch.kernel import KernelEntry
    from c10cli.dispatch.operator import OperatorHandle
    from c10cli.dispatch.table import DispatchTable

# So that no error takes more than 15 lines.
_MOST_LINES = 8


def defined_twice(existing: OperatorHandle, new: OperatorHandle) -> RegistrationError:
    """The error for *new*, whose name *existing* has."""
    first, second = existing.schema, new.schema
    differences = list(schema_differences(first, second))
    notes = [f"the first is registered at {existing.site}", f"the second comes from {new.site}"]
    if differences:
        notes += [f"the first is {first}", f"the second is {second}", *capped(differences, _MOST_LINES - 2)]
    which = "another" if differences else "the same"
    return RegistrationError(
        Diagnostic(
            "C10E301",
            f"operator `{new.name}` is registered already, with {which} schema",
            place=new.site,
            notes=tuple(notes),
            help="give the second one an overload name"
            if differences
            else "register it once and share the handle",
        ),
        operator=str(new.name),
        sites=(existing.site, new.site),
    )


def schema_differences(first: FunctionSchema, second: FunctionSchema) -> Iterator[str]:
    """What differs between two schemas of one name, a sentence per argument or return."""
    for kind, left, right in (
        ("argument", first.arguments, second.arguments),
        ("return", first.returns, second.returns),
    ):
        if len(left) != len(right):
            yield f"the first has {len(left)} {kind}s, the second {len(right)}"
        for index, (one, other) in enumerate(zip(left, right, strict=False)):
            fields = [name for name, value in _fields(one).items() if value != _fields(other)[name]]
            if fields:
                yield f"{kind} {index} differs in {' and '.join(fields)}: `{one}` against `{other}`"


def _fields(argument: Argument) -> dict[str, object]:
    return {
        "name": argument.name,
        "type": (argument.type, argument.N),
        "default": (argument.has_default, argument.default),
        "being keyword-only": argument.kwarg_only,
        "alias annotation": argument.alias,
    }


def registered_twice(op: OperatorHandle, first: KernelEntry, second: KernelEntry) -> RegistrationError:
    """The error for the kernel *second*, whose key *first* serves."""
    return RegistrationError(
        Diagnostic(
            "C10E302",
            f"`{op.name}` has a kernel for dispatch key {first.dispatch_key} already: `{first.source.name}`",
            place=second.site,
            notes=(
                f"`{first.source.name}` is registered at {first.site}, and it stays",
                f"`{second.source.name}` comes from {second.site}",
            ),
            help="deregister the first, or pass override=True",
        ),
        operator=str(op.name),
        dispatch_key=first.dispatch_key,
        sites=(first.site, second.site),
    )


def kernels_alive(op: OperatorHandle, table: DispatchTable) -> RegistrationError:
    """The error for deregistering the schema of *op* while *table* has kernels."""
    keys = ", ".join(map(str, table.keys()))
    return RegistrationError(
        Diagnostic(
            "C10E307",
            f"the schema of `{op.name}` cannot be deregistered while kernels are registered for {keys}",
            notes=capped(table.lines(), _MOST_LINES),
            help="deregister the kernels first",
        ),
        operator=str(op.name),
        registered_keys=table.keys(),
    )


def not_registered(op: OperatorHandle, key: DispatchKey, table: DispatchTable) -> RegistrationError:
    """The error for deregistering a kernel of *key* where *table* has none."""
    names = ", ".join(map(str, table.keys())) or "none"
    return RegistrationError(
        Diagnostic(
            "C10E308",
            f"`{op.name}` has no kernel for dispatch key {key} to deregister; registered: {names}",
            notes=capped(table.lines(), _MOST_LINES),
            help="close the registrar that registering gave, which knows whether its kernel is still there",
        ),
        operator=str(op.name),
        dispatch_key=key,
        registered_keys=table.keys(),
    )


def foreign_operator(op: OperatorHandle) -> RegistrationError:
    """The error for *op*, given to a dispatcher that it does not belong to."""
    fact = f"`{op.name}` belongs to another dispatcher"
    return RegistrationError(
        Diagnostic("C10E303", fact, help="find it in this one first"), operator=str(op.name)
    )


def wrong_argument(taker: str, expected: str, value: object) -> ArgumentError:
    """The error for a *value* of a Python type that *taker*, a part of the interface, cannot take."""
    return ArgumentError(Diagnostic("C10E405", f"{taker} takes {expected}, not {describe(value)}"))
