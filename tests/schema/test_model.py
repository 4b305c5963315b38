import pickle
from dataclasses import FrozenInstanceError

import pytest

from c10cli.schema.model import AliasInfo, OperatorName, schema_differences
from c10cli.schema.parser import parse_schema

TEXT = "c10::add.out(Tensor(a) self, int[2]? pad=3, *, Scalar alpha=1, Tensor(b!) out) -> Tensor(b!)"


def test_a_name_prints_its_parts_and_knows_what_overloads_share():
    name = OperatorName("c10", "add", "out")
    assert str(name) == "c10::add.out"
    assert name.qualified == "c10::add"
    assert str(OperatorName("c10", "add")) == "c10::add"
    assert str(OperatorName("", "add", "out")) == "add.out"


def test_arguments_are_split_at_the_star():
    schema = parse_schema(TEXT)
    assert [a.name for a in schema.positional] == ["self", "pad"]
    assert [a.name for a in schema.keyword_only] == ["alpha", "out"]


def test_each_piece_of_an_argument_has_its_place_in_the_text():
    pad = parse_schema(TEXT).arguments[1]
    pieces = [TEXT[slice(*span)] for span in (pad.span, pad.type_span, pad.name_span)]
    assert pieces == ["int[2]? pad=3", "int[2]?", "pad"]


def test_an_argument_from_memory_has_the_same_places():
    first, second = parse_schema(TEXT), parse_schema(" " + TEXT)
    assert [a.marks for a in second.arguments] == [tuple(m + 1 for m in a.marks) for a in first.arguments]


def test_a_return_without_name_has_an_empty_name_span():
    schema = parse_schema(TEXT)
    assert TEXT[slice(*schema.returns[0].type_span)] == "Tensor(b!)"
    assert schema.returns[0].name_span == (len(TEXT), len(TEXT))


def test_schemas_are_equal_whatever_their_spelling():
    spaced = TEXT.replace(",", " , ").replace("=", " = ")
    assert parse_schema(spaced) == parse_schema(TEXT)
    assert hash(parse_schema(spaced)) == hash(parse_schema(TEXT))
    assert parse_schema(TEXT.replace("alpha=1", "alpha=2")) != parse_schema(TEXT)


def test_the_dialect_is_kept_and_makes_no_other_schema():
    text = "c10::f(Tensor x, int[2] pad) -> Tensor"
    strict, torch = parse_schema(text), parse_schema(text, "torch")
    assert (strict.dialect, torch.dialect) == ("strict", "torch")
    assert strict == torch
    assert (hash(strict), str(strict), repr(strict)) == (hash(torch), str(torch), repr(torch))
    assert pickle.loads(pickle.dumps(torch)).dialect == "torch"


@pytest.mark.parametrize("default", ["1.0", "True", "nan"])
def test_defaults_of_other_types_make_other_schemas(default):
    schema = parse_schema(TEXT.replace("alpha=1", f"alpha={default}"))
    assert schema != parse_schema(TEXT)
    assert schema == pickle.loads(pickle.dumps(schema))
    assert hash(schema) == hash(pickle.loads(pickle.dumps(schema)))


def test_a_schema_is_frozen_and_can_be_pickled():
    schema = parse_schema(TEXT)
    with pytest.raises(FrozenInstanceError):
        schema.is_vararg = True
    assert pickle.loads(pickle.dumps(schema)) == schema


@pytest.mark.parametrize(
    ("argument", "mutable"),
    [
        ("Tensor(a!) x", True),
        ("Tensor! x", True),
        ("Tensor(a!)[] x", True),
        ("Tensor[](a!) x", True),
        ("Tensor(a!)[](b) x", True),
        ("Tensor(a) x", False),
        ("Tensor[] x", False),
    ],
)
def test_a_written_value_or_element_makes_the_schema_mutable(argument, mutable):
    assert parse_schema(f"c10::f({argument}) -> ()").is_mutable is mutable


def test_alias_sets_are_collected_from_elements_without_the_wildcard():
    alias = AliasInfo(("b",), ("*",), False, AliasInfo(("a",), ("c",), True))
    assert alias.sets == {"a", "b", "c"}
    assert alias.written_sets == {"a"}
    assert alias.writes_any
    assert not alias.is_write


@pytest.mark.parametrize(
    ("first", "second", "sentences"),
    [
        ("(Tensor x) -> Tensor", "(Tensor x) -> Tensor", []),
        (
            "(Tensor x, int a) -> ()",
            "(Tensor x) -> ()",
            ["argument 1 is `int a` in the first and absent in the second"],
        ),
        (
            "(Tensor(a!) x, *, int? b) -> Tensor(a!)",
            "(Tensor x, int? b) -> Tensor",
            [
                "argument 0 is `Tensor(a!) x` in the first and `Tensor x` in the second",
                "argument 1 is keyword-only `int? b` in the first and `int? b` in the second",
                "return 0 is `Tensor(a!)` in the first and `Tensor` in the second",
            ],
        ),
        (
            "(Tensor x, ...) -> ()",
            "(Tensor x) -> ()",
            ["the first is `t::f(Tensor x, ...) -> ()` and the second `t::f(Tensor x) -> ()`"],
        ),
    ],
)
def test_schemas_are_compared_argument_by_argument(first, second, sentences):
    assert schema_differences(parse_schema(f"t::f{first}"), parse_schema(f"t::f{second}")) == sentences
