"""Warnings about a run: which of its numbers deserve less trust, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Final

from c10cli.bench.outcome import CaseResult, RunResult
from c10cli.bench.sampling import Samples
from c10cli.errors import Diagnostic, capped, counted

_NOISY_PERCENT: Final = 10.0
# Below this, a warm-up that did not settle within its 1 % is not worth a word.
_NOTABLE_PERCENT: Final = 3.0
_SLOW_START: Final = 2.0
_FEW_SAMPLES: Final = 10
_SHOWN: Final = 3

# Of each doubt the code, the fact with a gap for how many cases, and what to do.
_DOUBTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "noisy": (
        "C10W651",
        "noise, or the ± of the time, over 10 % in {}",
        "measure again on a quieter machine, or read only differences above the noise",
    ),
    "restless": (
        "C10W654",
        "times did not settle, or most samples were disturbed, in {}",
        "measure again on a quieter machine; a kernel that never settles changes its speed by itself",
    ),
    "slow start": (
        "C10W652",
        "first sample far slower than the rest in {}",
        "look for work that the kernel does only now and then",
    ),
    "few": ("C10W653", f"fewer than {_FEW_SAMPLES} samples in {{}}", "give each case more time"),
    "watched": (
        "C10W654",
        "something watched every call in {}",
        "measure without it, or correct the kernel that sets it",
    ),
    "no cost": (
        "C10E110",
        "the cost of {} has no value",
        "correct `cost:`; without it there are no GB/s and no FLOP/s",
    ),
}


def _doubts(case: CaseResult, samples: Samples) -> Iterator[tuple[str, float, str]]:
    """What there is to doubt in a case, how bad it is, and that in words."""
    # Samples on two plateaus have a small spread around either one, and a median
    # that may jump from one to the other.
    noise = max(case.noise_percent or 0.0, case.uncertainty_percent or 0.0)
    taken, of = len(samples.disturbed), len(samples.samples_ns)
    words = f"{noise:.0f} %"
    words += f"; another program took the CPU during {taken} of {of} samples" if taken else ""
    words += "" if samples.settled else "; the times had not settled after the warm-up"
    if noise > _NOISY_PERCENT:
        yield "noisy", noise, words
    # Times that drift, or that were all disturbed alike, may have little spread all the same.
    elif (not samples.settled and noise > _NOTABLE_PERCENT) or 2 * taken > of:
        yield "restless", noise, words
    times = samples.samples_ns[0] / (median(samples.samples_ns) or 1)
    if times > _SLOW_START:
        yield "slow start", times, f"{times:.1f} times the median"
    if of < _FEW_SAMPLES:
        yield "few", -of, str(of)
    # A tracer or profiler sees every call, so that a small kernel's ladder shows little else.
    observers = case.checks.get("observers")
    if isinstance(observers, list):
        yield "watched", 0, f"a {' and a '.join(map(str, observers))}"
    if case.checks.get("cost"):
        yield "no cost", 0, str(case.checks["cost"])


def check_run(run: RunResult) -> tuple[Diagnostic, ...]:
    """At most one warning per fact, each naming the worst cases."""
    timed = [(case, case.samples) for case in run.cases if case.samples]
    found: dict[str, list[tuple[float, str]]] = {doubt: [] for doubt in _DOUBTS}
    for case, samples in timed:
        for doubt, badness, words in _doubts(case, samples):
            found[doubt].append((badness, f"{case.id}: {words}"))
    warnings = []
    for doubt, (code, fact, help) in _DOUBTS.items():
        worst = sorted(found[doubt], key=lambda item: item[0], reverse=True)
        if worst:
            message = fact.format(f"{len(worst)} of {len(timed)} cases")
            notes = capped([note for _, note in worst], _SHOWN + 1)
            warnings.append(Diagnostic(code, message, notes=notes, help=help))
    return (*warnings, *_check_load(run), *_check_journal(run))


def _check_journal(run: RunResult) -> tuple[Diagnostic, ...]:
    if not run.unread:
        return ()
    fact = f"{counted(run.unread, 'line')} of the journal could not be read"
    note = (
        "what a line says of a case is lost; a case without a time is measured when the run is gone on with"
    )
    return (Diagnostic("C10W655", fact, notes=(note,), help="let one `c10 bench` alone write to a run"),)


def _check_load(run: RunResult) -> tuple[Diagnostic, ...]:
    before, after, cpus = run.environment.load, run.load_after, run.environment.cpus
    # A parallel kernel raises the load by the number of CPUs; more came from elsewhere.
    if not before or not after or after[0] - before[0] <= cpus:
        return ()
    note = f"load average {before[0]:.1f} before and {after[0]:.1f} after, on {cpus} CPUs"
    help = "measure again when nothing else runs"
    return (Diagnostic("C10W654", "load changed during the run", notes=(note,), help=help),)
