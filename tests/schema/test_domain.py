"""Dims and dtype variables bound to the values of a call, and what is outside."""

from itertools import product
from types import SimpleNamespace

import pytest

from c10cli.errors import ArgumentError
from c10cli.schema.bindings import bind_domain
from c10cli.schema.domain_functions import FUNCTIONS
from c10cli.schema.domain_parser import parse_condition, parse_domain
from c10cli.schema.dtypes import DTYPES
from c10cli.schema.parser import parse_schema


class Dtype(str):
    """A dtype that says its name."""

    name = property(str)


def tensor(dtype, *shape):
    return SimpleNamespace(dtype=Dtype(dtype), shape=shape)


def domain(schema, **texts):
    return parse_domain(texts, parse_schema(schema))


ATTENTION = domain(
    "t::attention(Tensor q, Tensor k, Tensor v) -> (Tensor out, Tensor lse)",
    T="floating",
    q="T[batch, heads, queries, d]",
    k="T[batch, kv_heads, keys, d]",
    v="T[batch, kv_heads, keys, e]",
    where=["heads % kv_heads == 0", "keys >= 1"],
    returns=["T[batch, heads, queries, e]", "float32[batch, heads, queries]"],
)
Q, K, V = (tensor("float16", 1, 8, 64, 192), tensor("float16", 1, 2, 10, 192), tensor("float16", 1, 2, 10, 5))


def attention(q=Q, k=K, v=V):
    return bind_domain(ATTENTION, {"q": q, "k": k, "v": v})


def test_axes_give_names_their_sizes_and_returns_are_made_of_them():
    bound = attention()
    assert bound.dims == {"batch": 1, "heads": 8, "queries": 64, "d": 192, "kv_heads": 2, "keys": 10, "e": 5}
    assert bound.dtypes == {"T": "float16"}
    assert [bound.expected_return(at) for at in (0, 1)] == [
        ("float16", (1, 8, 64, 5)),
        ("float32", (1, 8, 64)),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"q": tensor("float16", 8, 64, 192)},
            "`q` of `t::attention`, float16[8, 64, 192], is outside its domain: it has 3 axes, not 4",
        ),
        (
            {"k": tensor("float32", 1, 2, 10, 192)},
            "outside its domain: T is float16, from q float16[1, 8, 64, 192]",
        ),
        ({"q": tensor("int8", 1, 8, 64, 192)}, "its dtype is none of float16, bfloat16, float32, float64"),
        ({"k": tensor("float16", 1, 2, 10, 191)}, "`d` is 191 here, and d is 192, from q"),
        (
            {"k": tensor("float16", 1, 3, 10, 192), "v": tensor("float16", 1, 3, 10, 5)},
            "`heads % kv_heads == 0` is false: heads is 8, from q float16[1, 8, 64, 192], kv_heads is 3",
        ),
    ],
)
def test_what_is_outside_is_told_with_the_condition_and_the_values(arguments, words):
    with pytest.raises(ArgumentError) as caught:
        attention(**arguments)
    (finding,) = caught.value.diagnostics
    assert (finding.code, words in finding.message) == ("C10E405", True), finding.message


def test_a_condition_that_fails_says_which_part_and_where_its_values_are_from():
    condition = parse_condition("T in (float16, bfloat16) and d <= 128", ATTENTION.schema, ATTENTION)
    assert attention().why_false(condition) == "`d <= 128` is false: d is 192, from q float16[1, 8, 64, 192]"
    assert not attention().why_false(parse_condition("d <= 192", ATTENTION.schema, ATTENTION))


def bind(schema, values, **texts):
    return bind_domain(domain(schema, **texts), values)


def fault(schema, values, **texts):
    with pytest.raises(ArgumentError) as caught:
        bind(schema, values, **texts)
    return caught.value.diagnostics[0].message


def test_starred_names_are_any_number_of_axes_between_others():
    texts = {"x": "any[first, *n, last]", "returns": "float32[last, *n]"}
    bound = bind("t::f(Tensor x) -> Tensor", {"x": tensor("int8", 2, 3, 4, 5)}, **texts)
    assert bound.dims == {"first": 2, "n": (3, 4), "last": 5}
    assert bound.expected_return(0) == ("float32", (5, 3, 4))
    assert bind("t::f(Tensor x) -> Tensor", {"x": tensor("int8", 2, 5)}, **texts).dims["n"] == ()
    assert "1 axes, not 2 or more" in fault("t::f(Tensor x) -> Tensor", {"x": tensor("int8", 2)}, **texts)


WHERE = "t::f(Tensor c, Tensor x, Tensor y) -> Tensor"
TOGETHER = {"T": "any", "c": "boolean[#*n]", "x": "T[#*n]", "y": "T[#*n]", "returns": "T[*n]"}


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (((2, 3), (3,), ()), (2, 3)),
        (((1, 3), (2, 1), (4, 1, 1)), (4, 2, 3)),
        (((0, 1), (1, 5), (5,)), (0, 5)),
    ],
)
def test_names_with_a_hash_alone_are_what_they_broadcast_to_together(shapes, expected):
    c, x, y = shapes
    values = {"c": tensor("bool", *c), "x": tensor("int8", *x), "y": tensor("int8", *y)}
    assert bind(WHERE, values, **TOGETHER).expected_return(0) == ("int8", expected)


def test_what_does_not_broadcast_is_outside():
    values = {"c": tensor("bool", 2), "x": tensor("int8", 3), "y": tensor("int8")}
    assert "sizes 2 and 3 do not broadcast: n is [2], from c bool[2]" in fault(WHERE, values, **TOGETHER)
    texts = {"c": "any[n]", "x": "any[#n]", "y": "any[*m]"}
    values = {"c": tensor("int8", 1), "x": tensor("int8", 3), "y": tensor("int8")}
    assert "`#n` is [3] here, which does not broadcast: n is 1, from c" in fault(WHERE, values, **texts)
    assert bind(WHERE, {**values, "c": tensor("int8", 3)}, **texts).dims["n"] == 3


def test_expressions_are_compared_when_all_names_are_bound():
    schema, texts = "t::f(Tensor x, Tensor y, int k) -> Tensor", {"x": "any[n // k, k]", "y": "any[n]"}
    values = {"x": tensor("int8", 3, 2), "y": tensor("int8", 6), "k": 2}
    assert bind(schema, values, **texts).dims == {"n": 6}
    wrong = {**values, "y": tensor("int8", 8)}
    assert "`n // k` is 4, not 3: k is 2, n is 8, from y int8[8]" in fault(schema, wrong, **texts)
    assert "division" in fault(schema, {**values, "k": 0}, **texts) or "zero" in fault(
        schema, {**values, "k": 0}, **texts
    )


def test_lists_bind_every_element_and_optionals_nothing_where_they_are_none():
    schema = "t::f(Tensor[] xs, Tensor? bias, int? dim) -> Tensor"
    texts = {"T": "any", "xs": "T[*n] each", "bias": "T[m]", "dim": "_ < len(n)", "where": ["m == 3"]}
    values = {"xs": [tensor("int8", 2, 3), tensor("int8", 2, 3)], "bias": None, "dim": None}
    assert bind(schema, values, **texts).dims == {"n": (2, 3)}
    values["xs"].append(tensor("int8", 3, 2))
    assert "`*n` is [3, 2] here, and n is [2, 3], from xs" in fault(schema, values, **texts)
    assert "`m == 3` is false: m is 2, from bias" in fault(
        schema, {"xs": [], "bias": tensor("int8", 2), "dim": 5}, **texts
    )


def test_scalars_meet_conditions_on_their_values():
    schema, texts = "t::f(Tensor x, int dim, str mode) -> Tensor", {"dim": "-rank(x) <= _ < rank(x)"}
    values = {"x": tensor("int8", 2, 3), "dim": -2, "mode": "a"}
    assert bind(schema, values, **texts, mode="_ in ('a', 'b')")
    message = fault(schema, {**values, "dim": 2}, **texts)
    assert message.endswith("`-rank(x) <= _ < rank(x)` is false: it is 2, x is int8[2, 3]")
    assert "it is 'c'" in fault(schema, {**values, "mode": "c"}, mode="_ in ('a', 'b')")


def test_returns_are_compared_in_shape_and_dtype():
    bound = attention()
    assert bound.return_fault(0, tensor("float16", 1, 8, 64, 5)) == ""
    assert bound.return_fault(0, tensor("float16", 1, 8, 64, 6)) == (
        "it is float16[1, 8, 64, 6] where the domain says shape [1, 8, 64, 5]"
    )
    assert bound.return_fault(1, tensor("float16", 1, 8, 64)) == (
        "it is float16[1, 8, 64] where the domain says float32"
    )


@pytest.mark.parametrize(
    ("returns", "dtype", "expected"),
    [
        ("int64[*reduced(n, dim, keep)]", None, ("int64", (2, 1, 4))),
        ("T[*without(n, dim)]", None, ("int8", (2, 4))),
        ("T[*n[:dim], *n[dim + 1:]]", None, ("int8", (2, 4))),
        ("T[*with_size(n, dim, 2 * n[0])]", None, ("int8", (2, 4, 4))),
        ("promote(T, float16)[prod(n), len(n)]", None, ("float16", (24, 3))),
        ("dtype or T[...]", "float64", ("float64", None)),
        ("dtype or T[...]", None, ("int8", None)),
        ("any[*n]", None, ("", (2, 3, 4))),
        ("T[*broadcast(n, n), itemsize(T), min(n), max(1, n[2])]", None, ("int8", (2, 3, 4, 1, 2, 4))),
    ],
)
def test_shapes_and_dtypes_of_returns_are_computed(returns, dtype, expected):
    schema = "t::f(Tensor x, int dim, bool keep, ScalarType? dtype) -> Tensor"
    values = {"x": tensor("int8", 2, 3, 4), "dim": 1, "keep": True, "dtype": dtype}
    bound = bind(schema, values, T="any", x="T[*n]", returns=returns)
    assert bound.expected_return(0) == expected


def test_axes_that_are_not_there_are_told_and_not_an_exception():
    schema = "t::f(Tensor x, int dim) -> Tensor"
    bound = bind(schema, {"x": tensor("int8", 2), "dim": 3}, x="any[*n]", returns="int8[*without(n, dim)]")
    assert "axis 3 of 1 axes" in bound.return_fault(0, tensor("int8"))


def test_unchecked_binding_takes_the_first_use_of_each_name():
    bound = bind_domain(ATTENTION, {"q": Q, "k": tensor("int8", 9, 9), "v": V}, checked=False)
    assert bound.expected_return(0) == ("float16", (1, 8, 64, 5))


def test_dtypes_are_promoted_as_torch_does(needs):
    torch = needs("torch")
    names = [name for name in DTYPES if not name.startswith(("float8", "uint16", "uint32", "uint64"))]
    for first, second in product(names, names):
        expected = torch.promote_types(getattr(torch, first), getattr(torch, second))
        assert str(expected) == f"torch.{FUNCTIONS['promote'](first, second)}", (first, second)
