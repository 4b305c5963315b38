import pytest

from c10cli.errors import SchemaError
from c10cli.schema.parser import parse_schema


def refusal(text, dialect="strict"):
    with pytest.raises(SchemaError) as raised:
        parse_schema(text, dialect)
    return raised.value.code, text[raised.value.start : raised.value.end], raised.value.diagnostics[0].help


def test_a_default_is_not_followed_by_an_argument_without():
    text = "c10::f(Tensor x, int a=1, int b) -> ()"
    hint = "give it a default, or move it before the others or behind `*`"
    assert refusal(text, "strict") == refusal(text, "torch") == ("C10E207", "b", hint)


def test_a_keyword_only_argument_may_follow_a_default():
    assert parse_schema("c10::f(int a=1, *, int b) -> ()").arguments[1].kwarg_only


def test_only_the_torch_dialect_lets_a_list_follow_a_default():
    text = "c10::f(int a=1, int[] b) -> ()"
    assert parse_schema(text, "torch").arguments[1].has_default is False
    assert refusal(text)[:2] == ("C10E207", "b")
    assert refusal("c10::f(int a=1, int[]? b) -> ()", "torch")[:2] == ("C10E207", "b")


def test_varargs_exclude_defaults():
    assert refusal("c10::f(int a, int b=0, ...) -> ()", "torch")[:2] == ("C10E207", "int b=0")


@pytest.mark.parametrize(
    ("text", "code", "fault"),
    [
        ("c10::f(Tensor x, Tensor x) -> ()", "C10E206", "x"),
        ("c10::f(Tensor x) -> (Tensor y, Tensor y)", "C10E206", "y"),
        ("c10::f(Tensor x, *, *, int y) -> ()", "C10E207", "*"),
        ("c10::f(Tensor x, *) -> ()", "C10E207", "*"),
        ("c10::f(Tensor x, int lambda) -> ()", "C10E201", "lambda"),
        ("c10::f(Tensor x, int from) -> ()", "C10E201", "from"),
        ("c10::f((Tensor(a), int) x) -> ()", "C10E208", "(a)"),
        ("c10::f(Tensor x) -> Tensor(a)", "C10E208", "Tensor(a)"),
        ("c10::f(Tensor(b) x) -> Tensor(a|b)", "C10E208", "Tensor(a|b)"),
        ("c10::f(Tensor(a!) x, Tensor(a!) y) -> ()", "C10E208", "Tensor(a!)"),
        ("f(Tensor x) -> ()", "C10E203", "f"),
        ("# f\nf(Tensor x) -> ()", "C10E203", "f"),
    ],
)
def test_strict_refuses_what_torch_lets_pass(text, code, fault):
    assert parse_schema(text, "torch")
    assert refusal(text)[:2] == (code, fault)


def test_the_second_of_two_repeated_names_is_shown():
    with pytest.raises(SchemaError) as raised:
        parse_schema("c10::f(Tensor x, Tensor x) -> ()")
    assert raised.value.start == 24
    assert raised.value.diagnostics[0].message == "the argument name `x` is used twice"


@pytest.mark.parametrize(
    "text",
    [
        "c10::f(Tensor(a -> b) x) -> Tensor(b)",
        "c10::f(Tensor(a)[] x) -> Tensor(a)",
        "c10::f(Tensor x) -> Tensor(*)",
        "c10::f(Tensor(a) x, Tensor(a) y) -> Tensor(a)",
        "c10::f(Tensor x) -> (Tensor, Tensor)",
        "c10::f(Tensor x, int match, int print) -> ()",
    ],
)
def test_strict_takes_declared_sets_and_distinct_names(text):
    assert str(parse_schema(text)) == text


def test_a_missing_namespace_is_told_last():
    assert refusal("f(Tensor x, Tensor x) -> ()")[0] == "C10E206"
    assert refusal("f(Tensor x) -> ()")[2] == "write `c10::f`, or your namespace for `c10`"
