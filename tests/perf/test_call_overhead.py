"""What dispatch adds to a direct call of the kernel, beside other dispatchers for Python.

Two kernels that do nothing: of two tensors, and of two tensors, an int and a
keyword-only scalar.  All ways to call one are sampled in turn, in random
order, in one run; an overhead is the median of the paired differences to the
direct call, and only ratios of overheads are judged.  pytest-benchmark drives
the call that each test is named after, and carries the interleaved figures as
extra_info: its own floor, some 80 ns, is the size of what is measured here.
"""

import functools
import importlib
import inspect
import sys
from statistics import median
from types import MappingProxyType

import numpy
import pytest

from c10cli.arrays.tensor_types import register_tensor_type
from c10cli.bench.body import Body, make_round
from c10cli.bench.sampling import Budget, measure_together, steady_state
from c10cli.bench.stats import paired_difference
from c10cli.dispatch.dispatcher import Dispatcher

TURNS = Budget(min_samples=300, max_samples=300, time_ns=10**9)


class Grid:
    """Costs nothing to make and to look at, so that dispatch alone is measured."""


class OtherGrid:
    """A second type, so that nobody may skip the choice."""


X, Y, RESULT = Grid(), Grid(), Grid()
ARRAY, ARRAY_RESULT = numpy.ones(16, numpy.float32), numpy.ones(16, numpy.float32)


class Pair:
    """A kernel of two tensors."""

    title = "two tensors"
    schema = "(Tensor x, Tensor y) -> Tensor"
    args, kwargs = (X, Y), {}
    # By dispatch key, so that nobody may skip the choice; the arguments are of the first.
    types = MappingProxyType({"CPU": Grid, "CUDA": OtherGrid})

    @staticmethod
    def kernel(tensor_type=Grid, result=RESULT):
        """A kernel of its own, with annotations for the libraries that read them."""

        def function(x, y):
            return result

        function.__annotations__ = {"x": tensor_type, "y": tensor_type}
        return function

    @staticmethod
    def wrapper(table):
        """The cheapest dispatch that Python can do."""

        def call(x, y):
            return table[type(x)](x, y)

        return call

    @staticmethod
    def positional(kernel):
        """*kernel* for those who pass nothing by keyword."""
        return kernel

    @staticmethod
    def boxed(call_boxed):
        def call(x, y):  # one Python call more than its name says, for a stack that is new every time
            call_boxed([x, y])

        return call


class Scalars(Pair):
    """A kernel of two tensors, an int and a keyword-only scalar."""

    title = "two tensors, an int, a keyword-only scalar"
    schema = "(Tensor x, Tensor y, int n, *, Scalar s) -> Tensor"
    args, kwargs = (X, Y, 3), {"s": 0.5}

    @staticmethod
    def kernel(tensor_type=Grid, result=RESULT):
        def function(x, y, n, *, s):
            return result

        function.__annotations__ = {"x": tensor_type, "y": tensor_type, "n": int, "s": float}
        return function

    @staticmethod
    def wrapper(table):
        def call(x, y, n, *, s):
            return table[type(x)](x, y, n, s=s)

        return call

    @staticmethod
    def positional(kernel):
        return lambda x, y, n, s: kernel(x, y, n, s=s)

    @staticmethod
    def boxed(call_boxed):
        def call(x, y, n, *, s):
            call_boxed([x, y, n, s])

        return call


class OfTorch(Pair):
    """The same of tensors whose type says nothing of their device: only our choice looks at that."""

    title = "two torch tensors"

    def __init__(self, torch):
        self.args = (torch.ones(16), torch.ones(16))
        self.types = {"CPU": torch.Tensor, "CUDA": OtherGrid}


def body(function, kind, *tensors):
    """A call with *tensors* in the place of the first arguments."""
    return Body(function, (*tensors, *kind.args[len(tensors) :]), kind.kwargs)


def slug(kind):
    return kind.title.replace(" ", "_").replace(",", "").replace("-", "_")


def our_bodies(kind):
    for key, tensor_type in Pair.types.items():
        register_tensor_type(tensor_type, key)
    op = Dispatcher().register_schema(f"perf::f{kind.schema}")
    for key, tensor_type in kind.types.items():
        op.dispatcher.register_kernel(op, key, kind.kernel(tensor_type))
    held = op.lookup(*kind.args, **kind.kwargs)
    checked = Dispatcher(checked=True).register_schema(f"perf::f{kind.schema}")
    checked.dispatcher.register_kernel(checked, "CPU", kind.kernel(result=ARRAY_RESULT))
    functions = {
        "op.call(...)": op.call,
        "op(...)": op,
        "op.lookup(...)": op.lookup,
        "OpKernel(...)": held,
        "OpKernel.unboxed(...)": held.unboxed,
        "op.call_boxed(stack)": kind.boxed(op.call_boxed),
    }
    bodies = {name: body(function, kind) for name, function in functions.items()}
    return bodies | {"op.call(...), checked, NumPy": body(checked.call, kind, ARRAY, ARRAY)}


def singledispatch_body(kind):
    function = functools.singledispatch(kind.kernel(object))
    for tensor_type in kind.types.values():
        function.register(tensor_type, kind.kernel(tensor_type))
    return body(function, kind)


def plum_body(kind, plum):
    function = plum.Function(kind.kernel())
    for tensor_type in kind.types.values():
        function.register(kind.kernel(tensor_type))
    return body(function, kind)


def multipledispatch_body(kind, multipledispatch):
    function = multipledispatch.Dispatcher("function")
    scalars = (int,) * (len(kind.args) - 2)
    for tensor_type in kind.types.values():
        function.add((tensor_type, tensor_type, *scalars), kind.kernel(tensor_type))
    return body(function, kind)


def ovld_body(kind, ovld):
    overloads = ovld.Ovld(name="function")
    for tensor_type in kind.types.values():
        overloads.register(kind.kernel(tensor_type))
    overloads.compile()
    return body(overloads.dispatch, kind)  # what its decorator leaves in the function's place


def tvm_ffi_body(kind, tvm_ffi):
    """A function of Python, registered and called from Python: no choice is made, no keyword passed."""
    name = f"c10cli_perf.{slug(kind)}"
    tvm_ffi.register_global_func(name, kind.positional(kind.kernel()), override=True)
    return Body(tvm_ffi.get_global_func(name), (*kind.args, *kind.kwargs.values()))


_libraries = []  # an operator of torch lives as long as its Library


def torch_library_body(kind, torch):
    namespace = f"c10cli_perf_{slug(kind)}"
    if not _libraries or _libraries[-1][0] != namespace:
        library = torch.library.Library(namespace, "FRAGMENT")
        library.define(f"f{kind.schema}")
        library.impl("f", kind.kernel(result=torch.ones(16)), "CPU")
        _libraries.append((namespace, library))
    return body(getattr(torch.ops, namespace).f.default, kind, torch.ones(16), torch.ones(16))


def torch_custom_op_body(kind, torch):
    kernel = kind.kernel(torch.Tensor)
    result = torch.empty(0)

    def function(*args, **kwargs):
        return result.clone()  # custom_op refuses a result that it has seen before

    function.__signature__ = inspect.signature(kernel).replace(return_annotation=torch.Tensor)
    name = f"c10cli_perf_custom::{slug(kind)}"
    operator = torch.library.custom_op(name, function, mutates_args=(), schema=kind.schema)
    return body(operator, kind, torch.ones(16), torch.ones(16))


# By the package that must be installed.
PEERS = {
    "plum": plum_body,
    "multipledispatch": multipledispatch_body,
    "ovld": ovld_body,
    "tvm_ffi": tvm_ffi_body,
    "torch": torch_library_body,
}
NAMES = {"torch": "torch.library.Library", "tvm_ffi": "tvm-ffi (no choice made)"}


def installed(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


@functools.cache
def bodies(kind):
    """Every way to call the kernel of *kind*, the direct call first."""
    table = {tensor_type: kind.kernel(tensor_type) for tensor_type in kind.types.values()}
    made = {"direct call": body(kind.kernel(), kind), "dict lookup and call": body(kind.wrapper(table), kind)}
    made |= our_bodies(kind)
    made["functools.singledispatch"] = singledispatch_body(kind)
    made |= {NAMES.get(n, n): make(kind, installed(n)) for n, make in PEERS.items() if installed(n)}
    if installed("torch"):
        made["torch.library.custom_op"] = torch_custom_op_body(kind, installed("torch"))
    return made


@functools.cache
def figures(kind, turn=0):
    """Per way: nanoseconds a call, and what that is above the direct call; each *turn* measures anew."""
    rounds = {name: make_round(timed) for name, timed in bodies(kind).items()}
    with steady_state():
        samples = {name: taken.per_call_ns for name, taken in measure_together(rounds, TURNS).items()}
    direct = samples["direct call"]
    return {name: (median(times), paired_difference(times, direct).value) for name, times in samples.items()}


def overhead(kind, name, turn=0):
    return figures(kind, turn)[name][1]


def is_at_most(share, kind, name, other):
    """Whether *name* adds at most *share* of what *other* adds, in one of three runs on a busy machine."""
    return any(overhead(kind, name, turn) <= share * overhead(kind, other, turn) for turn in range(3))


def drive(benchmark, kind, name):
    per_call_ns, overhead_ns = figures(kind)[name]
    benchmark.extra_info |= {"interleaved_ns": per_call_ns, "overhead_ns": overhead_ns}
    timed = bodies(kind)[name]
    benchmark.pedantic(timed.function, args=timed.args, kwargs=dict(timed.kwargs), rounds=30, iterations=1000)


@functools.cache
def of_torch(torch):
    return OfTorch(torch)


@pytest.fixture(params=[Pair, Scalars, OfTorch], ids=["pair", "scalars", "torch"])
def kind(request, needs):
    return of_torch(needs("torch")) if request.param is OfTorch else request.param


KINDS = pytest.mark.parametrize("kind", [Pair, Scalars], ids=["pair", "scalars"])


def test_what_each_way_of_calling_costs(benchmark, capsys, kind):
    ours = overhead(kind, "op.call(...)")
    lines = [f"{kind.title:30}{'ns':>9}{'overhead ns':>14}{'of op.call':>12}"]
    for name, (per_call_ns, overhead_ns) in figures(kind).items():
        lines.append(f"{name:30}{per_call_ns:9.1f}{overhead_ns:14.1f}{overhead_ns / ours:11.2f}x")
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(lines) + "\n")
    drive(benchmark, kind, "op.call(...)")


@KINDS
def test_op_call_adds_at_most_twice_what_the_cheapest_wrapper_adds(benchmark, kind):
    drive(benchmark, kind, "dict lookup and call")
    assert is_at_most(2, kind, "op.call(...)", "dict lookup and call")


# Python 3.10 does the same dict lookup and call at twice the price, and only they are ours to save.
IS_3_10 = sys.version_info < (3, 11)


@pytest.mark.parametrize(
    ("peer", "package", "share"),
    [
        ("functools.singledispatch", "functools", 1 / 5),
        ("ovld", "ovld", 1 / 2),
        ("plum", "plum", 1 / 5),
        ("multipledispatch", "multipledispatch", 1 / 5),
        ("torch.library.Library", "torch", 1 / 15 if IS_3_10 else 1 / 30),
    ],
)
def test_op_call_adds_at_most_a_share_of_what_a_peer_adds(benchmark, peer, package, share, needs):
    needs(package)
    drive(benchmark, Pair, peer)
    assert is_at_most(share, Pair, "op.call(...)", peer)


def test_a_held_kernel_of_the_schemas_signature_adds_nothing(benchmark):
    drive(benchmark, Pair, "OpKernel.unboxed(...)")
    assert is_at_most(1 / 10, Pair, "OpKernel.unboxed(...)", "op.call(...)")


@KINDS
def test_a_checked_call_of_two_small_arrays_adds_at_most_what_eighty_lookups_cost(benchmark, kind):
    drive(benchmark, kind, "op.call(...), checked, NumPy")
    assert is_at_most(80, kind, "op.call(...), checked, NumPy", "op.lookup(...)")
