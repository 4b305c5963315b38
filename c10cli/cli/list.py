"""`c10 list`: the operators of a registry."""

from __future__ import annotations

import sys

import click

from c10cli.cli.options import command as c10_command, complete_operator
from c10cli.cli.session import Session, picked
from c10cli.dispatch.names import matches_name
from c10cli.errors import Diagnostic, did_you_mean
from c10cli.manifest.declarations import OperatorDecl


@c10_command("list")
@click.argument("pattern", required=False, shell_complete=complete_operator)
def command(session: Session, pattern: str | None) -> int:
    """Operators, and the dispatch keys that have a kernel.

    PATTERN keeps the operators whose name contains it; with `*` or `?` it is
    a pattern for the whole name.  No kernel is imported.
    """
    manifest = session.manifest()
    operators = [o for o in manifest.operators if matches_name(str(o.name), [pattern or ""])]
    operators.sort(key=lambda operator: str(operator.name))
    if session.is_json:
        shown = [_as_dict(operator) for operator in operators]
        session.echo_json("c10.list/1", registry=str(manifest.path), operators=shown)
    elif operators:
        session.echo("\n".join(_lines(operators)))
    if operators:
        return 0
    if pattern is None:  # all are shown, though there are none
        session.tell(f"{manifest.path} has no operators")
        return 0
    names = {name for o in manifest.operators for name in (str(o.name), o.name.base)}
    todo = did_you_mean(pattern, names) or "`c10 list` shows all"
    session.show_diagnostics([Diagnostic("C10E401", f"no operator matches `{pattern}`", help=todo)])
    return 4


def _lines(operators: list[OperatorDecl]) -> list[str]:
    """Aligned columns: name, keys, the rest of the schema; cut at the terminal's edge, elsewhere whole."""
    names = [str(operator.name) for operator in operators]
    keys = [" ".join(operator.dispatch_keys) or "-" for operator in operators]
    name_width, key_width = max(map(len, names), default=0), max(map(len, keys), default=0)
    width = 0
    if sys.stdout.isatty():
        import shutil  # as slow to import as reading a small manifest

        width = shutil.get_terminal_size().columns
    lines = []
    for name, key, operator in zip(names, keys, operators, strict=True):
        line = f"{name:<{name_width}}  {key:<{key_width}}  {str(operator.schema)[len(name) :]}"
        lines.append(f"{line[: width - 1]}…" if 0 < width < len(line) else line)
    return lines


def _as_dict(operator: OperatorDecl) -> dict[str, object]:
    name = operator.name
    return {
        "name": str(name),
        **picked(name, "namespace", "base", "overload"),
        "schema": str(operator.schema),
        "summary": operator.summary,
        "keys": list(operator.dispatch_keys),
        "kernels": [
            {
                "key": kernel.dispatch_key,
                "name": kernel.name,
                "kernel": kernel.entry_point.text,
                "requires": kernel.requires,
                **picked(kernel.span, "file", "line"),
            }
            for kernel in operator.kernels
        ],
        **picked(operator.span, "file", "line"),
    }
