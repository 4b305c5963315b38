import inspect

import numpy as np
import pytest

from c10cli.arrays.tensor_types import register_tensor_type
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.kernel import BoxedKernel
from c10cli.errors import ArgumentError, KernelError, NoKernelError, StaleHandleError
from c10cli.schema.parser import parse_schema

X = "(Tensor x) -> Tensor"


@pytest.fixture
def define():
    """``define("(Tensor x) -> Tensor", kernel)``: an operator whose calls are checked."""

    def make(schema, kernel, **options):
        op = Dispatcher(checked=True).register_schema(f"t::f{schema}")
        op.dispatcher.register_kernel(op, "CPU", kernel, **options)
        return op

    return make


def ways(op):
    """The three ways to call *op*, each with positional arguments."""
    return op.call, op, lambda *args: op.call_boxed(list(args))


def refusal(op, *args, **kwargs):
    """The error of a call; it is the same for the first call and for later ones, and for every way."""
    errors = []
    for call in (op.call, op.call, op):
        with pytest.raises((ArgumentError, KernelError)) as caught:
            call(*args, **kwargs)
        errors.append(caught.value)
    assert len({str(error) for error in errors}) == 1
    return errors[0]


def test_a_call_that_is_right_goes_through_in_every_way(define):
    op = define("(Tensor x, int n=2, *, float s=0.5) -> Tensor", lambda x, n, *, s: x * n * s)
    x = np.ones(3, np.float32)
    for _ in range(2):
        assert op.call(x, 4, s=1.5)[0] == op(x, 4, s=1.5)[0] == 6
        assert op.call(x)[0] == op(x, s=0.5)[0] == op.call(x, n=2)[0] == 1
        stack = ["below", x, 4, 1.5]
        op.call_boxed(stack)
        assert (stack[0], stack[1][0], len(stack)) == ("below", 6, 2)


@pytest.mark.parametrize(
    ("returns", "result", "value"),
    [("()", None, None), ("(int, int)", [1, 2], (1, 2)), ("int", 7, 7), ("Tensor[]", [], [])],
)
def test_returns_come_as_the_schema_says(define, returns, result, value):
    op = define(f"(Tensor x) -> {returns}", lambda x: result)
    assert [op.call(np.ones(1)), op(np.ones(1))] == [value, value]


def test_arguments_are_converted_by_the_schema(define):
    seen = []
    op = define("(Tensor x, float f, int[] s, Scalar a) -> ()", lambda *args: seen.append(args[1:]))
    sizes = [1]
    op.call(np.ones(1), 2, sizes, np.float32(0.5))
    ((f, s, a),) = seen
    assert [(type(v), v) for v in (f, s, a)] == [(float, 2.0), (list, [1]), (float, 0.5)]
    assert s is not sizes


@pytest.mark.parametrize(
    ("declared", "value", "passed"),
    [
        ("float", 2, 2.0),
        ("int", np.int64(2), 2),
        ("bool", np.bool_(True), True),
        ("Scalar", np.float32(0.5), 0.5),
        ("Scalar", True, True),
        ("int[]", (1, 2), [1, 2]),
        ("int[2]", 1, [1, 1]),
    ],
)
def test_every_call_converts_and_not_the_first_alone(define, declared, value, passed):
    seen = []
    op = define(f"(Tensor x, {declared} a) -> ()", lambda x, a: seen.append(a))
    for _ in range(3):
        op.call(np.ones(1), value)
    assert [(type(a), a) for a in seen] == [(type(passed), passed)] * 3


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ((), "C10E404"),
        ((np.ones(1), 1, 2), "C10E404"),
        ((np.ones(1), True), "C10E405"),
        ((np.ones(1), 2.0), "C10E405"),
        ((np.ones(1), 2**63), "C10E405"),
        ((3, 1), "C10E405"),
        ((None, 1), "C10E405"),
    ],
)
def test_what_the_schema_does_not_take_is_refused(define, args, code):
    op = define("(Tensor x, int n) -> Tensor", lambda x, n: x + n)
    assert op.call(np.ones(1), 1)[0] == 2  # a right call before does not make a wrong one pass
    error = refusal(op, *args)
    assert (type(error), error.code, error.operator) == (ArgumentError, code, "t::f")


@pytest.mark.parametrize("kwargs", [{}, {"k": 1, "j": 2}, {"j": 1}, {"k": 1.5}])
def test_keywords_that_the_schema_does_not_take_are_refused(define, kwargs):
    op = define("(Tensor x, *, int k) -> Tensor", lambda x, *, k: x + k)
    assert op.call(np.ones(1), k=1)[0] == 2
    assert refusal(op, np.ones(1), **kwargs).code in ("C10E404", "C10E405")


@pytest.mark.parametrize(
    ("returns", "result", "fact"),
    [
        ("(Tensor, Tensor)", (np.ones(1),) * 3, "returned 3 values where the schema returns 2"),
        ("()", 1, "returned one value (int 1) where the schema returns 0"),
        ("Tensor", None, "gave None for return 0, declared Tensor"),
        ("(Tensor a, int b)", (np.ones(1), 2.5), "gave float 2.5 for return 1 `b`, declared int"),
        ("int", True, "gave True for return 0, declared int"),
        ("Tensor", np.float32(1), "gave the NumPy scalar float32 for return 0, declared Tensor"),
    ],
)
def test_returns_that_the_schema_does_not_have_are_refused_with_the_kernels_name(
    define, returns, result, fact
):
    def kernel(x):
        return result

    error = refusal(define(f"(Tensor x) -> {returns}", kernel), np.ones(1))
    assert (type(error), error.code) == (KernelError, "C10E502")
    assert str(error) == f"error[C10E502] kernel `{kernel.__qualname__}` of `t::f` {fact}"
    assert error.kernel == kernel.__qualname__


class Poisoned:
    @property
    def __class__(self):
        raise ValueError("look away")


def endless():
    values = []
    values.append(values)
    return values


@pytest.mark.parametrize("make", [Poisoned, lambda: [Poisoned()], endless])
@pytest.mark.parametrize("returns", ["Tensor", "Tensor[]", "Any", "(Tensor, Tensor)"])
def test_what_cannot_be_looked_at_is_no_result(define, returns, make):
    def kernel(x):
        return make()

    with pytest.raises(KernelError) as caught:
        define(f"(Tensor x) -> {returns}", kernel).call(np.ones(1))
    assert caught.value.code == "C10E502"
    assert kernel.__qualname__ in str(caught.value)


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ("(Tensor x) -> int", 1, 2.5),
        ("(Tensor x) -> int?", None, 2.5),
        ("(Tensor x) -> int[]", [1], [2.5]),
        ("(Tensor(a) x) -> Tensor(a)[]", [], [3]),
    ],
)
def test_a_result_that_was_right_once_does_not_let_another_one_pass(define, schema, right, wrong):
    results = [right, right, wrong]
    op = define(schema, lambda x: results.pop(0))
    assert [op.call(np.ones(1)), op.call(np.ones(1))] == [right, right]
    with pytest.raises(KernelError):
        op.call(np.ones(1))


def test_a_kernels_own_exception_comes_through_with_a_note_of_the_kernel(define):
    failure = ValueError("no\nluck")

    def kernel(x):
        raise failure

    op = define(X, kernel)
    for call in ways(op):
        failure.__dict__.pop("__notes__", None)
        with pytest.raises(ValueError, match="no\nluck") as caught:
            call(np.ones((2, 3), np.float32))
        assert caught.value is failure
        assert failure.__notes__ == [
            f"error[C10E501] kernel `{kernel.__qualname__}` of `t::f` raised ValueError: no luck",
            "--> call of t::f with `x`: float32[2, 3]",
        ]


def test_a_boxed_kernel_that_breaks_the_discipline_is_told_once(define):
    op = define(X, BoxedKernel(lambda stack, cache: None))
    with pytest.raises(KernelError) as caught:
        op.call(np.ones(1))
    assert "C10E501" not in "".join(caught.value.__notes__)


def test_an_error_of_an_operator_that_a_kernel_calls_is_noted_with_both_kernels(define):
    inner = define("(Tensor x) -> int", lambda x: 2.5)
    outer = Dispatcher(checked=True).register_schema("t::outer(Tensor x) -> int")
    outer.dispatcher.register_kernel(outer, "CPU", lambda x: inner.call(x))
    with pytest.raises(KernelError, match="of `t::f` gave float") as caught:
        outer.call(np.ones(1))
    assert "of `t::outer` raised KernelError" in "".join(caught.value.__notes__)


def overwrite(x):
    x[0] = 5
    return np.zeros(1)


def test_an_argument_that_changed_is_an_error_unless_the_schema_says_it_is_written(define):
    x = np.ones(2)
    op = define(X, overwrite)
    for call in ways(op):
        x[0] = 1
        with pytest.raises(KernelError) as caught:
            call(x)
        assert (caught.value.code, caught.value.argument) == ("C10E505", "x")
    assert define("(Tensor(a!) x) -> Tensor", overwrite).call(np.ones(2))[0] == 0


def test_a_result_in_the_memory_of_an_argument_is_an_error_unless_announced(define):
    x = np.ones(2)
    for kernel in (lambda x: x, lambda x: x[1:], lambda x: x.view(np.int64)):
        error = refusal(define(X, kernel), x)
        assert (error.code, error.argument) == ("C10E506", "x")
    op = define("(Tensor(a) x) -> Tensor(a)", lambda x: x)
    assert op.call(x) is x
    op = define("(Tensor[] x) -> Tensor[]", lambda x: [np.zeros(1), x[1]])
    assert refusal(op, [np.ones(1), x]).code == "C10E506"


def test_torch_tensors_are_compared_as_well(define, torch):
    x = torch.ones(4)
    assert define(X, lambda x: x + 1).call(x)[0] == 2
    assert refusal(define(X, lambda x: x[1:]), x).code == "C10E506"
    assert refusal(define(X, lambda x: x.add_(1) * 2), x).code == "C10E505"
    op = Dispatcher(checked=True).register_schema("t::f(Tensor x) -> Tensor")
    op.dispatcher.register_kernel(op, "Meta", lambda x: x * 2)
    assert op.call(torch.ones(4, device="meta")).shape == (4,)


def test_tensors_without_contents_to_look_at_are_checked_for_all_else(define):
    class Grid:
        pass

    register_tensor_type(Grid, "CPU")
    grid = Grid()
    assert define("(Tensor x) -> int", lambda x: 3).call(grid) == 3
    assert refusal(define(X, lambda x: x), grid).code == "C10E506"


def test_overrides_missing_kernels_and_stale_handles_are_as_in_other_dispatchers(define):
    op = define("(Tensor x) -> int", lambda x: 1)
    x = np.ones(1)
    assert op.call(x) == 1
    with op.dispatcher.register_kernel(op, "CPU", lambda x: 2, override=True):
        assert op.call(x) == 2
    assert op.call(x) == 1
    op.dispatcher.deregister_kernel(op, "CPU")
    with pytest.raises(NoKernelError):
        op.call(x)
    op.dispatcher.deregister_schema(op)
    for call in ways(op):
        with pytest.raises(StaleHandleError):
            call(x)


def test_a_stack_is_whole_after_a_checked_call_failed(define):
    x = np.ones(2)
    op = define(X, lambda x: x)
    stack = ["below", x]
    with pytest.raises(KernelError):
        op.call_boxed(stack)
    assert stack[0] == "below"
    assert stack[1] is x
    assert len(stack) == 2


def test_only_a_checked_dispatcher_checks():
    op = Dispatcher().register_schema("t::f(Tensor x) -> Tensor")
    op.dispatcher.register_kernel(op, "CPU", lambda x: x)
    x = np.ones(1)
    assert op.call(x) is x


def test_defaults_are_those_of_the_schema_whatever_their_type_means(define):
    seen = []
    schema = '(Tensor x, int[] s=[1, 2], float f=1, *, Tensor? o=None, str m="a", int n=3) -> ()'
    op = define(schema, lambda *args, **kwargs: seen.append((*args[1:], *kwargs.values())))
    for _ in range(3):
        op.call(np.ones(1))
    op.call(np.ones(1), f=0.5, n=4)
    assert seen == [([1, 2], 1.0, None, "a", 3)] * 3 + [([1, 2], 0.5, None, "a", 4)]
    assert len({id(values[0]) for values in seen}) == 4  # a list of its own for every call


def test_a_default_that_no_caller_may_pass_is_the_schemas_all_the_same():
    op = Dispatcher(checked=True).register_schema(
        parse_schema("t::f(Tensor x, *, ScalarType? dtype=4) -> int", "torch")
    )
    op.dispatcher.register_kernel(op, "CPU", lambda x, *, dtype: dtype)
    assert [op.call(np.ones(1)), op.call(np.ones(1))] == [4, 4]
    assert refusal(op, np.ones(1), dtype=4).code == "C10E405"


def test_an_argument_that_python_has_a_word_for_is_checked_too():
    op = Dispatcher(checked=True).register_schema(
        parse_schema("t::f(Tensor x, int from, *, int to=2) -> int", "torch")
    )
    op.dispatcher.register_kernel(op, "CPU", lambda x, *more, to: more[0] + to)
    for _ in range(2):
        assert op.call(np.ones(1), 1) == op.call(np.ones(1), **{"from": 1, "to": 2}) == 3
    assert refusal(op, np.ones(1), 1.5).code == "C10E405"


def test_a_looked_up_kernel_is_checked_as_well(define):
    x = np.ones(2)
    op = define("(Tensor x, int n=1) -> Tensor", lambda x, n: x[n:])
    for held in (op.lookup(x), op.lookup_key("CPU"), op.lookup_on([x, 1])):
        assert (held.name, held.dispatch_key.name) == (op.lookup(x).name, "CPU")
        for call in (held, held.unboxed, lambda *args, held=held: held.call([*args, *[1] * (2 - len(args))])):
            with pytest.raises(KernelError) as caught:
                call(x)
            assert caught.value.code == "C10E506"
            with pytest.raises(ArgumentError) as caught:
                call(x, 1.5)
            assert caught.value.code == "C10E405"


def test_a_looked_up_kernel_keeps_its_cache(define):
    op = define("(Tensor x) -> int", lambda x, cache: cache.append(1) or len(cache), cache_creator=list)
    held = op.lookup(np.ones(1))
    assert [held(np.ones(1)), held(np.ones(1)), op.call(np.ones(1))] == [1, 2, 1]


def test_an_unknown_tensor_is_told_how_it_is_taught(define):
    class Foo:
        pass

    error = refusal(define("(Tensor x) -> int", lambda x: 1), Foo())
    assert "register_tensor_type(" in error.diagnostics[0].help
    error = refusal(define("(Tensor[] x) -> int", lambda x: 1), [Foo()])
    assert "register_tensor_type(" in error.diagnostics[0].help
    error = refusal(define("(Tensor[] x) -> int", lambda x: 1), np.ones(3))
    assert error.diagnostics[0].help == "pass a list of tensors"


def test_the_call_function_shows_the_signature_of_the_operator(define):
    op = define("(Tensor x, int n=1, *, int[] z=[1]) -> int", lambda x, n, *, z: n)
    assert (str(inspect.signature(op.call)), op.call.__qualname__) == ("(x, n=1, *, z=[1])", "t::f")
    assert op.call.__doc__ == str(op.schema)
    assert inspect.unwrap(op.call) is op.call  # the unchecked call is nobody's


def test_a_large_array_is_checked_and_does_not_end_the_call(define):
    op = define("(Tensor x) -> int", lambda x: x.size)
    assert [op.call(np.broadcast_to(1.0, (10**6, 10**6))) for _ in range(3)] == [10**12] * 3
    large = np.zeros(2**18)
    op = define("(Tensor x) -> int", lambda x: x.__setitem__(-1, 5) or 1)
    for _ in range(3):
        large[-1] = 1
        with pytest.raises(KernelError) as caught:
            op.call(large)
        assert caught.value.code == "C10E505"


def test_what_is_traced_beside_a_concrete_tensor_leaves_the_choice_to_that(jax):
    op = Dispatcher(checked=True).register_schema("t::f(Tensor x, Tensor y) -> Tensor")
    op.dispatcher.register_kernel(op, "CPU", lambda x, y: x + y)
    x = jax.numpy.ones(2)
    assert jax.jit(lambda y: op.call(x, y))(x)[0] == 2
    assert jax.jit(lambda y: op.lookup_key("CPU")(y, y))(x)[0] == 2


@pytest.mark.parametrize(
    ("schema", "value", "kernel", "help"),
    [
        ("(Tensor x, int[] d) -> int", [1], lambda x, d: d.append(2) or 1, "write to a copy"),
        (
            "(Tensor x, Tensor[] d) -> int",
            [np.ones(1)],
            lambda x, d: d[0].fill(2) or 1,
            "write to a copy, or declare it in the schema: `Tensor(a!)[] d`",
        ),
        (
            "(Tensor x, Tensor? d) -> int",
            np.ones(1),
            lambda x, d: d.fill(2) or 1,
            "write to a copy, or declare it in the schema: `Tensor(a!)? d`",
        ),
    ],
)
def test_how_a_written_argument_is_declared_depends_on_its_type(define, schema, value, kernel, help):
    op = define(schema, kernel)
    with pytest.raises(KernelError) as caught:
        op.call(np.ones(1), value)
    assert (caught.value.code, caught.value.diagnostics[0].help) == ("C10E505", help)
