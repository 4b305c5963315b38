"""What the compiled kernels share: the cache on disk, the threads, the doubled exponential."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

LOAD = """
import importlib, importlib.util, sys
spec = importlib.util.spec_from_file_location(NAME, FOLDER + "/__init__.py", submodule_search_locations=[FOLDER])
sys.modules[NAME] = importlib.util.module_from_spec(spec)
kernel = lambda name: getattr(importlib.import_module(NAME + "." + name), name)
import numpy as np
"""

TWO_THREADS = """
import threading
x = np.ones((300, 400), np.float32)
kernels = [kernel(name) for name in ("gelu_numba", "softmax_numba", "layer_norm_numba")]
for each in kernels:
    each(x)
threads = [threading.Thread(target=lambda k=k: [k(x) for _ in range(300)]) for k in kernels]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
import numba
print(numba.threading_layer())
"""


@pytest.fixture(autouse=True)
def _numba(needs):
    needs("numba")


@pytest.fixture
def own_copy(kernels_folder, tmp_path):
    """A copy of the kernels with an empty cache."""
    return shutil.copytree(kernels_folder, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))


def run(script, folder, name="package", **environment):
    settings = f"NAME, FOLDER = {name!r}, {str(folder)!r}\n"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", settings + LOAD + script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_second_process_reads_the_cache_of_the_first(own_copy):
    script = "f = kernel('gelu_numba'); f(np.ones(3)); s = sys.modules[f.__module__]._serial.stats; print(len(s.cache_hits))"
    assert [run(script, own_copy).stdout for _ in range(2)] == ["0\n", "1\n"]


def test_the_cache_of_one_package_name_does_not_break_another(own_copy):
    """Cached code imports its module by name, and a name is only known to the loader that gave it."""
    for name in ("first", "second"):
        done = run("print(kernel('gelu_numba')(np.zeros(1)))", own_copy, name)
        assert (done.stdout, done.stderr) == ("[0.]\n", "")


def test_a_kernel_is_compiled_without_cache_where_nothing_is_writable(load, monkeypatch):
    compiled = load("_numba:compiled")
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])

    @compiled()
    def plus_one(x):
        return x + 1

    assert plus_one(1) == 2


def test_other_failures_to_compile_are_not_hidden(load, monkeypatch):
    def refuse(*_, **__):
        raise RuntimeError("something else")

    monkeypatch.setattr("numba.njit", refuse)
    with pytest.raises(RuntimeError, match="something else"):
        load("_numba:compiled")()(len)


def test_threads_may_call_at_once_even_on_the_workqueue_layer(own_copy):
    done = run(TWO_THREADS, own_copy, NUMBA_THREADING_LAYER="workqueue", NUMBA_NUM_THREADS="2")
    assert (done.returncode, done.stdout, done.stderr) == (0, "workqueue\n", "")


@pytest.mark.parametrize(("use_threads", "expected"), [(False, "serial"), (True, "parallel")])
def test_threads_are_woken_for_enough_work_only(load, monkeypatch, use_threads, expected):
    monkeypatch.setattr("numba.get_num_threads", lambda: 2)
    ran = []
    load("_numba:launch")(lambda: ran.append("serial"), lambda: ran.append("parallel"), use_threads)
    assert ran == [expected]


def test_a_single_thread_is_never_woken(load, monkeypatch):
    monkeypatch.setattr("numba.get_num_threads", lambda: 1)
    ran = []
    load("_numba:launch")(lambda: ran.append("serial"), lambda: ran.append("parallel"), True)
    assert ran == ["serial"]


def test_types_over_64_bits_are_refused(load):
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("long double has 64 bits here")
    with pytest.raises(TypeError, match=r"self must be of at most 64 bits, got .*\[3\]"):
        load("gelu_numba:gelu_numba")(np.ones(3, np.longdouble))


def test_both_files_with_an_exponential_have_the_same_one(kernels_folder):
    """They cannot share it (Note [A compiled kernel is one file]), so they must not drift apart."""
    pattern = re.compile(
        r"^@njit\([^\n]*\)\ndef _exp_(?:single|double)\(x\):\n.*?\n(?=\n\n)", re.MULTILINE | re.DOTALL
    )
    gelu, softmax = (
        pattern.findall((kernels_folder / name).read_text()) for name in ("gelu_numba.py", "softmax_numba.py")
    )
    assert len(gelu) == 2
    assert gelu == softmax


@pytest.mark.parametrize(("dtype", "low", "units"), [("float32", -87.3, 2), ("float64", -708.3, 2)])
def test_the_exponential_is_right_to_two_units_in_the_last_place(load, dtype, low, units):
    module = sys.modules[load("gelu_numba:gelu_numba").__module__]
    exp = module._exp_single if dtype == "float32" else module._exp_double
    x = np.linspace(low, 0, 20001).astype(dtype)
    result = np.array([exp(value) for value in x])
    np.testing.assert_allclose(
        result, np.exp(x.astype(np.longdouble)), rtol=units * np.finfo(dtype).eps, atol=0
    )
    assert exp(x.dtype.type(-np.inf)) == 0
    assert np.isnan(exp(x.dtype.type(np.nan)))
