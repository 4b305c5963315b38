"""Teaching tensor types beside calls, registrations and transactions."""

import sys
import threading

import pytest

from c10cli.arrays.tensor_types import register_tensor_type
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.errors import NoKernelError

SCHEMA = "t::f(Tensor x) -> int"
PATIENCE_S = 10


def constant(value):
    return lambda x: value


@pytest.fixture
def op(dispatcher):
    return dispatcher.register_schema(SCHEMA)


def test_new_dispatchers_beside_newly_taught_types_do_no_harm(start, join):
    def create():
        for _ in range(300):
            Dispatcher()

    def teach():
        for i in range(100):
            register_tensor_type(type(f"Grid{i}", (), {}), "CPU")

    join(*[start(create) for _ in range(3)], start(teach))


def test_threads_in_transactions_of_their_own_dispatchers_may_both_teach_types(start, join):
    together = threading.Barrier(2)

    def teach(name):
        dispatcher = Dispatcher()
        with dispatcher.transaction():
            dispatcher.register_schema(SCHEMA)
            together.wait(PATIENCE_S)
            register_tensor_type(type(name, (), {}), "CPU")

    join(start(lambda: teach("One")), start(lambda: teach("Other")))


def test_teaching_a_type_waits_for_no_transaction_and_counts_at_once(dispatcher, op, start, join):
    class Grid:
        pass

    for key, value in (("CPU", 1), ("CUDA", 2)):
        dispatcher.register_kernel(op, key, constant(value))
    register_tensor_type(Grid, "CPU")
    assert op.call(Grid()) == 1
    inside, done = threading.Event(), threading.Event()

    def hold():
        with dispatcher.transaction():
            inside.set()
            assert done.wait(PATIENCE_S)

    thread = start(hold)
    assert inside.wait(PATIENCE_S)
    try:
        join(start(lambda: register_tensor_type(Grid, "CUDA")))
        assert op.call(Grid()) == op.lookup(Grid())(Grid()) == 2
    finally:
        done.set()
    join(thread)


@pytest.mark.parametrize("call", ["call", "lookup"])
def test_a_slow_lookup_that_began_before_a_type_was_taught_anew_does_not_bring_its_old_key_back(
    dispatcher, op, start, call, slow_source, join
):
    class Grid:
        pass

    register_tensor_type(Grid, "CPU")
    source = slow_source(constant(1))
    dispatcher.register_kernel(op, "CPU", source)
    dispatcher.register_kernel(op, "CUDA", constant(2))
    first = (lambda: op.call(Grid())) if call == "call" else (lambda: op.lookup(Grid())(Grid()))
    results = []
    thread = start(lambda: results.append(first()))
    assert source.loading.wait(PATIENCE_S)  # the key is found, and not remembered yet
    register_tensor_type(Grid, "CUDA")
    assert first() == 2
    source.go_on.set()
    join(thread)
    assert results == [1]
    assert [op.call(Grid()), op.lookup(Grid())(Grid())] == [2, 2]


def test_calls_beside_taught_types_and_registrations_never_run_what_is_gone(dispatcher, op, start, join):
    class Grid:
        pass

    register_tensor_type(Grid, "CPU")
    grid, done = Grid(), threading.Event()

    def teach():
        while not done.is_set():
            register_tensor_type(Grid, "CPU")

    def write():
        for value in range(200):
            with dispatcher.register_kernel(op, "CPU", constant(value)):
                assert op.call(grid) == value
            with pytest.raises(NoKernelError):
                op.call(grid)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        teachers = [start(teach), start(teach)]
        write()
    finally:
        done.set()
        sys.setswitchinterval(interval)
    join(*teachers)
