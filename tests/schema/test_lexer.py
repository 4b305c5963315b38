import pytest

from c10cli.errors import SchemaError
from c10cli.schema.lexer import BAD, END, KEYWORD, NEWLINE, NUMBER, STRING, WORD, Lexer, clip


def tokens(text):
    lexer = Lexer(text)
    found = []
    while lexer.kind not in (END, BAD):
        found.append((lexer.kind, lexer.word))
        lexer.advance()
    return [*found, (lexer.kind, lexer.word)]


def kinds(text):
    return [kind for kind, _ in tokens(text)]


def test_words_keywords_and_marks():
    assert kinds("n::f.out(Tensor in, *, ...)->()") == [
        WORD, ":", ":", WORD, ".", WORD, "(", WORD, KEYWORD, ",", "*", ",", "...", ")", "->", "(", ")", END,
    ]  # fmt: skip


def test_python_keywords_that_torch_takes_are_words():
    assert set(kinds("from lambda yield async await try except nonlocal match")) == {WORD, END}


@pytest.mark.parametrize(
    "number", ["0", "12", ".5", "1.", "1.5", "1e5", "1.e-5", "2E+3", "0x10", "0x1.8p3", "1j", ".5j", "0X.8"]
)
def test_a_number_is_one_token(number):
    assert tokens(number) == [(NUMBER, number), (END, "")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1e", ["1", "e"]),
        ("1_0", ["1", "_0"]),
        ("0x", ["0", "x"]),
        ("1.2.3", ["1.2", ".3"]),
        ("1.5jj", ["1.5j", "j"]),
    ],
)
def test_a_number_is_the_longest_prefix(text, words):
    assert [word for _, word in tokens(text)][:-1] == words


def test_a_dot_before_a_digit_belongs_to_the_number():
    assert kinds("f.1") == [WORD, NUMBER, END]


@pytest.mark.parametrize(
    "string",
    ['"a"', "'a'", '""', "''", r'"a\"b"', '"""a"b\nc"""', "'''it's'''", '"a\\\nb"', '"#"', '""""a"""'],
)
def test_a_string_is_one_token(string):
    assert tokens(string) == [(STRING, string), (END, "")]


@pytest.mark.parametrize("text", ['"a', "'a\nb'", '"""a', "'''a''", "@", "é", "{", "# type: x"])
def test_what_is_no_token_stops_the_text(text):
    assert kinds(text) == [BAD]


def test_strings_side_by_side_are_two_tokens():
    assert kinds("'a' 'b'") == [STRING, STRING, END]


def test_comments_blanks_and_joined_lines_are_skipped():
    assert kinds("f # note\\\n \t\r\f\v( \\\n)") == [WORD, NEWLINE, "(", ")", END]
    assert kinds("f \\\r\n(") == [WORD, "(", END]


def test_the_end_of_a_line_counts_outside_brackets_only():
    assert kinds("\n\n f(\n[\n]\n)\n-") == [WORD, "(", "[", "]", ")", NEWLINE, "-", END]


def test_the_places_of_tokens():
    lexer = Lexer("ab  cd")
    assert (lexer.start, lexer.end) == (0, 2)
    lexer.advance()
    assert (lexer.start, lexer.end, lexer.last_end) == (4, 6, 2)


def test_a_failure_points_at_the_line_and_columns():
    lexer = Lexer("f(\n  Tensor x", "registry.yaml")
    with pytest.raises(SchemaError) as raised:
        lexer.fail("C10E201", "a fact", 5, 11, help="one thing")
    span = raised.value.diagnostics[0].span
    assert (span.file, span.line, span.column, span.end_column, span.line_text) == (
        "registry.yaml", 2, 3, 9, "  Tensor x",
    )  # fmt: skip
    assert (raised.value.start, raised.value.end) == (5, 11)


def test_a_span_over_several_lines_is_cut_at_the_first():
    span = Lexer("ab\ncd").span(1, 5)
    assert (span.line, span.column, span.end_column, span.line_text) == (1, 2, 3, "ab")


def test_a_long_word_is_clipped():
    assert clip("a" * 50) == "a" * 39 + "…"
    assert clip("a" * 40) == "a" * 40
