"""The wheel, built and installed elsewhere: everything that the command needs is in it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from c10cli import __version__

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.needs("hatchling")


def done(words: list[str | Path], folder: Path, **variables: str) -> str:
    """The output of a command that succeeds, in *folder* and an environment without ours."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PIP_CONFIG_FILE": os.devnull, **variables}
    ran = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a network."""
    out = tmp_path_factory.mktemp("dist")
    done([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out], ROOT)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment of its own; what c10cli depends on comes from this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip, which writes the command, is not installed")
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "--disable-pip-version-check"]
    done([*pip, "install", "--no-index", "--no-deps", "--ignore-installed", wheel], folder)
    return folder


def test_registry_kernels_and_every_module_are_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    modules = {str(path.relative_to(ROOT)) for path in ROOT.glob("c10cli/**/*.py")}
    kernels = {f"c10cli/_shipped/{path.relative_to(ROOT)}" for path in ROOT.glob("kernels/**/*.py")}
    assert any("/kernels/reference/" in name for name in kernels)
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "c10cli/explanations").glob("*.md")}
    assert "c10cli/explanations/C10E204.md" in pages
    assert modules | kernels | pages | {"c10cli/_shipped/registry.yaml", "c10cli/py.typed"} <= names


def test_nothing_that_a_run_left_behind_is_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert [
        name for name in names if re.search(r"__pycache__|\.(pyc|nbc|nbi)$|^(tests|reports)/|conftest", name)
    ] == []


def test_the_installed_command_lists_the_shipped_operators(installed, tmp_path):
    listed = done([installed / "bin/c10", "list"], tmp_path)
    declared = re.findall(r'^  - schema: "([\w:.]+)\(', (ROOT / "registry.yaml").read_text(), re.MULTILINE)
    assert [line.split()[0] for line in listed.splitlines()] == sorted(declared)


def test_the_installed_command_calls_a_shipped_kernel(installed, tmp_path):
    assert done([installed / "bin/c10", "call", "add", "ones(2)", "ones(2)"], tmp_path) == (
        "float32[2]\n[2., 2.]\n"
    )


def test_the_installed_registry_is_sound(installed, tmp_path):
    out = done([installed / "bin/c10", "validate", "--static"], tmp_path)
    assert out.endswith("no findings\n")


def test_what_ran_came_from_the_wheel(installed, tmp_path):
    where = "import c10cli, c10cli.manifest.discover as d; print(c10cli.__file__, d.shipped_registry())"
    files = done([installed / "bin/python", "-c", where], tmp_path).split()
    assert all(Path(file).is_relative_to(installed) for file in files)
    version = done([installed / "bin/c10", "--version"], tmp_path)
    assert version == f"c10, version {__version__}\n"


def test_the_wheel_says_what_a_package_index_asks(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        said = message_from_bytes(archive.read(name))
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in archive.namelist())
    assert said["License-Expression"] == "BSD-3-Clause"
    assert said["Author"] == "the c10cli authors"
    assert said["Keywords"]
    assert said["Project-URL"] is None  # until there are any
    python = [c.rpartition(" ")[2] for c in said.get_all("Classifier") if re.search(r":: 3\.\d+$", c)]
    assert f">={python[0]}" == said["Requires-Python"]


USERS_FILE = """\
from typing import Any

import numpy as np

from c10cli import Dispatcher, KernelCache, OperatorHandle, load_registry, parse_schema


class Workspace(KernelCache):
    size = 0


def twice(x: Any, cache: Workspace) -> Any:
    return x + x


def use() -> OperatorHandle:
    registry = load_registry("registry.yaml")
    reveal_type(registry.find("add").handle)
    reveal_type(parse_schema("t::f(Tensor x) -> Tensor").arguments[0].name)
    dispatcher = Dispatcher(checked=True)
    op = dispatcher.register_schema("demo::twice(Tensor x) -> Tensor")
    with dispatcher.register_kernel(op, "CPU", twice, Workspace):
        print(op(np.ones(2)), op.lookup(np.ones(2)).name.upper())
    return op


Dispatcher(colour=True)
"""


@pytest.mark.needs("mypy")
def test_a_users_file_is_checked_strictly_against_the_installed_package(installed, tmp_path):
    (tmp_path / "user.py").write_text(USERS_FILE)
    python = installed / "bin/python"
    words = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "user.py"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    ran = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    found = [line.partition(": ")[2] for line in ran.stdout.splitlines() if line.startswith("user.py")]
    assert [line for line in found if "defined" not in line] == [
        'note: Revealed type is "c10cli.dispatch.operator.OperatorHandle"',
        'note: Revealed type is "str"',
        'error: Unexpected keyword argument "colour" for "Dispatcher"  [call-arg]',
    ]
