"""`c10 diff`: what a change of schemas does to callers."""

from __future__ import annotations

import sys
from datetime import date

import click

from c10cli.cli.options import command as c10_command
from c10cli.cli.session import Session, picked
from c10cli.diff.manifests import Changes, OperatorChange, compare_sides, kind_of
from c10cli.diff.sides import Side, read_side
from c10cli.document.findings import Findings
from c10cli.errors import Diagnostic, ManifestError, Span, capped, counted
from c10cli.interop.torch_import import Live
from c10cli.manifest.declarations import Waiver
from c10cli.report.diagnostics import render_diagnostic
from c10cli.report.github import annotation

_SHOWN_NAMES = 12


@c10_command("diff", formats=("text", "json", "github"))
@click.argument("old")
@click.argument("new")
def command(session: Session, old: str, new: str) -> int:
    """What a change of schemas does to callers; exits with 1 where it breaks them.

    OLD and NEW are manifests, or what c10 import reads: a native_functions.yaml,
    a functions.yaml or edge.yaml of ExecuTorch, `torch` for the one that is
    installed; a file, `-` for standard input, or REV:path for a file in the git
    repository of this folder, such as main:registry.yaml.  No kernel is imported.
    Where an operator cannot be compared, the rest is; that ends with 3 if nothing breaks.

    \b
    An operator of NEW may waive a break until a day:
      waive:
        - {breaks: argument-removed alpha, reason: never used, until: 2026-12-31}

    The removal of an operator is waived in a `waive:` of NEW itself, with its
    name as `operator` and `breaks: operator-removed`.
    """
    if old == new == "-":
        raise click.UsageError("standard input can be one of the sides only")
    sides: list[Side] = []
    refused: list[Diagnostic] = []
    for text in (old, new):
        try:
            sides.append(read_side(text, lambda: Live().document()))
        except ManifestError as error:
            refused += error.diagnostics
    if refused:
        _tell(session, refused)
        return 3
    changes = compare_sides(sides[0], sides[1], date.today())
    faults = _faults(changes, [fault for side in sides for fault in side.faults])
    if session.is_json:
        _show_json(session, old, new, changes, faults)
    elif session.format == "github":
        _show_github(session, changes)
    else:
        _show_text(session, changes)
    _tell(session, [fault for fault, _ in faults])
    return 1 if changes.breaks else 3 if changes.unjudged else 0


def _faults(changes: Changes, others: list[Diagnostic]) -> list[tuple[Diagnostic, list[str]]]:
    """What is wrong with the sides, and the names of the operators that could not be compared for it."""
    found, kinds = [], set()
    for fault, names in changes.causes():
        listed = ", ".join(capped([f"`{name}`" for name in names], _SHOWN_NAMES))
        found.append((fault.with_notes(f"{counted(len(names), 'operator')} not compared: {listed}"), names))
        kinds.add(kind_of(fault))
    return found + [(fault, []) for fault in others if kind_of(fault) not in kinds]


def _tell(session: Session, faults: list[Diagnostic]) -> None:
    """Write what is wrong with the sides: for GitHub, as annotations."""
    faults = Findings(faults).told()
    if session.format != "github":
        session.show_diagnostics(faults)
        return
    for fault in faults:
        text = "\n".join([fault.message, *fault.notes, f"help: {fault.advice}"])
        session.echo(annotation("error", fault.code, text, fault.span))


def _show_text(session: Session, changes: Changes) -> None:
    color = session.colored(sys.stdout)
    for change in changes.changes:
        told = _diagnostic(change)
        if change.breaks:
            session.echo(f"{render_diagnostic(told, color=color)}\n", is_drawn=True)
            continue
        kind = "waived" if change.is_waived else "note"
        notes = "".join(f"\n  = note: {note}" for note in told.notes)
        session.echo(f"{kind}[{told.label}]: {told.message}\n --> {told.span}{notes}\n")
    for operator, waiver in changes.unused:
        session.echo(f"note[waiver]: {_unused_message(operator, waiver)}\n --> {waiver.span}\n")
    session.echo(_summary(changes))


def _diagnostic(change: OperatorChange) -> Diagnostic:
    """A change as an error at its new place; what is gone, at its old one."""
    detail, waiver, notes = change.change, change.waiver, []
    if change.new and change.old:
        was = f"was `{change.old_text}` at" if change.old_text else "old side:"
        notes.append(f"{was} {change.old}")
    ways = (("backward", detail.backward), ("forward", detail.forward))
    verdict = ", ".join(f"{'' if holds else 'not '}{way} compatible" for way, holds in ways)
    notes.append(f"{verdict}: {detail.why}")
    if waiver:
        state = "waived until" if change.is_waived else "its waiver expired on"
        notes.append(f"{state} {waiver.until}, at {waiver.span}: {waiver.reason}")
    where = "" if detail.where == "the operator" else f"`{change.operator}`, {detail.where}: "
    return Diagnostic(
        "C10E210",
        where + detail.message,
        change.new or change.old,
        label=detail.what,
        notes=tuple(notes),
        help=detail.todo,
    )


def _unused_message(operator: str, waiver: Waiver) -> str:
    what = f"{waiver.breaks} {waiver.subject}".strip()
    return f"`{operator}`: the waiver of `{what}` matches no break; remove it"


def _summary(changes: Changes) -> str:
    left = f"; {len(changes.unjudged)} not compared" if changes.unjudged else ""
    if not changes.changes:
        return f"no changes in {counted(changes.unchanged, 'operator')}{left}"
    waived = sum(change.is_waived for change in changes.changes)
    breaks = len(changes.breaks)
    parts = [f"{counted(breaks, 'change')} that break{'s' * (breaks == 1)} callers"] if breaks else []
    parts += [f"{waived} waived"] if waived else []
    harmless = len(changes.changes) - breaks - waived
    parts += [f"{harmless} compatible"] if harmless else []
    return f"{', '.join(parts)}; {counted(changes.unchanged, 'operator')} unchanged{left}"


def _show_json(
    session: Session, old: str, new: str, changes: Changes, faults: list[tuple[Diagnostic, list[str]]]
) -> None:
    session.echo_json(
        "c10.diff/1",
        old=old,
        new=new,
        ok=not changes.breaks and not changes.unjudged,
        counts={
            "breaks": len(changes.breaks),
            "waived": sum(change.is_waived for change in changes.changes),
            "changes": len(changes.changes),
            "unchanged_operators": changes.unchanged,
            "not_compared": len(changes.unjudged),
        },
        findings=[_as_dict(change) for change in changes.changes],
        unused_waivers=[
            {
                "operator": operator,
                "breaks": waiver.breaks,
                "subject": waiver.subject or None,
                "place": _place(waiver.span, ""),
            }
            for operator, waiver in changes.unused
        ],
        diagnostics=[{**fault.as_dict(), "not_compared": names} for fault, names in faults],
    )


def _as_dict(change: OperatorChange) -> dict[str, object]:
    detail, waiver = change.change, change.waiver
    return {
        "operator": change.operator,
        **picked(detail, "what", "where", "message", "backward", "forward", "why"),
        "todo": detail.todo or None,
        "breaks": change.breaks,
        "old": _place(change.old, change.old_text),
        "new": _place(change.new, change.new_text),
        "waiver": None
        if waiver is None
        else {"reason": waiver.reason, "until": waiver.until.isoformat(), "holds": change.is_waived},
    }


def _place(span: Span | None, text: str) -> dict[str, object] | None:
    if span is None:
        return None
    return {**picked(span, "file", "line", "column", "end_column"), "text": text or None}


def _show_github(session: Session, changes: Changes) -> None:
    for change in changes.changes:
        diagnostic = _diagnostic(change)
        title = diagnostic.code if change.breaks else diagnostic.label
        parts = [diagnostic.message, *diagnostic.notes]
        if change.breaks and diagnostic.help:
            parts.append(f"help: {diagnostic.help}")
        # What is gone has no line in the new file to be shown at.
        session.echo(annotation("error" if change.breaks else "notice", title, "\n".join(parts), change.new))
    for operator, waiver in changes.unused:
        session.echo(annotation("warning", "waiver", _unused_message(operator, waiver), waiver.span))
