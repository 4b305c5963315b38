"""The two sides of a comparison: operators out of a file, or out of a file in git.

A side is a manifest with all that it includes, or torch's
``native_functions.yaml``, whose schemas are in torch's dialect and get the
namespace ``aten``; its ``dispatch`` is not read, since a composite kernel may
stand for any key.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from c10cli.diff.git_blobs import read_blob
from c10cli.document.fields import Fields
from c10cli.document.nodes import Document, Node
from c10cli.document.source import MAX_BYTES, load_document, parse_document
from c10cli.errors import Diagnostic, ManifestError, SchemaError, Span
from c10cli.manifest.load import ReadDocument, load_manifest
from c10cli.manifest.model import OperatorDecl, Waiver
from c10cli.manifest.waivers import take_removals
from c10cli.schema.model import FunctionSchema
from c10cli.schema.parser import parse_schema

__all__ = ["DeclaredOperator", "Side", "read_side"]

_ATEN: Final = "aten::"
_HELP: Final = "name a file, or `REV:path` with the path from the top of the git repository"


@dataclass(frozen=True, slots=True)
class DeclaredOperator:
    """An operator of one side, and where its pieces stand.

    Args:
        field_name: the field of *node* that holds the schema.
        shift: how many characters the schema's text has more than the field, at its start.
        kernels: where the kernels of each dispatch key stand.
    """

    schema: FunctionSchema
    node: Node = field(repr=False)
    field_name: str = "schema"
    shift: int = 0
    kernels: Mapping[str, Span] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()

    def span(self, offsets: tuple[int, int] | None = None) -> Span:
        """The place of a stretch of the schema's text, or of the whole of it."""
        if offsets is None:
            return self.node.span(self.field_name)
        start, end = (max(offset - self.shift, 0) for offset in offsets)
        return self.node.span_within(self.field_name, start, end)


@dataclass(frozen=True, slots=True)
class Side:
    """The operators of one side by their full names; *shown* is what the user called it.

    Args:
        waivers: those for operators that are gone; the others are with their operators.
    """

    shown: str
    operators: Mapping[str, DeclaredOperator]
    waivers: tuple[Waiver, ...] = ()


def read_side(text: str) -> Side:
    """The side that *text* names: a file, or ``REV:path`` in the git repository of this folder.

    Raises:
        ManifestError: it cannot be read (C10E101), or has faults: all of them.
    """
    read, path = _reader(text)
    document = read(path, text)
    document.findings[:] = map(_of_side, document.findings)
    if type(document.value) is list:
        return Side(text, _native_operators(document))

    waivers: list[Waiver] = []

    def read_one(place: Path, shown: str) -> Document:
        one = document if place == path else read(place, shown)
        waivers.extend(take_removals(one))
        return one

    result = load_manifest(path, read=read_one)
    if result.manifest is None or not result.ok:
        raise ManifestError(*result.diagnostics, path=path)
    operators = {str(decl.name): _declared(decl) for decl in result.manifest.operators}
    return Side(text, operators, tuple(waivers))


def _of_side(finding: Diagnostic) -> Diagnostic:
    """*finding* about the file that a side names, which no option or variable does."""
    return replace(finding, help=_HELP) if finding.code == "C10E101" and not finding.help else finding


def _declared(decl: OperatorDecl) -> DeclaredOperator:
    kernels = {key: decl.variants(key)[0].key_span for key in decl.dispatch_keys}
    return DeclaredOperator(decl.schema, decl.node, kernels=kernels, waivers=decl.waivers)


def _reader(text: str) -> tuple[ReadDocument, Path]:
    """How the file that *text* names is read, and its path there."""
    revision, colon, path = text.partition(":")
    if not colon or os.path.exists(text):  # noqa: PTH110 - total, whatever the text
        return load_document, Path(text)
    # git counts from the top of the repository, unless the path begins with a dot.
    from_here = path.startswith(("./", "../"))

    def named(name: str) -> str:
        dot = "./" if from_here and not name.startswith("../") else ""
        return f"{revision}:{dot}{name}"

    def read(place: Path, _shown: str) -> Document:
        written = place.as_posix()
        return _read_from_git(named(posixpath.normpath(written)), named(written))

    return read, Path(path)


def _read_from_git(name: str, written: str) -> Document:
    """The document that git calls *name*, or *written*; a fault is a finding of it."""
    document = Document(name)
    data, fault = read_blob(name, written)
    if fault is not None:
        document.findings.append(fault)
        return document
    if len(data) > MAX_BYTES:
        message = f"manifest `{name}` is larger than {MAX_BYTES // 2**20} MiB"
        document.findings.append(Diagnostic("C10E112", message))
        return document
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte 0x{data[error.start]:02x} of `{name}` is not UTF-8 text"
        document.findings.append(Diagnostic("C10E102", message, help="save the file as UTF-8"))
        return document
    return parse_document(text, name)


def _native_operators(document: Document) -> dict[str, DeclaredOperator]:
    """The operators of a ``native_functions.yaml``."""
    fields = Fields(document)
    found: dict[str, DeclaredOperator] = {}
    entries: Any = document.value
    for index in range(len(entries)):
        operator = _native_operator(fields, entries, index)
        if operator is None:
            continue
        name = str(operator.schema.name)
        first = found.setdefault(name, operator)
        if first is not operator:
            notes = (f"the first is at {first.span()}",)
            fields.report("C10E301", f"operator `{name}` is defined twice", operator.span(), notes=notes)
    for duplicate in document.take_remaining_duplicates():
        fields.repeated(duplicate, f"key `{duplicate.key}` is given twice")
    if fields.findings:
        by_place = sorted(fields.findings, key=lambda f: (f.span.line, f.span.column) if f.span else (0, 0))
        raise ManifestError(*by_place)
    return found


def _native_operator(fields: Fields, entries: Any, index: int) -> DeclaredOperator | None:
    entry = fields.mapping(entries, index, f"entry {index + 1}")
    if entry is None:
        return None
    if "func" not in entry:
        fields.report("C10E105", f"field `func` of entry {index + 1} is missing", fields.document.span(entry))
        return None
    text = fields.text(entry, "func", f"`func` of entry {index + 1}")
    if text is None:
        return None
    prefix = "" if "::" in text.partition("(")[0] else _ATEN
    node = Node(fields.document, entry)
    try:
        schema = parse_schema(prefix + text, "torch", file=fields.document.file)
    except SchemaError as error:
        start, end = (max(offset - len(prefix), 0) for offset in (error.start, error.end))
        span = node.span_within("func", start, end)
        for d in error.diagnostics:
            fields.report(d.code, d.message, span, label=d.label, notes=d.notes, help=d.help)
        return None
    return DeclaredOperator(schema, node, "func", len(prefix))
