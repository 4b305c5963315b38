"""What the dispatcher refuses to register or deregister, as errors with both places."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import LIBRARIES
from c10cli.describe import describe
from c10cli.dispatch.dispatch_table import DispatchTable
from c10cli.dispatch.kernel import KernelEntry
from c10cli.dispatch.operator import OperatorHandle
from c10cli.errors import ArgumentError, Diagnostic, RegistrationError, capped, did_you_mean
from c10cli.schema.model import schema_differences

# So that no error takes more than 15 lines.
_MOST_LINES = 8


def defined_twice(existing: OperatorHandle, new: OperatorHandle) -> RegistrationError:
    """The error for *new*, whose name *existing* has."""
    notes = [f"the first is registered at {existing.site}", f"the second comes from {new.site}"]
    which, todo = "the same", "register it once and share the handle"
    differences = schema_differences(existing.schema, new.schema)
    if differences:
        notes += [f"the first is {existing.schema}", f"the second is {new.schema}"]
        notes += capped(differences, _MOST_LINES - 2)
        which, todo = "another", "give the second one an overload name"
    fact = f"operator `{new.name}` is registered already, with {which} schema"
    sites = (existing.site, new.site)
    return _refusal(new, "C10E301", fact, todo, notes, place=new.site, sites=sites)


def registered_twice(op: OperatorHandle, first: KernelEntry, second: KernelEntry) -> RegistrationError:
    """The error for the kernel *second*, whose key *first* serves."""
    key, name, sites = first.dispatch_key, first.source.name, (first.site, second.site)
    fact = f"`{op.name}` has a kernel for dispatch key {key} already: `{name}`"
    notes = [
        f"`{name}` is registered at {first.site}, and it stays",
        f"`{second.source.name}` comes from {second.site}",
    ]
    todo = "deregister the first, or pass override=True"
    return _refusal(op, "C10E302", fact, todo, notes, place=second.site, dispatch_key=key, sites=sites)


def kernels_alive(op: OperatorHandle, table: DispatchTable) -> RegistrationError:
    """The error for deregistering the schema of *op* while *table* has kernels."""
    keys = ", ".join(map(str, table.keys()))
    fact = f"the schema of `{op.name}` cannot be deregistered while kernels are registered for {keys}"
    notes = capped(table.lines(), _MOST_LINES)
    return _refusal(op, "C10E307", fact, "deregister the kernels first", notes, registered_keys=table.keys())


def not_registered(op: OperatorHandle, key: DispatchKey, table: DispatchTable) -> RegistrationError:
    """The error for deregistering a kernel of *key* where *table* has none."""
    keys, names = table.keys(), ", ".join(map(str, table.keys())) or "none"
    fact = f"`{op.name}` has no kernel for dispatch key {key} to deregister; registered: {names}"
    todo = "close the registrar that registering gave, which knows whether its kernel is still there"
    notes = capped(table.lines(), _MOST_LINES)
    return _refusal(op, "C10E308", fact, todo, notes, dispatch_key=key, registered_keys=keys)


def foreign_operator(op: OperatorHandle) -> RegistrationError:
    """The error for *op*, given to a dispatcher that it does not belong to."""
    return _refusal(op, "C10E303", f"`{op.name}` belongs to another dispatcher", "find it in this one first")


def known_libraries(arrays: str | Collection[str]) -> frozenset[str] | None:
    """The libraries that *arrays* names; None for all.

    Raises:
        ArgumentError: C10E405, *arrays* is no name and no collection of names.
        RegistrationError: C10E309, there is no such library.
    """
    names = [arrays] if isinstance(arrays, str) and arrays else arrays
    if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        raise wrong_argument("`arrays` of a kernel", "the name of an array library, or several", arrays)
    named = frozenset(names)
    unknown = sorted(named - {*LIBRARIES, ""})
    if unknown:
        fact = f"no array library is called `{unknown[0]}`; known are {', '.join(LIBRARIES)}"
        todo = did_you_mean(unknown[0], LIBRARIES) or "leave `arrays` out for the arrays of all"
        raise RegistrationError(Diagnostic("C10E309", fact, help=todo))
    return named or None


def wrong_argument(taker: str, expected: str, value: object) -> ArgumentError:
    """The error for a *value* of a Python type that *taker*, a part of the interface, cannot take."""
    return ArgumentError(Diagnostic("C10E405", f"{taker} takes {expected}, not {describe(value)}"))


def _refusal(
    op: OperatorHandle,
    code: str,
    fact: str,
    todo: str,
    notes: Sequence[str] = (),
    place: str = "",
    **facts: Any,
) -> RegistrationError:
    diagnostic = Diagnostic(code, fact, place=place, notes=tuple(notes), help=todo)
    return RegistrationError(diagnostic, operator=str(op.name), **facts)
