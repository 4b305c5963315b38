import textwrap

import pytest

from c10cli import ManifestError
from c10cli.document.native_functions import read_native_functions
from c10cli.document.source import load_document


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "functions.yaml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return read_native_functions(load_document(path))

    return read


def test_an_entry_has_its_full_name_and_its_schema_with_the_namespace(read):
    plain, own, named = read(
        """\
        - func: add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
        - func: mine::twice(Tensor x) -> Tensor
        - op: sub.out
        """
    )
    assert (plain.name, plain.schema) == (
        "aten::add.out",
        "aten::add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    )
    assert (own.name, own.schema) == ("mine::twice", "mine::twice(Tensor x) -> Tensor")
    assert (named.name, named.schema) == ("aten::sub.out", None)


@pytest.mark.parametrize(
    ("entry", "is_executorch"),
    [
        ("- func: f(Tensor x) -> Tensor\n  dispatch: {CPU: f}\n", False),
        ("- func: f(Tensor x) -> Tensor\n  kernels: []\n", True),
        ("- op: f\n", True),
    ],
)
def test_executorch_is_told_by_what_only_it_writes(read, entry, is_executorch):
    assert read(entry)[0].is_executorch is is_executorch


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("a: 1\n", "C10E106", "must be a list of entries with `func` or `op`, not a mapping"),
        ("- 5\n", "C10E106", "entry 1 has neither a text `func` nor a text `op`"),
        ("- op: f\n- variants: method\n", "C10E106", "entry 2 has neither"),
        ("- func: [f]\n", "C10E106", "entry 1 has neither"),
        ("- op: f\n  op: g\n", "C10E103", "key `op` is given twice"),
        ("- op: [\n", "C10E102", "C10E102"),
    ],
)
def test_what_is_no_such_file_is_refused_at_its_place(read, text, code, message):
    with pytest.raises(ManifestError, match=message) as caught:
        read(text)
    assert caught.value.code == code
    assert caught.value.diagnostics[0].span is not None


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ManifestError) as caught:
        read_native_functions(load_document(tmp_path / "none.yaml"))
    assert caught.value.code == "C10E101"
