"""Warnings about a run: which of its numbers deserve less trust, and why."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Final

from c10cli.bench.result import CaseResult, RunResult
from c10cli.errors import Diagnostic

__all__ = ["check_run"]

_NOISY_PERCENT: Final = 10.0
_SLOW_START: Final = 2.0
_FEW_SAMPLES: Final = 10
_SHOWN: Final = 3


def check_run(run: RunResult) -> tuple[Diagnostic, ...]:
    """At most one warning per code, each naming the worst cases."""
    found = (_check_noise(run), _check_first(run), _check_count(run), _check_load(run))
    return tuple(warning for warning in found if warning is not None)


def _check_noise(run: RunResult) -> Diagnostic | None:
    return _worst(
        run,
        "C10W651",
        "noise over 10 %",
        _noise,
        _NOISY_PERCENT,
        lambda case, noise: f"{case.id}: {noise:.0f} %{_disturbance(case)}",
        help="measure again on a quieter machine, or read only differences above the noise",
    )


def _noise(case: CaseResult) -> float:
    """The spread of the samples, or how unsure their median is, whichever is more.

    Samples on two plateaus have a small spread around either one, and a median
    that may jump from one to the other.
    """
    interval, middle = case.interval_ns, case.median_ns
    unsure = 50 * (interval.high - interval.low) / middle if interval and middle else 0.0
    return max(case.noise_percent or 0.0, unsure)


def _disturbance(case: CaseResult) -> str:
    taken = len(case.samples.disturbed) if case.samples else 0
    return f"; another program took the CPU during {taken} samples" if taken else ""


def _check_first(run: RunResult) -> Diagnostic | None:
    return _worst(
        run,
        "C10W652",
        "first sample far slower than the rest",
        _slow_start,
        _SLOW_START,
        lambda case, times: f"{case.id}: {times:.1f} times the median",
        help="look for work that the kernel does only now and then",
    )


def _slow_start(case: CaseResult) -> float:
    if not case.samples:
        return 0.0
    middle = median(case.samples.chunks_ns)
    return case.samples.chunks_ns[0] / middle if middle else 0.0


def _check_count(run: RunResult) -> Diagnostic | None:
    return _worst(
        run,
        "C10W653",
        f"fewer than {_FEW_SAMPLES} samples",
        lambda case: _FEW_SAMPLES - len(case.samples.chunks_ns) if case.samples else 0.0,
        0.0,
        lambda case, missing: f"{case.id}: {_FEW_SAMPLES - missing:.0f}",
        help="give each case more time",
    )


def _worst(
    run: RunResult,
    code: str,
    fact: str,
    measure: Callable[[CaseResult], float],
    limit: float,
    describe: Callable[[CaseResult, float], str],
    *,
    help: str,
) -> Diagnostic | None:
    timed = [case for case in run.cases if case.samples]
    above = sorted(((measure(case), case.id, case) for case in timed if measure(case) > limit), reverse=True)
    if not above:
        return None
    notes = [describe(case, value) for value, _, case in above[:_SHOWN]]
    if len(above) > _SHOWN:
        notes.append(f"and {len(above) - _SHOWN} more")
    message = f"{fact} in {len(above)} of {len(timed)} cases"
    return Diagnostic(code, message, notes=tuple(notes), help=help)


def _check_load(run: RunResult) -> Diagnostic | None:
    before, after, cpus = run.environment.load, run.load_after, run.environment.cpus
    # A parallel kernel raises the load by the number of CPUs; more came from elsewhere.
    if not before or not after or after[0] - before[0] <= cpus:
        return None
    return Diagnostic(
        "C10W654",
        "load changed during the run",
        notes=(f"load average {before[0]:.1f} before and {after[0]:.1f} after, on {cpus} CPUs",),
        help="measure again when nothing else runs",
    )
