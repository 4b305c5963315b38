from pathlib import Path

import pytest

from c10cli.errors import SchemaError
from c10cli.schema.model import OperatorName
from c10cli.schema.parser import parse_name, parse_schema

SCHEMAS = [
    line
    for line in (Path(__file__).parent / "data" / "torch_schemas.txt")
    .read_text(encoding="utf-8")
    .splitlines()
    if not line.startswith("#")
]
CLASSES = {"c10d.ProcessGroup", "c10d.ReduceOp", "c10d.Work", "quantized.LinearPackedParamsBase"}


def refusal(text, dialect="strict"):
    with pytest.raises(SchemaError) as raised:
        parse_schema(text, dialect)
    assert len(raised.value.diagnostics) == 1
    return raised.value


def test_every_part_of_a_schema_is_read():
    schema = parse_schema(
        "c10::f.out(Tensor self, int[2]? k=None, *, Scalar alpha=1) -> (Tensor a, Tensor[])"
    )
    assert schema.name == OperatorName("c10", "f", "out")
    assert [(str(a.type), a.name, a.N, a.has_default, a.default, a.kwarg_only) for a in schema.arguments] == [
        ("Tensor", "self", None, False, None, False),
        ("int[]?", "k", 2, True, None, False),
        ("Scalar", "alpha", None, True, 1, True),
    ]
    assert [(str(r.type), r.name) for r in schema.returns] == [("Tensor", "a"), ("Tensor[]", "")]


@pytest.mark.parametrize("text", SCHEMAS)
def test_a_strange_real_schema_prints_back(text):
    assert str(parse_schema(text, "torch", known_classes=CLASSES)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("n::f(Tensor self,int a = 3)->Tensor", "n::f(Tensor self, int a=3) -> Tensor"),
        ("n :: f . g ( ) -> ( )", "n::f.g() -> ()"),
        ("n: :f() -> (Tensor)", "n::f() -> Tensor"),
        ("\n\n n::f(\nTensor x # which\n) -> (Tensor,\n Tensor)\n", "n::f(Tensor x) -> (Tensor, Tensor)"),
        ("n::f() -> ((int, str))", "n::f() -> ((int, str))"),
        ("n::f() -> ((int, str)[])", "n::f() -> ((int, str)[])"),
        ("n::f() -> (())", "n::f() -> (())"),
        ("n::f() -> ((int, str) y)", "n::f() -> ((int, str) y)"),
        ("n::f(Tensor x) -> Tensor y", "n::f(Tensor x) -> Tensor y"),
        ("n::f(Tensor x) -> None", "n::f(Tensor x) -> NoneType"),
        ("n::f(...) -> (...)", "n::f(...) -> ..."),
        ("n::f(int x, ...) -> (int, ...)", "n::f(int x, ...) -> (int, ...)"),
        ("n::f() -> (int[2] a, int b)", "n::f() -> (int[2] a, int b)"),
    ],
)
@pytest.mark.parametrize("dialect", ["strict", "torch"])
def test_a_spelling_has_one_canonical_form(text, canonical, dialect):
    assert str(parse_schema(text, dialect)) == canonical


def test_the_torch_dialect_needs_no_namespace_and_drops_a_last_star():
    assert str(parse_schema("f(Tensor x, *) -> Tensor", "torch")) == "f(Tensor x) -> Tensor"
    assert str(parse_schema("f(Tensor x, *, ...) -> ()", "torch")) == "f(Tensor x, ...) -> ()"


def spelled_out(fact):
    """A short form of the table below as the message it stands for."""
    expected, bar, found = fact.partition(" | ")
    words = {
        "END": "the end of the text",
        "NO_RETURNS": "arguments, `->` and returns after the operator name",
        "NO_ARGUMENTS": "`(` and the arguments after the operator name",
    }
    expected = words.get(expected, expected.replace("NO_NAME", "a name for the argument of type"))
    return f"expected {expected}, found {words.get(found, found)}" if bar else fact


@pytest.mark.parametrize(
    ("text", "code", "start", "end", "fact"),
    [
        ("", "C10E203", 0, 0, "an operator name | END"),
        ("n::f", "C10E202", 4, 4, "NO_RETURNS | END"),
        ("(Tensor x) -> ()", "C10E203", 0, 1, "an operator name | `(`"),
        ("::f(Tensor x) -> ()", "C10E203", 0, 1, "an operator name | `:`"),
        ("n:f(Tensor x) -> ()", "C10E203", 2, 3, "`::` after the namespace | `f`"),
        ("n::1f() -> ()", "C10E203", 3, 4, "an operator name after `n::` | `1`"),
        ("n::for() -> ()", "C10E203", 3, 6, "the keyword `for` cannot stand in an operator's name"),
        ("n::f-g() -> ()", "C10E203", 4, 5, "NO_ARGUMENTS | `-`"),
        ("n::f.default() -> ()", "C10E203", 5, 12, "an overload cannot be named `default`"),
        ("n::f.__a() -> ()", "C10E203", 5, 8, "an overload cannot be named `__a`"),
        ("n::f(Tensor x", "C10E201", 13, 13, "`,` or `)` after the argument | END"),
        ("n::f(,Tensor x) -> ()", "C10E201", 5, 6, "a type | `,`"),
        ("n::f(Tensor x,) -> ()", "C10E201", 14, 15, "a type | `)`"),
        ("n::f(x) -> ()", "C10E201", 6, 7, "NO_NAME `x` | `)`"),
        ("n::f(x: Tensor) -> ()", "C10E201", 6, 7, "NO_NAME `x` | `:`"),
        ("n::f(Tensor in) -> ()", "C10E201", 12, 14, "`in` is a keyword and cannot name an argument"),
        ("n::f(..., int x) -> ()", "C10E207", 10, 13, "`...` must be the last of the arguments"),
        ("n::f(Tensor x)", "C10E202", 14, 14, "`->` and the returns | END"),
        ("n::f(Tensor x) Tensor", "C10E202", 15, 21, "`->` and the returns | `Tensor`"),
        ("n::f(Tensor x) ->", "C10E202", 17, 17, "the returns after `->` | END"),
        ("n::f(Tensor x) -> (Tensor", "C10E201", 25, 25, "`,` or `)` after the return | END"),
        ("n::f(Tensor x) -> (..., Tensor)", "C10E207", 24, 30, "`...` must be the last of the returns"),
        ("n::f(Tensor x) -> Tensor)", "C10E201", 24, 25, "the end of the schema | `)`"),
        ("n::f(Tensor x) -> int a=1", "C10E201", 23, 24, "the end of the schema | `=`"),
        ("n::f() -> ()\nn::g() -> ()", "C10E201", 13, 14, "the end of the schema | `n`"),
        ("n::f\n() -> ()", "C10E202", 4, 5, "NO_RETURNS | the end of line"),
        ("n::fö() -> ()", "C10E201", 4, 5, "NO_ARGUMENTS | `ö` (U+00F6)"),
        ("n::f() → ()", "C10E201", 7, 8, "`->` and the returns | `→` (U+2192)"),
        ("n::f(Tensor\xa0x) -> ()", "C10E201", 11, 12, "NO_NAME `Tensor` | U+00A0"),
        ("\ufeffn::f() -> ()", "C10E201", 0, 1, "an operator name | U+FEFF"),
        ('n::f(str x="a\nb") -> ()', "C10E201", 11, 12, 'a default | `"`'),
        ("n::f(int x=1_000) -> ()", "C10E201", 12, 16, "`,` or `)` after the argument | `_000`"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", ["strict", "torch"])
def test_a_fault_is_named_at_its_place(text, code, start, end, fact, dialect):
    for _ in range(2):  # what was remembered of the first time must not hide it the second
        error = refusal(text, dialect)
        assert (error.code, error.start, error.end) == (code, start, end)
        assert error.diagnostics[0].message == spelled_out(fact)


def test_the_diagnostic_is_what_a_reader_sees():
    text = "c10::relu(Tensor self,\n  Tensr other) -> Tensor"
    with pytest.raises(SchemaError) as raised:
        parse_schema(text, file="registry.yaml")
    found = raised.value.diagnostics[0]
    assert found.concise() == "registry.yaml:2:3: error[C10E204] unknown type `Tensr`"
    assert (found.span.end_column, found.span.line_text) == (8, "  Tensr other) -> Tensor")
    assert found.help == "did you mean `Tensor`?"
    assert found.label == "not a schema type"


def test_helps_know_common_slips():
    assert refusal("n::f() → ()").diagnostics[0].help == "write the arrow as `->`"
    assert refusal("n::f(x: Tensor) -> ()").diagnostics[0].help == "the type comes first: `Tensor x`"
    assert (
        refusal("n::f(Tensor(a)! x) -> ()").diagnostics[0].help
        == "`!` belongs inside the parentheses: `(a!)`"
    )


def test_an_unknown_dialect_is_the_callers_mistake():
    with pytest.raises(ValueError, match="'strict' or 'torch'"):
        parse_schema("n::f() -> ()", "C")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("c10::add.out", OperatorName("c10", "add", "out")),
        ("c10::add.default", OperatorName("c10", "add", "")),
        ("add", OperatorName("", "add", "")),
        (" add.out\n", None),
    ],
)
def test_a_name_is_read_alone(text, name):
    if name is None:
        with pytest.raises(SchemaError, match="the end of the operator's name"):
            parse_name(text)
    else:
        assert parse_name(text) == name


@pytest.mark.parametrize("text", ["", "c10::", "c10::a::b", "c10::a.b.c", "c10::add(", "c10::for"])
def test_a_malformed_name_is_refused(text):
    with pytest.raises(SchemaError) as raised:
        parse_name(text)
    assert raised.value.code == "C10E203"
