import operator

import numpy as np
import pytest

from c10cli.dispatch.calling import Calling, dispatch_arguments
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.kernel import BoxedKernel
from c10cli.errors import ArgumentError, DispatchError, KernelError, NoKernelError, SchemaError
from c10cli.schema.parser import parse_schema


@pytest.fixture
def define(dispatcher):
    """An operator with *schema*, with *kernel* for CPU, and for CUDA one that must not run."""

    def make(schema, kernel=lambda *args, **kwargs: args[0], cache_creator=None):
        def other(*args, **kwargs):
            raise AssertionError("this kernel must not run")

        op = dispatcher.register_schema(f"t::f{schema}")
        dispatcher.register_kernel(op, "CPU", kernel, cache_creator)
        dispatcher.register_kernel(op, "CUDA", other)
        return op

    return make


@pytest.mark.parametrize(
    ("schema", "deciding"),
    [
        ("(Tensor a, Tensor b) -> Tensor", (0,)),
        ("(int a, int b, Tensor x) -> int", (2,)),
        ("(Tensor? o, Tensor[] l, Tensor x) -> Tensor", (2,)),
        ("(Tensor(a!) x) -> Tensor(a!)", (0,)),
        ("(int i, *, Tensor y) -> int", (1,)),
        ("(Tensor[] l) -> Tensor", (0,)),
        ("(int i, Tensor? o, Tensor?[] l) -> ()", (1, 2)),
        ("(Tensor(a)[] l) -> ()", (0,)),
        ("(int i) -> int", ()),
        ("(Tensor[]? l, Dict(str, Tensor) d) -> ()", ()),
    ],
)
def test_the_first_tensor_decides_and_only_without_one_lists_and_optionals(schema, deciding):
    assert dispatch_arguments(parse_schema(f"t::f{schema}")) == deciding


@pytest.mark.parametrize(
    "schema", ["() -> ()", "(int a) -> int", "(str s, int[] l) -> str", "(int a) -> Tensor"]
)
def test_a_schema_without_tensor_is_refused(schema, shown):
    parsed = parse_schema(f"t::f{schema}")
    with pytest.raises(SchemaError) as caught:
        Calling(parsed)
    assert shown(caught.value) == (
        "error[C10E209] `t::f` has no tensor argument to dispatch on\n"
        "note: the first `Tensor` chooses the kernel, or else `Tensor[]`, `Tensor?` or `Tensor?[]`\n"
        "help: give it a `Tensor` argument, such as `Tensor like`"
    )
    assert caught.value.operator == "t::f"


@pytest.mark.parametrize("schema", ["(Tensor x, ...) -> ()", "(Tensor x) -> ..."])
def test_a_schema_with_dots_is_refused(schema):
    with pytest.raises(SchemaError, match=r"`t::f` has `\.\.\.`, and an operator has a fixed number"):
        Calling(parse_schema(f"t::f{schema}"))


def test_the_last_argument_may_decide(define, tensor):
    op = define("(int a, int b, Tensor x) -> int", lambda a, b, x: a + b)
    assert op.call(1, 2, tensor()) == 3
    assert op.lookup(1, 2, tensor("CUDA")).dispatch_key.name == "CUDA"


def test_an_optional_tensor_before_a_tensor_does_not_decide(define, tensor):
    op = define("(Tensor? o, Tensor x) -> Tensor", lambda o, x: x)
    x = tensor()
    assert op.call(tensor("CUDA"), x) is x
    assert op.call(None, x) is x


def test_a_keyword_only_tensor_decides(define, x):
    op = define("(int i, *, Tensor y) -> int", lambda i, *, y: i)
    assert op.call(3, y=x) == 3


def test_a_mutable_tensor_decides(define, x):
    assert define("(Tensor(a!) x) -> Tensor(a!)", lambda x: x).call(x) is x


@pytest.mark.parametrize("container", [list, tuple])
def test_the_first_tensor_of_a_list_decides(define, tensor, container):
    op = define("(Tensor[] tensors, int dim=0) -> int", lambda tensors, dim: len(tensors))
    assert op.call(container([tensor(), tensor("CUDA")])) == 2
    stack = [container([tensor(), tensor("CUDA")]), 0]
    op.call_boxed(stack)
    assert stack == [2]


def test_none_in_front_is_skipped(define, tensor):
    op = define("(Tensor? a, Tensor?[] b, Tensor? c) -> int", lambda a, b, c: len(b))
    assert op.call(None, [None, tensor(), tensor("CUDA")], tensor("CUDA")) == 3
    assert op.call(None, [None], tensor()) == 1
    assert op.call(tensor(), [tensor("CUDA")], None) == 1


def test_none_at_the_head_of_the_first_list_is_skipped(define, tensor):
    op = define("(Tensor?[] xs, Tensor? o=None) -> int", lambda xs, o: len(xs))
    for xs in ([None, tensor(), tensor("CUDA")], (None, tensor(), tensor("CUDA"))):
        assert [op.call(xs), op.call(xs), op.lookup(xs)(xs)] == [3, 3, 3]
    assert [op.call(xs, tensor()) for xs in ([None], [], ())] == [1, 0, 0]
    assert op.lookup([None], tensor("CUDA")).dispatch_key.name == "CUDA"


@pytest.mark.parametrize(
    ("schema", "calls"),
    [
        ("(Tensor[] a)", ["[c]", "(c,)", "[g, c]", "(g,)", "[c]"]),
        ("(Tensor? a, Tensor? b)", ["None, c", "g, c", "c, None", "None, g", "None, c"]),
        ("(Tensor? a, Tensor[] b)", ["None, [c]", "None, (g,)", "g, []", "c, 3", "None, [c, g]"]),
        ("(Tensor[] a, Tensor? b)", ["[], c", "(), g", "[c], None", "(g,), c", "[], c"]),
        ("(Tensor?[] a, Tensor? b)", ["[None, c], g", "[None], g", "[g], c", "(None, g), c"]),
        ("(Tensor? a, Tensor? b, Tensor? d)", ["None, None, c", "None, g, c", "None, None, g", "c, g, g"]),
    ],
)
def test_what_calls_learned_of_lists_and_optionals_leads_none_astray(dispatcher, tensor, schema, calls):
    op = dispatcher.register_schema(f"t::f{schema} -> str")
    values = {"c": tensor("CPU"), "g": tensor("CUDA")}
    for letter, key in (("c", "CPU"), ("g", "CUDA")):
        dispatcher.register_kernel(op, key, lambda *args, letter=letter: letter)
    for text in calls * 2:
        args = eval(f"{text},", values)
        first = next(letter for letter in text if letter in "cg")
        assert [op.call(*args), op.lookup(*args)(*args)] == [first, first], text


@pytest.mark.parametrize("kernel", [lambda xs: xs[5], operator.itemgetter(5)])
@pytest.mark.parametrize("container", [list, tuple])
def test_an_index_error_of_a_kernel_comes_through(define, x, kernel, container):
    op = define("(Tensor[] xs) -> Tensor", kernel)
    for _ in range(2):
        with pytest.raises(IndexError, match="index out of range") as caught:
            op.call(container([x]))
        assert caught.value.__context__ is None
    assert op.call(container([x] * 6)) is x


def error_of(call, *args, **kwargs):
    with pytest.raises(ArgumentError) as caught:
        call(*args, **kwargs)
    return caught.value


def test_an_empty_list_is_no_tensor_given(define, shown):
    op = define("(Tensor[] tensors, Tensor? other=None) -> int", lambda tensors, other: 0)
    text = (
        "error[C10E408] no tensor to dispatch `t::f` on: `tensors` is {}, `other` is None\n"
        "--> call of t::f\n"
        "note: the schema is t::f(Tensor[] tensors, Tensor? other=None) -> int\n"
        "help: pass at least one tensor in `tensors` or `other`"
    )
    assert shown(error_of(op.call, [])) == text.format("an empty list")
    assert shown(error_of(op, [None])) == text.format("a list of None")
    assert shown(error_of(op.lookup, None, None)) == text.format("None")
    assert shown(error_of(op.call_boxed, [[], None])) == text.format("an empty list")


def test_none_for_a_tensor_is_no_tensor_given(define, shown):
    op = define("(Tensor x) -> Tensor", lambda x: x)
    for call, argument in ((op.call, None), (op, None), (op.lookup, None), (op.call_boxed, [None])):
        assert shown(error_of(call, argument)) == (
            "error[C10E408] no tensor to dispatch `t::f` on: `x` is None\n"
            "--> call of t::f\n"
            "note: the schema is t::f(Tensor x) -> Tensor\n"
            "help: pass at least one tensor in `x`"
        )


def test_an_array_where_a_list_of_tensors_is_expected_is_refused(define, shown):
    op = define("(Tensor[] tensors) -> int", lambda tensors: len(tensors))
    assert op.call([np.zeros(2)]) == 1
    for call, argument in (
        (op.call, np.zeros((2, 3))),
        (op, np.zeros((2, 3))),
        (op.lookup, np.zeros((2, 3))),
        (op.call_boxed, [np.zeros((2, 3))]),
    ):
        error = error_of(call, argument)
        assert shown(error) == (
            "error[C10E405] argument `tensors` of `t::f` must be Tensor[], not float64[2, 3]\n"
            "--> call of t::f, argument `tensors`\n"
            "note: the schema is t::f(Tensor[] tensors) -> int\n"
            "help: pass a list of tensors"
        )
        assert (error.operator, error.argument) == ("t::f", "tensors")


def test_an_array_for_a_list_is_refused_also_where_a_later_argument_could_decide(define, x):
    op = define("(Tensor[] tensors, Tensor? other) -> int", lambda tensors, other: 0)
    assert op.call(None, x) == 0
    assert error_of(op.call, np.zeros(2), x).code == "C10E405"


def test_a_list_where_one_optional_tensor_is_expected_does_not_decide(define, x):
    op = define("(Tensor? o, Tensor[] xs) -> int", lambda o, xs: 0)
    for call, argument in ((op.call, ([x], [x])), (op.lookup, ([x], [x])), (op.call_boxed, ([[x], [x]],))):
        assert str(error_of(call, *argument)) == (
            "error[C10E408] what decides in `o` or `xs` of `t::f` is of type `list`, which is no known tensor"
        )


def test_an_unknown_type_says_how_to_teach_it(define, shown):
    class Grid:
        pass

    op = define("(int i, Tensor x) -> Tensor", lambda i, x: x)
    name = "test_an_unknown_type_says_how_to_teach_it.<locals>.Grid"
    error = error_of(op.call, 1, Grid())
    assert shown(error) == (
        f"error[C10E408] argument `x` of `t::f` is of type `{Grid.__module__}.{name}`, "
        "which is no known tensor\n"
        f"--> call of t::f, `x`: {name}\n"
        "note: the schema is t::f(int i, Tensor x) -> Tensor\n"
        f"help: pass an array, or teach the type with register_tensor_type({name}, KEY)"
    )
    assert (error.operator, error.argument, error.tensor_type) == ("t::f", "x", Grid)


def test_a_number_where_a_tensor_decides_is_no_tensor(define):
    op = define("(Tensor x) -> Tensor", lambda x: x)
    assert str(error_of(op.call, 3)) == (
        "error[C10E408] argument `x` of `t::f` is of type `int`, which is no known tensor"
    )
    assert str(error_of(op.call, [np.zeros(2)])).endswith("is of type `list`, which is no known tensor")


def test_a_nested_list_of_tensors_is_refused_with_advice_of_its_own(define, x):
    error = error_of(define("(Tensor[] tensors) -> int", lambda tensors: 0).call, [[x]])
    assert str(error) == (
        "error[C10E408] what decides in `tensors` of `t::f` is of type `list`, which is no known tensor"
    )
    assert error.diagnostics[0].help == "pass a flat list of tensors"


def test_an_undefined_tensor_has_a_key_of_its_own(define, tensor):
    op = define("(Tensor x) -> Tensor", lambda x: x)
    with pytest.raises(NoKernelError, match=r"dispatch key Undefined\[0\]; registered: CPU\[1\], CUDA\[2\]"):
        op.call(tensor("Undefined"))


def test_a_lookup_without_the_deciding_argument_names_it(define):
    op = define("(int i, Tensor x) -> Tensor", lambda i, x: x)
    error = error_of(op.lookup, 1)
    assert str(error) == "error[C10E404] `t::f` is missing argument `x`"


@pytest.mark.parametrize("depth", [0, 1])
def test_a_stack_that_is_too_short_is_refused_with_both_numbers(define, tensor, depth, shown):
    op = define("(Tensor x, int i) -> int", lambda x, i: i)
    stack = [tensor()][:depth]
    for call in (op.call_boxed, op.lookup_on, op.lookup(tensor(), 1).call):
        with pytest.raises(DispatchError) as caught:
            call(stack)
        assert shown(caught.value) == (
            f"error[C10E409] `t::f` needs 2 values on the stack, and it has {depth}\n"
            "note: the schema is t::f(Tensor x, int i) -> int\n"
            "help: push every argument, in the schema's order; a boxed call fills no defaults"
        )
        assert (caught.value.needed, caught.value.depth) == (2, depth)


def boxed_increment(stack, cache):
    number = stack.pop()
    stack.pop()
    stack.append(number + 1)


PLAIN_AND_BOXED = pytest.mark.parametrize(
    "kernel", [lambda x, i: i + 1, BoxedKernel(boxed_increment)], ids=["plain", "boxed"]
)


@PLAIN_AND_BOXED
def test_both_kinds_of_kernels_can_be_called_both_ways(define, x, kernel):
    op = define("(Tensor x, int i=5) -> int", kernel)
    held = op.lookup(x)
    assert [op.call(x), op(x, 1), held(x), held(x, i=1), held.unboxed(x, 2)] == [6, 2, 6, 2, 3]
    for call in (op.call_boxed, held.call):
        stack = ["below", x, 5]
        call(stack)
        assert stack == ["below", 6]


@pytest.mark.parametrize(
    ("returns", "result", "value", "stack"),
    [
        ("()", None, None, []),
        ("()", (), None, []),
        ("int", 7, 7, [7]),
        ("int", None, None, [None]),
        ("((int, int))", (1, 2), (1, 2), [(1, 2)]),
        ("Any", (1,), (1,), [(1,)]),
        ("Tensor[]", [1, 2], [1, 2], [[1, 2]]),
        ("(int, int)", (1, 2), (1, 2), [1, 2]),
        ("(int, int)", [1, 2], (1, 2), [1, 2]),
        ("(int?, int?, str?)", (None, 4, None), (None, 4, None), [None, 4, None]),
    ],
)
def test_returns_are_a_value_a_tuple_or_none_and_land_on_the_stack_one_by_one(
    define, x, returns, result, value, stack
):
    op = define(f"(Tensor x) -> {returns}", lambda x: result)
    held = op.lookup(x)
    for call in (op.call, op, held, held.unboxed):
        assert call(x) == value
        assert type(call(x)) is type(value)
    for call in (op.call_boxed, held.call):
        values = ["below", x]
        call(values)
        assert values == ["below", *stack]


@pytest.mark.parametrize(
    ("returns", "result", "came", "wanted"),
    [
        ("(int, int)", (1,), "1 value", 2),
        ("(int, int)", (), "0 values", 2),
        ("(int, int)", (1, 2, 3), "3 values", 2),
        ("(int, int)", None, "one value (None)", 2),
        ("(int, int)", 7, "one value (int 7)", 2),
        ("(int, int)", "ab", "one value (str 'ab')", 2),
        ("()", 7, "one value (int 7)", 0),
        ("()", np.zeros(0), "one value (float64[0])", 0),
        ("()", (1,), "1 value", 0),
    ],
)
def test_a_wrong_number_of_returns_is_an_error_that_names_both_numbers(
    define, x, returns, result, came, wanted
):
    op = define(f"(Tensor x) -> {returns}", lambda x: result)
    stack = ["below", x]
    held = op.lookup(x)
    calls = [(op.call, x), (held, x), (op.call_boxed, stack), (held.call, stack)]
    for call, argument in calls:
        with pytest.raises(KernelError) as caught:
            call(argument)
        text = f"error[C10E502] a kernel of `t::f` returned {came} where the schema returns {wanted}"
        assert (str(caught.value), caught.value.wanted) == (text, wanted)
    assert stack == ["below", x]


def test_an_exception_of_a_kernel_comes_through_and_leaves_the_stack(define, x):
    failure = ValueError("kernel said no")

    def boxed(stack, cache):
        stack.pop()
        stack.append(1)
        raise failure

    def plain(x):
        raise failure

    for kernel in (plain, BoxedKernel(boxed)):
        op = Dispatcher().register_schema("t::f(Tensor x) -> int")
        op.dispatcher.register_kernel(op, "CPU", kernel)
        stack = ["below", x]
        for call in (op.call_boxed, op.lookup(x).call):
            with pytest.raises(ValueError, match="kernel said no") as caught:
                call(stack)
            assert caught.value is failure
            assert stack == ["below", x]
        with pytest.raises(ValueError, match="kernel said no"):
            op.call(x)


def test_a_type_error_of_a_kernel_comes_through_unchanged(define, x):
    def kernel(x):
        return x + 1

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        define("(Tensor x) -> int", kernel)(x)
    assert not isinstance(caught.value, ArgumentError)


def test_a_list_argument_of_the_caller_is_passed_as_it_is(define, x):
    numbers = [5]
    define("(Tensor x, int[] s) -> ()", lambda x, s: s.append(9)).call(x, numbers)
    assert numbers == [5, 9]


def test_an_unchecked_call_converts_nothing(define, x):
    values = [1, True, 2.5, np.float32(0.5), "text", (1, 2), None]
    seen = []
    op = define("(Tensor x, Any a) -> ()", lambda x, a: seen.append(a))
    for value in values:
        op.call(x, value), op(x, value), op.call_boxed([x, value]), op.lookup(x, value)(x, value)
    assert all(got is value for got, value in zip(seen, [v for v in values for _ in range(4)], strict=True))
