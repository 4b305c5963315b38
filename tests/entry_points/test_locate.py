import os
import sys
import types

import pytest

from c10cli.entry_points.entry_point import parse_entry_point
from c10cli.entry_points.locate import Missing, locate_source


@pytest.fixture
def locate(tmp_path):
    return lambda text: locate_source(parse_entry_point(text, tmp_path))


def test_a_file_that_is_there(tmp_path, locate):
    (tmp_path / "relu.py").touch()
    assert locate("relu.py:f") == tmp_path / "relu.py"


def test_a_file_that_is_not_there_has_near_names(tmp_path, locate):
    (tmp_path / "relu.py").touch()
    assert locate("rleu.py:f") == Missing("kernel file `rleu.py` does not exist", "did you mean `relu.py`?")
    missing = Missing("kernel file `gone/relu.py` does not exist", "create it, or correct the path")
    assert locate("gone/relu.py:f") == missing


def test_a_folder_is_no_file(tmp_path, locate):
    (tmp_path / "relu.py").mkdir()
    assert locate("relu.py:f") == Missing("kernel file `relu.py` is a folder")


def test_a_fifo_is_no_kernel_file(tmp_path, locate):
    os.mkfifo(tmp_path / "relu.py")
    assert locate("relu.py:f") == Missing("kernel file `relu.py` is no regular file")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package on the path that must not be imported."""
    place = tmp_path / "site"
    folder = place / "c10_test_package" / "sub"
    folder.mkdir(parents=True)
    for path in (folder.parent / "__init__.py", folder / "__init__.py", folder / "mod.py"):
        path.write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(place))
    return folder.parent


def test_modules_are_found_without_importing_them(package, locate):
    assert locate("c10_test_package:f") == package / "__init__.py"
    assert locate("c10_test_package.sub:f") == package / "sub" / "__init__.py"
    assert locate("c10_test_package.sub.mod:f") == package / "sub" / "mod.py"
    assert "c10_test_package" not in sys.modules


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("c10_no_such_package:f", "package `c10_no_such_package` is not installed"),
        ("c10_no_such_package.sub:f", "package `c10_no_such_package` is not installed"),
        ("c10_test_package.gone:f", "module `c10_test_package.gone` has no Python file"),
        ("c10_test_package.gone.mod:f", "module `c10_test_package.gone.mod` has no Python file"),
        ("sys:exit", "module `sys` has no Python file"),
        ("c10_without_spec:f", "package `c10_without_spec` is not installed"),
    ],
)
def test_what_only_importing_would_tell(package, locate, text, reason, monkeypatch):
    monkeypatch.setitem(sys.modules, "c10_without_spec", types.SimpleNamespace(__spec__=None))
    assert locate(text).reason.startswith(reason)


def test_a_module_beside_the_manifest_serves_where_none_is_installed(tmp_path, locate):
    (tmp_path / "c10_beside.py").touch()
    (tmp_path / "json.py").touch()
    assert locate("c10_beside:f") == tmp_path / "c10_beside.py"
    assert locate("json:f") != tmp_path / "json.py"


def test_a_name_too_long_for_the_file_system(locate):
    name = "x" * 300
    assert locate(f"{name}.py:f").message.startswith(f"kernel file `{name}.py` cannot be looked up: ")
