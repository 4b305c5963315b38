import gc
import sys

import pytest

from c10cli.bench.steady import find_observers, involuntary_switches, steady_state


@pytest.fixture(autouse=True)
def _collector_as_it_was():
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()
    gc.unfreeze()


def test_the_collector_is_off_inside_and_on_again_afterwards():
    gc.enable()
    with steady_state():
        assert not gc.isenabled()
        assert gc.get_freeze_count() > 0
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_the_collector_comes_back_after_an_exception():
    gc.enable()
    with pytest.raises(ZeroDivisionError), steady_state():
        _ = 1 / 0
    assert gc.isenabled()


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
