"""Everything `c10 validate` asks of a registry, and what it could not ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c10cli.errors import Diagnostic, in_order
from c10cli.jobs.child import Ended, run_items
from c10cli.jobs.fingerprint import fingerprint
from c10cli.manifest.checks import check_operator
from c10cli.manifest.declarations import KernelDecl, Manifest
from c10cli.manifest.link import LinkedOperator, Variant, link_manifest
from c10cli.manifest.load import load_manifest

_WORKER = "c10cli.verify.kernel_job"


@dataclass(frozen=True, slots=True)
class SkippedCheck:
    """A check of one kernel that could not be made here, and why.

    Args:
        stage: ``static``, ``bind``, ``run`` or ``compare``.
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
    faulty = _check_sources(validation, loaded.manifest)
    if loaded.own:  # such a manifest is not registered, so there is nothing to bind its kernels to
        validation.left_out = "the manifest has findings"
    else:
        kernels = link_manifest(loaded.manifest).kernels()
        if static:
            validation.left_out = "not asked for (--static)"
            not_run = [_skipped(*kernel, "bind", "only the sources were checked") for kernel in kernels]
        else:
            checking = _Checking(validation, faulty, kernels, run)
            checking.check_all(fingerprint(loaded.manifest), timeout_s, seed, begins)
            not_run = [skipped for skipped in validation.skipped if skipped.stage in ("bind", "run")]
        declared = {variant.kernel.dispatch_key for _, variant in kernels}
        for key in dict.fromkeys(require):
            missed = [skipped for skipped in not_run if skipped.dispatch_key == key]
            if missed or key not in declared:
                validation.diagnostics.append(_required(key, missed))
    validation.diagnostics = in_order(validation.diagnostics)  # each once: all kernels share a reference
    return validation


def _check_sources(validation: Validation, manifest: Manifest) -> set[str]:
    """Make the checks that import nothing; what has findings, so that no later stage finds it again.

    Of kernels that is the place of the entry point; of references, costs and cases the operator's name.
    """
    unseen: set[str] = set()
    faulty: set[str] = set()
    for operator in manifest.operators:
        findings, unchecked = check_operator(operator)
        validation.diagnostics += findings
        name = str(operator.name)
        validation.skipped += [SkippedCheck(name, "", e.text, "static", reason) for e, reason in unchecked]
        unseen |= {str(entry.span) for entry, _ in unchecked}
        found = {str(finding.span) for finding in findings}
        places = {place for kernel in operator.kernels for place in _places(kernel)}
        faulty |= found & places
        if found - places:
            faulty.add(name)
    kernels = [kernel for operator in manifest.operators for kernel in operator.kernels]
    validation.operators = len(manifest.operators)
    validation.kernels = len(kernels)
    validation.static = sum(not unseen & _places(kernel) for kernel in kernels)
    return faulty


def _places(kernel: KernelDecl) -> set[str]:
    """Where the entry points of *kernel* stand in the manifest."""
    return {str(entry.span) for entry in (kernel.entry_point, kernel.cache) if entry is not None}


@dataclass(frozen=True, slots=True)
class _Checking:
    """The stages that import: kernels are bound and, where *run*, compared with the reference."""

    validation: Validation
    faulty: set[str]
    kernels: list[tuple[LinkedOperator, Variant]]
    run: bool

    def check_all(
        self, before: Mapping[str, str], timeout_s: float, seed: int, begins: Callable[[str], None]
    ) -> None:
        """Do so in child processes, for what can be bound here."""
        places = [place for place in range(len(self.kernels)) if self._may_bind(place)]
        reasons = {place: self._why_not_run(*self.kernels[place]) for place in places}
        job = {
            "registry": str(self.validation.registry),
            "fingerprint": before,
            "run": [place for place in places if not reasons[place]],
            "seed": seed,
        }

        def tell(place: int) -> None:
            linked, variant = self.kernels[place]
            begins(f"{linked.decl.name} {variant.kernel.dispatch_key} {variant.kernel.name}")

        for place, answer in run_items(_WORKER, job, places, timeout_s=timeout_s, begins=tell):
            if isinstance(answer, Ended):
                self.validation.diagnostics.append(_fatal(*self.kernels[place], answer))
            else:
                self._take(place, answer, reasons[place])

    def _may_bind(self, place: int) -> bool:
        _, variant = self.kernels[place]
        is_faulty = bool(self.faulty & _places(variant.kernel))
        if is_faulty or variant.missing:
            self._skip(place, "bind", "its source has findings" if is_faulty else variant.reason)
        return not is_faulty and not variant.missing

    def _why_not_run(self, linked: LinkedOperator, variant: Variant) -> str:
        if not variant.kernel.device.available:
            return variant.kernel.device.reason
        if not self.run:
            return "not asked for (--no-run)"
        is_faulty = str(linked.decl.name) in self.faulty
        return "the operator's reference or cases have findings" if is_faulty else ""

    def _take(self, place: int, answer: Mapping[str, Any], reason: str) -> None:
        """Enter one kernel's answer; *reason* is why it was not to be run."""
        validation = self.validation
        validation.diagnostics += map(Diagnostic.from_dict, (*answer["findings"], *answer["shared"]))
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
        if self.kernels[place][0].decl.reference is None:
            self._skip(place, "compare", "the operator has no reference to compare with")

    def _skip(self, place: int, stage: str, reason: str) -> None:
        self.validation.skipped.append(_skipped(*self.kernels[place], stage, reason))


def _skipped(linked: LinkedOperator, variant: Variant, stage: str, reason: str) -> SkippedCheck:
    kernel = variant.kernel
    return SkippedCheck(str(linked.decl.name), kernel.dispatch_key, kernel.name, stage, reason)


def _fatal(linked: LinkedOperator, variant: Variant, ended: Ended) -> Diagnostic:
    """The finding for a kernel that took its process down."""
    name = variant.kernel.name
    fact = f"kernel `{name}` of `{linked.decl.name}` ended its process: {ended.reason}"
    alone = "run it alone with `c10 call`, under a debugger"
    todo = "give it more time with --timeout" if ended.timed_out else alone
    return Diagnostic("C10E501", fact, variant.kernel.span, help=todo)


def _required(key: str, missed: Sequence[SkippedCheck]) -> Diagnostic:
    """The finding for dispatch key *key*, which had to be run here and was not."""
    reasons = sorted({s.reason for s in missed}) or ["the registry has no kernel for it"]
    return Diagnostic(
        "C10E607",
        f"kernels for required dispatch key `{key}` were not run here: {'; '.join(reasons)}",
        notes=tuple(f"`{s.operator}` {s.variant}" for s in missed[:8]),
        help="validate on a machine that has the device, or leave --require out",
    )
