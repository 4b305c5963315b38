"""Values whose types or elements no kernel can be chosen for, or make sense of."""

import re

import numpy as np
import pytest

from c10cli import ArgumentError, Dispatcher, KernelError, NoKernelError, register_tensor_type


def refuse(*_):
    raise RuntimeError("not comparable")


METACLASSES = {
    "without a hash": {"__eq__": lambda cls, other: True},
    "equal to all of its kind": {"__eq__": lambda cls, other: True, "__hash__": lambda cls: 1},
    "not hashable": {"__hash__": refuse},
    "not comparable": {"__eq__": refuse, "__hash__": lambda cls: 1},
}


@pytest.fixture(params=[False, True], ids=["plain", "checked"])
def op(request):
    dispatcher = Dispatcher(checked=request.param)
    op = dispatcher.register_schema("t::f(Tensor x) -> Tensor")
    dispatcher.register_kernel(op, "CPU", lambda x: np.array(1.0))
    return op


@pytest.mark.parametrize("attributes", METACLASSES.values(), ids=METACLASSES)
def test_a_type_that_lies_about_what_it_is_equal_to_gets_no_kernel_of_another(op, attributes):
    meta = type("Meta", (type,), attributes)
    here, there = (meta("Odd", (), {"__dlpack_device__": lambda self, n=n: (n, 0)}) for n in (1, 2))
    op.call(np.ones(2))
    for _ in range(2):
        assert op.lookup(here()).dispatch_key.name == "CPU"
        assert op.call(here()) == op(here()) == 1
        with pytest.raises(NoKernelError, match="for dispatch key CUDA"):
            op.call(there())
        with pytest.raises(NoKernelError, match="for dispatch key CUDA"):
            op.lookup(there())
        with pytest.raises(ArgumentError, match="which is no known tensor"):
            op.lookup(meta("None", (), {})())


@pytest.mark.parametrize("given", [None, (), ("cpu", 0), RuntimeError("not today")])
def test_a_dlpack_device_that_is_none_is_our_error(op, given):
    def device(self):
        if isinstance(given, Exception):
            raise given
        return given

    value = type("Exporter", (), {"__dlpack_device__": device})()
    for ask in (op.lookup, op.call, op):
        with pytest.raises(ArgumentError, match="does not say where it lives"):
            ask(value)
    off = type("Off", (), {"__dlpack_device__": None})()
    for ask in (op.lookup, op.call, op):
        with pytest.raises(ArgumentError):
            ask(off)


def test_a_masked_array_is_no_tensor(op):
    masked = np.ma.array([[1, 2, 1e6]], mask=[[0, 0, 1]])
    for ask in (op.lookup, op.call, op):
        with pytest.raises(ArgumentError, match="MaskedArray"):
            ask(masked)


@pytest.mark.parametrize(
    ("array", "fact"),
    [
        (np.zeros(2, object), "object[2], holds Python objects"),
        (np.zeros(2, "i4,f4"), "void64[2], holds records"),
        (np.zeros(2, ">f4"), ">f4[2], has a foreign byte order"),
    ],
)
def test_a_checked_call_refuses_elements_that_no_kernel_can_see(array, fact):
    dispatcher = Dispatcher(checked=True)
    op = dispatcher.register_schema("t::f(Tensor[] xs, Tensor? y=None) -> Tensor")
    dispatcher.register_kernel(op, "CPU", lambda xs, y: np.array(1.0))
    with pytest.raises(ArgumentError, match=re.escape(f"argument `y` of `t::f`, {fact}")) as caught:
        op.call([np.ones(1)], array)
    assert (caught.value.code, caught.value.argument) == ("C10E405", "y")
    with pytest.raises(ArgumentError, match=f"argument `xs` of `t::f`, list of 2, {fact.partition(', ')[2]}"):
        op.call([np.ones(1), array])
    with pytest.raises(ArgumentError, match="argument `xs`"):
        op.lookup([array])([array])


def test_a_checked_call_refuses_results_whose_meaning_no_caller_can_see():
    dispatcher = Dispatcher(checked=True)
    op = dispatcher.register_schema("t::f(Tensor x) -> (Tensor a, Tensor[] b)")
    for result, words in (
        ((np.ma.zeros(2), []), "gave MaskedArray float64[2] for return 0 `a`, declared Tensor"),
        ((np.zeros(2), [np.zeros(2, object)]), "gave list of 1 for return 1 `b`, which holds Python objects"),
    ):
        with (
            dispatcher.register_kernel(op, "CPU", lambda x, result=result: result),
            pytest.raises(KernelError, match=re.escape(words)) as caught,
        ):
            op.call(np.ones(1))
        assert caught.value.code == "C10E502"


def test_a_subclass_that_is_taught_is_taken_and_may_be_returned(op):
    kind = type("Labelled", (np.ndarray,), {})
    register_tensor_type(kind, "CPU")
    assert op.call(np.ones(2).view(kind)) == 1
