"""One checked call of a kernel: what it returns, and what it must neither change nor give out."""

import numpy as np
import pytest

from c10cli.dispatch.checked import as_declared, call_checked, check_returns
from c10cli.errors import KernelError
from c10cli.schema.parser import parse_schema


def watched(schema, function, *values):
    schema = parse_schema(f"t::f{schema}", "torch")
    return as_declared(call_checked(schema, "k", function, values, "k.py:7"))


X = "(Tensor x) -> Tensor"


def test_the_result_comes_as_the_schema_says():
    x = np.ones(2)
    assert watched(X, lambda x: x + 1, x)[0] == 2
    assert watched("(Tensor x) -> (int, int)", lambda x: [1, 2], x) == (1, 2)
    assert watched("(Tensor x) -> ()", lambda x: None, x) is None
    assert watched("(Tensor x) -> Tensor[]", lambda x: [], x) == []


def test_keyword_only_arguments_go_by_keyword_whatever_they_are_called():
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
def test_what_a_kernel_must_not_do_is_an_error_with_its_name(function, code):
    with pytest.raises(KernelError, match="kernel `k` of `t::f`") as caught:
        watched(X, function, np.zeros(2))
    assert caught.value.code == code
    assert caught.value.diagnostics[0].notes[-1] == "the kernel is defined at k.py:7"


def test_a_result_over_memory_of_another_owner_is_compared_with_the_arguments():
    memory = np.zeros(8)
    with pytest.raises(KernelError) as caught:
        watched(X, lambda x: memory[4:], memory[2:6])
    assert caught.value.code == "C10E506"
    assert watched(X, lambda x: memory[4:], memory[:4]).base is memory


def test_the_argument_that_changed_is_the_one_that_is_named():
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
def test_an_alias_that_the_schema_announces_may_come_back(schema):
    x = np.ones(2)
    assert watched(schema, lambda x: x[:1], x).base is x


def test_a_result_that_may_be_in_two_arguments_must_not_be_in_a_third():
    schema, memory = "(Tensor(a) x, Tensor y, Tensor z) -> Tensor(a)", np.zeros(8)
    x, z = memory[:4], memory[4:]
    assert watched(schema, lambda x, y, z: x[1:], x, x, z).base is memory  # x was passed as y too
    with pytest.raises(KernelError) as caught:
        watched(schema, lambda x, y, z: memory[2:6], x, x, z)
    assert (caught.value.code, caught.value.argument) == ("C10E506", "z")


@pytest.mark.parametrize(
    "schema", ["(Tensor(a) x) -> Tensor", "(Tensor(a) x) -> Tensor(b)", "(Tensor x) -> Tensor(a)"]
)
def test_an_alias_of_another_set_is_not_announced(schema):
    with pytest.raises(KernelError) as caught:
        watched(schema, lambda x: x[:1], np.ones(2))
    assert caught.value.code == "C10E506"


def test_what_the_schema_marks_as_written_may_change_and_come_back():
    schema = "(Tensor(a!) x, Tensor y) -> Tensor(a!)"
    x = np.zeros(2)
    assert watched(schema, lambda x, y: np.add(x, y, out=x), x, np.ones(2)) is x


def test_a_note_joins_those_that_are_there_and_gets_past_an_exception_that_takes_none():
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


def test_what_a_caller_passes_twice_may_change_where_one_of_the_two_is_written():
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


def test_notes_do_not_pile_up_on_one_exception():
    failure = ValueError("again")

    def kernel(x):
        raise failure

    for size in range(1, 30):
        with pytest.raises(ValueError, match="again"):
            watched(X, kernel, np.ones(size))
    assert len(failure.__notes__) == 2


def test_an_exception_with_notes_of_its_own_kind_comes_through():
    class Odd(Exception):
        __notes__ = property(lambda self: 1 / 0)

    def kernel(x):
        raise Odd

    with pytest.raises(Odd):
        watched(X, kernel, np.ones(1))


def test_returns_of_all_kinds_come_as_a_tuple():
    for returns, result, values in (("(int, int)", [1, 2], (1, 2)), ("()", None, ()), ("int", 3, (3,))):
        schema = parse_schema(f"t::f(Tensor x) -> {returns}")
        assert call_checked(schema, "k", lambda x, result=result: result, [np.ones(1)]) == values


@pytest.mark.parametrize(
    ("declared", "right", "wrong"),
    [
        ("Tensor?", None, 3),
        ("Tensor[]", [np.ones(1)], [np.ones(1), None]),
        ("Tensor?[]", [np.ones(1), None], np.ones(2)),
        ("float", 1.5, 1),
        ("float", np.float32(1.5), "1.5"),
        ("int", np.int64(3), np.bool_(True)),
        ("SymInt", 3, 3.0),
        ("bool", np.bool_(True), 1),
        ("complex", np.complex64(1j), 1.5),
        ("Scalar", True, "1"),
        ("int[]", (1, 2), [1, 2.5]),
        ("str", "text", b"text"),
    ],
)
def test_each_type_of_return_takes_its_own_values_alone(declared, right, wrong):
    schema = parse_schema(f"t::f(Tensor x) -> {declared}", "torch")
    assert check_returns(schema, "k", right) == (right,)
    with pytest.raises(KernelError) as caught:
        check_returns(schema, "k", wrong)
    assert caught.value.code == "C10E502"


@pytest.mark.parametrize("value", [None, 1, "text", object()])
def test_a_return_of_a_type_without_a_rule_may_be_anything(value):
    schema = parse_schema("t::f(Tensor x) -> Any")
    assert check_returns(schema, "k", value) == (value,)


def change_option(x, o):
    o.fill(2)
    return np.ones(1)


@pytest.mark.parametrize(
    ("schema", "function", "text", "facts"),
    [
        (
            "(Tensor x, Tensor? o) -> Tensor",
            change_option,
            "error[C10E505] kernel `k` of `t::f` changed argument `o`\n"
            "help: write to a copy, or declare it in the schema: `Tensor(a!)? o`",
            {"argument": "o"},
        ),
        (
            "(Tensor x, Tensor? o) -> Tensor",
            lambda x, o: x,
            "error[C10E506] the result of kernel `k` of `t::f` shares memory with argument `x`\n"
            "help: return a copy, or declare the alias in the schema: `Tensor(a)` on both",
            {"argument": "x"},
        ),
        (
            "(Tensor x, Tensor? o) -> Tensor y",
            lambda x, o: o[:1],
            "error[C10E506] return `y` of kernel `k` of `t::f` shares memory with argument `o`\n"
            "help: return a copy, or declare the alias in the schema: `Tensor(a)` on both",
            {"argument": "o"},
        ),
        (
            "(Tensor x, Tensor? o) -> (int, int)",
            lambda x, o: (1, 2, 3),
            "error[C10E502] kernel `k` of `t::f` returned 3 values where the schema returns 2\n"
            "help: return a tuple of 2",
            {"wanted": 2},
        ),
        (
            "(Tensor x, Tensor? o) -> ()",
            lambda x, o: (3,),
            "error[C10E502] kernel `k` of `t::f` returned 1 value where the schema returns 0\n"
            "help: return None",
            {"wanted": 0},
        ),
        (
            "(Tensor x, Tensor? o) -> (int, int)",
            lambda x, o: (1, 2.5),
            "error[C10E502] kernel `k` of `t::f` gave float 2.5 for return 1, declared int\n"
            "help: return what the schema says, as a tuple where there are several",
            {},
        ),
        (
            "(Tensor x, Tensor? o) -> Tensor",
            lambda x, o: np.float32(1),
            "error[C10E502] kernel `k` of `t::f` gave the NumPy scalar float32 for return 0,"
            " declared Tensor\n"
            "help: make an array of it: numpy.asarray(...)",
            {},
        ),
    ],
)
def test_what_a_kernel_did_wrong_is_said_with_schema_place_and_one_thing_to_do(
    schema, function, text, facts, shown
):
    with pytest.raises(KernelError) as caught:
        watched(schema, function, np.zeros(2), np.zeros(2))
    fact, help = text.split("\n")
    assert shown(caught.value).splitlines() == [
        fact,
        f"note: the schema is t::f{schema}",
        "note: the kernel is defined at FILE:N",
        help,
    ]
    assert caught.value.facts == {"operator": "t::f", "kernel": "k", **facts}


def test_a_kernel_whose_place_is_not_known_is_told_without_one():
    schema = parse_schema("t::f(Tensor x) -> Tensor")
    with pytest.raises(KernelError) as caught:
        call_checked(schema, "k", lambda x: x, [np.ones(1)])
    assert caught.value.diagnostics[0].notes == (f"the schema is {schema}",)
