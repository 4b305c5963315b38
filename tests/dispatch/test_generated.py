import gc
import inspect

import pytest

from c10cli.errors import ArgumentError
from c10cli.schema import parse_schema


@pytest.fixture
def define(dispatcher):
    def make(schema, kernel, dialect="strict"):
        op = dispatcher.register_schema(parse_schema(f"t::f{schema}", dialect))
        dispatcher.register_kernel(op, "CPU", kernel)
        return op

    return make


def test_the_call_function_looks_like_the_operator(define):
    op = define("(Tensor x, int y=3, *, int[] z=[1, 2]) -> Tensor", lambda x, y, *, z: x)
    signature = inspect.signature(op.call)
    assert str(signature) == "(x, y=3, *, z=[1, 2])"
    assert (op.call.__name__, op.call.__qualname__) == ("f", "t::f")
    assert op.call.__doc__ == "t::f(Tensor x, int y=3, *, int[] z=[1, 2]) -> Tensor"


def test_a_missing_argument_is_a_type_error_that_starts_with_the_operators_name(define, x):
    op = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x)
    with pytest.raises(TypeError, match=r"^t::f\(\) missing 1 required positional argument: 'y'$"):
        op.call(x)


def test_the_schemas_default_is_passed_and_not_the_kernels(define, x):
    seen = []

    def kernel(x, y=7):
        seen.append(y)
        return y

    op = define("(Tensor x, int y=3) -> int", kernel)
    held = op.lookup(x)
    assert [op.call(x), op.call(x, 3), op.call(x, 4), held(x), held.unboxed(x)] == [3, 3, 4, 3, 3]
    assert seen == [3, 3, 4, 3, 3]


def test_a_kernel_without_default_gets_the_schemas(define, x):
    assert define("(Tensor x, int y=3) -> int", lambda x, y: y).call(x) == 3


@pytest.mark.parametrize("passed", ["y", "*, y"])
def test_a_list_default_is_not_shared_between_calls(define, x, passed):
    kernel = eval(f"lambda x, {passed}: y.append(9) or len(y)")
    op = define(f"(Tensor x, {passed.replace('y', 'int[] y=[1, 2]')}) -> int", kernel)
    held = op.lookup(x)
    assert [op.call(x), op.call(x), held(x), held(x), op(x)] == [3, 3, 3, 3, 3]


@pytest.mark.parametrize(
    ("default", "value"),
    [
        ("int y=-1", -1),
        ("float y=1e-05", 1e-05),
        ("bool y=True", True),
        ('str y="a\\"b"', 'a"b'),
        ("int? y=None", None),
        ("int[2] y=1", [1, 1]),
        ("int[] y=[]", []),
    ],
)
def test_every_kind_of_default_reaches_the_kernel(define, x, default, value):
    assert define(f"(Tensor x, {default}) -> Any", lambda x, y: y).call(x) == value


@pytest.mark.parametrize("name", ["table", "make", "call", "swap", "type", "len", "self", "args", "kwargs"])
def test_an_argument_may_have_any_name_that_python_takes(define, x, name):
    op = define(f"(Tensor x, int {name}=1) -> int", eval(f"lambda x, {name}: {name}"))
    assert op.call(x, **{name: 5}) == 5
    assert op(x) == op.lookup(x)(x) == 1


@pytest.mark.parametrize("name", ["from", "c10_table", "c10_kernel", "__debug"])
def test_an_argument_whose_name_python_or_we_need_is_bound_by_the_schema(define, x, name):
    op = define(
        f"(Tensor x, int {name}=1, *, int z=2) -> (int, int)", lambda a, b, /, **c: (b, c["z"]), "torch"
    )
    held = op.lookup(x)
    for call in (op.call, op, held, held.unboxed):
        assert call(x, **{name: 5}) == (5, 2)
        assert call(x, z=7) == (1, 7)
    with pytest.raises(ArgumentError) as caught:
        op.call(x, other=3)
    assert caught.value.code == "C10E404"
    stack = [x, 3, 4]
    op.call_boxed(stack)
    assert stack == [3, 4]


def test_a_list_after_a_default_may_be_required(define, x):
    op = define("(Tensor x, int y=1, Tensor[] z) -> int", lambda x, y, z: y + len(z), "torch")
    assert op.call(x, z=[x, x]) == 3
    with pytest.raises(ArgumentError):
        op.call(x)


def test_generated_functions_leave_no_garbage(define, x):
    op = define("(Tensor x) -> Tensor", lambda x: x)
    held = op.lookup(x)
    held(x)
    gc.collect()
    before = gc.get_count(), len(gc.get_objects())
    gc.disable()
    try:
        for _ in range(10):
            op.lookup(x)(x)
        found = gc.collect()
    finally:
        gc.enable()
    assert found == 0, before


def test_arguments_may_be_given_twice_no_more_than_in_python(define, x):
    op = define("(Tensor x) -> Tensor", lambda x: x)
    with pytest.raises(TypeError, match=r"t::f\(\) got multiple values for argument 'x'"):
        op.call(x, x=x)
    with pytest.raises(TypeError, match=r"t::f\(\) got an unexpected keyword argument 'y'"):
        op.call(x, y=1)
