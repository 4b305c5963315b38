"""Calls beside writers: a call keeps its snapshot, and no lock is held while user code runs."""

import sys
import threading
import time

import pytest

from c10cli.arrays.tensor_types import register_tensor_type
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.errors import NoKernelError, RegistrationError, StaleHandleError

SCHEMA = "t::f(Tensor x) -> int"
PATIENCE_S = 10


def constant(value):
    return lambda x: value


@pytest.fixture
def op(dispatcher):
    return dispatcher.register_schema(SCHEMA)


@pytest.fixture
def start():
    """``start(function)``: a thread that runs it; what it raises, the test raises when it ends."""
    threads, errors = [], []

    def begin(function):
        def run():
            try:
                function()
            except BaseException as error:  # noqa: BLE001 - the test itself raises it
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        threads.append(thread)
        thread.start()
        return thread

    yield begin
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not [thread for thread in threads if thread.is_alive()], "deadlock"
    if errors:
        raise errors[0]


def join(*threads):
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "deadlock"


def test_calls_beside_registrations_see_one_kernel_or_none(dispatcher, op, x, start):
    stop = time.monotonic() + 1
    seen = set()

    def call():
        while time.monotonic() < stop:
            try:
                seen.add(op.call(x))
                seen.add(op.lookup(x)(x))
                stack = [x]
                op.call_boxed(stack)
                seen.add(stack[0])
            except NoKernelError:
                seen.add(None)

    def write():
        while time.monotonic() < stop:
            with dispatcher.register_kernel(op, "CPU", constant(1)):
                with dispatcher.register_kernel(op, "CPU", constant(2), override=True):
                    assert op.call(x) == 2
                assert op.call(x) == 1
            with pytest.raises(NoKernelError):
                op.call(x)

    join(*[start(call) for _ in range(4)], start(write))
    assert seen <= {None, 1, 2}
    assert seen & {1, 2}


READERS = 4
NO_KERNEL, STALE = "no kernel", "stale"


class Storm:
    """A writer that changes one operator over and over, and knows what a call may have given when.

    ``possible[step]`` is what a call may give during that step, which begins
    before its change is made: what served before, and what serves after.
    """

    def __init__(self, dispatcher):
        self.dispatcher = dispatcher
        self.op = dispatcher.register_schema(SCHEMA)
        self.possible = [{NO_KERNEL}]
        self.registrars = []

    def step(self, change, after):
        self.possible.append({*after, self.serving()})
        change()

    def serving(self):
        return self.registrars[-1][0] if self.registrars else NO_KERNEL

    def add(self):
        value = len(self.possible)
        registrars, override = self.registrars, bool(self.registrars)

        def change():
            registrar = self.dispatcher.register_kernel(self.op, "CPU", constant(value), override=override)
            registrars.append((value, registrar))

        self.step(change, {value})

    def close(self, index):
        left = [value for i, (value, _) in enumerate(self.registrars) if i != index]
        self.step(self.registrars[index][1].close, {left[-1] if left else NO_KERNEL})
        del self.registrars[index]

    def renew(self):
        def change():
            self.dispatcher.deregister_schema(self.op)
            self.op = self.dispatcher.register_schema(SCHEMA)

        self.step(change, {STALE, NO_KERNEL})

    def round(self):
        self.add(), self.add(), self.add()
        self.close(1), self.close(1), self.close(0)
        self.renew()


@pytest.mark.parametrize(("checked", "calls"), [(False, 1_000_000), (True, 200_000)])
def test_calls_beside_a_storm_give_what_a_live_registration_gives(x, start, checked, calls):
    storm, finished, wrong = Storm(Dispatcher(checked=checked)), [], []
    possible, kinds = storm.possible, set()

    def read():
        for _ in range(calls // READERS):
            first = len(possible) - 1
            try:
                result = storm.op.call(x)
            except NoKernelError:
                result = NO_KERNEL
            except StaleHandleError:
                result = STALE
            if result not in possible[first] and not any(result in p for p in possible[first:]):
                wrong.append((first, len(possible), result))
            kinds.add(type(result))
        finished.append(1)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # many slices: the readers are interrupted thousands of times
    try:
        threads = [start(read) for _ in range(READERS)]
        while len(finished) < READERS and any(thread.is_alive() for thread in threads):
            storm.round()
    finally:
        sys.setswitchinterval(interval)
    join(*threads)
    assert (wrong, len(finished), kinds) == ([], READERS, {int, str})
    assert len(possible) > 100


def test_calls_beside_deregistration_of_the_operator_end_or_go_stale(dispatcher, x, start):
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


def test_threads_that_register_at_once_all_succeed(dispatcher, x, start):
    def register(number):
        for i in range(200):
            op = dispatcher.register_schema(f"t::n{number}_{i}(Tensor x) -> int")
            dispatcher.register_kernel(op, "CPU", constant(i))
            assert op.call(x) == i

    join(*[start(lambda n=n: register(n)) for n in range(8)])
    assert len(dispatcher.operators()) == 1600


def test_of_threads_that_register_one_name_one_succeeds(dispatcher, start):
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


def test_a_running_kernel_blocks_no_registration(dispatcher, op, tensor, start):
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


def test_a_cache_creator_may_wait_for_a_thread_that_registers(dispatcher, op, tensor, start):
    def create():
        join(start(lambda: dispatcher.register_kernel(op, "CUDA", constant(2))))
        return 1

    dispatcher.register_kernel(op, "CPU", lambda x, cache: cache, create)
    assert op.lookup(tensor())(tensor()) == 1
    assert op.call(tensor("CUDA")) == 2


def test_kernels_that_call_each_other_do_not_deadlock(dispatcher, x, start):
    ops = [dispatcher.register_schema(f"t::{name}(Tensor x, int depth) -> int") for name in "ab"]
    for own, other in (ops, ops[::-1]):
        dispatcher.register_kernel(
            own, "CPU", lambda x, depth, other=other: depth and 1 + other.call(x, depth - 1)
        )
    results = []
    join(*[start(lambda op=op: results.append([op.call(x, 40) for _ in range(50)])) for op in ops])
    assert results == [[40] * 50] * 2


class SlowSource:
    """A kernel whose first load waits, as an import may."""

    name = "slow.py:f"

    def __init__(self, function):
        self.function = function
        self.loading, self.go_on = threading.Event(), threading.Event()

    def load(self):
        self.loading.set()
        assert self.go_on.wait(PATIENCE_S)
        return self.function, None, False


def test_loading_a_kernel_blocks_no_writer_and_may_register(dispatcher, op, tensor, start):
    source = SlowSource(constant(1))
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
def test_a_slow_first_lookup_does_not_bring_a_deregistered_kernel_back(dispatcher, op, x, start, call):
    source = SlowSource(constant(1))
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


def test_a_slow_first_lookup_does_not_serve_the_operator_that_took_the_name(dispatcher, op, x, start):
    source = SlowSource(constant(1))
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


def test_writers_wait_for_a_transaction_and_readers_do_not(dispatcher, op, tensor, start):
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


def test_new_dispatchers_beside_newly_taught_types_do_no_harm(start):
    def create():
        for _ in range(300):
            Dispatcher()

    def teach():
        for i in range(100):
            register_tensor_type(type(f"Grid{i}", (), {}), "CPU")

    join(*[start(create) for _ in range(3)], start(teach))


def test_threads_in_transactions_of_their_own_dispatchers_may_both_teach_types(start):
    together = threading.Barrier(2)

    def teach(name):
        dispatcher = Dispatcher()
        with dispatcher.transaction():
            dispatcher.register_schema(SCHEMA)
            together.wait(PATIENCE_S)
            register_tensor_type(type(name, (), {}), "CPU")

    join(start(lambda: teach("One")), start(lambda: teach("Other")))


def test_teaching_a_type_waits_for_no_transaction_and_counts_at_once(dispatcher, op, start):
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
    dispatcher, op, start, call
):
    class Grid:
        pass

    register_tensor_type(Grid, "CPU")
    source = SlowSource(constant(1))
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


def test_calls_beside_taught_types_and_registrations_never_run_what_is_gone(dispatcher, op, start):
    class Grid:
        pass

    register_tensor_type(Grid, "CPU")
    stop = time.monotonic() + 1
    grid = Grid()

    def teach():
        while time.monotonic() < stop:
            register_tensor_type(Grid, "CPU")

    def write():
        value = 0
        while time.monotonic() < stop:
            value += 1
            with dispatcher.register_kernel(op, "CPU", constant(value)):
                assert op.call(grid) == value
            with pytest.raises(NoKernelError):
                op.call(grid)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        join(start(teach), start(teach), start(write))
    finally:
        sys.setswitchinterval(interval)
