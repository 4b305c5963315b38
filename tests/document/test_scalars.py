import math

import pytest

from c10cli.document.scalars import kind_name, resolve_scalar


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("0", 0),
        ("-12", -12),
        ("+7", 7),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("1e-5", 1e-5),
        ("1.0e-5", 1e-5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1E3", 1000.0),
        ("-.inf", -math.inf),
        (".INF", math.inf),
    ],
)
def test_the_core_schema_of_yaml_1_2(text, expected):
    value = resolve_scalar(text)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "12:30",
        "12:30:45",
        "1_000",
        "0b11",
        "2001-01-01",
        "1e",
        "-",
        ".",
        "1.2.3",
        "<<",
    ],
)
def test_what_only_yaml_1_1_reads_as_something_else_is_text(text):
    assert resolve_scalar(text) == text


def test_nan():
    assert math.isnan(resolve_scalar(".nan"))


@pytest.mark.parametrize("text", ["9" * 5_000, "-" + "9" * 4_300, "0x" + "f" * 4_000, "0o" + "7" * 4_000])
def test_numbers_too_long_to_print_are_nothing_that_a_field_takes(text):
    assert kind_name(resolve_scalar(text)) == "a number of thousands of digits"


def test_numbers_that_are_kept_can_be_printed():
    assert len(str(resolve_scalar("9" * 3_500))) == 3_500
    assert str(resolve_scalar("0x" + "f" * 3_000)).isdigit()


def test_kinds_have_an_article():
    values = (None, True, {}, [], "", 1, 1.5)
    assert [kind_name(value) for value in values] == [
        "null",
        "the boolean `true`",
        "a mapping",
        "a list",
        "a string",
        "an integer",
        "a float",
    ]
