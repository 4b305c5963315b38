"""Domains from text: one spelling, and each fault at its column."""

import pytest

from c10cli.errors import SchemaError
from c10cli.schema.domain_functions import ELEMENT_FUNCTIONS, FUNCTIONS, SIGNATURES
from c10cli.schema.domain_parser import parse_condition, parse_domain, read_domain
from c10cli.schema.parser import parse_schema

ATTENTION = parse_schema("t::f(Tensor q, Tensor k, *, bool causal=False) -> (Tensor out, Tensor lse)")
MIXED = parse_schema(
    "t::g(Tensor x, Tensor[] xs, Tensor? bias, int dim, int[2] stride, ScalarType? dtype, str mode, "
    "Tensor where, Tensor returns) -> Tensor"
)
ROWS = {
    "T": "floating",
    "q": "T[batch, d]",
    "k": "int32 | int64 [*n, d], 0 <= _ < batch",
    "where": ["batch % 2 == 0", "d >= 1"],
    "returns": ["T[batch, *n]", "float32[batch]"],
}


def test_a_domain_prints_as_its_text():
    assert parse_domain(ROWS, ATTENTION).as_entry() == ROWS


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ({"x": " T [ a,b ] ,0<=_<1", "T": "floating|complex"}, {"x": "T[a, b], 0 <= _ < 1"}),
        ({"x": "any"}, {"x": "any"}),
        ({"x": "any[...]"}, {"x": "any"}),
        ({"x": "int8|bool[* n]"}, {"x": "int8 | bool [*n]"}),
        ({"x": "float32[]"}, {"x": "float32[]"}),
        ({"xs": "any[ ... ] each"}, {"xs": "any[...] each"}),
        ({"xs": "floating[*n] each, finite(_)"}, {"xs": "floating[*n] each, finite(_)"}),
        ({"x": "any[# n,#*m, (a+1)*2]", "bias": "any[a]"}, {"x": "any[#n, #*m, (a + 1) * 2]"}),
        ({"dim": "-rank(x)<=_<rank(x)"}, {"dim": "-rank(x) <= _ < rank(x)"}),
        ({"mode": "_ in ['a', \"b\"]"}, {"mode": "_ in ['a', 'b']"}),
        ({"where_": "bool[*n]", "returns_": "any[*n]"}, {"where_": "bool[*n]", "returns_": "any[*n]"}),
        ({"where": "dim == 0"}, {"where": ["dim == 0"]}),
        (
            {"x": "floating[n], _ != stride[0] and\n not _ > n"},
            {"x": "floating[n], _ != stride[0] and (not _ > n)"},
        ),
        ({"T": "any", "x": "T", "returns": "dtype or T[...]"}, {"returns": "dtype or T"}),
        (
            {"T": "any", "U": "any", "x": "T[*n]", "bias": "U", "where": "U in floating"},
            {"where": ["U in floating"]},
        ),
        (
            {"x": "any[*n]", "returns": "int64[*reduced(n, dim, true)]"},
            {"returns": "int64[*reduced(n, dim, true)]"},
        ),
    ],
)
def test_a_domain_has_one_spelling_that_reads_back(written, printed):
    domain = parse_domain(written, MIXED)
    entry = domain.as_entry()
    assert {key: entry[key] for key in printed} == printed
    assert parse_domain(entry, MIXED) == domain
    assert parse_domain(entry, MIXED).as_entry() == entry


FAULTS = [
    ("x", "floatng[n]", 1, 8, "`floatng` is no dtype, class of dtypes or dtype variable"),
    ("x", "U[n]", 1, 2, "nothing is called `U` here"),
    ("x", "any[n", 4, 5, "`[` is not closed"),
    ("x", "any a, b]", 9, 10, "`]` closes what nothing opens"),
    ("x", "any[a, , b]", 8, 9, "a dim is missing"),
    ("x", "any[*a, b, *c]", 12, 14, "a second starred dim"),
    ("x", "any[n] + 1", 7, 11, "`+ 1` stands between the dims and the condition"),
    ("x", "any[n] each", 7, 12, "`x` is one tensor, not a list"),
    ("xs", "any[n]", 6, 7, "`xs` is a list of tensors"),
    ("x", "any[n], _ < m", 13, 14, "nothing is called `m` here; there is bias, dim"),
    ("x", "any[n], _ ? 1", 11, 12, "is not an expression"),
    ("x", "any[n], _ + 1", 9, 14, "`_ + 1` is a number, and a condition is wanted"),
    ("x", "any[*n], _ < n", 14, 15, "`n` is several sizes, and a number is wanted"),
    ("x", "any[n], _ < x", 13, 14, "`x` is a tensor, and a number is wanted"),
    ("x", "any[k // 2]", 5, 6, "nothing is called `k` here"),
    ("x", "any[x]", 5, 6, "`x` is a tensor, and a number is wanted"),
    ("x", "any[n], unik(_)", 9, 13, "there is no function `unik` here"),
    ("x", "any[n], offsets(_)", 9, 19, "`offsets(_, number)` takes 2 arguments, and here are 1"),
    ("x", "any[n], _ < 0 and _ > 1", 19, 24, "no value of `_` meets `_ > 1`"),
    ("x", "any[n], x.shape", 9, 16, "`x.shape` is not part of an expression"),
    ("x", "int32 | T [n]", 1, 11, "a dtype variable stands alone"),
    ("x", "any[n], _ in floating", 9, 10, "`_` is a number, and a dtype is wanted"),
    ("dim", "0 <= _ < rows", 10, 14, "nothing is called `rows` here"),
    ("dim", "finite(_)", 1, 10, "`finite` takes `_`, the elements of a tensor"),
    ("dim", "mode < 3", 1, 5, "`mode` is a text, and a number is wanted"),
    ("mode", "_ in 'ab'", 6, 10, "`'ab'` is a text, and a list is wanted"),
    ("mode", "_ == 3", 6, 7, "`3` is a number, compared with a text"),
    ("where", "_ < 3", 1, 2, "`_` is the value of an argument, and here is none"),
    ("where", "3 < 2", 1, 6, "`3 < 2` is never true"),
    ("where", "dim >= 3 and dim < 3", 14, 21, "no value of `dim` meets `dim < 3`"),
    ("T", "floating | flaot", 12, 17, "`flaot` is no dtype"),
    ("returns", "float32[n]", 9, 10, "nothing is called `n` here"),
    ("returns", "any[...], _ > 0", 11, 16, "a return has no condition"),
    ("returns", "int32 | int64 [1]", 1, 15, "a return has one dtype"),
    ("returns", "floating[1]", 1, 9, "`floating` is a class of dtypes, and a dtype is wanted"),
]


@pytest.mark.parametrize(("key", "text", "column", "end_column", "words"), FAULTS)
def test_each_fault_is_one_finding_at_its_column(key, text, column, end_column, words):
    domain, faults = read_domain({key: text}, MIXED)
    assert domain is None
    (fault,) = faults
    finding, span = fault.finding, fault.finding.span
    assert fault.path[0] == key
    assert (finding.code, span.column, span.end_column) == ("C10E211", column, end_column)
    assert words in finding.message
    assert span.line_text == text
    assert finding.help


@pytest.mark.parametrize(
    ("entry", "where", "words"),
    [
        ({"y": "any"}, "y", "`y` is no argument of `t::g`"),
        ({"x": 3}, "x", "`x` must be a text, not int 3"),
        ({"where": [1]}, "where[0]", "`where` must be a text, or a list of texts, not int 1"),
        ({"returns": ["any", "any"]}, "returns", "`returns` has 2 texts, and `t::g` returns 1 values"),
        ({"T": "floating"}, "T", "no argument has the dtype `T`"),
        (
            {"x": "any[n]", "bias": "any[*n]"},
            "bias",
            "`n` stands for several sizes here, and for one elsewhere",
        ),
        (
            {"x": "any[*n]", "bias": "any[n]"},
            "bias",
            "`n` stands for one size here, and for several elsewhere",
        ),
        ({"bias": "any[n]", "returns": "any[n]"}, "returns", "only an argument that may be None gives `n`"),
        ({"x": "any[n]", "where": ["n < 3", "n == 2", "n < 2"]}, "where[2]", "no value of `n` meets `n < 2`"),
    ],
)
def test_faults_between_texts_are_found_once(entry, where, words):
    _, faults = read_domain(entry, MIXED)
    assert [(fault.where, words in fault.finding.message) for fault in faults] == [(where, True)]


def test_all_faults_of_one_stage_are_told_with_their_places():
    with pytest.raises(SchemaError) as caught:
        parse_domain({"q": "floatng", "k": "int3"}, ATTENTION)
    assert [d.place for d in caught.value.diagnostics] == ["domain of t::f, q", "domain of t::f, k"]
    assert caught.value.diagnostics[0].help.startswith("did you mean `floating`")


def test_a_text_on_two_lines_has_its_fault_on_the_second():
    _, (fault,) = read_domain({"x": "any[n],\n _ < m"}, MIXED)
    assert (fault.finding.span.line, fault.finding.span.column) == (2, 6)


def test_a_condition_of_a_variant_is_of_dims_variables_and_arguments():
    domain = parse_domain(ROWS, ATTENTION)
    text = "T in (float16, bfloat16) and d <= 128 and not causal"
    condition = parse_condition(text, ATTENTION, domain)
    assert condition.names == {"T", "float16", "bfloat16", "d", "causal"}
    assert parse_condition("size(q, -1) <= 128 and rank(q) == 2", ATTENTION).text
    for text, column, words in [
        ("e <= 128", 1, "nothing is called `e` here"),
        ("d <= 128 and finite(q)", 14, "`finite` takes `_`"),
        ("d", 1, "`d` is a number, and a condition is wanted"),
        ("q == k", 6, "`k` is a tensor, compared with a tensor"),
        ("q in (1, 2)", 1, "`q` is a tensor, and a number is wanted"),
    ]:
        with pytest.raises(SchemaError, match="C10E211") as caught:
            parse_condition(text, ATTENTION, domain)
        (finding,) = caught.value.diagnostics
        assert (finding.span.column, words in finding.message) == (column, True)


def test_every_function_has_kinds_and_is_one_of_elements_or_can_be_called():
    assert set(SIGNATURES) == {*FUNCTIONS, *ELEMENT_FUNCTIONS}
