import pytest

from c10cli import ManifestError
from c10cli.manifest.load import require_manifest
from c10cli.verify.same_manifest import check_same, manifest_digest

MANIFEST = """\
version: 1
include: [more.yaml]
operators:
  - schema: "t::f(Tensor x) -> Tensor"
"""
MORE = 'version: 1\noperators:\n  - schema: "t::g(Tensor x) -> Tensor"\n'


@pytest.fixture
def load(tmp_path):
    def load(text=MANIFEST, more=MORE):
        (tmp_path / "registry.yaml").write_text(text, encoding="utf-8")
        (tmp_path / "more.yaml").write_text(more, encoding="utf-8")
        return require_manifest(tmp_path / "registry.yaml")

    return load


def test_a_manifest_that_nobody_touched_is_the_same(load):
    check_same(load(), manifest_digest(load()))


@pytest.mark.parametrize("edit", [{"text": f"{MANIFEST}# edited\n"}, {"more": f"{MORE}# edited\n"}])
def test_an_edit_of_it_or_of_what_it_includes_is_refused(load, edit):
    digest = manifest_digest(load())
    with pytest.raises(ManifestError) as caught:
        check_same(load(**edit), digest)
    assert caught.value.code == "C10E101"
    assert caught.value.diagnostics[0].place.endswith("registry.yaml")


EXTENSIONS = (
    "kernels: {CPU: k.py:f}",
    "cases: [{name: a, inputs: {x: 'randn(1)'}}]",
)


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_an_edit_of_what_extends_an_operator_is_refused(load, extension):
    more = f'version: 1\noperators:\n  - operator: "t::f"\n    {extension}\n'
    digest = manifest_digest(load(more=more))
    check_same(load(more=more), digest)
    with pytest.raises(ManifestError):
        check_same(load(more=f"{more}# edited\n"), digest)
