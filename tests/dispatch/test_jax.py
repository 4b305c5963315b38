"""Dispatch on the arrays of the real jax, on its CPU devices.

What jax has on other devices is in test_tensor_types.py, with stand-ins.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from c10cli.arrays import tensor_types
from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.tensor_types import is_tensor, key_of, register_tensor_type
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.kernel import BoxedKernel
from c10cli.errors import ArgumentError, KernelError, NoKernelError


@pytest.fixture
def x(jax):
    return jax.numpy.arange(3.0)


@pytest.fixture
def teach(monkeypatch):
    """`register_tensor_type`, forgotten when the test ends."""
    monkeypatch.setattr(tensor_types, "_taught", dict(tensor_types._taught))
    yield register_tensor_type
    monkeypatch.undo()
    tensor_types._resolved = {}


@pytest.fixture
def mul(dispatcher):
    """An operator with one kernel, for CPU."""
    op = dispatcher.register_schema("t::mul(Tensor x, Tensor y) -> Tensor")
    dispatcher.register_kernel(op, "CPU", lambda x, y: x * y)
    return op


@pytest.fixture
def checked():
    """A kernel as the one operator of a checked dispatcher."""

    def checked(schema, kernel):
        dispatcher = Dispatcher(checked=True)
        op = dispatcher.register_schema(schema)
        dispatcher.register_kernel(op, "CPU", kernel)
        return op

    return checked


def deleted(jax):
    array = jax.numpy.ones(3)
    array.delete()
    return array


ARRAYS = {
    "an array": lambda jax: jax.numpy.ones((2, 2)),
    "no axes": lambda jax: jax.numpy.float32(2),
    "empty": lambda jax: jax.numpy.zeros((0, 2)),
    "bfloat16": lambda jax: jax.numpy.ones(2, jax.numpy.bfloat16),
    "int4": lambda jax: jax.numpy.ones(2, jax.numpy.int4),
    "a result of jit": lambda jax: jax.jit(lambda x: x + 1)(1.0),
    "put on a device": lambda jax: jax.device_put(np.ones(2, np.float32), jax.devices("cpu")[0]),
    "a random key": lambda jax: jax.random.key(0),
    "random keys": lambda jax: jax.random.split(jax.random.key(0), 3),
    "a random key of the old kind": lambda jax: jax.random.PRNGKey(0),
    "float0, which is NumPy's": lambda jax: np.zeros(2, jax.dtypes.float0),
    "deleted": deleted,
}


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_an_array_on_a_cpu_device_is_on_cpu(jax, make):
    assert key_of(make(jax)) is DispatchKey.CPU


@pytest.mark.parametrize("name", ["BCOO", "BCSR", "COO", "CSR", "CSC"])
def test_sparse_arrays_are_on_sparse_cpu(jax, name):
    from jax.experimental import sparse

    assert key_of(getattr(sparse, name).fromdense(jax.numpy.eye(2))) is DispatchKey.SparseCPU


NO_ARRAYS = {
    "a shape": lambda jax: jax.ShapeDtypeStruct((3,), np.float32),
    "a number of NumPy": lambda jax: np.float32(1),
    "a dtype": lambda jax: jax.numpy.float32,
    "the indexing of an array": lambda jax: jax.numpy.ones(2).at,
}


@pytest.mark.parametrize("make", NO_ARRAYS.values(), ids=NO_ARRAYS)
def test_what_holds_no_elements_of_jax_is_no_tensor(jax, make):
    assert not is_tensor(make(jax))
    assert key_of(make(jax)) is None


def test_a_shape_can_be_taught_as_a_meta_tensor(jax, teach, dispatcher, mul, x):
    shape = jax.ShapeDtypeStruct((3,), np.float32)
    with pytest.raises(ArgumentError, match="ShapeDtypeStruct`, which is no known tensor"):
        mul.call(shape, shape)
    teach(jax.ShapeDtypeStruct, "Meta")
    dispatcher.register_kernel(mul, "Meta", lambda x, y: x)
    assert mul.call(shape, shape) is shape
    assert mul.call(x, x).tolist() == [0, 1, 4]


def boxed(op, *arguments):
    stack = ["below", *arguments]
    op.call_boxed(stack)
    assert stack[0] == "below"
    (result,) = stack[1:]
    return result


CALLS = {
    "call": lambda op, *arguments: op.call(*arguments),
    "()": lambda op, *arguments: op(*arguments),
    "lookup": lambda op, *arguments: op.lookup(*arguments)(*arguments),
    "boxed": boxed,
}
every_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@every_call
@pytest.mark.parametrize("is_checked", [False, True])
def test_every_form_of_call_runs_the_kernel_of_the_array(jax, x, call, is_checked):
    dispatcher = Dispatcher(checked=is_checked)
    op = dispatcher.register_schema("t::mul(Tensor x, Tensor y) -> Tensor")
    dispatcher.register_kernel(op, "CPU", jax.jit(lambda x, y: x * y))
    dispatcher.register_kernel(op, "CUDA", lambda x, y: "the wrong kernel")
    result = call(op, x, x)
    assert isinstance(result, jax.Array)
    assert result.tolist() == [0, 1, 4]


def test_a_boxed_kernel_takes_jaxs_arrays(dispatcher, x):
    def kernel(stack, cache):
        stack[-1:] = [stack[-1] * 2]

    op = dispatcher.register_schema("t::twice(Tensor x) -> Tensor")
    dispatcher.register_kernel(op, "CPU", BoxedKernel(kernel))
    assert op.call(x).tolist() == [0, 2, 4]


def test_lists_and_optional_arrays_decide_too(jax, dispatcher, x):
    cat = dispatcher.register_schema("t::cat(Tensor[] xs) -> Tensor")
    dispatcher.register_kernel(cat, "CPU", lambda xs: jax.numpy.concatenate(xs))
    assert cat.call([x, x]).shape == (6,)
    scale = dispatcher.register_schema("t::scale(Tensor? x=None, float by=2.0) -> Tensor")
    dispatcher.register_kernel(scale, "CPU", lambda x, by: x * by)
    assert scale.call(x).tolist() == [0, 2, 4]


def test_a_random_key_is_passed_to_the_kernel(jax, checked):
    op = checked("t::normal(Tensor key, int n) -> Tensor", lambda key, n: jax.random.normal(key, (n,)))
    assert op.call(jax.random.key(0), 2).tolist() == op.call(jax.random.PRNGKey(0), 2).tolist()


def test_a_sparse_array_gets_the_sparse_kernel_and_no_other(jax, dispatcher, mul, x):
    from jax.experimental import sparse

    matrix = sparse.BCOO.fromdense(2 * jax.numpy.eye(3))
    with pytest.raises(NoKernelError, match="for dispatch key SparseCPU"):
        mul.call(matrix, x)
    dispatcher.register_kernel(mul, "SparseCPU", lambda x, y: x @ y)
    assert mul.call(matrix, x).tolist() == [0, 2, 4]


EAGER = {
    "grad": (lambda jax, f, x: jax.grad(lambda v: f(v, v).sum())(x), [0, 2, 4]),
    "grad of an array of NumPy": (
        lambda jax, f, x: jax.grad(lambda v: f(v, v).sum())(np.asarray(x)),
        [0, 2, 4],
    ),
    "vjp": (lambda jax, f, x: jax.vjp(f, x, x)[1](x)[0], [0, 1, 4]),
    "jvp": (lambda jax, f, x: jax.jvp(f, (x, x), (x, x))[1], [0, 2, 8]),
    "vmap": (lambda jax, f, x: jax.vmap(f)(x, x), [0, 1, 4]),
    "vmap of one": (lambda jax, f, x: jax.vmap(f, in_axes=(0, None))(x, 2 * x)[1], [0, 2, 4]),
    "vmap of grad": (lambda jax, f, x: jax.vmap(jax.grad(lambda v: f(v, v)))(x), [0, 2, 4]),
    "hessian": (lambda jax, f, x: jax.hessian(lambda v: f(v, v).sum())(x)[1], [0, 2, 0]),
    "a callback": (lambda jax, f, x: jax.pure_callback(lambda v: f(v, v), x, x), [0, 1, 4]),
    "first argument known": (lambda jax, f, x: jax.jit(lambda v: f(x, v))(x), [0, 1, 4]),
}


@pytest.mark.parametrize(("transformed", "result"), EAGER.values(), ids=EAGER)
def test_a_transformation_of_an_array_keeps_its_key(jax, mul, x, transformed, result):
    assert transformed(jax, mul.call, x).tolist() == result


TRACED = {
    "jit": lambda jax, f, x: jax.jit(f)(x),
    "make_jaxpr": lambda jax, f, x: jax.make_jaxpr(f)(x),
    "eval_shape": lambda jax, f, x: jax.eval_shape(f, x),
    "jit of grad": lambda jax, f, x: jax.jit(jax.grad(lambda v: f(v).sum()))(x),
    "grad of jit": lambda jax, f, x: jax.grad(lambda v: jax.jit(f)(v).sum())(x),
    "jit of vmap": lambda jax, f, x: jax.jit(jax.vmap(f))(x),
    "scan": lambda jax, f, x: jax.lax.scan(lambda carry, v: (carry, f(v)), 0.0, x),
    "cond": lambda jax, f, x: jax.lax.cond(True, f, lambda v: v, x),
    "checkpoint": lambda jax, f, x: jax.grad(lambda v: jax.checkpoint(f)(v).sum())(x),
}


@pytest.mark.parametrize("traced", TRACED.values(), ids=TRACED)
@pytest.mark.parametrize("is_checked", [False, True])
def test_an_array_that_is_traced_for_no_device_yet_is_refused_and_no_kernel_runs(jax, x, traced, is_checked):
    dispatcher = Dispatcher(checked=is_checked)
    op = dispatcher.register_schema("t::mul(Tensor x, Tensor y) -> Tensor")
    ran = []
    dispatcher.register_kernel(op, "CPU", lambda x, y: ran.append("CPU"))
    with pytest.raises(ArgumentError) as caught:
        traced(jax, lambda v: op.call(v, v), x)
    assert (caught.value.code, ran) == ("C10E408", [])


@every_call
def test_every_form_of_call_refuses_it(jax, mul, x, call):
    with pytest.raises(ArgumentError, match="an array that jax traces, is on no device yet"):
        jax.jit(lambda v: call(mul, v, v))(x)


def test_the_refusal_says_why_and_what_to_do(jax, mul, x, shown):
    with pytest.raises(ArgumentError) as caught:
        jax.jit(mul.call)(x, x)
    # jax adds a note of its own, on the frames that it left out.
    assert "\n".join(shown(caught.value).splitlines()[:3]) == (
        "error[C10E408] float32[3], an array that jax traces, is on no device yet,"
        " so it has no dispatch key\n"
        "note: jax.jit compiles for a device after the kernel is chosen,"
        " and a Python number under jax.grad is on none\n"
        "help: call with arrays and outside jax.jit, or teach whose kernels it traces:"
        ' register_tensor_type(jax.core.Tracer, "CPU")'
    )
    assert issubclass(caught.value.tensor_type, jax.core.Tracer)


def test_traced_sparse_arrays_and_random_keys_and_numbers_are_refused_too(jax):
    from jax.experimental import sparse

    matrix = sparse.BCOO.fromdense(jax.numpy.eye(2))
    for traced in (
        lambda: jax.jit(key_of)(matrix),
        lambda: jax.jit(key_of)(jax.random.key(0)),
        lambda: jax.grad(key_of)(3.0),
    ):
        with pytest.raises(ArgumentError, match="is on no device yet"):
            traced()


def test_a_traced_array_that_left_its_trace_is_refused(jax, mul, x):
    kept = []
    jax.jit(lambda v: kept.append(v) or v)(x)
    with pytest.raises(ArgumentError, match="is on no device yet"):
        mul.call(kept[0], x)


@pytest.mark.parametrize("traced", TRACED.values(), ids=TRACED)
def test_a_program_that_teaches_the_key_of_traced_arrays_traces_those_kernels(jax, teach, mul, x, traced):
    teach(jax.core.Tracer, "CPU")
    traced(jax, lambda v: mul.call(v, v), x)
    assert jax.jit(mul.call)(x, x).tolist() == [0, 1, 4]


def test_a_function_may_say_the_key_of_traced_arrays_at_each_trace(jax, teach, dispatcher, mul, x):
    dispatcher.register_kernel(mul, "CUDA", lambda x, y: x + y)
    platform = "CPU"
    teach(jax.core.Tracer, lambda tracer: platform)
    assert jax.jit(lambda v: mul.call(v, v))(x).tolist() == [0, 1, 4]
    platform = "CUDA"
    assert jax.jit(lambda v: mul.call(v, v))(x).tolist() == [0, 2, 4]


def test_the_kernel_of_a_deleted_array_is_found_and_jax_says_that_it_is_deleted(jax, mul, x):
    array = deleted(jax)
    assert mul.lookup(array, x).dispatch_key is DispatchKey.CPU
    with pytest.raises(RuntimeError, match="deleted"):
        mul.call(array, x)


def test_a_kernel_that_writes_to_an_array_gets_jaxs_own_error(dispatcher, x):
    def kernel(x):
        x[0] = 1

    op = dispatcher.register_schema("t::clear(Tensor(a!) x) -> ()")
    dispatcher.register_kernel(op, "CPU", kernel)
    with pytest.raises(TypeError, match="immutable"):
        op.call(x)


def test_a_checked_call_finds_an_argument_that_its_kernel_donated(jax, checked):
    op = checked("t::twice(Tensor x) -> Tensor", jax.jit(lambda x: x * 2, donate_argnums=0))
    argument = jax.numpy.arange(4.0)
    with pytest.raises(KernelError) as caught:
        op.call(argument)
    assert argument.is_deleted()
    assert caught.value.code == "C10E505"


@pytest.mark.parametrize("number", [np.float32(2), 2.0], ids=["NumPy's", "Python's"])
def test_a_checked_call_takes_no_number_for_an_array(checked, x, number):
    op = checked("t::mul(Tensor x, Tensor y) -> Tensor", lambda x, y: x * y)
    for arguments in ((number, x), (x, number)):
        with pytest.raises(ArgumentError) as caught:
            op.call(*arguments)
        assert caught.value.code == "C10E405"


def test_a_checked_call_takes_no_array_for_a_number(jax, checked, x):
    op = checked("t::scale(Tensor x, int by, float plus=0.0) -> Tensor", lambda x, by, plus: x * by + plus)
    assert op.call(x, 2, 1.0).tolist() == [1, 3, 5]
    for arguments in ((jax.numpy.int32(2),), (2, jax.numpy.float32(1))):
        with pytest.raises(ArgumentError) as caught:
            op.call(x, *arguments)
        assert caught.value.code == "C10E405"


def test_a_checked_call_takes_no_array_for_a_number_of_the_result(checked, x):
    with pytest.raises(KernelError) as caught:
        checked("t::sum(Tensor x) -> float", lambda x: x.sum()).call(x)
    assert caught.value.code == "C10E502"


SHARDED = """
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from c10cli.arrays.placement import to_numpy
from c10cli import Dispatcher, key_of

one, other = jax.devices()
mesh = Mesh(np.array([one, other]), ("rows",))
whole = np.arange(4, dtype=np.float32)
op = Dispatcher(checked=True).register_schema("t::twice(Tensor x) -> Tensor")
op.dispatcher.register_kernel(op, "CPU", lambda x: x * 2)
for place in (other, NamedSharding(mesh, PartitionSpec("rows")), NamedSharding(mesh, PartitionSpec())):
    array = jax.device_put(whole, place)
    print(key_of(array), len(array.devices()), to_numpy(array).tolist(), to_numpy(op.call(array)).tolist())
    array.delete()
    print(key_of(array))
"""


@pytest.mark.needs("jax")
def test_an_array_over_several_devices_has_the_key_of_all_of_them():
    flags = "--xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SHARDED],
        env={
            **os.environ,
            "XLA_FLAGS": flags,
            "JAX_PLATFORMS": "cpu",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [
        "CPU[1] 1 [0.0, 1.0, 2.0, 3.0] [0.0, 2.0, 4.0, 6.0]",
        "CPU[1]",
        "CPU[1] 2 [0.0, 1.0, 2.0, 3.0] [0.0, 2.0, 4.0, 6.0]",
        "CPU[1]",
        "CPU[1] 2 [0.0, 1.0, 2.0, 3.0] [0.0, 2.0, 4.0, 6.0]",
        "CPU[1]",
    ], done.stderr
