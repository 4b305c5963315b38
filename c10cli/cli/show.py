"""`c10 show`: everything the registry says about one operator."""

from __future__ import annotations

from typing import Any

import click

from c10cli.cli.options import command as c10_command, complete_operator
from c10cli.cli.session import Session, picked, short_path
from c10cli.entry_points.definitions import Definition, Missing, definition_of
from c10cli.entry_points.entry_point import EntryPoint
from c10cli.manifest.declarations import CaseDecl, OperatorDecl
from c10cli.manifest.link import LinkedOperator, Variant


@c10_command("show")
@click.argument("op", shell_complete=complete_operator)
def command(session: Session, op: str) -> int:
    """Schema, kernels with the reason for each choice, and cases of operator OP.

    No kernel is imported: what is said of its function is read in its source.
    """
    linked = session.load(partly=True).find(op)
    if session.is_json:
        session.echo_json("c10.show/1", **_as_dict(linked))
    else:
        session.echo("\n".join(_lines(linked)))
    return 0


def _lines(linked: LinkedOperator) -> list[str]:
    decl = linked.decl
    lines = [str(decl.schema), *([f"  {decl.summary}"] if decl.summary else [])]
    lines += [f"  declared at {decl.schema_span}", "", "Arguments"]
    for argument in decl.schema.arguments:
        notes = ["keyword-only"] * argument.kwarg_only + ["written"] * argument.is_mutable
        lines.append(f"  {argument}" + (f"  ({', '.join(notes)})" if notes else ""))
    lines += ["", "Returns"]
    lines += [f"  {returned}" for returned in decl.schema.returns] or ["  nothing"]
    lines += ["", "Domain", *_domain_lines(decl)] if decl.domain else []
    deciding = ", then ".join(f"`{a.name}`" for a in linked.handle.calling.dispatch_arguments())
    lines += ["", f"Dispatch table (the key comes from {deciding})"]
    for key, variants in linked.variants.items():
        device = linked.device(key)
        lines.append(f"  {key}" + ("" if device.available else f"  (no tensors here: {device.reason})"))
        for variant in variants:
            mark, status = ("*", "registered") if variant.taken else (" ", "not registered")
            lines.append(f"    {mark} {variant.kernel.name}  {variant.kernel.entry_point.text}")
            facts = [f"{status}: {variant.reason}", *fact_lines(variant_dict(variant))]
            lines += [f"        {fact}" for fact in facts]
    lines += [] if linked.variants else ["  no kernels"]
    lines += ["", "Reference", *(f"  {line}" for line in _reference_lines(decl))]
    costs = (("bytes", decl.cost.bytes), ("flops", decl.cost.flops))
    lines += ["", "Cost"]
    lines += [f"  {name}: {text}" for name, text in costs if text is not None] or ["  not given"]
    lines += ["", "Cases"]
    lines += [f"  {_case_line(case)}" for case in decl.cases] or ["  none"]
    return lines


def _domain_lines(decl: OperatorDecl) -> list[str]:
    entry = decl.domain.as_entry() if decl.domain else {}
    width = max(map(len, entry), default=0)
    texts = [
        (key, text) for key, value in entry.items() for text in ([value] if isinstance(value, str) else value)
    ]
    return [f"  {key:{width}}  {text}" for key, text in texts]


def variant_dict(variant: Variant) -> dict[str, Any]:
    """A variant as JSON-ready data, which `fact_lines` prints."""
    kernel = variant.kernel
    return {
        "name": kernel.name,
        "kernel": kernel.entry_point.text,
        **picked(variant, "taken", "reason"),
        **picked(kernel, "requires", "boxed"),
        "arrays": kernel.arrays or None,
        "when": kernel.when or None,
        "override": kernel.override or None,
        "cache": kernel.cache.text if kernel.cache else None,
        "package": (kernel.entry_point.module or "").partition(".")[0] or None,
        **picked(kernel.span, "file", "line", "column"),
        **_definition(kernel.entry_point),
    }


def fact_lines(variant: dict[str, Any]) -> list[str]:
    """What a variant needs and where it is declared; where it is defined, or why it cannot be used."""
    facts = [
        f"of package `{variant['package']}`" if variant["package"] else "",
        f"needs {', '.join(variant['requires'])}" if variant["requires"] else "",
        f"takes {variant['arrays']} arrays" if variant["arrays"] else "",
        f"when {variant['when']}" if variant["when"] else "",
        f"cache {variant['cache']}" if variant["cache"] else "",
        "boxed" if variant["boxed"] else "",
        f"declared at {variant['file']}:{variant['line']}:{variant['column']}",
    ]
    return ["; ".join(fact for fact in facts if fact), *_definition_lines(variant)]


def _definition(entry_point: EntryPoint) -> dict[str, Any]:
    """Where the source defines a function, and what its docstring says; or why it is not there."""
    found = definition_of(entry_point)
    shown: dict[str, Any] = {"source": None, "source_line": None, "doc": None, "fault": None}
    if isinstance(found, Missing) and entry_point.path:
        shown["fault"] = found.message
    # An installed module that only hands a name on is not where it is defined.
    if isinstance(found, Definition) and (entry_point.path or found.kind != "unknown"):
        shown |= {"source": str(short_path(found.path)), "source_line": found.line, "doc": found.summary}
    return shown


def _definition_lines(shown: dict[str, Any]) -> list[str]:
    said = f": {shown['doc']}" if shown["doc"] else ""
    defined = [f"defined at {shown['source']}:{shown['source_line']}{said}"] if shown["source"] else []
    return [*defined, f"cannot be used: {shown['fault']}"] if shown["fault"] else defined


def _reference_lines(decl: OperatorDecl) -> list[str]:
    if decl.reference is None:
        return ["none"]
    lines = [decl.reference.text, *(f"  {line}" for line in _definition_lines(_definition(decl.reference)))]
    return lines + [f"  {dtype}: rtol {t.rtol:g}, atol {t.atol:g}" for dtype, t in decl.tolerance.items()]


def _case_line(case: CaseDecl) -> str:
    sizes = ", ".join(f"{name} in {list(values)}" for name, values in case.names.items())
    given = {**_plain_inputs(case), **(case.dims or {})}
    inputs = ", ".join(f"{name}={value}" for name, value in given.items())
    timed = "" if case.bench else "  (not timed)"
    return f"{case.name}: {inputs}" + (f"; {sizes}" if sizes else "") + f"; {', '.join(case.dtypes)}{timed}"


def _plain_inputs(case: CaseDecl) -> dict[str, object]:
    """The inputs as they are written."""
    return {k: value.text if isinstance(value, EntryPoint) else value for k, value in case.inputs.items()}


_SHOWN_OF_CASE = ("name", "sweep", "points", "dtypes", "dims", "keys", "variants", "bench")


def _as_dict(linked: LinkedOperator) -> dict[str, Any]:
    decl = linked.decl
    return {
        "name": str(decl.name),
        "schema": str(decl.schema),
        "summary": decl.summary,
        **picked(decl.schema_span, "file", "line"),
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
        "domain": decl.domain.as_entry() if decl.domain else None,
        "dispatch_arguments": [a.name for a in linked.handle.calling.dispatch_arguments()],
        "table": [
            {
                "key": key,
                "device": linked.device(key).available,
                "device_reason": linked.device(key).reason or None,
                "variants": [variant_dict(variant) for variant in variants],
            }
            for key, variants in linked.variants.items()
        ],
        "reference": decl.reference.text if decl.reference else None,
        "tolerance": {dtype: picked(t, "rtol", "atol") for dtype, t in decl.tolerance.items()},
        "cost": picked(decl.cost, "bytes", "flops"),
        "cases": [{**picked(case, *_SHOWN_OF_CASE), "inputs": _plain_inputs(case)} for case in decl.cases],
    }
