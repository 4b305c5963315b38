"""The child process that imports kernels, binds them, and runs them against the reference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from c10cli.arrays.keys import DispatchKey
from c10cli.dispatch.kernel import OpKernel
from c10cli.errors import C10Error, Diagnostic, ManifestError
from c10cli.jobs.child import Fields, serve
from c10cli.jobs.fingerprint import check_same
from c10cli.jobs.surroundings import Surroundings
from c10cli.manifest.link import LinkedOperator, Variant, load_registry
from c10cli.manifest.model import KernelDecl, OperatorDecl
from c10cli.verify.cost import evaluate_cost
from c10cli.verify.inputs import CasePoint, case_points, is_of_case
from c10cli.verify.reference import Expectation, check_kernel, expect


def prepare(job: Fields) -> Callable[[int], Fields]:
    """The function that checks the kernel at a place.

    It gives whether the kernel could be bound, the number of cases run, what
    is wrong with the kernel under ``findings``, what is wrong with the
    operator's reference or cases, and so with no kernel, under ``shared``, and
    under ``not_here`` why this machine turned out to make none of its tensors.
    """
    registry = load_registry(job["registry"])
    check_same(registry.manifest, job["digest"])
    kernels = registry.kernels()
    expectation_of = _remembering(job["seed"])
    surroundings = _Modules()

    def check(place: int) -> Fields:
        with surroundings.of(kernels[place][1].kernel):
            return check_alone(place)

    def check_alone(place: int) -> Fields:
        linked, candidate = kernels[place]
        checked = _Checked()
        try:
            bound = linked.bind(candidate.kernel)
            surroundings.are_those_of(candidate.kernel)
        except C10Error as error:
            checked.findings += error.diagnostics
            return checked.as_fields()
        checked.bound = True
        if place in job["run"] and candidate.kernel.device.available:
            kernel = OpKernel(linked.handle.calling(), DispatchKey(candidate.kernel.dispatch_key), bound)
            _run(checked, linked, candidate, kernel, expectation_of)
        return checked.as_fields()

    return check


class _Modules:
    """Surroundings for one kernel after the other: as at the start, and as its module left them.

    What a module does when it is imported (a folder for the search path, a
    variable for a library) is done once, and meant for all kernels in it.
    """

    def __init__(self) -> None:
        self._start = Surroundings.read()
        self._imported: dict[str, Surroundings] = {}

    @contextmanager
    def of(self, kernel: KernelDecl) -> Iterator[None]:
        """Those of *kernel*, until the end of the block."""
        self._imported.get(_module(kernel), self._start).restore()
        try:
            yield
        finally:
            self._start.restore()

    def are_those_of(self, kernel: KernelDecl) -> None:
        """Remember the present ones for the kernels of *kernel*'s module, which has just been imported."""
        self._imported.setdefault(_module(kernel), Surroundings.read())


def _module(kernel: KernelDecl) -> str:
    return str(kernel.entry_point.path or kernel.entry_point.module)


@dataclass
class _Checked:
    """What became of one kernel.

    Args:
        cases: calls made.
        compared: those of them whose results were compared with the reference's.
        not_here: why none can be made, which only showed when the first was to be.
    """

    bound: bool = False
    cases: int = 0
    compared: int = 0
    not_here: str = ""
    findings: list[Diagnostic] = field(default_factory=list)
    shared: list[Diagnostic] = field(default_factory=list)

    def as_fields(self) -> Fields:
        return {
            "bound": self.bound,
            "cases": self.cases,
            "compared": self.compared,
            "not_here": self.not_here,
            "findings": [d.as_dict() for d in _counted(self.findings, by_message=True)],
            "shared": [d.as_dict() for d in _counted(self.shared)],
        }


def _counted(findings: list[Diagnostic], *, by_message: bool = False) -> list[Diagnostic]:
    """The first finding of each code and place; a note says how many more there are.

    Args:
        by_message: tell findings apart by what they say before the first
            colon too, values left out; the numbers and a kernel's own words
            come after it.
    """
    groups: dict[tuple[str, ...], list[Diagnostic]] = {}
    for finding in findings:
        kind = _VALUE.sub("", finding.message.partition(": ")[0]) if by_message else ""
        groups.setdefault((finding.code, str(finding.span), kind), []).append(finding)
    return [
        first.with_notes(f"{len(rest)} more case{'s' * (len(rest) > 1)} in the same way") if rest else first
        for first, *rest in groups.values()
    ]


# What `describe` says of a value, which may differ from case to case: `float32[2, 3]`, `float 1.5`.
_VALUE = re.compile(
    r"\b\w+\[[^\]]*\]|\b(?:int|float|complex) \S+|\b\w+ of \d+\b|\b\d+ values?\b|\b(?:True|False)\b"
)

ExpectationOf = Callable[[LinkedOperator, int, CasePoint], "Expectation | C10Error"]


def _remembering(seed: int) -> ExpectationOf:
    """The reference's results, computed once for all kernels of an operator; one operator is kept."""
    remembered: dict[tuple[str, int], Expectation | C10Error] = {}

    def expectation_of(linked: LinkedOperator, index: int, point: CasePoint) -> Expectation | C10Error:
        name = str(linked.decl.name)
        if any(operator != name for operator, _ in remembered):
            remembered.clear()
        if (name, index) not in remembered:
            try:
                remembered[name, index] = expect(linked.decl, point, seed=seed)
            except C10Error as error:
                remembered[name, index] = error
        return remembered[name, index]

    return expectation_of


def _run(
    checked: _Checked,
    linked: LinkedOperator,
    candidate: Variant,
    kernel: OpKernel,
    expectation_of: ExpectationOf,
) -> None:
    """Compare *kernel* with the reference on the operator's cases; the first case is called twice."""
    name, key, arrays = candidate.kernel.name, candidate.kernel.dispatch_key, candidate.kernel.arrays
    for index, point in enumerate(case_points(linked.decl)):
        expectation = expectation_of(linked, index, point)
        if isinstance(expectation, C10Error):
            checked.shared += expectation.diagnostics
            continue
        if point.case.bench:
            checked.shared += _cost_findings(linked.decl, expectation)
        twice = not checked.cases
        try:
            found = check_kernel(linked.decl, name, kernel, key, expectation, arrays=arrays, twice=twice)
        except C10Error as error:
            if error.code == "C10E607":
                checked.not_here = error.diagnostics[0].message
                return
            if is_of_case(error):
                checked.shared += error.diagnostics
                continue
            found = error.diagnostics
        checked.cases += 1
        checked.compared += expectation.returns is not None
        checked.findings += [d if d.span else replace(d, span=candidate.kernel.span) for d in found]


def _cost_findings(decl: OperatorDecl, expectation: Expectation) -> tuple[Diagnostic, ...]:
    """What is wrong with the operator's cost on a case that is timed; others need none."""
    try:
        evaluate_cost(decl, expectation.arguments)
    except ManifestError as error:
        return tuple(d.with_notes(f"in case {expectation.point.label}") for d in error.diagnostics)
    return ()


if __name__ == "__main__":
    serve(prepare)
