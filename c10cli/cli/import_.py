"""`c10 import`: a manifest made of operators that are declared elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from c10cli.cli.options import FILE, check_overwrite, command as c10_command, force_option, sealed
from c10cli.cli.session import Session, picked
from c10cli.document.findings import Findings
from c10cli.errors import Diagnostic, counted
from c10cli.files import write_atomic
from c10cli.interop import torch_import

_KEY = click.Choice(torch_import.TORCH_KEYS)
_SHOWN_NAMES = 3


@c10_command("import")
@click.option(
    "--from", "source", required=True, metavar="SOURCE", help="`torch`, or a YAML file, as c10 diff takes it."
)
@click.option("--select", multiple=True, metavar="PATTERN", help="Take only operators whose name has it.")
@click.option("--key", "keys", type=_KEY, multiple=True, metavar="KEY", help="Dispatch keys to have kernels.")
@click.option("--bind", type=click.Choice(["torch", "none"]), help="Whose kernels (none for ExecuTorch).")
@click.option("--schemas", type=FILE, metavar="FILE", help="What has the schemas (default: torch).")
@click.option("--save", type=FILE, metavar="FILE", help="The manifest.")
@force_option
def command(
    session: Session,
    source: str,
    select: tuple[str, ...],
    keys: tuple[str, ...],
    bind: str | None,
    schemas: Path | None,
    save: Path | None,
    force: bool,
) -> int:
    """Write a manifest of the operators of torch, or of a file that declares operators.

    A file is a native_functions.yaml, or a functions.yaml of ExecuTorch; where
    that only names operators, --schemas has a native_functions.yaml with them.
    The kernels are torch's own operators, which `c10 call` gives torch's
    tensors.  Without --save the manifest goes to standard output, and what is
    said about it to standard error.  PATTERN is a part of a name or, with `*`
    or `?`, a pattern for the whole name.  Exits with 1 where torch's kernels do
    not fit a schema, which then has none.

    Example: c10 import --from torch --select 'aten::relu*' --save torch.yaml
    """
    if session.is_json and save is None:
        raise click.UsageError("--format json leaves no room for the manifest; add --save FILE")
    if save is not None:
        check_overwrite(save, "c10 import", force=force)
    if source == "torch" and schemas is not None:
        raise click.UsageError("--schemas is for files; torch has its own")
    keys = tuple(dict.fromkeys(keys)) or torch_import.DEFAULT_KEYS
    if source == "torch":
        imported = torch_import.import_torch(select, () if bind == "none" else keys)
    else:
        wanted = None if bind is None else bind == "torch"
        imported = torch_import.import_file(source, select, keys, bind=wanted, schemas=schemas)
    if not imported.operators:
        _say(session, imported, None)
        what = f"no operator of {imported.origin} is taken"
        todo = "widen --select" if select else "see what is left out, and why"
        session.show_diagnostics([Diagnostic("C10E401", what, help=todo)])
        return 4
    text = sealed(torch_import.render_manifest(imported, select), "c10 import")
    if save is None:
        session.echo(text.removesuffix("\n"))
    else:
        write_atomic(save, text)
    _say(session, imported, save)
    session.show_diagnostics(Findings(imported.findings).told())
    return 1 if imported.findings else 0


def _say(session: Session, imported: torch_import.Imported, save: Path | None) -> None:
    """The numbers: on standard output where that is not the manifest's."""
    if session.is_json:
        session.echo_json(
            "c10.import/1",
            **picked(imported, "origin", "left_out"),
            file=str(save) if save else None,
            operators=len(imported.operators),
            kernels=imported.kernel_count,
            note=imported.note or None,
            not_bound=imported.unbound,
            diagnostics=[finding.as_dict() for finding in imported.findings],
        )
        return
    where = f"{save}: " if save else ""
    count = imported.kernel_count
    kernels = f"{counted(count, 'kernel')} of torch" if count else "no kernels"
    lines = [f"{where}{counted(len(imported.operators), 'operator')} of {imported.origin}, {kernels}"]
    lines += [f"  {imported.note}"] if imported.note else []
    told = (("left out", imported.left_out), ("not bound", imported.unbound))
    for what, reason, names in ((what, *item) for what, reasons in told for item in reasons.items()):
        more = ", …" if len(names) > _SHOWN_NAMES else ""
        lines.append(f"  {what}  {len(names)}: {reason} ({', '.join(names[:_SHOWN_NAMES])}{more})")
    write = session.tell if save is None else session.echo
    write("\n".join(lines))
