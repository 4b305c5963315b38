"""What a run measures: every case of every kernel this machine has a device for, and what it leaves out."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from c10cli.bench.result import Skipped, case_id
from c10cli.errors import BenchError, Diagnostic, did_you_mean
from c10cli.jobs.fingerprint import file_digests, fingerprint
from c10cli.manifest.link import LinkedOperator, Registry, Variant
from c10cli.verify.inputs import CasePoint, case_points

__all__ = ["Batch", "Plan", "make_plan", "point_id"]


@dataclass(frozen=True, slots=True)
class Batch:
    """The cases of one kernel, which one child process measures one after the other.

    Args:
        points: each with its place among the operator's timed points, by
            which the child process finds it: values that are equal, such as
            1 and True, do not make two points one.
    """

    linked: LinkedOperator
    candidate: Variant
    points: tuple[tuple[int, CasePoint], ...]

    @property
    def operator(self) -> str:
        """The operator's name."""
        return str(self.linked.decl.name)

    @property
    def dispatch_key(self) -> str:
        """The key whose kernel this is."""
        return self.candidate.kernel.dispatch_key

    @property
    def variant(self) -> str:
        """The kernel's name in the manifest."""
        return self.candidate.kernel.name

    def case_id(self, point: CasePoint) -> str:
        """The identity of the case that *point* is for this kernel."""
        return point_id(self.linked, self.candidate, point)


@dataclass(frozen=True, slots=True)
class Plan:
    """Batches to measure, and kernels that are not, with the reason.

    Args:
        digest: the `fingerprint` of the manifest that the places of the points are in.
        files: a digest of each file of the manifest; see `file_digests`.
    """

    batches: tuple[Batch, ...]
    skipped: tuple[Skipped, ...]
    digest: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def case_count(self) -> int:
        """How many cases there are to measure."""
        return sum(len(batch.points) for batch in self.batches)

    def case_ids(self) -> set[str]:
        """The identities of the cases to measure."""
        return {batch.case_id(point) for batch in self.batches for _, point in batch.points}


def make_plan(registry: Registry, select: Sequence[str] = (), *, done: Iterable[str] = ()) -> Plan:
    """The plan for the cases that *select* names.

    Args:
        select: parts of case ids, or patterns for whole ones; all of the
            cases where there are none.
        done: ids of cases to leave out, measured before.

    Raises:
        BenchError: C10E601, one of *select* names no case; C10E604, two cases
            have one id.
    """
    finished = set(done)
    batches, skipped, known, selected = [], [], [], 0
    for linked, candidate in registry.kernels():
        points = []
        for place, point in enumerate(case_points(linked.decl, bench_only=True)):
            identity = point_id(linked, candidate, point)
            known.append(identity)
            if _is_selected(identity, select):
                selected += 1
                if identity not in finished:
                    points.append((place, point))
        reason = _skip_reason(candidate) if points else ""
        if reason:
            kernel = candidate.kernel
            name = str(linked.decl.name)
            skipped.append(Skipped(name, kernel.dispatch_key, kernel.name, reason, "C10E607"))
        elif points:
            batches.append(Batch(linked, candidate, tuple(points)))
    _refuse_repeats(known)
    idle = [pattern for pattern in select if not any(_matches(identity, pattern) for identity in known)]
    if idle or not selected:
        raise _nothing_selected(idle, known)
    manifest = registry.manifest
    return Plan(tuple(batches), tuple(skipped), fingerprint(manifest), file_digests(manifest))


def _refuse_repeats(identities: Sequence[str]) -> None:
    """Refuse two cases of one id: the result of one would take the place of the other's."""
    repeated = [identity for identity, count in Counter(identities).items() if count > 1]
    if repeated:
        fact = f"two cases are called `{repeated[0]}`"
        raise BenchError(
            Diagnostic("C10E604", fact, help="give the case, or a value of its sweep, another name")
        )


def point_id(linked: LinkedOperator, candidate: Variant, point: CasePoint) -> str:
    """The identity of a case across runs; see `case_id`."""
    kernel = candidate.kernel
    return case_id(
        str(linked.decl.name), kernel.dispatch_key, kernel.name, point.case.name, point.values, point.dtype
    )


def _skip_reason(candidate: Variant) -> str:
    """Why this machine cannot run the kernel; the device comes first, as what cannot be installed."""
    device = candidate.kernel.device
    if not device.available:
        return device.reason
    return candidate.reason if candidate.missing else ""


def _is_selected(identity: str, select: Sequence[str]) -> bool:
    return not select or any(_matches(identity, pattern) for pattern in select)


def _matches(identity: str, pattern: str) -> bool:
    """Whether *pattern* is a part of the id, or, with `*` or `?`, a pattern for all of it."""
    if "*" in pattern or "?" in pattern:
        # Brackets are part of an id (`small[rows=4]`), not a set of characters.
        return fnmatch.fnmatchcase(identity, pattern.replace("[", "[[]"))
    return pattern in identity


def _nothing_selected(select: Sequence[str], known: Sequence[str]) -> BenchError:
    parts = {part for identity in known for part in identity.split("/")}
    bases = {part.partition("::")[2] for part in parts if "::" in part}
    what = (
        f"no case matches {' or '.join(f'`{s}`' for s in select)}" if select else "the registry has no cases"
    )
    near = did_you_mean(select[0], parts | bases) if select else ""
    return BenchError(
        Diagnostic(
            "C10E601",
            what,
            notes=tuple(f"a case is called `{identity}`" for identity in known[:2]),
            help=near or ("give a part of a case's name" if select else "add `cases:` to the operators"),
        )
    )
