"""A run: child processes measure, every finished case goes to the journal at once."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from c10cli.bench.clock import utc_now
from c10cli.bench.environment import Environment, read_environment, read_load
from c10cli.bench.journal import Journal
from c10cli.bench.plan import Batch, Plan
from c10cli.bench.result import CaseResult, RunResult, Status
from c10cli.bench.worker import Job
from c10cli.verify.inputs import CasePoint, case_points

__all__ = ["Options", "Progress", "run_plan", "start_run"]

# Gets the id of the case that begins, or the result of the one that ended.
Progress = Callable[["str | CaseResult"], None]

_START_UP_S = 60.0


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


def start_run(folder: Path, plan: Plan, options: Options, command: str, registry: Path) -> RunResult:
    """A run that has measured nothing yet: where, when, on what, and what is left out."""
    described = {**asdict(options), "command": command, "registry": str(registry), "cases": plan.case_count}
    return RunResult(
        folder.name, utc_now().isoformat(timespec="seconds"), _environment(), described, (), plan.skipped
    )


def _environment() -> Environment:
    """The machine's facts and peaks, measured in a process of their own: the probes need much memory."""
    with _Child(Job(environment=True)) as child:
        answer = child.answer(_START_UP_S)
    if answer is None:
        return read_environment(Path.cwd())
    return Environment.from_dict(answer["environment"])


def run_plan(
    run: RunResult, plan: Plan, registry: Path, options: Options, journal: Journal, progress: Progress
) -> RunResult:
    """*run* with every case of *plan*, each journalled as it ends."""
    journal.append(run.start_record())
    for skipped in plan.skipped:
        journal.append({"kind": "skipped", **asdict(skipped)})
    cases = {case.id: case for case in run.cases}
    for batch in plan.batches:
        for result in _run_batch(batch, registry, options, progress):
            journal.append({"kind": "case", **result.to_dict()})
            cases[result.id] = result
            progress(result)
    return replace(run, cases=tuple(cases.values()), load_after=read_load())


def _run_batch(batch: Batch, registry: Path, options: Options, progress: Progress) -> Iterator[CaseResult]:
    """The results of a batch; after a case that takes its process down, a new one goes on with the next."""
    every = list(case_points(batch.linked.decl, bench_only=True))
    left = {every.index(point): point for point in batch.points}
    while left:
        job = Job(
            str(registry.absolute()),
            batch.operator,
            batch.dispatch_key,
            batch.variant,
            tuple(left),
            options.time_s,
            options.seed,
        )
        with _Child(job) as child:
            yield from _take_results(child, batch, left, options, progress)


def _take_results(
    child: _Child, batch: Batch, left: dict[int, CasePoint], options: Options, progress: Progress
) -> Iterator[CaseResult]:
    """Results until the process has done all of *left*, or one of them was its end; *left* shrinks."""
    place, limit_s = next(iter(left)), _START_UP_S + options.timeout_s
    while left:
        answer = child.answer(limit_s)
        if answer is None:
            point = left.pop(place)
            yield _failed(batch, point, *child.cause_of_end(options.timeout_s))
            return
        if "begins" in answer:
            place, limit_s = answer["begins"], options.timeout_s
            progress(batch.case_id(left[place]))
            continue
        left.pop(answer["place"])
        place = next(iter(left), place)
        yield CaseResult.from_dict(answer["result"])


def _failed(batch: Batch, point: CasePoint, status: Status, reason: str) -> CaseResult:
    return CaseResult(
        batch.operator,
        batch.dispatch_key,
        batch.variant,
        point.case.name,
        point.values,
        point.dtype,
        status,
        code="C10E606",
        reason=reason,
    )


class _Child:
    """A worker process, its answers, and its last words on standard error."""

    def __init__(self, job: Job) -> None:
        environment = {**os.environ, "PYTHONPATH": _search_path()}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "c10cli.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self._answers: queue.Queue[Mapping[str, Any] | None] = queue.Queue()
        self._errors: list[str] = []
        self._timed_out = False
        process = self._process
        assert process.stdin and process.stdout and process.stderr  # all three are pipes
        self._threads = [
            threading.Thread(target=self._read_answers, args=(process.stdout,), daemon=True),
            threading.Thread(target=self._read_errors, args=(process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        try:
            process.stdin.write(json.dumps(asdict(job)).encode())
            process.stdin.close()
        except BrokenPipeError:  # it died at once; its end is found where answers are read
            pass

    def answer(self, limit_s: float) -> Mapping[str, Any] | None:
        """The next answer; None where the process ended, or gave none in *limit_s* and was killed."""
        try:
            return self._answers.get(timeout=limit_s)
        except queue.Empty:
            self._timed_out = True
            self._process.kill()
            return None

    def cause_of_end(self, timeout_s: float) -> tuple[Status, str]:
        """Why there was no answer."""
        if self._timed_out:
            return "timeout", f"took longer than {timeout_s:g} s and was stopped"
        code = self._process.wait()
        for thread in self._threads:
            thread.join()
        words = f"; its last words: {self._errors[-1]}" if self._errors else ""
        if code < 0:
            return "crashed", f"the process was killed by {_signal_name(-code)}{words}"
        return "crashed", f"the process ended with exit code {code}{words}"

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *exc: object) -> None:
        if exc[0] is not None:
            self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _read_answers(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            try:
                self._answers.put(json.loads(line))
            except ValueError:  # cut short by the process's end
                break
        self._answers.put(None)

    def _read_errors(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            text = line.decode(errors="replace").strip()
            if text:
                self._errors = [*self._errors[-19:], text]


def _search_path() -> str:
    """PYTHONPATH for a child that finds the same c10cli, however this one was found."""
    package_root = str(Path(__file__).resolve().parents[2])
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join([*([given] if given else []), package_root])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
