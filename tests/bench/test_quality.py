from dataclasses import replace

from c10cli.bench.environment import Environment
from c10cli.bench.outcome import CaseResult, RunResult
from c10cli.bench.quality import check_run
from c10cli.bench.sampling import Samples

ENVIRONMENT = Environment(
    "3.11.7", "CPython", "Linux", "6", "x86_64", "Some CPU", 4, 2, load=(0.5, 0.25, 0.125)
)
STEADY = (100,) * 20


def case_of(chunks, name="a", **fields):
    return CaseResult("c10::add", "CPU", "numpy", name, {}, "", ladder={"call": Samples(1, chunks, **fields)})


def run_of(*cases):
    return RunResult("r", "2025-01-02T12:00:05+00:00", ENVIRONMENT, cases=cases)


def test_a_steady_run_has_no_warning():
    assert check_run(run_of(case_of(STEADY))) == ()


def test_noise_over_ten_per_cent_is_a_warning_that_names_the_case():
    noisy = case_of((100, 120) * 10, name="b", disturbed=(1, 2))
    (warning,) = check_run(run_of(case_of(STEADY), noisy))
    assert warning.code == "C10W651"
    assert warning.message == "noise, or the ± of the time, over 10 % in 1 of 2 cases"
    assert warning.notes == (
        "c10::add/CPU/numpy/b: 13 %; another program took the CPU during 2 of 20 samples",
    )


def test_times_that_never_settled_or_were_mostly_disturbed_are_named():
    drifting = case_of(tuple(range(100, 120)), name="b", settled=False)
    disturbed = case_of(STEADY, name="c", disturbed=tuple(range(11)))
    (warning,) = check_run(
        run_of(case_of(STEADY, settled=False), case_of(STEADY, disturbed=(1,) * 10), drifting, disturbed)
    )
    assert warning.code == "C10W654"
    assert warning.message == "times did not settle, or most samples were disturbed, in 2 of 4 cases"
    assert warning.notes == (
        "c10::add/CPU/numpy/b: 7 %; the times had not settled after the warm-up",
        "c10::add/CPU/numpy/c: 0 %; another program took the CPU during 11 of 20 samples",
    )


def test_what_watches_every_call_is_a_warning():
    watched = replace(case_of(STEADY, name="b"), checks={"observers": ["profiler", "tracer"]})
    (warning,) = check_run(run_of(case_of(STEADY), watched))
    assert (warning.code, warning.message) == ("C10W654", "something watched every call in 1 of 2 cases")
    assert warning.notes == ("c10::add/CPU/numpy/b: a profiler and a tracer",)


def test_a_cost_without_a_value_is_told_beside_the_times():
    faulty = replace(case_of(STEADY, name="b"), checks={"cost": "division by zero, in `1 / 0`"})
    (warning,) = check_run(run_of(case_of(STEADY), faulty))
    assert (warning.code, warning.message) == ("C10E110", "the cost of 1 of 2 cases has no value")
    assert warning.notes == ("c10::add/CPU/numpy/b: division by zero, in `1 / 0`",)


def test_the_worst_three_are_shown_and_the_rest_counted():
    cases = [case_of((100, 120 + 10 * i) * 10, name=f"n{i}") for i in range(5)]
    (warning,) = check_run(run_of(*cases))
    assert [note.split(":")[2] for note in warning.notes[:3]] == [f"add/CPU/numpy/n{i}" for i in (4, 3, 2)]
    assert warning.notes[3] == "and 2 more"


def test_a_first_sample_far_slower_than_the_rest_is_a_warning():
    (warning,) = check_run(run_of(case_of((450, *STEADY))))
    assert warning.code == "C10W652"
    assert warning.notes == ("c10::add/CPU/numpy/a: 4.5 times the median",)


def test_few_samples_are_a_warning():
    (warning,) = check_run(run_of(case_of((100,) * 9)))
    assert (warning.code, warning.notes) == ("C10W653", ("c10::add/CPU/numpy/a: 9",))


def test_cases_without_a_time_are_not_counted():
    failed = CaseResult("c10::add", "CPU", "numba", "a", {}, "", "timeout")
    assert check_run(run_of(failed)) == ()


def test_load_that_the_run_itself_cannot_explain_is_a_warning():
    run = run_of(case_of(STEADY))
    assert check_run(replace(run, load_after=(2.5, 1.0, 1.0))) == ()
    (warning,) = check_run(replace(run, load_after=(2.6, 1.0, 1.0)))
    assert (warning.code, warning.message) == ("C10W654", "load changed during the run")
    assert warning.notes == ("load average 0.5 before and 2.6 after, on 2 CPUs",)
