"""The operators of a `native_functions.yaml` or of an ExecuTorch `functions.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from c10cli.document.native_functions import NativeFunction, read_native_functions
from c10cli.document.source import load_document
from c10cli.interop.imported import Collector, Imported
from c10cli.interop.torch_import import DEFAULT_KEYS, import_torch


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
    entries = read_native_functions(load_document(path))
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


def _schemas(
    entries: Sequence[NativeFunction], path: Path | None, keys: tuple[str, ...]
) -> Callable[[str], Found]:
    """From an operator's name to its schema and its keys among *keys*."""
    if not any(entry.schema is None for entry in entries):
        return lambda _name: (None, ())
    if path is not None:
        declared = {entry.name: entry for entry in read_native_functions(load_document(path))}
        return lambda name: (
            (declared[name].schema, keys_of(declared[name], keys)) if name in declared else (None, ())
        )
    known = {str(o.schema.name): o for o in import_torch(keys=keys).operators}
    return lambda name: (str(known[name].schema), known[name].keys) if name in known else (None, ())


_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")
# Has no kernel where tensors are sparse or an XLA program.
_DENSE_COMPOSITE = "CompositeExplicitAutogradNonFunctional"
_NOT_DENSE = ("SparseCPU", "SparseCUDA", "XLA")


def keys_of(function: NativeFunction, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Which of the *wanted* keys torch has a kernel for, by what the entry says."""
    fields = function.node.value
    dispatch = fields.get("dispatch", "CompositeImplicitAutograd")
    listed = {key.strip() for keys in _texts(dispatch) for key in keys.split(",")}
    is_structured = fields.get("structured") is True
    if "structured_delegate" in fields:
        # What is said beside it is for sparse tensors and the like.
        listed = {_DENSE_COMPOSITE, *(listed if "dispatch" in fields else ())}
    if "ufunc_inner_loop" in fields:
        listed |= {"CPU", "CUDA"}
    if not listed.isdisjoint(_COMPOSITE):
        return wanted
    if "CUDA" in listed:
        listed.add("HIP")
    if is_structured:
        listed.add("Meta")
    dense = _DENSE_COMPOSITE in listed
    return tuple(key for key in wanted if key in listed or (dense and key not in _NOT_DENSE))


def _texts(value: Any) -> tuple[str, ...]:
    """*value*, or the keys of the mapping that it is."""
    return tuple(key for key in value if isinstance(key, str)) if isinstance(value, dict) else (str(value),)
