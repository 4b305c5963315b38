"""A run: child processes measure, every finished case goes to the journal at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from c10cli import __version__
from c10cli.bench.clock import utc_now
from c10cli.bench.environment import Environment, read_environment, read_load
from c10cli.bench.journal import append_record, write_latest
from c10cli.bench.outcome import CaseResult, RunResult, Status, read_record
from c10cli.bench.plan import Case, Plan
from c10cli.errors import BenchError, Diagnostic
from c10cli.jobs.child import run_items
from c10cli.jobs.fingerprint import changes, fingerprint
from c10cli.jobs.fork import Answer
from c10cli.manifest.declarations import Manifest

# Gets the id of the case that begins, or the result of the one that ended.
Progress = Callable[["str | CaseResult"], None]

_MOST_PRINTED = 2000
_WORKER, _PROBE = "c10cli.bench.case_job", "c10cli.bench.probe"


def start_run(run_id: str, plan: Plan, **described: object) -> RunResult:
    """A run that has measured nothing yet: when, on what.

    Args:
        described: how the run measures, which is how it is gone on with as well: ``time_s``, how
            long to sample each case, ``timeout_s``, how long one may take in all before its process
            is killed, and ``seed``; and what else its report is to say of how it was begun.
    """
    files = fingerprint(plan.manifest)
    described |= {"registry": str(plan.manifest.path), "files": files, "cases": len(plan.cases)}
    kernels = [case.variant.kernel for case in plan.cases.values()]
    packages = {package for k in kernels for package in (*k.requires, *([k.arrays] if k.arrays else ()))}
    environment = _environment(packages)
    return RunResult(run_id, utc_now().isoformat(), environment, described, c10cli=__version__)


def check_unchanged(run: RunResult, manifest: Manifest) -> None:
    """Refuse to go on with *run* where *manifest*, or a source of it, is not what it began with.

    Raises:
        BenchError: C10E604, with the files that were changed.
    """
    if "files" not in run.plan:
        fact = f"run `{run.run_id}` does not say what it measured"
        raise BenchError(Diagnostic("C10E604", fact, help="begin a new run"))
    changed = changes(run.plan["files"], fingerprint(manifest))
    if changed:
        fact = f"{changed} since run `{run.run_id}` began"
        note = "its cases would be of two versions"
        raise BenchError(Diagnostic("C10E604", fact, notes=(note,), help="begin a new run"))


def _environment(packages: Collection[str] = ()) -> Environment:
    """The machine's facts and peaks, measured in a process of their own: the probes need much memory."""
    for _, answer in run_items(_PROBE, {"packages": sorted(packages)}, [0], timeout_s=60.0):
        if answer.result is not None:
            return read_record(Environment, answer.result)
    return read_environment(Path.cwd())


def run_plan(
    run: RunResult, plan: Plan, folder: Path, progress: Progress, memory_bytes: int | None = None
) -> RunResult:
    """*run* with every case of *plan*, each in the journal in *folder* as it ends.

    From its first record on, the run is the latest of its parent folder.

    Args:
        memory_bytes: how much a case may hold; None: the most of what there is.
    """
    run = replace(run, exit_status=None, load_after=(), skipped=plan.skipped, c10cli=__version__)
    append_record(folder, run.record("run"))
    write_latest(folder)
    cases = {case.id: case for case in run.cases}
    for batch in plan.batches():
        for result in _run_batch(batch, run, plan, progress, memory_bytes):
            append_record(folder, {"kind": "case", **result.to_dict()})
            cases[result.id] = result
            progress(result)
    # Once more, since a neighbour may have been busy at the beginning.
    peaks = _environment().peaks
    best = peaks.best_of(run.environment.peaks) if peaks else run.environment.peaks
    return replace(
        run,
        environment=replace(run.environment, peaks=best),
        cases=tuple(cases.values()),
        load_after=read_load(),
    )


def end_run(run: RunResult, exit_status: int, folder: Path) -> RunResult:
    """*run* as ended with *exit_status*, journalled."""
    run = replace(run, exit_status=exit_status)
    append_record(folder, run.record("end"))
    return run


def _run_batch(
    batch: Mapping[str, Case], run: RunResult, plan: Plan, progress: Progress, memory_bytes: int | None
) -> Iterator[CaseResult]:
    """The result of every case of a batch.

    Raises:
        C10Error: the manifest, or a source of it, is not the one that was planned for.
    """
    ids = [*batch]
    job = {
        "registry": str(plan.manifest.path),
        "fingerprint": run.plan["files"],
        "cases": ids,
        "time_s": run.plan["time_s"],
        "seed": run.plan["seed"],
        "made": [run.plan["dims"], run.plan["dtypes"]] if "dims" in run.plan else None,
    }
    answers = run_items(
        _WORKER,
        job,
        range(len(ids)),
        timeout_s=run.plan["timeout_s"],
        memory_bytes=memory_bytes,
        begins=lambda number: progress(ids[number]),
    )
    for number, answer in answers:
        yield _result_of(answer, batch[ids[number]].result)


def _result_of(answer: Answer, case: CaseResult) -> CaseResult:
    """What *answer* makes of *case*, where a kernel that leaves processes behind is not right."""
    if answer.result is not None:
        result = read_record(CaseResult, answer.result)
    else:
        reason = f"{answer.at}: {answer.reason}" if answer.at else answer.reason
        status: Status = answer.status or "crashed"
        result = replace(case, status=status, code="C10E606", reason=reason)
    if answer.left and result.status == "ok":
        reason = f"the kernel left running: {', '.join(answer.left)}"
        result = replace(case, status="wrong", code="C10E501", reason=reason)
    return replace(result, printed=answer.said[-_MOST_PRINTED:])
