from c10cli.bench.ladder import RUNGS, ladder_steps
from c10cli.bench.sampling import Budget, Samples, measure_together


class FakeClock:
    now = 0

    def __call__(self):
        return self.now


def fake_round(clock, cost, log, name):
    def timed(iterations):
        log.append((name, iterations))
        clock.now += cost * iterations
        return cost * iterations

    return timed


def ladder_of(**per_call):
    return {rung: Samples(10, tuple(10 * t for t in times)) for rung, times in per_call.items()}


def test_every_rung_is_sampled_in_every_turn():
    clock, log = FakeClock(), []
    costs = {"null": 40, "direct": 5_000, "lookup": 90, "dispatch": 100, "call": 5_060}
    rounds = {rung: fake_round(clock, cost, log, rung) for rung, cost in costs.items()}
    ladder = measure_together(rounds, Budget(min_samples=20, max_samples=20), clock=clock)
    assert tuple(ladder) == RUNGS
    assert [samples.per_call_ns[0] for samples in ladder.values()] == list(costs.values())
    last = [name for name, _ in log[-100:]]
    assert all(sorted(last[i : i + 5]) == sorted(RUNGS) for i in range(0, 100, 5))


def test_the_dispatcher_costs_what_a_dispatched_empty_kernel_takes_beyond_an_empty_call():
    steps = ladder_steps(
        ladder_of(null=[40] * 9, direct=[500] * 9, lookup=[90] * 9, dispatch=[101] * 9, call=[570] * 9)
    )
    assert {step: difference.value for step, difference in steps.items()} == {
        "kernel": 460,
        "lookup": 50,
        "dispatcher": 61,
        "through": 70,
    }
    assert steps["dispatcher"].resolved


def test_a_slower_moment_that_hits_both_rungs_cancels():
    calm, slow = [40] * 10, [80] * 10
    ladder = ladder_of(null=calm + slow, dispatch=[t + 61 for t in calm + slow])
    assert ladder_steps(ladder)["dispatcher"].value == 61
    assert ladder_steps(ladder)["dispatcher"].standard_error == 0


def test_a_step_lost_in_the_noise_is_not_resolved():
    kernel = [5_000, 5_400, 4_700, 5_900, 5_100, 4_800, 5_300]
    through = ladder_steps(ladder_of(direct=kernel, call=kernel[::-1]))["through"]
    assert not through.resolved
    assert through.bound > 61


def test_steps_of_missing_rungs_are_left_out():
    assert set(ladder_steps(ladder_of(null=[1] * 3, direct=[2] * 3))) == {"kernel"}
