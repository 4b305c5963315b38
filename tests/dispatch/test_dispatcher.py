import itertools

import pytest

from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.kernel import BoxedKernel
from c10cli.dispatch.registration import kernel_registration
from c10cli.errors import (
    AmbiguousOverloadError,
    ArgumentError,
    NoKernelError,
    RegistrationError,
    SchemaError,
    UnknownOperatorError,
)
from c10cli.schema.parser import parse_schema

SCHEMA = "t::f(Tensor x) -> int"


def constant(value):
    return lambda x: value


@pytest.fixture
def op(dispatcher):
    return dispatcher.register_schema(SCHEMA)


def test_each_key_gets_its_own_kernel(dispatcher, op, tensor):
    dispatcher.register_kernel(op, "CPU", constant(1))
    dispatcher.register_kernel(op, "CUDA", constant(2))
    assert [op.call(tensor("CPU")), op.call(tensor("CUDA"))] == [1, 2]
    for key, value in (("CPU", 1), ("CUDA", 2)):
        stack = ["below", tensor(key)]
        dispatcher.lookup(op, stack).call(stack)
        assert stack == ["below", value]


def test_operators_do_not_share_kernels(dispatcher, op, x):
    other = dispatcher.register_schema("t::g(Tensor x) -> int")
    dispatcher.register_kernel(op, "CPU", constant(1))
    with pytest.raises(NoKernelError):
        other.call(x)


def test_a_schema_may_be_given_as_text_or_as_value(dispatcher):
    value = parse_schema(SCHEMA)
    assert dispatcher.register_schema(value).schema is value
    assert str(dispatcher.register_schema("t::g(Tensor x) -> int").schema) == "t::g(Tensor x) -> int"


@pytest.mark.parametrize("text", ["t::f(Tensr x) -> int", "t::f(int x) -> int", "nonsense"])
def test_a_refused_schema_leaves_no_operator(dispatcher, text):
    with pytest.raises(SchemaError):
        dispatcher.register_schema(text)
    assert dispatcher.operators() == []


def test_overloads_are_operators_of_their_own(dispatcher, op, x):
    overload = dispatcher.register_schema("t::f.ov(Tensor x) -> int")
    dispatcher.register_kernel(overload, "CPU", constant(2))
    assert dispatcher.find("t::f.ov").call(x) == 2
    with pytest.raises(NoKernelError):
        dispatcher.find("t::f").call(x)


def test_operators_are_listed_by_name(dispatcher):
    for name in ("b::z", "a::y", "b::a", "b::a.ov"):
        dispatcher.register_schema(f"{name}(Tensor x) -> int")
    assert [str(op.name) for op in dispatcher.operators()] == ["a::y", "b::a", "b::a.ov", "b::z"]


def test_find_takes_short_names_and_refuses_unknown_and_ambiguous_ones(dispatcher, op):
    assert dispatcher.find("f") is dispatcher.find("t::f") is op
    with pytest.raises(UnknownOperatorError) as caught:
        dispatcher.find("t::ff")
    assert caught.value.diagnostics[0].help == "did you mean `t::f`?"
    dispatcher.register_schema("u::f(Tensor x) -> int")
    with pytest.raises(AmbiguousOverloadError):
        dispatcher.find("f")


def test_a_deregistered_operator_is_not_found_and_its_name_is_free(dispatcher, op, x):
    dispatcher.deregister_schema(op)
    with pytest.raises(UnknownOperatorError):
        dispatcher.find("t::f")
    again = dispatcher.register_schema(SCHEMA)
    dispatcher.register_kernel(again, "CPU", constant(3))
    assert dispatcher.find("t::f").call(x) == 3


def test_the_singleton_is_one_and_a_dispatcher_is_private():
    assert Dispatcher.singleton() is Dispatcher.singleton()
    assert Dispatcher() is not Dispatcher.singleton()


def test_a_removed_key_is_free_for_another_kernel(dispatcher, op, x):
    dispatcher.register_kernel(op, "CPU", constant(1))
    dispatcher.deregister_kernel(op, "CPU")
    dispatcher.register_kernel(op, "CPU", constant(2))
    assert op.call(x) == 2


@pytest.mark.parametrize(
    ("kernel", "cache", "reason"),
    [
        (lambda x: 1, list, "takes 1 arguments and none of them is left for the cache"),
        (BoxedKernel(lambda x: 1), None, "is registered as boxed, which takes (stack, cache), but takes (x)"),
    ],
)
def test_a_kernel_with_the_schemas_own_arguments_and_no_others_takes_no_cache_and_no_stack(
    dispatcher, op, kernel, cache, reason
):
    with pytest.raises(RegistrationError) as caught:
        dispatcher.register_kernel(op, "CPU", kernel, cache)
    assert caught.value.code == "C10E305"
    assert str(caught.value).endswith(f"`<lambda>` of `t::f` {reason}")
    assert op.keys() == ()


def test_a_kernel_that_is_refused_does_not_remove_the_one_before(dispatcher, op, x):
    first = dispatcher.register_kernel(op, "CPU", constant(1))
    with pytest.raises(RegistrationError), dispatcher.register_kernel(op, "CPU", constant(2)):
        raise AssertionError("not reached")
    assert op.call(x) == 1
    first.close()


def test_ten_thousand_operators_can_be_removed_in_order(dispatcher, x):
    ops = [dispatcher.register_schema(f"t::bulk{i}(Tensor x) -> int") for i in range(10_000)]
    for op in ops[:-1]:
        dispatcher.deregister_schema(op)
    dispatcher.register_kernel(ops[-1], "CPU", constant(1))
    assert (dispatcher.operators(), ops[-1].call(x)) == ([ops[-1]], 1)


def test_an_override_serves_and_closing_it_reveals_the_one_below(dispatcher, op, x):
    registrars = [dispatcher.register_kernel(op, "CPU", constant(0))]
    for value in (1, 2):
        registrars.append(dispatcher.register_kernel(op, "CPU", constant(value), override=True))
        assert op.call(x) == value
    for value in (1, 0):
        registrars.pop().close()
        assert op.call(x) == value
    registrars.pop().close()
    with pytest.raises(NoKernelError):
        op.call(x)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_overrides_may_be_closed_in_any_order(dispatcher, op, x, order):
    registrars = [dispatcher.register_kernel(op, "CPU", constant(value), override=True) for value in range(3)]
    left = {0, 1, 2}
    for value in order:
        assert op.call(x) == max(left)
        registrars[value].close()
        registrars[value].close()
        left.remove(value)
    assert op.keys() == ()


def test_deregistering_takes_the_newest_of_an_override_stack(dispatcher, op, x):
    dispatcher.register_kernel(op, "CPU", constant(1))
    newest = dispatcher.register_kernel(op, "CPU", constant(2), override=True)
    dispatcher.deregister_kernel(op, "CPU")
    assert op.call(x) == 1
    newest.close()
    assert op.call(x) == 1


def test_an_override_of_nothing_is_a_registration(dispatcher, op, x):
    dispatcher.register_kernel(op, "CPU", constant(1), override=True)
    assert op.call(x) == 1


def test_a_registrar_undoes_its_own_registration_alone(dispatcher, op, x):
    registrar = dispatcher.register_kernel(op, "CPU", constant(1))
    dispatcher.deregister_kernel(op, "CPU")
    dispatcher.register_kernel(op, "CPU", constant(2))
    registrar.close()
    assert op.call(x) == 2
    assert (registrar.op, registrar.dispatch_key.name) == (op, "CPU")


def test_a_registrar_closes_at_the_end_of_its_block_also_after_an_exception(dispatcher, op):
    def use():
        with dispatcher.register_kernel(op, "CPU", constant(1)):
            assert [*map(str, op.keys())] == ["CPU[1]"]
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        use()
    assert op.keys() == ()


def test_registrations_that_say_the_same_at_the_same_place_are_two(dispatcher, op, x):
    kernel = constant(1)
    first, second = (dispatcher.register_kernel(op, "CPU", kernel, override=True) for _ in range(2))
    first.close()
    table = op.table()
    first.close()
    assert (op.table(), op.call(x)) == (table, 1)
    second.close()
    assert op.keys() == ()


def test_closing_again_changes_nothing_at_all(dispatcher, op, x):
    registrar = dispatcher.register_kernel(op, "CPU", constant(1))
    dispatcher.register_kernel(op, "CPU", constant(2), override=True)
    registrar.close()
    table = op.table()
    registrar.close()
    assert (op.table(), op.call(x)) == (table, 2)


def test_registrars_of_two_keys_close_apart(dispatcher, op, tensor):
    cpu = dispatcher.register_kernel(op, "CPU", constant(1))
    with dispatcher.register_kernel(op, "CUDA", constant(2)):
        assert op.call(tensor("CUDA")) == 2
    assert op.call(tensor("CPU")) == 1
    with pytest.raises(NoKernelError):
        op.call(tensor("CUDA"))
    cpu.close()
    dispatcher.deregister_schema(op)


def test_closing_a_registrar_of_a_deregistered_operator_does_nothing(dispatcher, op):
    registrar = dispatcher.register_kernel(op, "CPU", constant(1))
    dispatcher.deregister_kernel(op, "CPU")
    dispatcher.deregister_schema(op)
    registrar.close()
    registrar.close()


def test_a_dropped_registrar_leaves_its_kernel(dispatcher, op, x):
    dispatcher.register_kernel(op, "CPU", constant(1))
    assert op.call(x) == 1


def test_an_operator_may_be_given_by_its_name(dispatcher, op, x):
    with dispatcher.register_kernel("t::f", "CPU", constant(1)):
        assert dispatcher.lookup("f", [x])(x) == 1
    kernel_registration("t::f", dispatcher).kernel(constant(2)).dispatch_key("CPU").register()
    assert op.call(x) == 2
    dispatcher.deregister_kernel("t::f", "CPU")
    dispatcher.deregister_schema("t::f")
    assert not op.is_live


@pytest.mark.parametrize(
    "use",
    [
        lambda d: d.register_kernel("t::ff", "CPU", len),
        lambda d: d.deregister_kernel("t::ff", "CPU"),
        lambda d: d.deregister_schema("t::ff"),
        lambda d: d.lookup("t::ff", []),
        lambda d: kernel_registration("t::ff", d).kernel(len).dispatch_key("CPU").register(),
    ],
)
def test_a_name_that_no_operator_has_is_unknown_with_near_names(dispatcher, op, use):
    with pytest.raises(UnknownOperatorError) as caught:
        use(dispatcher)
    assert caught.value.near == ("t::f",)


A_DISPATCHER = "a dispatcher takes an operator handle or a name, not "
MISUSES = {
    "register_kernel": (lambda d, op: d.register_kernel(None, "CPU", len), f"{A_DISPATCHER}None"),
    "deregister_kernel": (lambda d, op: d.deregister_kernel(3, "CPU"), f"{A_DISPATCHER}int 3"),
    "deregister_schema": (lambda d, op: d.deregister_schema(None), f"{A_DISPATCHER}None"),
    "lookup of nothing": (lambda d, op: d.lookup(len, []), f"{A_DISPATCHER}builtin_function_or_method"),
    "lookup on nothing": (lambda d, op: d.lookup(op, None), "the stack of `t::f` must be a list, not None"),
    "call on a tuple": (
        lambda d, op: op.call_boxed((1,)),
        "the stack of `t::f` must be a list, not tuple of 1",
    ),
    "find": (lambda d, op: d.find(None), "find(...) takes the name of an operator, not None"),
    "kernel_registration": (
        lambda d, op: kernel_registration(3),
        "kernel_registration takes an operator handle, its getter or a name, not int 3",
    ),
    "a getter of nothing": (
        lambda d, op: kernel_registration(dict, d).kernel(len).dispatch_key("CPU").register(),
        f"{A_DISPATCHER}dict of 0",
    ),
}


@pytest.mark.parametrize(("use", "message"), MISUSES.values(), ids=MISUSES)
def test_a_value_of_another_type_than_the_interface_takes_is_one_clear_type_error(
    dispatcher, op, use, message
):
    with pytest.raises(ArgumentError) as caught:
        use(dispatcher, op)
    assert str(caught.value) == f"error[C10E405] {message}"
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("value", [None, 3, b"t::f(Tensor x) -> int"])
def test_what_is_neither_schema_nor_text_is_no_schema(dispatcher, value):
    with pytest.raises(TypeError, match=r"^a schema is a text such as 'ns::f\(Tensor x\) -> Tensor', not "):
        dispatcher.register_schema(value)
