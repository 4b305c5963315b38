"""`c10 export`: the registry's operators for another framework."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from c10cli.cli.options import FILE, check_overwrite, command as c10_command, force_option, sealed
from c10cli.cli.session import Session
from c10cli.errors import Diagnostic, capped, counted
from c10cli.files import write_atomic


@c10_command("export")
@click.option("--to", "target", type=click.Choice(["torch"]), required=True, help="The framework.")
@click.option("--save", type=FILE, required=True, metavar="FILE.py", help="The module to write.")
@click.option("--select", multiple=True, metavar="PATTERN", help="Take only operators whose name has it.")
@force_option
def command(session: Session, target: str, save: Path, select: tuple[str, ...], force: bool) -> int:
    """Write a Python module that registers the operators with torch.

    After `import FILE`, torch.ops has every operator of the registry, with its
    CPU and CUDA kernels; FILE finds the registry relative to itself.  Python
    can do the same without a file: see export_to_torch in
    c10cli.interop.torch_export.  Where the domain of an operator says what it
    returns, torch.compile takes it into its graph.  PATTERN is a part of a name or, with `*` or
    `?`, a pattern for the whole name.

    Example: c10 export --to torch --select softmax --save c10_ops.py
    """
    from c10cli.interop import torch_export
    from c10cli.interop.torch_fake import why_no_fake

    reason = torch_export.module_name_fault(save)
    if reason:
        raise click.UsageError(f"--save `{save.name}` {reason}; choose a name such as c10_ops.py")
    check_overwrite(save, "c10 export", force=force)
    registry = session.load()
    chosen = torch_export.select_operators(registry, select)
    if not chosen:
        what = f"no operator matches {' or '.join(f'`{s}`' for s in select)}" if select else "no operators"
        session.show_diagnostics([Diagnostic("C10E401", what, help="`c10 list` shows all")])
        return 4
    torch_export.check_exportable([linked.decl for linked in chosen])
    module = torch_export.render_module(registry.manifest.path, save, select)
    write_atomic(save, sealed(module, "c10 export"))
    counts = Counter(key for linked in chosen for key in torch_export.exported_kernels(linked))
    without = {str(o.decl.name): why for o in chosen if (why := why_no_fake(o.decl.schema, o.decl.domain))}
    if session.is_json:
        names = [str(linked.decl.name) for linked in chosen]
        named = {"operators": names, "kernels": counts, "without_fake": without}
        session.echo_json("c10.export/1", to=target, file=str(save), **named)
        return 0
    kernels = " and ".join(f"{counts[key]} {key}" for key in torch_export.EXPORTED_KEYS)
    session.echo(f"{save}: {counted(len(chosen), 'operator')} with {kernels} kernels")
    session.echo(f"`import {save.stem}` registers them under torch.ops")
    if without:
        told = "; ".join(capped([f"{name}: {why}" for name, why in without.items()], 4))
        session.echo(f"without fake kernels, so that torch.compile breaks its graph there: {told}")
    return 0
