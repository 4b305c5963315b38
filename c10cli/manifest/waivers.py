"""The waivers of an operator or a manifest: breaks that their owners accept until a day."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import date
from typing import Any, Final

from c10cli.document.fields import Fields
from c10cli.document.nodes import Document, Node
from c10cli.errors import SchemaError, did_you_mean
from c10cli.manifest.model import Waiver
from c10cli.schema.differences import CHANGE_KINDS
from c10cli.schema.parser import parse_name

__all__ = ["KERNEL_REMOVED", "OPERATOR_REMOVED", "WAIVABLE", "read_waivers", "take_removals"]

KERNEL_REMOVED: Final = "kernel-removed"
OPERATOR_REMOVED: Final = "operator-removed"
WAIVABLE: Final = (*CHANGE_KINDS, KERNEL_REMOVED)
WAIVER_FIELDS = ("breaks", "reason", "until")
REMOVAL_FIELDS = ("operator", *WAIVER_FIELDS)

# How the break that a waiver is for is read: its kind and its subject.
_ReadBreak = Callable[[Fields, dict[str, Any], str], "tuple[str, str] | None"]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def read_waivers(fields: Fields, entry: dict[str, Any], owner: str) -> tuple[Waiver, ...]:
    """The waivers of an operator, without those that have a fault."""
    return _read_all(fields, entry, owner, WAIVER_FIELDS, _kind)


def take_removals(document: Document) -> tuple[Waiver, ...]:
    """The waivers of the manifest *document* for operators that are gone; their subject is the name.

    An operator that is gone has no entry of its own to waive it in.  The field
    is taken out of the document, and its faults are among the document's findings.
    """
    root = document.value
    if not isinstance(root, dict) or "waive" not in root:
        return ()
    fields = Fields(document)
    known = len(fields.findings)
    found = _read_all(fields, root, "the manifest", REMOVAL_FIELDS, _removal)
    document.findings += fields.findings[known:]
    del root["waive"]
    return found


def _read_all(
    fields: Fields, entry: dict[str, Any], owner: str, names: tuple[str, ...], read_break: _ReadBreak
) -> tuple[Waiver, ...]:
    entries = fields.items(entry, "waive", f"`waive` of {owner}")
    found = [_read_waiver(fields, entries, i, owner, names, read_break) for i in range(len(entries or ()))]
    return tuple(waiver for waiver in found if waiver is not None)


def _read_waiver(
    fields: Fields, entries: Any, index: int, owner: str, names: tuple[str, ...], read_break: _ReadBreak
) -> Waiver | None:
    what = f"waiver {index + 1} of {owner}"
    entry = fields.mapping(entries, index, what)
    if entry is None:
        return None
    fields.check_names(entry, what, names, required=names)
    breaks = read_break(fields, entry, what)
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


def _removal(fields: Fields, entry: dict[str, Any], what: str) -> tuple[str, str] | None:
    """That an operator is gone, and its name."""
    text = fields.text(entry, "breaks", f"`breaks` of {what}")
    if text is not None and text.strip() != OPERATOR_REMOVED:
        fields.report(
            "C10E106",
            f"`breaks` of {what} must be `{OPERATOR_REMOVED}`, not `{text.strip()}`",
            fields.document.span(entry, "breaks"),
            help="waive other breaks in the entry of their operator",
        )
        text = None
    name = _operator(fields, entry, what)
    return None if text is None or name is None else (OPERATOR_REMOVED, name)


def _operator(fields: Fields, entry: dict[str, Any], what: str) -> str | None:
    text = fields.text(entry, "operator", f"`operator` of {what}")
    if text is None:
        return None
    with contextlib.suppress(SchemaError):
        name = parse_name(text)
        if name.namespace:
            return str(name)
    message = f"`operator` of {what} must be a whole name such as `c10::add.out`, not `{text}`"
    fields.report("C10E203", message, fields.document.span(entry, "operator"))
    return None


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
