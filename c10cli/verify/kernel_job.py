"""The child process that imports a kernel, binds it, and runs it against the reference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.dispatch.kernel import OpKernel
from c10cli.errors import C10Error, Diagnostic, ManifestError
from c10cli.jobs.child import At, DoItem, import_libraries, serve
from c10cli.jobs.fingerprint import check_same
from c10cli.manifest.declarations import KernelDecl
from c10cli.manifest.link import LinkedOperator, Variant, load_registry
from c10cli.verify.cost import evaluate_cost
from c10cli.verify.inputs import CasePoint, case_points, is_of_case, make_arguments
from c10cli.verify.reference import Expectation, check_kernel, expect


def prepare(job: Mapping[str, Any]) -> DoItem:
    """The function that checks the kernel at a place; see `_Checked` for what it gives."""
    registry = load_registry(job["registry"], partly=True)
    check_same(registry.manifest, job["fingerprint"])
    kernels = registry.kernels()
    import_libraries(kernels[place][1].kernel for place in job["items"])

    def check(place: int, at: At) -> Mapping[str, Any]:
        checked = _Checked()
        try:
            checked.check(*kernels[place], job["not_run"][place], job["seed"], at)
        except C10Error as error:
            checked.findings += error.diagnostics
        return checked.as_fields()

    return check


@dataclass
class _Checked:
    """What became of one kernel.

    Args:
        bound: whether it could be bound.
        run: whether it was called.
        compared: calls whose results were compared with the reference's.
        skipped: the stage that was left out, and why.
        findings: what is wrong with the kernel.
        shared: what is wrong with the operator's reference or cases, and so with no kernel.
        refused: why the kernel's condition does not hold for a case.
    """

    bound: bool = False
    run: bool = False
    compared: int = 0
    skipped: tuple[()] | tuple[str, str] = ()
    findings: list[Diagnostic] = field(default_factory=list)
    shared: list[Diagnostic] = field(default_factory=list)
    refused: str = ""

    def check(self, linked: LinkedOperator, variant: Variant, not_run: str, seed: int, at: At) -> None:
        """Bind the kernel, and compare it with the reference on all cases; the first is called twice.

        Args:
            not_run: why it is only to be bound; empty where it is to be run.
            at: told what is at work, and for which case.
        """
        bound = linked.bind(variant.kernel)
        self.bound = True
        if not_run:
            self.skipped = ("run", not_run)
            return
        key = DispatchKey(variant.kernel.dispatch_key)
        kernel = OpKernel(linked.handle.calling, key, bound)
        self._compare(linked, variant.kernel, kernel, seed, at)
        if not (self.run or self.skipped):
            why = f"it takes no case, as {self.refused}" if self.refused else "the operator has no cases"
            self.skipped = ("run", "no case could be made" if self.shared else why)
        elif linked.decl.reference is None:
            self.skipped = self.skipped or ("compare", "the operator has no reference to compare with")

    def _compare(
        self, linked: LinkedOperator, declared: KernelDecl, kernel: OpKernel, seed: int, at: At
    ) -> None:
        decl = linked.decl
        for point in case_points(decl):
            if not point.case.is_for(declared):
                self.refused = self.refused or "none is for it"
                continue
            expectation = self._expect(linked, declared, point, seed, at)
            if expectation is None:
                continue
            if point.case.bench:  # others need no cost
                try:
                    evaluate_cost(decl, expectation.arguments)
                except ManifestError as error:
                    self.shared += [d.with_notes(f"in case {point.label}") for d in error.diagnostics]
            try:
                at(f"kernel {point.label}")
                found = check_kernel(decl, declared, kernel, expectation, twice=not self.run)
            except C10Error as error:
                if error.code == "C10E607":  # which shows when the first tensor is to be made
                    self.skipped = ("run", error.diagnostics[0].message)
                    return
                if is_of_case(error):
                    self.shared += error.diagnostics
                    continue
                found = error.diagnostics
            self.run = True
            self.compared += expectation.returns is not None
            self.findings += [d if d.span else replace(d, span=declared.span) for d in found]

    def _expect(
        self, linked: LinkedOperator, declared: KernelDecl, point: CasePoint, seed: int, at: At
    ) -> Expectation | None:
        """The arguments of *point* and what the reference gives; None where the kernel is not called."""
        try:
            at(f"inputs {point.label}")
            arguments = make_arguments(linked.decl, point, seed=seed)
            refused = linked.why_not(declared, arguments)
            if refused:
                self.refused = refused
                return None
            at(f"reference {point.label}")
            return expect(linked.decl, point, arguments=arguments)
        except C10Error as error:
            self.shared += error.diagnostics
            if not is_of_case(error):
                self.skipped = ("run", "the reference failed")
        return None

    def as_fields(self) -> Mapping[str, Any]:
        """All but `shared`, which the findings include."""
        found = [*_counted(self.findings, by_message=True), *_counted(self.shared)]
        return {
            "bound": self.bound,
            "run": self.run,
            "compared": self.compared,
            "skipped": self.skipped,
            "findings": [d.as_dict() for d in found],
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


if __name__ == "__main__":
    serve(prepare)
