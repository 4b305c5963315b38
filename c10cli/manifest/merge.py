"""Several manifest files as one: who defines, who extends, and which files have to stay out.

A file with a fault is left out, and with it the includes that no other file
names; that may leave others without the operator they extend, and so on until
nothing changes.  Each step judges all files that are left at once, so that the
result is the same in whatever order they are included.  Only of files that
define one operator twice the first stays, in the order of the includes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from c10cli.errors import Diagnostic, Span, near_names
from c10cli.manifest.combine import Fault, SharedOperator
from c10cli.manifest.load import defined_twice, in_order
from c10cli.manifest.model import DisabledManifest, ExtensionDecl, OperatorDecl
from c10cli.schema import FunctionSchema, OperatorName

if TYPE_CHECKING:
    from c10cli.manifest.load import ManifestFile, ReadSchemas

__all__ = ["Merged", "merge_files"]

Faults = dict["ManifestFile", list[Diagnostic]]

# Comparing a name with ten thousand others takes long; of very many findings, the first have near names.
_MOST_COMPARED = 20


@dataclass(frozen=True, slots=True)
class Merged:
    """What a file and its includes declare together.

    Args:
        own: the findings of the file itself.
    """

    operators: tuple[OperatorDecl, ...]
    disabled: tuple[DisabledManifest, ...]
    own: tuple[Diagnostic, ...]


def merge_files(root: ManifestFile, outside: ReadSchemas) -> Merged:
    """The operators of *root* and of all that it includes.

    Args:
        outside: see `load_manifest`.
    """
    schemas = outside() if any(file.extensions for file in _reached(root)) else {}
    faults: Faults = {f: list(f.findings) for f in _reached(root) if f is not root and f.findings}
    while found := _Together(root, faults, schemas).first_faults():
        for file, finding in found:
            faults.setdefault(file, []).append(finding)
    together = _Together(root, faults, schemas)
    own = in_order([*root.findings, *together.all_faults(root)])
    for file in faults:
        # What is wrong with it beside: whoever corrects it wants to know all at once.
        others = {other for other in faults if other is not file}
        faults[file] += _Together(root, others, schemas).all_faults(file)
    return Merged(tuple(together.operators()), tuple(_disabled(root, faults)), tuple(own))


def _near(name: OperatorName, known: Iterable[OperatorName]) -> str:
    """A help line with the operators of the same base name, or else those with a name like it."""
    full = {str(other): other for other in known}
    same_base = sorted(text for text, other in full.items() if other.base == name.base)
    near = [text for text in same_base if full[text].overload == name.overload]
    near = near or near_names(str(name), same_base) or same_base or near_names(str(name), full)
    if not near:
        by_base = {other.base: text for text, other in full.items()}
        near = [by_base[base] for base in near_names(name.base, by_base)]
    return f"did you mean {' or '.join(f'`{text}`' for text in near[:3])}?" if near else ""


def _reached(root: ManifestFile, without: Collection[ManifestFile] = ()) -> list[ManifestFile]:
    """*root* and what it includes, directly or not, each once: a file before its includes."""
    found: dict[ManifestFile, None] = {}
    waiting = [root]
    while waiting:
        file = waiting.pop()
        if file not in found and file not in without:
            found[file] = None
            waiting += [include.file for include in reversed(file.includes)]
    return list(found)


def _disabled(root: ManifestFile, faults: Mapping[ManifestFile, list[Diagnostic]]) -> list[DisabledManifest]:
    """The files with faults, each finding with the place of the first include that names the file."""
    reached = _reached(root)
    spans: dict[ManifestFile, Span] = {}
    for include in (include for file in reached for include in file.includes):
        spans.setdefault(include.file, include.span)
    return [
        DisabledManifest(file.path, spans[file], tuple(_included_at(spans[file], in_order(faults[file]))))
        for file in reached
        if file in faults
    ]


def _included_at(span: Span, findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    for finding in findings:
        yield replace(finding, span=finding.span or span).with_notes(f"included at {span}")


class _Together:
    """The files that are reached without some, and what they say together."""

    def __init__(
        self,
        root: ManifestFile,
        without: Collection[ManifestFile],
        outside: Mapping[OperatorName, FunctionSchema],
    ) -> None:
        self.root, self.without, self.outside = root, without, outside
        self.files = dict.fromkeys(_reached(root, without))
        self.defined: dict[OperatorName, tuple[ManifestFile, OperatorDecl]] = {}
        self.extended: dict[OperatorName, list[tuple[ManifestFile, ExtensionDecl]]] = {}
        for file in self.files:
            for operator in file.operators:
                self.defined.setdefault(operator.name, (file, operator))
            for extension in file.extensions:
                self.extended.setdefault(extension.name, []).append((file, extension))

    def operators(self) -> Iterator[OperatorDecl]:
        """The operators: the root's, then those of its includes, then those that are defined outside."""
        shared = {operator.name: operator for operator in self._shared()}
        for name, (_, operator) in self.defined.items():
            yield shared.pop(name).combined() if name in shared else operator
        yield from (operator.combined() for operator in shared.values())

    def first_faults(self) -> list[Fault]:
        """The faults of one kind of all files but the root; none only where there are none of any kind."""
        about = set(self.files) - {self.root}
        kinds: tuple[Callable[[Collection[ManifestFile]], Iterator[Fault]], ...]
        kinds = (self._undefined, self._defined_twice, self._contradictions)
        return next((found for kind in kinds if (found := list(kind(about)))), [])

    def all_faults(self, file: ManifestFile) -> list[Diagnostic]:
        """The faults of *file*, of every kind; none where it is not reached."""
        kinds = (self._undefined, self._defined_twice, self._contradictions)
        return [finding for kind in kinds for _, finding in kind({file})]

    def _undefined(self, about: Collection[ManifestFile]) -> Iterator[Fault]:
        """Extensions of operators that nobody defines."""
        unread = {name for file in self.files for name in file.unread}
        count = 0
        for name, extensions in self.extended.items():
            if name in self.defined or name in self.outside or str(name) in unread:
                continue
            for file, extension in extensions:
                if file in about:
                    count += 1
                    yield file, self._undefined_by_all(extension, compare=count <= _MOST_COMPARED)

    def _undefined_by_all(self, extension: ExtensionDecl, *, compare: bool) -> Diagnostic:
        """The finding that nobody has the operator of *extension*.

        Args:
            compare: look for near names.
        """
        name = extension.name
        definers = "neither a manifest nor the dispatcher" if self.outside else "no manifest"
        fact = f"operator `{name}`, which this entry extends, is defined by {definers}"
        notes = tuple(self._absent_definitions.get(str(name), ())[:3])
        todo = "correct what disables that manifest"
        if not notes:
            notes = tuple(f"`{shown}` is disabled, and may define it" for shown in self.disabled[:3])
            todo = _near(name, (*self.defined, *self.outside)) if compare else ""
        help = todo or "include the manifest that defines it"
        return Diagnostic("C10E303", fact, extension.span, notes=notes, help=help)

    @cached_property
    def _absent_definitions(self) -> dict[str, list[str]]:
        """Notes on definitions in files that are not among these, by the operator's name."""
        notes: dict[str, list[str]] = {}
        for file in _reached(self.root):
            if file in self.files:
                continue
            for operator in file.operators:
                note = f"it is defined at {operator.schema_span}, in a manifest that is disabled"
                notes.setdefault(str(operator.name), []).append(note)
            for name in sorted(file.unread):
                note = f"`{file.shown}`, which is disabled, defines it with a faulty schema"
                notes.setdefault(name, []).append(note)
        return notes

    @cached_property
    def disabled(self) -> list[str]:
        """What messages call the files that are not among these for a fault of their own."""
        return [file.shown for file in _reached(self.root) if file in self.without]

    def _defined_twice(self, about: Collection[ManifestFile]) -> Iterator[Fault]:
        """Definitions of operators that a file before defines."""
        for file in self.files:
            for operator in file.operators if file in about else ():
                first_file, first = self.defined[operator.name]
                if first_file is not file:
                    yield file, defined_twice(first, operator)

    def _contradictions(self, about: Collection[ManifestFile]) -> Iterator[Fault]:
        """What several files say of one operator and cannot all hold."""
        for operator in self._shared():
            yield from ((file, finding) for file, finding in operator.faults() if file in about)

    def _shared(self) -> Iterator[SharedOperator]:
        for name, extensions in self.extended.items():
            definition = self.defined.get(name)
            schema = definition[1].schema if definition else self.outside.get(name)
            if schema is not None:
                yield SharedOperator(schema, definition, extensions, self.disabled)
