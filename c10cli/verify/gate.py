"""Everything `c10 validate` asks of a registry, and what it could not ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c10cli.errors import Diagnostic, in_order
from c10cli.jobs.child import Ended, run_items
from c10cli.jobs.fingerprint import fingerprint
from c10cli.manifest.checks import Skipped, check_operator
from c10cli.manifest.declarations import KernelDecl, Manifest
from c10cli.manifest.link import LinkedOperator, Variant, link_manifest
from c10cli.manifest.load import load_manifest

__all__ = ["SkippedCheck", "Validation", "validate"]

Kernels = list[tuple[LinkedOperator, Variant]]

_WORKER = "c10cli.verify.kernel_job"


@dataclass(frozen=True, slots=True)
class SkippedCheck:
    """A check of one kernel that could not be made here, and why.

    Args:
        stage: ``static``, ``bind`` or ``run``.
    """

    operator: str
    dispatch_key: str
    variant: str
    stage: str
    reason: str


@dataclass
class Validation:
    """What was checked, what was found, what was left out.

    Args:
        static, bound, run: kernels that went through each stage.
        cases: calls compared with the reference.
        left_out: why no kernel was bound, and so none run; empty where that was done.
    """

    registry: Path
    operators: int = 0
    kernels: int = 0
    static: int = 0
    bound: int = 0
    run: int = 0
    cases: int = 0
    left_out: str = ""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    skipped: list[SkippedCheck] = field(default_factory=list)

    @property
    def checked_nothing(self) -> bool:
        """Whether the registry has nothing that could have been checked."""
        return self.ok and not self.operators

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not any(d.severity == "error" for d in self.diagnostics)


def validate(
    path: Path,
    *,
    static: bool = False,
    run: bool = True,
    require: Sequence[str] = (),
    timeout_s: float = 60.0,
    seed: int = 0,
    begins: Callable[[str], None] = lambda _kernel: None,
) -> Validation:
    """All checks of the manifest at *path* that this machine can make.

    First the manifest itself and the sources of its kernels, without
    importing any; then, in child processes, each kernel whose needs are met
    is imported, bound to its schema, and run on every case.

    Args:
        static: import nothing.
        run: run the kernels; False: bind only.
        require: dispatch keys that must have been run here; what was not is a finding.
        timeout_s: how long one kernel may take for all its cases.
        begins: called with each kernel's name as its turn comes.
    """
    loaded = load_manifest(path)
    validation = Validation(path, diagnostics=list(loaded.diagnostics))
    if loaded.manifest is None:
        return validation
    faults = _check_sources(validation, loaded.manifest)
    # A manifest with faults is not registered, so there is nothing to bind its kernels to.
    if not loaded.own:
        digest = fingerprint(loaded.manifest)
        checking = _Checking(validation, link_manifest(loaded.manifest).kernels(), faults, digest)
        if static:
            validation.left_out = "not asked for (--static)"
            checking.skip_all("only the sources were checked")
        else:
            checking.run_all(run, timeout_s, seed, begins)
        validation.diagnostics += checking.missing(require)
    else:
        validation.left_out = "the manifest has findings"
    validation.diagnostics = in_order(validation.diagnostics)
    return validation


@dataclass(frozen=True, slots=True)
class _Faults:
    """What the sources were found to be wrong in, so that no later stage finds it again.

    Args:
        places: of the entry points with a finding.
        operators: those whose reference, cost or cases have one.
    """

    places: set[str] = field(default_factory=set)
    operators: set[str] = field(default_factory=set)


def _check_sources(validation: Validation, manifest: Manifest) -> _Faults:
    """Make the checks that import nothing."""
    skipped: list[Skipped] = []
    faults = _Faults()
    for operator in manifest.operators:
        findings, unchecked = check_operator(operator)
        validation.diagnostics += findings
        skipped += unchecked
        found = {str(finding.span) for finding in findings}
        places = {place for kernel in operator.kernels for place in _places(kernel)}
        faults.places.update(found & places)
        if found - places:
            faults.operators.add(str(operator.name))
    unseen = {str(s.entry_point.span) for s in skipped}
    kernels = [kernel for operator in manifest.operators for kernel in operator.kernels]
    validation.operators = len(manifest.operators)
    validation.kernels = len(kernels)
    validation.static = sum(not unseen & _places(kernel) for kernel in kernels)
    validation.skipped += [
        SkippedCheck(s.operator, "", s.entry_point.text, "static", s.reason) for s in skipped
    ]
    return faults


def _places(kernel: KernelDecl) -> set[str]:
    """Where the entry points of *kernel* stand in the manifest."""
    return {str(entry.span) for entry in (kernel.entry_point, kernel.cache) if entry is not None}


class _Checking:
    """The stages that import: kernels are bound, and run, in child processes."""

    def __init__(
        self, validation: Validation, kernels: Kernels, faults: _Faults, digest: Mapping[str, str]
    ) -> None:
        self._validation = validation
        self._kernels = kernels
        self._faults = faults
        self._fingerprint = digest
        self._not_run: list[SkippedCheck] = []

    def skip_all(self, reason: str) -> None:
        """Leave every kernel out; only `missing` tells of it."""
        self._not_run = [_skipped(*kernel, "bind", reason) for kernel in self._kernels]

    def run_all(self, run: bool, timeout_s: float, seed: int, begins: Callable[[str], None]) -> None:
        """Bind what can be bound here and, where *run*, compare it with the reference."""
        places = [place for place in range(len(self._kernels)) if self._may_bind(place)]
        reasons = {place: self._why_not_run(place, run) for place in places}
        job = {
            "registry": str(self._validation.registry),
            "fingerprint": self._fingerprint,
            "run": [place for place in places if not reasons[place]],
            "seed": seed,
        }
        answers = run_items(
            _WORKER,
            job,
            places,
            timeout_s=timeout_s,
            begins=lambda place: begins(_name(*self._kernels[place])),
        )
        for place, answer in answers:
            if isinstance(answer, Ended):
                self._validation.diagnostics.append(_fatal(*self._kernels[place], answer))
            else:
                self._take(place, answer, reasons[place])

    def missing(self, require: Sequence[str]) -> list[Diagnostic]:
        """A finding for each required key of which a kernel was not run."""
        declared = {candidate.kernel.dispatch_key for _, candidate in self._kernels}
        missed = {key: [s for s in self._not_run if s.dispatch_key == key] for key in require}
        return [_required(key, missed[key]) for key in missed if missed[key] or key not in declared]

    def _may_bind(self, place: int) -> bool:
        _, candidate = self._kernels[place]
        if self._faults.places & _places(candidate.kernel):
            self._skip(place, "bind", "its source has findings")
        elif candidate.missing:
            self._skip(place, "bind", candidate.reason)
        else:
            return True
        return False

    def _why_not_run(self, place: int, run: bool) -> str:
        linked, candidate = self._kernels[place]
        device = candidate.kernel.device
        if not device.available:
            return device.reason
        if not run:
            return "not asked for (--no-run)"
        faulty = str(linked.decl.name) in self._faults.operators
        return "the operator's reference or cases have findings" if faulty else ""

    def _take(self, place: int, answer: Mapping[str, Any], reason: str) -> None:
        """Enter one kernel's answer; *reason* is why it was not to be run."""
        validation = self._validation
        validation.diagnostics += map(Diagnostic.from_dict, answer["findings"])
        # A broken reference is found once, not once for every kernel.
        shared = map(Diagnostic.from_dict, answer["shared"])
        validation.diagnostics += [finding for finding in shared if finding not in validation.diagnostics]
        if not answer["bound"]:
            return
        validation.bound += 1
        validation.cases += answer["compared"]
        reason = reason or answer["not_here"]
        if reason or not answer["cases"]:
            none = "no case could be made" if answer["shared"] else "the operator has no cases"
            self._skip(place, "run", reason or none)
            return
        validation.run += 1
        linked, candidate = self._kernels[place]
        if linked.decl.reference is None:
            reason = "the operator has no reference to compare with"
            validation.skipped.append(_skipped(linked, candidate, "compare", reason))

    def _skip(self, place: int, stage: str, reason: str) -> None:
        skipped = _skipped(*self._kernels[place], stage, reason)
        self._validation.skipped.append(skipped)
        self._not_run.append(skipped)


def _skipped(linked: LinkedOperator, candidate: Variant, stage: str, reason: str) -> SkippedCheck:
    kernel = candidate.kernel
    return SkippedCheck(str(linked.decl.name), kernel.dispatch_key, kernel.name, stage, reason)


def _name(linked: LinkedOperator, candidate: Variant) -> str:
    return f"{linked.decl.name} {candidate.kernel.dispatch_key} {candidate.kernel.name}"


def _fatal(linked: LinkedOperator, candidate: Variant, ended: Ended) -> Diagnostic:
    """The finding for a kernel that took its process down."""
    kernel = candidate.kernel
    return Diagnostic(
        "C10E501",
        f"kernel `{kernel.name}` of `{linked.decl.name}` ended its process: {ended.reason}",
        kernel.span,
        help="give it more time with --timeout"
        if ended.timed_out
        else "run it alone with `c10 call`, under a debugger",
    )


def _required(key: str, missed: Sequence[SkippedCheck]) -> Diagnostic:
    """The finding for dispatch key *key*, which had to be run here and was not."""
    reasons = sorted({s.reason for s in missed}) or ["the registry has no kernel for it"]
    return Diagnostic(
        "C10E607",
        f"kernels for required dispatch key `{key}` were not run here: {'; '.join(reasons)}",
        notes=tuple(f"`{s.operator}` {s.variant}" for s in missed[:8]),
        help="validate on a machine that has the device, or leave --require out",
    )
