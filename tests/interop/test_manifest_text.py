import re

import pytest

from c10cli import __version__
from c10cli.interop.imported import Imported, ImportedOperator
from c10cli.interop.manifest_text import render_manifest
from c10cli.manifest.load import load_manifest
from c10cli.schema.parser import parse_schema

SCHEMAS = [
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)",
    'aten::_test_string_default(Tensor dummy, str a="\\"\'\\\\", str b="\\"\'\\\\") -> Tensor',
    "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0) -> Tensor",
    "aten::grad(Tensor[] outputs, Any x, Tensor?[]? grad_outputs=None) -> Tensor?[]",
    "aten::f(Tensor self, str text='# : {}[]é\\n') -> Tensor",
]


def imported(*operators):
    return Imported("torch 9", tuple(operators), ())


def load(tmp_path, text):
    path = tmp_path / "torch.yaml"
    path.write_text(text, encoding="utf-8")
    result = load_manifest(path)
    assert result.diagnostics == ()
    return result.manifest


@pytest.mark.parametrize("text", SCHEMAS)
def test_every_schema_comes_back_as_it_was(tmp_path, text):
    schema = parse_schema(text, "torch")
    manifest = load(tmp_path, render_manifest(imported(ImportedOperator(schema, ("CPU",)))))
    assert [operator.schema for operator in manifest.operators] == [schema]


def test_every_kernel_comes_back_and_takes_torchs_tensors(tmp_path):
    schema = parse_schema(SCHEMAS[1], "torch")
    manifest = load(tmp_path, render_manifest(imported(ImportedOperator(schema, ("CPU", "Meta")))))
    kernels = manifest.operators[0].kernels
    assert [k.dispatch_key for k in kernels] == ["CPU", "Meta"]
    assert {k.entry_point.text for k in kernels} == {"torch:ops.aten.random_.from"}
    assert {(k.arrays, k.requires) for k in kernels} == {("torch", ("torch",))}


def test_without_kernels_nothing_is_said_of_torch(tmp_path):
    text = render_manifest(imported(ImportedOperator(parse_schema(SCHEMAS[0]))))
    assert "arrays" not in text
    assert load(tmp_path, text).operators[0].kernels == ()


def test_a_manifest_without_operators_is_one(tmp_path):
    assert load(tmp_path, render_manifest(imported())).operators == ()


def test_the_first_line_says_where_it_comes_from_and_no_more():
    first = render_manifest(imported(), ["aten::*", 'a"b']).splitlines()[0]
    limits = '--select "aten::*" --select "a\\"b"'
    assert first == f"# The operators of torch 9, by `c10 import {limits}` of c10cli {__version__}."
    assert not re.search(r"/(home|tmp|usr)", first)


def test_a_pattern_cannot_leave_the_comment(tmp_path):
    text = render_manifest(imported(), ["x\nowner: me"])
    assert load(tmp_path, text).operators == ()
