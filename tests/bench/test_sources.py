import sys
from importlib import metadata

import pytest

from c10cli.bench.sources import Sources
from c10cli.entry_points.importing import load_entry_point
from c10cli.entry_points.parse import parse_entry_point


@pytest.fixture
def loaded(tmp_path):
    """The sources of a kernel that imports a helper beside it, as a process that imported it sees them."""
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "k.py").write_text(
        "from . import helper\ndef f(x):\n    return x\n", encoding="utf-8"
    )
    (tmp_path / "ops" / "helper.py").write_text("ONE = 1\n", encoding="utf-8")
    entry_points = [parse_entry_point(text, tmp_path) for text in ("ops/k.py:f", "json:dumps")]
    for entry_point in entry_points:
        load_entry_point(entry_point)
    found = Sources(tmp_path).loaded(entry_points)
    return {name: digest for name, digest in found.items() if not name.startswith("..")}  # of other tests


def test_a_kernels_sources_are_its_file_its_helpers_and_its_installed_modules(loaded):
    assert list(loaded) == ["json:dumps", "ops/helper.py", "ops/k.py"]
    assert len(set(loaded.values())) == 3
    assert all(loaded.values())


def test_nothing_is_changed_where_nothing_was(loaded, tmp_path):
    assert Sources(tmp_path).changed(loaded) == []


@pytest.mark.parametrize("name", ["ops/helper.py", "ops/k.py"])
def test_an_edited_file_is_changed_and_one_that_is_gone_too(loaded, tmp_path, name):
    path = tmp_path / name
    path.write_text(path.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
    assert Sources(tmp_path).changed(loaded) == [name]
    path.unlink()
    assert Sources(tmp_path).changed(loaded) == [name]


def test_another_version_of_an_installed_module_is_a_change_and_is_told_without_importing_it(
    tmp_path, monkeypatch
):
    (tmp_path / "a_module_of_a_test.py").write_text("0 / 0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "manifests"
    entry_points = [parse_entry_point("a_module_of_a_test:f", folder)]
    before = {k: v for k, v in Sources(folder).loaded(entry_points).items() if ":" in k}
    assert "a_module_of_a_test" not in sys.modules
    assert Sources(folder).changed(before) == []
    monkeypatch.setattr(metadata, "version", lambda name: "2.0")
    assert Sources(folder).changed(before) == ["a_module_of_a_test:f"]


def test_a_source_is_taken_as_it_was_when_it_was_first_asked_for(tmp_path):
    sources = Sources(tmp_path)
    (tmp_path / "k.py").write_text("1\n", encoding="utf-8")
    first = {"k.py": Sources(tmp_path)._digest("k.py")}
    assert sources.changed(first) == []
    (tmp_path / "k.py").write_text("2\n", encoding="utf-8")
    assert sources.changed(first) == []
    assert Sources(tmp_path).changed(first) == ["k.py"]


@pytest.mark.parametrize("name", ["", "a:b:c", "null\0.py", "x" * 5000, "no_such_package:f:"])
def test_a_name_that_no_source_has_is_changed(tmp_path, name):
    assert Sources(tmp_path).changed({name: "0123456789abcdef"}) == [name]
