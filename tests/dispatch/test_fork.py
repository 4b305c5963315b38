"""A forked child can register and call, whatever the threads of its parent were doing."""

import multiprocessing
import threading
import warnings

import pytest

from c10cli.arrays.keys import DispatchKey
from c10cli.dispatch import dispatcher as module
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.operator import OperatorHandle
from c10cli.dispatch.registration import define_op_schema

PATIENCE_S = 20

pytestmark = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork"
)


@pytest.fixture
def in_fork():
    """``in_fork(function)``: what *function* returns in a forked child, or the error that it raised."""
    context = multiprocessing.get_context("fork")

    def run(function):
        queue = context.SimpleQueue()

        def work():
            try:
                queue.put(function())
            except BaseException as error:  # noqa: BLE001 - the test itself judges it
                queue.put(repr(error))

        child = context.Process(target=work)
        with warnings.catch_warnings():  # Python 3.12 warns of threads, which are what is tested
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        child.join(PATIENCE_S)
        stuck = child.is_alive()
        if stuck:
            child.kill()
            child.join()
        assert not stuck, "the child is stuck"
        return queue.get()

    return run


@pytest.fixture
def busy():
    """``busy(body)``: *body* runs in another thread, which goes on until the test ends."""
    done, threads = threading.Event(), []

    def start(body):
        inside = threading.Event()
        thread = threading.Thread(target=body, args=(inside, done), daemon=True)
        threads.append(thread)
        thread.start()
        assert inside.wait(PATIENCE_S)

    yield start
    done.set()
    for thread in threads:
        thread.join(PATIENCE_S)


def register_and_call(dispatcher, x):
    op = dispatcher.register_schema("t::new(Tensor x) -> int")
    dispatcher.register_kernel(op, "CPU", lambda x: 5)
    return op.call(x)


def test_a_child_registers_and_calls_while_a_thread_of_the_parent_holds_the_lock(
    dispatcher, x, in_fork, busy
):
    def hold(inside, done):
        with dispatcher.writing, OperatorHandle.publishing:
            inside.set()
            done.wait(PATIENCE_S)

    busy(hold)
    assert in_fork(lambda: register_and_call(dispatcher, x)) == 5
    assert in_fork(lambda: DispatchKey.register("ForkNPU").name) == "ForkNPU"
    assert in_fork(lambda: define_op_schema("t::g(Tensor x) -> int", dispatcher)().is_live) is True


def test_what_an_open_transaction_of_the_parent_did_is_undone_in_the_child(dispatcher, tensor, in_fork, busy):
    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    dispatcher.register_kernel(op, "CPU", lambda x: 1)

    def hold(inside, done):
        with dispatcher.transaction():
            dispatcher.register_kernel(op, "CUDA", lambda x: 2)
            with dispatcher.transaction():
                dispatcher.register_kernel(op, "CPU", lambda x: 3, override=True)
                inside.set()
                done.wait(PATIENCE_S)

    busy(hold)
    assert op.call(tensor()) == 3
    assert in_fork(lambda: (op.call(tensor()), [*map(str, op.keys())])) == (1, ["CPU[1]"])
    assert in_fork(lambda: register_and_call(dispatcher, tensor())) == 5


def test_a_child_forked_inside_a_transaction_of_its_own_thread_goes_on_with_it(dispatcher, x, in_fork):
    with dispatcher.transaction():
        op = dispatcher.register_schema("t::f(Tensor x) -> int")
        dispatcher.register_kernel(op, "CPU", lambda x: 1)
        assert in_fork(lambda: (op.call(x), register_and_call(dispatcher, x))) == (1, 5)


def test_the_singleton_and_its_lock_are_usable_in_a_child(x, in_fork, busy):
    def hold(inside, done):
        with module._listing:
            inside.set()
            done.wait(PATIENCE_S)

    busy(hold)
    assert in_fork(lambda: register_and_call(Dispatcher.singleton(), x)) == 5
