"""What changed between two sides, operator by operator, and which breaks are waived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date

from c10cli.diff.domain_changes import compare_domains
from c10cli.diff.schemas import SchemaChange, compare_schemas
from c10cli.diff.sides import DeclaredOperator, Side
from c10cli.errors import Diagnostic, Span
from c10cli.manifest.declarations import Waiver
from c10cli.manifest.waivers import KERNEL_REMOVED, OPERATOR_REMOVED
from c10cli.schema.domain import Domain


@dataclass(frozen=True, slots=True)
class OperatorChange:
    """One change of one operator, and where it stands on both sides.

    Args:
        waiver: the waiver that names this break, expired or not.
        is_waived: whether that waiver still holds.
    """

    operator: str
    change: SchemaChange
    old: Span | None
    new: Span | None
    old_text: str = ""
    new_text: str = ""
    waiver: Waiver | None = None
    is_waived: bool = False

    @property
    def breaks(self) -> bool:
        """Whether callers break and nobody has waived it."""
        return not self.change.backward and not self.is_waived


@dataclass(frozen=True, slots=True)
class Changes:
    """All that changed: what is in the new side in its order, then what is gone.

    Args:
        unused: the waivers that no break needs, each with the name of its operator.
        unjudged: the names of the operators that could not be compared, each with the fault of a side.
    """

    changes: tuple[OperatorChange, ...]
    unused: tuple[tuple[str, Waiver], ...]
    unchanged: int
    unjudged: Mapping[str, Diagnostic]

    @property
    def breaks(self) -> tuple[OperatorChange, ...]:
        """The breaks that nobody has waived."""
        return tuple(change for change in self.changes if change.breaks)

    def causes(self) -> list[tuple[Diagnostic, list[str]]]:
        """Why operators could not be compared: each cause once, with their names."""
        found: dict[object, tuple[Diagnostic, list[str]]] = {}
        for name, fault in self.unjudged.items():
            found.setdefault(kind_of(fault), (fault, []))[1].append(name)
        return list(found.values())


def kind_of(fault: Diagnostic) -> object:
    """What all faults of one side that have one cause have in common."""
    return fault.span.file if fault.span else "", fault.code, fault.message


def compare_sides(old: Side, new: Side, today: date) -> Changes:
    """What changed from *old* to *new*; waivers are those of *new*, and hold until their day has passed."""
    changes: list[OperatorChange] = []
    unjudged: dict[str, Diagnostic] = {}
    used: set[tuple[str, Waiver | None]] = set()
    unchanged = 0
    for name in dict.fromkeys((*new.operators, *old.operators)):
        was, now = old.operators.get(name), new.operators.get(name)
        fault = _fault(was, now) if was and now else new.hidden if was else old.hidden
        if fault:
            unjudged[name] = fault
            continue
        waivers = now.waivers if now else new.waivers
        found = [_waived(change, waivers, today) for change in _changes(name, was, now)]
        used |= {(name, change.waiver) for change in found}
        unchanged += not found
        changes += found
    named = [(name, waiver) for name, operator in new.operators.items() for waiver in operator.waivers]
    named += [(waiver.subject, waiver) for waiver in new.waivers]
    unused = [pair for pair in named if pair not in used and pair[0] not in unjudged]
    return Changes(tuple(changes), tuple(unused), unchanged, unjudged)


def _fault(was: DeclaredOperator, now: DeclaredOperator) -> Diagnostic | None:
    """Why the two cannot be compared; what nobody understands may still be the same."""
    if was.schema is now.schema is None and was.text == now.text:
        return None
    if was.fault or now.fault or (was.schema is None) == (now.schema is None):
        return was.fault or now.fault
    message = "an operator is named without a schema, and the other side has one"
    todo = "give it schemas with `c10 import --from FILE --schemas FILE`, and compare what that writes"
    return Diagnostic("C10E105", message, (was if was.schema is None else now).span(), help=todo)


def _changes(
    name: str, was: DeclaredOperator | None, now: DeclaredOperator | None
) -> Iterator[OperatorChange]:
    if was and now:
        yield from _compared(name, was, now)
    elif now:
        yield _added(name, now)
    elif was:
        yield _removed(name, was)


def _waived(change: OperatorChange, waivers: Iterable[Waiver], today: date) -> OperatorChange:
    """*change* with the waiver for it, if there is one; one that holds before others."""
    broken = change.change
    if broken.backward:
        return change
    fitting = [w for w in waivers if w.breaks == broken.what and w.subject in ("", broken.subject)]
    if not fitting:
        return change
    waiver = max(fitting, key=lambda w: w.until)
    return replace(change, waiver=waiver, is_waived=today <= waiver.until)


def _added(name: str, operator: DeclaredOperator) -> OperatorChange:
    why = "nobody calls it yet, and the old side does not have it"
    change = SchemaChange("operator-added", f"`{name}` is added", True, False, why, "", "the operator")
    return OperatorChange(name, change, None, operator.span(), new_text=operator.text)


def _removed(name: str, operator: DeclaredOperator) -> OperatorChange:
    why, todo = "calls of it find no operator", "keep it until its callers have moved to another"
    message = f"`{name}` is removed"
    change = SchemaChange(OPERATOR_REMOVED, message, False, True, why, todo, "the operator", name)
    return OperatorChange(name, change, operator.span(), None, old_text=operator.text)


def _compared(name: str, old: DeclaredOperator, new: DeclaredOperator) -> Iterator[OperatorChange]:
    for change in compare_schemas(old.schema, new.schema) if old.schema and new.schema else ():
        spans = old.span(change.old_span), new.span(change.new_span)
        pieces = _piece(old, change.old_span), _piece(new, change.new_span)
        yield OperatorChange(name, change, *spans, *pieces)
    if old.kernels is None or new.kernels is None:
        return
    for change in (
        compare_domains(old.domain, new.domain or Domain(new.schema)) if old.domain and new.schema else ()
    ):
        yield OperatorChange(name, change, old.domain_span(change.subject), new.domain_span(change.subject))
    if new.domain and not old.domain:
        why = "the old side says of no argument that it may not be passed"
        change = SchemaChange("domain-added", "there is a domain now", True, True, why, "", "the domain")
        yield OperatorChange(name, change, old.span(), new.domain_span())
    for key in [key for key in old.kernels if key not in new.kernels]:
        message, why = f"no kernel is left for `{key}`", f"calls with tensors of `{key}` find no kernel"
        todo = f"keep a `{key}` kernel until its callers have moved"
        change = SchemaChange(KERNEL_REMOVED, message, False, True, why, todo, f"the `{key}` kernels", key)
        yield OperatorChange(name, change, old.kernels[key], new.span(), old_text=key)
    for key in [key for key in new.kernels if key not in old.kernels]:
        message = f"there is a kernel for `{key}` now"
        why = f"calls with tensors of `{key}` found no kernel on the old side"
        change = SchemaChange("kernel-added", message, True, False, why, "", f"the `{key}` kernels", key)
        yield OperatorChange(name, change, old.span(), new.kernels[key], new_text=key)


def _piece(operator: DeclaredOperator, offsets: tuple[int, int] | None) -> str:
    """What the schema says there; nothing where nothing is pointed at."""
    return "" if offsets is None or not operator.schema else operator.schema.text[offsets[0] : offsets[1]]
