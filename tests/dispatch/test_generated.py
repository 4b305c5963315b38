import gc
import inspect

import pytest

from c10cli.errors import ArgumentError, KernelError
from c10cli.schema.parser import parse_schema


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


@pytest.mark.parametrize(
    ("returns", "result", "value"),
    [("(int, int)", [1, 2], (1, 2)), ("()", (), None), ("int[]", [1], [1]), ("Any", (1,), (1,))],
)
def test_returns_of_a_call_that_only_we_can_bind_are_those_of_the_schema(define, x, returns, result, value):
    op = define(f"(Tensor x, int from=1) -> {returns}", lambda a, b, /: result, "torch")
    assert [op.call(x), op.lookup(x)(x), op.lookup(x).unboxed(x)] == [value] * 3
    result = 3
    if returns in ("(int, int)", "()"):
        for call in (op.call, op.lookup(x)):
            with pytest.raises(KernelError, match="where the schema returns"):
                call(x)


@pytest.mark.parametrize("name", ["of", "from"])
def test_values_reach_the_kernel_as_they_are_whatever_the_arguments_are_called(define, x, name):
    op = define(
        f"(Tensor x, int[] {name}, *, int z=2, int[] w=[1]) -> Any",
        lambda a, b, /, *, z, w: (b, z, w),
        "torch",
    )
    values = [1]
    for call in (op.call, op, op.lookup(x)):
        result = call(x, values, z=2.5)
        assert result[0] is values
        assert result[1:] == (2.5, [1])
        result[2].append(5)  # and the next call has a default of its own
        assert call(x=x, **{name: "text"}) == ("text", 2, [1])
    with pytest.raises(ArgumentError) as caught:
        op.call(3, values)
    assert caught.value.code == "C10E408"


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "`t::f` is missing arguments `x`, `from`"),
        ((1, 2, 3), {}, "`t::f` takes 2 positional arguments, 3 are given"),
        ((1, 2), {"x": 1}, "argument `x` of `t::f` is given twice"),
        ((1, 2), {"y": 1}, "`t::f` has no argument `y`"),
    ],
)
def test_names_that_do_not_fit_are_explained_for_arguments_that_only_we_can_bind(
    define, args, kwargs, message
):
    op = define("(Tensor x, int from, *, int z=1) -> int", lambda a, b, /, *, z: b, "torch")
    with pytest.raises(ArgumentError) as caught:
        op.call(*args, **kwargs)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("C10E404", message)


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


@pytest.mark.parametrize("returns", ["int", "()", "(int, int)"])
def test_a_key_error_of_a_kernel_comes_through_and_the_kernel_ran_once(define, x, returns):
    ran = []

    def kernel(x):
        ran.append(1)
        return {}[type(x)]

    op = define(f"(Tensor x) -> {returns}", kernel)
    for calls in (1, 2, 3):
        with pytest.raises(KeyError) as caught:
            op.call(x)
        assert len(ran) == calls
        assert caught.value.__context__ is None
        assert caught.traceback[-1].name == "kernel"


def test_a_key_error_of_a_kernel_without_frames_of_its_own_comes_through(define, x):
    op = define("(Tensor x) -> int", {x: 5}.__getitem__)
    assert [op.call(x), op.call(x)] == [5, 5]
    other = type(x)()
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            op.call(other)
        assert caught.value.args == (other,)


def test_a_miss_inside_a_kernel_is_that_operators_own(define, dispatcher, x):
    inner = define("(Tensor x) -> int", lambda x: 7)
    outer = dispatcher.register_schema("t::outer(Tensor x) -> int")
    dispatcher.register_kernel(outer, "CPU", inner.call)
    assert [outer.call(x), outer.call(x)] == [7, 7]


def plain(x, y, *, z):
    return x


@pytest.mark.parametrize(
    ("schema", "kernel"),
    [
        ("(Tensor x, int y, *, int z) -> Tensor", lambda x, y, *, z=1: x),
        ("(Tensor x, int y, *, int z) -> Tensor", lambda x, y=1, *, z: x),
        ("(Tensor x, int y, *, int z) -> Tensor", lambda x, y, z: x),
        ("(Tensor x, int y, *, int z) -> Tensor", lambda x, *args, z: x),
        ("(Tensor x, int y, *, int z) -> Tensor", lambda x, y, *, z, **kwargs: x),
        ("(Tensor x, int y, *, int z) -> Tensor", lambda a, y, /, *, z: a),
        ("(Tensor x, int y, *, int z) -> Tensor", lambda x, y, *, z, w=1: x),
        ("(Tensor x, int y, *, int z=1) -> Tensor", plain),
        ("(Tensor x, int y, *, int z) -> (Tensor, Tensor)", plain),
        ("(Tensor x, int y, *, int z) -> ()", plain),
    ],
)
def test_a_held_kernel_is_called_through_a_function_of_the_schemas_signature(define, x, schema, kernel):
    held = define(schema, kernel).lookup(x, 1, z=1)
    assert held.unboxed is not kernel
    expected = "(x, y, *, z=1)" if "z=1)" in schema else "(x, y, *, z)"
    assert str(inspect.signature(held.unboxed)) == expected


def test_a_held_kernel_that_has_that_signature_already_is_called_itself(define, x):
    held = define("(Tensor x, int y, *, int z) -> Tensor", plain).lookup(x, 1, z=1)
    assert held.unboxed is plain
