"""All that must be refused, with its code, its reason and its place, in both dialects and by torch."""

import keyword
import re
from pathlib import Path

import pytest

from c10cli.errors import CODES, SchemaError
from c10cli.schema.parser import parse_schema

TABLE = (Path(__file__).parent / "data" / "refusals.txt").read_text(encoding="utf-8")
ROW = re.compile(r"(both|strict|torch) +(C10E2\d\d)  (.*)«(.*)»(.*)  ==  (.*)")

# What torch takes and its dialect here refuses, by text and message: see `test_against_torch`.
MORE_THAN_TORCH = re.compile(
    r"a whole number as the size|size of a list is at most|limited to 1024|deeper than 32|more than 8 of"
    r"|`(ScalarType|Layout)` is .*, found `'|complex x=1e400"
)


def rows():
    """Dialect, code, text, start and end of the fault, and message of each row."""
    for line in TABLE.replace("⏎", "\0").splitlines():
        if line.startswith("#"):
            continue
        found = ROW.fullmatch(line)
        assert found, line
        dialects, code, before, fault, after, message = (g.replace("\0", "\n") for g in found.groups())
        text, start = before + fault + after, len(before)
        for dialect in ("strict", "torch") if dialects == "both" else (dialects,):
            yield dialect, code, text, start, start + len(fault), message


ROWS = list(rows())
REFUSED = {dialect: {row[2] for row in ROWS if row[0] == dialect} for dialect in ("strict", "torch")}


@pytest.mark.parametrize(("dialect", "code", "text", "start", "end", "message"), ROWS)
def test_it_is_refused_with_the_reason_and_the_column(dialect, code, text, start, end, message):
    for _ in range(2):  # what was remembered of the first time must not hide it the second
        with pytest.raises(SchemaError) as raised:
            parse_schema(text, dialect)
        (diagnostic,) = raised.value.diagnostics
        assert (diagnostic.code, diagnostic.message) == (code, message)
        assert (raised.value.start, raised.value.end) == (start, end)
        span, line_start = diagnostic.span, text.rfind("\n", 0, start) + 1
        assert (span.line, span.column) == (text.count("\n", 0, start) + 1, start - line_start + 1)
        assert span.line_text == text[line_start:].partition("\n")[0]


@pytest.mark.parametrize(("one", "other"), [("strict", "torch"), ("torch", "strict")])
def test_what_only_one_dialect_refuses_the_other_takes(one, other):
    for text in REFUSED[one] - REFUSED[other]:
        assert parse_schema(text, other)


@pytest.mark.parametrize("row", [row for row in ROWS if row[0] == "torch"], ids=lambda row: row[2])
def test_torch_refuses_what_its_dialect_does(row, torch):
    if not MORE_THAN_TORCH.search(f"{row[2]} {row[5]}"):
        with pytest.raises((RuntimeError, IndexError, ValueError)):
            torch._C.parse_schema(row[2])


@pytest.mark.parametrize("text", sorted(REFUSED["strict"] - REFUSED["torch"]))
def test_torch_takes_what_only_the_strict_dialect_refuses(text, torch):
    assert torch._C.parse_schema(text)


def test_every_code_of_the_parser_is_in_the_table():
    assert {row[1] for row in ROWS} == {f"C10E20{n}" for n in range(1, 9)}
    assert {row[1] for row in ROWS} <= set(CODES)


KEYWORDS = """
    def if elif else while return is for in global and or not del pass class import with as raise assert break
    continue True False None NoneType Ellipsis
"""
POSITIONS = [
    "{}::f() -> ()",
    "n::{}() -> ()",
    "n::f.{}() -> ()",
    "n::f(Tensor {}) -> ()",
    "n::f(Tensor({}) x) -> ()",
]
NAMES_TEXT = """
    from lambda yield async await try except nonlocal match print self int Tensor
"""


@pytest.mark.parametrize("word", KEYWORDS.split())
@pytest.mark.parametrize("position", POSITIONS)
def test_a_keyword_is_refused_as_any_name_at_its_place(position, word):
    text, start = position.format(word), position.index("{")
    for dialect in ("strict", "torch"):
        with pytest.raises(SchemaError) as raised:
            parse_schema(text, dialect)
        assert (raised.value.start, raised.value.end) == (start, start + len(word))
        assert f"`{word}`" in raised.value.diagnostics[0].message


@pytest.mark.parametrize("word", NAMES_TEXT.split())
@pytest.mark.parametrize("position", POSITIONS)
def test_a_word_that_torch_takes_is_a_name_but_to_strict_no_argument_if_python_refuses_it(
    position, word, torch
):
    text = position.format(word)
    assert str(parse_schema(text, "torch")) == str(torch._C.parse_schema(text)) == text
    if position == POSITIONS[3] and keyword.iskeyword(word):
        with pytest.raises(SchemaError, match="is a Python keyword"):
            parse_schema(text)
    else:
        assert str(parse_schema(text)) == text
