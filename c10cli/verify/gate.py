"""Everything `c10 validate` asks of a registry, and what it could not ask."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from c10cli.document.findings import MOST_FINDINGS, Findings
from c10cli.errors import Diagnostic, Span
from c10cli.jobs.child import run_items
from c10cli.jobs.fingerprint import fingerprint
from c10cli.jobs.fork import Answer
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


@dataclass(frozen=True, slots=True)
class Printed:
    """The end of what one kernel printed."""

    operator: str
    dispatch_key: str
    variant: str
    text: str


@dataclass
class Validation:
    """What was checked, what was found, what was left out.

    Args:
        static, bound, run: kernels that went through each stage.
        cases: calls compared with the reference.
        left_out: why no kernel was bound, and so none run; empty where that was done.
        last_stage: what was asked for: ``static``, ``bind``, or all of it, ``run``.
    """

    registry: Path
    last_stage: Literal["static", "bind", "run"] = "run"
    operators: int = 0
    kernels: int = 0
    static: int = 0
    bound: int = 0
    run: int = 0
    cases: int = 0
    left_out: str = ""
    findings: Findings = field(default_factory=Findings)
    skipped: list[SkippedCheck] = field(default_factory=list)
    printed: list[Printed] = field(default_factory=list)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The findings in order, as many as are told."""
        return self.findings.told()

    @property
    def checked_nothing(self) -> str:
        """Why nothing is known where nothing was found; empty where the last stage asked for was come to."""
        if not self.ok:
            return ""
        if not self.operators:
            return "no operators"
        bound, run = self.last_stage == "bind" and not self.bound, self.last_stage == "run" and not self.run
        return "no kernel was bound" if bound else "no kernel was run" if run else ""

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not any(d.severity == "error" for d in self.findings)


def validate(
    path: Path,
    *,
    static: bool = False,
    run: bool = True,
    require: Sequence[str] = (),
    timeout_s: float = 60.0,
    memory_bytes: int | None = None,
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
        memory_bytes: how much it may hold; None: the most of what there is.
        begins: called with each kernel's name as its turn comes.
    """
    loaded = load_manifest(path)
    last_stage: Literal["static", "bind", "run"] = "static" if static else "run" if run else "bind"
    validation = Validation(path, last_stage, findings=Findings(loaded.findings))
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
            job = {"registry": str(path), "fingerprint": fingerprint(loaded.manifest), "seed": seed}
            _check_kernels(
                validation, kernels, faulty, run, job, begins, timeout_s=timeout_s, memory_bytes=memory_bytes
            )
            not_run = [skipped for skipped in validation.skipped if skipped.stage in ("bind", "run")]
        declared = {variant.kernel.dispatch_key for _, variant in kernels}
        for key in dict.fromkeys(require):
            missed = [skipped for skipped in not_run if skipped.dispatch_key == key]
            if missed or key not in declared:
                validation.findings.append(_required(key, missed, declared))
    return validation


def _check_sources(validation: Validation, manifest: Manifest) -> set[str]:
    """Make the checks that import nothing; what has findings, so that no later stage finds it again.

    Of kernels that is the place of the entry point; of references, costs and cases the operator's name.
    """
    unseen: set[str] = set()
    faulty: set[str] = set()
    for operator in manifest.operators:
        findings, unchecked = check_operator(operator, near=validation.findings.met < MOST_FINDINGS)
        validation.findings += findings
        name = str(operator.name)
        validation.skipped += [SkippedCheck(name, "", e.text, "static", reason) for e, reason in unchecked]
        unseen |= {str(entry.span) for entry, _ in unchecked}
        found = findings.places
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


def _check_kernels(
    validation: Validation,
    kernels: Sequence[tuple[LinkedOperator, Variant]],
    faulty: set[str],
    run: bool,
    job: Mapping[str, Any],
    begins: Callable[[str], None],
    **limits: Any,
) -> None:
    """Make the checks that import, in child processes: kernels are bound and, where *run*, run."""
    not_run = {}
    for place, (linked, variant) in enumerate(kernels):
        is_faulty = bool(faulty & _places(variant.kernel))
        if is_faulty or variant.missing:
            reason = "its source has findings" if is_faulty else variant.reason
            validation.skipped.append(_skipped(linked, variant, "bind", reason))
        else:
            not_run[place] = _why_not_run(linked, variant, faulty, run)

    def tell(place: int) -> None:
        linked, variant = kernels[place]
        begins(f"{linked.decl.name} {variant.kernel.dispatch_key} {variant.kernel.name}")

    job = {**job, "not_run": [not_run.get(place, "") for place in range(len(kernels))]}
    for place, answer in run_items(_WORKER, job, not_run, begins=tell, **limits):
        linked, variant = kernels[place]
        if answer.said:
            name, kernel = str(linked.decl.name), variant.kernel
            validation.printed.append(Printed(name, kernel.dispatch_key, kernel.name, answer.said))
        if answer.left:
            validation.findings.append(_left(linked, variant, answer))
        if answer.result is None:
            validation.findings.append(_fatal(linked, variant, answer))
            continue
        validation.findings += map(Diagnostic.from_dict, answer.result["findings"])
        validation.bound += answer.result["bound"]
        validation.run += answer.result["run"]
        validation.cases += answer.result["compared"]
        if answer.result["skipped"]:
            validation.skipped.append(_skipped(linked, variant, *answer.result["skipped"]))


def _why_not_run(linked: LinkedOperator, variant: Variant, faulty: set[str], run: bool) -> str:
    if not variant.kernel.device.available:
        return variant.kernel.device.reason
    if not run:
        return "not asked for (--no-run)"
    is_faulty = str(linked.decl.name) in faulty
    return "the operator's reference or cases have findings" if is_faulty else ""


def _skipped(linked: LinkedOperator, variant: Variant, stage: str, reason: str) -> SkippedCheck:
    kernel = variant.kernel
    return SkippedCheck(str(linked.decl.name), kernel.dispatch_key, kernel.name, stage, reason)


def _fatal(linked: LinkedOperator, variant: Variant, answer: Answer) -> Diagnostic:
    """The finding for what took the process of a kernel down: that kernel, the reference, or a case."""
    decl, (phase, _, label) = linked.decl, answer.at.partition(" ")
    case = f" on case {label}" if label else ""
    others: dict[str, tuple[str, str, Span | None]] = {
        "inputs": ("C10E110", "an expression", decl.schema_span),
        "reference": ("C10E508", "the reference", decl.reference.span if decl.reference else None),
    }
    kernel = ("C10E501", f"kernel `{variant.kernel.name}`", variant.kernel.span)
    code, who, span = others.get(phase, kernel)
    fact = f"{who} of `{decl.name}` ended its process{case}: {answer.reason}"
    return Diagnostic(code, fact, span, help=_TODO[answer.status])


_TODO = {
    "timeout": "give it more time with --timeout",
    "out-of-memory": "let it have more with --memory, or make the case smaller",
    "crashed": "run it alone with `c10 call --in-process`, under a debugger",
}


def _left(linked: LinkedOperator, variant: Variant, answer: Answer) -> Diagnostic:
    """The finding for a kernel that left processes running which do not end with its own."""
    fact = f"kernel `{variant.kernel.name}` of `{linked.decl.name}` left running: {', '.join(answer.left)}"
    return Diagnostic("C10E501", fact, variant.kernel.span, help="let it wait for the end of what it starts")


def _required(key: str, missed: Sequence[SkippedCheck], declared: Collection[str]) -> Diagnostic:
    """The finding for dispatch key *key*, which had to be run here and was not."""
    reasons = sorted({s.reason for s in missed}) or ["the registry has no kernel for it"]
    return Diagnostic(
        "C10E607",
        f"kernels for required dispatch key `{key}` were not run here: {'; '.join(reasons)}",
        notes=tuple(f"`{s.operator}` {s.variant}" for s in missed[:8]),
        help="meet what is named, or leave --require out"
        if missed
        else f"require one of {', '.join(sorted(declared)) or 'none'}",
    )
