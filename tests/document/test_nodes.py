import pytest

from c10cli.document.nodes import Node
from c10cli.document.source import parse_document
from c10cli.errors import Diagnostic, Span

TEXT = """\
plain: c10::f(Tensor x)
double: "say \\"hi\\" \\u00e9!"   # comment
single: 'it''s'
folded: >
  some long
  text
wide: "日本 x"
list: [one, {k: two}]
block:
  - three
  - key: four
empty:
"""


@pytest.fixture
def document():
    document = parse_document(TEXT, "f")
    assert document.findings == []
    return document


def marked(span):
    return span.line_text[span.column - 1 : span.end_column - 1]


@pytest.mark.parametrize(
    ("key", "place", "text"),
    [
        ("plain", "f:1:8", "c10::f(Tensor x)"),
        ("double", "f:2:9", '"say \\"hi\\" \\u00e9!"'),
        ("single", "f:3:9", "'it''s'"),
        ("folded", "f:4:9", ">"),
        ("wide", "f:7:7", '"日本 x"'),
        ("list", "f:8:7", "[one, {k: two}]"),
        ("block", "f:10:3", "- three"),
    ],
)
def test_the_place_of_a_value(document, key, place, text):
    span = document.span(document.value, key)
    assert (str(span), marked(span)) == (place, text)


def test_the_place_of_a_key(document):
    span = document.span(document.value, "single", "key")
    assert (str(span), marked(span)) == ("f:3:1", "single")


def test_the_places_of_items_and_of_nested_entries(document):
    inline, block = document.value["list"], document.value["block"]
    assert marked(document.span(inline, 0)) == "one"
    assert marked(document.span(inline[1], "k", "key")) == "k"
    assert str(document.span(block, 0)) == "f:10:5"
    assert str(document.span(block[1])) == str(document.span(block, 1)) == "f:11:5"


def test_lists_and_mappings_in_brackets_end_with_them():
    document = parse_document("{a: [1, 2], b: &x {c: 1}, d: *x, e: [1,\n 2], f: x}", "f")
    shown = [marked(document.span(document.value, key)) for key in "abde"]
    assert shown == ["[1, 2]", "&x {c: 1}", "*x", "[1,"]


def test_an_absent_value_has_a_place_of_one_column(document):
    span = document.span(document.value, "empty")
    assert (span.line, span.end_column - span.column) == (12, 1)


@pytest.mark.parametrize(
    ("key", "part", "shown"),
    [
        ("plain", "Tensor", "Tensor"),
        ("double", "hi", "hi"),
        ("double", '"', '\\"'),
        ("double", "\u00e9", "\\u00e9"),
        ("double", "!", "!"),
        ("single", "'", "''"),
        ("single", "s", "s"),
        ("wide", "x", "x"),
    ],
)
def test_a_stretch_of_a_string_is_found_through_quotes_and_escapes(document, key, part, shown):
    start = document.value[key].index(part)
    assert marked(Node(document, document.value).span_within(key, start, start + len(part))) == shown


def test_a_stretch_of_a_folded_text_is_the_whole_text(document):
    assert Node(document, document.value).span_within("folded", 5, 7) == document.span(
        document.value, "folded"
    )


def test_a_stretch_beyond_the_text_is_its_end(document):
    span = Node(document, document.value).span_within("single", 99, 120)
    assert (span.column, span.end_column) == (15, 16)


def test_plain_is_told_from_quoted(document):
    assert document.is_plain(document.value, "plain")
    assert not document.is_plain(document.value, "single")
    assert not document.is_plain(document.value, "folded")
    assert not document.is_plain(document.value, "list")


def test_a_node_answers_for_its_container(document):
    node = Node(document, document.value)
    assert node.child("list").span(0) == document.span(document.value["list"], 0)
    assert node.span("plain", "key").column == 1
    assert node.span_within("plain", 0, 3).end_column == 11
    assert node.span().line == 1


def test_lines_end_where_yaml_ends_them():
    document = parse_document("a: 1\r\nb: 2\rc: 3\n", "f")
    assert [str(document.span(document.value, key, "key")) for key in "abc"] == ["f:1:1", "f:2:1", "f:3:1"]
    assert document.line(2) == "b: 2"
    assert document.line(0) is document.line(99) is None


def test_an_index_has_a_line_and_a_column():
    document = parse_document("ab\ncd: 1\n", "f")
    assert str(document.span_at(0)) == "f:1:1"
    assert str(document.span_at(4)) == "f:2:2"


def test_a_finding_in_a_text_is_moved_to_its_place_in_the_file():
    document = parse_document('a: "b\\tcd"\nb: [x]\nc: "e\\nfg"\n', "f")
    node = Node(document, document.value)
    found = Diagnostic("C10E201", "odd", Span("<schema>", 1, 3, 4))
    assert marked(node.placed(found, "a").span) == "c"
    assert marked(node.placed(found, "a", shift=1).span) == "\\t"
    assert node.placed(found, "b").span == document.span(document.value, "b")
    assert node.placed(Diagnostic("C10E201", "odd"), "a").span == document.span(document.value, "a")
    assert marked(node.placed(Diagnostic("C10E201", "odd", Span("<schema>", 2, 1, 3)), "c").span) == "fg"
