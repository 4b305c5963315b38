"""The defects of the dispatcher's C++ ancestor (PyTorch PR #16625), each by its number in their list."""

import gc
import threading

import pytest

from c10cli.arrays.keys import DispatchKey
from c10cli.dispatch.kernel import BoxedKernel, KernelCache
from c10cli.dispatch.registration import OpSchemaRegistrar, kernel_registration
from c10cli.errors import DispatchError, KernelError, NoKernelError, RegistrationError, StaleHandleError


@pytest.fixture
def define(dispatcher):
    """``define("(Tensor x) -> int", kernel)``: an operator with that kernel for CPU."""

    def make(schema, kernel, cache_creator=None):
        op = dispatcher.register_schema(f"t::f{schema}")
        dispatcher.register_kernel(op, "CPU", kernel, cache_creator)
        return op

    return make


def boxed(op, *arguments):
    """The stack above a mark, after a boxed call."""
    stack = ["below", *arguments]
    op.call_boxed(stack)
    assert stack[0] == "below"
    return stack[1:]


def test_01_each_of_several_outputs_is_pushed_and_not_the_tuple_again_and_again(define, x):
    assert boxed(define("(Tensor x) -> (int, int, int)", lambda x: (1, 2, 3)), x) == [1, 2, 3]


def test_02_outputs_go_to_the_callers_stack(define, x):
    op = define("(Tensor x) -> (int, int)", lambda x: (1, 2))
    first, second = [x], [x]
    op.call_boxed(first)
    assert (first, second) == ([1, 2], [x])


def test_03_a_single_output_is_not_wrapped_and_a_single_tuple_stays_one_value(define, dispatcher, x):
    assert boxed(define("(Tensor x) -> int", lambda x: 7), x) == [7]
    pair = dispatcher.register_schema("t::pair(Tensor x) -> ((int, int))")
    dispatcher.register_kernel(pair, "CPU", lambda x: (1, 2))
    assert boxed(pair, x) == [(1, 2)]
    one = dispatcher.register_schema("t::one(Tensor x) -> Any")
    dispatcher.register_kernel(one, "CPU", lambda x: (7,))
    assert (boxed(one, x), one.call(x)) == ([(7,)], (7,))


@pytest.mark.parametrize("schema", ["(Tensor x) -> int", "(Tensor x) -> ()"])
def test_04_a_plain_function_serves_as_a_boxed_kernel_whatever_it_returns(define, x, schema):
    held = define(schema, lambda x: None).lookup(x)
    stack = [x]
    assert held.call(stack) is None
    assert stack == ([None] if schema.endswith("int") else [])


def test_05_inputs_are_taken_off_and_only_after_the_call(define, x):
    stack = ["below", [x, x]]
    seen = []
    define("(Tensor[] xs) -> int", lambda xs: seen.extend(stack) or len(xs)).call_boxed(stack)
    assert seen == ["below", [x, x]]
    assert stack == ["below", 2]


def test_06_the_number_of_arguments_is_checked_at_registration_and_on_the_stack(define, x):
    op = define("(Tensor x, int a, int b) -> int", lambda x, a, b: a + b)
    with pytest.raises(DispatchError) as caught:
        op.call_boxed([x, 1])
    assert (caught.value.code, caught.value.needed, caught.value.depth) == ("C10E409", 3, 2)
    with pytest.raises(RegistrationError, match="takes 2 arguments, and the schema has 3"):
        op.dispatcher.register_kernel(op, "CUDA", lambda x, a: a)


def test_07_an_exception_leaves_the_stack_as_it_was(define, x):
    def kernel(stack, cache):
        del stack[:]
        stack.append("rubbish")
        raise ValueError("no")

    stack = ["below", x, 1]
    with pytest.raises(ValueError, match="no"):
        define("(Tensor x, int a) -> int", BoxedKernel(kernel)).call_boxed(stack)
    assert stack == ["below", x, 1]


@pytest.mark.parametrize(
    "kernel", [lambda x, b: 1, lambda x: 1, lambda x, *, a: 1, lambda x, a, c: 1, lambda a, x: 1]
)
def test_08_a_kernel_that_cannot_take_the_schemas_arguments_is_refused(define, kernel):
    with pytest.raises(RegistrationError) as caught:
        define("(Tensor x, int a=1) -> int", kernel)
    assert caught.value.code == "C10E305"


def test_08_the_schemas_default_counts_and_not_the_kernels(define, x):
    assert define("(Tensor x, int a=3) -> int", lambda x, a=7: a).call(x) == 3


def test_08_the_number_of_returns_is_checked(define, x):
    with pytest.raises(KernelError) as caught:
        define("(Tensor x) -> (int, int)", lambda x: (1, 2, 3)).call(x)
    assert caught.value.code == "C10E502"


@pytest.mark.parametrize("second", ["t::f(Tensor x) -> int", "t::f(Tensor y) -> int"])
def test_09_one_identity_has_one_operator(dispatcher, second):
    first = dispatcher.register_schema("t::f(Tensor x) -> int")
    dispatcher.register_schema("t::f.overload(Tensor x) -> int")
    with pytest.raises(RegistrationError) as caught:
        dispatcher.register_schema(second)
    assert (caught.value.code, dispatcher.find("t::f")) == ("C10E301", first)


def test_10_operators_are_found_and_listed_by_name(define, dispatcher):
    op = define("(Tensor x) -> int", lambda x: 1)
    assert dispatcher.find("t::f") is op
    assert dispatcher.operators() == [op]


def test_11_a_handle_is_stale_after_deregistration_and_says_where_that_was(dispatcher, x):
    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    dispatcher.deregister_schema(op)
    again = dispatcher.register_schema("t::f(Tensor x) -> int")
    dispatcher.register_kernel(again, "CPU", lambda x: 1)
    for use in (op.call, op.lookup, lambda x: dispatcher.deregister_schema(op)):
        with pytest.raises(StaleHandleError, match=r"deregistered at .*test_seed_defects\.py:\d+"):
            use(x)


def test_12_deregistering_a_schema_with_kernels_names_operator_keys_and_places(define, dispatcher):
    op = define("(Tensor x) -> int", lambda x: 1)
    with pytest.raises(RegistrationError) as caught:
        dispatcher.deregister_schema(op)
    text = "\n".join([str(caught.value), *caught.value.__notes__])
    assert "`t::f`" in text
    assert "CPU[1]" in text
    assert __file__ in text


def test_13_a_schema_registrar_that_goes_over_live_kernels_raises_nothing(dispatcher, x):
    registrar = OpSchemaRegistrar("t::f(Tensor x) -> int", dispatcher)
    op = registrar.op
    dispatcher.register_kernel(op, "CPU", lambda x: 1)
    del registrar
    gc.collect()  # an error of a finalizer would be a warning, which the test run takes for an error
    assert op.call(x) == 1


def test_14_closing_a_kernel_registrar_whose_kernel_or_operator_is_gone_does_nothing(dispatcher):
    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    registrar = dispatcher.register_kernel(op, "CPU", lambda x: 1)
    dispatcher.deregister_kernel(op, "CPU")
    registrar.close()
    dispatcher.deregister_schema(op)
    registrar.close()


def test_15_a_registrar_that_is_closed_does_not_own_what_takes_its_place(dispatcher, x):
    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    registrar = dispatcher.register_kernel(op, "CPU", lambda x: 1)
    registrar.close()
    dispatcher.register_kernel(op, "CPU", lambda x: 2)
    registrar.close()
    assert op.call(x) == 2


def test_16_what_a_lookup_gave_does_not_move_under_a_later_write(define, dispatcher, x):
    op = define("(Tensor x) -> int", lambda x: 1)
    held = op.lookup(x)
    dispatcher.deregister_kernel(op, "CPU")
    for number in range(50):
        dispatcher.register_kernel(op, DispatchKey.register(f"SeedDefect{number}"), lambda x: 2)
    assert held(x) == 1


def test_17_every_key_can_be_printed_also_one_that_has_no_device(dispatcher, tensor):
    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    for name in DispatchKey.known_names():
        assert str(DispatchKey(name)) == f"{name}[{DispatchKey(name).number}]"
    with pytest.raises(NoKernelError, match=r"Undefined\[0\]"):
        op.call(tensor("Undefined"))


def test_18_keys_are_listed_in_order_whatever_the_order_of_registration(dispatcher, tensor):
    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    for key in ("XLA", "Meta", "CPU"):  # by number; by name, Meta would be before XLA
        dispatcher.register_kernel(op, key, lambda x: 1)
    with pytest.raises(NoKernelError, match=r"registered: CPU\[1\], XLA\[6\], Meta\[9\]"):
        op.call(tensor("CUDA"))


def test_19_a_cache_creator_that_gives_none_is_not_asked_again(define, x):
    made = []
    held = define("(Tensor x) -> int", lambda x, cache: 0, lambda: made.append(1)).lookup(x)
    held(x), held(x), held.call([x])
    assert made == [1]


def test_20_a_cache_is_made_once_also_by_threads_that_share_a_kernel(define, x):
    made, together = [], threading.Barrier(4)

    def create():
        made.append(1)
        threading.Event().wait(0.01)  # long enough for the others to come
        return KernelCache()

    held = define("(Tensor x) -> int", lambda x, cache: 0, create).lookup(x)

    def call():
        together.wait(5)
        held(x)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert made == [1]


def test_21_each_misuse_of_the_builder_is_called_by_its_own_name(dispatcher):
    builder = kernel_registration(dispatcher.register_schema("t::f(Tensor x) -> int"))
    with pytest.raises(RegistrationError, match=r"dispatch_key\(\) is given twice"):
        builder.dispatch_key("CPU").dispatch_key("CUDA")
    with pytest.raises(RegistrationError, match=r"kernel\(\) is given twice"):
        builder.kernel(len).kernel(len)


def test_22_a_kernel_is_removed_once_and_the_second_time_is_an_error(define, dispatcher):
    op = define("(Tensor x) -> int", lambda x: 1)
    dispatcher.deregister_kernel(op, "CPU")
    with pytest.raises(RegistrationError) as caught:
        dispatcher.deregister_kernel(op, "CPU")
    assert caught.value.code == "C10E308"
