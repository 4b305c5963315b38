"""`c10 validate`: the gate for a registry."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from c10cli.cli.session import Session
from c10cli.cli.session import command as c10_command

if TYPE_CHECKING:
    from c10cli.verify.validate import Validation


@c10_command("validate", formats=("text", "json", "github"))
@click.argument("manifest", required=False, metavar="[MANIFEST]")
@click.option("--static", is_flag=True, help="Check sources only; import nothing.")
@click.option("--no-run", is_flag=True, help="Import and bind kernels, but run none.")
@click.option(
    "--require", multiple=True, metavar="KEY", help="A dispatch key whose kernels must have run here."
)
@click.option(
    "--timeout", "timeout_s", type=float, default=60.0, show_default=True, help="Seconds for a kernel."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random inputs.")
def command(
    session: Session,
    manifest: str | None,
    static: bool,
    no_run: bool,
    require: tuple[str, ...],
    timeout_s: float,
    seed: int,
) -> int:
    """Check a registry: the manifest, the sources, every kernel, every result.

    Without MANIFEST, the registry is found as for every command.  The sources
    of all kernels are checked; those whose needs this machine meets are
    imported, bound to their schemas, and run on every case against the
    reference, in processes of their own.  Exits with 1 where anything is found.
    """
    from c10cli.dispatch import DispatchKey
    from c10cli.verify.validate import validate

    if manifest is not None:
        session.registry = manifest
    for key in require:
        DispatchKey(key)
    with _progress(session) as begins:
        validation = validate(
            session.registry_path,
            static=static,
            run=not no_run,
            require=require,
            timeout_s=timeout_s,
            seed=seed,
            begins=begins,
        )
    _show(session, validation)
    if not validation.ok:
        unreadable = validation.diagnostics[0].code == "C10E101"
        return 3 if unreadable else 1
    return 0


@contextlib.contextmanager
def _progress(session: Session) -> Iterator[Callable[[str], None]]:
    """A line on standard error that names the kernel at work, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _kernel: None
        return
    with session.console(stderr=True).status("reading the manifest") as status:
        yield status.update


def _show(session: Session, validation: Validation) -> None:
    if session.format == "github":
        for diagnostic in validation.diagnostics:
            session.echo(_annotation(diagnostic.as_dict()))
        return
    session.show_diagnostics(validation.diagnostics)
    if session.is_json:
        session.echo_json(
            "c10.validate/1",
            registry=str(validation.registry),
            ok=validation.ok,
            counts={
                name: getattr(validation, name)
                for name in ("operators", "kernels", "static", "bound", "run", "cases")
            },
            diagnostics=[diagnostic.as_dict() for diagnostic in validation.diagnostics],
            skipped=[asdict(skipped) for skipped in validation.skipped],
        )
        return
    for line in _lines(validation):
        session.echo(line)


def _lines(validation: Validation) -> list[str]:
    count = len(validation.diagnostics)
    lines = [
        f"{validation.registry}: {validation.operators} operators, {validation.kernels} kernels",
        f"  sources  {validation.static} kernels checked without importing them",
        f"  binding  {validation.bound} kernels imported and bound to their schemas",
        f"  results  {validation.run} kernels run, {validation.cases} calls compared with the reference",
    ]
    by_reason: dict[tuple[str, str], list[str]] = {}
    for s in validation.skipped:
        name = " ".join(part for part in (s.operator, s.dispatch_key, s.variant) if part)
        by_reason.setdefault((s.stage, s.reason), []).append(name)
    for (stage, reason), names in by_reason.items():
        lines.append(f"  skipped  {_STAGES[stage]} {', '.join(names)}: {reason}")
    lines.append("no findings" if not count else f"{count} finding{'s' if count > 1 else ''}")
    return lines


_STAGES = {"static": "source check of", "bind": "binding of", "run": "run of"}


def _annotation(data: dict[str, object]) -> str:
    """One workflow command of GitHub Actions; its own characters are escaped as it wants."""
    place = "".join(
        f",{name}={_escaped(str(data[field]))}"
        for name, field in (
            ("file", "file"),
            ("line", "line"),
            ("col", "column"),
            ("endColumn", "end_column"),
        )
        if data[field] is not None
    )
    text = f"{data['message']}" + (f" ({data['help']})" if data["help"] else "")
    return f"::{data['severity']} title={data['code']}{place}::{text.replace('%', '%25')}".replace(
        "\n", "%0A"
    )


def _escaped(text: str) -> str:
    for character, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), (":", "%3A"), (",", "%2C")):
        text = text.replace(character, code)
    return text
