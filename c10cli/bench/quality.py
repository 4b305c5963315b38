"""Warnings about a run: which of its numbers deserve less trust, and why."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Final

from c10cli.bench.result import CaseResult, RunResult
from c10cli.errors import Diagnostic, capped

__all__ = ["check_run"]

_NOISY_PERCENT: Final = 10.0
# Below this, a warm-up that did not settle within its 1 % is not worth a word.
_NOTABLE_PERCENT: Final = 3.0
_SLOW_START: Final = 2.0
_FEW_SAMPLES: Final = 10
_SHOWN: Final = 3


def check_run(run: RunResult) -> tuple[Diagnostic, ...]:
    """At most one warning per fact, each naming the worst cases."""
    found = (
        _check_noise(run),
        _check_calm(run),
        _check_first(run),
        _check_count(run),
        _check_load(run),
        _check_observers(run),
        _check_costs(run),
    )
    return tuple(warning for warning in found if warning is not None)


def _check_noise(run: RunResult) -> Diagnostic | None:
    return _worst(
        run,
        "C10W651",
        "noise, or the ± of the time, over 10 %",
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


def _check_calm(run: RunResult) -> Diagnostic | None:
    """Times that drift, or that were all disturbed alike, may have little spread all the same."""
    return _worst(
        run,
        "C10W654",
        "times did not settle, or most samples were disturbed,",
        lambda case: _noise(case) + 1.0 if _is_restless(case) else 0.0,
        0.0,
        lambda case, _: f"{case.id}: {_noise(case):.0f} %{_disturbance(case)}",
        help="measure again on a quieter machine; a kernel that never settles changes its speed by itself",
    )


def _is_restless(case: CaseResult) -> bool:
    """Whether a case that is not noisy already is to be trusted less for how it was sampled."""
    samples = case.samples
    if samples is None or _noise(case) > _NOISY_PERCENT:
        return False
    unsettled = not samples.settled and _noise(case) > _NOTABLE_PERCENT
    return unsettled or 2 * len(samples.disturbed) > len(samples.chunks_ns)


def _disturbance(case: CaseResult) -> str:
    assert case.samples is not None  # only timed cases are described
    taken, of = len(case.samples.disturbed), len(case.samples.chunks_ns)
    disturbed = f"; another program took the CPU during {taken} of {of} samples" if taken else ""
    return disturbed + ("" if case.samples.settled else "; the times had not settled after the warm-up")


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
    message = f"{fact} in {len(above)} of {len(timed)} cases"
    return _told(code, message, [describe(case, value) for value, _, case in above], help=help)


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


def _check_observers(run: RunResult) -> Diagnostic | None:
    """A tracer or profiler sees every call, so that a small kernel's ladder shows little else."""
    watched = [
        (c.id, observers) for c in run.cases if isinstance(observers := c.checks.get("observers"), list)
    ]
    return _told(
        "C10W654",
        f"something watched every call in {len(watched)} of {len(run.cases)} cases",
        [f"{case}: a {' and a '.join(map(str, observers))}" for case, observers in watched],
        help="measure without it, or correct the kernel that sets it",
    )


def _check_costs(run: RunResult) -> Diagnostic | None:
    faulty = [(case.id, case.checks["cost"]) for case in run.cases if case.checks.get("cost")]
    return _told(
        "C10E110",
        f"the cost of {len(faulty)} of {len(run.cases)} cases has no value",
        [f"{case}: {reason}" for case, reason in faulty],
        help="correct `cost:`; without it there are no GB/s and no FLOP/s",
    )


def _told(code: str, message: str, notes: list[str], *, help: str) -> Diagnostic | None:
    """The finding with the first of *notes*; None without any."""
    if not notes:
        return None
    return Diagnostic(code, message, notes=capped(notes, _SHOWN + 1), help=help)
