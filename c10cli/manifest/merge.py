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
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from c10cli.errors import Diagnostic, Span, in_order, near_names
from c10cli.manifest.combine import Fault, Reaches, SharedOperator, Unread, correct_unread
from c10cli.manifest.load import defined_twice
from c10cli.manifest.model import DisabledManifest, ExtensionDecl, OperatorDecl
from c10cli.schema.model import FunctionSchema, OperatorName

if TYPE_CHECKING:
    from c10cli.manifest.load import ManifestFile, ReadSchemas

__all__ = ["Merged", "merge_files"]

Faults = dict["ManifestFile", list[Diagnostic]]

# What may be wrong with one file for what is wrong with another.
_DERIVED_CODES = ("C10E303", "C10E309")
# Comparing a name with ten thousand others takes long; of very many findings, the first have near names.
_MOST_COMPARED = 20


@dataclass(frozen=True, slots=True)
class Merged:
    """What a file and its includes declare together.

    Args:
        disabled: the includes with faults, causes before what follows from them.
        own: the findings of the file itself.
        is_derived: whether what is disabled may be the cause of one of these.
    """

    operators: tuple[OperatorDecl, ...]
    disabled: tuple[DisabledManifest, ...]
    own: tuple[Diagnostic, ...]
    is_derived: bool


def merge_files(root: ManifestFile, outside: ReadSchemas) -> Merged:
    """The operators of *root* and of all that it includes.

    Args:
        outside: see `load_manifest`.
    """
    schemas = outside() if any(file.extensions for file in _reached(root)) else {}
    without = partial(_Together, root, outside=schemas, reaches=_reaching())
    faults: Faults = {f: list(f.findings) for f in _reached(root) if f is not root and f.findings}
    while found := without(faults).first_faults():
        for file, finding in found:
            faults.setdefault(file, []).append(finding)
    together = without(faults)
    of_root = together.all_faults(root)
    for file in faults:
        # What is wrong with it beside: whoever corrects it wants to know all at once.
        faults[file] += without({other for other in faults if other is not file}).all_faults(file)
    return Merged(
        tuple(together.operators()),
        tuple(_disabled(root, faults)),
        tuple(in_order([*root.findings, *of_root])),
        bool(faults) and any(finding.code in _DERIVED_CODES for finding in of_root),
    )


def _reaching() -> Reaches:
    """Whether one file includes another, directly or through others, whatever is wrong with those."""
    reached = lru_cache(maxsize=None)(lambda file: frozenset(_reached(file)))
    return lambda file, other: file is not other and other in reached(file)


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
    spans: dict[ManifestFile, Span] = {}
    for include in (include for file in _reached(root) for include in file.includes):
        spans.setdefault(include.file, include.span)
    return [
        DisabledManifest(file.path, spans[file], tuple(_included_at(spans[file], in_order(found))))
        for file, found in faults.items()
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
        reaches: Reaches,
    ) -> None:
        self.root, self.without, self.outside, self.reaches = root, without, outside, reaches
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
        known = self._absent_definitions.get(str(name), ())
        notes = tuple(definition.fact for definition in known[:3])
        todo = correct_unread(known)
        if not known:
            notes = tuple(f"{unread.fact}, and may define it" for unread in self.unread[:3])
            todo = correct_unread(self.unread)
        near = _near(name, (*self.defined, *self.outside)) if compare and not todo else ""
        help = todo or near or "include the manifest that defines it, or name the one that includes this"
        return Diagnostic("C10E303", fact, extension.span, notes=notes, help=help)

    @cached_property
    def _absent_definitions(self) -> dict[str, list[Unread]]:
        """Definitions in files that are not among these, by the operator's name."""
        found: dict[str, list[Unread]] = {}
        for file in _reached(self.root):
            if file in self.files:
                continue
            faulty = file if file in self.without else self._disabled_above(file)
            above = "" if faulty is file else f"is included by `{faulty.shown}`, which "
            for operator in file.operators:
                fact = f"it is defined at {operator.schema_span}, in a manifest that {above}is disabled"
                found.setdefault(str(operator.name), []).append(Unread(fact, f"`{faulty.shown}`"))
            for name in sorted(file.unread):
                fact = f"`{file.shown}`, which is disabled, defines it with a faulty schema"
                found.setdefault(name, []).append(Unread(fact, f"`{file.shown}`"))
        return found

    def _disabled_above(self, file: ManifestFile) -> ManifestFile:
        """The first of the files with faults that include *file*, which has none, and is not reached."""
        return next(
            other for other in _reached(self.root) if other in self.without and self.reaches(other, file)
        )

    @cached_property
    def unread(self) -> list[Unread]:
        """What is not read for a fault, and may say anything: files, and an `include` of the root file."""
        shown = [f"`{file.shown}`" for file in _reached(self.root) if file in self.without]
        found = [Unread(f"{name} is disabled", name) for name in shown]
        if self.root.lacks_include:
            include = f"`include` in `{self.root.shown}`"
            found.insert(0, Unread(f"a manifest of {include} is not read", include))
        return found

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
                yield SharedOperator(schema, definition, extensions, self.reaches, self.unread)
