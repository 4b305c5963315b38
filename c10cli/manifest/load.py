"""From a registry file to a `Manifest`, with every finding of the file in one run."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from c10cli.errors import Diagnostic, ManifestError
from c10cli.manifest.document import REFUSED, Document
from c10cli.manifest.fields import Fields
from c10cli.manifest.model import DisabledManifest, Manifest, OperatorDecl
from c10cli.manifest.operators import OperatorReader, read_defaults
from c10cli.manifest.scalars import describe
from c10cli.manifest.source import load_document
from c10cli.schema import FunctionSchema

__all__ = ["VERSION", "LoadResult", "ReadDocument", "load_manifest", "require_manifest"]

# From a path, and what to call it, to what is written there.
ReadDocument = Callable[[Path, str], Document]

VERSION = 1
MANIFEST_FIELDS = ("version", "operators", "include", "dialect", "arrays", "requires", "waive")


@dataclass(frozen=True, slots=True)
class LoadResult:
    """A manifest and what is wrong with it.

    Args:
        manifest: what could be read; None where the file is no manifest at all.
        diagnostics: every finding, in order of position, those of included
            manifests after the file's own.
        own: the findings of the file itself, without its includes.
    """

    manifest: Manifest | None
    diagnostics: tuple[Diagnostic, ...]
    own: tuple[Diagnostic, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no finding."""
        return not self.diagnostics


def load_manifest(path: str | Path, *, read: ReadDocument = load_document) -> LoadResult:
    """The manifest in the file at *path*, and all of its faults.

    Args:
        read: how this file and those that it includes are read.
    """
    state = _Loading(read)
    with _collector_paused():
        loaded = _load_file(Path(path), str(path), (), state)
    disabled = tuple(state.disabled)
    own = tuple(loaded.findings)
    manifest = (
        Manifest(Path(path), VERSION, tuple(loaded.operators), disabled) if loaded.is_manifest else None
    )
    included = [finding for entry in disabled for finding in entry.diagnostics]
    return LoadResult(manifest, (*own, *included), own)


def require_manifest(path: str | Path) -> Manifest:
    """The manifest in the file at *path*.

    A broken include only disables itself: it is in the result's ``disabled``.

    Raises:
        ManifestError: the file itself has faults; all of them are attached.
    """
    result = load_manifest(path)
    if result.own or result.manifest is None:
        raise ManifestError(*result.own, path=Path(path))
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


@dataclass
class _Loading:
    """What one run shares between the files it reads."""

    read: ReadDocument
    disabled: list[DisabledManifest] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)


@dataclass
class _Loaded:
    """One file: its operators and those of its includes, and its own findings."""

    operators: list[OperatorDecl]
    findings: list[Diagnostic]
    is_manifest: bool = True


def _load_file(path: Path, shown: str, ancestors: tuple[Path, ...], state: _Loading) -> _Loaded:
    document = state.read(path, shown)
    if type(document.value) is dict and "waive" in document.value:
        from c10cli.manifest.waivers import take_removals  # which knows the kinds of changes; few need it

        take_removals(document)  # for its findings; only `c10 diff` needs the waivers
    fields = Fields(document)
    root = document.value
    if type(root) is not dict:
        if not fields.findings:
            kind = describe(root) if root is not REFUSED and root is not None else "empty"
            message = f"`{document.file}` must be a mapping with `version` and `operators`, but is {kind}"
            fields.report("C10E106", message, document.span_at(0))
        return _Loaded([], fields.findings, is_manifest=False)
    required = ("version",) if "include" in root else ("version", "operators")
    fields.check_names(root, "the manifest", MANIFEST_FIELDS, required)
    _check_version(fields, root)
    entries = fields.items(root, "operators", "`operators`") or []
    # Absolute, for the kernels that are loaded after one of them changed the current folder.
    reader = OperatorReader(fields, path.parent.absolute(), read_defaults(fields, root))
    operators = _without_repeats(reader.read(entries), fields)
    for duplicate in document.take_remaining_duplicates():
        fields.repeated(duplicate, f"key `{duplicate.key}` is given twice")
    own = list(operators)
    for index in range(len(fields.texts(root, "include", "`include`") or ())):
        if type(root["include"][index]) is str:
            operators += _include(fields, root, index, own, (path, shown, ancestors), state)
    return _Loaded(operators, _in_order(fields.findings))


def _check_version(fields: Fields, root: dict[str, Any]) -> None:
    version = root.get("version", VERSION)
    if version is REFUSED or (type(version) is int and version == VERSION):
        return
    shown = f"the integer {version}" if type(version) is int and abs(version) < 10**9 else describe(version)
    message = f"manifest version must be the integer {VERSION}, not {shown}"
    fields.report("C10E107", message, fields.place(root, "version"), help=f"write `version: {VERSION}`")


def _without_repeats(operators: list[OperatorDecl], fields: Fields) -> list[OperatorDecl]:
    """*operators* without those whose identity an earlier one has, which are findings."""
    by_name: dict[str, OperatorDecl] = {}
    for operator in operators:
        name = str(operator.name)
        first = by_name.setdefault(name, operator)
        if first is not operator:
            fields.findings.append(_defined_twice(first, operator))
    return list(by_name.values())


def _defined_twice(first: OperatorDecl, second: OperatorDecl) -> Diagnostic:
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


def _include(
    fields: Fields,
    root: dict[str, Any],
    index: int,
    own: list[OperatorDecl],
    including: tuple[Path, str, tuple[Path, ...]],
    state: _Loading,
) -> list[OperatorDecl]:
    """The operators of one included manifest; none where it fails."""
    path, shown, ancestors = including
    text = root["include"][index]
    span = fields.document.span(root["include"], index)
    if Path(text).is_absolute() or "://" in text or not text.isprintable():
        fields.report("C10E106", f"`{text}` in `include` must be a path relative to the manifest", span)
        return []
    target = path.parent / text
    resolved, including_path = (Path(os.path.realpath(p)) for p in (target, path))  # total, unlike resolve()
    chain = (*ancestors, including_path)
    if resolved in chain:
        names = " -> ".join(step.name for step in (*chain[chain.index(resolved) :], resolved))
        fields.report(
            "C10E106", f"`{text}` in `include` leads back to itself", span, notes=(f"cycle: {names}",)
        )
        return []
    if resolved in state.seen:
        return []
    state.seen.add(resolved)
    loaded = _load_file(target, str(Path(shown).parent / text), chain, state)
    by_name = {str(operator.name): operator for operator in own}
    clashes = [
        _defined_twice(by_name[str(operator.name)], operator)
        for operator in loaded.operators
        if str(operator.name) in by_name
    ]
    findings = [
        replace(finding, span=finding.span or span, notes=(*finding.notes, f"included at {span}"))
        for finding in (*loaded.findings, *clashes)
    ]
    if findings:
        state.disabled.append(DisabledManifest(target, span, tuple(findings)))
        return []
    own += loaded.operators
    return loaded.operators


def _in_order(findings: list[Diagnostic]) -> list[Diagnostic]:
    """*findings* by position, each once: an alias shows one fault to several readers."""
    unique = {(f.code, f.message, str(f.span)): f for f in findings}
    return sorted(unique.values(), key=lambda f: (f.span.line, f.span.column) if f.span else (0, 0))
