import math

import pytest

from c10cli.errors import SchemaError
from c10cli.schema.defaults import read_constant
from c10cli.schema.lexer import END, Lexer
from c10cli.schema.parser import parse_schema


def default(t, text, dialect="strict"):
    argument = parse_schema(f"c10::f({t} x={text}) -> ()", dialect).arguments[0]
    assert argument.default_source == text
    return argument.default


def refusal(t, text, dialect="strict"):
    """The message's fault, its text and the help."""
    source = f"c10::f({t} x={text}) -> ()"
    with pytest.raises(SchemaError) as raised:
        parse_schema(source, dialect)
    error = raised.value
    assert error.code == "C10E205"
    return error.diagnostics[0].message, source[error.start : error.end], error.diagnostics[0].help


@pytest.mark.parametrize(
    ("t", "text", "value"),
    [
        ("int", "-3", -3),
        ("int", "Mean", 1),
        ("int", "0x10", 16),
        ("int", "-9223372036854775808", -(2**63)),
        ("SymInt", "3", 3),
        ("float", "2", 2.0),
        ("float", "1e-5", 1e-5),
        ("float", "inf", math.inf),
        ("float", "-inf", -math.inf),
        ("complex", "2j", 2j),
        ("complex", "12", 12 + 0j),
        ("bool", "True", True),
        ("str", "'a'", "a"),
        ("Scalar", "1", 1),
        ("Scalar", "1.0", 1.0),
        ("Scalar", "True", True),
        ("Device", "'cuda:1'", "cuda:1"),
        ("ScalarType", "long", "int64"),
        ("ScalarType", "6", "float32"),
        ("Layout", "strided", "strided"),
        ("MemoryFormat", "0", "contiguous_format"),
        ("Tensor?", "None", None),
        ("float?", "3", 3.0),
        ("int[]", "[]", ()),
        ("int[]", "[1,2]", (1, 2)),
        ("float[]", "[1, 2.5]", (1.0, 2.5)),
        ("bool[2]", "[True, False]", (True, False)),
        ("int[2]", "1", (1, 1)),
        ("int[2]", "[]", ()),
        ("int[2]?", "3", (3, 3)),
        ("int[]?", "[1]", (1,)),
        ("str[]", '["a"]', ("a",)),
        ("int?[]", "[1, None]", (1, None)),
        ("Scalar[]", "[1, 2.0]", (1, 2.0)),
        ("ScalarType[]", "[half]", ("float16",)),
    ],
)
def test_strict_gives_a_value_of_the_type(t, text, value):
    found = default(t, text)
    assert found == value
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_nan_is_one_value_so_that_schemas_stay_equal():
    text = "c10::f(float x=nan) -> ()"
    assert math.isnan(default("float", "nan"))
    assert parse_schema(text) == parse_schema(text)


@pytest.mark.parametrize(
    ("t", "text", "fault", "hint"),
    [
        ("int", "1.5", "1.5", ""),
        ("Any[]", "[1]", "1", ""),
        ("int", "True", "True", ""),
        ("int", "9223372036854775808", "9223372036854775808", ""),
        ("int", "mean", "mean", "did you mean `Mean`?"),
        ("int?", "null", "null", "write `None`"),
        ("int", "None", "None", "write `int?` as the type to allow None"),
        ("Scalar", "None", "None", "write `Scalar?` as the type to allow None"),
        ("float", "'a'", "'a'", ""),
        ("bool", "1", "1", ""),
        ("bool", "true", "true", "write `True`"),
        ("str", "a", "a", 'write `"a"`'),
        ("Device", "cpu", "cpu", 'write `"cpu"`'),
        ("Device", "'cuda:'", "'cuda:'", ""),
        ("ScalarType", "flot32", "flot32", "did you mean `float32` or `float` or `cfloat`?"),
        ("MemoryFormat", "channels_last", "channels_last", ""),
        ("int[]", "1", "1", ""),
        ("int[]", "[1, 2.5]", "2.5", ""),
        ("int[]", "[1,]", "]", ""),
        ("int[2]", "[1, 2, 3]", "[1, 2, 3]", ""),
        ("int[1000000000]", "1", "1", ""),
        ("int", "[1]", "[", "write `[…]` only for list types"),
        ("Tensor?", "1", "1", ""),
        ("float", "", ")", ""),
    ],
)
def test_strict_refuses_what_is_not_of_the_type(t, text, fault, hint):
    assert refusal(t, text)[1:] == (fault, hint)


@pytest.mark.parametrize("t", ["Tensor", "Generator", "Storage", "Any", "Dict(str, int)", "(int, int)"])
def test_some_types_have_no_default(t):
    message, _, hint = refusal(t, "None")
    assert message == f"`{t}` cannot have a default"
    assert hint == f"write `{t}?` with `=None`, or leave the default out"


def test_none_needs_no_default():
    assert refusal("NoneType", "None") == (
        "`NoneType` cannot have a default",
        "None",
        "leave the default out",
    )


@pytest.mark.parametrize(
    ("t", "text", "value"),
    [
        ("int", "'a'", "a"),
        ("int", "True", True),
        ("bool", "1", 1),
        ("int", "1.5", 1.5),
        ("int", "strided", 0),
        ("float?", "1", 1),
        ("float", "1", 1.0),
        ("Tensor", "None", None),
        ("ScalarType?", "long", 4),
        ("ScalarType", "bfloat16", 15),
        ("Layout", "float", 6),
        ("int[2]", "1", (1, 1)),
        ("int[2]", "[1, 2, 3]", (1, 2, 3)),
        ("int[2]?", "3", 3),
        ("int[]", "[long]", (4,)),
        ("Device?", "'cpu'", "cpu"),
        ("t?", "None", None),
    ],
)
def test_the_torch_dialect_gives_what_torch_gives(t, text, value):
    found = default(t, text, "torch")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("t", "text", "fault"),
    [
        ("float", "inf", "inf"),
        ("int", "int32", "int32"),
        ("int", "9223372036854775808", "9223372036854775808"),
        ("Tensor", "1", "1"),
        ("Any", "None", "None"),
        ("Dict(str, int)", "{}", "{"),
        ("Device", "None", "None"),
        ("int[]?", "[1]", "["),
        ("str[]", '["a"]', "["),
        ("int[]", "None", "None"),
        ("int[2]", "True", "True"),
        ("int[2]", "long", "long"),
        ("float[]", "[True]", "True"),
        ("bool[]", "[1]", "1"),
        ("int[1000000000]", "1", "1"),
    ],
)
def test_the_torch_dialect_refuses_what_torch_refuses(t, text, fault):
    assert refusal(t, text, "torch")[1] == fault


def test_a_very_long_default_is_quick():
    assert default("str", f'"{"a" * 1_000_000}"') == "a" * 1_000_000
    assert "…" in refusal("int", "9" * 100_000)[0]


def read(text, *, strict=True):
    lexer = Lexer(text)
    constant = read_constant(lexer, strict=strict)
    assert lexer.kind is END
    return constant.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("None", None),
        ("True", True),
        ("False", False),
        ("12", 12),
        ("- 1", -1),
        ("010", 10),
        ("0x10", 16),
        ("1.", 1.0),
        (".5", 0.5),
        ("1E5", 100000.0),
        ("1e-5", 1e-5),
        ("0x1.8p3", 12.0),
        ("1.5j", 1.5j),
        ("-2j", -2j),
        ("Mean", "Mean"),
        ("-inf", float("-inf")),
        (r'"a\n\t\\\"\'\101"', "a\n\t\\\"'A"),
        ("'''it's\n'''", "it's\n"),
        ("'a\\\nb'", "a\nb"),
        (r"'\1010'", "A0"),
        ("'é'", "é"),
        ("''", ""),
    ],
)
def test_a_constant_has_its_value_and_type(text, value):
    found = read(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text", ["1e400", "-1e400", "1e-400", "0x1p-1090", "0x1p99999", "9" * 400, "0x" + "f" * 300]
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_number_that_no_float_can_hold_is_out_of_range(text, strict):
    with pytest.raises(SchemaError, match="out of range") as raised:
        read(text, strict=strict)
    assert raised.value.code == "C10E205"
    assert (raised.value.start, raised.value.end) == (0, len(text))


def test_only_strict_takes_subnormal_numbers():
    assert read("5e-324") == 5e-324
    assert read("0e-999", strict=False) == 0.0
    with pytest.raises(SchemaError, match="out of range"):
        read("5e-324", strict=False)


@pytest.mark.parametrize(
    ("text", "start"), [(r"'ab\q'", 3), (r"'\x41'", 1), (r"'\8'", 1), (r"'\400'", 1), (r"'\u0041'", 1)]
)
def test_an_unknown_escape_is_refused_at_its_place(text, start):
    with pytest.raises(SchemaError, match="is no escape") as raised:
        read(text)
    assert raised.value.start == start


@pytest.mark.parametrize("text", ["--1", "-True", "-Mean", "[", ")", "in", ""])
def test_what_is_no_constant_is_refused(text):
    with pytest.raises(SchemaError) as raised:
        read(text)
    assert raised.value.code == "C10E205"


def test_minus_inf_is_no_number_to_torch():
    with pytest.raises(SchemaError, match="a number after `-`"):
        read("-inf", strict=False)


def test_torch_reads_six_words_in_any_default():
    words = {"float": 6, "complex": 9, "long": 4, "strided": 0, "contiguous_format": 0, "Mean": 1}
    assert {word: default("int", word, "torch") for word in words} == words
