"""`c10 show`: everything the registry says about one operator."""

from __future__ import annotations

from typing import Any

import click

from c10cli.cli.session import Session, command as c10_command, complete_operator, short_path
from c10cli.entry_points.definitions import Definition, read_module
from c10cli.entry_points.entry_point import EntryPoint
from c10cli.entry_points.locate import Missing, locate_source
from c10cli.manifest.link import LinkedOperator, Variant
from c10cli.manifest.model import CaseDecl, OperatorDecl
from c10cli.schema.model import Argument


@c10_command("show")
@click.argument("op", shell_complete=complete_operator)
def command(session: Session, op: str) -> int:
    """Schema, kernels with the reason for each choice, and cases of operator OP.

    No kernel is imported: what is said of its function is read in its source.
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
    lines = [str(decl.schema), *([f"  {decl.summary}"] if decl.summary else [])]
    lines += [f"  declared at {decl.schema_span}", "", "Arguments"]
    lines += [f"  {_argument_line(argument)}" for argument in decl.schema.arguments]
    lines += ["", "Returns"]
    lines += [f"  {returned}" for returned in decl.schema.returns] or ["  nothing"]
    lines += ["", f"Dispatch table (the key comes from {_deciding(linked)})"]
    for key, candidates in linked.variants.items():
        device = linked.device(key)
        lines.append(f"  {key}" + ("" if device.available else f"  (no tensors here: {device.reason})"))
        lines += [f"    {line}" for candidate in candidates for line in _candidate_lines(candidate)]
    lines += [] if linked.variants else ["  no kernels"]
    lines += ["", "Reference", *(f"  {line}" for line in _reference_lines(decl))]
    lines += ["", "Cost", *(f"  {line}" for line in _cost_lines(decl))]
    lines += ["", "Cases"]
    lines += [f"  {_case_line(case)}" for case in decl.cases] or ["  none"]
    return lines


def _argument_line(argument: Argument) -> str:
    notes = [
        note
        for note, holds in (("keyword-only", argument.kwarg_only), ("written", argument.is_mutable))
        if holds
    ]
    return f"{argument}" + (f"  ({', '.join(notes)})" if notes else "")


def _deciding(linked: LinkedOperator) -> str:
    return ", then ".join(f"`{a.name}`" for a in linked.handle.calling().dispatch_arguments())


def _candidate_lines(candidate: Variant) -> list[str]:
    """The variant, `*` for the registered one; the reason; where it is declared; where it is defined."""
    kernel = candidate.kernel
    reason = candidate.with_override(candidate.reason)
    status = f"{'registered' if candidate.taken else 'not registered'}: {reason}"
    facts = [
        f"needs {', '.join(kernel.requires)}" if kernel.requires else "",
        f"cache {kernel.cache.text}" if kernel.cache else "",
        "boxed" if kernel.boxed else "",
        f"declared at {kernel.span}",
    ]
    return [
        f"{'*' if candidate.taken else ' '} {kernel.name}  {kernel.entry_point.text}",
        f"    {status}",
        f"    {'; '.join(fact for fact in facts if fact)}",
        *(f"    {line}" for line in _definition_lines(kernel.entry_point)),
    ]


def _definition_lines(entry_point: EntryPoint) -> list[str]:
    definition, path = _definition(entry_point), entry_point.path
    if definition is None or path is None:
        fault = _fault(entry_point)
        return [f"cannot be used: {fault}"] if fault else []
    said = f": {definition.summary}" if definition.summary else ""
    return [f"defined at {short_path(path)}:{definition.line}{said}"]


def _definition(entry_point: EntryPoint) -> Definition | None:
    """What the source of a kernel file says; None for installed modules, and for what is not there."""
    path = entry_point.path
    return read_module(path).find(entry_point.attribute) if path else None


def _fault(entry_point: EntryPoint) -> str:
    """Why a kernel file cannot be used, as far as its source tells; for installed modules, nothing."""
    path = entry_point.path
    if path is None:
        return ""
    place = locate_source(entry_point)
    if isinstance(place, Missing):
        return place.message
    module = read_module(path)
    if module.fault:
        return f"`{entry_point.file}` {module.fault}"
    is_there = module.is_open or module.find(entry_point.attribute)
    return "" if is_there else f"`{entry_point.file}` has no `{entry_point.attribute}`"


def _reference_lines(decl: OperatorDecl) -> list[str]:
    if decl.reference is None:
        return ["none"]
    lines = [decl.reference.text, *(f"  {line}" for line in _definition_lines(decl.reference))]
    return lines + [f"  {dtype}: rtol {t.rtol:g}, atol {t.atol:g}" for dtype, t in decl.tolerance.items()]


def _cost_lines(decl: OperatorDecl) -> list[str]:
    costs = (("bytes", decl.cost.bytes), ("flops", decl.cost.flops))
    return [f"{name}: {text}" for name, text in costs if text is not None] or ["not given"]


def _case_line(case: CaseDecl) -> str:
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
        "arguments": [_argument_dict(argument) for argument in decl.schema.arguments],
        "returns": [{"name": r.name, "type": str(r.type)} for r in decl.schema.returns],
        "dispatch_arguments": [a.name for a in linked.handle.calling().dispatch_arguments()],
        "table": [
            {
                "key": key,
                "device": linked.device(key).available,
                "device_reason": linked.device(key).reason or None,
                "candidates": [_candidate_dict(candidate) for candidate in candidates],
            }
            for key, candidates in linked.variants.items()
        ],
        "reference": decl.reference.text if decl.reference else None,
        "tolerance": {d: {"rtol": t.rtol, "atol": t.atol} for d, t in decl.tolerance.items()},
        "cost": {"bytes": decl.cost.bytes, "flops": decl.cost.flops},
        "cases": [_case_dict(case) for case in decl.cases],
    }


def _argument_dict(argument: Argument) -> dict[str, Any]:
    return {
        "name": argument.name,
        "type": str(argument.type),
        "default": argument.default_source,
        "keyword_only": argument.kwarg_only,
        "mutable": argument.is_mutable,
    }


def _case_dict(case: CaseDecl) -> dict[str, Any]:
    return {
        "name": case.name,
        "sweep": {name: list(values) for name, values in case.sweep.items()},
        "dtypes": list(case.dtypes),
        "inputs": dict(case.inputs),
        "bench": case.bench,
    }


def _candidate_dict(candidate: Variant) -> dict[str, Any]:
    kernel, path = candidate.kernel, candidate.kernel.entry_point.path
    definition = _definition(kernel.entry_point)
    return {
        "name": kernel.name,
        "kernel": kernel.entry_point.text,
        "registered": candidate.taken,
        "reason": candidate.with_override(candidate.reason),
        "override": kernel.override or None,
        "requires": list(kernel.requires),
        "cache": kernel.cache.text if kernel.cache else None,
        "boxed": kernel.boxed,
        "file": kernel.span.file,
        "line": kernel.span.line,
        "source": str(short_path(path)) if definition and path else None,
        "source_line": definition.line if definition else None,
        "doc": definition.summary if definition else None,
        "fault": _fault(kernel.entry_point) or None,
    }
