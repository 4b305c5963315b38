"""The operators of a `native_functions.yaml` or of an ExecuTorch `functions.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from c10cli.interop.declared import Declared, keys_of, read_declared
from c10cli.interop.imported import Collector, Imported
from c10cli.interop.torch_import import DEFAULT_KEYS, import_torch

__all__ = ["import_file"]


def import_file(
    path: Path,
    select: Sequence[str] = (),
    keys: Sequence[str] = DEFAULT_KEYS,
    *,
    bind: bool | None = None,
    schemas: Path | None = None,
) -> Imported:
    """The operators that the file at *path* declares.

    Args:
        bind: give them torch's kernels; None: unless the file is ExecuTorch's,
            whose own kernels are C++ functions that Python cannot call.
        schemas: the `native_functions.yaml` with the schemas of what an
            ExecuTorch file only names; None: the installed torch has them.

    Raises:
        ManifestError: the file is none of the two; or C10E101, schemas are
            needed and there is no torch.
    """
    entries = read_declared(path)
    is_executorch = any(entry.is_executorch for entry in entries)
    bound = tuple(keys) if (bind if bind is not None else not is_executorch) else ()
    collector = Collector(select)
    find, place = _schemas(entries, schemas, bound), schemas.name if schemas else "torch"
    for entry in entries:
        if not collector.wants(entry.name):
            continue
        text, found = (entry.schema, keys_of(entry, bound)) if entry.schema else find(entry.name)
        if text is None:
            collector.leave_out(entry.name, f"only named, and {place} has no schema of it")
            continue
        parsed = collector.parse(entry.name, text)
        if parsed is not None:
            collector.add(parsed, () if entry.schema and is_executorch else found)
    return collector.imported(path.name, _CPP_KERNELS if is_executorch and bind is None else "")


_CPP_KERNELS = (
    "its own kernels are C++ functions; `--bind torch` gives torch's to the operators that torch has"
)


Found = tuple[str | None, tuple[str, ...]]


def _schemas(entries: Sequence[Declared], path: Path | None, keys: tuple[str, ...]) -> Callable[[str], Found]:
    """From an operator's name to its schema and its keys among *keys*."""
    if not any(entry.schema is None for entry in entries):
        return lambda _name: (None, ())
    if path is not None:
        declared = {entry.name: entry for entry in read_declared(path)}
        return lambda name: (
            (declared[name].schema, keys_of(declared[name], keys)) if name in declared else (None, ())
        )
    known = {str(o.schema.name): o for o in import_torch(keys=keys).operators}
    return lambda name: (str(known[name].schema), known[name].keys) if name in known else (None, ())
