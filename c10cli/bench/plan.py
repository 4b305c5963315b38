"""What a run measures: every case of every kernel this machine has a device for, and what it leaves out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from c10cli.bench.outcome import CaseResult, Skipped
from c10cli.dispatch.names import matches_name
from c10cli.errors import BenchError, Diagnostic, ManifestError, did_you_mean
from c10cli.manifest.declarations import CaseDecl, Manifest, OperatorDecl
from c10cli.manifest.link import LinkedOperator, Registry, Variant
from c10cli.verify.inputs import CasePoint, case_points
from c10cli.verify.made_arguments import parse_dims


@dataclass(frozen=True, slots=True)
class Case:
    """One point of a case, for one kernel."""

    linked: LinkedOperator
    variant: Variant
    point: CasePoint

    @property
    def result(self) -> CaseResult:
        """What is known of the result before anything is measured."""
        name, kernel, point = str(self.linked.decl.name), self.variant.kernel, self.point
        return CaseResult(name, kernel.dispatch_key, kernel.name, point.case.name, point.values, point.dtype)


@dataclass(frozen=True, slots=True)
class Plan:
    """Cases of a manifest to measure, by their ids; kernels that are not, with the reason."""

    manifest: Manifest
    cases: Mapping[str, Case]
    skipped: tuple[Skipped, ...]

    def batches(self) -> Iterator[dict[str, Case]]:
        """The cases of each kernel, which are measured one after the other."""
        for _, items in groupby(self.cases.items(), key=lambda item: id(item[1].variant)):
            yield dict(items)


def find_cases(registry: Registry, made: MadeCases | None = None) -> dict[str, Case]:
    """Every timed case of every kernel by its id, in the manifest's order.

    Args:
        made: the cases instead of those of the manifest.

    Raises:
        BenchError: C10E604, two cases have one id.
    """
    found: dict[str, Case] = {}
    for linked, variant in registry.kernels():
        decl = made.instead(linked.decl) if made else linked.decl
        for point in case_points(decl, bench_only=True):
            if not point.case.is_for(variant.kernel):
                continue
            case = Case(linked, variant, point)
            identity = case.result.id
            if identity in found:
                todo = "give the case, or a value of its sweep, another name"
                raise BenchError(Diagnostic("C10E604", f"two cases are called `{identity}`", help=todo))
            found[identity] = case
    return found


@dataclass(frozen=True, slots=True)
class MadeCases:
    """Cases that no manifest has: arguments made from the domains of operators.

    Args:
        dims: as `parse_dims` reads them, one text for each case.
        dtypes: in which each is measured.
    """

    dims: Sequence[str]
    dtypes: Sequence[str]

    def instead(self, decl: OperatorDecl) -> OperatorDecl:
        """*decl* with these cases, if it has a domain, instead of its own."""
        known = {axis.name for _, axis in decl.domain.named_axes()} if decl.domain else set()
        cases = [self._case(decl, dims) for text in self.dims if (dims := parse_dims(text)).keys() <= known]
        return replace(decl, cases=tuple(cases) if decl.domain else ())

    def _case(self, decl: OperatorDecl, dims: Mapping[str, Any]) -> CaseDecl:
        # As a sweep they are a part of the case's id.
        sweep = {name: ("x".join(map(str, s)) if isinstance(s, list) else s,) for name, s in dims.items()}
        return CaseDecl("dims", sweep, tuple(self.dtypes), {}, True, decl.node, dims)


def make_plan(
    registry: Registry,
    select: Sequence[str] = (),
    *,
    done: Collection[str] = (),
    made: MadeCases | None = None,
) -> Plan:
    """The plan for the cases that *select* names.

    Args:
        select: parts of case ids, or patterns for whole ones; all of the
            cases where there are none.
        done: ids of cases to leave out, measured before.
        made: the cases instead of those of the manifest.

    Raises:
        BenchError: C10E601, one of *select* names no case; C10E604, two cases
            have one id.
        ManifestError: an operator that *select* names has faults, and was left out.
    """
    faults = registry.manifest.faults
    names = [pattern.partition("/")[0] for pattern in select]
    wanted = [
        found for name, found in faults.items() if not select or (name and matches_name(str(name), names))
    ]
    if wanted:
        raise ManifestError(*itertools.chain(*wanted), path=registry.manifest.path)
    known = find_cases(registry, made)
    idle = [pattern for pattern in select if not any(matches_name(identity, [pattern]) for identity in known)]
    if idle or not known:
        raise _nothing_made(idle, made) if made else _nothing_selected(idle, known)
    cases, skipped = {}, {}
    for identity, case in known.items():
        if identity in done or not matches_name(identity, select):
            continue
        reason = _skip_reason(case.variant)
        if reason:
            result = case.result
            kernel = (result.operator, result.dispatch_key, result.variant)
            skipped[kernel] = Skipped(*kernel, reason, "C10E607")
        else:
            cases[identity] = case
    return Plan(registry.manifest, cases, tuple(skipped.values()))


def _skip_reason(variant: Variant) -> str:
    """Why this machine cannot run the kernel; the device comes first, as what cannot be installed."""
    device = variant.kernel.device
    if not device.available:
        return device.reason
    return variant.reason if variant.missing else ""


def _nothing_made(idle: Sequence[str], made: MadeCases) -> BenchError:
    what = (
        f"no operator that {' or '.join(f'`{pattern}`' for pattern in idle)} names" if idle else "no operator"
    )
    fact = f"{what} has a domain with the dims of `{'` or `'.join(made.dims)}`"
    return BenchError(Diagnostic("C10E601", fact, help="see its dims with `c10 show OP`"))


def _nothing_selected(idle: Sequence[str], known: Iterable[str]) -> BenchError:
    if not idle:
        todo = "add `cases:` to the operators"
        return BenchError(Diagnostic("C10E601", "the registry has no cases", help=todo))
    parts = {part for identity in known for part in identity.split("/")}
    bases = {part.partition("::")[2] for part in parts if "::" in part}
    fact = f"no case matches {' or '.join(f'`{pattern}`' for pattern in idle)}"
    words = [word for word in re.split(r"[/*?]+", idle[0]) if word]
    nearest = sorted(known, key=lambda identity: -sum(word in identity for word in words))
    notes = tuple(f"a case is called `{identity}`" for identity in nearest[:2])
    help = did_you_mean(idle[0], parts | bases) or "give a part of a case's name"
    return BenchError(Diagnostic("C10E601", fact, notes=notes, help=help))
