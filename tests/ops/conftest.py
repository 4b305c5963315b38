"""Kernels loaded by path as the dispatcher does it, and the comparison with a reference."""

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

KERNELS = Path(__file__).parents[2] / "kernels"
PACKAGE = "_kernels_under_test"

# What a child process starts with: `kernel("gelu_numba")` loads as the fixture `load` does.
CHILD = """
import importlib, importlib.util, sys
name, folder, *arguments = sys.argv[1:]
spec = importlib.util.spec_from_file_location(
    name, folder + "/__init__.py", submodule_search_locations=[folder]
)
sys.modules[name] = importlib.util.module_from_spec(spec)
def kernel(entry, function=None):
    return getattr(importlib.import_module(f"{name}.{entry}"), function or entry)
"""

# Relative to the larger of 1 and the expected value; the tests of one operator may pass their own.
TOLERANCE = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}


def _load_package():
    if PACKAGE not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            PACKAGE, KERNELS / "__init__.py", submodule_search_locations=[str(KERNELS)]
        )
        sys.modules[PACKAGE] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[PACKAGE])


def _load(entry, needs):
    module, _, name = entry.partition(":")
    package = module.rpartition("_")[2]
    if package in ("numba", "triton"):
        needs(package)
    _load_package()
    return getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)


@pytest.fixture(scope="session")
def load(needs):
    """``load("gelu_numba:gelu_numba")``, or ``load("reference.gelu:gelu")``: a function of a kernel file."""
    return lambda entry: _load(entry, needs)


@pytest.fixture(scope="session")
def kernels_folder():
    return KERNELS


# Of Triton 3.7 on Python 3.13.
TRITONS_OWN = "ignore:AnnAssign.__init__ missing 1 required:DeprecationWarning"


@pytest.fixture(scope="session")
def run_child():
    """``run_child(script, *arguments)``: what a fresh process printed; it may neither fail nor warn."""

    def run(script, *arguments, folder=KERNELS, package="package", **environment):
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "error",
                "-W",
                TRITONS_OWN,
                "-c",
                CHILD + script,
                package,
                folder,
                *arguments,
            ],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


@pytest.fixture
def rng():
    return np.random.default_rng(20190131)


@pytest.fixture
def agrees(load):
    """Runs a kernel and its reference on the same arguments, compares them, and the arguments with before."""

    def check(entry, reference, *arguments, tolerance=None, **keywords):
        kept = [_copied(argument) for argument in arguments]
        results = load(entry)(*arguments, **keywords)
        expected = load(f"reference.{reference}:{reference}")(*arguments, **keywords)
        for before, after in zip(kept, arguments, strict=True):
            np.testing.assert_equal(after, before)
        assert isinstance(results, tuple) == isinstance(expected, tuple)
        if not isinstance(results, tuple):
            results, expected = (results,), (expected,)
        for result, wanted in zip(results, expected, strict=True):
            _compare(result, wanted, tolerance)
            assert not any(np.shares_memory(result, array) for array in _arrays(arguments))
        return results if len(results) > 1 else results[0]

    return check


def _compare(result, wanted, tolerance):
    assert type(result) is np.ndarray
    assert result.shape == wanted.shape
    if result.dtype.kind != "f":
        np.testing.assert_array_equal(result, wanted)
        return
    limit = TOLERANCE[result.dtype.name] if tolerance is None else tolerance
    np.testing.assert_allclose(result, wanted, rtol=limit, atol=limit)


def _copied(argument):
    return [item.copy() for item in argument] if isinstance(argument, list) else np.copy(argument)


def _arrays(arguments):
    for argument in arguments:
        yield from argument if isinstance(argument, list) else [argument]
