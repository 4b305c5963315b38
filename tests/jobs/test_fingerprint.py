import pytest

from c10cli import ManifestError
from c10cli.jobs.fingerprint import check_same, file_digests, manifest_digest
from c10cli.manifest.load import require_manifest

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


def test_every_file_has_a_digest_of_its_own(load):
    before = file_digests(load())
    assert list(before) == ["registry.yaml", "more.yaml"]
    after = file_digests(load(more=f"{MORE}# edited\n"))
    assert [name for name in before if before[name] != after[name]] == ["more.yaml"]


def test_digests_are_the_same_from_wherever_the_manifest_is_loaded(load, tmp_path, monkeypatch):
    whole = load()
    (tmp_path / "below").mkdir()
    for folder, path in ((tmp_path, "registry.yaml"), (tmp_path / "below", "../registry.yaml")):
        monkeypatch.chdir(folder)
        assert file_digests(require_manifest(path)) == file_digests(whole)
        check_same(require_manifest(path), manifest_digest(whole))


def test_a_file_that_could_not_be_included_is_among_the_others(load):
    broken = file_digests(load(more="version: 1\noperators: 7\n"))
    assert list(broken) == ["more.yaml", "registry.yaml"]
    assert broken["more.yaml"] != file_digests(load())["more.yaml"]


EXTENSIONS = ("kernels: {CPU: k.py:f}", "cases: [{name: a, inputs: {x: 'randn(1)'}}]")


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_an_edit_of_what_extends_an_operator_is_refused(load, extension):
    more = f'version: 1\noperators:\n  - operator: "t::f"\n    {extension}\n'
    digest = manifest_digest(load(more=more))
    check_same(load(more=more), digest)
    with pytest.raises(ManifestError):
        check_same(load(more=f"{more}# edited\n"), digest)
