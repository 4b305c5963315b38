import os

import pytest
import yaml

from c10cli.document import source
from c10cli.document.nodes import REFUSED
from c10cli.document.source import load_document, parse_document


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def event_source(request, monkeypatch):
    """Every test runs on libyaml and on PyYAML's own parser, which takes its place where it is missing."""
    loader = yaml.SafeLoader if request.param == "python" else getattr(yaml, "CSafeLoader", None)
    if loader is None:
        pytest.skip("PyYAML was built without libyaml")
    monkeypatch.setattr(source, "_Loader", loader)


def concise(document):
    return [finding.concise() for finding in document.findings]


def the_fault(text):
    document = parse_document(text, "f")
    (finding,) = document.findings
    return document, finding


def test_plain_values():
    text = "a: [1, 0x10, 1e-5, no, 'no', \"x\\ty\"]\nb:\n  c: |\n    one\n    two\n  d: {e: ~}\n"
    document = parse_document(text)
    assert document.findings == []
    assert document.value == {
        "a": [1, 16, 1e-5, "no", "no", "x\ty"],
        "b": {"c": "one\ntwo\n", "d": {"e": None}},
    }


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_an_empty_text_has_no_value_and_no_fault(text):
    document = parse_document(text)
    assert document.value is REFUSED
    assert document.findings == []


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_bytes(b"\xef\xbb\xbfversion: 1\n")
    document = load_document(path)
    assert document.value == {"version": 1}
    assert document.span(document.value, "version", "key").column == 1


def test_of_repeated_keys_the_first_counts_and_the_others_are_findings():
    document = parse_document("a: 1\nb: {c: 1, c: 2}\na: 3\na: 4\n", "f")
    assert document.value == {"a": 1, "b": {"c": 1}}
    assert concise(document) == [
        "f:2:11: error[C10E103] key `c` is given twice",
        "f:3:1: error[C10E103] key `a` is given twice",
        "f:4:1: error[C10E103] key `a` is given twice",
    ]
    assert document.findings[2].notes[0] == "the first is at f:1:1"


def test_anchors_and_aliases():
    document = parse_document("a: &x {k: [1]}\nb: *x\nc: &y text\nd: *y\n*y : key\n")
    assert document.findings == []
    assert document.value == {"a": {"k": [1]}, "b": {"k": [1]}, "c": "text", "d": "text", "text": "key"}
    assert str(document.span(document.value, "b")) == "<manifest>:2:4"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: *nope\n", "f:1:4: error[C10E111] alias `*nope` without an anchor `&nope` before it"),
        ("a: &x [*x]\n", "f:1:8: error[C10E111] anchor `&x` contains itself"),
        ("a: &x\n  b: *x\n", "f:2:6: error[C10E111] anchor `&x` contains itself"),
        ("a: {<<: {b: 1}}\n", "f:1:5: error[C10E111] merge key `<<`"),
        ("a: !include x\n", "f:1:4: error[C10E111] YAML tag `!include`"),
        ("a: !!python/name:os.system\n", "f:1:4: error[C10E111] YAML tag `!!python/name:os.system`"),
        ("a: !!str 5\n", "f:1:4: error[C10E111] YAML tag `!!str`"),
        ("a: !m {b: 1}\n", "f:1:4: error[C10E111] YAML tag `!m`"),
        ("a: 1\n---\nb: 2\n", "f:2:1: error[C10E111] second YAML document"),
        ("7: x\n", "f:1:1: error[C10E106] key `7` is an integer, not a string"),
        ("true: x\n", "f:1:1: error[C10E106] key `true` is the boolean `true`, not a string"),
        ("~: x\n", "f:1:1: error[C10E106] key `~` is null, not a string"),
        ("? [a, b]\n: x\n", "f:1:3: error[C10E106] key of a mapping is a list, not a string"),
    ],
)
def test_what_a_manifest_may_not_use_is_refused_by_name(text, expected):
    document, _ = the_fault(text)
    assert concise(document) == [expected]


def test_reading_goes_on_after_a_refusal():
    document = parse_document("a: !x 1\nb: *y\n7: z\nc: 3\nc: 4\n")
    assert [f.code for f in document.findings] == ["C10E111", "C10E111", "C10E106", "C10E103"]
    assert document.value == {"a": REFUSED, "b": REFUSED, "c": 3}


def test_a_quoted_merge_sign_is_an_ordinary_key():
    assert parse_document("'<<': 1\n").value == {"<<": 1}


@pytest.mark.parametrize(
    ("text", "line", "words", "help"),
    [
        ("a:\n\t- b\n", 2, "tab used for indentation", "indent with spaces"),
        ("a:\n  - b: 1\n   - c: 1\n", 3, "not YAML", ""),
        ("a:\n  b: 1\n\u00a0 c: 2\n", 3, "no-break space (U+00A0)", "write an ordinary blank"),
        ("a:\n-\u00a0b: 1\n", 2, "no-break space (U+00A0)", "write an ordinary blank"),
        ("a:\u00a01\nb: []\n", 1, "no-break space (U+00A0)", "write an ordinary blank"),
        ("a: 'x\n", 1, "not YAML", ""),
        ("a: [1, 2\n", 1, "not YAML", ""),
        (
            "schema: f(str a=x: y)\n",
            1,
            "mapping values",
            "quote a text that has `: ` in it, as every schema should be",
        ),
        ("a: @x\n", 1, "cannot start any token", "quote a text that begins with `@`, `%` or a backtick"),
        ("%YAML 2.0\n---\na: 1\n", 1, "not YAML", ""),
    ],
)
def test_broken_yaml_has_a_place(text, line, words, help):
    document, finding = the_fault(text)
    assert document.value is REFUSED
    assert finding.code == "C10E102"
    assert finding.span.line == line
    assert words in finding.message
    assert not help or finding.help == help


def test_a_no_break_space_within_a_text_or_a_comment_is_what_it_is():
    assert parse_document("# a:\u00a0b\na: x\u00a0y  # \u00a0\nb: 'c:\u00a0d'\n").value == {
        "a": "x\u00a0y",
        "b": "c:\u00a0d",
    }


def test_a_control_character_has_a_place():
    _, finding = the_fault("a: 1\nb: x\x07y\n")
    assert finding.concise() == "f:2:5: error[C10E102] control character U+0007, which YAML does not allow"


def test_half_a_character_has_a_place():
    _, finding = the_fault("a: \ud800\n")
    assert finding.concise() == "f:1:4: error[C10E102] control character U+D800, which YAML does not allow"


def test_depth_is_limited():
    deep = source.MAX_DEPTH
    assert parse_document("[" * deep + "]" * deep).findings == []
    _, finding = the_fault("[" * (deep + 1) + "]" * (deep + 1))
    assert (finding.code, finding.message) == ("C10E112", f"more than {deep} levels of nesting")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_ten_thousand_levels_end_where_there_are_too_many(opening):
    document, finding = the_fault(opening * 10_000)
    assert finding.code == "C10E112"
    assert (
        finding.span.column <= len(opening) * 1001
    )  # where libyaml itself ends; and nothing after that is read
    assert document.value is REFUSED


def test_aliases_are_counted_as_if_written_out():
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40)]
    _, finding = the_fault("\n".join(lines))
    assert (finding.code, finding.message) == ("C10E112", "aliases add more than 100,000 nodes")
    assert parse_document("\n".join(lines[:10])).findings == []


def test_values_are_counted_and_their_length_is_limited():
    _, finding = the_fault(f"[{'1,' * source.MAX_VALUES}]")
    assert (finding.code, finding.message) == ("C10E112", "more than 1,000,000 keys and values")
    text = "x" * source.MAX_TEXT
    assert parse_document(text).value == text
    assert [d.code for d in parse_document(f"[{text}x, {text}]").findings] == ["C10E112"]
    assert [d.code for d in parse_document(f"? {text}\n: 1\n").findings] == ["C10E112"]


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MAX_BYTES", 2**20)
    path = tmp_path / "m.yaml"
    path.write_bytes(b"#" * (2**20 + 1))
    document = load_document(path, "m.yaml")
    assert concise(document) == ["error[C10E112] manifest `m.yaml` is larger than 1 MiB"]
    path.write_bytes(b"#" * 2**20)
    assert load_document(path).findings == []


def test_a_file_that_is_not_there(tmp_path):
    document = load_document(tmp_path / "no_such_file.yaml", "no_such_file.yaml")
    assert concise(document) == ["error[C10E101] manifest `no_such_file.yaml` does not exist"]
    assert document.value is REFUSED


def test_a_folder_and_an_impossible_path(tmp_path):
    (finding,) = load_document(tmp_path, "d").findings
    assert (finding.code, finding.message) == ("C10E101", "`d` is a folder, not a manifest")
    (finding,) = load_document(tmp_path / "a\0b", "d").findings
    assert finding.message.startswith("manifest `d` cannot be read")


def test_bytes_that_are_not_utf_8_have_a_place(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_bytes("a: 1\nb: \u00fc\u00e9".encode() + b"\xe9 x\nc: 2\n")
    (finding,) = load_document(path, "m.yaml").findings
    assert finding.concise() == "m.yaml:2:6: error[C10E102] byte 0xe9 is not UTF-8 text"
    assert finding.span.line_text == "b: \u00fc\u00e9\ufffd x"
    assert finding.help == "save the file as UTF-8"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_regular_file_is_not_waited_for(tmp_path, make):
    path = tmp_path / "registry.yaml"
    make(path)
    (finding,) = load_document(path, "registry.yaml").findings
    assert finding.code == "C10E101"
    assert finding.message == "manifest `registry.yaml` cannot be read: it is no regular file"


def test_keys_of_mappings_that_reading_did_not_end_are_judged_all_the_same():
    document = parse_document("version: 1\n7: x\nsame: 1\nsame: 2\n\tbad: 1\n")
    assert sorted(finding.code for finding in document.findings) == ["C10E102", "C10E103", "C10E106"]
