import pytest
from hypothesis import given, settings, strategies as st

from c10cli.schema.lexer import quote
from c10cli.schema.parser import parse_schema


def printed(argument, dialect="strict"):
    """The canonical form of one argument, after checking that it is a fixed point."""
    schema = parse_schema(f"c10::f({argument}) -> ()", dialect)
    text = str(schema)
    assert parse_schema(text, dialect) == schema
    assert str(parse_schema(text, dialect)) == text
    return text[len("c10::f(") : -len(") -> ()")]


@pytest.mark.parametrize(
    ("source", "canonical"),
    [
        ("float x=1e3", "float x=1000.0"),
        ("float x=.5", "float x=0.5"),
        ("float x=1e-5", "float x=1e-05"),
        ("float x=1e23", "float x=1e+23"),
        ("float x=3", "float x=3.0"),
        ("float x=-inf", "float x=-inf"),
        ("float x=nan", "float x=nan"),
        ("Scalar x=1", "Scalar x=1"),
        ("complex x=2j", "complex x=2.0j"),
        ("complex x=-2j", "complex x=-2.0j"),
        ("complex x=12", "complex x=12.0"),
        ("complex x=-0.0", "complex x=0.0j"),
        ("complex x=-0j", "complex x=0.0j"),
        ("Scalar x=0j", "Scalar x=0.0j"),
        ("Scalar x=-0j", "Scalar x=-0.0j"),
        ("Scalar x=-2j", "Scalar x=-2.0j"),
        ("int x=0x10", "int x=16"),
        ("int x=Mean", "int x=1"),
        ("ScalarType x=float", "ScalarType x=float32"),
        ("ScalarType? x=half", "ScalarType? x=float16"),
        ("Layout x=strided", "Layout x=strided"),
        ("MemoryFormat x=contiguous_format", "MemoryFormat x=contiguous_format"),
        ("Device x='cuda:1'", 'Device x="cuda:1"'),
        ("str x='it\\'s'", 'str x="it\\\'s"'),
        ('str x="\\033\\r"', 'str x="\\033\\015"'),
        ("int[] x=[1,1]", "int[] x=[1, 1]"),
        ("int[2] x=[1,1]", "int[2] x=1"),
        ("int[2] x=1", "int[2] x=1"),
        ("int[1] x=1", "int[1] x=[1]"),
        ("int[2] x=[]", "int[2] x=[]"),
        ("int[2]? x=3", "int[2]? x=3"),
        ("SymInt[2] x=1", "SymInt[2] x=[1, 1]"),
        ("bool[2] x=True", "bool[2] x=[True, True]"),
        ("int?[] x=[1, None]", "int?[] x=[1, None]"),
        ("ScalarType[] x=[half]", "ScalarType[] x=[float16]"),
        ("DeviceIndex x", "int x"),
        ("int?? x", "int? x"),
        ("Tensor(b|a) x", "Tensor(a|b) x"),
        ("Tensor(a|*) x", "Tensor(a|*) x"),
        ("Tensor(a! -> b|*) x", "Tensor(a! -> b|*) x"),
        ("Tensor! x", "Tensor! x"),
        ("Tensor[]! x", "Tensor[]! x"),
        ("Tensor(a)?[](b!) x", "Tensor(a)?[](b!) x"),
        ("Union(str, int) x", "Union(int, str) x"),
    ],
)
def test_a_piece_has_one_spelling_that_parses_back(source, canonical):
    assert printed(source) == canonical


@pytest.mark.parametrize(
    ("source", "canonical"),
    [
        ("ScalarType x=float", "ScalarType x=6"),
        ("MemoryFormat x=contiguous_format", "MemoryFormat x=0"),
        ("float? x=1", "float? x=1"),
        ("int x='a'", 'int x="a"'),
        ("float x=float", "float x=6.0"),
        ("int x=1j", "int x=1.0j"),
    ],
)
def test_the_torch_dialect_prints_the_values_that_torch_has(source, canonical):
    assert printed(source, "torch") == canonical


def test_a_dropped_annotation_does_not_count_in_the_names_of_fresh_sets():
    assert printed("(Tensor!, int) x, Tensor! y", "torch") == "(Tensor, int) x, Tensor! y"


def test_the_star_stands_once_before_the_first_keyword_only_argument():
    assert printed("*, int x, int y") == "*, int x, int y"
    assert printed("int x, *, *, int y", "torch") == "int x, *, int y"


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_string_default_survives(text):
    literal = quote(text)
    assert "\n" not in literal
    assert parse_schema(f"c10::f(str x={literal}) -> ()").arguments[0].default == text


@settings(max_examples=300, deadline=None)
@given(st.floats())
def test_any_float_default_survives(value):
    printed(f"float x={value!r}")
