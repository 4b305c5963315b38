"""What changed between two sides, operator by operator, and which breaks are waived."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

from c10cli.diff.change import SchemaChange
from c10cli.diff.schemas import compare_schemas
from c10cli.diff.sides import DeclaredOperator, Side
from c10cli.errors import Span
from c10cli.manifest.model import Waiver
from c10cli.manifest.waivers import KERNEL_REMOVED, OPERATOR_REMOVED

__all__ = ["Change", "Changes", "UnusedWaiver", "compare_sides"]


@dataclass(frozen=True, slots=True)
class Change:
    """One finding about one operator, and where it stands on both sides.

    Args:
        waiver: the waiver that names this break, expired or not.
        is_waived: whether that waiver still holds.
    """

    operator: str
    finding: SchemaChange
    old: Span | None
    new: Span | None
    old_text: str = ""
    new_text: str = ""
    waiver: Waiver | None = None
    is_waived: bool = False

    @property
    def breaks(self) -> bool:
        """Whether callers break and nobody has waived it."""
        return not self.finding.backward and not self.is_waived


@dataclass(frozen=True, slots=True)
class UnusedWaiver:
    """A waiver that no break of the operator needs."""

    operator: str
    waiver: Waiver


@dataclass(frozen=True, slots=True)
class Changes:
    """All that changed: what is in the new side in its order, then what is gone."""

    changes: tuple[Change, ...]
    unused: tuple[UnusedWaiver, ...]
    unchanged: int

    @property
    def breaks(self) -> tuple[Change, ...]:
        """The breaks that nobody has waived."""
        return tuple(change for change in self.changes if change.breaks)


def compare_sides(old: Side, new: Side, today: date) -> Changes:
    """What changed from *old* to *new*; waivers are those of *new*, and hold until their day has passed."""
    changes: list[Change] = []
    unused: list[UnusedWaiver] = []
    unchanged = 0
    for name, operator in new.operators.items():
        was = old.operators.get(name)
        found = [_added(name, operator)] if was is None else list(_compared(name, was, operator, today))
        used = {change.waiver for change in found}
        unused += [UnusedWaiver(name, waiver) for waiver in operator.waivers if waiver not in used]
        unchanged += not found
        changes += found
    gone = [
        _removed(name, was, new.waivers, today)
        for name, was in old.operators.items()
        if name not in new.operators
    ]
    used = {change.waiver for change in gone}
    unused += [UnusedWaiver(waiver.subject, waiver) for waiver in new.waivers if waiver not in used]
    changes += gone
    return Changes(tuple(changes), tuple(unused), unchanged)


def _added(name: str, operator: DeclaredOperator) -> Change:
    why = "nobody calls it yet, and the old side does not have it"
    finding = SchemaChange("operator-added", "the operator", f"`{name}` is added", True, False, why)
    return Change(name, finding, None, operator.span(), new_text=str(operator.schema))


def _removed(name: str, operator: DeclaredOperator, waivers: Iterable[Waiver], today: date) -> Change:
    finding = SchemaChange(
        OPERATOR_REMOVED,
        "the operator",
        f"`{name}` is removed",
        backward=False,
        forward=True,
        why="calls of it find no operator",
        todo="keep it until its callers have moved to another",
        subject=name,
    )
    waiver, holds = _waiver(finding, waivers, today)
    text = str(operator.schema)
    return Change(name, finding, operator.span(), None, old_text=text, waiver=waiver, is_waived=holds)


def _compared(name: str, old: DeclaredOperator, new: DeclaredOperator, today: date) -> Iterator[Change]:
    for finding in compare_schemas(old.schema, new.schema):
        waiver, holds = _waiver(finding, new.waivers, today)
        yield Change(
            name,
            finding,
            old.span(finding.old_span),
            new.span(finding.new_span),
            _piece(old, finding.old_span),
            _piece(new, finding.new_span),
            waiver,
            holds,
        )
    for key, span in old.kernels.items():
        if key not in new.kernels:
            finding = _kernel_removed(key)
            waiver, holds = _waiver(finding, new.waivers, today)
            yield Change(name, finding, span, new.span(), key, "", waiver, holds)
    for key, span in new.kernels.items():
        if key not in old.kernels:
            yield Change(name, _kernel_added(key), old.span(), span, "", key)


def _kernel_removed(key: str) -> SchemaChange:
    return SchemaChange(
        KERNEL_REMOVED,
        f"the `{key}` kernels",
        f"no kernel is left for `{key}`",
        backward=False,
        forward=True,
        why=f"calls with tensors of `{key}` find no kernel",
        todo=f"keep a `{key}` kernel until its callers have moved",
        subject=key,
    )


def _kernel_added(key: str) -> SchemaChange:
    return SchemaChange(
        "kernel-added",
        f"the `{key}` kernels",
        f"there is a kernel for `{key}` now",
        backward=True,
        forward=False,
        why=f"calls with tensors of `{key}` found no kernel on the old side",
        subject=key,
    )


def _piece(operator: DeclaredOperator, offsets: tuple[int, int] | None) -> str:
    """What the schema says there; where nothing is pointed at, all of it."""
    text = operator.schema.text
    return "" if offsets is None else text[offsets[0] : offsets[1]]


def _waiver(finding: SchemaChange, waivers: Iterable[Waiver], today: date) -> tuple[Waiver | None, bool]:
    """The waiver for *finding*, one that holds before others, and whether it does."""
    if finding.backward:
        return None, False
    fitting = [w for w in waivers if w.breaks == finding.what and w.subject in ("", finding.subject)]
    waiver = max(fitting, key=lambda w: w.until, default=None)
    return waiver, waiver is not None and today <= waiver.until
