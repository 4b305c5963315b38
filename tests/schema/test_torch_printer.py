from pathlib import Path

import pytest

from c10cli.errors import SchemaError
from c10cli.schema.parser import parse_schema

SCHEMAS = (Path(__file__).parent / "data" / "torch_schemas.txt").read_text(encoding="utf-8").splitlines()[1:]
CLASSES = {"c10d.ProcessGroup", "c10d.ReduceOp", "c10d.Work", "quantized.LinearPackedParamsBase"}


def printed(argument, dialect="strict"):
    text = parse_schema(f"c10::f({argument}) -> ()", dialect).to_torch_string()
    return text[len("c10::f(") : -len(") -> ()")]


@pytest.mark.parametrize(
    ("argument", "spelled"),
    [
        ("float x=1e-5", "float x=1.0000000000000001e-05"),
        ("float x=3", "float x=3."),
        ("float x=-0.0", "float x=0."),
        ("float x=9.2e18", "float x=9200000000000000000."),
        ("float x=9.3e18", "float x=9.3e+18"),
        ("float[2] x=1", "float[2] x=[1., 1.]"),
        ("complex x=-2.5j", "complex x=0.-2.5j"),
        ("ScalarType x=long", "ScalarType x=4"),
        ("ScalarType[] x=[half]", "ScalarType[] x=[5]"),
        ("MemoryFormat x=contiguous_format", "MemoryFormat x=0"),
        ("Device x='cuda:1'", "Device x=cuda:1"),
        ("str x='it\\'s'", 'str x="it\\\'s"'),
        ("int[] x=[1, 1]", "int[] x=1"),
        ("SymInt[] x=[1, 1]", "SymInt[] x=[1, 1]"),
        ("int[2]? x=3", "int[2]? x=3"),
        ("bool x=True", "bool x=True"),
        ("Tensor! x", "Tensor($0! -> ) x"),
        ("Tensor(a)?[](b) x", "Tensor?(a)[](b) x"),
        ("Tensor(a)[][] x", "Tensor[]()[] x"),
        ("Dict(SymInt, ScalarType?) x", "Dict(int, int?) x"),
        ("(SymInt, Future(Layout)[]) x", "(int, Future(int)[]) x"),
        ("Union(SymInt, str) x", "Union(int, str) x"),
        ("Union(SymInt, ScalarType, str) x", "Union(int, str) x"),
        ("RRef(SymBool) x", "RRef(SymBool) x"),
        ("SymInt?[] x", "SymInt?[] x"),
    ],
)
def test_a_piece_is_spelled_as_torch_does(argument, spelled):
    assert printed(argument) == spelled


@pytest.mark.parametrize("t", ["int", "float?", "t?", "Any?", "str[1]?"])
def test_a_string_stands_without_quotes_where_the_type_is_no_str(t):
    assert printed(f"{t} x='a'", "torch") == f"{t} x=a"
    assert printed("str? x='a'", "torch") == 'str? x="a"'


@pytest.mark.parametrize("text", SCHEMAS)
def test_what_torch_printed_is_printed_again(text):
    assert parse_schema(text, "torch", known_classes=CLASSES).to_torch_string() == text


@pytest.mark.parametrize(
    "argument",
    [
        "float x=inf",
        "Scalar x=nan",
        "float x=5e-324",
        "str[] x=['a']",
        "int[]? x=[1]",
        "int[2]? x=[1, 2]",
        "int?[] x=[]",
    ],
)
def test_a_default_that_torch_cannot_read_is_refused(argument):
    with pytest.raises(SchemaError, match="torch cannot read the default of `x`") as raised:
        printed(argument)
    assert raised.value.code == "C10E205"
