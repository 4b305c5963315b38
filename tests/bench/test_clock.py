import itertools

import pytest

from c10cli.bench.clock import SYSTEM_CLOCK, ClockQuality, measure_clock, utc_now
from c10cli.errors import BenchError


def clock_of(readings):
    return iter(readings).__next__


def test_overhead_is_the_usual_step_and_resolution_the_smallest():
    steps = [100, 90, 100, 250, 100]
    clock = clock_of(itertools.accumulate(steps, initial=7))
    assert measure_clock(clock, reads=5) == ClockQuality(resolution_ns=90, overhead_ns=100)


def test_reads_within_one_tick_do_not_count_as_resolution():
    assert measure_clock(clock_of([0, 0, 0, 40, 40, 40]), reads=5) == ClockQuality(40, 0)


def test_a_clock_that_stands_still_is_refused():
    with pytest.raises(BenchError, match="the clock stands still") as caught:
        measure_clock(lambda: 5)
    assert caught.value.code == "C10E602"


def test_the_system_clock_resolves_less_than_a_tenth_of_a_millisecond():
    assert 0 < measure_clock(SYSTEM_CLOCK).resolution_ns < 100_000


def test_the_date_is_in_utc_and_whole_seconds():
    assert utc_now().isoformat().endswith("+00:00")
    assert utc_now().microsecond == 0
