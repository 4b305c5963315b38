import dataclasses

import pytest

from c10cli.manifest.load import require_manifest

TEXT = """\
version: 1
operators:
  - schema: "c10::f(Tensor x) -> Tensor"
    kernels: {CPU: [a.py:f, b.py:g], Meta: a.py:m}
    cases: [{name: one, inputs: {x: ones(1)}}]
  - schema: "c10::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"
"""


@pytest.fixture
def manifest(tmp_path):
    path = tmp_path / "registry.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return require_manifest(path)


def test_kernels_by_dispatch_key(manifest):
    operator = manifest.operators[0]
    assert operator.dispatch_keys == ("CPU", "Meta")
    assert [kernel.name for kernel in operator.variants("CPU")] == ["f", "g"]


def test_each_declaration_knows_its_place(manifest):
    operator = manifest.operators[0]
    place = manifest.path
    assert str(operator.span) == f"{place}:3:5"
    assert str(operator.schema_span) == f"{place}:3:13"
    assert str(operator.kernels[1].span) == f"{place}:4:29"
    assert str(operator.kernels[1].key_span) == f"{place}:4:15"
    assert str(operator.cases[0].span) == f"{place}:5:13"


def test_declarations_are_frozen(manifest):
    with pytest.raises(dataclasses.FrozenInstanceError):
        manifest.operators[0].summary = "x"
