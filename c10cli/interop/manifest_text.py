"""Imported operators as the text of a manifest."""

from __future__ import annotations

import json
from collections.abc import Sequence

from c10cli import __version__
from c10cli.interop.imported import Imported, ImportedOperator

__all__ = ["render_manifest"]


def render_manifest(imported: Imported, select: Sequence[str] = ()) -> str:
    """A manifest with the operators of *imported*; loading it imports nothing.

    Args:
        select: what the import was limited to, for the comment at the top.
    """
    limits = "".join(f" --select {json.dumps(pattern)}" for pattern in select)
    head = f"# The operators of {imported.origin}, by `c10 import{limits}` of c10cli {__version__}.\n"
    head += "version: 1\ndialect: torch\n"
    if imported.kernel_count:
        head += "arrays: torch\nrequires: [torch]\n"
    entries = "".join(_entry(operator) for operator in imported.operators)
    return f"{head}operators:\n{entries}" if entries else f"{head}operators: []\n"


def _entry(operator: ImportedOperator) -> str:
    # A JSON string is a YAML string, whatever is in it.
    schema = json.dumps(str(operator.schema))
    kernels = ", ".join(f"{key}: {operator.entry_point}" for key in operator.keys)
    return f"  - schema: {schema}\n" + (f"    kernels: {{{kernels}}}\n" if kernels else "")
