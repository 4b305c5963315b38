"""Statistics of samples: pure functions, no clock, no NumPy.

Times that a busy machine gives are skewed and come in plateaus, so
everything here rests on medians and ranks, not on means.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

# Makes the median absolute deviation of a normal sample its standard deviation.
_NORMAL_SCALE: Final = 1.482602218505602
_TWO_SIDED_95: Final = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two medians with its standard error, in the samples' unit."""

    value: float
    standard_error: float

    @property
    def resolved(self) -> bool:
        """True where the value stands out of its error: at least twice as large."""
        return self.value >= 2 * self.standard_error

    @property
    def bound(self) -> float:
        """What an unresolved difference is below."""
        return 2 * self.standard_error


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The lower and the upper quartile.

    An even number of values is split into halves, whose medians these are;
    with an odd one, the two nearest values are weighed 1 : 3.  pytest-benchmark
    does the same, so its tables and ours agree.
    """
    data = sorted(values)
    return _lower_quartile(data), _lower_quartile(data[::-1])


def _lower_quartile(data: Sequence[float]) -> float:
    quarter, rest = divmod(len(data), 4)
    if len(data) == 1:
        return data[0]
    if rest == 1:
        return 0.25 * data[quarter - 1] + 0.75 * data[quarter]
    if rest == 3:
        return 0.75 * data[quarter] + 0.25 * data[quarter + 1]
    return median(data[: len(data) // 2])


def percentile(values: Sequence[float], fraction: float) -> float:
    """The value below which *fraction* (0 to 1) of *values* lies, interpolated."""
    data = sorted(values)
    position = fraction * (len(data) - 1)
    below = min(int(position), len(data) - 2) if len(data) > 1 else 0
    above = min(below + 1, len(data) - 1)
    return data[below] + (position - below) * (data[above] - data[below])


def noise_percent(values: Sequence[float]) -> float:
    """The spread of *values* relative to their median, in per cent.

    The spread is the median absolute deviation, scaled so that it is the
    standard deviation where the values are normal.  Zero for a median of zero.
    """
    middle = median(values)
    deviation = _NORMAL_SCALE * median([abs(value - middle) for value in values])
    return 100 * deviation / middle if middle else 0.0


def draw_median(data: Sequence[float], rng: random.Random) -> float:
    """The median of one sample drawn with replacement from *data*, which is in order.

    No sample is drawn.  Its ranks in *data* are uniform, so the middle one
    follows a beta distribution: one or two random numbers give the median,
    far faster than drawing and sorting, and just as exact.
    """
    count = len(data)
    half = (count + 1) // 2
    place = rng.betavariate(half, count - half + 1)
    middle = data[min(int(place * count), count - 1)]
    if count % 2:
        return middle
    place += (1 - place) * (1 - rng.random() ** (1 / half))  # the smallest of the `half` above
    return (middle + data[min(int(place * count), count - 1)]) / 2


def median_interval(values: Sequence[float], *, resamples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """The bootstrap 95 % confidence interval of the median of *values*."""
    data, rng = sorted(values), random.Random(seed)
    medians = [draw_median(data, rng) for _ in range(resamples)]
    return percentile(medians, 0.025), percentile(medians, 0.975)


def standard_error(values: Sequence[float]) -> float:
    """The standard error of the median, from the ranks that bound it (McKean and Schrader).

    Infinite for a single value, which says nothing about its own spread.
    """
    if len(values) == 1:
        return math.inf
    data = sorted(values)
    half_width = _TWO_SIDED_95 * math.sqrt(len(data)) / 2
    rank = max(1, round((len(data) + 1) / 2 - half_width))
    return (data[-rank] - data[rank - 1]) / (2 * _TWO_SIDED_95)


def paired_difference(values: Sequence[float], baseline: Sequence[float]) -> Difference:
    """The median of *values* minus *baseline*, pair by pair.

    For samples taken in turn: what slowed both of a pair cancels.
    """
    differences = [value - base for value, base in zip(values, baseline, strict=True)]
    return Difference(median(differences), standard_error(differences))
