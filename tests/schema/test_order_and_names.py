"""What the table of refusals cannot show: what is allowed, the order of the rules, and what to do."""

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
    assert parse_schema("c10::f(int a=1, *, int b) -> ()").arguments[1].kwarg_only


def test_only_the_torch_dialect_lets_a_list_follow_a_default():
    text = "c10::f(int a=1, int[] b) -> ()"
    assert parse_schema(text, "torch").arguments[1].has_default is False
    assert refusal(text)[:2] == ("C10E207", "b")
    assert refusal("c10::f(int a=1, int[]? b) -> ()", "torch")[:2] == ("C10E207", "b")


@pytest.mark.parametrize(
    "text",
    [
        "c10::f(Tensor(a -> b) x) -> Tensor(b)",
        "c10::f(Tensor(a)[] x) -> Tensor(a)",
        "c10::f(Tensor x) -> Tensor(*)",
        "c10::f(Tensor(a) x, Tensor(a) y) -> Tensor(a)",
        "c10::f(Tensor(a!) x, Tensor(a) y) -> Tensor(a!)",
        "c10::f(Tensor x) -> (Tensor, Tensor)",
        "c10::f(Tensor x, int match, int print) -> ()",
    ],
)
def test_strict_takes_declared_sets_and_distinct_names(text):
    assert str(parse_schema(text)) == text


def test_a_missing_namespace_is_told_last():
    assert refusal("f(Tensor x, Tensor x) -> ()")[0] == "C10E206"
    text = "# f\nf(Tensor x) -> ()"
    assert refusal(text) == ("C10E203", "f", "write `c10::f`, or your namespace for `c10`")
