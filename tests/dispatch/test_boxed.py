"""Boxed kernels and boxed calls: inputs off, outputs on, and everything below untouched."""

import numpy as np
import pytest

from c10cli.dispatch.kernel import BoxedKernel
from c10cli.errors import KernelError


@pytest.fixture
def define(dispatcher):
    """An operator with *schema* and *kernel* for CPU."""

    def make(schema, kernel):
        op = dispatcher.register_schema(f"t::f{schema}")
        dispatcher.register_kernel(op, "CPU", kernel)
        return op

    return make


@pytest.mark.parametrize("kind", ["plain", "boxed"])
def test_keyword_only_arguments_pass_both_ways(define, x, kind):
    def boxed(stack, cache):
        stack[1:] = [stack[-1] - stack[-2]]

    kernel = (lambda x, i, *, j: j - i) if kind == "plain" else BoxedKernel(boxed)
    op = define("(Tensor x, int i, *, int j=10) -> int", kernel)
    assert [op.call(x, 1), op.call(x, 1, j=2)] == [9, 1]
    stack = [x, 1, 5]
    op.call_boxed(stack)
    assert stack == [4]


@pytest.mark.parametrize(
    ("returns", "left", "value"),
    [
        ("()", [], None),
        ("int", [7], 7),
        ("(int, int)", [1, 2], (1, 2)),
        ("(int?, int[], int)", [None, [5], 3], (None, [5], 3)),
        ("((int, int))", [(1, 2)], (1, 2)),
    ],
)
def test_what_a_boxed_kernel_leaves_is_returned_and_lands_on_the_stack_one_by_one(
    define, x, returns, left, value
):
    def kernel(stack, cache):
        stack[-2:] = left

    op = define(f"(Tensor x, int i) -> {returns}", BoxedKernel(kernel))
    held = op.lookup(x, 1)
    assert [op.call(x, 1), op(x, 1), held(x, 1), held.unboxed(x, 1)] == [value] * 4
    for call in (op.call_boxed, held.call):
        stack = ["below", x, 1]
        call(stack)
        assert stack == ["below", *left]


def boxed_tuple(stack, cache):
    stack[1:] = [tuple(stack[-3:])]


@pytest.mark.parametrize("kernel", [lambda x, i, *, j, k: (i, j, k), BoxedKernel(boxed_tuple)])
def test_several_keyword_only_arguments_keep_their_order(define, x, kernel):
    op = define("(Tensor x, int i, *, int j, int k=7) -> Any", kernel)
    held = op.lookup(x, 1, j=2)
    assert [op.call(x, 1, k=3, j=2), op.call(x, 1, j=2), held(x, 1, k=3, j=2)] == [
        (1, 2, 3),
        (1, 2, 7),
        (1, 2, 3),
    ]
    for call in (op.call_boxed, held.call):
        stack = ["below", x, 1, 2, 3]
        call(stack)
        assert stack == ["below", (1, 2, 3)]


def leave_two(stack, cache):
    stack.pop()
    stack.extend([1, 2])


def forget_arguments(stack, cache):
    stack.append(1)


def take_one_more(stack, cache):
    del stack[-2:]
    stack.append(1)


def take_one_more_and_leave_an_array(stack, cache):
    stack[-2:] = [np.ones(2), 1]


def take_far_too_much(stack, cache):
    for _ in range(5):
        stack.pop()


@pytest.mark.parametrize(
    ("function", "fact"),
    [
        (leave_two, "left 2 values on the stack where the schema returns 1"),
        (forget_arguments, "left 2 values on the stack where the schema returns 1"),
        (take_one_more, "took more values off the stack than its 1 arguments"),
        (take_one_more_and_leave_an_array, "took more values off the stack than its 1 arguments"),
        (take_far_too_much, "took more values off the stack than its 1 arguments"),
        (lambda stack, cache: stack.pop(), "left 0 values on the stack where the schema returns 1"),
    ],
)
def test_a_boxed_kernel_that_breaks_the_discipline_is_named_and_the_stack_is_whole(define, x, function, fact):
    op = define("(Tensor x) -> int", BoxedKernel(function))
    stack = ["below", x]
    for call, argument in (
        (op.call_boxed, stack),
        (op.lookup(x).call, stack),
        (op.call, x),
        (op.lookup(x), x),
    ):
        with pytest.raises(KernelError) as caught:
            call(argument)
        assert str(caught.value) == f"error[C10E507] boxed kernel `{function.__qualname__}` of `t::f` {fact}"
        assert caught.value.__context__ is None
        assert stack == ["below", x]


def test_an_index_error_of_a_boxed_kernel_of_its_own_comes_through(define, x):
    def boxed(stack, cache):
        [][3]

    with pytest.raises(IndexError):
        define("(Tensor x) -> int", BoxedKernel(boxed)).call(x)


@pytest.mark.parametrize("left", [[], ["x"], ["x", "y"], ["above", "x", "y"]])
def test_the_arguments_are_the_uppermost_values_and_nothing_below_is_read(define, x, left):
    op = define("(Tensor x, int i) -> (int, int)", lambda x, i: (i, i + 1))
    for call in (op.call_boxed, op.lookup(x, 1).call):
        stack = [*left, x, 1]
        call(stack)
        assert stack == [*left, 1, 2]
