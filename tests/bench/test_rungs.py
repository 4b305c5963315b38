import numpy as np
import pytest

from c10cli import parse_schema
from c10cli.bench import rungs as module
from c10cli.bench.ladder import RUNGS
from c10cli.bench.rungs import make_operator, make_rounds
from c10cli.dispatch.kernel import bind_kernel


@pytest.fixture
def calls():
    return []


@pytest.fixture
def rounds(calls):
    """The rungs of a kernel that notes its arguments."""

    def rounds(schema, arguments, *, boxed=False, cache=None, result=1, key="CPU", library=""):
        schema = parse_schema(schema, "torch")

        def kernel(*args, **kwargs):
            calls.append((args, kwargs))
            if boxed:
                args[0][-len(schema.arguments) :] = [result]
            return result

        bound = bind_kernel(schema, "kernel", kernel, cache, boxed=boxed)
        return make_rounds(make_operator(schema, bound, "CPU"), bound, key, arguments, library)

    return rounds


X = np.ones(3)
F = "t::f(Tensor x, int n, *, float e) -> int"
ARGUMENTS = {"x": X, "n": 2, "e": 0.5}


def test_there_is_a_body_for_every_rung_that_takes_time(rounds):
    timed = rounds(F, ARGUMENTS)
    assert tuple(timed) == RUNGS
    assert all(body(20) > 0 for body in timed.values())


@pytest.mark.parametrize(
    ("rung", "runs"), [("direct", 5), ("call", 5), ("null", 0), ("lookup", 0), ("dispatch", 0)]
)
def test_only_the_rungs_that_are_to_run_the_kernel_do_and_as_often_as_asked(rounds, calls, rung, runs):
    rounds(F, ARGUMENTS)[rung](5)
    assert len(calls) == runs


@pytest.mark.parametrize("rung", ["direct", "call"])
def test_the_kernel_gets_the_schemas_arguments_keyword_only_ones_by_keyword(rounds, calls, rung):
    rounds(F, ARGUMENTS)[rung](1)
    ((args, kwargs),) = calls
    assert args[0] is X
    assert (args[1:], kwargs) == ((2,), {"e": 0.5})


def test_a_boxed_kernel_is_run_too(rounds, calls):
    timed = rounds("t::f(Tensor x, int n) -> int", {"x": X, "n": 2}, boxed=True)
    timed["call"](2)
    timed["direct"](2)
    assert len(calls) == 4


@pytest.mark.parametrize("rung", ["direct", "call"])
def test_a_kernel_gets_its_cache(rounds, calls, rung):
    rounds("t::f(Tensor x) -> int", {"x": X}, cache=lambda: "cache")[rung](1)
    ((args, kwargs),) = calls
    assert [*args[1:], *kwargs.values()] == ["cache"]


@pytest.mark.parametrize("rung", ["direct", "call"])
def test_what_a_kernel_writes_is_new_for_every_call(rounds, calls, rung):
    schema = "t::f(Tensor(a!) x, *, Tensor y) -> ()"
    arguments = {"x": X, "y": np.zeros(2)}
    rounds(schema, arguments, result=None)[rung](3)
    written = [args[0] for args, _ in calls]
    assert len({id(array) for array in written}) == 3
    assert all(array is not X and array.tolist() == [1, 1, 1] for array in written)


@pytest.mark.parametrize("rung", ["direct", "call"])
def test_what_no_kernel_writes_is_the_same_every_time(rounds, calls, rung):
    rounds(F, ARGUMENTS)[rung](2)
    assert all(args[0] is X for args, _ in calls)


@pytest.mark.parametrize(
    "schema",
    [
        "t::f(Tensor x) -> ()",
        "t::f(Tensor x) -> (int, int)",
        "t::f(Tensor lambda, *, int async=1) -> int",
        "t::f(Tensor x, *, int null=1, int function=2) -> int",
    ],
)
def test_every_schema_has_its_null_function(rounds, schema):
    parsed = parse_schema(schema, "torch")
    arguments = parsed.bind((X,), {})
    result = {0: None, 1: 1, 2: (1, 1)}[len(parsed.returns)]
    assert all(body(3) > 0 for body in rounds(schema, arguments, result=result).values())


def test_a_chunk_ends_when_the_device_is_done_but_only_where_a_kernel_runs(rounds, monkeypatch):
    waits = []
    monkeypatch.setattr(module, "synchronizer", lambda device: lambda: waits.append(device.dispatch_key))
    timed = rounds(F, ARGUMENTS)
    for rung in ("null", "lookup", "dispatch"):
        timed[rung](4)
    assert waits == []
    assert timed["direct"](4) > 0
    assert timed["call"](4) > 0
    assert waits == ["CPU", "CPU"]


@pytest.mark.parametrize("schema", [F, "t::f(Tensor(a!) x, int n, *, float e) -> int"])
def test_results_that_come_before_they_are_computed_are_waited_for_one_by_one(rounds, monkeypatch, schema):
    asked, waited = [], []
    monkeypatch.setattr(module, "waiter", lambda device: asked.append(device.library) or waited.append)
    timed = rounds(schema, ARGUMENTS, result=7, library="numpy")
    for rung in ("null", "lookup", "dispatch"):
        timed[rung](4)
    assert waited == []
    assert timed["direct"](4) > 0
    assert timed["call"](3) > 0
    assert waited == [7] * 7
    assert set(asked) == {"numpy"}


def test_waiting_counts_as_time_of_the_chunk(rounds, monkeypatch):
    now = 0

    def wait():
        nonlocal now
        now += 1000

    monkeypatch.setattr(module, "synchronizer", lambda device: wait)
    monkeypatch.setattr(module, "SYSTEM_CLOCK", lambda: now)
    assert rounds(F, ARGUMENTS)["call"](4) == 1000
