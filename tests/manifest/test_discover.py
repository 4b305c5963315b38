import os
import re
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


@pytest.fixture
def give(monkeypatch):
    """`give(path)`: it belongs to somebody else who is not root, as the code under test sees it."""

    def give(path):
        if os.geteuid() == 0:
            os.chown(path, 4242, -1, follow_symlinks=False)
        else:  # then the user is another one
            monkeypatch.setattr(discover.os, "geteuid", lambda: 4242)

    return give


def reason(folder):
    with pytest.raises(ManifestError) as caught:
        find_registry(None, {}, folder)
    (finding,) = caught.value.diagnostics
    path = folder / "registry.yaml"
    assert finding.code == "C10E101"
    assert finding.help == f"use it with `--registry {path}`, if you trust it"
    assert (
        find_registry(str(path), {}, folder)
        == find_registry(None, {"C10_REGISTRY": str(path)}, folder)
        == path
    )
    return finding.message.removeprefix(f"registry `{path}` is not used unasked, because ")


def test_a_registry_of_another_user_is_not_used_unless_it_is_named(tree, give):
    give(tree / "outer" / "registry.yaml")
    assert re.fullmatch(r"it belongs to user \d+, not to you", reason(tree / "outer"))


def test_a_link_of_another_user_is_not_followed(tree, give):
    (tree / "link").mkdir()
    (tree / "link" / "registry.yaml").symlink_to(tree / "outer" / "registry.yaml")
    assert find_registry(None, {}, tree / "link") == tree / "link" / "registry.yaml"
    give(tree / "link" / "registry.yaml")
    assert re.fullmatch(r"it belongs to user \d+, not to you", reason(tree / "link"))


def test_a_registry_that_anyone_may_write_is_not_used(tree):
    (tree / "outer" / "registry.yaml").chmod(0o666)
    assert reason(tree / "outer") == "anyone may write it"
    (tree / "outer" / "registry.yaml").chmod(0o664)  # as for git, a group is trusted
    assert find_registry(None, {}, tree / "outer")


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_in_a_folder_that_anyone_may_write_only_the_users_own_is_used(tree, monkeypatch, mode):
    folder = tree / "outer"
    folder.chmod(mode)
    assert find_registry(None, {}, folder) == folder / "registry.yaml"
    if os.geteuid() != 0:
        pytest.skip("only root has files that are root's")
    monkeypatch.setattr(discover.os, "geteuid", lambda: 4242)  # for whom this one is root's
    assert reason(folder) == f"others may write its folder `{folder}`"
    folder.chmod(0o755)
    assert find_registry(None, {}, folder)
    os.chown(folder, 4243, -1)
    assert reason(folder) == f"others may write its folder `{folder}`"
