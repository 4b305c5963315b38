import pytest

from c10cli.errors import SchemaError
from c10cli.schema.constants import read_constant
from c10cli.schema.lexer import END, Lexer


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
