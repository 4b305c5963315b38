import ast
import subprocess
import sys
from pathlib import Path

import pytest

import c10cli

PACKAGES = {package.__name__: package for package in (c10cli,)}


def imported_for_type_checkers(package):
    """Name to module, of every import under ``if TYPE_CHECKING``."""
    source = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    (guard,) = (node for node in source.body if isinstance(node, ast.If))
    assert isinstance(guard.test, ast.Name)
    assert guard.test.id == "TYPE_CHECKING"
    aliases = [(node.module, alias) for node in guard.body for alias in node.names]
    assert all(alias.asname == alias.name for _, alias in aliases)  # else it is private to type checkers
    return {alias.name: module for module, alias in aliases}


@pytest.mark.parametrize("name", c10cli.__all__)
def test_every_public_name_resolves(name):
    assert getattr(c10cli, name) is not None


@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
def test_type_checkers_see_exactly_the_names_that_there_are_from_the_same_modules(package):
    seen = imported_for_type_checkers(package)
    assert sorted(seen) == sorted(set(package.__all__) - {"__version__"})
    assert seen == {name: module for module, names in package._HOMES.items() for name in names.split()}


def test_a_public_name_is_said_once():
    assert len(set(c10cli.__all__)) == len(c10cli.__all__)


def test_a_public_class_or_function_has_a_docstring():
    values = {name: getattr(c10cli, name) for name in c10cli.__all__}
    assert [name for name, value in values.items() if callable(value) and not value.__doc__] == []


def test_public_names_are_listed_before_they_are_used():
    assert set(c10cli.__all__) <= set(dir(c10cli))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'c10cli' has no attribute 'Dispatchr'"):
        _ = c10cli.Dispatchr


def test_importing_the_package_imports_none_of_its_layers():
    code = "import sys, c10cli; print(sorted(n for n in sys.modules if n.startswith('c10cli.')))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=_root()
    )
    assert found.stdout.strip() == "[]"


def _root():
    return Path(c10cli.__file__).parents[1]
