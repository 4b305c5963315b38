import inspect

import pytest

from c10cli.bench.body import Body, make_fresh_round, make_round


class FakeClock:
    """Time that passes only where a body spends it, and a little for each reading."""

    def __init__(self, read_ns=0):
        self.now, self.read_ns, self.reads = 0, read_ns, 0

    def __call__(self):
        self.now += self.read_ns
        self.reads += 1
        return self.now


def spender(clock, cost_ns, seen=None):
    def spend(*args, **kwargs):
        clock.now += cost_ns
        if seen is not None:
            seen.append((args, kwargs))

    return spend


@pytest.mark.parametrize("iterations", [1, 15, 16, 17, 160, 161])
def test_the_body_runs_exactly_as_often_as_asked(iterations):
    clock, seen = FakeClock(), []
    timed = make_round(Body(spender(clock, 10, seen)), clock)
    assert timed(iterations) == 10 * iterations
    assert len(seen) == iterations


def test_the_clock_is_read_twice_however_long_the_chunk():
    clock = FakeClock()
    make_round(Body(spender(clock, 10)), clock)(1000)
    assert clock.reads == 2


def test_arguments_arrive_as_given():
    clock, seen, marker = FakeClock(), [], object()
    make_round(Body(spender(clock, 1, seen), (1, marker), {"dim": -1, "out": marker}), clock)(1)
    assert seen == [((1, marker), {"dim": -1, "out": marker})]


@pytest.mark.parametrize("iterations", [1, 16, 17])
def test_the_result_of_every_call_is_waited_for_where_it_comes_too_early(iterations):
    clock, waited = FakeClock(), []

    def wait(result):
        clock.now += 1000
        waited.append(result)

    def early(x):
        clock.now += 10
        return x

    timed = make_round(Body(early, ("result",), wait=wait), clock)
    assert timed(iterations) == 1010 * iterations
    assert waited == ["result"] * iterations
    waited.clear()
    assert make_fresh_round(Body(early, (None,), wait=wait), lambda: ("new",), clock)(2) == 2020
    assert waited == ["new", "new"]


def test_a_keyword_that_python_cannot_spell_arrives_too():
    clock, seen = FakeClock(), []
    make_round(Body(spender(clock, 1, seen), (), {"lambda": 0.5, "a0": 2}), clock)(1)
    assert seen == [((), {"lambda": 0.5, "a0": 2})]


def test_the_call_is_plain_and_everything_it_names_is_local():
    timed = make_round(Body(max, (1, 2), {"key": abs}))
    code = timed.__code__
    assert set(code.co_names) <= {"divmod"}
    assert code.co_freevars == ()
    assert {"function", "a0", "a1", "k0"} <= set(code.co_varnames)
    assert not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)


def test_an_exception_of_the_body_comes_through():
    with pytest.raises(ZeroDivisionError):
        make_round(Body(divmod, (1, 0)))(3)


def test_fresh_arguments_are_made_for_every_call_and_outside_the_timed_stretch():
    clock, seen, made = FakeClock(), [], []

    def renew():
        clock.now += 1_000_000
        made.append(len(made))
        return [made[-1], "out"]

    timed = make_fresh_round(Body(spender(clock, 30, seen), (None,), {"out": None}), renew, clock)
    assert timed(3) == 90
    assert seen == [((i,), {"out": "out"}) for i in range(3)]


def test_each_fresh_call_carries_one_clock_reading():
    clock = FakeClock(read_ns=7)
    timed = make_fresh_round(Body(spender(clock, 30), (None,)), lambda: (1,), clock)
    assert timed(10) == 10 * 37
