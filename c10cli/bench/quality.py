"""Warnings about a run: which of its numbers deserve less trust, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

from c10cli.bench.result import CaseResult, RunResult
from c10cli.bench.sampling import Samples
from c10cli.errors import Diagnostic, capped

_NOISY_PERCENT: Final = 10.0
# Below this, a warm-up that did not settle within its 1 % is not worth a word.
_NOTABLE_PERCENT: Final = 3.0
_SLOW_START: Final = 2.0
_FEW_SAMPLES: Final = 10
_SHOWN: Final = 3

# How bad a case is, and that in words; None where nothing is wrong with it.
_Doubt = Callable[[CaseResult], "tuple[float, str] | None"]


def check_run(run: RunResult) -> tuple[Diagnostic, ...]:
    """At most one warning per fact, each naming the worst cases."""
    timed = [case for case in run.cases if case.samples]
    found = (
        _told(
            timed,
            _is_noisy,
            "C10W651",
            "noise, or the ± of the time, over 10 % in {}",
            help="measure again on a quieter machine, or read only differences above the noise",
        ),
        # Times that drift, or that were all disturbed alike, may have little spread all the same.
        _told(
            timed,
            _is_restless,
            "C10W654",
            "times did not settle, or most samples were disturbed, in {}",
            help="measure again on a quieter machine; "
            "a kernel that never settles changes its speed by itself",
        ),
        _told(
            timed,
            _starts_slowly,
            "C10W652",
            "first sample far slower than the rest in {}",
            help="look for work that the kernel does only now and then",
        ),
        _told(
            timed,
            _has_few_samples,
            "C10W653",
            f"fewer than {_FEW_SAMPLES} samples in {{}}",
            help="give each case more time",
        ),
        _check_load(run),
        # A tracer or profiler sees every call, so that a small kernel's ladder shows little else.
        _told(
            run.cases,
            _is_watched,
            "C10W654",
            "something watched every call in {}",
            help="measure without it, or correct the kernel that sets it",
        ),
        _told(
            run.cases,
            _has_no_cost,
            "C10E110",
            "the cost of {} has no value",
            help="correct `cost:`; without it there are no GB/s and no FLOP/s",
        ),
    )
    return tuple(warning for warning in found if warning is not None)


def _told(
    cases: Sequence[CaseResult], doubt: _Doubt, code: str, fact: str, *, help: str
) -> Diagnostic | None:
    """The warning for those of *cases* that *doubt* is about, worst first; None without any."""
    found = [(doubted, case) for case in cases if (doubted := doubt(case))]
    found.sort(key=lambda item: item[0][0], reverse=True)
    notes = [f"{case.id}: {words}" for (_, words), case in found]
    message = fact.format(f"{len(found)} of {len(cases)} cases")
    return Diagnostic(code, message, notes=capped(notes, _SHOWN + 1), help=help) if found else None


def _noise(case: CaseResult) -> float:
    """The spread of the samples, or how unsure their median is, whichever is more.

    Samples on two plateaus have a small spread around either one, and a median
    that may jump from one to the other.
    """
    return max(case.noise_percent or 0.0, case.uncertainty_percent or 0.0)


def _is_noisy(case: CaseResult) -> tuple[float, str] | None:
    noise = _noise(case)
    return (noise, _disturbance(_samples(case), noise)) if noise > _NOISY_PERCENT else None


def _is_restless(case: CaseResult) -> tuple[float, str] | None:
    samples, noise = _samples(case), _noise(case)
    unsettled = not samples.settled and noise > _NOTABLE_PERCENT
    restless = unsettled or 2 * len(samples.disturbed) > len(samples.samples_ns)
    return (noise, _disturbance(samples, noise)) if restless and noise <= _NOISY_PERCENT else None


def _samples(case: CaseResult) -> Samples:
    assert case.samples is not None  # only timed cases are asked about
    return case.samples


def _disturbance(samples: Samples, noise: float) -> str:
    taken, of = len(samples.disturbed), len(samples.samples_ns)
    disturbed = f"; another program took the CPU during {taken} of {of} samples" if taken else ""
    unsettled = "" if samples.settled else "; the times had not settled after the warm-up"
    return f"{noise:.0f} %{disturbed}{unsettled}"


def _starts_slowly(case: CaseResult) -> tuple[float, str] | None:
    samples_ns = _samples(case).samples_ns
    times = samples_ns[0] / (median(samples_ns) or 1)
    return (times, f"{times:.1f} times the median") if times > _SLOW_START else None


def _has_few_samples(case: CaseResult) -> tuple[float, str] | None:
    count = len(_samples(case).samples_ns)
    return (-count, str(count)) if count < _FEW_SAMPLES else None


def _is_watched(case: CaseResult) -> tuple[float, str] | None:
    observers = case.checks.get("observers")
    return (0, f"a {' and a '.join(map(str, observers))}") if isinstance(observers, list) else None


def _has_no_cost(case: CaseResult) -> tuple[float, str] | None:
    return (0, str(case.checks["cost"])) if case.checks.get("cost") else None


def _check_load(run: RunResult) -> Diagnostic | None:
    before, after, cpus = run.environment.load, run.load_after, run.environment.cpus
    # A parallel kernel raises the load by the number of CPUs; more came from elsewhere.
    if not before or not after or after[0] - before[0] <= cpus:
        return None
    note = f"load average {before[0]:.1f} before and {after[0]:.1f} after, on {cpus} CPUs"
    help = "measure again when nothing else runs"
    return Diagnostic("C10W654", "load changed during the run", notes=(note,), help=help)
