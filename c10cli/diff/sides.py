"""The two sides of a comparison: operators out of a file, of a file in git, of standard input, of torch.

A side is a manifest with all that it includes, or what torch or ExecuTorch
declare their operators in, whose schemas are in torch's dialect and get the
namespace ``aten``; its ``dispatch`` is not read, since a composite kernel may
stand for any key.  What cannot be read of a side is named; the rest is one.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from c10cli.document.native_functions import NativeFunction, read_native_functions
from c10cli.document.nodes import Document, Node
from c10cli.document.source import MAX_BYTES, load_document, parse_document
from c10cli.errors import Diagnostic, ManifestError, SchemaError, Span
from c10cli.files import git
from c10cli.manifest.declarations import OperatorDecl, Waiver
from c10cli.manifest.entries import name_of
from c10cli.manifest.load import load_manifest
from c10cli.schema.domain import Domain
from c10cli.schema.model import FunctionSchema
from c10cli.schema.parser import parse_schema
from c10cli.schema.type_parser import custom_classes

_HELP: Final = "name a file, `-`, or `REV:path` with the path from the top of the git repository"


@dataclass(frozen=True, slots=True)
class DeclaredOperator:
    """An operator of one side, and where its pieces stand.

    Args:
        schema: None where the side only names the operator, or its schema has a fault.
        field_name: the field of *node* that holds the schema, or the name.
        kernels: where the kernels of each dispatch key stand; None: the side does not say.
        fault: why no more is known of it than that it is there.
    """

    schema: FunctionSchema | None
    node: Node = field(repr=False)
    field_name: str = "schema"
    kernels: Mapping[str, Span] | None = None
    waivers: tuple[Waiver, ...] = ()
    fault: Diagnostic | None = None
    domain: Domain | None = None

    @property
    def text(self) -> str:
        """What the side has for its schema."""
        return str(self.schema) if self.schema else str(self.node.value[self.field_name])

    def span(self, offsets: tuple[int, int] | None = None) -> Span:
        """The place of a stretch of the schema's text, or of the whole of it."""
        if offsets is None or self.schema is None:
            return self.node.span(self.field_name)
        return _stretch(self.node, self.field_name, self.schema.text, *offsets)

    def domain_span(self, subject: str = "") -> Span:
        """The place of the domain's text of *subject*, or of the domain, or of what it would belong to."""
        if self.domain is None:
            return self.span()
        texts = self.node.child("domain")
        return texts.span(subject) if subject in texts.value else self.node.span("domain", "key")


@dataclass(frozen=True, slots=True)
class Side:
    """The operators of one side by their full names, and the waivers for those that are gone.

    Args:
        hidden: the fault for which it may have operators that are not seen; None: it has no other.
        faults: all that is wrong with a manifest.
    """

    operators: Mapping[str, DeclaredOperator]
    waivers: tuple[Waiver, ...] = ()
    hidden: Diagnostic | None = None
    faults: tuple[Diagnostic, ...] = ()


def read_side(text: str, live: Callable[[], Document] | None = None) -> Side:
    """The side that *text* names: ``torch``, or what `read_document` takes.

    Args:
        live: gives what ``torch`` means; None: a file.

    Raises:
        ManifestError: it cannot be read (C10E101), or is no side at all.
    """
    document = live() if live and text == "torch" else read_document(text)
    if type(document.value) is list:
        return _native_side(read_native_functions(document))
    read, path = _reader(text)
    return _manifest_side(path, lambda place: document if place == path else read(place))


def read_document(text: str) -> Document:
    """The document that *text* names: a file, ``-`` for standard input, or ``REV:path`` in git."""
    read, path = _reader(text)
    document = (
        parse_document(sys.stdin.buffer.read(MAX_BYTES + 1), "<stdin>") if text == "-" else read(path, text)
    )
    document.findings[:] = [  # none of these is about the manifest that an option or a variable names
        replace(d, help=d.help or _HELP) if d.code == "C10E101" else d for d in document.findings
    ]
    return document


def _manifest_side(path: Path, read: Callable[[Path], Document]) -> Side:
    """The manifest at *path*, as far as it can be read, with what its files mention beyond that."""
    documents: dict[Path, Document] = {}

    def noted(place: Path) -> Document:
        documents[place] = read(place)
        return documents[place]

    result = load_manifest(path, read=noted)
    manifest = result.manifest
    if manifest is None:
        raise ManifestError(*result.diagnostics, path=path)
    faults = tuple(replace(f, message=_OWNER.sub("", f.message)) for f in result.diagnostics)
    operators = {str(decl.name): _declared(decl) for decl in manifest.operators}
    disabled, hidden = {entry.path for entry in manifest.disabled}, None
    for place, document in documents.items() if faults else ():
        for name, entry in _mentioned(place, document, documents):
            known = operators.get(name)
            is_read = known and (known.domain is not None or "domain" not in entry)
            fault = None if is_read and place not in disabled else _cause(faults, name, document.file)
            if not name:
                hidden = fault
                continue
            known = known or DeclaredOperator(None, Node(document, entry), _field_name(entry))
            kernels = {**_keys(document, entry), **(known.kernels or {})}
            operators[name] = replace(known, kernels=kernels, fault=known.fault or fault)
    return Side(operators, manifest.removals, hidden, faults)


# What the reader of a manifest says behind the cause.
_OWNER: Final = re.compile(r" in the schema of `[^`]*`$")


def _field_name(entry: Mapping[str, Any]) -> str:
    """The field in which *entry* says what it is about."""
    return next(name for name in ("schema", "operator", "func", "op") if name in entry)


def _mentioned(
    place: Path, document: Document, documents: Iterable[Path]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries of *document* by operator; the name is empty where there may be more than is seen."""
    root = document.value if isinstance(document.value, dict) else {}
    includes = root.get("include", [])
    entries = root.get("operators", [] if "include" in root else None)
    read = {posixpath.normpath(other) for other in documents}
    for text in includes if isinstance(includes, list) else [None]:
        if not isinstance(text, str) or posixpath.normpath(place.parent / text) not in read:
            yield "", {}
    for entry in entries if isinstance(entries, list) else [None]:
        entry = entry if isinstance(entry, dict) else {}
        yield str(name_of(entry) or ""), entry


def _cause(faults: tuple[Diagnostic, ...], name: str, file: str) -> Diagnostic:
    """The one of *faults* for which nothing is known of the operator *name* of *file*."""
    return min(
        faults,
        key=lambda f: (
            f"`{name}`" not in f.message,
            f"`{file}`" not in f.message,
            f.span is None or f.span.file != file,
        ),
    )


def _keys(document: Document, entry: dict[str, Any]) -> dict[str, Span]:
    """Where the dispatch keys of *entry* stand, also those whose kernels have a fault."""
    kernels = entry.get("kernels")
    return {k: document.span(kernels, k, "key") for k in kernels} if isinstance(kernels, dict) else {}


def _declared(decl: OperatorDecl) -> DeclaredOperator:
    kernels = {key: decl.variants(key)[0].key_span for key in decl.dispatch_keys}
    return DeclaredOperator(decl.schema, decl.node, kernels=kernels, waivers=decl.waivers, domain=decl.domain)


def _reader(text: str) -> tuple[Callable[..., Document], Path]:
    """How the file that *text* names is read, and its path there."""
    revision, colon, path = text.partition(":")
    if not colon or os.path.exists(text):  # noqa: PTH110 - total, whatever the text
        return load_document, Path(text)
    # git counts from the top of the repository, unless the path begins with a dot.
    from_here = path.startswith(("./", "../"))

    def read(place: Path, _shown: str = "") -> Document:
        name = posixpath.normpath(place.as_posix())
        dot = "./" if from_here and not name.startswith("../") else ""
        return _read_from_git(f"{revision}:{dot}{name}")

    return read, Path(path)


def _read_from_git(name: str) -> Document:
    """The document that git has as *name*; a fault is a finding of it."""
    message = f"`{name}` is no file that exists"
    try:
        done = git("show", "--no-ext-diff", "--no-textconv", "--end-of-options", name)
    except (OSError, ValueError) as error:
        reason = "git is not installed" if isinstance(error, FileNotFoundError) else str(error)
        return _without_value(name, f"{message}, and {reason}")
    if done.returncode or done.stdout.startswith(b"tree "):
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0] or "it is a folder"
        return _without_value(name, f"{message}, nor one in git: {said.removeprefix('fatal: ')}")
    document = parse_document(done.stdout, name)
    if type(document.value) is str:  # what a symbolic link leads to
        help = "name the file itself, where this is a symbolic link: none is followed in git"
        return _without_value(name, f"`{name}` is no manifest, but the text `{document.value:.80}`", help)
    return document


def _without_value(name: str, message: str, help: str = "") -> Document:
    document = Document(name)
    document.findings.append(Diagnostic("C10E101", message, help=help))
    return document


def _native_side(functions: tuple[NativeFunction, ...]) -> Side:
    found: dict[str, DeclaredOperator] = {}
    for function in functions:
        operator = _native_operator(function)
        name = str(operator.schema.name) if operator.schema else function.name
        first = found.setdefault(name, operator)
        if first is not operator:
            notes = (f"the first is at {first.span()}",)
            message = f"operator `{name}` is defined twice"
            fault = Diagnostic("C10E301", message, operator.span(), notes=notes)
            found[name] = replace(first, fault=fault)
    return Side(found)


def _native_operator(function: NativeFunction) -> DeclaredOperator:
    node, text = function.node, function.schema
    declared = DeclaredOperator(None, node, _field_name(node.value))
    if text is None:
        return declared
    try:
        schema = parse_schema(text, "torch", known_classes=custom_classes(text))
    except SchemaError as error:
        span = _stretch(node, "func", text, error.start, error.end)
        return replace(declared, fault=replace(error.diagnostics[0], span=span))
    return replace(declared, schema=schema)


def _stretch(node: Node, field_name: str, text: str, start: int, end: int) -> Span:
    """The place of a stretch of *text*, which may have a namespace in front of what the field says."""
    more = len(text) - len(node.value[field_name])
    return node.span_within(field_name, max(start - more, 0), max(end - more, 0))
