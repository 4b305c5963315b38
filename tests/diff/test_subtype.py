import pytest

from c10cli.diff.subtype import is_subtype, plain_alias, plain_type
from c10cli.schema.parser import parse_schema


def argument(text):
    (found,) = parse_schema(f"f({text} x) -> ()", "torch").arguments
    return found


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("int", "Scalar"),
        ("float", "Scalar"),
        ("complex", "Scalar"),
        ("int", "int?"),
        ("NoneType", "int?"),
        ("int?", "Scalar?"),
        ("int?", "Any"),
        ("Tensor[]", "Tensor[]?"),
        ("int", "Union(int, str)"),
        ("int", "Union(Scalar, str)"),
        ("int?", "Union(int, str, NoneType)"),
        ("Union(int, str)", "Union(int, str, Tensor)"),
        ("(int, int)", "(Scalar, int?)"),
        ("Future(int)", "Future(int?)"),
    ],
)
def test_values_of_one_type_are_values_of_a_wider_one(narrow, wide):
    assert is_subtype(argument(narrow).type, argument(wide).type)
    assert not is_subtype(argument(wide).type, argument(narrow).type)


@pytest.mark.parametrize(
    ("t", "other"),
    [
        ("bool", "Scalar"),
        ("bool", "int"),
        ("int", "float"),
        ("str", "Device"),
        ("int[]", "int?[]"),
        ("Tensor[]", "Tensor?[]"),
        ("Dict(str, int)", "Dict(str, int?)"),
        ("RRef(int)", "RRef(int?)"),
        ("Future(int)", "Await(int)"),
        ("(int, int)", "(int, int, int)"),
        ("ScalarType", "int"),
    ],
)
def test_neither_type_holds_the_other(t, other):
    assert not is_subtype(argument(t).type, argument(other).type)
    assert not is_subtype(argument(other).type, argument(t).type)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("SymInt", "int"),
        ("SymInt[]?", "int[]?"),
        ("(SymInt, str)", "(int, str)"),
        ("Dict(str, SymInt)", "Dict(str, int)"),
        ("Future(SymInt)", "Future(int)"),
        ("Union(SymInt, str)", "Union(int, str)"),
        ("SymBool", "SymBool"),
    ],
)
def test_a_symbolic_int_is_an_int_wherever_it_stands(text, plain):
    assert str(plain_type(argument(text).type)) == plain


def test_sets_without_a_name_lose_their_number():
    first, second = parse_schema("f(Tensor! x, Tensor! y) -> ()", "torch").arguments
    assert first.alias != second.alias
    assert plain_alias(first.alias) == plain_alias(second.alias)
    assert plain_alias(None) is None
    named = argument("Tensor(a!)[](b)").alias
    assert plain_alias(named) == named
