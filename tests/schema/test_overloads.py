import pytest

from c10cli.errors import ArgumentError
from c10cli.schema.overloads import resolve_overload
from c10cli.schema.parser import parse_schema

X = object()  # a tensor
DEFAULTS = ["t::op.a(Tensor d, int a=1, int b=1) -> str", 't::op.b(Tensor d, int a=2, str b="2") -> str']
BY_TYPE = ["t::op.Tensor(Tensor self, Tensor other) -> str", "t::op.Scalar(Tensor self, Scalar other) -> str"]
BY_COUNT = [
    "t::op(Tensor self) -> str",
    "t::op.overload1(Tensor self, Tensor other) -> str",
    "t::op.overload2(Tensor self, Tensor other, Tensor alpha) -> str",
]


def resolve(texts, *args, **kwargs):
    return resolve_overload([parse_schema(text) for text in texts], args, kwargs)


@pytest.mark.parametrize(
    ("texts", "args", "kwargs", "overload"),
    [
        (BY_COUNT, [X], {}, ""),
        (BY_COUNT, [X, X], {}, "overload1"),
        (BY_COUNT, [X, X], {"alpha": X}, "overload2"),
        (BY_TYPE, [X, X], {}, "Tensor"),
        (BY_TYPE, [X, 2], {}, "Scalar"),
        (DEFAULTS, [X], {"b": 3}, "a"),
        (DEFAULTS, [X], {"b": "q"}, "b"),
    ],
)
def test_the_overload_that_takes_the_call_is_found(texts, args, kwargs, overload):
    assert resolve(texts, *args, **kwargs).schema.name.overload == overload


def test_where_several_take_it_the_first_one_does():
    assert resolve(DEFAULTS, X).schema.name.overload == "a"
    assert resolve(DEFAULTS[::-1], X).schema.name.overload == "b"


def test_the_values_and_the_reasons_against_those_before_come_along():
    found = resolve(BY_TYPE, X, 2)
    assert found.bound == {"self": X, "other": 2}
    assert found.refused == ("argument `other` of `t::op.Tensor` must be Tensor, not int `2`",)
    assert resolve(BY_TYPE, X, X).refused == ()


def test_where_none_takes_it_each_says_why():
    with pytest.raises(ArgumentError) as raised:
        resolve(BY_COUNT, X, 1)
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, raised.value.operator) == ("C10E402", "t::op")
    assert diagnostic.message == "none of the 3 overloads of `t::op` takes this call"
    assert diagnostic.notes[:3] == (
        "`t::op` takes 1 positional argument, 2 are given",
        "argument `other` of `t::op.overload1` must be Tensor, not int `1`",
        "`t::op.overload2` is missing argument `alpha`",
    )
    assert diagnostic.notes[3:] == tuple(f"declared as `{text}`" for text in BY_COUNT)


def test_without_overloads_nothing_takes_it():
    with pytest.raises(ArgumentError, match="none of the 0 overloads"):
        resolve([], X)


def test_is_tensor_decides_what_a_tensor_is():
    schemas = [parse_schema(text) for text in BY_TYPE]
    found = resolve_overload(schemas, [1, 1], {}, is_tensor=lambda value: value == 1)
    assert found.schema.name.overload == "Tensor"
