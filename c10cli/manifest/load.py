"""From a registry file to a `Manifest`, with every finding of the file in one run."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from c10cli.document.fields import Fields
from c10cli.document.nodes import REFUSED, Document
from c10cli.document.scalars import kind_name
from c10cli.document.source import MAX_DEPTH, load_document
from c10cli.errors import Diagnostic, ManifestError, Span, in_order
from c10cli.manifest.model import ExtensionDecl, Manifest, OperatorDecl
from c10cli.manifest.operators import OperatorReader, read_defaults
from c10cli.schema.model import FunctionSchema, OperatorName

__all__ = [
    "VERSION",
    "Include",
    "LoadResult",
    "ManifestFile",
    "ReadDocument",
    "ReadSchemas",
    "load_manifest",
    "require_manifest",
]

# From a path, and what to call it, to what is written there.
ReadDocument = Callable[[Path, str], Document]
# The schemas of operators that are defined outside the manifests.
ReadSchemas = Callable[[], Mapping[OperatorName, FunctionSchema]]

VERSION = 1
MANIFEST_FIELDS = ("version", "operators", "include", "dialect", "arrays", "requires", "waive")


@dataclass(frozen=True, slots=True)
class LoadResult:
    """A manifest and what is wrong with it.

    Args:
        manifest: what could be read; None where the file is no manifest at all.
        diagnostics: every finding, those of a file in order of position; those
            of included manifests after the file's own, unless they may be the
            cause of one of these: causes come first.
        own: the findings of the file itself, without its includes.
    """

    manifest: Manifest | None
    diagnostics: tuple[Diagnostic, ...]
    own: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no finding."""
        return not self.diagnostics


@dataclass(frozen=True, slots=True, eq=False)
class ManifestFile:
    """What one file says itself; what its includes say is theirs.

    Args:
        shown: what messages call it.
        unread: the names of operators that it defines with a faulty schema.
        lacks_include: whether something that it includes could not be followed.
    """

    path: Path
    shown: str
    operators: tuple[OperatorDecl, ...] = ()
    extensions: tuple[ExtensionDecl, ...] = ()
    includes: tuple[Include, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    unread: frozenset[str] = frozenset()
    lacks_include: bool = False
    is_manifest: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Include:
    """One entry of a file's `include:`, and the file that it names."""

    file: ManifestFile
    span: Span


def load_manifest(
    path: str | Path, *, read: ReadDocument = load_document, outside: ReadSchemas = dict
) -> LoadResult:
    """The manifest in the file at *path*, and all of its faults.

    Args:
        read: how this file and those that it includes are read.
        outside: gives the schemas of the operators that a dispatcher defines
            and these manifests may extend; asked only where they extend any.
    """
    path = Path(path)
    with _collector_paused():
        root = _Reading(read).file(path, str(path), ())
        if not root.is_manifest:
            return LoadResult(None, root.findings, root.findings)
        if not root.includes and not root.extensions:
            return LoadResult(Manifest(path, VERSION, root.operators), root.findings, root.findings)
        from c10cli.manifest.merge import merge_files  # which a file that stands alone does not need

        merged = merge_files(root, outside)
    manifest = Manifest(path, VERSION, merged.operators, merged.disabled)
    included = tuple(finding for entry in merged.disabled for finding in entry.diagnostics)
    findings = included + merged.own if merged.is_derived else merged.own + included
    return LoadResult(manifest, findings, merged.own)


def require_manifest(path: str | Path, *, outside: ReadSchemas = dict) -> Manifest:
    """The manifest in the file at *path*.

    A broken include only disables itself: it is in the result's ``disabled``.

    Args:
        outside: see `load_manifest`.

    Raises:
        ManifestError: the file itself has faults; they are attached, and those
            of its includes, which may be their cause.
    """
    result = load_manifest(path, outside=outside)
    if result.own or result.manifest is None:
        raise ManifestError(*result.diagnostics, path=Path(path))
    return result.manifest


@contextmanager
def _collector_paused() -> Iterator[None]:
    """No garbage collection meanwhile.

    Reading makes no cycles and hundreds of thousands of objects that stay;
    looking through them again and again took a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Reading:
    """Reads a file and all that it includes, each once."""

    def __init__(self, read: ReadDocument) -> None:
        self.read = read
        self.files: dict[Path, ManifestFile] = {}

    def file(self, path: Path, shown: str, ancestors: tuple[Path, ...]) -> ManifestFile:
        """The file at *path*, which messages call *shown*."""
        document = self.read(path, shown)
        if type(document.value) is dict and "waive" in document.value:
            from c10cli.manifest.waivers import take_removals  # which knows the kinds of changes; few need it

            take_removals(document)  # for its findings; only `c10 diff` needs the waivers
        fields = Fields(document)
        root = document.value
        if type(root) is not dict:
            _report_no_manifest(fields)
            findings = map(_of_include, fields.findings) if ancestors else fields.findings
            return ManifestFile(path, shown, findings=tuple(findings), is_manifest=False)
        return self._manifest(fields, root, path, shown, ancestors)

    def _manifest(
        self, fields: Fields, root: dict[str, Any], path: Path, shown: str, ancestors: tuple[Path, ...]
    ) -> ManifestFile:
        required = ("version",) if "include" in root else ("version", "operators")
        fields.check_names(root, "the manifest", MANIFEST_FIELDS, required)
        _check_version(fields, root)
        entries = fields.items(root, "operators", "`operators`") or []
        # Absolute, for the kernels that are loaded after one of them changed the current folder.
        reader = OperatorReader(fields, path.parent.absolute(), read_defaults(fields, root))
        read, extensions = reader.read(entries)
        operators = _without_repeats(read, fields)
        if extensions:
            from c10cli.manifest.extensions import check_own  # few manifests have one

            extensions = check_own(extensions, operators, fields)
        includes = self._includes(fields, root, path, shown, ancestors)
        return ManifestFile(
            path,
            shown,
            tuple(operators),
            tuple(extensions),
            tuple(includes),
            tuple(in_order(fields.findings)),
            frozenset(reader.unread),
            "include" in root and len(includes) < _count(root["include"]),
        )

    def _includes(
        self, fields: Fields, root: dict[str, Any], path: Path, shown: str, ancestors: tuple[Path, ...]
    ) -> list[Include]:
        chain = (*ancestors, Path(os.path.realpath(path)))  # total, unlike resolve()
        found = []
        is_list = fields.texts(root, "include", "`include`") is not None
        for index, text in enumerate(root["include"] if is_list else ()):
            if type(text) is not str or not text.strip():  # which is found already
                continue
            target = path.parent / text
            resolved = Path(os.path.realpath(target)) if text.isprintable() else target
            span = fields.document.span(root["include"], index)
            fault = _include_fault(text, resolved, chain)
            if fault is not None:
                fields.findings.append(replace(fault, span=span))
                continue
            if resolved not in self.files:
                self.files[resolved] = self.file(target, str(Path(shown).parent / text), chain)
            found.append(Include(self.files[resolved], span))
        return found


def _report_no_manifest(fields: Fields) -> None:
    """Report a document that is no mapping, unless it is that for a fault reported already."""
    root = fields.document.value
    if not fields.findings:
        kind = kind_name(root) if root is not REFUSED and root is not None else "empty"
        message = f"`{fields.document.file}` must be a mapping with `version` and `operators`, but is {kind}"
        fields.report("C10E106", message, fields.document.span_at(0))


def _of_include(finding: Diagnostic) -> Diagnostic:
    """*finding* about a whole file, where another file includes that."""
    if finding.code != "C10E101" or finding.help:
        return finding
    return replace(finding, help="write the path of a manifest that is there, from the folder of this one")


def _count(include: object) -> int:
    """How many manifests `include:` names; at least one where it is no list."""
    return len(include) if isinstance(include, list) else 1


def _include_fault(text: str, resolved: Path, chain: tuple[Path, ...]) -> Diagnostic | None:
    """Why the file that the last of *chain* calls *text* cannot be included, if so."""
    if Path(text).is_absolute() or "://" in text or not text.isprintable():
        fact = f"`{text}` in `include` must be a path relative to the manifest"
        return Diagnostic("C10E106", fact, help=_help_of_path(text))
    if resolved in chain:
        names = " -> ".join(step.name for step in (*chain[chain.index(resolved) :], resolved))
        fact = f"`{text}` in `include` leads back to itself"
        help = "leave out one of the includes of this cycle"
        return Diagnostic("C10E106", fact, notes=(f"cycle: {names}",), help=help)
    if len(chain) > MAX_DEPTH:
        fact = f"`{text}` in `include` is more than {MAX_DEPTH} includes deep"
        return Diagnostic("C10E112", fact, help="include it in a manifest that fewer others lead to")
    return None


def _help_of_path(text: str) -> str:
    """What to write instead of *text*, which is no relative path."""
    if not text.isprintable():
        return "leave out what cannot be printed"
    if "://" in text:
        return "put a copy of that manifest beside this one, and write its path"
    return "write the path from the folder of this manifest, such as `../base/registry.yaml`"


def _check_version(fields: Fields, root: dict[str, Any]) -> None:
    version = root.get("version", VERSION)
    if version is REFUSED or (type(version) is int and version == VERSION):
        return
    shown = f"the integer {version}" if type(version) is int and abs(version) < 10**9 else kind_name(version)
    message = f"manifest version must be the integer {VERSION}, not {shown}"
    fields.report("C10E107", message, fields.place(root, "version"), help=f"write `version: {VERSION}`")


def _without_repeats(operators: list[OperatorDecl], fields: Fields) -> list[OperatorDecl]:
    """*operators* without those whose identity an earlier one has, which are findings."""
    by_name: dict[str, OperatorDecl] = {}
    for operator in operators:
        name = str(operator.name)
        first = by_name.setdefault(name, operator)
        if first is not operator:
            fields.findings.append(defined_twice(first, operator))
    return list(by_name.values())


def defined_twice(first: OperatorDecl, second: OperatorDecl) -> Diagnostic:
    """The finding for *second*, which has the name of *first*."""
    return Diagnostic(
        "C10E301",
        f"operator `{second.name}` is defined twice",
        second.schema_span,
        label="second one",
        notes=(f"the first is at {first.schema_span}", *_differences(first.schema, second.schema)),
        help="remove one, or give it an overload name of its own",
    )


def _differences(first: FunctionSchema, second: FunctionSchema) -> list[str]:
    """What differs between two schemas of one name, field by field."""
    if str(first) == str(second):
        return ["the two schemas are the same"]
    notes = []
    for kind, olds, news in (
        ("argument", first.arguments, second.arguments),
        ("return", first.returns, second.returns),
    ):
        for index in range(max(len(olds), len(news))):
            old, new = (f"`{side[index]}`" if index < len(side) else "absent" for side in (olds, news))
            if old != new:
                notes.append(f"{kind} {index} is {old} in the first and {new} in the second")
    return notes[:4] or [f"the first is `{first}` and the second `{second}`"]
