"""Who waits for whom: readers for nobody, writers for each other; each race is made to happen."""

import threading
import weakref

import pytest

from c10cli.arrays.tensor_types import register_tensor_type
from c10cli.dispatch import dispatcher as module
from c10cli.dispatch.dispatch_table import DispatchTable
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.operator import OperatorHandle
from c10cli.dispatch.registration import OpSchemaRegistrar, define_op_schema
from c10cli.errors import NoKernelError

SCHEMA = "t::f(Tensor x) -> int"
PATIENCE_S = 10
MOMENT_S = 0.05  # what a thread that waits for nobody needs far less than


def in_thread(function):
    """``finished(seconds)``: whether *function*, in a thread of its own, ends in so many seconds."""
    done = threading.Event()

    def run():
        function()
        done.set()

    threading.Thread(target=run, daemon=True).start()
    return done.wait


@pytest.fixture(params=[False, True], ids=["unchecked", "checked"])
def op(request):
    """An operator whose CPU has a kernel."""
    op = Dispatcher(checked=request.param).register_schema(SCHEMA)
    op.dispatcher.register_kernel(op, "CPU", lambda x: 1)
    return op


READERS = {
    "call": lambda op, x: op.call(x),
    "op": lambda op, x: op(x),
    "call_boxed": lambda op, x: op.call_boxed([x]),
    "lookup": lambda op, x: op.lookup(x)(x),
    "lookup_on": lambda op, x: op.lookup_on([x]),
    "lookup_key": lambda op, x: op.lookup_key("CPU"),
    "Dispatcher.lookup": lambda op, x: op.dispatcher.lookup(op, [x]),
    "find": lambda op, x: op.dispatcher.find("t::f"),
    "operators": lambda op, x: op.dispatcher.operators(),
    "keys": lambda op, x: op.keys(),
    "dump": lambda op, x: op.dump(),
    "a new dispatcher": lambda op, x: Dispatcher(),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_reader_waits_for_no_writer(op, x, read):
    with op.dispatcher.transaction(), OperatorHandle.publishing:
        assert in_thread(lambda: read(op, x))(PATIENCE_S)


WRITERS = {
    "register_schema": lambda op, registrar: op.dispatcher.register_schema("t::g(Tensor x) -> int"),
    "OpSchemaRegistrar": lambda op, registrar: OpSchemaRegistrar("t::g(Tensor x) -> int", op.dispatcher),
    "define_op_schema": lambda op, registrar: define_op_schema("t::g(Tensor x) -> int", op.dispatcher)(),
    "deregister_schema": lambda op, registrar: op.dispatcher.deregister_schema("t::empty"),
    "register_kernel": lambda op, registrar: op.dispatcher.register_kernel(op, "XLA", len),
    "deregister_kernel": lambda op, registrar: op.dispatcher.deregister_kernel(op, "CPU"),
    "close": lambda op, registrar: registrar.close(),
    "transaction": lambda op, registrar: op.dispatcher.transaction().__enter__(),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_writer_waits_until_another_thread_has_written(op, write):
    op.dispatcher.register_schema("t::empty(Tensor x) -> int")
    registrar = op.dispatcher.register_kernel(op, "CUDA", lambda x: 2)
    with op.dispatcher.transaction():
        finished = in_thread(lambda: write(op, registrar))
        assert not finished(MOMENT_S)
    assert finished(PATIENCE_S)


def test_a_getter_does_not_hold_what_it_waits_with(op):
    getter = define_op_schema("t::g(Tensor x) -> int", op.dispatcher)

    def write():
        with op.dispatcher.transaction():
            finished.append(in_thread(getter))
            assert not finished[0](MOMENT_S)
            getter()

    finished = []
    assert in_thread(write)(PATIENCE_S)
    assert finished[0](PATIENCE_S)


def test_a_table_that_is_renewed_does_not_bring_back_a_kernel_that_goes_just_then(op, x, monkeypatch):
    registrar = op.dispatcher.register_kernel(op, "CPU", lambda x: 2, override=True)
    assert op.call(x) == 2
    renewed, finished = DispatchTable.renewed, []

    def slowly(table):
        if table is before:
            finished.append(in_thread(registrar.close))
            finished[0](MOMENT_S)
        return renewed(table)

    before = op.table()
    monkeypatch.setattr(DispatchTable, "renewed", slowly)
    register_tensor_type(type("Grid", (), {}), "CPU")
    assert finished[0](PATIENCE_S)
    assert op.call(x) == 1


def test_an_operator_that_goes_while_its_name_is_looked_for_is_found_or_not(op, monkeypatch):
    select_name = module.select_name

    def slowly(*args):
        name = select_name(*args)
        op.dispatcher.deregister_kernel(op, "CPU")
        op.dispatcher.deregister_schema(op)
        return name

    monkeypatch.setattr(module, "select_name", slowly)
    assert op.dispatcher.find("t::f") is op
    assert not op.is_live


def test_an_operator_that_comes_while_a_type_is_taught_does_no_harm(op, monkeypatch):
    forget = OperatorHandle.forget

    def slowly(handle):
        if handle is op:
            op.dispatcher.register_schema("t::g(Tensor x) -> int")
        forget(handle)

    monkeypatch.setattr(OperatorHandle, "forget", slowly)
    register_tensor_type(type("Grid", (), {}), "CPU")
    assert len(op.dispatcher.operators()) == 2


class SlowToMake(Dispatcher):
    _singleton = None

    def __init__(self):
        threading.Event().wait(MOMENT_S)  # long enough for the others to come
        super().__init__()


def test_threads_that_ask_first_for_the_singleton_get_the_same():
    found = []
    finished = [in_thread(lambda: found.append(SlowToMake.singleton())) for _ in range(4)]
    assert all(one(PATIENCE_S) for one in finished)
    assert len({id(dispatcher) for dispatcher in found}) == 1


class SlowToList(weakref.WeakSet):
    """A set that another thread adds to, if it may, while it is being listed."""

    def __iter__(self):
        for number, dispatcher in enumerate(super().__iter__()):
            if not number:
                self.finished = in_thread(Dispatcher)
                self.finished(MOMENT_S)
            yield dispatcher


def test_a_dispatcher_that_comes_while_all_are_listed_does_no_harm(monkeypatch):
    kept = [Dispatcher() for _ in range(3)]
    listed = SlowToList(kept)
    monkeypatch.setattr(module, "_dispatchers", listed)
    register_tensor_type(type("Grid", (), {}), "CPU")
    assert listed.finished(PATIENCE_S)


def test_what_a_checked_call_learned_goes_with_the_table_of_its_beginning(x):
    dispatcher = Dispatcher(checked=True)
    op = dispatcher.register_schema(SCHEMA)

    def kernel(x):
        registrar.close()
        return 1

    registrar = dispatcher.register_kernel(op, "CPU", kernel)
    assert op.call(x) == 1
    for _ in range(2):
        with pytest.raises(NoKernelError):
            op.call(x)
