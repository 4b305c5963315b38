import copy
import pickle

import pytest

from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.registration import ops

SCHEMA = "t::f(Tensor x) -> int"


@pytest.fixture
def unique(dispatcher):
    """What there is one of, by kind."""
    op = dispatcher.register_schema(SCHEMA)
    registrar = dispatcher.register_kernel(op, "CPU", lambda x: 1)
    return {
        "handle": op,
        "dispatcher": dispatcher,
        "registrar": registrar,
        "ops": ops,
        "namespace": ops.t,
        "call": op.call,
    }


KINDS = ["handle", "dispatcher", "registrar", "ops", "namespace"]


@pytest.mark.parametrize("kind", [*KINDS, "call"])
def test_a_copy_is_the_thing_itself(unique, kind):
    thing = unique[kind]
    assert copy.copy(thing) is thing
    assert copy.deepcopy([thing])[0] is thing


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_not_pickled(unique, kind, protocol):
    with pytest.raises(TypeError) as caught:
        pickle.dumps([unique[kind]], protocol)
    assert str(caught.value) == (
        f"{unique[kind]!r} cannot be pickled, because it belongs to this process;"
        " send the operator's name, and find(...) it in the other one"
    )


def test_a_call_function_is_not_pickled_and_named(unique):
    with pytest.raises(pickle.PicklingError, match="t::f"):
        pickle.dumps(unique["call"])


def test_the_call_function_of_a_checked_operator_is_not_pickled():
    op = Dispatcher(checked=True).register_schema(SCHEMA)
    with pytest.raises(pickle.PicklingError, match="t::f"):
        pickle.dumps(op.call)


def test_a_copied_handle_goes_stale_and_a_copied_registrar_closes(unique, dispatcher, x):
    op, registrar = map(copy.deepcopy, (unique["handle"], unique["registrar"]))
    assert op.call(x) == 1
    registrar.close()
    dispatcher.deregister_schema(unique["handle"])
    assert not op.is_live
