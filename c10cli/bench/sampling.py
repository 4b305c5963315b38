"""Sampling bodies: a steady state, calibration, warm-up, samples taken in turn.

A sample is 0.1 to 1 ms of calls, so that the clock read, some 100 ns, costs
less than a thousandth; a call longer than that is a sample by itself.
Several bodies are sampled in turn, in random order, because a machine changes
its speed for seconds at a time: measured one after the other, the change
looks like a difference between them.
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from c10cli.bench.body import UNROLLED, Round
from c10cli.bench.clock import SYSTEM_CLOCK, Clock
from c10cli.errors import BenchError, Diagnostic

_SAMPLE_LOW_NS: Final = 100_000
_SAMPLE_TARGET_NS: Final = 300_000
_MOST_ITERATIONS: Final = 10_000_000
_FEWEST_SAMPLES: Final = 3
_PATIENCE: Final = 10  # times the time of a budget

# A body counts as warm when the last medians, of a few samples each, agree.  A run
# has some hundred bodies: a short limit for those that a busy machine never lets settle.
_WARM_UP_NS: Final = 50_000_000
_WARM_GROUP: Final = 3
_WARM_WINDOW: Final = 3
_WARM_PERCENT: Final = 1.0


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of one body, with what is needed to read them.

    Args:
        iterations: calls per sample.
        samples_ns: the time of each, in the order taken.
        disturbed: positions of those during which the scheduler took the CPU away.
        warm_up: samples discarded before the first of these.
        settled: whether the warm-up ended because the times agreed, not at its limit.
    """

    iterations: int
    samples_ns: tuple[int, ...]
    disturbed: tuple[int, ...] = ()
    warm_up: int = 0
    settled: bool = True

    def __post_init__(self) -> None:
        if not (self.iterations > 0 and self.samples_ns):
            raise ValueError("samples without a time")

    @property
    def per_call_ns(self) -> tuple[float, ...]:
        """The samples divided by the calls in them."""
        return tuple(sample / self.iterations for sample in self.samples_ns)


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to sample: for `time_ns`, and until there are `min_samples`.

    After ten times `time_ns`, three samples are enough.
    """

    min_samples: int = 20
    max_samples: int = 1000
    time_ns: int = 300_000_000

    def is_spent(self, samples: int, elapsed_ns: int) -> bool:
        """Whether sampling ends after *samples* taken in *elapsed_ns*."""
        if samples >= self.min_samples:
            return samples >= self.max_samples or elapsed_ns >= self.time_ns
        return samples >= _FEWEST_SAMPLES and elapsed_ns >= _PATIENCE * self.time_ns


@contextmanager
def steady_state() -> Iterator[None]:
    """No cyclic garbage collection until the end of the block."""
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


def find_observers() -> tuple[str, ...]:
    """What watches every call here now, and slows it: tracers, profilers, monitoring tools."""
    hooks = {"tracer": sys.gettrace(), "profiler": sys.getprofile()}
    found = [name for name, hook in hooks.items() if hook is not None]
    monitoring = getattr(sys, "monitoring", None)  # Python 3.12
    if monitoring is not None:
        tools = [monitoring.get_tool(number) for number in range(6)]
        found += [f"monitoring tool {tool}" for tool in tools if tool is not None]
    return tuple(found)


def involuntary_switches() -> int:
    """How often the scheduler took the CPU from this thread; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    who = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    return resource.getrusage(who).ru_nivcsw


def measure_iterations(timed: Round) -> int:
    """Calls per sample so that it lasts some 0.3 ms; 1 if the body alone is as long.

    Raises:
        BenchError: the clock shows no time even for the most calls (C10E602).
    """
    iterations = 1
    # Twice, because the first call may compile the kernel or fill its caches.
    elapsed = min(timed(1), timed(1))
    while elapsed < _SAMPLE_LOW_NS:
        if iterations >= _MOST_ITERATIONS:
            note = f"{iterations} calls took {elapsed} ns by the clock"
            fact = "the clock is too coarse for this case"
            raise BenchError(Diagnostic("C10E602", fact, notes=(note,), help="choose a larger case"))
        wanted = iterations * _SAMPLE_TARGET_NS / max(elapsed, 1)
        wanted = min(wanted, iterations * 100, _MOST_ITERATIONS)
        # Whole blocks of the unrolled loop, where there is at least one.
        blocks = -(-int(wanted) // UNROLLED)
        iterations = blocks * UNROLLED if wanted >= UNROLLED else max(2, round(wanted))
        elapsed = timed(iterations)
    return iterations


def measure_warm_up(
    timed: Round, iterations: int, clock: Clock, *, most_ns: int = _WARM_UP_NS, most_samples: int = 300
) -> tuple[int, bool]:
    """Discard samples of *timed* until the last medians agree or a limit is reached; how many, and if so."""
    start = clock()
    samples: list[int] = []
    while True:
        samples.append(timed(iterations))
        if _agree(samples):
            return len(samples), True
        if len(samples) >= most_samples or clock() - start >= most_ns:
            return len(samples), False


def _agree(samples: Sequence[int]) -> bool:
    needed = _WARM_GROUP * _WARM_WINDOW
    if len(samples) < needed or len(samples) % _WARM_GROUP:
        return False
    recent = samples[-needed:]
    medians = [median(recent[i : i + _WARM_GROUP]) for i in range(0, needed, _WARM_GROUP)]
    return max(medians) - min(medians) <= min(medians) * _WARM_PERCENT / 100


def measure_interleaved(
    rounds: Mapping[str, Round],
    iterations: Mapping[str, int],
    budget: Budget,
    order: random.Random,
    *,
    clock: Clock = SYSTEM_CLOCK,
    switches: Callable[[], int] = involuntary_switches,
) -> dict[str, Samples]:
    """Samples of each of *rounds*, one of each in turn, in a new random order every turn.

    The n-th samples of all of them were taken within one turn, so they can be
    compared pair by pair.  *switches* counts the times the CPU was taken away.
    """
    samples: dict[str, list[int]] = {name: [] for name in rounds}
    disturbed: dict[str, list[int]] = {name: [] for name in rounds}
    turn = list(rounds)
    start, taken = clock(), 0
    while not budget.is_spent(taken, clock() - start):
        order.shuffle(turn)
        for name in turn:
            before = switches()
            samples[name].append(rounds[name](iterations[name]))
            if switches() != before:
                disturbed[name].append(taken)
        taken += 1
    return {name: Samples(iterations[name], tuple(samples[name]), tuple(disturbed[name])) for name in rounds}


def measure_together(
    rounds: Mapping[str, Round], budget: Budget, *, seed: int = 0, clock: Clock = SYSTEM_CLOCK
) -> dict[str, Samples]:
    """Calibrate and warm up each of *rounds*, then sample them interleaved."""
    iterations: dict[str, int] = {}
    warm: dict[str, tuple[int, bool]] = {}
    for name, timed in rounds.items():
        first = measure_iterations(timed)
        warm[name] = measure_warm_up(timed, first, clock)
        # A warm body is faster, so the first count may make too short a sample.
        iterations[name] = measure_iterations(timed) if first > 1 else 1
    samples = measure_interleaved(rounds, iterations, budget, random.Random(seed), clock=clock)
    return {
        name: replace(taken, warm_up=warm[name][0], settled=warm[name][1]) for name, taken in samples.items()
    }
