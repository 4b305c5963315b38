"""What the compiled kernels share: the cache on disk, the threads, the doubled exponential."""

import re
import shutil
import sys

import numpy as np
import pytest

CACHE_HITS = """
import numpy as np
gelu = kernel("gelu_numba")
gelu(np.ones(3))
print(len(kernel("gelu_numba", "_serial").stats.cache_hits))
"""

TWO_THREADS = """
import threading
import numba
import numpy as np
x = np.ones((300, 400), np.float32)
kernels = [kernel(entry) for entry in ("gelu_numba", "softmax_numba", "layer_norm_numba")]
for each in kernels:
    each(x)
threads = [threading.Thread(target=lambda k=k: [k(x) for _ in range(300)]) for k in kernels]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(numba.threading_layer())
"""


@pytest.fixture(autouse=True)
def _numba(needs):
    needs("numba")


@pytest.fixture
def own_copy(kernels_folder, tmp_path):
    """A copy of the kernels with an empty cache."""
    return shutil.copytree(kernels_folder, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))


def test_a_second_process_reads_the_cache_of_the_first(run_child, own_copy):
    assert [run_child(CACHE_HITS, folder=own_copy) for _ in range(2)] == ["0\n", "1\n"]


def test_the_cache_of_one_package_name_does_not_break_another(run_child, own_copy):
    """Cached code imports its module by name, and a name is only known to the loader that gave it."""
    for package in ("first", "second"):
        assert run_child(CACHE_HITS, folder=own_copy, package=package) == "0\n"


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
        load("_numba:compiled")()(lambda x: x)


def test_threads_may_call_at_once_even_on_the_workqueue_layer(run_child, own_copy):
    settings = {"NUMBA_THREADING_LAYER": "workqueue", "NUMBA_NUM_THREADS": "2"}
    assert run_child(TWO_THREADS, folder=own_copy, **settings) == "workqueue\n"


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


@pytest.mark.parametrize("name", ["gelu", "softmax", "layer_norm"])
def test_a_read_only_array_is_taken(agrees, rng, name):
    x = rng.standard_normal((5, 7))
    x.flags.writeable = False
    agrees(f"{name}_numba:{name}_numba", name, x)


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
