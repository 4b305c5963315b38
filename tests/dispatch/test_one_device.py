"""Checked calls: which tensors may meet in one call, and what a call remembers of their types."""

import numpy as np
import pytest

from c10cli.arrays.tensor_types import key_of, register_tensor_type
from c10cli.dispatch.checked import check_keys
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.errors import ArgumentError
from c10cli.schema.parser import parse_schema


@pytest.fixture
def define():
    """``define("(Tensor x) -> Tensor", kernel)``: an operator whose calls are checked."""

    def make(schema, kernel):
        op = Dispatcher(checked=True).register_schema(f"t::f{schema}")
        op.dispatcher.register_kernel(op, "CPU", kernel)
        return op

    return make


def refusal(op, *args):
    """The error of a call; it is the same for the first call and for later ones, and for every way."""
    errors = []
    for call in (op.call, op.call, op, lambda *args: op.call_boxed(list(args))):
        with pytest.raises(ArgumentError) as caught:
            call(*args)
        errors.append(caught.value)
    assert len({str(error) for error in errors}) == 1
    return errors[0]


class OnMeta:
    dtype, shape = "float32", (2,)


register_tensor_type(OnMeta, "Meta")


def test_tensors_of_one_call_on_different_devices_are_refused_each_with_its_key(define, shown):
    op = define("(Tensor x, Tensor? o, Tensor[] xs) -> Tensor", lambda x, o, xs: x + 1)
    a, m = np.ones(1), OnMeta()
    assert op.call(a, a, [a])[0] == 2
    assert refusal(op, a, None, [a, m]).keys == {"x": ["CPU"], "xs": ["CPU", "Meta"]}
    error = refusal(op, a, None, [m, a])
    assert shown(error) == (
        "error[C10E406] the tensors of `t::f` are on different dispatch keys: `x` on CPU, `xs` on CPU/Meta\n"
        "--> call of t::f\n"
        "note: the schema is t::f(Tensor x, Tensor? o, Tensor[] xs) -> Tensor\n"
        "help: move them to one device"
    )
    assert error.keys == {"x": ["CPU"], "xs": ["CPU", "Meta"]}
    assert refusal(op, a, m, [a]).keys == {"x": ["CPU"], "o": ["Meta"], "xs": ["CPU"]}


def test_a_type_that_is_taught_anew_is_asked_again(define):
    class Grid:
        pass

    register_tensor_type(Grid, "CPU")
    op = define("(Tensor x) -> int", lambda x: 1)
    op.dispatcher.register_kernel(op, "CUDA", lambda x: 2)
    assert [op.call(Grid()), op.call(Grid())] == [1, 1]
    register_tensor_type(Grid, "CUDA")
    assert [op.call(Grid()), op.call(Grid())] == [2, 2]


def test_a_tensor_whose_key_depends_on_the_value_is_asked_at_every_call(define):
    class Movable:
        place = "CPU"

    register_tensor_type(Movable, lambda value: value.place)
    op = define("(Tensor x, Tensor y) -> int", lambda x, y: 1)
    here, there = Movable(), Movable()
    assert op.call(here, there) == 1
    there.place = "Meta"
    assert refusal(op, here, there).code == "C10E406"


def test_a_sparse_and_a_dense_tensor_of_a_gpu_are_on_one_device():
    schema = parse_schema("t::f(Tensor x, Tensor y) -> Tensor")
    dense, sparse = (type(name, (), {}) for name in ("Dense", "Sparse"))
    register_tensor_type(dense, "CUDA")
    register_tensor_type(sparse, "SparseCUDA")
    check_keys(schema, [sparse(), dense()])
    with pytest.raises(ArgumentError) as caught:
        check_keys(schema, [sparse(), np.ones(1)])
    assert caught.value.keys == {"x": ["SparseCUDA"], "y": ["CPU"]}


def test_a_sparse_and_a_dense_tensor_are_on_one_device(needs):
    sparse = needs("scipy.sparse")
    schema = parse_schema("t::f(Tensor x, Tensor y) -> Tensor")
    matrix = sparse.csr_array(np.eye(2))
    assert {key_of(v).name for v in (matrix, np.eye(2))} == {"SparseCPU", "CPU"}
    check_keys(schema, [matrix, np.eye(2)])
    with pytest.raises(ArgumentError):
        check_keys(schema, [matrix, OnMeta()])


def test_a_tensor_without_a_key_does_not_hide_that_the_others_differ():
    class Traced:
        pass

    def no_key(value):
        raise ArgumentError

    register_tensor_type(Traced, no_key)
    schema = parse_schema("t::f(Tensor x, Tensor y, Tensor z) -> Tensor")
    check_keys(schema, [np.ones(1), Traced(), np.ones(1)])
    for values in ([np.ones(1), Traced(), OnMeta()], [Traced(), np.ones(1), OnMeta()]):
        with pytest.raises(ArgumentError) as caught:
            check_keys(schema, values)
        assert sorted(caught.value.keys.values()) == [["CPU"], ["Meta"]]
