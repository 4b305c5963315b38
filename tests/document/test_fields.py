import pytest

from c10cli.document.fields import Fields
from c10cli.document.nodes import REFUSED
from c10cli.document.source import parse_document


def fields_of(text):
    document = parse_document(text, "f")
    return Fields(document), document.value


def concise(fields):
    return [finding.concise() for finding in fields.findings]


def test_values_of_the_wanted_type_are_given_back():
    fields, root = fields_of("a: text\nb: [1]\nc: {d: 1}\ne: true\nf: [x, y]\n")
    assert fields.text(root, "a", "a") == "text"
    assert fields.items(root, "b", "b") == [1]
    assert fields.mapping(root, "c", "c") == {"d": 1}
    assert fields.flag(root, "e", "e", default=False) is True
    assert fields.texts(root, "f", "f") == ("x", "y")
    assert fields.findings == []


def test_what_is_absent_is_none_and_no_finding():
    fields, root = fields_of("a: 1\n")
    assert (
        fields.text(root, "z", "z") is fields.items(root, "z", "z") is fields.mapping(root, "z", "z") is None
    )
    assert fields.flag(root, "z", "z", default=True) is True
    assert fields.findings == []


def test_wrong_types_are_findings_at_the_value():
    fields, root = fields_of("a: 1\nb: [x, 2]\nc:\n")
    assert fields.text(root, "a", "`a`") is None
    assert fields.texts(root, "b", "`b`") == ("x",)
    assert fields.items(root, "c", "`c`") is None
    assert concise(fields) == [
        "f:1:4: error[C10E106] `a` must be a string, not an integer",
        "f:2:8: error[C10E106] item 2 of `b` must be a string, not an integer",
        "f:3:1: error[C10E106] `c` must be a list, not null",
    ]


def test_booleans_are_no_integers():
    fields, root = fields_of("a: true\n")
    assert fields.read(root, "a", "`a`", "a number", int, float) is None
    assert concise(fields) == ["f:1:4: error[C10E106] `a` must be a number, not the boolean `true`"]


def test_what_yaml_refused_is_not_reported_again():
    fields, root = fields_of("a: !x 1\n")
    assert root["a"] is REFUSED
    assert fields.text(root, "a", "`a`") is None
    assert [finding.code for finding in fields.findings] == ["C10E111"]


def test_names_are_checked_against_those_known():
    fields, root = fields_of("name: x\nsumary: y\n")
    fields.check_names(root, "`op`", ("name", "summary", "schema"), required=("schema",))
    assert concise(fields) == [
        "f:2:1: error[C10E104] field `sumary` of `op` is unknown",
        "f:1:1: error[C10E105] field `schema` of `op` is missing",
    ]
    assert fields.findings[0].help == "did you mean `summary`?"
    assert fields.findings[0].notes == ("known here: `name`, `summary`, `schema`",)


def test_a_repeated_key_is_told_with_the_mapping_that_has_it():
    fields, root = fields_of("a: 1\nb: {c: 1, c: 2}\na: 3\nd: {e: 1, e: 2}\n")
    fields.check_names(root, "`op`", ("a", "b", "d"))
    fields.mapping(root, "b", "`b` of `op`")
    assert concise(fields) == [
        "f:2:11: error[C10E103] key `c` is given twice in `b` of `op`",
        "f:4:11: error[C10E103] key `e` is given twice",
        "f:3:1: error[C10E103] key `a` is given twice in `op`",
    ]


def test_a_misspelt_field_that_is_required_is_one_finding():
    fields, root = fields_of("shcema: x\n")
    fields.check_names(root, "`op`", ("schema", "summary"), required=("schema",))
    assert concise(fields) == ["f:1:1: error[C10E104] field `shcema` of `op` is unknown"]
    assert root == {"shcema": "x"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('"two\\nlines"', "U+000A"),
        ('"esc \\e[31m"', "U+001B"),
        ('"turn \\u202e"', "U+202E"),
        ('"mark \\u2066"', "U+2066"),
        ('"tab\\t"', "U+0009"),
    ],
)
def test_a_line_has_nothing_that_moves_the_cursor_or_turns_the_text(text, shown):
    fields, root = fields_of(f"a: {text}\n")
    assert fields.line(root, "a", "`a`") is None
    assert concise(fields) == [f"f:1:4: error[C10E106] `a` has {shown} in it"]


@pytest.mark.parametrize("text", ["Zweimal größer, 中文", "עברית", ">\n  folded\n  text\n"])
def test_a_line_may_be_of_any_language_and_folded(text):
    fields, root = fields_of(f"a: {text}\n")
    assert fields.line(root, "a", "`a`")
    assert fields.findings == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "a blank"),
        ("a/b", "`/`"),
        ('"a\\nb"', "U+000A"),
        ('"a\\u202eb"', "U+202E"),
        ('"\\u00a0a"', "U+00A0"),
    ],
)
def test_a_name_is_one_word(text, shown):
    fields, root = fields_of(f"a: {text}\n")
    name = fields.name(root, "a", "`a`")
    assert name == (text if text.isprintable() and '"' not in text else None)
    assert concise(fields) == [f"f:1:4: error[C10E106] `a` has {shown} in it"]
