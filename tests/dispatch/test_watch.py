import numpy as np
import pytest

from c10cli.arrays.memory import MEMORY
from c10cli.dispatch.watch import MemoryWatch, WatchedKernel
from c10cli.errors import KernelError
from c10cli.schema.parser import parse_schema


@pytest.fixture(params=["any types", "written out"])
def watched(request):
    """``watched(schema, function, *values)``: a call through `call`, or through what `generate` makes."""

    def make(schema, function, *values, result=np.ndarray, refused=None):
        kernel = WatchedKernel(
            MemoryWatch(parse_schema(f"t::f{schema}", "torch"), MEMORY), function, "k", "k.py:7"
        )
        if request.param == "any types":
            return kernel.call(values)
        return kernel.generate(tuple(map(type, values)), result, refused)(*values)

    return make


X = "(Tensor x) -> Tensor"


def test_the_result_comes_as_the_schema_says(watched):
    x = np.ones(2)
    assert watched(X, lambda x: x + 1, x)[0] == 2
    assert watched("(Tensor x) -> (int, int)", lambda x: [1, 2], x, result=list) == (1, 2)
    assert watched("(Tensor x) -> ()", lambda x: None, x, result=type(None)) is None
    assert watched("(Tensor x) -> Tensor[]", lambda x: [], x, result=list) == []


def test_keyword_only_arguments_go_by_keyword_whatever_they_are_called(watched):
    seen = []
    schema = "(Tensor x, int n, *, int k, int from) -> int"
    assert watched(schema, lambda x, n, **more: seen.append((n, more)) or 1, np.ones(1), 2, 3, 4) == 1
    assert seen == [(2, {"k": 3, "from": 4})]


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda x: x.fill(2) or np.ones(1), "C10E505"),
        (lambda x: setattr(x, "shape", (2, 1)) or np.ones(1), "C10E505"),
        (lambda x: x, "C10E506"),
        (lambda x: x[:1], "C10E506"),
        (lambda x: 3, "C10E502"),
    ],
)
@pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")
def test_what_a_kernel_must_not_do_is_an_error_with_its_name(watched, function, code):
    with pytest.raises(KernelError, match="kernel `k` of `t::f`") as caught:
        watched(X, function, np.zeros(2))
    assert caught.value.code == code
    assert caught.value.diagnostics[0].notes[-1] == "the kernel is defined at k.py:7"


def test_a_result_over_memory_of_another_owner_is_compared_with_the_arguments(watched):
    memory = np.zeros(8)
    with pytest.raises(KernelError) as caught:
        watched(X, lambda x: memory[4:], memory[2:6])
    assert caught.value.code == "C10E506"
    assert watched(X, lambda x: memory[4:], memory[:4]).base is memory


def test_the_argument_that_changed_is_the_one_that_is_named(watched):
    def function(x, n, y, z):
        y[0] = 1
        return np.ones(1)

    schema = "(Tensor x, int n, Tensor y, Tensor? z) -> Tensor"
    with pytest.raises(KernelError) as caught:
        watched(schema, function, np.zeros(1), 1, np.zeros(1), None)
    assert caught.value.argument == "y"


@pytest.mark.parametrize(
    "schema", ["(Tensor(a) x) -> Tensor(a)", "(Tensor(a) x) -> Tensor(*)", "(Tensor(a -> *) x) -> Tensor(b)"]
)
def test_an_alias_that_the_schema_announces_may_come_back(watched, schema):
    x = np.ones(2)
    assert watched(schema, lambda x: x[:1], x).base is x


def test_a_result_that_may_be_in_two_arguments_must_not_be_in_a_third(watched):
    schema, memory = "(Tensor(a) x, Tensor y, Tensor z) -> Tensor(a)", np.zeros(8)
    x, z = memory[:4], memory[4:]
    assert watched(schema, lambda x, y, z: x[1:], x, x, z).base is memory  # x was passed as y too
    with pytest.raises(KernelError) as caught:
        watched(schema, lambda x, y, z: memory[2:6], x, x, z)
    assert (caught.value.code, caught.value.argument) == ("C10E506", "z")


@pytest.mark.parametrize(
    "schema", ["(Tensor(a) x) -> Tensor", "(Tensor(a) x) -> Tensor(b)", "(Tensor x) -> Tensor(a)"]
)
def test_an_alias_of_another_set_is_not_announced(watched, schema):
    with pytest.raises(KernelError) as caught:
        watched(schema, lambda x: x[:1], np.ones(2))
    assert caught.value.code == "C10E506"


def test_only_what_may_hold_a_tensor_is_compared():
    schema = "t::f(Tensor x, int? i, Tensor? o, str s, Tensor(a!) w, Any a) -> (Tensor, int?)"
    watch = MemoryWatch(parse_schema(schema), MEMORY)
    assert (watch.read_only, watch.pairs) == ((0, 2, 5), [(0, 0), (0, 2), (0, 4), (0, 5)])
    watch = MemoryWatch(parse_schema("t::f(Tensor(a) x, Tensor y) -> Tensor(a)"), MEMORY)
    assert (watch.read_only, watch.pairs) == ((0, 1), [(0, 1)])


def test_what_the_schema_marks_as_written_may_change_and_come_back(watched):
    schema = "(Tensor(a!) x, Tensor y) -> Tensor(a!)"
    x = np.zeros(2)
    assert watched(schema, lambda x, y: np.add(x, y, out=x), x, np.ones(2)) is x


def test_an_int_of_more_than_64_bits_is_handed_back():
    handed = []
    watch = MemoryWatch(parse_schema("t::f(Tensor x, int n, int m) -> int"), MEMORY)
    kernel = WatchedKernel(watch, lambda x, n, m: n, "k", "k.py:7")
    call = kernel.generate((np.ndarray, int, int), int, lambda *values: handed.append(values[1:]))
    x = np.ones(1)
    for ints in ((2**63 - 1, 0), (-(2**63), 0), (2**63, 0), (0, -(2**63) - 1)):
        call(x, *ints)
    assert handed == [(2**63, 0), (0, -(2**63) - 1)]


def test_a_note_joins_those_that_are_there_and_gets_past_an_exception_that_takes_none(watched):
    class Frozen(Exception):
        def __setattr__(self, name, value):
            raise AttributeError(name)

        def __str__(self):
            raise RuntimeError("no text today")

    def noted(x):
        error = ValueError("inner")
        error.__notes__ = ["first"]
        raise error

    def frozen(x):
        raise Frozen

    with pytest.raises(ValueError, match="inner") as caught:
        watched(X, noted, np.ones(1))
    assert caught.value.__notes__[0] == "first"
    assert caught.value.__notes__[2] == "--> call of t::f with `x`: float64[1]"
    with pytest.raises(Frozen) as caught:
        watched(X, frozen, np.ones(1))
    assert caught.value.__notes__[0].endswith("raised Frozen: a message that cannot be shown")


def test_what_a_caller_passes_twice_may_change_where_one_of_the_two_is_written(watched):
    def add(x, y):
        return np.add(x, y, out=x)

    schema = "(Tensor(a!) x, Tensor y) -> Tensor(a!)"
    x = np.ones(4)
    assert watched(schema, add, x, x) is x
    memory = np.ones(6)
    assert watched(schema, add, memory[:4], memory[2:])[0] == 2
    other = np.ones(2)
    with pytest.raises(KernelError) as caught:
        watched(schema, lambda x, y: (y.fill(3), x)[1], other, np.ones(2))
    assert caught.value.code == "C10E505"


def test_notes_do_not_pile_up_on_one_exception(watched):
    failure = ValueError("again")

    def kernel(x):
        raise failure

    for size in range(1, 30):
        with pytest.raises(ValueError, match="again"):
            watched(X, kernel, np.ones(size))
    assert len(failure.__notes__) == 2


def test_an_exception_with_notes_of_its_own_kind_comes_through(watched):
    class Odd(Exception):
        __notes__ = property(lambda self: 1 / 0)

    def kernel(x):
        raise Odd

    with pytest.raises(Odd):
        watched(X, kernel, np.ones(1))
