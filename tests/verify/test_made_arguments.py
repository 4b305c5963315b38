"""Arguments made from domains alone: all of them inside, of the sizes asked for, the same again."""

import numpy as np
import pytest

from c10cli import load_registry
from c10cli.arrays.elements import judge_elements
from c10cli.describe import describe
from c10cli.errors import ArgumentError
from c10cli.manifest.discover import shipped_registry
from c10cli.schema.bindings import bind_domain
from c10cli.schema.domain_parser import parse_domain
from c10cli.schema.parser import parse_schema
from c10cli.verify.made_arguments import generate, parse_dims

DOMAINS = {
    "grouped heads": (
        "(Tensor q, Tensor k, bool causal=False) -> Tensor",
        {"T": "floating", "q": "T[heads, d]", "k": "T[kv_heads, d]", "where": "heads % kv_heads == 0"},
    ),
    "indices": (
        "(Tensor weight, Tensor indices) -> Tensor",
        {"weight": "floating[rows, columns]", "indices": "int32 | int64 [*n], 0 <= _ < rows"},
    ),
    "offsets": (
        "(Tensor x, Tensor at) -> Tensor",
        {"x": "any[tokens, d]", "at": "int32[b], offsets(_, tokens)"},
    ),
    "groups": (
        "(Tensor x, Tensor w, int groups=1) -> Tensor",
        {
            "x": "float32[n, c, h]",
            "w": "float32[o, per_group, k]",
            "groups": "_ >= 1",
            "where": ["c == groups * per_group", "o % groups == 0", "k <= h"],
        },
    ),
    "unique": (
        "(Tensor e, int k) -> Tensor",
        {"e": "int64[t, k], 0 <= _ < 8 and unique(_, -1)", "k": "1 <= _ <= 8"},
    ),
    "distribution": ("(Tensor p) -> Tensor", {"p": "floating[rows, vocabulary], distribution(_, -1)"}),
    "quantised": (
        "(Tensor x, Tensor w, Tensor s, int group) -> Tensor",
        {
            "x": "float16[m, k]",
            "w": "int8[n, k]",
            "s": "float16[n, k // group], _ > 0",
            "group": "_ in (32, 64)",
            "where": "k % group == 0",
        },
    ),
    "together": ("(Tensor c, Tensor x) -> Tensor", {"T": "any", "c": "boolean[#*n]", "x": "T[#*n]"}),
    "lists": (
        "(Tensor[] xs, int dim) -> Tensor",
        {"T": "number", "xs": "T[*n] each, sorted(_) and finite(_)", "dim": "-len(n) <= _ < len(n)"},
    ),
    "values": (
        "(Tensor x, str mode, float p, int[2] stride, int? axis) -> Tensor",
        {
            "x": "uint8[n], _ in (0, 7) and _ != 7",
            "mode": "_ in ('a', 'b')",
            "p": "0 < _ < 1",
            "stride": "_[0] >= 1",
            "axis": "0 <= _ < 1",
        },
    ),
    "ranges": ("(Tensor x, Tensor y) -> Tensor", {"x": "floating[n], -2 <= _ <= 3", "y": "int8[n], _ > 100"}),
    "dtypes": (
        "(Tensor x, Tensor y, Tensor z) -> Tensor",
        {"T": "complex", "U": "unsigned", "x": "T[n]", "y": "U[n], _ % 2 == 0", "z": "boolean[n]"},
    ),
}


def domain_of(name):
    schema, texts = DOMAINS[name]
    return parse_domain(texts, parse_schema(f"t::f{schema}"))


def shown(value):
    return [describe(v) for v in value] if isinstance(value, list) else describe(value)


@pytest.mark.parametrize("name", DOMAINS)
def test_what_is_made_is_inside_the_domain_whatever_the_seed(name):
    domain = domain_of(name)
    for seed in range(25):
        made = generate(domain, {}, "float32", np.random.default_rng(seed))
        assert domain.schema.bind((), made, is_tensor=lambda v: isinstance(v, np.ndarray))
        bind_domain(domain, made, judge=judge_elements)


def test_every_shipped_operator_gets_arguments_in_every_dtype():
    for linked in load_registry(shipped_registry()):
        domain = linked.decl.domain
        (variable,) = domain.variables
        for dtype in domain.dtypes_of(next(v for v in domain.arguments.values() if v.dtypes)):
            if dtype != "bfloat16":  # which needs a package
                made = generate(domain, {}, dtype, np.random.default_rng(0))
                assert bind_domain(domain, made, judge=judge_elements).dtypes == {variable: dtype}


def test_the_same_seed_makes_the_same():
    for name in DOMAINS:
        one, other = (generate(domain_of(name), {}, "float32", np.random.default_rng(5)) for _ in range(2))
        assert {k: shown(v) for k, v in one.items()} == {k: shown(v) for k, v in other.items()}
        assert all(np.array_equal(v, other[k]) for k, v in one.items() if isinstance(v, np.ndarray))


def test_dims_are_as_they_are_given_and_given_arguments_bind():
    domain = domain_of("indices")
    made = generate(domain, {"rows": 7, "n": [4, 8]}, "float16", np.random.default_rng(0))
    assert {k: shown(v) for k, v in made.items()}["indices"] == "int64[4, 8]"
    assert made["weight"].shape[0] == 7
    assert made["weight"].dtype == np.float16
    weight = np.ones((5, 2), np.float32)
    made = generate(domain, {"n": 3}, "float32", np.random.default_rng(0), {"weight": weight})
    assert made["weight"] is weight
    assert made["indices"].shape == (3,)


def test_groups_are_solved_and_not_tried():
    made = generate(domain_of("quantised"), {"k": 128}, "float16", np.random.default_rng(1))
    assert made["s"].shape[1] * made["group"] == 128
    made = generate(domain_of("groups"), {"per_group": 3}, "float32", np.random.default_rng(1), {"groups": 4})
    assert made["x"].shape[1] == 12


@pytest.mark.parametrize(
    ("name", "dims", "words"),
    [
        ("indices", {"row": 3}, "has no dim `row`; it has rows, columns, n"),
        ("indices", {"rows": [3, 4]}, "dim `rows` of `t::f` stands for one size, and [3, 4] are 2"),
        (
            "quantised",
            {"k": 33},
            "were found: the arguments of `t::f` are outside its domain: `k % group == 0`",
        ),
        ("indices", {"rows": 0, "n": 2}, "`0 <= _ < rows` is false"),
        ("offsets", {"b": 1, "tokens": 3}, "is no shape of offsets to 3"),
    ],
)
def test_dims_that_leave_nothing_are_told_with_the_reason(name, dims, words):
    with pytest.raises(ArgumentError) as caught:
        generate(domain_of(name), dims, "float32", np.random.default_rng(0))
    assert words in caught.value.diagnostics[0].message


def test_an_argument_that_nothing_is_said_of_is_missing():
    domain = parse_domain({"x": "any[n]"}, parse_schema("t::f(Tensor x, Tensor y, str mode) -> Tensor"))
    with pytest.raises(ArgumentError, match="does not say what argument `mode` may be"):
        generate(domain, {}, "float32", np.random.default_rng(0))
    with pytest.raises(ArgumentError, match="does not say what argument `y` may be"):
        generate(domain, {}, "float32", np.random.default_rng(0), {"mode": "a"})


def test_dims_are_read_from_a_shell():
    assert parse_dims("rows=7, n=4,8,m=") == {"rows": 7, "n": [4, 8], "m": []}
    for text in ("rows", "rows=x", "4,rows=3", "n=4,n=5", "n=4,,5", "=3", "n=-1", ""):
        with pytest.raises(ArgumentError, match="C10E410"):
            parse_dims(text)
