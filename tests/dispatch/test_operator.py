import inspect

import pytest

from c10cli.arrays.tensor_types import register_tensor_type
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.operator import OperatorHandle
from c10cli.dispatch.registration import OpSchemaRegistrar
from c10cli.errors import ArgumentError, KernelError, NoKernelError, StaleHandleError
from c10cli.schema.parser import parse_schema

SCHEMA = "t::f(Tensor x, int i=1) -> int"


class Movable:
    """A tensor whose key depends on the value, as torch's does."""


register_tensor_type(Movable, lambda value: "CPU")


@pytest.fixture
def op(dispatcher):
    op = dispatcher.register_schema(SCHEMA)
    dispatcher.register_kernel(op, "CPU", lambda x, i: i)
    return op


def removed(dispatcher, op):
    for key in list(op.table().registrations):
        dispatcher.deregister_kernel(op, key)
    dispatcher.deregister_schema(op)
    return op


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "`t::f` is missing argument `x`"),
        (("x", 1, 2), {}, "`t::f` takes 2 positional arguments, 3 are given"),
        (("x",), {"j": 1}, "`t::f` has no argument `j`"),
        (("x",), {"x": 1}, "argument `x` of `t::f` is given twice"),
    ],
)
def test_wrong_arguments_are_explained_with_the_declaration(op, x, args, kwargs, message):
    args = tuple(x if value == "x" else value for value in args)
    with pytest.raises(ArgumentError) as caught:
        op(*args, **kwargs)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("C10E404", message)
    assert diagnostic.notes == (f"declared as `{SCHEMA}`",)
    with pytest.raises(TypeError, match=r"^t::f\(\) ") as plain:
        op.call(*args, **kwargs)
    assert not isinstance(plain.value, ArgumentError)


def test_a_type_error_that_is_not_about_the_arguments_is_left_alone(dispatcher, x):
    def kernel(x, i):
        raise TypeError("from inside")

    op = dispatcher.register_schema("t::g(Tensor x, int i) -> int")
    dispatcher.register_kernel(op, "CPU", kernel)
    for value in (1, "not even an int"):
        with pytest.raises(TypeError, match=r"^from inside$"):
            op(x, value)


USES = {
    "op.call": lambda op, x: op.call(x),
    "op": lambda op, x: op(x),
    "op with wrong arguments": lambda op, x: op(),
    "call_boxed": lambda op, x: op.call_boxed([x, 1]),
    "call_boxed on a short stack": lambda op, x: op.call_boxed([]),
    "lookup": lambda op, x: op.lookup(x),
    "lookup_on": lambda op, x: op.lookup_on([x, 1]),
    "lookup_key": lambda op, x: op.lookup_key("CPU"),
    "keys": lambda op, x: op.keys(),
    "dump": lambda op, x: op.dump(),
    "register_kernel": lambda op, x: op.dispatcher.register_kernel(op, "CPU", lambda x, i: 2),
    "deregister_kernel": lambda op, x: op.dispatcher.deregister_kernel(op, "CPU"),
    "deregister_schema": lambda op, x: op.dispatcher.deregister_schema(op),
    "Dispatcher.lookup": lambda op, x: op.dispatcher.lookup(op, [x, 1]),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("again", [False, True], ids=["name free", "name registered anew"])
def test_any_use_of_a_stale_handle_says_where_it_was_deregistered(dispatcher, op, x, use, again, shown):
    assert op.call(x) == 1
    removed(dispatcher, op)
    if again:
        new = dispatcher.register_schema(SCHEMA)
        dispatcher.register_kernel(new, "CPU", lambda x, i: 77)
    with pytest.raises(StaleHandleError) as caught:
        use(op, x)
    assert shown(caught.value) == (
        "error[C10E306] the handle to `t::f` is stale: the operator was deregistered at FILE:N\n"
        "help: ask the dispatcher for a new handle with find(...)"
    )
    assert caught.value.site.startswith(__file__)
    assert caught.value.operator == "t::f"
    assert (op.is_live, repr(op)) == (False, "<OperatorHandle t::f (deregistered)>")
    if again:
        assert (new.call(x), new.is_live) == (77, True)


def test_a_stale_handle_names_the_line_of_the_deregistration_and_not_of_the_registration(dispatcher):
    op = dispatcher.register_schema(SCHEMA, site="a.py:1")
    dispatcher.deregister_schema(op)
    first = (
        test_a_stale_handle_names_the_line_of_the_deregistration_and_not_of_the_registration.__code__
    ).co_firstlineno
    with pytest.raises(StaleHandleError) as caught:
        op.keys()
    assert caught.value.site.startswith(f"{__file__}:{first + 2}")


def test_an_operator_without_kernels_goes_stale_too_for_tensors_whose_key_is_in_the_value(dispatcher):
    op = dispatcher.register_schema("t::g(Tensor x) -> int")
    with pytest.raises(NoKernelError):
        op.call(Movable())  # and the table remembers how such tensors are routed
    dispatcher.deregister_schema(op)
    with pytest.raises(StaleHandleError):
        op.call(Movable())


def test_a_held_call_function_goes_stale_and_never_serves_the_new_operator(dispatcher, op, x):
    call = op.call
    assert call(x) == 1
    removed(dispatcher, op)
    new = dispatcher.register_schema(SCHEMA)
    dispatcher.register_kernel(new, "CPU", lambda x, i: 77)
    for _ in range(2):
        with pytest.raises(StaleHandleError):
            call(x)
    assert new.call(x) == 77


def test_a_stale_operator_on_tensor_lists_is_stale_before_anything_else(dispatcher, x):
    op = dispatcher.register_schema("t::g(Tensor[] l) -> ()")
    removed(dispatcher, op)
    for value in ([], [x], x):
        with pytest.raises(StaleHandleError):
            op.call(value)


def test_the_handle_knows_schema_name_site_and_keys(dispatcher, op):
    assert str(op.schema) == SCHEMA
    assert str(op.name) == "t::f"
    assert op.site.startswith(__file__)
    assert op.dispatcher is dispatcher
    assert [*map(str, op.keys())] == ["CPU[1]"]
    assert repr(op) == "<OperatorHandle t::f>"


def test_an_error_of_dispatch_is_also_a_built_in_one(dispatcher, op, tensor):
    with pytest.raises(NotImplementedError):
        op.call(tensor("CUDA"))
    assert issubclass(NoKernelError, NotImplementedError)
    assert issubclass(StaleHandleError, ReferenceError)
    assert issubclass(ArgumentError, TypeError)
    assert issubclass(KernelError, RuntimeError)


class NotIterable(list):
    def __iter__(self):
        raise OSError("not today")

    __repr__ = __len__ = __iter__


def test_a_kernels_own_type_error_is_not_replaced_by_one_of_its_arguments(dispatcher, x):
    def kernel(x, values):
        raise TypeError("from inside")

    op = dispatcher.register_schema("t::g(Tensor x, int[] values) -> int")
    dispatcher.register_kernel(op, "CPU", kernel)
    with pytest.raises(TypeError, match=r"^from inside$"):
        op(x, NotIterable())
    with pytest.raises(ArgumentError, match="missing argument `x`"):
        op(values=NotIterable())


@pytest.mark.parametrize("checked", [False, True])
def test_tools_see_the_schema_in_a_handle_and_the_class_in_its_class(checked):
    op = Dispatcher(checked=checked).register_schema(
        "t::f(Tensor x, int i=1, *, int[] s=[2], Tensor? o=None) -> Tensor"
    )
    assert str(inspect.signature(op)) == "(x, i=1, *, s=[2], o=None)"
    kinds = [parameter.kind.name for parameter in inspect.signature(op).parameters.values()]
    assert kinds == ["POSITIONAL_OR_KEYWORD"] * 2 + ["KEYWORD_ONLY"] * 2
    assert op.__doc__ == inspect.getdoc(op) == str(op.schema)
    assert OperatorHandle.__doc__.startswith("One registered operator")
    assert inspect.getdoc(OperatorHandle).startswith("One registered operator")
    assert "dispatcher" in inspect.signature(OperatorHandle).parameters
    assert {"call", "lookup", "schema"} <= set(dir(op))


def test_the_signature_of_arguments_that_python_has_words_for_is_open(dispatcher):
    schema = parse_schema("t::f(Tensor x, int from) -> Tensor", "torch")
    assert str(inspect.signature(dispatcher.register_schema(schema))) == "(*args, **kwargs)"


def test_what_is_registered_shows_itself_on_one_line(dispatcher, op, x):
    other = OpSchemaRegistrar("t::o(Tensor x) -> int", dispatcher)
    registrar = dispatcher.register_kernel(op, "CUDA", int)
    shown = [
        repr(value)
        for value in (op, op.lookup(x), op.table(), registrar, other, other.op.table(), dispatcher)
    ]
    assert shown == [
        "<OperatorHandle t::f>",
        "<OpKernel op.<locals>.<lambda> of t::f at CPU[1]>",
        "<DispatchTable of t::f: CPU[1], CUDA[2]>",
        "<KernelRegistrar of int for t::f at CUDA[2]>",
        "<OpSchemaRegistrar of t::o>",
        "<DispatchTable of t::o: no kernels>",
        "<Dispatcher of 2 operators>",
    ]
    assert repr(Dispatcher(checked=True)) == "<checked Dispatcher of 0 operators>"
