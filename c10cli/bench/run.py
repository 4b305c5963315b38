"""A run: child processes measure, every finished case goes to the journal at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from c10cli.bench.clock import utc_now
from c10cli.bench.environment import Environment, read_environment, read_load
from c10cli.bench.journal import Journal, make_root, make_run_folder, write_latest
from c10cli.bench.plan import Batch, Plan
from c10cli.bench.result import CaseResult, RunResult
from c10cli.jobs.child import Ended, run_items
from c10cli.verify.inputs import CasePoint

__all__ = ["Options", "Progress", "end_run", "run_plan", "start_run"]

# Gets the id of the case that begins, or the result of the one that ended.
Progress = Callable[["str | CaseResult"], None]

_WORKER, _PROBE = "c10cli.bench.case_job", "c10cli.bench.probe"


@dataclass(frozen=True, slots=True)
class Options:
    """How a run measures.

    Args:
        time_s: how long to sample each case.
        timeout_s: how long a case may take in all before its process is killed.
    """

    time_s: float = 0.3
    timeout_s: float = 60.0
    seed: int = 0


def start_run(
    root: Path, plan: Plan, options: Options, command: str, registry: Path
) -> tuple[Path, RunResult]:
    """A run that has measured nothing yet, and its folder under *root*: when, on what, what is left out.

    Raises:
        ReportError: the folder cannot be made (C10E701).
    """
    make_root(root)
    # Before the folder: reading the machine takes seconds, and a run that is
    # interrupted meanwhile has nothing to keep.
    environment = _environment(plan)
    folder = make_run_folder(root)
    described = {
        **asdict(options),
        "command": command,
        "registry": str(registry),
        "registry_path": os.path.realpath(registry),
        "files": dict(plan.files),
        "cases": plan.case_count,
    }
    created = utc_now().isoformat(timespec="seconds")
    return folder, RunResult(folder.name, created, environment, described, (), plan.skipped)


def _environment(plan: Plan) -> Environment:
    """The machine's facts and peaks, measured in a process of their own: the probes need much memory."""
    kernels = [batch.candidate.kernel for batch in plan.batches]
    packages = {package for k in kernels for package in (*k.requires, *([k.arrays] if k.arrays else ()))}
    for _, answer in run_items(_PROBE, {"packages": sorted(packages)}, [0], timeout_s=60.0):
        if not isinstance(answer, Ended):
            return Environment.from_dict(answer)
    return read_environment(Path.cwd())


def run_plan(
    run: RunResult, plan: Plan, registry: Path, options: Options, journal: Journal, progress: Progress
) -> RunResult:
    """*run* with every case of *plan*, each journalled as it ends.

    From its first record on, the run is the latest of its parent folder.
    """
    journal.append(run.start_record())
    write_latest(journal.path.parent)
    for skipped in plan.skipped:
        journal.append({"kind": "skipped", **asdict(skipped)})
    cases = {case.id: case for case in run.cases}
    for batch in plan.batches:
        for result in _run_batch(batch, plan.digest, registry, options, progress):
            journal.append({"kind": "case", **result.to_dict()})
            cases[result.id] = result
            progress(result)
    # Once more, since a neighbour may have been busy at the beginning.
    peaks = _environment(plan).peaks
    best = peaks.best_of(run.environment.peaks) if peaks else run.environment.peaks
    environment = replace(run.environment, peaks=best)
    skips = {(s.operator, s.dispatch_key, s.variant): s for s in (*run.skipped, *plan.skipped)}
    return replace(
        run,
        environment=environment,
        cases=tuple(cases.values()),
        skipped=tuple(skips.values()),
        load_after=read_load(),
    )


def end_run(run: RunResult, exit_status: int, journal: Journal) -> RunResult:
    """*run* as ended with *exit_status*, journalled."""
    run = replace(run, exit_status=exit_status)
    journal.append(run.end_record())
    return run


def _run_batch(
    batch: Batch, digest: Mapping[str, str], registry: Path, options: Options, progress: Progress
) -> Iterator[CaseResult]:
    """The result of every case of a batch.

    Raises:
        C10Error: the manifest is not the one that was planned for.
    """
    points = dict(batch.points)
    identities = {place: batch.case_id(point) for place, point in batch.points}
    job = {
        "registry": str(registry),
        "digest": dict(digest),
        "operator": batch.operator,
        "dispatch_key": batch.dispatch_key,
        "variant": batch.variant,
        "case_ids": list(identities.items()),
        "time_s": options.time_s,
        "seed": options.seed,
    }
    answers = run_items(
        _WORKER,
        job,
        list(points),
        timeout_s=options.timeout_s,
        begins=lambda place: progress(identities[place]),
    )
    for place, answer in answers:
        if isinstance(answer, Ended):
            yield _failed(batch, points[place], answer)
        else:
            yield CaseResult.from_dict(answer)


def _failed(batch: Batch, point: CasePoint, ended: Ended) -> CaseResult:
    return CaseResult(
        batch.operator,
        batch.dispatch_key,
        batch.variant,
        point.case.name,
        point.values,
        point.dtype,
        "timeout" if ended.timed_out else "crashed",
        code="C10E606",
        reason=ended.reason,
    )
