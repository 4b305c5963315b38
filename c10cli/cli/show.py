"""`c10 show`: everything the registry says about one operator."""

from __future__ import annotations

from typing import Any

import click

from c10cli.arrays.devices import device_of
from c10cli.cli.session import Session
from c10cli.cli.session import command as c10_command
from c10cli.manifest.link import Candidate, LinkedOperator


@c10_command("show")
@click.argument("op")
def command(session: Session, op: str) -> int:
    """Schema, kernels with the reason for each choice, and cases of operator OP.

    No kernel is imported.
    """
    linked = session.load().find(op)
    if session.is_json:
        session.echo_json("c10.show/1", **_as_dict(linked))
    else:
        for line in _lines(linked):
            session.echo(line)
    return 0


def _lines(linked: LinkedOperator) -> list[str]:
    decl = linked.decl
    lines = [str(decl.schema), f"  declared at {decl.schema_span}"]
    lines += [f"  {decl.summary}"] if decl.summary else []
    lines += ["", "Arguments"]
    lines += [f"  {_argument_line(argument)}" for argument in decl.schema.arguments]
    lines += ["", f"Dispatch table (the key comes from `{linked.handle.calling().dispatch_argument().name}`)"]
    for key, candidates in linked.candidates.items():
        device = device_of(key)
        lines.append(f"  {key}" + ("" if device.available else f"  (no tensors here: {device.reason})"))
        lines += [f"    {_candidate_line(candidate)}" for candidate in candidates]
    lines += [] if linked.candidates else ["  no kernels"]
    lines += ["", f"Reference  {decl.reference.text if decl.reference else 'none'}"]
    for dtype, tolerance in decl.tolerance.items():
        lines.append(f"  {dtype}: rtol {tolerance.rtol:g}, atol {tolerance.atol:g}")
    lines += ["", "Cases"]
    lines += [f"  {_case_line(case)}" for case in decl.cases] or ["  none"]
    return lines


def _argument_line(argument: Any) -> str:
    notes = [
        note
        for note, holds in (("keyword-only", argument.kwarg_only), ("written", argument.is_mutable))
        if holds
    ]
    return f"{argument}" + (f"  ({', '.join(notes)})" if notes else "")


def _candidate_line(candidate: Candidate) -> str:
    kernel = candidate.kernel
    mark = "*" if candidate.taken else " "
    return f"{mark} {kernel.name}  {kernel.entry_point.text}  [{candidate.reason}]  {kernel.span}"


def _case_line(case: Any) -> str:
    sizes = ", ".join(f"{name} in {list(values)}" for name, values in case.sweep.items())
    inputs = ", ".join(f"{name}={value}" for name, value in case.inputs.items())
    timed = "" if case.bench else "  (not timed)"
    return f"{case.name}: {inputs}" + (f"; {sizes}" if sizes else "") + f"; {', '.join(case.dtypes)}{timed}"


def _as_dict(linked: LinkedOperator) -> dict[str, Any]:
    decl = linked.decl
    return {
        "name": str(decl.name),
        "schema": str(decl.schema),
        "summary": decl.summary,
        "file": decl.schema_span.file,
        "line": decl.schema_span.line,
        "arguments": [
            {
                "name": a.name,
                "type": str(a.type),
                "default": a.default_source,
                "keyword_only": a.kwarg_only,
                "mutable": a.is_mutable,
            }
            for a in decl.schema.arguments
        ],
        "returns": [{"name": r.name, "type": str(r.type)} for r in decl.schema.returns],
        "table": [
            {
                "key": key,
                "device": device_of(key).available,
                "device_reason": device_of(key).reason or None,
                "candidates": [_candidate_dict(candidate) for candidate in candidates],
            }
            for key, candidates in linked.candidates.items()
        ],
        "reference": decl.reference.text if decl.reference else None,
        "tolerance": {d: {"rtol": t.rtol, "atol": t.atol} for d, t in decl.tolerance.items()},
        "cases": [
            {
                "name": case.name,
                "sweep": {name: list(values) for name, values in case.sweep.items()},
                "dtypes": list(case.dtypes),
                "inputs": dict(case.inputs),
                "bench": case.bench,
            }
            for case in decl.cases
        ],
    }


def _candidate_dict(candidate: Candidate) -> dict[str, Any]:
    kernel = candidate.kernel
    return {
        "name": kernel.name,
        "kernel": kernel.entry_point.text,
        "registered": candidate.taken,
        "reason": candidate.reason,
        "requires": list(kernel.requires),
        "file": kernel.span.file,
        "line": kernel.span.line,
    }
