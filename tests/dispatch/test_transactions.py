"""The body of `with dispatcher.transaction():` is applied entirely or not at all."""

import contextlib

import pytest

from c10cli.arrays.tensor_types import register_tensor_type
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.registration import OpSchemaRegistrar, define_op_schema
from c10cli.errors import RegistrationError, StaleHandleError

SCHEMA = "t::f(Tensor x) -> int"


def constant(value):
    return lambda x: value


@pytest.fixture
def op(dispatcher):
    return dispatcher.register_schema(SCHEMA)


@contextlib.contextmanager
def failing_transaction(dispatcher, failure=ValueError):
    """A transaction whose body raises *failure* at its end; the block goes on behind it."""
    try:
        with dispatcher.transaction() as same:
            yield same
            raise failure
    except failure:
        return


def state(dispatcher):
    return [op.dump() for op in dispatcher.operators()]


def test_a_transaction_that_fails_undoes_registrations(dispatcher, op, tensor):
    dispatcher.register_kernel(op, "CPU", constant(1))
    before = state(dispatcher)
    with failing_transaction(dispatcher) as same:
        assert same is dispatcher
        new = dispatcher.register_schema("t::g(Tensor x) -> int")
        dispatcher.register_kernel(new, "CPU", constant(5))
        dispatcher.register_kernel(op, "CUDA", constant(2))
        dispatcher.register_kernel(op, "CPU", constant(3), override=True)
        assert [op.call(tensor("CUDA")), op.call(tensor())] == [2, 3]
    assert state(dispatcher) == before
    assert op.call(tensor()) == 1
    with pytest.raises(StaleHandleError, match="deregistered at the end of a failed transaction"):
        new.call(tensor())


def test_a_transaction_that_fails_undoes_deregistrations(dispatcher, op, x):
    first = dispatcher.register_kernel(op, "CPU", constant(1))
    second = dispatcher.register_kernel(op, "CPU", constant(2), override=True)
    before = state(dispatcher)
    with failing_transaction(dispatcher):
        first.close()
        assert op.call(x) == 2
        dispatcher.deregister_kernel(op, "CPU")
        dispatcher.deregister_schema(op)
        again = dispatcher.register_schema("t::f(Tensor y) -> int")
        dispatcher.register_kernel(again, "CPU", lambda y: 9)
    assert state(dispatcher) == before
    assert (op.is_live, op.call(x)) == (True, 2)
    second.close()
    assert op.call(x) == 1
    first.close()
    assert op.keys() == ()


def test_the_exception_of_a_transaction_goes_on(dispatcher):
    failure = ValueError("undo")
    with pytest.raises(ValueError, match="undo") as caught, dispatcher.transaction():
        raise failure
    assert caught.value is failure


def test_a_transaction_that_ends_well_keeps_everything(dispatcher, op, x):
    with dispatcher.transaction():
        dispatcher.register_kernel(op, "CPU", constant(1))
    assert op.call(x) == 1


def test_a_transaction_inside_another_is_undone_alone(dispatcher, op, tensor):
    with dispatcher.transaction():
        dispatcher.register_kernel(op, "CPU", constant(1))
        with failing_transaction(dispatcher):
            dispatcher.register_kernel(op, "CUDA", constant(2))
    assert [*map(str, op.keys())] == ["CPU[1]"]


def test_an_outer_transaction_undoes_what_an_inner_one_did(dispatcher, op):
    with failing_transaction(dispatcher):
        with dispatcher.transaction():
            dispatcher.register_kernel(op, "CPU", constant(1))
        dispatcher.register_kernel(op, "CUDA", constant(2))
    assert op.keys() == ()
    dispatcher.register_kernel(op, "CPU", constant(1))
    assert [*map(str, op.keys())] == ["CPU[1]"]


def test_a_transaction_is_undone_for_every_kind_of_exception(dispatcher, op):
    with failing_transaction(dispatcher, KeyboardInterrupt):
        dispatcher.register_kernel(op, "CPU", constant(1))
    assert op.keys() == ()


# Every kind of change, alone, to an operator `t::f` whose CPU has two kernels, the older one of *first*.
CHANGES = {
    "register_schema": lambda d, first: d.register_schema("t::new(Tensor x) -> int"),
    "OpSchemaRegistrar": lambda d, first: OpSchemaRegistrar("t::new(Tensor x) -> int", d),
    "register_kernel": lambda d, first: d.register_kernel("t::f", "CUDA", len),
    "override": lambda d, first: d.register_kernel("t::f", "CPU", len, override=True),
    "deregister_kernel": lambda d, first: d.deregister_kernel("t::f", "CPU"),
    "close": lambda d, first: first.close(),
    "close, twice": lambda d, first: (first.close(), first.close()),
    "register and close": lambda d, first: d.register_kernel("t::f", "CUDA", len).close(),
    "deregister_schema": lambda d, first: d.deregister_schema("t::empty"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_is_undone_by_itself(dispatcher, op, x, change):
    empty = dispatcher.register_schema("t::empty(Tensor x) -> int")
    first = dispatcher.register_kernel(op, "CPU", constant(1))
    second = dispatcher.register_kernel(op, "CPU", constant(2), override=True)
    before = state(dispatcher)
    with failing_transaction(dispatcher):
        change(dispatcher, first)
    assert (state(dispatcher), op.call(x), empty.is_live) == (before, 2, True)
    second.close()
    assert op.call(x) == 1
    first.close()
    assert op.keys() == ()


@pytest.mark.parametrize("fails", [False, True])
def test_what_an_outer_transaction_did_before_and_after_an_inner_one_is_undone(dispatcher, op, fails):
    with failing_transaction(dispatcher):
        dispatcher.register_kernel(op, "CPU", constant(1))
        with failing_transaction(dispatcher) if fails else dispatcher.transaction():
            dispatcher.register_kernel(op, "CUDA", constant(2))
        dispatcher.register_kernel(op, "XLA", constant(3))
    assert op.keys() == ()


def test_a_registration_that_is_refused_inside_a_transaction_leaves_what_was_there(dispatcher, op, x):
    with dispatcher.transaction():
        dispatcher.register_kernel(op, "CPU", constant(1))
        for refused in (
            lambda: dispatcher.register_kernel(op, "CPU", constant(2)),
            lambda: dispatcher.register_schema(SCHEMA),
            lambda: dispatcher.deregister_schema(op),
            lambda: dispatcher.deregister_kernel(op, "CUDA"),
        ):
            with pytest.raises(RegistrationError):
                refused()
    assert (op.call(x), dispatcher.operators()) == (1, [op])


def test_nothing_is_kept_of_a_transaction_that_ended(dispatcher, op, alive, counted):
    def kernel(x):
        return 1

    with dispatcher.transaction():
        dispatcher.register_schema("t::g(Tensor x) -> int")
    dispatcher.register_kernel(op, "CPU", alive.track(kernel)).close()
    del kernel
    assert len(alive) == 0


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("change", ["deregister_kernel", "close", "deregister_schema"])
def test_what_tables_had_learned_of_types_that_were_taught_anew_is_not_brought_back(change, checked):
    class Grid:
        pass

    dispatcher = Dispatcher(checked=checked)
    op = dispatcher.register_schema("t::f(Tensor x) -> str")
    cpu, cuda = (dispatcher.register_kernel(op, key, constant(key)) for key in ("CPU", "CUDA"))
    register_tensor_type(Grid, "CPU")
    assert [op.call(Grid()), op.call(Grid()), op.lookup(Grid()).dispatch_key.name] == ["CPU"] * 3
    with failing_transaction(dispatcher):
        if change == "close":
            cpu.close()
        else:
            dispatcher.deregister_kernel(op, "CPU")
        if change == "deregister_schema":
            cuda.close()
            dispatcher.deregister_schema(op)
        register_tensor_type(Grid, "CUDA")
    assert [op.call(Grid()), op.call(Grid()), op.lookup(Grid()).dispatch_key.name] == ["CUDA"] * 3


def test_a_getter_first_used_in_a_transaction_that_failed_registers_again(dispatcher):
    getter = define_op_schema("t::getter(Tensor x) -> int", dispatcher)

    def use_and_fail():
        with dispatcher.transaction():
            assert getter().is_live
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        use_and_fail()
    assert [str(op.name) for op in dispatcher.operators()] == []
    assert getter().is_live
    assert getter() is getter() is dispatcher.find("t::getter")
