"""What dispatch adds to a direct call of the kernel, beside other dispatchers for Python.

All are sampled in turn, in random order, in one run; an overhead is the median
of the paired differences to the direct call, and only ratios of overheads are
judged.  pytest-benchmark drives the call that each test is named after, and
carries the interleaved figures as extra_info: its own floor, some 80 ns, is
the size of what is measured here.
"""

import functools
import importlib
import sys

import pytest

from c10cli.bench.body import Body, make_round
from c10cli.bench.sampling import Budget, measure_together
from c10cli.bench.stats import median, paired_difference
from c10cli.bench.steady import steady_state
from c10cli.dispatch import Dispatcher, register_tensor_type

TURNS = Budget(min_samples=300, max_samples=300, time_ns=10**9)


class Grid:
    """Costs nothing to make and to look at, so that dispatch alone is measured."""


class OtherGrid:
    """A second type, so that nobody may skip the choice."""


X, Y = Grid(), Grid()


def kernel(x, y):
    return x


def kernel_on(tensor_type):
    """A kernel of its own with annotations, for libraries that read them."""

    def function(x, y):
        return x

    function.__annotations__ = {"x": tensor_type, "y": tensor_type}
    return function


def singledispatch_function():
    function = functools.singledispatch(kernel_on(object))
    function.register(Grid, kernel)
    function.register(OtherGrid, kernel)
    return function


def plum_function(plum):
    function = plum.Function(kernel_on(Grid))
    function.register(kernel_on(Grid))
    function.register(kernel_on(OtherGrid))
    return function


def multipledispatch_function(multipledispatch):
    function = multipledispatch.Dispatcher("function")
    function.add((Grid, Grid), kernel)
    function.add((OtherGrid, OtherGrid), kernel)
    return function


def ovld_function(ovld):
    overloads = ovld.Ovld(name="function")
    overloads.register(kernel_on(Grid))
    overloads.register(kernel_on(OtherGrid))
    overloads.compile()
    return overloads.dispatch  # what its decorator leaves in the function's place


PEERS = {"plum": plum_function, "multipledispatch": multipledispatch_function, "ovld": ovld_function}


def our_functions():
    for tensor_type, key in ((Grid, "CPU"), (OtherGrid, "CUDA")):
        register_tensor_type(tensor_type, key)
    op = Dispatcher().register_schema("perf::first(Tensor x, Tensor y) -> Tensor")
    op.dispatcher.register_kernel(op, "CPU", kernel)
    op.dispatcher.register_kernel(op, "CUDA", kernel_on(OtherGrid))
    held = op.lookup(X, Y)
    return {
        "direct call": kernel,
        "op.call(x, y)": op.call,
        "op(x, y)": op,
        "OpKernel(x, y)": held,
        "OpKernel.unboxed(x, y)": held.unboxed,
        "op.call_boxed([x, y])": boxed_call(op),
    }


def boxed_call(op):
    call_boxed = op.call_boxed

    def call(x, y):  # one Python call more than its name says, for a stack that is new every time
        call_boxed([x, y])

    return call


def installed(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


@functools.cache
def functions():
    peers = {name: make(installed(name)) for name, make in PEERS.items() if installed(name)}
    return {**our_functions(), "functools.singledispatch": singledispatch_function(), **peers}


@functools.cache
def figures():
    """Per function: nanoseconds a call, and what that is above the direct call."""
    rounds = {name: make_round(Body(function, (X, Y))) for name, function in functions().items()}
    with steady_state():
        samples = {name: taken.per_call_ns for name, taken in measure_together(rounds, TURNS).items()}
    direct = samples["direct call"]
    return {name: (median(times), paired_difference(times, direct).value) for name, times in samples.items()}


def drive(benchmark, name):
    per_call_ns, overhead_ns = figures()[name]
    benchmark.extra_info |= {"interleaved_ns": per_call_ns, "overhead_ns": overhead_ns}
    benchmark.pedantic(functions()[name], args=(X, Y), rounds=30, iterations=2000, warmup_rounds=3)


def test_what_each_way_of_calling_costs(benchmark, capsys):
    ours = figures()["op.call(x, y)"][1]
    lines = [f"{'':28}{'ns':>9}{'overhead ns':>14}{'of op.call':>12}"]
    for name, (per_call_ns, overhead_ns) in figures().items():
        lines.append(f"{name:28}{per_call_ns:9.1f}{overhead_ns:14.1f}{overhead_ns / ours:11.2f}x")
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(lines) + "\n")
    drive(benchmark, "op.call(x, y)")


@pytest.mark.parametrize(
    ("peer", "share"),
    [("functools.singledispatch", 1 / 5), ("ovld", 1 / 2), ("plum", 1 / 5), ("multipledispatch", 1 / 5)],
)
def test_op_call_adds_less_than_a_share_of_what_a_peer_adds(benchmark, peer, share, needs):
    needs(peer.partition(".")[0])
    drive(benchmark, peer)
    ours, theirs = figures()["op.call(x, y)"][1], figures()[peer][1]
    assert ours < share * theirs


def test_a_held_kernel_as_a_function_adds_less_than_dispatch(benchmark):
    drive(benchmark, "OpKernel.unboxed(x, y)")
    assert figures()["OpKernel.unboxed(x, y)"][1] < figures()["op.call(x, y)"][1]
