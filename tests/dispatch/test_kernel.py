import abc
import copy
import functools
import gc
import pickle
import threading

import pytest

from c10cli.dispatch.kernel import BoxedKernel, KernelCache, OpKernel, bind_kernel, callable_place
from c10cli.errors import RegistrationError

SCHEMA = "t::f(Tensor x) -> int"


class Counter(KernelCache):
    """Counts from 4, as the seed's own test does."""

    def __init__(self):
        self.value = 4

    def next(self):
        self.value += 1
        return self.value - 1


def counting(x, cache):
    return cache.next()


def boxed_counting(stack, cache):
    stack.pop()
    stack.append(cache.next())


@pytest.fixture
def register(dispatcher):
    """``register(kernel, cache_creator)``: an operator with that kernel for CPU."""

    def make(kernel, cache_creator=None, schema=SCHEMA):
        op = dispatcher.register_schema(schema)
        dispatcher.register_kernel(op, "CPU", kernel, cache_creator)
        return op

    return make


COUNTING = pytest.mark.parametrize(
    "kernel",
    [
        counting,
        BoxedKernel(boxed_counting),
        lambda a, b, /: b.next(),
        lambda *args: args[1].next(),
        lambda x, *, cache: cache.next(),
    ],
    ids=["plain", "boxed", "positional-only", "variadic", "keyword-only"],
)


@COUNTING
def test_a_held_kernel_keeps_its_cache_between_calls_of_all_kinds(register, x, kernel):
    held = register(kernel, Counter).lookup(x)
    stack = [x]
    assert [held(x), held.unboxed(x)] == [4, 5]
    held.call(stack)
    assert stack == [6]


@COUNTING
def test_each_call_of_the_operator_makes_a_fresh_cache(register, x, kernel):
    op = register(kernel, Counter)
    stack = [x]
    op.call_boxed(stack)
    assert [op.call(x), op.call(x), op(x), *stack] == [4, 4, 4, 4]


def test_two_lookups_have_a_cache_each(register, x):
    op = register(counting, Counter)
    first, second = op.lookup(x), op.lookup(x)
    assert [first(x), second(x), first(x), second(x)] == [4, 4, 5, 5]


def test_one_kernel_at_two_operators_has_caches_apart(dispatcher, x):
    ops = [dispatcher.register_schema(f"t::{name}(Tensor x) -> int") for name in "ab"]
    for op in ops:
        dispatcher.register_kernel(op, "CPU", counting, Counter)
    assert [op.lookup(x)(x) for op in ops] == [4, 4]


def test_a_cache_is_made_at_the_first_call_and_not_at_the_lookup(register, x):
    made = []
    held = register(counting, lambda: made.append(1) or Counter()).lookup(x)
    assert made == []
    held(x), held(x), held.call([x])
    assert made == [1]


@pytest.mark.parametrize("cache", [None, 0, []])
def test_a_cache_that_is_none_or_empty_counts_as_made(register, x, cache):
    made = []
    held = register(lambda x, given: int(given is cache), lambda: [made.append(1), cache][1]).lookup(x)
    assert [held(x), held(x), held.unboxed(x), made] == [1, 1, 1, [1]]


def test_a_creator_that_fails_is_asked_again_at_the_next_call(register, x):
    attempts = []

    def create():
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("no cache today")
        return Counter()

    held = register(counting, create).lookup(x)
    stack = ["below", x]
    with pytest.raises(OSError, match="no cache today"):
        held.call(stack)
    assert stack == ["below", x]
    assert [held(x), held(x), len(attempts)] == [4, 5, 2]


@COUNTING
def test_a_cache_goes_with_its_kernel_without_garbage_collection(register, x, alive, kernel, counted):
    op = register(kernel, lambda: alive.track(Counter()))
    held = op.lookup(x)
    held(x), held.call([x])
    gc.disable()
    try:
        assert len(alive) == 1
        del held
        assert len(alive) == 0
        op.call(x)
        assert len(alive) == 0
    finally:
        gc.enable()


def test_the_unboxed_function_keeps_the_cache_when_its_kernel_goes(register, x):
    held = register(counting, Counter).lookup(x)
    held(x)
    function = held.unboxed
    assert held.unboxed is function
    del held
    assert function(x) == 5


@pytest.mark.parametrize(
    "kernel", [lambda x, cache, *, i: (cache.next(), i), lambda x, i, cache: (cache.next(), i)]
)
def test_a_cache_goes_along_with_keyword_only_arguments(register, x, kernel):
    op = register(kernel, Counter, "t::f(Tensor x, *, int i=7) -> (int, int)")
    held = op.lookup(x)
    assert [op.call(x), held(x), held(x, i=1)] == [(4, 7), (4, 7), (5, 1)]
    stack = [x, 9]
    held.call(stack)
    assert stack == [6, 9]


def test_a_held_kernel_outlives_its_registration_and_its_operator(register, dispatcher, x):
    op = register(counting, Counter)
    held = op.lookup(x)
    assert held(x) == 4
    dispatcher.deregister_kernel(op, "CPU")
    assert held(x) == 5
    dispatcher.deregister_schema(op)
    stack = [x]
    held.call(stack)
    assert [stack, held(x)] == [[6], 7]


def test_threads_that_share_a_kernel_get_one_cache(register, x):
    made, together = [], threading.Barrier(8)

    def create():
        made.append(1)
        threading.Event().wait(0.01)  # long enough for the others to come
        return Counter()

    held = register(lambda x, cache: id(cache), create).lookup(x)
    seen = []

    def call():
        together.wait(5)
        seen.append(held(x))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert (made, len(seen), len(set(seen))) == ([1], 8, 1)


def test_the_documentation_of_a_looked_up_kernel_says_that_it_serves_one_thread():
    assert "One `OpKernel` serves one thread at a time" in OpKernel.__doc__


def test_a_looked_up_kernel_says_what_it_is(register, x):
    held = register(counting, Counter).lookup(x)
    assert (held.function, held.name, held.dispatch_key.name) == (counting, "counting", "CPU")
    assert repr(held) == "<OpKernel counting of t::f at CPU[1]>"


def refusal(register, kernel, *args):
    with pytest.raises(RegistrationError) as caught:
        register(kernel, *args)
    return caught.value


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([], "of type list"),
        (3, "of type int"),
        ("name", "of type str"),
        (None, "None"),
        (BoxedKernel(3), "of type int"),
        (pytest, "of type module"),
    ],
)
def test_what_cannot_be_called_is_no_kernel(register, value, what, shown):
    assert shown(refusal(register, value)) == (
        f"error[C10E310] a kernel is a callable, and this is {what}\n--> registration of a kernel of t::f"
    )


def test_a_cache_creator_is_a_callable(register):
    text = "error[C10E310] the cache creator of `counting` is of type Counter"
    assert str(refusal(register, counting, Counter())) == text


class Sized:
    def __init__(self, size, *, kind): ...


class Abstract(abc.ABC):
    @abc.abstractmethod
    def next(self): ...


async def awaited(): ...


@pytest.mark.parametrize(
    ("creator", "fact", "help"),
    [
        (
            Sized,
            "`Sized` of `counting` is called without arguments, but needs `size`, `kind`",
            "give them defaults, or name a function that makes the cache and takes nothing",
        ),
        (
            Abstract,
            "`Abstract` of `counting` is an abstract class, of which there are no objects",
            "name what makes the cache",
        ),
        (
            awaited,
            "`awaited` of `counting` is an async function, and caches are made by a call alone",
            "name what makes the cache",
        ),
    ],
)
def test_a_creator_that_cannot_be_called_is_refused_when_it_is_registered(register, creator, fact, help):
    (found,) = refusal(register, counting, creator).diagnostics
    assert (found.code, found.message, found.help) == ("C10E305", f"cache creator {fact}", help)


@pytest.mark.parametrize(
    "creator", [dict, list, Counter, functools.partial(Sized, 1, kind=2), threading.Lock]
)
def test_a_creator_that_needs_nothing_is_taken(register, creator):
    assert register(counting, creator).keys() != ()


def test_a_kernel_that_does_not_fit_is_refused_with_its_place_and_the_schema(register, dispatcher, shown):
    def wrong(x, y):
        return x

    error = refusal(register, wrong)
    name = "test_a_kernel_that_does_not_fit_is_refused_with_its_place_and_the_schema.<locals>.wrong"
    assert shown(error) == (
        f"error[C10E305] kernel `{name}` of `t::f` takes 2 arguments, and the schema has 1: "
        "(x, y) against (x)\n"
        f"--> {name} (FILE:N)\n"
        "note: the schema is t::f(Tensor x) -> int\n"
        "help: give the kernel the schema's arguments: the same names, in the same order"
    )
    assert (error.operator, error.kernel) == ("t::f", name)
    assert dispatcher.find("t::f").keys() == ()


async def async_kernel(x):
    return x


async def async_generator(x):
    yield x


class AsyncCall:
    async def __call__(self, x):
        return x


@pytest.mark.parametrize(
    "kernel",
    [async_kernel, async_generator, functools.partial(async_kernel), AsyncCall(), BoxedKernel(async_kernel)],
)
def test_an_async_function_is_no_kernel(register, kernel):
    error = refusal(register, kernel)
    assert error.code == "C10E305"
    assert str(error).endswith("is an async function, and kernels are called, not awaited")


def test_a_generator_is_no_kernel(register):
    def kernel(x):
        yield x

    assert str(refusal(register, kernel)).endswith("is a generator, and kernels return their results")


@pytest.mark.parametrize("kernel", [max, {}.get, id])
def test_a_builtin_is_taken_also_where_its_signature_is_unknown(register, kernel):
    assert register(kernel).keys() != ()


def test_a_builtin_without_a_readable_signature_is_called(register, x):
    assert register({x: 5}.get).call(x) == 5
    assert register(max, schema="t::g(Tensor[] x) -> Tensor").call([x]) is x


@pytest.mark.parametrize(
    "kernel", [functools.partial(lambda x, y: y, y=3), type("K", (), {"__call__": lambda s, x: 3})()]
)
def test_any_callable_can_be_a_kernel(register, x, kernel):
    assert register(kernel).call(x) == 3


def test_a_place_holds_no_address():
    assert callable_place(max) == "builtins"
    assert callable_place(counting).endswith(f"test_kernel.py:{counting.__code__.co_firstlineno}")


def test_a_place_is_found_for_an_object_that_refuses_every_attribute():
    hostile = type("Hostile", (), {"__getattribute__": lambda self, name: {}[name], "__module__": "a"})()
    assert callable_place(hostile) == "a"


def test_a_place_is_found_for_wrappers_that_go_in_a_circle():
    def circle():
        return None

    circle.__wrapped__ = circle
    assert callable_place(circle) == __name__


class Source:
    """A kernel to be loaded at its first use, as from a manifest."""

    name = "kernels/f.py:f"

    def __init__(self, function, cache_creator=None, boxed=False):
        self.loaded, self.function, self.cache_creator, self.boxed = 0, function, cache_creator, boxed

    def load(self, schema):
        self.loaded += 1
        return bind_kernel(schema, self.name, self.function, self.cache_creator, boxed=self.boxed)


def test_a_source_is_loaded_once_by_the_first_use(register, x):
    source = Source(counting, Counter)
    op = register(source)
    assert (source.loaded, op.dump().count("kernels/f.py:f")) == (0, 1)
    assert [op.call(x), op.call(x), op.lookup(x)(x), source.loaded] == [4, 4, 4, 1]


def test_a_boxed_kernel_may_come_from_a_source(register, x):
    assert register(Source(boxed_counting, Counter, boxed=True)).call(x) == 4


def test_a_source_whose_kernel_does_not_fit_is_refused_at_its_first_use(register, x):
    op = register(Source(lambda y: y))
    for call in (op.call, op.lookup):
        with pytest.raises(
            RegistrationError, match=r"kernel `kernels/f\.py:f` of `t::f` calls argument 0 `y`"
        ):
            call(x)


def test_a_source_brings_its_own_cache_creator(register):
    error = refusal(register, Source(counting), Counter)
    assert str(error) == (
        "error[C10E309] kernel source `kernels/f.py:f` brings its own cache creator, and another one is given"
    )
    assert error.diagnostics[0].help == "leave out cache_creator"


def test_a_cache_creator_that_calls_its_own_kernel_ends_in_an_error_of_python(register, x):
    def create():
        return held(x)

    held = register(counting, create).lookup(x)
    for _ in range(2):
        with pytest.raises(RecursionError):
            held(x)


class Raising:
    """A kernel whose attributes are code that fails."""

    def __call__(self, x):
        return 5

    @property
    def fails(self):
        raise OSError("no such attribute today")

    __signature__ = __name__ = __wrapped__ = __code__ = fails


def test_a_kernel_whose_attributes_raise_is_one_of_unknown_signature(register, x):
    op = register(Raising())
    assert op.call(x) == op.lookup(x)(x) == 5
    assert "Raising (registered at" in op.dump()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_looked_up_kernel_is_neither_copied_nor_pickled(register, x, copied):
    held = register(counting, Counter).lookup(x)
    with pytest.raises(TypeError) as caught:
        copied(held)
    assert str(caught.value) == (
        "<OpKernel counting of t::f at CPU[1]> has a cache of its own: look up another one instead of a copy"
    )
