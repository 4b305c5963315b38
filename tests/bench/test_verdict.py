import random

import pytest

from c10cli.bench.verdict import compare_pairs
from c10cli.errors import BenchError


def pairs_of(factor, *, count=60, noise=0.02, base_ns=1000.0, seed=0, processes=5, between=0.0):
    """Pairs with noise of their own, over plateaus that both of a pair share."""
    rng = random.Random(seed)

    def process():
        bias = factor * rng.gauss(1, between)
        plateaus = [base_ns * rng.choice((1.0, 1.7)) for _ in range(count)]
        return [(p * rng.gauss(1, noise), p * bias * rng.gauss(1, noise)) for p in plateaus]

    return [process() for _ in range(processes)]


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, "same"), (1.06, "slower"), (1.3, "slower"), (0.94, "faster"), (0.5, "faster"), (1.01, "same")],
)
def test_a_clear_change_and_a_clear_standstill_are_recognised(factor, verdict):
    comparison = compare_pairs(pairs_of(factor))
    assert comparison.verdict == verdict
    assert comparison.low <= comparison.ratio <= comparison.high
    assert comparison.ratio == pytest.approx(factor, rel=0.01)


def test_too_much_noise_is_inconclusive_and_not_the_same():
    assert compare_pairs(pairs_of(1.0, count=8, noise=0.4)).verdict == "inconclusive"


def test_processes_that_disagree_widen_the_interval():
    agreed, scattered = compare_pairs(pairs_of(1.0)), compare_pairs(pairs_of(1.0, between=0.05))
    assert scattered.high - scattered.low > 3 * (agreed.high - agreed.low)
    assert scattered.verdict == "inconclusive"


def test_a_change_below_five_nanoseconds_is_none():
    pairs = pairs_of(1.05, base_ns=40.0)
    assert compare_pairs(pairs).verdict == "same"
    assert compare_pairs(pairs, least_ns=0).verdict == "slower"


def test_the_margin_in_force_is_reported():
    assert compare_pairs([[(100.0, 100.0)] * 20]).margin == 0.05
    assert compare_pairs([[(1000.0, 1000.0)] * 20]).margin == 0.03


def test_few_pairs_decide_nothing():
    assert compare_pairs([[(1000.0, 2000.0)] * 9]).verdict == "inconclusive"
    assert compare_pairs([[(1000.0, 2000.0)] * 10]).verdict == "slower"


def test_identical_code_is_hardly_ever_called_changed():
    verdicts = [
        compare_pairs(pairs_of(1.0, seed=seed, between=0.01), resamples=300).verdict for seed in range(40)
    ]
    assert sum(verdict in ("faster", "slower") for verdict in verdicts) <= 2


def test_five_per_cent_are_caught_nearly_always():
    verdicts = [compare_pairs(pairs_of(1.05, seed=seed), resamples=300).verdict for seed in range(40)]
    assert verdicts.count("slower") >= 38


def test_the_verdict_depends_on_its_seed_only():
    assert compare_pairs(pairs_of(1.02), seed=7) == compare_pairs(pairs_of(1.02), seed=7)


def test_a_process_without_pairs_is_passed_over_and_none_at_all_is_refused():
    assert compare_pairs([[], *pairs_of(1.0)]).verdict == "same"
    with pytest.raises(BenchError, match="no pair") as caught:
        compare_pairs([[], []])
    assert caught.value.code == "C10E604"
