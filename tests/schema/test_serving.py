import pytest

from c10cli.schema.parser import parse_schema
from c10cli.schema.serving import misfit, refusal


def read(text):
    return parse_schema(f"t::f{text}", "torch")


@pytest.mark.parametrize(
    ("schema", "other"),
    [
        ("(Tensor x, int n=1) -> Tensor", "(Tensor x, int n=1) -> Tensor"),
        ("(Tensor x, int n=1) -> Tensor", "(Tensor x, int n=2) -> Tensor"),  # each argument is passed
        ("(Tensor x, int n) -> Tensor", "(Tensor x, SymInt n) -> Tensor"),
        ("(Tensor x, SymInt[] n) -> Tensor", "(Tensor x, int[2] n) -> Tensor"),
        ("(Tensor x) -> Tensor", "(Tensor self) -> Tensor"),  # it comes by its place
        ("(Tensor x) -> Tensor", "(Tensor x, int n=1, *, int m=2) -> Tensor"),
        ("(Tensor x, *, int n) -> Tensor", "(Tensor x, int m=0, int n=1) -> Tensor"),
        ("(Tensor x, *, int n, int m) -> Tensor", "(Tensor x, *, int m, int n) -> Tensor"),
        ("(Tensor x, int n) -> Tensor", "(Tensor x, Scalar? n) -> Tensor"),
        ("(Tensor[] x) -> Tensor", "(Tensor?[]? x) -> Tensor"),
        ("(Tensor x, int? n) -> Tensor", "(Tensor x, Scalar? n) -> Tensor"),
        ("(Tensor x) -> Tensor?", "(Tensor(a) x) -> Tensor(a)"),
        ("(Tensor(a!) x) -> Tensor(a!)", "(Tensor(b!) self) -> Tensor(b!)"),
        ("(Tensor x) -> (Tensor, Tensor)", "(Tensor x) -> (Tensor values, Tensor indices)"),
        ("(Tensor x) -> (Tensor best, Tensor at)", "(Tensor x) -> (Tensor values, Tensor indices)"),
    ],
)
def test_what_takes_the_calls_of_a_schema_serves_it(schema, other):
    assert misfit(read(schema), read(other)) == ""


@pytest.mark.parametrize(
    ("schema", "other", "reason"),
    [
        ("(Tensor a, Tensor b) -> ()", "(Tensor b, Tensor a) -> ()", "takes `b` where the schema has `a`"),
        ("(Tensor a, Tensor b) -> ()", "(Tensor c, Tensor a) -> ()", "takes `c` where the schema has `a`"),
        ("(Tensor a, Tensor b) -> ()", "(Tensor b, Tensor c) -> ()", "takes `b` where the schema has `a`"),
        ("(Tensor x, int n) -> ()", "(Tensor x) -> ()", "takes no `n` at its place"),
        ("(Tensor x, int n) -> ()", "(Tensor x, *, int n) -> ()", "takes no `n` at its place"),
        ("(Tensor x, *, int n) -> ()", "(Tensor x, *, int m) -> ()", "takes no `n` by keyword"),
        ("(Tensor x, int m, *, int n) -> ()", "(Tensor x, int k) -> ()", "takes no `n` by keyword"),
        (
            "(Tensor x, int m, *, int n) -> ()",
            "(Tensor x, int n) -> ()",
            "takes `n` where the schema has `m`",
        ),
        ("(Tensor x) -> ()", "(Tensor x, int n) -> ()", "needs `n`, which the schema does not have"),
        (
            "(Tensor x, int? n) -> ()",
            "(Tensor x, int n) -> ()",
            "takes `int` for `n`, and the schema has `int?`",
        ),
        (
            "(Tensor x, int[] n) -> ()",
            "(Tensor x, float[] n) -> ()",
            "takes `float[]` for `n`, and the schema has `int[]`",
        ),
        ("(Tensor x) -> ()", "(Tensor(a!) x) -> ()", "writes `x`, and the schema says that it does not"),
        ("(Tensor(a!) x) -> ()", "(Tensor x) -> ()", "does not write `x`, and the schema says that it does"),
        ("(Tensor x) -> Tensor", "(Tensor x) -> ()", "returns 0 values, and the schema has 1"),
        ("(Tensor x) -> int", "(Tensor x) -> Tensor", "returns `Tensor`, and the schema has `int`"),
        ("(Tensor x) -> Tensor", "(Tensor x) -> Tensor?", "returns `Tensor?`, and the schema has `Tensor`"),
        (
            "(Tensor x) -> (Tensor values, Tensor indices)",
            "(Tensor x) -> (Tensor indices, Tensor values)",
            "returns `Tensor indices` where the schema has `Tensor values`",
        ),
        (
            "(Tensor x) -> (Tensor values, Tensor indices)",
            "(Tensor x) -> (Tensor, Tensor values)",
            "returns `Tensor` where the schema has `Tensor values`",
        ),
    ],
)
def test_what_would_take_them_otherwise_does_not(schema, other, reason):
    assert misfit(read(schema), read(other)) == reason


def test_a_refusal_shows_both_schemas():
    finding = refusal(read("(Tensor x, Tensor y) -> Tensor"), "a::g(Tensor y, Tensor x) -> Tensor")
    assert (finding.code, finding.message) == (
        "C10E305",
        "torch's `a::g` does not fit the schema of `t::f`: it takes `y` where the schema has `x`",
    )
    assert finding.notes == (
        "the schema is t::f(Tensor x, Tensor y) -> Tensor",
        "torch has a::g(Tensor y, Tensor x) -> Tensor",
    )


def test_custom_classes_are_torchs_own_business():
    text = "t::f(Tensor x, __torch__.torch.classes.ns.Name y) -> Tensor"
    schema = parse_schema(text, "torch", known_classes=["ns.Name"])
    assert refusal(schema, text) is None
    assert refusal(schema, text.replace("Name", "Other")).code == "C10E305"


def test_what_nobody_can_read_is_not_judged():
    assert refusal(read("(Tensor x) -> Tensor"), "t::f(Tensor x, float y=?) -> Tensor") is None
