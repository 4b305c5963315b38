"""The child process that imports kernels, binds them, and runs them against the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from c10cli.arrays.devices import device_of
from c10cli.dispatch import DispatchKey, OpKernel
from c10cli.errors import C10Error, Diagnostic
from c10cli.manifest.link import Candidate, LinkedOperator, Registry, load_registry
from c10cli.verify.child import Fields, serve
from c10cli.verify.inputs import CasePoint, case_points
from c10cli.verify.reference import Expectation, check_kernel, expect

Kernels = list[tuple[LinkedOperator, Candidate]]


def kernels_of(registry: Registry) -> Kernels:
    """Every kernel of *registry*, registered or not, in the manifest's order."""
    return [
        (linked, candidate)
        for linked in registry.operators.values()
        for candidates in linked.candidates.values()
        for candidate in candidates
    ]


def prepare(job: Fields) -> Callable[[int], Fields]:
    """The function that checks the kernel at a place.

    It gives the findings, the number of cases run, and what goes wrong with
    the reference itself under ``reference``.
    """
    kernels = kernels_of(load_registry(job["registry"]))
    expectation_of = _remembering(job["seed"])

    def check(place: int) -> Fields:
        linked, candidate = kernels[place]
        try:
            kernel = OpKernel(
                linked.handle.calling(),
                DispatchKey(candidate.kernel.dispatch_key),
                linked.bind(candidate.kernel),
            )
        except C10Error as error:
            return {"findings": [d.as_dict() for d in error.diagnostics], "bound": False, "cases": 0}
        if not job["run"] or not device_of(candidate.kernel.dispatch_key).available:
            return {"findings": [], "bound": True, "cases": 0}
        findings, cases = _run(linked, candidate, kernel, expectation_of)
        return {"findings": [d.as_dict() for d in findings], "bound": True, "cases": cases}

    return check


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
    linked: LinkedOperator, candidate: Candidate, kernel: OpKernel, expectation_of: ExpectationOf
) -> tuple[list[Diagnostic], int]:
    """What is wrong with *kernel* on the operator's cases, and how many were run."""
    findings: list[Diagnostic] = []
    cases = 0
    for index, point in enumerate(case_points(linked.decl)):
        expectation = expectation_of(linked, index, point)
        if isinstance(expectation, C10Error):
            findings += expectation.diagnostics
            continue
        cases += 1
        wrong = check_kernel(
            linked.decl, candidate.kernel.name, kernel, candidate.kernel.dispatch_key, expectation
        )
        findings += [d if d.span else _at(d, candidate) for d in wrong]
    return findings, cases


def _at(diagnostic: Diagnostic, candidate: Candidate) -> Diagnostic:
    return replace(diagnostic, span=candidate.kernel.span)


if __name__ == "__main__":
    serve(prepare)
