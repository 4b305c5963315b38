"""The table is a function of the set of registrations: every order of making them leads to the same one."""

import itertools

import pytest

from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.errors import C10Error

SCHEMA = "t::f(Tensor x) -> str"
# Each a registration, by key; `Undefined` and one more have no kernel in any order.
KEYS = ("CPU", "CUDA", "XLA", "Meta", "OrdersA", "OrdersB")


@pytest.fixture(scope="module")
def tensors():
    from c10cli.arrays.keys import DispatchKey
    from c10cli.arrays.tensor_types import register_tensor_type

    made = {}
    for name in (*KEYS, "Undefined", "HIP"):
        DispatchKey.register(name)
        tensor_type = type(f"On{name}", (), {"dtype": "float32", "shape": (1,)})
        register_tensor_type(tensor_type, name)
        made[name] = tensor_type()
    return made


def kernel(key):
    return lambda x: key


KERNELS = {key: kernel(key) for key in KEYS}


def shown(call, *args):
    """What *call* gives, or its error with everything it says and carries."""
    try:
        return call(*args)
    except C10Error as error:
        return type(error), error.diagnostics, error.facts


def observed(op, tensors):
    """All that anybody can see of the table of *op*."""
    dispatcher = op.dispatcher
    seen = [op.dump(), op.keys(), shown(dispatcher.deregister_schema, op) if op.keys() else None]
    present = {key.name for key in seen[1]}
    for name, tensor in tensors.items():
        seen += [shown(op.call, tensor), shown(op.call, tensor), shown(lambda t: op.lookup(t).name, tensor)]
        if name in present:
            seen.append(shown(lambda k: dispatcher.register_kernel(op, k, KERNELS["CPU"], site="late"), name))
        else:
            seen.append(shown(dispatcher.deregister_kernel, op, name))
    return seen


def histories(registered, removed):
    """Every order of registering the keys *registered* and removing those in *removed* again."""
    events = [("add", key) for key in registered] + [("remove", key) for key in removed]
    for order in itertools.permutations(events):
        if all(order.index(("add", key)) < order.index(("remove", key)) for key in removed):
            yield order


def after(history, calls, tensors):
    op = Dispatcher().register_schema(SCHEMA, site="here")
    for event, key in history:
        if event == "add":
            op.dispatcher.register_kernel(op, key, KERNELS[key], site=f"{key}.py:1")
        else:
            op.dispatcher.deregister_kernel(op, key)
        if calls:  # what a table learned must not outlive it
            for name in KEYS:
                shown(op.call, tensors[name])
    return op


CASES = [
    (KEYS[:count], removed)
    for count in range(1, 7)
    for size in range(min(count, 6 - count) + 1)
    for removed in [KEYS[:size], KEYS[count - size : count]][: 1 + bool(size)]
]


@pytest.mark.parametrize(("registered", "removed"), CASES)
def test_every_order_of_up_to_six_events_leads_to_the_same_table_and_messages(tensors, registered, removed):
    left = [key for key in registered if key not in removed]
    expected = observed(after([("add", key) for key in left], False, tensors), tensors)
    for history in histories(registered, removed):
        for calls in (False, True)[: 1 + (len(history) < 6)]:
            assert observed(after(history, calls, tensors), tensors) == expected, history
