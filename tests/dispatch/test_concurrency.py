"""Calls beside writers: a call keeps its snapshot, and no lock is held while user code runs."""

import threading

import pytest

from c10cli.errors import NoKernelError, RegistrationError, StaleHandleError

SCHEMA = "t::f(Tensor x) -> int"
PATIENCE_S = 10


def constant(value):
    return lambda x: value


@pytest.fixture
def op(dispatcher):
    return dispatcher.register_schema(SCHEMA)


def test_calls_beside_registrations_see_one_kernel_or_none(dispatcher, op, x, start, join):
    seen, done = set(), threading.Event()

    def call():
        while not done.is_set():
            try:
                seen.add(op.call(x))
                seen.add(op.lookup(x)(x))
                stack = [x]
                op.call_boxed(stack)
                seen.add(stack[0])
            except NoKernelError:
                seen.add(None)

    readers = [start(call) for _ in range(4)]
    try:
        for number in range(20_000):  # on a busy machine the readers come late
            if number >= 200 and seen == {None, 1, 2}:
                break
            with dispatcher.register_kernel(op, "CPU", constant(1)):
                with dispatcher.register_kernel(op, "CPU", constant(2), override=True):
                    assert op.call(x) == 2
                assert op.call(x) == 1
            with pytest.raises(NoKernelError):
                op.call(x)
    finally:
        done.set()
    join(*readers)
    assert seen == {None, 1, 2}


def test_calls_beside_deregistration_of_the_operator_end_or_go_stale(dispatcher, x, start, join):
    rounds = 20
    results = []

    def call(op):
        try:
            while True:
                assert op.call(x) == 1
        except (NoKernelError, StaleHandleError):
            results.append(1)

    for _ in range(rounds):
        op = dispatcher.register_schema(SCHEMA)
        registrar = dispatcher.register_kernel(op, "CPU", constant(1))
        threads = [start(lambda op=op: call(op)) for _ in range(2)]
        registrar.close()
        dispatcher.deregister_schema(op)
        join(*threads)
    assert len(results) == 2 * rounds


def test_threads_that_register_at_once_all_succeed(dispatcher, x, start, join):
    def register(number):
        for i in range(200):
            op = dispatcher.register_schema(f"t::n{number}_{i}(Tensor x) -> int")
            dispatcher.register_kernel(op, "CPU", constant(i))
            assert op.call(x) == i

    join(*[start(lambda n=n: register(n)) for n in range(8)])
    assert len(dispatcher.operators()) == 1600


def test_of_threads_that_register_one_name_one_succeeds(dispatcher, start, join):
    outcomes, together = [], threading.Barrier(8)

    def register():
        together.wait(PATIENCE_S)
        try:
            outcomes.append(dispatcher.register_schema(SCHEMA))
        except RegistrationError as error:
            outcomes.append(error.code)

    join(*[start(register) for _ in range(8)])
    assert outcomes.count("C10E301") == 7
    assert dispatcher.find("t::f") in outcomes


def test_a_running_kernel_blocks_no_registration(dispatcher, op, tensor, start, join):
    running, go_on = threading.Event(), threading.Event()

    def slow(x):
        running.set()
        assert go_on.wait(PATIENCE_S)
        return 1

    dispatcher.register_kernel(op, "CPU", slow)
    results = []
    thread = start(lambda: results.append(op.call(tensor())))
    assert running.wait(PATIENCE_S)
    dispatcher.register_kernel(op, "CUDA", constant(2))
    dispatcher.deregister_kernel(op, "CPU")
    assert op.call(tensor("CUDA")) == 2
    go_on.set()
    join(thread)
    assert results == [1]


def test_a_kernel_may_register_and_deregister_itself(dispatcher, op, tensor):
    def kernel(x):
        new = dispatcher.register_schema("t::made_inside(Tensor x) -> int")
        dispatcher.register_kernel(new, "CPU", constant(5))
        dispatcher.register_kernel(op, "CUDA", constant(2))
        dispatcher.deregister_kernel(op, "CPU")
        return new.call(x)

    dispatcher.register_kernel(op, "CPU", kernel)
    assert [op.call(tensor()), op.call(tensor("CUDA"))] == [5, 2]
    with pytest.raises(NoKernelError):
        op.call(tensor())


def test_a_cache_creator_may_wait_for_a_thread_that_registers(dispatcher, op, tensor, start, join):
    def create():
        join(start(lambda: dispatcher.register_kernel(op, "CUDA", constant(2))))
        return 1

    dispatcher.register_kernel(op, "CPU", lambda x, cache: cache, create)
    assert op.lookup(tensor())(tensor()) == 1
    assert op.call(tensor("CUDA")) == 2


def test_kernels_that_call_each_other_do_not_deadlock(dispatcher, x, start, join):
    ops = [dispatcher.register_schema(f"t::{name}(Tensor x, int depth) -> int") for name in "ab"]
    for own, other in (ops, ops[::-1]):
        dispatcher.register_kernel(
            own, "CPU", lambda x, depth, other=other: depth and 1 + other.call(x, depth - 1)
        )
    results = []
    join(*[start(lambda op=op: results.append([op.call(x, 40) for _ in range(50)])) for op in ops])
    assert results == [[40] * 50] * 2


def test_loading_a_kernel_blocks_no_writer_and_may_register(dispatcher, op, tensor, start, slow_source, join):
    source = slow_source(constant(1))
    dispatcher.register_kernel(op, "CPU", source)
    results = []
    thread = start(lambda: results.append(op.call(tensor())))
    assert source.loading.wait(PATIENCE_S)
    dispatcher.register_kernel(op, "CUDA", constant(2))
    assert op.call(tensor("CUDA")) == 2
    source.go_on.set()
    join(thread)
    assert results == [1]


@pytest.mark.parametrize("call", ["call", "lookup"])
def test_a_slow_first_lookup_does_not_bring_a_deregistered_kernel_back(
    dispatcher, op, x, start, call, slow_source, join
):
    source = slow_source(constant(1))
    registrar = dispatcher.register_kernel(op, "CPU", source)
    results = []
    first = (lambda: op.call(x)) if call == "call" else (lambda: op.lookup(x)(x))
    thread = start(lambda: results.append(first()))
    assert source.loading.wait(PATIENCE_S)
    registrar.close()
    source.go_on.set()
    join(thread)
    assert results == [1]  # it began while the kernel was there
    for _ in range(2):
        with pytest.raises(NoKernelError):
            op.call(x)
    dispatcher.register_kernel(op, "CPU", constant(2))
    assert op.call(x) == 2


def test_a_slow_first_lookup_does_not_serve_the_operator_that_took_the_name(
    dispatcher, op, x, start, slow_source, join
):
    source = slow_source(constant(1))
    registrar = dispatcher.register_kernel(op, "CPU", source)
    results = []
    thread = start(lambda: results.append(op.call(x)))
    assert source.loading.wait(PATIENCE_S)
    registrar.close()
    dispatcher.deregister_schema(op)
    new = dispatcher.register_schema(SCHEMA)
    dispatcher.register_kernel(new, "CPU", constant(2))
    source.go_on.set()
    join(thread)
    assert (results, new.call(x)) == ([1], 2)
    with pytest.raises(StaleHandleError):
        op.call(x)


def test_writers_wait_for_a_transaction_and_readers_do_not(dispatcher, op, tensor, start, join):
    dispatcher.register_kernel(op, "CPU", constant(1))
    inside, done = threading.Event(), threading.Event()
    seen = []

    def register_and_fail():
        with dispatcher.transaction():
            dispatcher.register_kernel(op, "XLA", constant(3))
            inside.set()
            assert done.wait(PATIENCE_S)
            raise ValueError("undo")

    def write():
        assert inside.wait(PATIENCE_S)
        seen.append(op.call(tensor()))
        done.set()
        dispatcher.register_kernel(op, "CUDA", constant(2))

    thread = start(write)
    with pytest.raises(ValueError, match="undo"):
        register_and_fail()
    join(thread)
    assert (seen, [*map(str, op.keys())]) == ([1], ["CPU[1]", "CUDA[2]"])
