import math
import random
import statistics

import pytest

from c10cli.bench import stats
from c10cli.bench.stats import Difference


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5], (5, 5)),
        ([1, 2], (1, 2)),
        ([1, 2, 3], (1.25, 2.75)),
        ([4, 1, 3, 2], (1.5, 3.5)),
        ([1, 2, 3, 4, 5], (1.75, 4.25)),
        ([1, 2, 3, 4, 5, 6], (2, 5)),
        ([1, 2, 3, 4, 5, 6, 7], (2.25, 5.75)),
    ],
)
def test_quartiles(values, expected):
    assert stats.quartiles(values) == expected


@pytest.mark.parametrize(("fraction", "expected"), [(0, 10), (0.25, 20), (0.5, 30), (0.9, 46), (1, 50)])
def test_percentile_interpolates(fraction, expected):
    assert stats.percentile([50, 20, 30, 40, 10], fraction) == pytest.approx(expected)


def test_percentile_of_a_single_value_is_that_value():
    assert stats.percentile([7], 0.975) == 7


def test_noise_is_the_scaled_deviation_over_the_median():
    # Median 4; distances 3 2 0 2 96, whose median is 2.
    assert stats.noise_percent([1, 2, 4, 6, 100]) == pytest.approx(100 * 1.4826 * 2 / 4, rel=1e-4)


def test_noise_is_zero_where_most_values_are_equal():
    assert stats.noise_percent([3, 3, 3, 9]) == 0


def test_noise_of_a_median_of_zero_is_zero():
    assert stats.noise_percent([0, 0, 0, 1]) == 0


def sampled_medians(values, resamples, rng):
    return [statistics.median(rng.choices(values, k=len(values))) for _ in range(resamples)]


@pytest.mark.parametrize("count", [2, 3, 6, 7, 30, 31])
def test_bootstrapped_medians_spread_as_medians_of_drawn_samples_do(count):
    rng = random.Random(count)
    values = [rng.lognormvariate(0, 1) for _ in range(count)]
    fast = sorted(stats.draw_median(sorted(values), rng) for _ in range(4000))
    drawn = sorted(sampled_medians(values, 4000, rng))
    spread = statistics.stdev(drawn)
    for place in (100, 1000, 2000, 3000, 3900):
        assert fast[place] == pytest.approx(drawn[place], abs=0.35 * spread)
    assert statistics.fmean(fast) == pytest.approx(statistics.fmean(drawn), abs=0.1 * spread)


def test_the_interval_of_equal_values_is_a_point():
    assert stats.median_interval([2.5] * 10) == (2.5, 2.5)


def test_the_interval_depends_on_its_seed_only():
    values = [1, 4, 2, 8, 5, 7, 1, 3]
    assert stats.median_interval(values, seed=1) == stats.median_interval(values, seed=1)


def test_the_interval_holds_the_true_median_about_as_often_as_stated():
    rng = random.Random(12)
    hits = 0
    for _ in range(200):
        low, high = stats.median_interval([rng.expovariate(1) for _ in range(25)], resamples=300)
        hits += low <= math.log(2) <= high
    assert 180 <= hits <= 199


def test_standard_error_from_the_ranks_around_the_median():
    # Sixteen values: ranks 8.5 -+ 1.96 * 2, so the 5th from either end: 12 - 5 = 7.
    assert stats.standard_error(range(1, 17)) == pytest.approx(7 / (2 * 1.959964))


def test_standard_error_is_zero_where_the_middle_values_are_equal():
    assert stats.standard_error([1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 9]) == 0


def test_a_single_value_has_no_finite_standard_error():
    assert stats.standard_error([5]) == math.inf


def test_a_paired_difference_does_not_see_what_both_share():
    baseline = [10, 500, 30, 900]
    assert stats.paired_difference([x + 3 for x in baseline], baseline) == Difference(3, 0)


def test_pairs_must_be_complete():
    with pytest.raises(ValueError, match="longer"):
        stats.paired_difference([1], [1, 2])


@pytest.mark.parametrize(("value", "resolved"), [(4.0, True), (3.9, False), (-9.0, False)])
def test_a_difference_is_resolved_from_twice_its_error_on(value, resolved):
    difference = Difference(value, 2.0)
    assert difference.resolved is resolved
    assert difference.bound == 4.0
