"""The entries of torch's `native_functions.yaml`, or of an ExecuTorch file, with their places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from c10cli.document.nodes import Document, Node
from c10cli.document.scalars import kind_name
from c10cli.errors import Diagnostic, ManifestError, Span

_ATEN: Final = "aten::"


@dataclass(frozen=True, slots=True)
class NativeFunction:
    """One entry.

    Args:
        name: the operator's full name; in namespace `aten` where the file names none.
        schema: its text, with the namespace; None where the entry is only a name.
        node: the whole entry.
    """

    name: str
    schema: str | None
    node: Node = field(repr=False)

    @property
    def is_executorch(self) -> bool:
        """Whether only ExecuTorch has such entries."""
        return self.schema is None or "kernels" in self.node.value

    @property
    def span(self) -> Span:
        """The place of its schema or name."""
        return self.node.span("func" if "func" in self.node.value else "op")


def read_native_functions(document: Document) -> tuple[NativeFunction, ...]:
    """The entries of *document*.

    Raises:
        ManifestError: it has faults of its own; C10E106, it is no list of
            entries with `func` or `op`.
    """
    if document.findings:
        raise ManifestError(*document.findings)
    entries = document.value
    if not isinstance(entries, list):
        fact = f"`{document.file}` must be a list of entries with `func` or `op`, not {kind_name(entries)}"
        raise ManifestError(Diagnostic("C10E106", fact, document.span_at(0)))
    findings = []
    for i, entry in enumerate(entries):
        if not (isinstance(entry, dict) and isinstance(entry.get("func", entry.get("op")), str)):
            fact = f"entry {i + 1} has neither a text `func` nor a text `op`"
            findings.append(Diagnostic("C10E106", fact, document.span(entries, i)))
    if findings:
        raise ManifestError(*findings)
    return tuple(_native_function(document, entry) for entry in entries)


def _native_function(document: Document, entry: dict[str, Any]) -> NativeFunction:
    text = str(entry.get("func", entry.get("op")))
    full = text if "::" in text.partition("(")[0] else f"{_ATEN}{text}"
    is_named = "func" not in entry or "inherits" in entry  # as in ExecuTorch's edge.yaml
    schema = None if is_named else full
    return NativeFunction(full.partition("(")[0].strip(), schema, Node(document, entry))
