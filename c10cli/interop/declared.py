"""The entries of a `native_functions.yaml`, or of an ExecuTorch file, as they stand there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from c10cli.document.nodes import Document
from c10cli.document.scalars import describe
from c10cli.document.source import load_document
from c10cli.errors import Diagnostic, ManifestError

__all__ = ["Declared", "keys_of", "read_declared"]


@dataclass(frozen=True, slots=True)
class Declared:
    """One entry.

    Args:
        name: the operator's full name.
        schema: its text, with the namespace; None where the entry is only a name.
        fields: the rest of the entry.
    """

    name: str
    schema: str | None
    fields: Mapping[str, Any]

    @property
    def is_executorch(self) -> bool:
        """Whether only ExecuTorch has such entries."""
        return self.schema is None or "kernels" in self.fields


def read_declared(path: Path) -> tuple[Declared, ...]:
    """The entries of the file at *path*.

    Raises:
        ManifestError: C10E101, it cannot be read; C10E102 and others, it is
            not YAML; C10E106, it is no list of entries with `func` or `op`.
    """
    document = load_document(path)
    if document.findings:
        todo = "name a file that is there"  # by default, it is of registries
        told = [replace(d, help=todo) if d.code == "C10E101" and not d.help else d for d in document.findings]
        raise ManifestError(*told, path=path)
    entries = document.value
    if not isinstance(entries, list):
        fact = f"`{path.name}` must be a list of entries with `func` or `op`, not {describe(entries)}"
        raise ManifestError(Diagnostic("C10E106", fact, document.span_at(0)), path=path)
    findings = [found for i in range(len(entries)) if (found := _fault(document, entries, i))]
    findings += [
        Diagnostic("C10E103", f"key `{twice.key}` is given twice", twice.second, help="remove one")
        for twice in document.take_remaining_duplicates()
    ]
    if findings:
        raise ManifestError(*findings, path=path)
    return tuple(_declared(entry) for entry in entries)


def _fault(document: Document, entries: list[Any], index: int) -> Diagnostic | None:
    entry = entries[index]
    if isinstance(entry, dict) and isinstance(entry.get("func", entry.get("op")), str):
        return None
    fact = f"entry {index + 1} has neither a text `func` nor a text `op`"
    return Diagnostic("C10E106", fact, document.span(entries, index))


def _declared(entry: dict[str, Any]) -> Declared:
    text = str(entry.get("func", entry.get("op")))
    full = text if "::" in text.partition("(")[0] else f"aten::{text}"
    return Declared(full.partition("(")[0].strip(), full if "func" in entry else None, entry)


_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")
# Has no kernel where tensors are sparse or an XLA program.
_DENSE_COMPOSITE = "CompositeExplicitAutogradNonFunctional"
_NOT_DENSE = ("SparseCPU", "SparseCUDA", "XLA")


def keys_of(declared: Declared, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Which of the *wanted* keys torch has a kernel for, by what the entry says."""
    fields = declared.fields
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
