import gc
import random
import sys

import pytest

from c10cli.bench.sampling import (
    Budget,
    Samples,
    find_observers,
    involuntary_switches,
    measure_interleaved,
    measure_iterations,
    measure_together,
    measure_warm_up,
    steady_state,
)
from c10cli.errors import BenchError


class FakeClock:
    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now


class FakeRound:
    """A round whose calls cost what *cost* says for the n-th round, and a log of them."""

    def __init__(self, clock, cost, log=None, name=""):
        self.clock, self.cost, self.asked, self.log, self.name = clock, cost, [], log, name

    def __call__(self, iterations):
        cost = self.cost(len(self.asked)) if callable(self.cost) else self.cost
        self.asked.append(iterations)
        if self.log is not None:
            self.log.append(self.name)
        self.clock.now += cost * iterations
        return cost * iterations


@pytest.fixture
def clock():
    return FakeClock()


@pytest.mark.parametrize("cost_ns", [1, 30, 250, 5_000, 40_000, 99_000])
def test_a_chunk_lasts_between_a_tenth_and_a_whole_millisecond(clock, cost_ns):
    iterations = measure_iterations(FakeRound(clock, cost_ns))
    assert 100_000 <= iterations * cost_ns <= 1_000_000


@pytest.mark.parametrize("cost_ns", [100_000, 3_000_000, 2_000_000_000])
def test_a_long_body_is_a_chunk_by_itself(clock, cost_ns):
    timed = FakeRound(clock, cost_ns)
    assert measure_iterations(timed) == 1
    assert timed.asked == [1, 1]


def test_a_slow_first_call_does_not_decide(clock):
    timed = FakeRound(clock, lambda n: 900_000_000 if n == 0 else 300)
    assert measure_iterations(timed) == 1008  # 300 us, in whole blocks of 16


def test_many_iterations_are_whole_blocks_of_the_unrolled_loop(clock):
    assert measure_iterations(FakeRound(clock, 37)) % 16 == 0


def test_a_clock_that_shows_no_time_is_refused(clock):
    with pytest.raises(BenchError) as caught:
        measure_iterations(FakeRound(clock, 0))
    assert caught.value.code == "C10E602"


def test_the_warm_up_ends_when_the_medians_agree(clock):
    timed = FakeRound(clock, lambda n: 1000 if n >= 6 else 2000 - 100 * n)
    assert measure_warm_up(timed, 1, clock) == (15, True)


def test_medians_within_one_per_cent_agree_and_further_apart_do_not(clock):
    near = FakeRound(clock, lambda n: 1000 + 10 * (n // 3 % 2))
    far = FakeRound(clock, lambda n: 1000 + 11 * (n // 3 % 2))
    assert measure_warm_up(near, 1, clock, most_samples=50)[1]
    assert measure_warm_up(far, 1, clock, most_samples=50) == (50, False)


def test_one_disturbed_chunk_does_not_prolong_the_warm_up(clock):
    timed = FakeRound(clock, lambda n: 90_000 if n == 4 else 1000)
    assert measure_warm_up(timed, 1, clock) == (9, True)


def test_the_warm_up_ends_at_its_time_limit(clock):
    timed = FakeRound(clock, 1_000_000_000)
    assert measure_warm_up(timed, 1, clock, most_ns=2_000_000_000) == (2, False)


@pytest.mark.parametrize(
    ("samples", "elapsed_ns", "spent"),
    [
        (4, 0, False),
        (5, 99, False),  # enough samples, time left
        (5, 100, True),
        (4, 100, False),  # time is up, samples are missing
        (2, 10_000, False),  # three at the very least
        (3, 999, False),
        (3, 1000, True),  # ten times the time: no more patience
        (50, 1, True),  # the most samples
    ],
)
def test_a_budget_ends_by_time_once_there_are_enough_samples(samples, elapsed_ns, spent):
    assert Budget(min_samples=5, max_samples=50, time_ns=100).is_spent(samples, elapsed_ns) is spent


def test_every_turn_takes_one_chunk_of_each_in_a_changing_order(clock):
    log = []
    rounds = {name: FakeRound(clock, 10, log, name) for name in "abc"}
    budget = Budget(min_samples=20, max_samples=20)
    measure_interleaved(rounds, dict.fromkeys("abc", 4), budget, random.Random(1), clock=clock)
    turns = [tuple(log[i : i + 3]) for i in range(0, 60, 3)]
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    assert len(set(turns)) > 3


def test_samples_hold_chunk_times_and_iterations(clock):
    timed = FakeRound(clock, lambda n: 100 + n)
    budget = Budget(min_samples=3, max_samples=3)
    samples = measure_interleaved({"x": timed}, {"x": 8}, budget, random.Random(0), clock=clock)["x"]
    assert samples.samples_ns == (800, 808, 816)
    assert samples.per_call_ns == (100.0, 101.0, 102.0)


def test_a_chunk_during_which_the_cpu_was_taken_is_marked(clock):
    counts = iter([5, 5, 5, 6, 6, 6])
    samples = measure_interleaved(
        {"x": FakeRound(clock, 10)},
        {"x": 1},
        Budget(min_samples=3, max_samples=3),
        random.Random(0),
        clock=clock,
        switches=lambda: next(counts),
    )["x"]
    assert samples.disturbed == (1,)


def test_a_body_that_got_faster_while_warming_is_calibrated_again(clock):
    timed = FakeRound(clock, lambda n: 1000 if n < 8 else 100)
    samples = measure_together({"x": timed}, Budget(max_samples=20), clock=clock)["x"]
    assert 100_000 <= samples.samples_ns[0] <= 1_000_000
    assert samples.iterations == 3008


def test_the_warm_up_is_recorded_and_not_sampled(clock):
    rounds = {"x": FakeRound(clock, 50_000)}
    samples = measure_together(rounds, Budget(max_samples=20), clock=clock)["x"]
    assert samples == Samples(6, (300_000,) * 20, samples.disturbed, warm_up=9, settled=True)


def test_a_seed_repeats_the_order(clock):
    def order(seed):
        log = []
        rounds = {name: FakeRound(clock, 200_000, log, name) for name in "ab"}
        measure_together(rounds, Budget(min_samples=20, max_samples=20), seed=seed, clock=clock)
        return log

    assert order(3) == order(3)
    assert order(3) != order(4)


@pytest.fixture
def _collector_as_it_was():
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()
    gc.unfreeze()


@pytest.mark.usefixtures("_collector_as_it_was")
def test_the_collector_is_off_inside_and_on_again_afterwards():
    gc.enable()
    with steady_state():
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("_collector_as_it_was")
def test_the_collector_comes_back_after_an_exception():
    gc.enable()
    with pytest.raises(ZeroDivisionError), steady_state():
        _ = 1 / 0
    assert gc.isenabled()


@pytest.mark.usefixtures("_collector_as_it_was")
def test_a_collector_that_was_off_stays_off():
    gc.disable()
    with steady_state():
        pass
    assert not gc.isenabled()


def test_switches_are_counted_upwards():
    before = involuntary_switches()
    assert 0 <= before <= involuntary_switches()


def test_observers_are_found_at_any_time():
    before = find_observers()
    was = sys.getprofile()
    sys.setprofile(lambda *_: None)
    try:
        found = find_observers()
    finally:
        sys.setprofile(was)
    assert {*found} == {*before, "profiler"}
