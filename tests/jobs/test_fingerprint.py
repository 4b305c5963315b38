import sys
from importlib import metadata

import pytest

from c10cli import ManifestError
from c10cli.jobs.fingerprint import changes, check_same, fingerprint
from c10cli.manifest.load import require_manifest

FILES = {
    "registry.yaml": """\
version: 1
include: [below/more.yaml]
operators:
  - schema: "t::f(Tensor x) -> Tensor"
    kernels: {CPU: [{kernel: "ops/k.py:f", cache: "caches/c.py:make"}, "json:dumps", "beside:h"]}
    reference: references/r.py:f
""",
    "below/more.yaml": """\
version: 1
operators:
  - schema: "t::g(Tensor x) -> Tensor"
    kernels: {CPU: k.py:g}
""",
    "ops/k.py": "0 / 0\n",
    "ops/_common.py": "0 / 0\n",
    "caches/c.py": "0 / 0\n",
    "references/r.py": "0 / 0\n",
    "beside.py": "0 / 0\n",
    "below/k.py": "0 / 0\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def of(path):
    return fingerprint(require_manifest(path))


def edit(path):
    path.write_text(path.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")


def test_every_document_and_source_has_a_digest_and_nothing_is_imported(folder):
    found = of(folder / "registry.yaml")
    assert set(found) == {*FILES, "json"}
    assert all(found.values())


def test_what_nobody_touched_is_the_same(folder):
    check_same(require_manifest(folder / "registry.yaml"), of(folder / "registry.yaml"))


@pytest.mark.parametrize("name", FILES)
def test_an_edit_of_any_of_the_files_is_refused_and_named(folder, name):
    before = of(folder / "registry.yaml")
    edit(folder / name)
    with pytest.raises(ManifestError) as caught:
        check_same(require_manifest(folder / "registry.yaml"), before)
    assert caught.value.code == "C10E101"
    assert caught.value.diagnostics[0].message == f"`{name}` was changed while the kernels were being run"
    assert caught.value.diagnostics[0].place.endswith("registry.yaml")


def test_changes_tell_of_all_files_that_were_changed_added_or_removed(folder):
    before = of(folder / "registry.yaml")
    edit(folder / "ops/k.py")
    edit(folder / "below/k.py")
    (folder / "ops/new.py").touch()
    (folder / "ops/_common.py").unlink()
    assert changes(before, before) == ""
    assert changes(before, of(folder / "registry.yaml")) == (
        "`below/k.py` and `ops/k.py` were changed and `ops/new.py` was added and `ops/_common.py` was removed"
    )


def test_a_kernel_file_that_is_gone_was_changed(folder):
    before = of(folder / "registry.yaml")
    (folder / "ops/k.py").unlink()
    assert changes(before, of(folder / "registry.yaml")) == "`ops/k.py` was changed"


def test_digests_are_the_same_from_wherever_the_manifest_is_loaded(folder, monkeypatch):
    whole = of(folder / "registry.yaml")
    for place, path in ((folder, "registry.yaml"), (folder / "below", "../registry.yaml")):
        monkeypatch.chdir(place)
        assert of(path) == whole


def test_a_file_that_could_not_be_included_was_changed_not_removed(folder):
    before = of(folder / "registry.yaml")
    (folder / "below/more.yaml").write_text("version: 1\noperators: 7\n", encoding="utf-8")
    assert "`below/more.yaml` was changed" in changes(before, of(folder / "registry.yaml"))


@pytest.mark.parametrize(
    "extension", ["kernels: {XLA: k.py:f}", "cases: [{name: a, inputs: {x: 'randn(1)'}}]"]
)
def test_an_edit_of_what_extends_an_operator_is_seen(folder, extension):
    more = folder / "below/more.yaml"
    more.write_text(f'version: 1\noperators:\n  - operator: "t::f"\n    {extension}\n', encoding="utf-8")
    before = of(folder / "registry.yaml")
    edit(more)
    assert changes(before, of(folder / "registry.yaml")) == "`below/more.yaml` was changed"


def test_another_version_of_an_installed_module_is_a_change_and_is_told_without_importing_it(
    folder, monkeypatch
):
    (folder / "installed").mkdir()
    (folder / "installed/a_module_of_a_test.py").write_text("0 / 0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(folder / "installed")
    text = FILES["registry.yaml"].replace("json:dumps", "a_module_of_a_test:g")
    (folder / "registry.yaml").write_text(text, encoding="utf-8")
    before = of(folder / "registry.yaml")
    assert "a_module_of_a_test" not in sys.modules
    with monkeypatch.context() as patched:
        patched.setattr(metadata, "version", lambda name: "2.0")
        assert changes(before, of(folder / "registry.yaml")) == "`a_module_of_a_test` was changed"
    edit(folder / "installed/a_module_of_a_test.py")
    assert changes(before, of(folder / "registry.yaml")) == "`a_module_of_a_test` was changed"
