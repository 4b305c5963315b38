"""From a registry file to a `Manifest`, with every finding of the file in one run."""

from __future__ import annotations

import gc
import os
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from c10cli.document.fields import Fields
from c10cli.document.findings import Findings
from c10cli.document.nodes import REFUSED, Document
from c10cli.document.scalars import kind_name
from c10cli.document.source import MAX_DEPTH, load_document
from c10cli.entry_points.entry_point import is_inside
from c10cli.errors import Diagnostic, ManifestError, Span
from c10cli.manifest.combine import ManifestFile, Together, defined_twice
from c10cli.manifest.declarations import ExtensionDecl, Manifest, OperatorDecl
from c10cli.manifest.entries import OperatorReader, is_extension, name_of
from c10cli.manifest.waivers import read_waivers
from c10cli.schema.model import FunctionSchema, OperatorName

ReadDocument = Callable[[Path], Document]
Schemas = Mapping[OperatorName, FunctionSchema]

VERSION = 1
MANIFEST_FIELDS = (
    "version",
    "operators",
    "include",
    "roots",
    "dialect",
    "classes",
    "arrays",
    "requires",
    "waive",
)


@dataclass(frozen=True, slots=True)
class LoadResult:
    """A manifest and what is wrong with it.

    Args:
        manifest: what could be read; None where the file is no manifest at all.
        findings: those of included manifests after the file's own, unless they
            may be the cause of one of these: causes come first.
        own: the findings of the file itself, without its includes.
    """

    manifest: Manifest | None
    findings: Findings
    own: tuple[Diagnostic, ...]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The findings, those of a file in order of position, as many as are told."""
        return tuple(self.findings.told())


def load_manifest(
    path: str | Path, *, read: ReadDocument = load_document, outside: Schemas | None = None
) -> LoadResult:
    """The manifest in the file at *path*, and all of its faults.

    Args:
        read: how this file and those that it includes are read.
        outside: the schemas of the operators that a dispatcher defines and these manifests may extend.
    """
    was_enabled = gc.isenabled()
    # Reading makes no cycles and hundreds of thousands of objects that stay;
    # looking through them again and again took a third of the time.
    gc.disable()
    try:
        return _load(Path(path), read, outside or {})
    finally:
        if was_enabled:
            gc.enable()


def _load(path: Path, read: ReadDocument, outside: Schemas) -> LoadResult:
    reading = _Reading(read)
    root = reading.file(path, None, (), ())
    if not root.is_manifest:
        return LoadResult(None, root.findings, tuple(root.findings))
    files = [*reading.files.values(), root]
    if len(files) == 1 and not root.extensions:
        manifest = Manifest(path, root.operators, (), root.removals, _by_operator(root, root.findings))
        return LoadResult(manifest, root.findings, tuple(root.findings))
    together = Together(files, outside)
    disabled, own = together.disabled(), together.own()
    removals = tuple(waiver for file in files for waiver in file.removals)
    included = [finding for entry in disabled for finding in entry.diagnostics]
    is_derived = any(finding.code == "C10E303" for finding in own)
    findings = Findings(included if is_derived else own)
    findings += own if is_derived else included
    # A cause in a file that is disabled may concern all.
    faults = {} if included and is_derived else _by_operator(root, own)
    manifest = Manifest(path, together.operators(), disabled, removals, faults)
    return LoadResult(manifest, findings, tuple(own))


def _by_operator(
    file: ManifestFile, findings: Findings
) -> Mapping[OperatorName | None, Sequence[Diagnostic]]:
    """The *findings* of *file* by the operator whose entry each is in; none where one is elsewhere."""
    found: dict[OperatorName | None, list[Diagnostic]] = {}
    document: Any = file.document
    # What an alias stands for is read with other entries too.
    if not findings or document.has_anchors or len(findings) < findings.total:
        return found
    root, places = document.value, document.places
    starts = [(*key[:2], root) for key, _ in places[id(root)][1].values()]
    if type(root.get("operators")) is list:
        entries = zip(places[id(root["operators"])][1], root["operators"], strict=True)
        starts += [(*place[:2], entry) for place, entry in entries]
    starts.sort(key=lambda start: start[:2])
    for finding in findings.told():
        at = (finding.span.line - 1, finding.span.column - 1) if finding.span else (-1, -1)
        index = bisect_right(starts, at, key=lambda start: start[:2])
        entry = starts[index - 1][2] if index else root
        if entry is root:
            return {}
        found.setdefault(name_of(entry) if type(entry) is dict else None, []).append(finding)
    return found


def require_manifest(path: str | Path, *, outside: Schemas | None = None, partly: bool = False) -> Manifest:
    """The manifest in the file at *path*.

    A broken include only disables itself: it is in the result's ``disabled``.

    Args:
        outside: see `load_manifest`.
        partly: leave out the operators with faults, which are in the result's
            ``faults``, where all faults are those of operators.

    Raises:
        ManifestError: the file itself has faults; they are attached, and those
            of its includes, which may be their cause.
    """
    result = load_manifest(path, outside=outside)
    manifest = result.manifest
    if manifest is None or (result.own and not (partly and manifest.faults)):
        raise ManifestError(*result.diagnostics, path=Path(path))
    sound = tuple(operator for operator in manifest.operators if operator.name not in manifest.faults)
    return replace(manifest, operators=sound)


class _Reading:
    """Reads a file and all that it includes, each once."""

    def __init__(self, read: ReadDocument) -> None:
        self.read = read
        self.files: dict[Path, ManifestFile] = {}  # what is included, each after its own includes

    def file(
        self, path: Path, span: Span | None, ancestors: tuple[Path, ...], roots: tuple[Path, ...]
    ) -> ManifestFile:
        """The file at *path*, which an include at *span* names.

        Args:
            roots: the folders that it and what it names may be in, its own apart.
        """
        document = self.read(path)
        fields, root = Fields(document), document.value
        if type(root) is not dict:
            if not fields.findings:  # which say already why it could not be read
                kind = "empty" if root is REFUSED or root is None else kind_name(root)
                message = f"`{document.file}` must be a mapping with `version` and `operators`, but is {kind}"
                fields.report("C10E106", message, document.span_at(0))
            return ManifestFile(path, span, findings=fields.findings, is_manifest=False)
        required = ("version",) if "include" in root else ("version", "operators")
        fields.check_names(root, "the manifest", MANIFEST_FIELDS, required)
        _check_version(fields, root)
        roots = (*roots, Path(os.path.realpath(path.parent)), *_roots(fields, root, path.parent))
        # Absolute, for the kernels that are loaded after one of them changed the current folder.
        reader = OperatorReader(fields, root, path.parent.absolute(), roots)
        operators, extensions = _read_operators(reader, root)
        removals = read_waivers(fields, root, "the manifest", of_removed=True) if "waive" in root else ()
        includes = self._includes(fields, root, path, ancestors, roots)
        return ManifestFile(
            path,
            span,
            operators,
            extensions,
            removals,
            fields.findings,
            frozenset(reader.unread),
            frozenset(includes).union(*(include.below for include in includes)),
            document,
        )

    def _includes(
        self,
        fields: Fields,
        root: dict[str, Any],
        path: Path,
        ancestors: tuple[Path, ...],
        roots: tuple[Path, ...],
    ) -> list[ManifestFile]:
        chain = (*ancestors, Path(os.path.realpath(path)))  # total, unlike resolve()
        found = []
        is_list = fields.texts(root, "include", "`include`") is not None
        for index, text in enumerate(root["include"] if is_list else ()):
            if type(text) is not str or not text.strip():  # which is found already
                continue
            target = path.parent / text
            resolved = Path(os.path.realpath(target)) if text.isprintable() else target
            span = fields.document.span(root["include"], index)
            fault = _include_fault(text, resolved, chain, roots)
            if fault is not None:
                fields.findings.append(replace(fault, span=span))
                continue
            if resolved not in self.files:
                self.files[resolved] = self.file(target, span, chain, roots)
            found.append(self.files[resolved])
        return found


def _read_operators(
    reader: OperatorReader, root: dict[str, Any]
) -> tuple[tuple[OperatorDecl, ...], tuple[ExtensionDecl, ...]]:
    """What the entries under `operators:` define and what they extend; each operator once."""
    fields = reader.fields
    operators: dict[OperatorName, OperatorDecl] = {}
    extensions: list[ExtensionDecl] = []
    entries = fields.items(root, "operators", "`operators`") or ()
    for index in range(len(entries)):
        entry = fields.mapping(entries, index, f"operator {index + 1}")
        if entry is None:
            continue
        if is_extension(entry):
            extension = reader.read_extension(entry, index)
            extensions += [extension] if extension else []
            continue
        operator = reader.read(entry, index)
        if operator is not None and operators.setdefault(operator.name, operator) is not operator:
            fields.findings.append(defined_twice(operators[operator.name], operator))
    first: dict[OperatorName, ExtensionDecl] = {}
    for extension in extensions:
        name = extension.name
        if name in operators:
            note = f"it is defined at {operators[name].schema_span}"
            message = f"`{name}` is extended in the file that defines it"
            todo = "add the kernels and cases to the definition"
        elif first.setdefault(name, extension) is not extension:
            note = f"the first is at {first[name].schema_span}"
            message, todo = f"`{name}` is extended twice in one file", "make one entry of them"
        else:
            continue
        fields.report("C10E309", message, extension.schema_span, notes=(note,), help=todo)
    return tuple(operators.values()), tuple(first.values())


def _roots(fields: Fields, root: dict[str, Any], folder: Path) -> list[Path]:
    """The folders under `roots:`, in which what the manifest names may be, besides its own."""
    found = []
    is_list = fields.texts(root, "roots", "`roots`") is not None
    for index, text in enumerate(root["roots"] if is_list else ()):
        if type(text) is not str or not text.strip():  # which is found already
            continue
        if not _is_relative(text):
            fact = f"`{text}` in `roots` must be a path relative to the manifest"
            fields.report(
                "C10E106", fact, fields.document.span(root["roots"], index), help="write such as `..`"
            )
            continue
        found.append(Path(os.path.realpath(folder / text)))
    return found


def _is_relative(text: str) -> bool:
    return not Path(text).is_absolute() and "://" not in text and text.isprintable()


def _include_fault(
    text: str, resolved: Path, chain: tuple[Path, ...], roots: tuple[Path, ...]
) -> Diagnostic | None:
    """Why the file that the last of *chain* calls *text* cannot be included, if so."""
    if not _is_relative(text):
        fact = f"`{text}` in `include` must be a path relative to the manifest"
        help = "write the path from the folder of this manifest, such as `../base/registry.yaml`"
        return Diagnostic("C10E106", fact, help=help)
    if not is_inside(resolved, roots):
        fact = f"`{text}` in `include` leaves the folder of the manifest: it is `{resolved}`"
        help = "name the folder that it is in under `roots:`, such as `roots: [..]`"
        return Diagnostic("C10E106", fact, help=help)
    if resolved in chain:
        names = " -> ".join(step.name for step in (*chain[chain.index(resolved) :], resolved))
        fact = f"`{text}` in `include` leads back to itself"
        help = "leave out one of the includes of this cycle"
        return Diagnostic("C10E106", fact, notes=(f"cycle: {names}",), help=help)
    if len(chain) > MAX_DEPTH:
        fact = f"`{text}` in `include` is more than {MAX_DEPTH} includes deep"
        return Diagnostic("C10E112", fact, help="include it in a manifest that fewer others lead to")
    return None


def _check_version(fields: Fields, root: dict[str, Any]) -> None:
    version = root.get("version", VERSION)
    if version is REFUSED or (type(version) is int and version == VERSION):
        return
    shown = f"the integer {version}" if type(version) is int and abs(version) < 10**9 else kind_name(version)
    message = f"manifest version must be the integer {VERSION}, not {shown}"
    fields.report("C10E107", message, fields.place(root, "version"), help=f"write `version: {VERSION}`")
