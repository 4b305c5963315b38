"""One operator out of several files: its definition, and what others add to it.

Nothing here depends on the order of the files.  Where two of them claim the
same, the definition has the better right; of two others neither has, and both
are faulty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from c10cli.errors import Diagnostic, Span
from c10cli.manifest.cases import case_given_twice, check_inputs
from c10cli.manifest.model import CaseDecl, Cost, ExtensionDecl, KernelDecl, OperatorDecl
from c10cli.manifest.operators import same_name
from c10cli.schema import FunctionSchema, OperatorName

if TYPE_CHECKING:
    from c10cli.manifest.load import ManifestFile

__all__ = ["Fault", "SharedOperator"]

# A fault, and the file whose fault it is.
Fault = tuple["ManifestFile", Diagnostic]


@dataclass(frozen=True, slots=True)
class _Part:
    """What one file says of an operator."""

    file: ManifestFile
    decl: OperatorDecl | ExtensionDecl

    @property
    def extension(self) -> ExtensionDecl | None:
        """The declaration, where it is no definition."""
        return self.decl if isinstance(self.decl, ExtensionDecl) else None

    def overrides(self, key: str) -> bool:
        """Whether its kernels of *key* come before those of others."""
        return self.extension is not None and self.extension.overrides(key)


@dataclass(frozen=True, slots=True)
class SharedOperator:
    """An operator that at least one file extends.

    Args:
        schema: that of the definition, which is in a file or outside of all.
        definition: the file that defines it and what it says; None: none of these.
        disabled: the names of files that may say something of the operator too, and are not read.
    """

    schema: FunctionSchema
    definition: tuple[ManifestFile, OperatorDecl] | None
    extensions: Sequence[tuple[ManifestFile, ExtensionDecl]]
    disabled: Sequence[str] = ()

    @property
    def name(self) -> OperatorName:
        """The operator's name."""
        return self.schema.name

    def combined(self) -> OperatorDecl:
        """The operator with the kernels and cases of all: the definition's keys first, then new ones."""
        parts = self._parts()
        kernels = [
            kernel if kernel.rank == rank else replace(kernel, rank=rank)
            for key in self._keys(parts)
            for rank, kernel in enumerate(_candidates(parts, key))
        ]
        cases = tuple(chain.from_iterable(part.decl.cases for part in parts))
        if self.definition is not None:
            return replace(self.definition[1], kernels=tuple(kernels), cases=cases)
        node = self.extensions[0][1].node
        return OperatorDecl(self.schema, "", tuple(kernels), None, {}, Cost(), cases, node, is_outside=True)

    def faults(self) -> Iterator[Fault]:
        """What the files say that cannot all hold, or does not fit the schema."""
        parts = self._parts()
        for key in self._keys(parts):
            yield from self._key_faults(parts, key)
        yield from self._case_faults(parts)

    def _parts(self) -> list[_Part]:
        parts = [] if self.definition is None else [_Part(*self.definition)]
        return parts + [_Part(*extension) for extension in self.extensions]

    def _keys(self, parts: Sequence[_Part]) -> dict[str, None]:
        return dict.fromkeys(key for part in parts for key in part.decl.dispatch_keys)

    def _key_faults(self, parts: Sequence[_Part], key: str) -> Iterator[Fault]:
        adding, overriding = _adding(parts, key), _overriding(parts, key)
        yield from _clashes(adding, partial(self._given_twice, key))
        yield from _clashes(overriding, partial(self._overridden_twice, key))
        if not adding and self.definition is not None:
            yield from ((part.file, self._nothing_to_override(key, part)) for part in overriding)
        if len(adding) == len(overriding) == 1:
            yield from self._name_faults(key, overriding[0], adding[0])

    def _given_twice(self, key: str, part: _Part, others: Sequence[_Part]) -> Diagnostic:
        notes = [f"`{k.name}` is given at {k.span}" for k in (o.decl.candidates(key)[0] for o in others)]
        return Diagnostic(
            "C10E302",
            f"`{self.name}` has `{key}` kernels from another manifest too",
            part.decl.candidates(key)[0].key_span,
            notes=_capped(notes),
            help=f'leave them out, or say why they come first: `override: {{{key}: "…"}}`',
        )

    def _overridden_twice(self, key: str, part: _Part, others: Sequence[_Part]) -> Diagnostic:
        return Diagnostic(
            "C10E302",
            f"the `{key}` kernels of `{self.name}` are overridden by another manifest too",
            _override_span(part, key),
            notes=_capped([f"there at {_override_span(other, key)}" for other in others]),
            help="leave one of the overrides out: which of them comes first must not be by chance",
        )

    def _nothing_to_override(self, key: str, part: _Part) -> Diagnostic:
        return Diagnostic(
            "C10E309",
            f"`override` of `{self.name}` names `{key}`, for which no other manifest has kernels",
            _override_span(part, key),
            notes=tuple(f"`{file}` is disabled, and may have some" for file in self.disabled[:3]),
            help=f"leave `{key}` out of `override`",
        )

    def _name_faults(self, key: str, part: _Part, other: _Part) -> Iterator[Fault]:
        """Variants of *part* that are called as one of *other*, which comes after it, is."""
        names = {kernel.name: kernel for kernel in other.decl.candidates(key)}
        for kernel in part.decl.candidates(key):
            if kernel.name in names:
                yield part.file, same_name(kernel, names[kernel.name], f"`{self.name}`")

    def _case_faults(self, parts: Sequence[_Part]) -> Iterator[Fault]:
        by_name: dict[str, list[tuple[_Part, CaseDecl]]] = {}
        for part in parts:
            for case in part.decl.cases:
                by_name.setdefault(case.name, []).append((part, case))
                if part.extension is not None:
                    found = check_inputs(case, f"`{self.name}`", self.schema)
                    yield from ((part.file, finding) for finding in found)
        for same in by_name.values():
            cases = {part.file: case for part, case in same}
            yield from _clashes([part for part, _ in same], partial(self._same_case, cases))

    def _same_case(
        self, cases: dict[ManifestFile, CaseDecl], part: _Part, others: Sequence[_Part]
    ) -> Diagnostic:
        finding = case_given_twice(cases[part.file], cases[others[0].file], f"`{self.name}`")
        notes = [f"the other is at {cases[other.file].span}" for other in others]
        return replace(finding, notes=_capped(notes))


def _adding(parts: Sequence[_Part], key: str) -> list[_Part]:
    """The parts whose kernels of *key* are to be the only ones."""
    return [part for part in parts if part.decl.candidates(key) and not part.overrides(key)]


def _overriding(parts: Sequence[_Part], key: str) -> list[_Part]:
    """The parts whose kernels of *key* are to come before those of others."""
    return [part for part in parts if part.overrides(key)]


def _candidates(parts: Sequence[_Part], key: str) -> Iterator[KernelDecl]:
    """The variants of *key*, best first."""
    for part in (*_overriding(parts, key), *_adding(parts, key)):
        yield from part.decl.candidates(key)


def _clashes(
    parts: Sequence[_Part], finding: Callable[[_Part, Sequence[_Part]], Diagnostic]
) -> Iterator[Fault]:
    """The *finding* for each of *parts*, which claim the same, with those that it clashes with."""
    definition = [part for part in parts if part.extension is None]
    for part in parts if len(parts) > 1 else ():
        if part not in definition:
            yield part.file, finding(part, definition or [other for other in parts if other is not part])


def _override_span(part: _Part, key: str) -> Span:
    table = part.decl.node.child("override")
    # A misspelt key is a finding already, and was read as meant.
    return table.span(key, "key") if key in table.value else table.span()


def _capped(notes: list[str]) -> tuple[str, ...]:
    """*notes* in an order of their own, or the first of them and how many more there are."""
    notes = sorted(notes)
    return tuple(notes) if len(notes) <= 4 else (*notes[:3], f"and {len(notes) - 3} more")
