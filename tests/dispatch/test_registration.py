import threading

import pytest

from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.kernel import BoxedKernel, KernelCache
from c10cli.dispatch.registration import Ops, OpSchemaRegistrar, define_op_schema, kernel_registration, ops
from c10cli.errors import (
    AmbiguousOverloadError,
    DispatchError,
    RegistrationError,
    StaleHandleError,
    UnknownOperatorError,
)

SCHEMA = "t::f(Tensor x) -> int"


class Counter(KernelCache):
    def __init__(self, start=4):
        self.value = start


def counting(x, cache):
    cache.value += 1
    return cache.value - 1


@pytest.fixture
def op(dispatcher):
    return dispatcher.register_schema(SCHEMA)


def test_the_builder_registers_with_cache_kernel_and_key(op, x):
    registrar = kernel_registration(op).with_cache(Counter).kernel(counting).dispatch_key("CPU").register()
    held = op.lookup(x)
    assert [held(x), held(x), op.call(x)] == [4, 5, 4]
    registrar.close()
    assert op.keys() == ()


def test_the_key_may_come_first_and_the_kernel_be_boxed(op, x):
    def boxed(stack, cache):
        stack[-1:] = [7]

    with kernel_registration(op).dispatch_key("CPU").kernel(BoxedKernel(boxed)).register():
        assert op.call(x) == 7


def test_the_builder_takes_a_getter_and_registers_its_schema_only_then(dispatcher, x):
    getter = define_op_schema(SCHEMA, dispatcher)
    builder = kernel_registration(getter).kernel(lambda x: 1).dispatch_key("CPU")
    assert dispatcher.operators() == []
    builder.register()
    assert getter().call(x) == 1


def test_a_builder_can_be_used_for_several_keys(op, tensor):
    builder = kernel_registration(op).kernel(lambda x: 1)
    for key in ("CPU", "CUDA"):
        builder.dispatch_key(key).register()
    assert [*map(str, op.keys())] == ["CPU[1]", "CUDA[2]"]


class NeedsSize(KernelCache):
    def __init__(self, size):
        self.size = size


class NeedsKeyword(KernelCache):
    def __init__(self, *args, size, **kwargs):
        self.size = size


@pytest.mark.parametrize(
    ("misuse", "message", "help"),
    [
        (
            lambda b: b.dispatch_key("CPU").register(),
            "kernel() is missing",
            "call kernel() before register()",
        ),
        (
            lambda b: b.kernel(len).register(),
            "dispatch_key() is missing",
            "call dispatch_key() before register()",
        ),
        (lambda b: b.kernel(len).kernel(len), "kernel() is given twice", "give one kernel per registration"),
        (
            lambda b: b.dispatch_key("CPU").dispatch_key("CPU"),
            "dispatch_key() is given twice",
            "make one registration per key",
        ),
        (
            lambda b: b.with_cache(Counter).with_cache(Counter),
            "with_cache() is given twice",
            "give one cache class",
        ),
        (
            lambda b: b.kernel(len).with_cache(Counter),
            "with_cache() comes after kernel()",
            "call with_cache() first",
        ),
        (
            lambda b: b.with_cache(dict),
            "`dict` is not derived from KernelCache",
            "derive the class from KernelCache",
        ),
        (
            lambda b: b.with_cache(Counter()),
            "`Counter` is not derived from KernelCache",
            "derive the class from KernelCache",
        ),
        (
            lambda b: b.with_cache(NeedsSize),
            "`NeedsSize` cannot be made without arguments",
            "give them defaults",
        ),
        (
            lambda b: b.with_cache(NeedsKeyword),
            "`NeedsKeyword` cannot be made without arguments",
            "give them defaults",
        ),
    ],
)
def test_every_misuse_of_the_builder_has_its_own_error(op, misuse, message, help):
    with pytest.raises(RegistrationError) as caught:
        misuse(kernel_registration(op))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message, diagnostic.help) == ("C10E309", message, help)
    assert diagnostic.place == "kernel registration"
    assert op.keys() == ()


def test_the_builder_refuses_an_unknown_key_at_once(op):
    with pytest.raises(DispatchError, match="unknown dispatch key `GPU`"):
        kernel_registration(op).dispatch_key("GPU")


def test_a_plain_cache_class_can_be_made_without_arguments(op):
    class Empty(KernelCache):
        pass

    kernel_registration(op).with_cache(Empty).kernel(lambda x, cache: 0).dispatch_key("CPU").register()
    assert [*map(str, op.keys())] == ["CPU[1]"]


def test_a_schema_getter_registers_on_first_use_and_once(dispatcher):
    getter = define_op_schema(SCHEMA, dispatcher)
    assert dispatcher.operators() == []
    assert getter() is getter()
    assert dispatcher.operators() == [getter()]


class SlowDispatcher(Dispatcher):
    def register_schema(self, *args, **kwargs):
        threading.Event().wait(0.01)  # long enough for the others to come
        return super().register_schema(*args, **kwargs)


def test_a_schema_getter_used_by_many_threads_at_once_registers_once():
    dispatcher = SlowDispatcher()
    getter = define_op_schema(SCHEMA, dispatcher)
    together, found = threading.Barrier(8), []

    def use():
        together.wait(5)
        found.append(getter())

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert found == [dispatcher.find("t::f")] * 8


def test_a_schema_getter_fails_at_its_first_use_and_can_be_used_again(dispatcher, op):
    getter = define_op_schema(SCHEMA, dispatcher)
    with pytest.raises(RegistrationError) as caught:
        getter()
    assert caught.value.code == "C10E301"
    dispatcher.deregister_schema(op)
    assert getter().is_live


def test_a_schema_getter_without_dispatcher_uses_the_singleton():
    getter = define_op_schema("test_registration::single(Tensor x) -> int")
    try:
        assert getter().dispatcher is Dispatcher.singleton()
    finally:
        Dispatcher.singleton().deregister_schema(getter())


def test_a_schema_registrar_deregisters_at_the_end_of_its_block(dispatcher):
    with OpSchemaRegistrar(SCHEMA, dispatcher) as op:
        assert dispatcher.operators() == [op]
    assert dispatcher.operators() == []


def test_a_schema_registrar_may_be_closed_twice(dispatcher):
    registrar = OpSchemaRegistrar(SCHEMA, dispatcher)
    registrar.close()
    dispatcher.register_schema(SCHEMA)
    registrar.close()
    assert dispatcher.find("t::f").is_live


def test_a_schema_registrar_closed_over_live_kernels_is_an_error_and_may_be_closed_later(dispatcher):
    registrar = OpSchemaRegistrar(SCHEMA, dispatcher)
    kernel = dispatcher.register_kernel(registrar.op, "CPU", len)
    with pytest.raises(RegistrationError) as caught:
        registrar.close()
    assert (caught.value.code, registrar.op.is_live) == ("C10E307", True)
    kernel.close()
    registrar.close()
    assert dispatcher.operators() == []


def test_registrars_close_in_any_order(dispatcher):
    for schema_first in (True, False):
        registrar = OpSchemaRegistrar(SCHEMA, dispatcher)
        kernel = dispatcher.register_kernel(registrar.op, "CPU", len)
        if schema_first:
            with pytest.raises(RegistrationError):
                registrar.close()
        for closing in (kernel, registrar, kernel, registrar):
            closing.close()
        assert dispatcher.operators() == []


def test_a_block_over_live_kernels_ends_with_that_error_unless_it_has_its_own(dispatcher):
    with pytest.raises(RegistrationError), OpSchemaRegistrar(SCHEMA, dispatcher) as op:
        kernel = dispatcher.register_kernel(op, "CPU", len)
    kernel.close()
    dispatcher.deregister_schema(op)

    def use():
        with OpSchemaRegistrar(SCHEMA, dispatcher) as op:
            dispatcher.register_kernel(op, "CPU", len)
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        use()
    assert dispatcher.find("t::f").is_live


def test_dropping_registrars_neither_raises_nor_deregisters(dispatcher, x):
    registrar = OpSchemaRegistrar(SCHEMA, dispatcher)
    op = registrar.op
    dispatcher.register_kernel(op, "CPU", lambda x: 1)
    del registrar
    assert op.call(x) == 1
    empty = OpSchemaRegistrar("t::empty(Tensor x) -> int", dispatcher).op
    assert empty.is_live


@pytest.fixture
def names(dispatcher):
    """`ops` of the test's own dispatcher."""
    return Ops(lambda: dispatcher)


def test_an_operator_is_an_attribute_and_is_the_generated_function(dispatcher, op, names, x):
    dispatcher.register_kernel(op, "CPU", lambda x: 1)
    assert names.t.f is op.call
    assert names.t.f(x) == 1


def test_overloads_are_attributes_of_the_function(dispatcher, op, names, x):
    out = dispatcher.register_schema("t::f.out(Tensor x) -> int")
    for handle, value in ((op, 1), (out, 2)):
        dispatcher.register_kernel(handle, "CPU", lambda x, value=value: value)
    assert [names.t.f(x), names.t.f.default(x), names.t.f.out(x)] == [1, 1, 2]


def test_without_an_overload_of_its_own_the_base_name_asks_for_one(dispatcher, names, x):
    for overload in "ba":
        handle = dispatcher.register_schema(f"t::g.{overload}(Tensor x) -> str")
        dispatcher.register_kernel(handle, "CPU", lambda x, overload=overload: overload)
    assert names.t.g.a(x) == "a"
    with pytest.raises(AmbiguousOverloadError) as caught:
        names.t.g(x)
    assert str(caught.value) == "error[C10E402] `t::g` may be any of `t::g.a`, `t::g.b`"
    assert caught.value.diagnostics[0].help == "write the whole name, such as `t::g.a`"


def test_the_base_name_of_a_single_overload_calls_that(dispatcher, names, x):
    dispatcher.register_kernel(dispatcher.register_schema("t::g.a(Tensor x) -> str"), "CPU", lambda x: "a")
    assert names.t.g(x) == "a"


def test_an_unknown_attribute_is_an_unknown_operator_with_near_names(op, names):
    with pytest.raises(UnknownOperatorError) as caught:
        _ = names.t.ff
    assert str(caught.value) == "error[C10E401] unknown operator `t::ff`"
    assert caught.value.near == ("t::f",)
    assert (hasattr(names.t, "f"), hasattr(names.t, "nothing"), hasattr(names.t, "__wrapped__")) == (
        True,
        False,
        False,
    )


def test_a_held_attribute_goes_stale_and_a_fresh_one_does_not(dispatcher, op, names, x):
    held = names.t.f
    dispatcher.deregister_schema(op)
    again = dispatcher.register_schema(SCHEMA)
    dispatcher.register_kernel(again, "CPU", lambda x: 2)
    with pytest.raises(StaleHandleError):
        held(x)
    assert names.t.f(x) == 2


def test_the_operators_of_a_namespace_are_listed(dispatcher, op, names):
    dispatcher.register_schema("t::a.out(Tensor x) -> int")
    dispatcher.register_schema("u::b(Tensor x) -> int")
    assert dir(names.t) == ["a", "f"]


PRIVATE = ["_find", "_dispatcher", "_namespace", "_x", "__and__", "__dispatcher"]


@pytest.mark.parametrize("name", PRIVATE)
def test_namespaces_and_operators_may_be_called_as_internals_might_be(dispatcher, names, x, name):
    assert not hasattr(names.t, name)
    op = dispatcher.register_schema(f"{name}::{name}(Tensor x) -> int")
    other = dispatcher.register_schema(f"t::{name}.o(Tensor x) -> int")
    for handle, value in ((op, 1), (other, 2)):
        dispatcher.register_kernel(handle, "CPU", lambda x, value=value: value)
    assert getattr(getattr(names, name), name)(x) == 1
    assert getattr(names.t, name).o(x) == 2


def test_what_tools_ask_every_object_for_is_no_namespace(names):
    assert not hasattr(names, "__wrapped__")


def test_namespaces_are_listed(dispatcher, op, names):
    dispatcher.register_schema("u::b(Tensor x) -> int")
    assert dir(names) == ["t", "u"]


@pytest.mark.parametrize("checked", [False, True])
def test_an_overload_that_went_is_no_attribute_any_more(checked, x):
    dispatcher = Dispatcher(checked=checked)
    names = Ops(lambda: dispatcher)
    for overload in ("", ".o", ".p"):
        dispatcher.register_kernel(
            dispatcher.register_schema(f"t::f{overload}(Tensor x, int i=3) -> int"), "CPU", lambda x, i: i
        )
    held = names.t.f
    assert (held(x), held.o(x, 4), held.default(x), held.__qualname__) == (3, 4, 3, "t::f")
    assert held.__module__ == "c10cli.ops"
    for overload in "op":
        dispatcher.deregister_kernel(f"t::f.{overload}", "CPU")
        dispatcher.deregister_schema(f"t::f.{overload}")
    assert [hasattr(names.t.f, name) for name in ("o", "p", "default")] == [False, False, True]
    dispatcher.deregister_kernel("t::f", "CPU")
    dispatcher.deregister_schema("t::f")
    for stale in (held, held.o, held.default):
        with pytest.raises(StaleHandleError):
            stale(x)


def test_ops_are_those_of_the_singleton(x):
    registrar = OpSchemaRegistrar("test_registration::one(Tensor x) -> int")
    with registrar as op, op.dispatcher.register_kernel(op, "CPU", lambda x: 1):
        assert op.dispatcher is Dispatcher.singleton()
        assert ops.test_registration.one(x) == 1
