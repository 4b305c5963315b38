from pathlib import Path

import pytest

from c10cli.errors import ManifestError
from c10cli.manifest import discover
from c10cli.manifest.discover import find_registry, shipped_registry


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """An outer folder with a registry, an inner one without, and no shipped registry."""
    monkeypatch.setattr(discover, "shipped_registry", lambda: None)
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    (tmp_path / "outer" / "registry.yaml").touch()
    return tmp_path


def test_the_option_wins_and_is_taken_as_it_is(tree):
    environ = {"C10_REGISTRY": str(tree / "outer" / "registry.yaml")}
    assert find_registry("no_such.yaml", environ, tree / "outer") == Path("no_such.yaml")


def test_the_variable_wins_over_the_folders(tree):
    named = tree / "named.yaml"
    named.touch()
    assert find_registry(None, {"C10_REGISTRY": str(named)}, tree / "outer") == named


def test_a_variable_that_names_nothing_is_refused(tree):
    with pytest.raises(ManifestError, match="named by C10_REGISTRY, does not exist") as caught:
        find_registry(None, {"C10_REGISTRY": "gone.yaml"}, tree / "outer")
    assert caught.value.code == "C10E101"


def test_an_empty_variable_is_none(tree):
    assert find_registry(None, {"C10_REGISTRY": ""}, tree / "outer") == tree / "outer" / "registry.yaml"


def test_the_nearest_registry_upwards_is_found(tree):
    assert find_registry(None, {}, tree / "outer" / "inner") == tree / "outer" / "registry.yaml"
    (tree / "outer" / "inner" / "registry.yaml").touch()
    assert find_registry(None, {}, tree / "outer" / "inner") == tree / "outer" / "inner" / "registry.yaml"


def test_a_folder_of_that_name_is_passed_over(tree):
    (tree / "outer" / "inner" / "registry.yaml").mkdir()
    assert find_registry(None, {}, tree / "outer" / "inner") == tree / "outer" / "registry.yaml"


def test_the_shipped_one_is_last(tree, monkeypatch):
    monkeypatch.setattr(discover, "shipped_registry", lambda: Path("shipped.yaml"))
    assert find_registry(None, {}, tree) == Path("shipped.yaml")


def test_none_at_all_is_an_error_that_says_what_to_do(tree):
    with pytest.raises(ManifestError) as caught:
        find_registry(None, {}, tree)
    (finding,) = caught.value.diagnostics
    assert finding.code == "C10E101"
    assert finding.help == "name one with `--registry` or C10_REGISTRY"


def test_the_wheel_is_looked_into_before_the_checkout(tmp_path):
    package = tmp_path / "c10cli"
    (package / "_shipped").mkdir(parents=True)
    assert shipped_registry(package) is None
    (tmp_path / "registry.yaml").touch()
    assert shipped_registry(package) == tmp_path / "registry.yaml"
    (package / "_shipped" / "registry.yaml").touch()
    assert shipped_registry(package) == package / "_shipped" / "registry.yaml"
