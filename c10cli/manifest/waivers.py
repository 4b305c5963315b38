"""The waivers of an operator: breaks of its schema that its owners accept until a day."""

from __future__ import annotations

import contextlib
import re
from datetime import date
from typing import Any, Final

from c10cli.errors import did_you_mean
from c10cli.manifest.document import Node
from c10cli.manifest.fields import Fields
from c10cli.manifest.model import Waiver
from c10cli.schema.finding import KINDS

__all__ = ["KERNEL_REMOVED", "WAIVABLE", "read_waivers"]

KERNEL_REMOVED: Final = "kernel-removed"
WAIVABLE: Final = (*KINDS, KERNEL_REMOVED)
WAIVER_FIELDS = ("breaks", "reason", "until")

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def read_waivers(fields: Fields, entry: dict[str, Any], owner: str) -> tuple[Waiver, ...]:
    """The waivers of an operator, without those that have a fault."""
    entries = fields.items(entry, "waive", f"`waive` of {owner}")
    found = [_read_waiver(fields, entries, i, owner) for i in range(len(entries or ()))]
    return tuple(waiver for waiver in found if waiver is not None)


def _read_waiver(fields: Fields, entries: Any, index: int, owner: str) -> Waiver | None:
    what = f"waiver {index + 1} of {owner}"
    entry = fields.mapping(entries, index, what)
    if entry is None:
        return None
    fields.check_names(entry, what, WAIVER_FIELDS, required=WAIVER_FIELDS)
    breaks = _kind(fields, entry, what)
    reason = fields.text(entry, "reason", f"`reason` of {what}")
    until = _day(fields, entry, what)
    if breaks is None or reason is None or until is None:
        return None
    return Waiver(*breaks, reason.strip(), until, Node(fields.document, entry))


def _kind(fields: Fields, entry: dict[str, Any], what: str) -> tuple[str, str] | None:
    """The kind of change that is waived, and of which argument, return or key alone."""
    text = fields.text(entry, "breaks", f"`breaks` of {what}")
    if text is None:
        return None
    kind, _, subject = text.strip().partition(" ")
    if kind not in WAIVABLE:
        fields.report(
            "C10E106",
            f"`{kind}` in `breaks` of {what} is no kind of change",
            fields.document.span(entry, "breaks"),
            notes=(f"known here: {', '.join(f'`{known}`' for known in WAIVABLE)}",),
            help=did_you_mean(kind, WAIVABLE),
        )
        return None
    return kind, subject.strip()


def _day(fields: Fields, entry: dict[str, Any], what: str) -> date | None:
    text = fields.text(entry, "until", f"`until` of {what}")
    if text is None:
        return None
    day = None
    if _DAY.fullmatch(text):  # from Python 3.11 on, `fromisoformat` takes other forms as well
        with contextlib.suppress(ValueError):
            day = date.fromisoformat(text)
    if day is None:
        message = f"`until` of {what} must be a day such as `2026-12-31`, not `{text}`"
        fields.report("C10E106", message, fields.document.span(entry, "until"))
    return day
