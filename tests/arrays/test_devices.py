import ctypes
import sys
from types import SimpleNamespace

import pytest

from c10cli import DispatchError
from c10cli.arrays import devices
from c10cli.arrays.devices import Device, cuda_driver_reason, device_of, is_installed, synchronizer, waiter


@pytest.fixture
def driver(monkeypatch):
    """A stand-in for the CUDA driver, from what its calls give."""

    def driver(init=0, count=1):
        def count_devices(pointer):
            ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int))[0] = count
            return 0

        library = SimpleNamespace(cuInit=lambda flags: init, cuDeviceGetCount=count_devices)
        monkeypatch.setattr(ctypes, "CDLL", lambda name: library)

    devices._device_of.cache_clear()
    yield driver
    devices._device_of.cache_clear()


def test_the_cpu_is_there_and_numpy_makes_its_arrays():
    assert device_of("CPU") == Device("CPU", "numpy")
    assert device_of("CPU").available


def test_a_key_that_c10cli_makes_no_tensors_of_is_not_available():
    device = device_of("XLA")
    assert not device.available
    assert device.reason == "c10cli makes no XLA tensors"


def test_an_unknown_key_is_refused():
    with pytest.raises(DispatchError) as caught:
        device_of("GPU")
    assert caught.value.code == "C10E108"


def test_a_machine_without_a_driver_says_so(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert cuda_driver_reason() == "no CUDA driver found"


@pytest.mark.parametrize(
    ("init", "count", "reason"),
    [
        (0, 2, ""),
        (0, 0, "the CUDA driver finds no device"),
        (100, 1, "the CUDA driver does not start (cuInit gives 100)"),
    ],
)
def test_the_driver_itself_is_asked(driver, init, count, reason):
    driver(init, count)
    assert cuda_driver_reason() == reason


@pytest.mark.parametrize(
    ("installed", "library"), [({"torch", "cupy"}, "torch"), ({"cupy"}, "cupy"), (set(), "")]
)
def test_cuda_arrays_come_from_the_first_library_there_is(driver, monkeypatch, installed, library):
    driver()
    monkeypatch.setattr(devices, "is_installed", installed.__contains__)
    device = device_of("CUDA")
    assert device.library == library
    assert device.available is bool(library)


@pytest.mark.parametrize("installed", [True, False])
def test_sparse_arrays_need_scipy(driver, monkeypatch, installed):
    monkeypatch.setattr(devices, "is_installed", lambda package: installed)
    device = device_of("SparseCPU")
    assert device.reason == ("" if installed else "package `scipy` is not installed")


def test_what_is_installed_is_found_without_importing_it(monkeypatch, tmp_path):
    (tmp_path / "a_package_of_a_test.py").write_text("raise ValueError", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert is_installed("a_package_of_a_test")
    assert "a_package_of_a_test" not in sys.modules
    assert not is_installed("no_such_package")
    assert not is_installed("no_such_package.part")
    assert is_installed("a_package_of_a_test.part")
    assert "a_package_of_a_test" not in sys.modules
    assert is_installed("sys")


def test_a_loaded_module_without_a_spec_is_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "a_stand_in", SimpleNamespace(__spec__=None))
    assert is_installed("a_stand_in")


@pytest.mark.parametrize(("key", "library"), [("CPU", "numpy"), ("CPU", "torch"), ("SparseCPU", "scipy")])
def test_calls_on_the_cpu_are_done_when_they_return(key, library):
    device = Device(key, library)
    assert (synchronizer(device), waiter(device)) == (None, None)


def slow(jax):
    """A function that jax gives a result of long before it is computed."""
    return jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda i, y: jax.numpy.tanh(y @ x), x))


@pytest.mark.parametrize("make", [lambda y: y, lambda y: (y, [y + 1])], ids=["an array", "arrays in a tuple"])
def test_jaxs_result_is_computed_when_the_wait_for_it_is_over(jax, make):
    device = Device("CPU", "jax")
    assert synchronizer(device) is None
    function, x = slow(jax), jax.numpy.ones((400, 400))
    function(x).block_until_ready()
    result = make(function(x))
    waiter(device)(result)
    assert all(array.is_ready() for array in jax.tree_util.tree_leaves(result))


def test_jaxs_sparse_results_are_waited_for_too(jax):
    from jax.experimental import sparse

    matrix = sparse.BCOO.fromdense(jax.numpy.eye(3))
    waiter(Device("SparseCPU", "jax"))(matrix)
    assert matrix.data.is_ready()


def test_a_program_at_the_end_of_a_queue_of_jaxs_is_waited_for(jax, monkeypatch):
    # No CUDA device is to be had: the CPU's queue is the stand-in, and that the program runs is what is seen.
    devices, asked, ran = jax.devices, [], []
    monkeypatch.setattr(jax, "devices", lambda platform: asked.append(platform) or devices("cpu"))
    monkeypatch.setattr(jax, "jit", lambda function: lambda x: ran.append(x) or function(x))
    wait = synchronizer(Device("CUDA", "jax"))
    assert (asked, len(ran)) == (["cuda"], 1)
    wait()
    assert len(ran) == 2
    assert waiter(Device("CUDA", "jax")) is None


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_the_library_waits_for_its_device(monkeypatch, library):
    wait = object()
    module = SimpleNamespace(
        cuda=SimpleNamespace(synchronize=wait, runtime=SimpleNamespace(deviceSynchronize=wait))
    )
    monkeypatch.setitem(sys.modules, library, module)
    assert synchronizer(Device("CUDA", library)) is wait


@pytest.mark.parametrize(
    ("key", "library", "reason"),
    [
        ("CPU", "numpy", ""),
        ("CPU", "cupy", "`cupy` has no CPU arrays"),
        ("SparseCPU", "numpy", "`numpy` has no SparseCPU arrays"),
        ("CUDA", "numpy", "`numpy` has no CUDA arrays"),
        ("CUDA", "scipy", "`scipy` has no CUDA arrays"),
        ("XLA", "torch", "c10cli makes no XLA tensors"),
        ("XLA", "jax", "c10cli makes no XLA tensors"),
    ],
)
def test_a_library_is_asked_for_by_name(key, library, reason):
    assert device_of(key, library).reason == reason


@pytest.mark.parametrize(
    ("key", "library"), [("CPU", "torch"), ("CPU", "jax"), ("SparseCPU", "jax"), ("CUDA", "jax")]
)
def test_a_library_that_is_not_installed_says_so(driver, monkeypatch, key, library):
    driver()
    monkeypatch.setattr(devices, "is_installed", lambda package: False)
    assert device_of(key, library).reason == f"package `{library}` is not installed"


@pytest.mark.parametrize(
    ("platforms", "left_out"),
    [
        (None, set()),
        ("", set()),
        ("cpu", {"CUDA"}),
        ("cuda", {"CPU", "SparseCPU"}),
        ("gpu", {"CPU", "SparseCPU"}),
        ("cuda,cpu", set()),
        ("tpu,cpu", {"CUDA"}),
        ("nope", {"CPU", "SparseCPU", "CUDA"}),
    ],
)
@pytest.mark.parametrize("imported", [True, False])
def test_what_jax_is_told_to_leave_out_has_no_device(driver, monkeypatch, platforms, left_out, imported):
    driver()
    monkeypatch.setattr(devices, "is_installed", lambda package: True)
    monkeypatch.delitem(sys.modules, "jax", raising=False)  # which is asked without being imported
    if imported:  # then what it was told meanwhile counts
        jax = SimpleNamespace(config=SimpleNamespace(jax_platforms=platforms))
        monkeypatch.setitem(sys.modules, "jax", jax)
        monkeypatch.setenv("JAX_PLATFORMS", "of the start")
    elif platforms is None:
        monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    else:
        monkeypatch.setenv("JAX_PLATFORMS", platforms)
    found = {key: device_of(key, "jax") for key in ("CPU", "SparseCPU", "CUDA")}
    assert {key for key, device in found.items() if not device.available} == left_out
    for key in left_out:
        what = "CUDA" if key == "CUDA" else "the CPU"
        assert found[key].reason == f"JAX_PLATFORMS leaves out {what}"
        assert f"add `{'cuda' if key == 'CUDA' else 'cpu'}` to JAX_PLATFORMS" in found[key].help


@pytest.mark.parametrize("library", ["torch", "cupy", "jax"])
def test_a_library_of_cuda_needs_the_driver_first(driver, library):
    driver(count=0)
    assert device_of("CUDA", library).reason == "the CUDA driver finds no device"
