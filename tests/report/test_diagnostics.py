import pytest
from hypothesis import given, settings, strategies as st

from c10cli.errors import Diagnostic, Span
from c10cli.report import diagnostics
from c10cli.report.diagnostics import render_diagnostic, render_diagnostics

LINE = '  - schema: "c10::relu(Tensor self) -> Tensr"'
FINDING = Diagnostic(
    "C10E204",
    "unknown type `Tensr` in the schema of `c10::relu`",
    Span("registry.yaml", 2, 40, 45, LINE),
    label="not a schema type",
    notes=("`T?` and `T[]` wrap a type", "first line\nsecond line"),
    help="did you mean `Tensor`?",
)


def snippet(line_text, column, end_column):
    """The shown line and the caret line below it, without their gutter."""
    finding = Diagnostic("C10E102", "m", Span("f", 1, column, end_column, line_text))
    shown, caret = render_diagnostic(finding).split("\n")[3:5]
    return shown[4:], caret[4:]


def test_the_full_form_has_fact_place_line_caret_notes_and_help():
    assert render_diagnostic(FINDING) == "\n".join(
        [
            "error[C10E204]: unknown type `Tensr` in the schema of `c10::relu`",
            " --> registry.yaml:2:40",
            "  |",
            '2 |   - schema: "c10::relu(Tensor self) -> Tensr"',
            "  |                                        ^^^^^ not a schema type",
            "  = note: `T?` and `T[]` wrap a type",
            "  = note: first line",
            "          second line",
            "  = help: did you mean `Tensor`?",
        ]
    )


def test_the_gutter_is_as_wide_as_the_line_number():
    finding = Diagnostic("C10E103", "m", Span("f", 120, 1, 4, "CPU: x"), notes=("n",))
    assert render_diagnostic(finding) == "\n".join(
        ["error[C10E103]: m", "   --> f:120:1", "    |", "120 | CPU: x", "    | ^^^", "    = note: n"]
    )


def test_a_place_in_words_stands_where_the_file_would():
    finding = Diagnostic("C10E403", "no kernel", place="call of c10::relu, argument 0 `self`", help="h")
    assert render_diagnostic(finding) == "\n".join(
        ["error[C10E403]: no kernel", " --> call of c10::relu, argument 0 `self`", "  = help: h"]
    )


def test_a_span_and_a_place_are_both_shown():
    finding = Diagnostic("C10E504", "m", Span("f", 1, 1, 2), place="kernel relu_cpu")
    assert render_diagnostic(finding) == "error[C10E504]: m\n --> f:1:1\n  = in: kernel relu_cpu"


def test_a_finding_without_any_place_is_one_line():
    assert render_diagnostic(Diagnostic("C10E504", "m")) == "error[C10E504]: m"


def test_where_nobody_knows_better_the_usual_help_of_the_code_is_given():
    assert render_diagnostic(Diagnostic("C10E105", "m")) == "error[C10E105]: m\n  = help: add it"
    assert render_diagnostic(Diagnostic("C10E105", "m", help="h")) == "error[C10E105]: m\n  = help: h"


def test_a_warning_says_so():
    assert render_diagnostic(Diagnostic("C10W651", "m")) == "warning[C10W651]: m"


def test_several_are_parted_by_an_empty_line():
    findings = [Diagnostic("C10E504", "a"), Diagnostic("C10E506", "b")]
    assert render_diagnostics(findings) == "error[C10E504]: a\n\nerror[C10E506]: b"


def test_colour_adds_escapes_and_nothing_else():
    coloured = render_diagnostic(FINDING, color=True)
    assert coloured.startswith("\x1b[1;31merror[C10E204]\x1b[0m")
    for code in ("[1;31m", "[1;34m", "[1;36m", "[1m", "[0m"):
        coloured = coloured.replace(f"\x1b{code}", "")
    assert coloured == render_diagnostic(FINDING)


def test_tabs_are_widened_before_the_caret_is_placed():
    assert snippet("\tab cd", 5, 7) == ("    ab cd", "       ^^")


def test_wide_characters_take_two_columns():
    assert snippet("日本 ab", 4, 6) == ("日本 ab", "     ^^")
    assert snippet("a日b", 2, 3) == ("a日b", " ^^")


def test_combining_characters_take_none():
    assert snippet("e\u0301 x", 4, 5) == ("e\u0301 x", "  ^")


@pytest.mark.parametrize("place", [1, 5, 180, 395])
def test_a_long_line_is_cut_to_a_window_around_the_caret(place):
    line = "x" * 400
    line = f"{line[: place - 1]}HERE!{line[place + 4 :]}"[:400]
    shown, caret = snippet(line, place, place + 5)
    start = caret.index("^")
    assert shown[start : start + 5] == "HERE!"
    assert len(shown) <= 106
    assert shown.startswith("...") == (place > 50)
    assert shown.endswith("...") == (place < 300)


def test_of_a_very_long_line_only_what_is_near_the_place_is_looked_at(monkeypatch):
    looked, cell = [], diagnostics._cell
    monkeypatch.setattr(diagnostics, "_cell", lambda character: looked.append(character) or cell(character))
    shown, caret = snippet("x" * 50_000 + "HERE!" + "y" * 50_000, 50_001, 50_006)
    assert shown[caret.index("^") :].startswith("HERE!")
    assert len(looked) < 1_000


def test_control_and_direction_characters_are_spelt_out():
    finding = Diagnostic("C10E102", "a\x1b[2Jb\u202ec\ud800", Span("f\x07", 1, 2, 3, "x\x1b[0m"))
    text = render_diagnostic(finding)
    assert text.isascii()
    assert "\x1b" not in text
    assert "a\\x1b[2Jb\\u202ec\\ud800" in text
    assert "x\\x1b[0m\n  |  ^^^^" in text


@pytest.mark.parametrize(("column", "end_column"), [(0, 0), (-5, -9), (99, 1000), (3, 1)])
def test_a_place_outside_the_line_still_has_a_caret(column, end_column):
    _, caret = snippet("ab", column, end_column)
    assert set(caret.strip()) == {"^"}


@given(st.text(), st.integers(-3, 300), st.integers(-3, 300), st.text())
@settings(max_examples=200, deadline=None)
def test_rendering_never_raises_and_can_be_written_out(line, column, end_column, text):
    finding = Diagnostic("C10E102", text, Span(text, 1, column, end_column, line), text, text, (text,), text)
    render_diagnostic(finding, color=True).encode("utf-8")
