"""Three mistakes that end other dispatchers' processes; here each ends in a named error or a right call."""

import gc
import threading

import pytest

from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.registration import OpSchemaRegistrar, ops
from c10cli.errors import KernelError, StaleHandleError

PATIENCE_S = 10


def test_an_operator_that_outlives_its_registrar_says_so(x):
    def use_and_return():
        schema = OpSchemaRegistrar("test_mistakes::f(Tensor x) -> int")
        with schema as op, op.dispatcher.register_kernel(op, "CPU", lambda x: 1):
            assert op.call(x) == 1
            return op, op.call, ops.test_mistakes.f, op.lookup(x)

    op, call, attribute, held = use_and_return()
    gc.collect()
    for use in (op, call, attribute, op.lookup, lambda x: op.call_boxed([x])):
        with pytest.raises(
            StaleHandleError, match="`test_mistakes::f` is stale: the operator was deregistered"
        ):
            use(x)
    assert held(x) == 1


def test_an_operator_whose_dispatcher_went_out_of_scope_goes_on_working(x):
    def make():
        dispatcher = Dispatcher()
        op = dispatcher.register_schema("t::f(Tensor x) -> int")
        dispatcher.register_kernel(op, "CPU", lambda x: 1)
        return op

    op = make()
    gc.collect()
    assert op.call(x) == 1
    op.dispatcher.register_kernel(op, "CPU", lambda x: 2, override=True)
    assert op.call(x) == 2


def test_four_threads_call_while_another_registers_and_closes_an_override(dispatcher, x):
    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    dispatcher.register_kernel(op, "CPU", lambda x: 1)
    over, seen, errors = threading.Event(), set(), []

    def call():
        try:
            while not over.is_set():
                seen.add(op.call(x))
        except BaseException as error:  # noqa: BLE001 - the test itself judges it
            errors.append(error)

    threads = [threading.Thread(target=call, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(1000):
        with dispatcher.register_kernel(op, "CPU", lambda x: 2, override=True):
            assert op.call(x) == 2
        assert op.call(x) == 1
    over.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert (errors, seen <= {1, 2}, 1 in seen) == ([], True, True)


@pytest.mark.parametrize("checked", [False, True], ids=["unchecked", "checked"])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 100])
def test_a_kernel_with_the_wrong_number_of_returns_is_an_error(x, count, checked):
    dispatcher = Dispatcher(checked=checked)
    op = dispatcher.register_schema("t::f(Tensor x) -> (int, int)")
    dispatcher.register_kernel(op, "CPU", lambda x: (7,) * count)
    held = op.lookup(x)
    for call in (op.call, op, held, held.unboxed, lambda x: op.call_boxed([x]), lambda x: held.call([x])):
        with pytest.raises(KernelError, match="where the schema returns 2") as caught:
            call(x)
        assert caught.value.code == "C10E502"
