"""One operator out of several files: its definition, and what others add to it.

Nothing here depends on the order of the files.  Where two of them claim the
same, the definition has the better right.  Of two others that one has it which
the other includes, for who includes knows, and who is included cannot; where
neither includes the other, directly or not, both are faulty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from c10cli.errors import Diagnostic, Span, capped
from c10cli.manifest.cases import case_given_twice, check_inputs
from c10cli.manifest.model import CaseDecl, Cost, ExtensionDecl, KernelDecl, OperatorDecl
from c10cli.manifest.operators import same_name
from c10cli.schema.model import FunctionSchema, OperatorName

if TYPE_CHECKING:
    from c10cli.manifest.load import ManifestFile

__all__ = ["Fault", "Reaches", "SharedOperator", "Unread", "correct_unread"]

# A fault, and the file whose fault it is.
Fault = tuple["ManifestFile", Diagnostic]
# Whether the first file includes the second one, directly or not.
Reaches = Callable[["ManifestFile", "ManifestFile"], bool]


@dataclass(frozen=True, slots=True)
class Unread:
    """Something that is not read for a fault, and what to correct for it: a file, or an `include`."""

    fact: str
    fault_of: str


def correct_unread(unread: Sequence[Unread]) -> str:
    """A help line to correct what keeps all of *unread* from being read, if any."""
    faulty = list(dict.fromkeys(one.fault_of for one in unread))[:3]
    return f"correct {' and '.join(faulty)}" if faulty else ""


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
        unread: what may say something of the operator too.
    """

    schema: FunctionSchema
    definition: tuple[ManifestFile, OperatorDecl] | None
    extensions: Sequence[tuple[ManifestFile, ExtensionDecl]]
    reaches: Reaches
    unread: Sequence[Unread] = ()

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
            for rank, kernel in enumerate(self._candidates(parts, key))
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
        claims = [part for part in parts if part.decl.variants(key)]
        clashes = list(self._clashes(claims, key))
        for part, rivals in clashes:
            finding = self._overridden_twice if part.overrides(key) else self._given_twice
            yield part.file, finding(key, part, rivals)
        faulty = [part for part, _ in clashes]
        for part in (claim for claim in claims if claim.overrides(key)):
            others = [other for other in claims if other is not part]
            after = [other for other in others if self._comes_after(other, part, key)]
            if not after and self.definition is not None:
                yield part.file, self._nothing_to_override(key, part, others)
            yield from self._name_faults(key, part, [other for other in after if other not in faulty])

    def _clashes(self, parts: Sequence[_Part], key: str = "") -> Iterator[tuple[_Part, list[_Part]]]:
        """Each of *parts*, which claim the same, that has to give way, and to which others.

        Args:
            key: where they claim its kernels, which some of them may override.
        """
        definition = [part for part in parts if part.extension is None]
        for part in parts if len(parts) > 1 else ():
            rivals = [other for other in parts if other is not part and self._gives_way(part, other, key)]
            if rivals:
                yield part, [other for other in rivals if other in definition] or rivals

    def _gives_way(self, part: _Part, other: _Part, key: str) -> bool:
        """Whether *part* cannot claim what *other* does."""
        if part.extension is None:
            return False
        if part.overrides(key):
            return other.overrides(key) and not (self._includes(part, other) or self._includes(other, part))
        if other.overrides(key):
            return self._includes(part, other)
        return other.extension is None or not self._includes(other, part)

    def _includes(self, part: _Part, other: _Part) -> bool:
        return self.reaches(part.file, other.file)

    def _comes_after(self, other: _Part, part: _Part, key: str) -> bool:
        """Whether the kernels of *other* come after those of *part*, which overrides some."""
        if other.overrides(key):
            return self._includes(part, other)
        # Who is included does not know those of who includes it, and cannot have meant them.
        return other.extension is None or not self._includes(other, part)

    def _candidates(self, parts: Sequence[_Part], key: str) -> Iterator[KernelDecl]:
        """The variants of *key*, best first: of overrides, that of the file that includes the others."""
        overriding = [part for part in parts if part.overrides(key)]
        if len(overriding) > 1:
            above = {id(p): sum(self._includes(p, other) for other in overriding) for p in overriding}
            overriding = sorted(overriding, key=lambda part: -above[id(part)])
        for part in (*overriding, *(part for part in parts if not part.overrides(key))):
            yield from part.decl.variants(key)

    def _given_twice(self, key: str, part: _Part, others: Sequence[_Part]) -> Diagnostic:
        notes = [f"`{k.name}` is given at {k.span}" for k in (o.decl.variants(key)[0] for o in others)]
        return Diagnostic(
            "C10E302",
            f"`{self.name}` has `{key}` kernels from another manifest too",
            part.decl.variants(key)[0].key_span,
            notes=capped(sorted(notes), 4),
            help=f'leave these out, or say beside `operator` why they come first: `override: {{{key}: "…"}}`',
        )

    def _overridden_twice(self, key: str, part: _Part, others: Sequence[_Part]) -> Diagnostic:
        return Diagnostic(
            "C10E302",
            f"the `{key}` kernels of `{self.name}` are overridden by another manifest too",
            _override_span(part, key),
            notes=capped(sorted(f"there at {_override_span(other, key)}" for other in others), 4),
            help="leave one out, or let one of the two manifests include the other: its override comes first",
        )

    def _nothing_to_override(self, key: str, part: _Part, others: Sequence[_Part]) -> Diagnostic:
        above = any(self._includes(other, part) for other in others)
        nobody = "only a manifest that includes this one has" if above else "no other manifest has"
        return Diagnostic(
            "C10E309",
            f"`override` of `{self.name}` names `{key}`, for which {nobody} kernels",
            _override_span(part, key),
            notes=tuple(f"{unread.fact}, and may have some" for unread in self.unread[:3]),
            help=correct_unread(self.unread) or f"leave `{key}` out of `override`",
        )

    def _name_faults(self, key: str, part: _Part, others: Sequence[_Part]) -> Iterator[Fault]:
        """Variants of *part* that are called as one of *others*, which come after it, is."""
        names = {kernel.name: kernel for other in others for kernel in other.decl.variants(key)}
        for kernel in part.decl.variants(key):
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
            for part, rivals in self._clashes([part for part, _ in same]):
                yield part.file, self._same_case(cases, part, rivals)

    def _same_case(
        self, cases: dict[ManifestFile, CaseDecl], part: _Part, others: Sequence[_Part]
    ) -> Diagnostic:
        finding = case_given_twice(cases[part.file], cases[others[0].file], f"`{self.name}`")
        notes = [f"the other is at {cases[other.file].span}" for other in others]
        return replace(finding, notes=capped(sorted(notes), 4))


def _override_span(part: _Part, key: str) -> Span:
    table = part.decl.node.child("override")
    # A misspelt key is a finding already, and was read as meant.
    return table.span(key, "key") if key in table.value else table.span()
