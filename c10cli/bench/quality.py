"""Warnings about a run: which of its numbers deserve less trust, and why."""

from __future__ import annotations

from statistics import median
from typing import Final

from c10cli.bench.outcome import CaseResult, RunResult
from c10cli.bench.sampling import Samples
from c10cli.errors import Diagnostic, capped

_NOISY_PERCENT: Final = 10.0
# Below this, a warm-up that did not settle within its 1 % is not worth a word.
_NOTABLE_PERCENT: Final = 3.0
_SLOW_START: Final = 2.0
_FEW_SAMPLES: Final = 10
_SHOWN: Final = 3

# How bad a case is, and that in words; None where nothing is wrong with it.
_Doubted = tuple[float, str] | None


def _noise(case: CaseResult) -> float:
    """The spread of the samples, or how unsure their median is, whichever is more.

    Samples on two plateaus have a small spread around either one, and a median
    that may jump from one to the other.
    """
    return max(case.noise_percent or 0.0, case.uncertainty_percent or 0.0)


def _is_noisy(case: CaseResult, samples: Samples) -> _Doubted:
    noise = _noise(case)
    return (noise, _disturbance(samples, noise)) if noise > _NOISY_PERCENT else None


def _is_restless(case: CaseResult, samples: Samples) -> _Doubted:
    """Times that drift, or that were all disturbed alike, may have little spread all the same."""
    noise = _noise(case)
    unsettled = not samples.settled and noise > _NOTABLE_PERCENT
    restless = unsettled or 2 * len(samples.disturbed) > len(samples.samples_ns)
    return (noise, _disturbance(samples, noise)) if restless and noise <= _NOISY_PERCENT else None


def _disturbance(samples: Samples, noise: float) -> str:
    taken, of = len(samples.disturbed), len(samples.samples_ns)
    disturbed = f"; another program took the CPU during {taken} of {of} samples" if taken else ""
    unsettled = "" if samples.settled else "; the times had not settled after the warm-up"
    return f"{noise:.0f} %{disturbed}{unsettled}"


def _starts_slowly(_case: CaseResult, samples: Samples) -> _Doubted:
    times = samples.samples_ns[0] / (median(samples.samples_ns) or 1)
    return (times, f"{times:.1f} times the median") if times > _SLOW_START else None


def _has_few_samples(_case: CaseResult, samples: Samples) -> _Doubted:
    count = len(samples.samples_ns)
    return (-count, str(count)) if count < _FEW_SAMPLES else None


def _is_watched(case: CaseResult, _samples: Samples) -> _Doubted:
    """A tracer or profiler sees every call, so that a small kernel's ladder shows little else."""
    observers = case.checks.get("observers")
    return (0, f"a {' and a '.join(map(str, observers))}") if isinstance(observers, list) else None


def _has_no_cost(case: CaseResult, _samples: Samples) -> _Doubted:
    return (0, str(case.checks["cost"])) if case.checks.get("cost") else None


_DOUBTS: Final = (
    (
        _is_noisy,
        "C10W651",
        "noise, or the ± of the time, over 10 % in {}",
        "measure again on a quieter machine, or read only differences above the noise",
    ),
    (
        _is_restless,
        "C10W654",
        "times did not settle, or most samples were disturbed, in {}",
        "measure again on a quieter machine; a kernel that never settles changes its speed by itself",
    ),
    (
        _starts_slowly,
        "C10W652",
        "first sample far slower than the rest in {}",
        "look for work that the kernel does only now and then",
    ),
    (_has_few_samples, "C10W653", f"fewer than {_FEW_SAMPLES} samples in {{}}", "give each case more time"),
    (
        _is_watched,
        "C10W654",
        "something watched every call in {}",
        "measure without it, or correct the kernel that sets it",
    ),
    (
        _has_no_cost,
        "C10E110",
        "the cost of {} has no value",
        "correct `cost:`; without it there are no GB/s and no FLOP/s",
    ),
)


def check_run(run: RunResult) -> tuple[Diagnostic, ...]:
    """At most one warning per fact, each naming the worst cases."""
    warnings = []
    timed = [(case, case.samples) for case in run.cases if case.samples]
    for doubt, code, fact, help in _DOUBTS:
        found = [(doubted, case) for case, samples in timed if (doubted := doubt(case, samples))]
        found.sort(key=lambda item: item[0][0], reverse=True)
        notes = [f"{case.id}: {words}" for (_, words), case in found]
        if found:
            message = fact.format(f"{len(found)} of {len(timed)} cases")
            warnings.append(Diagnostic(code, message, notes=capped(notes, _SHOWN + 1), help=help))
    return (*warnings, *_check_load(run))


def _check_load(run: RunResult) -> tuple[Diagnostic, ...]:
    before, after, cpus = run.environment.load, run.load_after, run.environment.cpus
    # A parallel kernel raises the load by the number of CPUs; more came from elsewhere.
    if not before or not after or after[0] - before[0] <= cpus:
        return ()
    note = f"load average {before[0]:.1f} before and {after[0]:.1f} after, on {cpus} CPUs"
    help = "measure again when nothing else runs"
    return (Diagnostic("C10W654", "load changed during the run", notes=(note,), help=help),)
