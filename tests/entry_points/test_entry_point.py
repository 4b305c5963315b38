from pathlib import Path

import pytest

from c10cli.entry_points.entry_point import parse_entry_point
from c10cli.errors import ManifestError, Span

FOLDER = Path("some") / "folder"


def test_a_file_is_relative_to_the_folder():
    entry = parse_entry_point("kernels/relu.py:relu_cpu", FOLDER)
    assert (entry.file, entry.module, entry.attribute) == ("kernels/relu.py", None, "relu_cpu")
    assert entry.path == FOLDER / "kernels" / "relu.py"
    assert (str(entry), entry.name) == ("kernels/relu.py:relu_cpu", "relu_cpu")


def test_a_file_path_that_stays_inside_is_simplified():
    assert parse_entry_point("./kernels/../relu.py:f", FOLDER).file == "relu.py"
    assert parse_entry_point("my-kernels/re lu.py:f", FOLDER).file == "my-kernels/re lu.py"


def test_a_module_and_a_dotted_name():
    entry = parse_entry_point("torch:ops.aten.add.Tensor", FOLDER)
    assert (entry.file, entry.module, entry.attribute) == (None, "torch", "ops.aten.add.Tensor")
    assert entry.path is None
    assert entry.name == "Tensor"
    assert parse_entry_point("pack.sub.mod:f", FOLDER).module == "pack.sub.mod"


def test_a_file_may_hold_a_dotted_name_too():
    assert parse_entry_point("a.py:Holder.kernel", FOLDER).attribute == "Holder.kernel"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("relu_cpu", "has no `:`"),
        ("yes", "has no `:`"),
        ("", "has no `:`"),
        ("12:30:45", "has 2 colons"),
        ("kernels:add:x", "has 2 colons"),
        ("kernels:", "has nothing after the `:`"),
        (":add", "has nothing before the `:`"),
        ("/tmp/evil.py:k", "is an absolute path"),
        ("~/evil.py:k", "is an absolute path"),
        ("C:\\evil.py:k", "is an absolute path"),
        ("../evil.py:k", "leaves the folder"),
        ("a/../../evil.py:k", "leaves the folder"),
        ("https://example.invalid/k.py:k", "is a URL"),
        ("file:///k.py", "is a URL"),
        ("kernels/relu:k", "does not end in `.py`"),
        ("kernels\\relu.py:k", "backslash"),
        ("my-package:k", "does not begin with a module name"),
        ("a..b:k", "does not begin with a module name"),
        ("a.class:k", "does not begin with a module name"),
        ("a.py:k()", "names `k()`, which is no Python name"),
        ("a.py:lambda", "names `lambda`, which is no Python name"),
        ("a.py:f.", "names `f.`, which is no Python name"),
        ("a.py: f", "names ` f`, which is no Python name"),
        ("a\0.py:f", "has a character that cannot be seen"),
        ("a\u202e.py:f", "has a character that cannot be seen"),
    ],
)
def test_anything_else_is_refused_with_the_text_and_its_place(text, words):
    span = Span("f", 3, 5, 9)
    with pytest.raises(ManifestError) as caught:
        parse_entry_point(text, FOLDER, span)
    (finding,) = caught.value.diagnostics
    assert finding.code == "C10E109"
    assert finding.message.startswith(f"entry point `{text}` ")
    assert words in finding.message
    assert finding.span == span
    assert finding.help


@pytest.mark.parametrize(
    ("text", "module", "attribute"),
    [
        ("torch:ops.aten.add.Tensor", "torch", "ops.aten.add.Tensor"),
        ("torch:ops.aten.random_.from", "torch", "ops.aten.random_.from"),
        ("torch:ops.aten.__and__.Tensor", "torch", "ops.aten.__and__.Tensor"),
    ],
)
def test_an_attribute_below_the_first_may_be_a_keyword(tmp_path, text, module, attribute):
    found = parse_entry_point(text, tmp_path)
    assert (found.file, found.module, found.attribute) == (None, module, attribute)


@pytest.mark.parametrize("text", ["from:f", "torch:from", "torch:from.f", "torch:ops..f", "torch:ops.a-b"])
def test_other_keywords_and_pieces_that_are_no_names_are_refused(tmp_path, text):
    with pytest.raises(ManifestError):
        parse_entry_point(text, tmp_path)
