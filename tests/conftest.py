"""What every test folder shares: the one rule for packages and programs that may be missing."""

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest


def missing(reason):
    """Skip with *reason*, or fail where CI promised that everything is there."""
    if os.environ.get("C10_TESTS_REQUIRE_ALL") == "1":
        pytest.fail(f"{reason}, and C10_TESTS_REQUIRE_ALL=1 forbids to skip")
    pytest.skip(reason)


def module(name):
    """The module *name*, imported, if it is there."""
    if importlib.util.find_spec(name) is None:
        missing(f"{name} is not installed")
    return importlib.import_module(name)


def pytest_configure(config):
    config.addinivalue_line("markers", "needs(*packages): without them the test is skipped, or fails in CI")


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            module(name)


@pytest.fixture(autouse=True, scope="session")
def _texts_are_those_of_newer_pythons():
    """On Python 3.10 an error's text has its notes too, which one test looks at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("c10cli.errors._PRINTS_NOTES", True)
        yield


@pytest.fixture(scope="session")
def needs():
    """``needs("torch")``: the module; for a need that only the test's body knows."""
    return module


@pytest.fixture(scope="session")
def needs_program():
    """``needs_program("git")``: the same for a program on the path."""

    def program(name):
        if shutil.which(name) is None:
            missing(f"{name} is not installed")

    return program


@pytest.fixture(scope="session")
def torch(needs):
    """The real torch, to compare with."""
    return needs("torch")


@pytest.fixture(scope="session")
def jax(needs):
    """The real jax, on the CPU, started without what makes it warn of every later fork: some tests fork."""
    jax = needs("jax")
    jax.config.update("jax_platforms", "cpu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "register_at_fork", lambda **hooks: None)
        jax.devices()
    return jax


@pytest.fixture(scope="session")
def torch_schemas(torch):
    """The texts of all schemas of a torch just imported; other tests register more into this process's."""
    code = "import json, torch; print(json.dumps([str(s) for s in torch._C._jit_get_all_schemas()]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
