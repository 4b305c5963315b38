"""Faster, slower, same or inconclusive: the verdict over pairs of times taken in turn."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

from c10cli.bench.stats import draw_median, percentile
from c10cli.errors import BenchError, Diagnostic

Verdict = Literal["faster", "slower", "same", "inconclusive"]

_FEWEST_PAIRS: Final = 10


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a candidate's time relates to the baseline's.

    Args:
        ratio: candidate time over baseline time; above 1 is slower.
        low: the lower end of its 95 % confidence interval; `high` is the upper one.
        margin: the change that was held to be none, 0.03 for 3 %.
    """

    verdict: Verdict
    ratio: float
    low: float
    high: float
    margin: float


def compare_pairs(
    processes: Sequence[Sequence[tuple[float, float]]],
    *,
    margin: float = 0.03,
    least_ns: float = 5.0,
    resamples: int = 2000,
    seed: int = 0,
) -> Comparison:
    """The verdict over pairs of baseline and candidate times, of one or more processes.

    - ``slower`` and ``faster``: the 95 % interval of the ratio excludes 1, and
      the ratio itself is beyond the margin;
    - ``same``: two one-sided tests at 5 % each exclude both margins;
    - ``inconclusive``: neither; more pairs may decide.

    Args:
        processes: for each process its pairs, in nanoseconds per call.
        margin: the relative change that counts as none.
        least_ns: the absolute change that counts as none, if that is more.

    Raises:
        BenchError: there are no pairs (C10E604).
    """
    ratios = [sorted(math.log(candidate / base) for base, candidate in pairs) for pairs in processes if pairs]
    if not ratios:
        raise BenchError(Diagnostic("C10E604", "no pair of times to compare"))
    baseline_ns = median([base for pairs in processes for base, _ in pairs])
    margin = max(margin, least_ns / baseline_ns)
    middle = median([median(process) for process in ratios])
    rng = random.Random(seed)
    medians = [  # over drawn processes, of the medians of pairs drawn in each
        median([draw_median(process, rng) for process in rng.choices(ratios, k=len(ratios))])
        for _ in range(resamples)
    ]
    low, high = percentile(medians, 0.025), percentile(medians, 0.975)
    inner = percentile(medians, 0.05), percentile(medians, 0.95)
    decided = sum(map(len, ratios)) >= _FEWEST_PAIRS
    verdict = _judge(middle, (low, high), inner, math.log1p(margin)) if decided else "inconclusive"
    return Comparison(verdict, math.exp(middle), math.exp(low), math.exp(high), margin)


def _judge(middle: float, outer: tuple[float, float], inner: tuple[float, float], margin: float) -> Verdict:
    if outer[0] > 0 and middle > margin:
        return "slower"
    if outer[1] < 0 and middle < -margin:
        return "faster"
    if -margin < inner[0] and inner[1] < margin:
        return "same"
    return "inconclusive"
