"""`c10 validate`: the gate for a registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from c10cli.cli.options import SEED, command as c10_command, key_name, memory_option, seconds
from c10cli.cli.session import Session, picked
from c10cli.errors import capped, counted
from c10cli.report.github import annotation
from c10cli.verify.gate import Validation, validate


@c10_command("validate", formats=("text", "json", "github"))
@click.argument("manifest", required=False, metavar="[MANIFEST]")
@click.option("--static", is_flag=True, help="Check sources only; import nothing.")
@click.option("--no-run", is_flag=True, help="Import and bind kernels, but run none.")
@click.option("--require", type=key_name, multiple=True, metavar="KEY", help="A key whose kernels must run.")
@click.option("--timeout", "timeout_s", type=seconds, default=60.0, show_default=True, help="For one kernel.")
@memory_option
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the random inputs.")
def command(session: Session, manifest: str | None, no_run: bool, **options: Any) -> int:
    """Check a registry: the manifest, the sources, every kernel, every result.

    Without MANIFEST, the registry is found as for every command.  The sources
    of all kernels are checked; those whose needs this machine meets are
    imported, bound to their schemas, and run on every case against the
    reference, in processes of their own.  Exits with 1 where anything is found,
    with 4 where nothing was run (with --no-run: bound; with --static: where
    there is no operator).

    Example: c10 validate registry.yaml --require CUDA --format github
    """
    if manifest is not None:
        session.registry = manifest
    session.tell_registry()
    with session.progress() as begins:
        validation = validate(session.registry_path, run=not no_run, begins=begins, **options)
    _show(session, validation)
    if not validation.ok:
        return 3 if validation.diagnostics[0].code == "C10E101" else 1
    return 4 if validation.checked_nothing else 0


def _show(session: Session, validation: Validation) -> None:
    if session.format == "github":
        for line in _annotations(validation):
            session.echo(line)
        return
    session.show_diagnostics(validation.diagnostics)
    for printed in validation.printed:
        session.tell_printed(f"kernel `{printed.variant}` of `{printed.operator}`", printed.text)
    if session.is_json:
        session.echo_json(
            "c10.validate/1",
            registry=str(validation.registry),
            ok=validation.ok,
            counts=picked(validation, "operators", "kernels", "static", "bound", "run", "cases"),
            left_out=validation.left_out,
            diagnostics=[diagnostic.as_dict() for diagnostic in validation.diagnostics],
            skipped=[asdict(skipped) for skipped in validation.skipped],
            printed=[asdict(printed) for printed in validation.printed],
        )
        return
    session.echo("\n".join(_lines(validation)))


def _annotations(validation: Validation) -> Iterator[str]:
    for finding in validation.diagnostics:
        parts = [finding.message, *([f"in {finding.place}"] if finding.place else []), *finding.notes]
        parts += [f"help: {finding.advice}"] if finding.advice else []
        severity: Any = finding.severity
        yield annotation(severity, finding.code, "\n".join(parts), finding.span)
    for line in _skipped_lines(validation):
        yield annotation("notice", "skipped", line, None)
    if validation.checked_nothing:
        yield annotation("error", "nothing was checked", validation.checked_nothing, None)


def _lines(validation: Validation) -> list[str]:
    count = validation.findings.total
    lines = []
    if validation.operators or validation.ok:  # otherwise nothing could be read, and nothing was checked
        kernels, calls = counted(validation.kernels, "kernel"), counted(validation.cases, "call")
        lines = [
            f"{validation.registry}: {counted(validation.operators, 'operator')}, {kernels}",
            f"  sources  {counted(validation.static, 'kernel')} checked, nothing imported",
            f"  binding  {counted(validation.bound, 'kernel')} imported and bound to the schema",
            f"  results  {counted(validation.run, 'kernel')} run, {calls} compared with the reference",
        ]
    lines += [f"  skipped  {line}" for line in _skipped_lines(validation)]
    nothing = validation.checked_nothing
    clean = f"{nothing}, so nothing was checked" if nothing else "no findings"
    lines.append(counted(count, "finding") if count else clean)
    return lines


def _skipped_lines(validation: Validation) -> list[str]:
    """What could not be checked, and why; the kernels of one reason together."""
    lines = []
    by_reason: dict[tuple[str, str], list[str]] = {}
    for s in validation.skipped:
        name = " ".join(part for part in (s.operator, s.dispatch_key, s.variant) if part)
        by_reason.setdefault((s.stage, s.reason), []).append(name)
    for (stage, reason), names in by_reason.items():
        # A registry may have ten thousand kernels.
        shown = "all kernels" if len(names) == validation.kernels > 1 else ", ".join(capped(names, 40))
        lines.append(f"{_STAGES[stage]} {shown}: {reason}")
    if validation.left_out and validation.kernels:
        lines.append(f"binding and run of all kernels: {validation.left_out}")
    return lines


_STAGES = {"static": "source check of", "bind": "binding of", "run": "run of", "compare": "comparison of"}
