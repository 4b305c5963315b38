"""What the dispatcher refuses to register or deregister, as errors with both places."""

from __future__ import annotations

from c10cli.arrays.keys import DispatchKey
from c10cli.describe import describe
from c10cli.dispatch.dispatch_table import DispatchTable
from c10cli.dispatch.kernel import KernelEntry
from c10cli.dispatch.operator import Operator
from c10cli.errors import ArgumentError, Diagnostic, RegistrationError
from c10cli.schema.differences import schema_differences

# So that no error takes more than 15 lines.
_MOST_LINES = 8


def defined_twice(existing: Operator, new: Operator) -> RegistrationError:
    """The error for *new*, whose name *existing* has."""
    first, second = existing.schema, new.schema
    notes = [f"the first is registered at {existing.site}", f"the second comes from {new.site}"]
    which, todo = "the same", "register it once and share the handle"
    differences = schema_differences(first, second)
    if differences:
        notes += [f"the first is {first}", f"the second is {second}", *_capped(differences, _MOST_LINES - 2)]
        which, todo = "another", "give the second one an overload name"
    return _refusal(
        new,
        "C10E301",
        f"operator `{new.name}` is registered already, with {which} schema",
        todo,
        notes,
        new.site,
        sites=(existing.site, new.site),
    )


def registered_twice(op: Operator, first: KernelEntry, second: KernelEntry) -> RegistrationError:
    """The error for the kernel *second*, whose key *first* serves."""
    return _refusal(
        op,
        "C10E302",
        f"`{op.name}` has a kernel for dispatch key {first.dispatch_key} already: `{first.source.name}`",
        "deregister the first, or pass override=True",
        [
            f"`{first.source.name}` is registered at {first.site}, and it stays",
            f"`{second.source.name}` comes from {second.site}",
        ],
        second.site,
        dispatch_key=first.dispatch_key,
        sites=(first.site, second.site),
    )


def kernels_alive(op: Operator, table: DispatchTable) -> RegistrationError:
    """The error for deregistering the schema of *op* while *table* has kernels."""
    keys = ", ".join(map(str, table.keys()))
    return _refusal(
        op,
        "C10E307",
        f"the schema of `{op.name}` cannot be deregistered while kernels are registered for {keys}",
        "deregister the kernels first",
        _capped(table.lines(), _MOST_LINES),
        registered_keys=table.keys(),
    )


def not_registered(op: Operator, key: DispatchKey, table: DispatchTable) -> RegistrationError:
    """The error for deregistering a kernel of *key* where *table* has none."""
    names = ", ".join(map(str, table.keys())) or "none"
    return _refusal(
        op,
        "C10E308",
        f"`{op.name}` has no kernel for dispatch key {key} to deregister; registered: {names}",
        "close the registrar that registering gave, which knows whether its kernel is still there",
        _capped(table.lines(), _MOST_LINES),
        dispatch_key=key,
        registered_keys=table.keys(),
    )


def foreign_operator(op: Operator) -> RegistrationError:
    """The error for *op*, given to a dispatcher that it does not belong to."""
    return _refusal(op, "C10E303", f"`{op.name}` belongs to another dispatcher", "find it in this one first")


def wrong_argument(taker: str, expected: str, value: object) -> ArgumentError:
    """The error for a *value* of a Python type that *taker*, a part of the interface, cannot take."""
    return ArgumentError(Diagnostic("C10E405", f"{taker} takes {expected}, not {describe(value)}"))


def _refusal(
    op: Operator,
    code: str,
    fact: str,
    todo: str,
    notes: list[str] | None = None,
    place: str = "",
    **facts: object,
) -> RegistrationError:
    diagnostic = Diagnostic(code, fact, place=place, notes=tuple(notes or ()), help=todo)
    return RegistrationError(diagnostic, operator=str(op.name), **facts)


def _capped(lines: list[str], most: int) -> list[str]:
    """*lines*, or the first of them and how many more there are."""
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"and {len(lines) - most + 1} more"]
