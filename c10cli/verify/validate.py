"""Everything `c10 validate` asks of a registry, and what it could not ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from c10cli.arrays.devices import device_of
from c10cli.errors import Diagnostic
from c10cli.manifest.checks import check_manifest
from c10cli.manifest.link import Candidate, LinkedOperator, link_manifest
from c10cli.manifest.load import load_manifest
from c10cli.verify.child import Ended, Fields, run_items
from c10cli.verify.worker import kernels_of

__all__ = ["SkippedCheck", "Validation", "validate"]

_WORKER = "c10cli.verify.worker"


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
    """

    registry: Path
    operators: int = 0
    kernels: int = 0
    static: int = 0
    bound: int = 0
    run: int = 0
    cases: int = 0
    diagnostics: list[Diagnostic] = field(default_factory=list)
    skipped: list[SkippedCheck] = field(default_factory=list)

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
    validation.operators = len(loaded.manifest.operators)
    validation.kernels = sum(len(operator.kernels) for operator in loaded.manifest.operators)
    checked = check_manifest(loaded.manifest)
    validation.diagnostics = _in_order([*validation.diagnostics, *checked.diagnostics])
    validation.static = validation.kernels - len(checked.skipped)
    validation.skipped += [
        SkippedCheck(s.operator, "", s.entry_point.text, "static", s.reason) for s in checked.skipped
    ]
    # A manifest with faults is not registered, so there is nothing to bind its kernels to.
    if not static and not loaded.own:
        kernels = kernels_of(link_manifest(loaded.manifest))
        faulty = {str(d.span) for d in checked.diagnostics}
        _import_and_run(validation, kernels, faulty, run, timeout_s, seed, begins)
        _require(validation, kernels, require)
    return validation


def _import_and_run(
    validation: Validation,
    kernels: list[tuple[LinkedOperator, Candidate]],
    faulty: set[str],
    run: bool,
    timeout_s: float,
    seed: int,
    begins: Callable[[str], None],
) -> None:
    """Bind and run what can be, in child processes; *faulty* places have their finding already."""
    possible = []
    for place, (linked, candidate) in enumerate(kernels):
        if candidate.missing:
            _skip(validation, linked, candidate, "bind", candidate.reason)
        elif str(candidate.kernel.span) not in faulty:
            possible.append(place)
    job = {"registry": str(validation.registry.absolute()), "run": run, "seed": seed}
    answers = run_items(
        _WORKER,
        job,
        possible,
        timeout_s=timeout_s,
        begins=lambda place: begins(_name(*kernels[place])),
    )
    for place, answer in answers:
        linked, candidate = kernels[place]
        if isinstance(answer, Ended):
            validation.diagnostics.append(_fatal(linked, candidate, answer))
        else:
            _take(validation, linked, candidate, answer, run)


def _take(
    validation: Validation, linked: LinkedOperator, candidate: Candidate, answer: Fields, run: bool
) -> None:
    """Enter one kernel's answer."""
    for data in answer["findings"]:
        finding = Diagnostic.from_dict(data)
        # A broken reference is found once, not once for every kernel.
        if finding not in validation.diagnostics:
            validation.diagnostics.append(finding)
    if not answer["bound"]:
        return
    validation.bound += 1
    validation.cases += answer["cases"]
    device = device_of(candidate.kernel.dispatch_key)
    if not device.available:
        _skip(validation, linked, candidate, "run", device.reason)
    elif not run:
        _skip(validation, linked, candidate, "run", "not asked for")
    elif answer["cases"] == 0:
        _skip(validation, linked, candidate, "run", "the operator has no cases")
    else:
        validation.run += 1
        if linked.decl.reference is None:
            _skip(validation, linked, candidate, "run", "the operator has no reference to compare with")


def _skip(
    validation: Validation, linked: LinkedOperator, candidate: Candidate, stage: str, reason: str
) -> None:
    kernel = candidate.kernel
    validation.skipped.append(
        SkippedCheck(str(linked.decl.name), kernel.dispatch_key, kernel.name, stage, reason)
    )


def _name(linked: LinkedOperator, candidate: Candidate) -> str:
    return f"{linked.decl.name} {candidate.kernel.dispatch_key} {candidate.kernel.name}"


def _fatal(linked: LinkedOperator, candidate: Candidate, ended: Ended) -> Diagnostic:
    """The finding for a kernel that took its process down."""
    kernel = candidate.kernel
    return Diagnostic(
        "C10E501",
        f"kernel `{kernel.name}` of `{linked.decl.name}` ended its process: {ended.reason}",
        kernel.span,
        help="run it alone with `c10 call`, under a debugger",
    )


def _require(
    validation: Validation, kernels: list[tuple[LinkedOperator, Candidate]], require: Sequence[str]
) -> None:
    """A finding for each required key of which a kernel was not run."""
    for key in require:
        missed = [s for s in validation.skipped if s.dispatch_key == key and s.stage in ("bind", "run")]
        declared = any(candidate.kernel.dispatch_key == key for _, candidate in kernels)
        if declared and not missed:
            continue
        reasons = sorted({s.reason for s in missed}) or ["the registry has no kernel for it"]
        validation.diagnostics.append(
            Diagnostic(
                "C10E607",
                f"kernels for required dispatch key `{key}` were not run here: {'; '.join(reasons)}",
                notes=tuple(f"`{s.operator}` {s.variant}" for s in missed[:8]),
                help="validate on a machine that has the device, or leave --require out",
            )
        )


def _in_order(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """By file and position; the files in the order in which they came up."""
    files: dict[str, int] = {}
    for diagnostic in diagnostics:
        if diagnostic.span:
            files.setdefault(diagnostic.span.file, len(files))
    return sorted(
        diagnostics,
        key=lambda d: (files[d.span.file], d.span.line, d.span.column) if d.span else (len(files), 0, 0),
    )
