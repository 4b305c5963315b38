"""The waivers of an operator or a manifest: breaks that their owners accept until a day."""

from __future__ import annotations

import contextlib
import re
from datetime import date
from typing import Any, Final

from c10cli.document.fields import Fields
from c10cli.document.nodes import Node
from c10cli.errors import SchemaError
from c10cli.manifest.declarations import Waiver
from c10cli.schema.model import CHANGE_KINDS
from c10cli.schema.parser import parse_name

KERNEL_REMOVED: Final = "kernel-removed"
DOMAIN_NARROWED: Final = "domain-narrowed"
DOMAIN_RETURNS: Final = "domain-returns"
OPERATOR_REMOVED: Final = "operator-removed"
WAIVABLE: Final = (*CHANGE_KINDS, KERNEL_REMOVED, DOMAIN_NARROWED, DOMAIN_RETURNS)
WAIVER_FIELDS = ("breaks", "reason", "until")
REMOVAL_FIELDS = ("operator", *WAIVER_FIELDS)

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def read_waivers(
    fields: Fields, container: dict[str, Any], owner: str, *, of_removed: bool = False
) -> tuple[Waiver, ...]:
    """The waivers of an operator or a manifest, without those that have a fault.

    Args:
        of_removed: for operators that are gone, and so have no entry to waive it in: the subject is the name.
    """
    names, read_break = (REMOVAL_FIELDS, _removal) if of_removed else (WAIVER_FIELDS, _kind)
    entries = fields.items(container, "waive", f"`waive` of {owner}") or ()
    found = []
    for index in range(len(entries)):
        what = f"waiver {index + 1} of {owner}"
        entry = fields.mapping(entries, index, what)
        if entry is None:
            continue
        fields.check_names(entry, what, names, required=names)
        breaks = read_break(fields, entry, what)
        reason = fields.text(entry, "reason", f"`reason` of {what}")
        until = _day(fields, entry, what)
        if breaks is not None and reason is not None and until is not None:
            found.append(Waiver(*breaks, reason.strip(), until, Node(fields.document, entry)))
    return tuple(found)


def _kind(fields: Fields, entry: dict[str, Any], what: str) -> tuple[str, str] | None:
    """The kind of change that is waived, and of which argument, return or key alone."""
    text = fields.text(entry, "breaks", f"`breaks` of {what}")
    kind, _, subject = (text or "").strip().partition(" ")
    if text is None or kind in WAIVABLE:
        return None if text is None else (kind, subject.strip())
    message, place = f"`{kind}` in `breaks` of {what} is no kind of change", fields.place(entry, "breaks")
    note = f"known here: {', '.join(f'`{known}`' for known in WAIVABLE)}"
    fields.report("C10E106", message, place, notes=(note,), help=fields.did_you_mean(kind, WAIVABLE))
    return None


def _removal(fields: Fields, entry: dict[str, Any], what: str) -> tuple[str, str] | None:
    """That an operator is gone, and its name."""
    breaks = fields.text(entry, "breaks", f"`breaks` of {what}")
    is_removal = breaks is not None and breaks.strip() == OPERATOR_REMOVED
    if breaks is not None and not is_removal:
        message = f"`breaks` of {what} must be `{OPERATOR_REMOVED}`, not `{breaks.strip()}`"
        todo = "waive other breaks in the entry of their operator"
        fields.report("C10E106", message, fields.place(entry, "breaks"), help=todo)
    name = fields.text(entry, "operator", f"`operator` of {what}")
    if name is None:
        return None
    with contextlib.suppress(SchemaError):
        parsed = parse_name(name)
        if parsed.namespace:
            return (OPERATOR_REMOVED, str(parsed)) if is_removal else None
    message = f"`operator` of {what} must be a whole name such as `c10::add.out`, not `{name}`"
    fields.report("C10E203", message, fields.place(entry, "operator"))
    return None


def _day(fields: Fields, entry: dict[str, Any], what: str) -> date | None:
    text = fields.text(entry, "until", f"`until` of {what}")
    if text is None:
        return None
    with contextlib.suppress(ValueError):
        if _DAY.fullmatch(text):  # from Python 3.11 on, `fromisoformat` takes other forms as well
            return date.fromisoformat(text)
    message = f"`until` of {what} must be a day such as `2026-12-31`, not `{text}`"
    fields.report("C10E106", message, fields.place(entry, "until"))
    return None
