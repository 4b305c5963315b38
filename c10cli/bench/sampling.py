"""Sampling bodies: calibration, warm-up, samples taken in turn.

A body is timed in chunks of 0.1 to 1 ms, so that the clock read, some
100 ns, costs less than a thousandth; a body longer than that is a chunk by
itself.  Several bodies are sampled in turn, in random order, because a
machine changes its speed for seconds at a time: measured one after the
other, the change looks like a difference between them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from c10cli.bench.body import UNROLLED, Round
from c10cli.bench.clock import SYSTEM_CLOCK, Clock
from c10cli.bench.steady import involuntary_switches
from c10cli.errors import BenchError, Diagnostic

__all__ = [
    "Budget",
    "Samples",
    "WarmUp",
    "WarmUpRule",
    "measure_interleaved",
    "measure_iterations",
    "measure_samples",
    "measure_together",
    "measure_warm_up",
]

_CHUNK_LOW_NS: Final = 100_000
_CHUNK_TARGET_NS: Final = 300_000
_MOST_ITERATIONS: Final = 10_000_000
_FEWEST_SAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class Samples:
    """Chunk times of one body, with what is needed to read them.

    Args:
        iterations: calls per chunk.
        chunks_ns: the time of each chunk, in the order taken.
        disturbed: positions of the chunks during which the scheduler took
            the CPU away.
        warm_up: chunks discarded before the first of these.
        settled: whether the warm-up ended because the times agreed, not
            because it reached its limit.
    """

    iterations: int
    chunks_ns: tuple[int, ...]
    disturbed: tuple[int, ...] = ()
    warm_up: int = 0
    settled: bool = True

    @property
    def per_call_ns(self) -> tuple[float, ...]:
        """The chunk times divided by the calls in them."""
        return tuple(chunk / self.iterations for chunk in self.chunks_ns)


@dataclass(frozen=True, slots=True)
class WarmUpRule:
    """When a body counts as warm: the last medians agree.

    Args:
        group: chunks under one median.
        window: medians that must agree.
        tolerance_percent: how far apart they may be, relative to the smallest.
        max_chunks: the most chunks to discard.
        max_ns: the longest time to spend.
    """

    group: int = 3
    window: int = 3
    tolerance_percent: float = 1.0
    max_chunks: int = 300
    max_ns: int = 300_000_000


@dataclass(frozen=True, slots=True)
class WarmUp:
    """How a warm-up went: chunks discarded, whether the times agreed at its end."""

    chunks: int
    settled: bool


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to sample: for `time_ns`, and until there are `min_samples`.

    Args:
        patience: how many times `time_ns` the wait for `min_samples` may
            last; after that, three samples are enough.
    """

    min_samples: int = 20
    max_samples: int = 1000
    time_ns: int = 300_000_000
    patience: int = 10

    def is_spent(self, samples: int, elapsed_ns: int) -> bool:
        """Whether sampling ends after *samples* taken in *elapsed_ns*."""
        if samples >= self.min_samples:
            return samples >= self.max_samples or elapsed_ns >= self.time_ns
        return samples >= _FEWEST_SAMPLES and elapsed_ns >= self.patience * self.time_ns


def measure_iterations(timed: Round, *, target_ns: int = _CHUNK_TARGET_NS) -> int:
    """Calls per chunk so that a chunk lasts about *target_ns*; 1 if the body alone is as long.

    Raises:
        BenchError: the clock shows no time even for the most calls (C10E602).
    """
    iterations = 1
    # Twice, because the first call may compile the kernel or fill its caches.
    elapsed = min(timed(1), timed(1))
    while elapsed < min(_CHUNK_LOW_NS, target_ns):
        if iterations >= _MOST_ITERATIONS:
            raise _too_coarse(iterations, elapsed)
        wanted = iterations * target_ns / max(elapsed, 1)
        iterations = _rounded(min(wanted, iterations * 100, _MOST_ITERATIONS))
        elapsed = timed(iterations)
    return iterations


def _rounded(iterations: float) -> int:
    """A whole number of unrolled blocks, where there is at least one."""
    if iterations < UNROLLED:
        return max(2, round(iterations))
    return -(-int(iterations) // UNROLLED) * UNROLLED


def _too_coarse(iterations: int, elapsed_ns: int) -> BenchError:
    return BenchError(
        Diagnostic(
            "C10E602",
            "the clock is too coarse for this case",
            notes=(f"{iterations} calls took {elapsed_ns} ns by the clock",),
            help="choose a larger case",
        )
    )


def measure_warm_up(
    timed: Round, iterations: int, rule: WarmUpRule | None = None, clock: Clock = SYSTEM_CLOCK
) -> WarmUp:
    """Discard chunks of *timed* until the last medians agree, or a limit of *rule* is reached."""
    rule = rule or WarmUpRule()
    start = clock()
    chunks: list[int] = []
    while True:
        chunks.append(timed(iterations))
        if _agree(chunks, rule):
            return WarmUp(len(chunks), settled=True)
        if len(chunks) >= rule.max_chunks or clock() - start >= rule.max_ns:
            return WarmUp(len(chunks), settled=False)


def _agree(chunks: Sequence[int], rule: WarmUpRule) -> bool:
    needed = rule.group * rule.window
    if len(chunks) < needed or len(chunks) % rule.group:
        return False
    recent = chunks[-needed:]
    medians = [median(recent[i : i + rule.group]) for i in range(0, needed, rule.group)]
    return max(medians) - min(medians) <= min(medians) * rule.tolerance_percent / 100


def measure_interleaved(
    rounds: Mapping[str, Round],
    iterations: Mapping[str, int],
    budget: Budget,
    order: random.Random,
    *,
    clock: Clock = SYSTEM_CLOCK,
    switches: Callable[[], int] | None = None,
) -> dict[str, Samples]:
    """Samples of each of *rounds*, one chunk of each in turn, in a new random order every turn.

    The n-th chunks of all of them were taken within one turn, so they can be
    compared pair by pair.  *switches* counts the times the CPU was taken away.
    """
    switches = switches or involuntary_switches
    chunks: dict[str, list[int]] = {name: [] for name in rounds}
    disturbed: dict[str, list[int]] = {name: [] for name in rounds}
    turn = list(rounds)
    start, taken = clock(), 0
    while not budget.is_spent(taken, clock() - start):
        order.shuffle(turn)
        for name in turn:
            before = switches()
            chunks[name].append(rounds[name](iterations[name]))
            if switches() != before:
                disturbed[name].append(taken)
        taken += 1
    return {name: Samples(iterations[name], tuple(chunks[name]), tuple(disturbed[name])) for name in rounds}


def measure_together(
    rounds: Mapping[str, Round],
    budget: Budget | None = None,
    *,
    rule: WarmUpRule | None = None,
    seed: int = 0,
    clock: Clock = SYSTEM_CLOCK,
) -> dict[str, Samples]:
    """Calibrate and warm up each of *rounds*, then sample them interleaved."""
    iterations: dict[str, int] = {}
    warm: dict[str, WarmUp] = {}
    for name, timed in rounds.items():
        first = measure_iterations(timed)
        warm[name] = measure_warm_up(timed, first, rule, clock)
        # A warm body is faster, so the first count may make too short a chunk.
        iterations[name] = measure_iterations(timed) if first > 1 else 1
    samples = measure_interleaved(rounds, iterations, budget or Budget(), random.Random(seed), clock=clock)
    return {
        name: replace(taken, warm_up=warm[name].chunks, settled=warm[name].settled)
        for name, taken in samples.items()
    }


def measure_samples(
    timed: Round, budget: Budget | None = None, *, rule: WarmUpRule | None = None, clock: Clock = SYSTEM_CLOCK
) -> Samples:
    """Calibrate, warm up and sample a single body."""
    return measure_together({"body": timed}, budget, rule=rule, clock=clock)["body"]
