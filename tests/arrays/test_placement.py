import importlib

import numpy as np
import pytest

from c10cli import ArgumentError, DispatchError
from c10cli.arrays import placement
from c10cli.arrays.devices import Device, device_of
from c10cli.arrays.library import load_library
from c10cli.arrays.placement import overwrite, place, to_numpy


def test_on_the_cpu_an_array_stays_itself():
    array = np.ones(2)
    assert place(array, "CPU") is array


def test_a_key_without_a_device_is_refused_with_the_reason():
    with pytest.raises(DispatchError) as caught:
        place(np.ones(1), "XLA")
    assert (caught.value.code, caught.value.dispatch_key) == ("C10E607", "XLA")
    assert device_of("XLA").reason in str(caught.value)


@pytest.mark.needs("scipy")
def test_a_sparse_tensor_keeps_the_values():
    tensor = place(np.array([[0.0, 2.0], [0.0, 0.0]]), "SparseCPU")
    assert tensor.nnz == 1
    assert to_numpy(tensor).tolist() == [[0.0, 2.0], [0.0, 0.0]]


def test_an_array_is_read_as_itself():
    array = np.ones(2)
    assert to_numpy(array) is array


def test_a_number_of_numpy_becomes_an_array_without_axes():
    assert to_numpy(np.float32(2)).shape == ()
    assert to_numpy(np.float32(2)).dtype == np.float32


class Offers:
    """An array by one of the protocols."""

    def __init__(self, array):
        self.array = array


class ByArray(Offers):
    def __array__(self, dtype=None, copy=None):
        return self.array


class ByDlpack(Offers):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("kind", [ByArray, ByDlpack])
def test_a_tensor_of_a_library_never_heard_of_is_read_by_protocol_without_a_copy(kind):
    array = np.arange(3.0)
    read = to_numpy(kind(array))
    assert read.tolist() == [0, 1, 2]
    assert np.shares_memory(read, array)


@pytest.mark.parametrize("kind", [KeyError, AssertionError, ZeroDivisionError, OSError, LookupError])
def test_a_tensor_that_raises_whatever_when_it_is_read_is_refused_with_the_cause(kind):
    class Lazy:
        def __array__(self, dtype=None, copy=None):
            raise kind("not computed")

    with pytest.raises(ArgumentError, match="not computed") as caught:
        to_numpy(Lazy())
    assert caught.value.code == "C10E408"
    assert type(caught.value.__cause__) is kind


def test_an_interruption_while_a_tensor_is_read_goes_on():
    class Slow:
        def __array__(self, dtype=None, copy=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        to_numpy(Slow())


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (AssertionError(), "AssertionError: no message"),
        (RuntimeError("no driver\nand a page"), "RuntimeError: no driver"),
        (ImportError("no such symbol"), "ImportError: no such symbol"),
        (TypeError("no number"), "TypeError: no number"),
    ],
)
@pytest.mark.parametrize("alone", [True, False])
def test_a_library_that_fails_to_make_a_tensor_says_why(monkeypatch, error, reason, alone):
    def fails(array, key):
        if array.size > 1 or not alone:
            raise error
        return array

    monkeypatch.setattr(load_library("numpy"), "make", fails)
    with pytest.raises(ArgumentError if alone else DispatchError) as caught:
        place(np.ones((2, 3)), "CPU")
    (told,) = caught.value.diagnostics
    assert caught.value.__cause__ is error
    fact = "numpy makes no CPU array of float64[2, 3]" if alone else "no CPU tensor can be made here"
    assert (told.code, told.message) == ("C10E405" if alone else "C10E607", f"{fact}: {reason}")


def test_memory_that_runs_out_while_a_tensor_is_made_stays_that(monkeypatch):
    def fails(array, key):
        raise MemoryError

    monkeypatch.setattr(load_library("numpy"), "make", fails)
    with pytest.raises(MemoryError):
        place(np.ones(1), "CPU")


def test_a_key_that_a_setting_leaves_out_is_refused_with_what_to_do(monkeypatch):
    device = Device("CPU", "jax", "a setting leaves it out", "change the setting")
    monkeypatch.setattr(placement, "device_of", lambda key, library: device)
    with pytest.raises(DispatchError) as caught:
        place(np.ones(1), "CPU", "jax")
    (told,) = caught.value.diagnostics
    assert (told.code, told.help) == ("C10E607", "change the setting")
    assert told.message == "no CPU tensor can be made here: a setting leaves it out"


@pytest.mark.needs("scipy")
def test_an_array_that_scipy_makes_no_sparse_one_of_is_refused():
    with pytest.raises(ArgumentError) as caught:
        place(np.ones((2, 2, 2)), "SparseCPU")
    assert caught.value.code == "C10E405"
    assert "scipy makes no SparseCPU array of float64[2, 2, 2]: " in str(caught.value)


@pytest.mark.parametrize("value", [object(), type("Broken", (ByDlpack,), {"__dlpack__": None})(np.ones(1))])
def test_what_cannot_be_read_is_refused_by_type(value):
    with pytest.raises(ArgumentError) as caught:
        to_numpy(value)
    assert caught.value.code == "C10E408"
    assert type(value).__qualname__ in str(caught.value)


@pytest.mark.needs("torch")
class TestTorch:
    def test_a_tensor_in_host_memory_is_read_without_a_copy(self):
        import torch

        tensor = torch.arange(3.0, requires_grad=True)
        array = to_numpy(tensor)
        assert array.tolist() == [0, 1, 2]
        assert array.ctypes.data == tensor.data_ptr()

    @pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
    def test_floats_that_numpy_does_not_have_come_as_those_of_ml_dtypes_or_as_float32(
        self, dtype, monkeypatch, needs
    ):
        import torch

        own = getattr(needs("ml_dtypes"), dtype)
        for shape in ((3,), (), (0, 2)):
            tensor = torch.ones(shape, requires_grad=True).to(getattr(torch, dtype))
            array = to_numpy(tensor.T if shape == (0, 2) else tensor)
            assert (array.dtype, array.shape) == (own, shape[::-1])
            assert np.array_equal(array.astype(np.float32), np.ones(shape[::-1]))
        # Once ml_dtypes is imported, NumPy itself knows its names.
        monkeypatch.setattr("c10cli.arrays.torch.numpy_dtype", lambda name: importlib.import_module("gone"))
        array = to_numpy(torch.tensor([1.0, 2.0]).to(getattr(torch, dtype)))
        assert (array.dtype, array.tolist()) == (np.float32, [1.0, 2.0])

    def test_sparse_and_conjugated_tensors_are_read_as_what_they_mean(self):
        import torch

        assert to_numpy(torch.eye(2).to_sparse()).tolist() == [[1, 0], [0, 1]]
        assert to_numpy(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]
        assert to_numpy(torch.tensor([1 + 2j]).conj().imag).tolist() == [-2.0]

    @pytest.mark.filterwarnings("ignore:Sparse:UserWarning", "ignore:torch.quantize_per_tensor:UserWarning")
    @pytest.mark.parametrize(
        "make",
        [
            lambda torch, x: x.to_sparse_csr(),
            lambda torch, x: x.to_sparse_csc(),
            lambda torch, x: x.to_sparse_bsr((1, 1)),
            lambda torch, x: x.to_sparse_bsc((1, 1)),
            lambda torch, x: x.to_mkldnn(),
            lambda torch, x: torch.quantize_per_tensor(x, 1.0, 0, torch.qint8),
            lambda torch, x: torch.nn.Parameter(x),
            lambda torch, x: torch.nn.Parameter(x).as_subclass(type("Own", (torch.Tensor,), {})),
        ],
        ids=["CSR", "CSC", "BSR", "BSC", "mkldnn", "quantized", "parameter", "subclass"],
    )
    def test_every_layout_and_subclass_is_read(self, make):
        import torch

        array = to_numpy(make(torch, torch.tensor([[0.0, 2.0], [1.0, 0.0]])))
        assert (array.dtype, array.tolist()) == (np.float32, [[0, 2], [1, 0]])

    @pytest.mark.filterwarnings("ignore:ComplexHalf:UserWarning")
    def test_a_complex_number_that_numpy_does_not_have_comes_as_complex64(self):
        import torch

        array = to_numpy(torch.tensor([1 + 2j]).to(torch.complex32))
        assert (array.dtype, array.tolist()) == (np.complex64, [1 + 2j])

    @pytest.mark.filterwarnings("ignore:The PyTorch API of nested:UserWarning")
    def test_what_has_no_contents_or_no_shape_is_refused(self):
        import torch
        from torch._subclasses.fake_tensor import FakeTensorMode

        for tensor in (
            torch.zeros(2, device="meta"),
            FakeTensorMode().from_tensor(torch.zeros(2)),
            torch.nn.UninitializedParameter(),
            torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]),
            torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=torch.jagged),
        ):
            with pytest.raises(ArgumentError) as caught:
                to_numpy(tensor)
            assert caught.value.code == "C10E408"

    @pytest.mark.parametrize("transform", ["vmap", "grad", "functionalize"])
    def test_what_torch_transforms_is_refused_and_not_read_from_anywhere(self, transform):
        import torch

        def function(x):
            with pytest.raises(ArgumentError) as caught:
                to_numpy(x)
            assert caught.value.code == "C10E408"
            return x.sum()

        getattr(torch.func, transform)(function)(torch.ones(2))


@pytest.mark.needs("torch")
def test_torchs_tensor_on_the_cpu_shares_the_memory():
    array = np.zeros(3, np.float32)
    tensor = place(array, "CPU", "torch")
    array[1] = 2
    assert tensor.tolist() == [0, 2, 0]


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3)[:, ::-1],
        np.broadcast_to(np.float32(2), (2, 2)),
        np.array(3.0),
        np.zeros((0, 2)),
        np.array([True, False]),
        np.array([1, 2], np.uint16),
        np.array([1 + 2j]),
    ],
    ids=["reversed", "read-only", "no axes", "empty", "bool", "uint16", "complex"],
)
def test_every_kind_of_array_becomes_torchs_with_its_shape_and_values(array):
    tensor = place(array, "CPU", "torch")
    assert tuple(tensor.shape) == array.shape
    assert tensor.tolist() == array.tolist()


@pytest.mark.needs("torch", "ml_dtypes")
def test_bfloat16_goes_over_to_torch():
    import ml_dtypes
    import torch

    tensor = place(np.array([1.5, -2], ml_dtypes.bfloat16), "CPU", "torch")
    assert tensor.dtype is torch.bfloat16
    assert tensor.tolist() == [1.5, -2]


@pytest.mark.needs("torch")
@pytest.mark.parametrize("array", [np.array(["x"]), np.zeros(1, "V3"), np.zeros(1, np.longdouble)])
def test_a_dtype_that_torch_has_not_is_refused(array):
    with pytest.raises(ArgumentError) as caught:
        place(array, "CPU", "torch")
    assert caught.value.code == "C10E405"
    assert array.dtype.name in str(caught.value)


@pytest.mark.needs("torch")
def test_a_sparse_tensor_of_torch_keeps_the_values():
    tensor = place(np.array([[0.0, 2.0], [0.0, 0.0]]), "SparseCPU", "torch")
    assert tensor.is_sparse
    assert to_numpy(tensor).tolist() == [[0.0, 2.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1],
        np.broadcast_to(np.float32(2), (2, 2)),
        np.array(3, np.int32),
        np.zeros((0, 2), np.float16),
        np.array([True, False]),
        np.array([1 + 2j], np.complex64),
    ],
    ids=["reversed", "read-only", "no axes", "empty", "bool", "complex"],
)
def test_every_kind_of_array_becomes_jaxs_with_its_dtype_shape_and_values(jax, array):
    tensor = place(array, "CPU", "jax")
    assert isinstance(tensor, jax.Array)
    assert [device.platform for device in tensor.devices()] == ["cpu"]
    read = to_numpy(tensor)
    assert (read.dtype, read.shape, read.tolist()) == (array.dtype, array.shape, array.tolist())


@pytest.mark.needs("ml_dtypes")
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
def test_floats_of_ml_dtypes_go_over_to_jax_and_back(jax, dtype):
    import ml_dtypes

    array = np.array([1.5, -2], getattr(ml_dtypes, dtype))
    read = to_numpy(place(array, "CPU", "jax"))
    assert (read.dtype, read.tolist()) == (array.dtype, [1.5, -2])


def test_jaxs_array_is_a_copy_for_jax_takes_it_for_unchangeable(jax):
    array = np.zeros(1024, np.float32)
    tensor = place(array, "CPU", "jax")
    array[1] = 2
    assert tensor[1] == 0
    assert not to_numpy(tensor).flags.writeable


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "complex128"])
def test_jax_makes_no_narrower_array_without_a_word(jax, dtype):
    with pytest.raises(ArgumentError) as caught:
        place(np.ones(1, dtype), "CPU", "jax")
    (diagnostic,) = caught.value.diagnostics
    narrow = {"complex128": "complex64"}.get(dtype, dtype.replace("64", "32"))
    assert (diagnostic.code, diagnostic.message) == ("C10E405", f"jax makes {narrow} of an array of {dtype}")
    assert "JAX_ENABLE_X64=1" in diagnostic.help


def test_jax_makes_wide_arrays_where_it_is_told_to(jax):
    jax.config.update("jax_enable_x64", True)
    try:
        assert place(np.ones(1), "CPU", "jax").dtype == np.float64
    finally:
        jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize("array", [np.array(["x"]), np.zeros(1, "V3"), np.zeros(1, np.longdouble)])
def test_a_dtype_that_jax_has_not_is_refused(jax, array):
    with pytest.raises(ArgumentError) as caught:
        place(array, "CPU", "jax")
    assert caught.value.code == "C10E405"
    assert array.dtype.name in str(caught.value)


def test_a_jax_without_cuda_says_so(jax, monkeypatch):
    monkeypatch.setattr(placement, "device_of", lambda key, library: Device(key, library))
    with pytest.raises(DispatchError) as caught:
        place(np.ones(1, np.float32), "CUDA", "jax")
    assert caught.value.code == "C10E607"
    assert str(caught.value).startswith("error[C10E607] no CUDA tensor can be made here: RuntimeError: ")


def test_a_sparse_array_of_jax_keeps_the_values(jax):
    tensor = place(np.array([[0, 2], [0, 0]], np.float32), "SparseCPU", "jax")
    assert tensor.nse == 1
    assert to_numpy(tensor).tolist() == [[0, 2], [0, 0]]


@pytest.mark.parametrize("name", ["BCOO", "BCSR", "COO", "CSR", "CSC"])
def test_every_sparse_array_of_jax_is_read(jax, name):
    from jax.experimental import sparse

    matrix = getattr(sparse, name).fromdense(jax.numpy.array([[0.0, 2.0], [1.0, 0.0]]))
    assert to_numpy(matrix).tolist() == [[0, 2], [1, 0]]


def test_random_keys_of_jax_are_read_as_their_integers(jax):
    keys = jax.random.split(jax.random.key(1), 3)
    assert to_numpy(keys).tolist() == jax.random.key_data(keys).tolist()


def test_what_jax_has_no_contents_of_is_refused_on_one_line(jax):
    gone = jax.numpy.ones(3)
    gone.delete()
    refused = []

    def read(value):
        with pytest.raises(ArgumentError) as caught:
            to_numpy(value)
        refused.append(caught.value)

    read(gone)
    jax.jit(read)(jax.numpy.ones(3))
    assert [error.code for error in refused] == ["C10E408"] * 2
    assert "deleted" in str(refused[0])
    assert "traced" in str(refused[1])
    assert all(len(str(error).splitlines()) == 1 for error in refused)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_sparse_array_and_matrix_of_scipy_is_read(needs, form, kind):
    matrix = getattr(needs("scipy.sparse"), f"{form}_{kind}")(np.array([[0.0, 2.0], [1.0, 0.0]]))
    read = to_numpy(matrix)
    assert type(read) is np.ndarray
    assert read.tolist() == [[0, 2], [1, 0]]


class Liar(np.ndarray):
    def __array_ufunc__(self, *args, **kwargs):
        return True

    def __array__(self, *args, **kwargs):
        return np.zeros(1)

    def view(self, *args):
        return self


def test_a_subclass_of_numpys_array_comes_as_the_array_below_it():
    x = np.arange(3.0)
    for subclass in (np.ndarray.view(x, Liar), np.ma.masked_array(x, [0, 1, 0]), x.view(np.matrix)):
        plain = to_numpy(subclass)
        assert type(plain) is np.ndarray
        assert plain.ravel().tolist() == [0, 1, 2]
        assert np.shares_memory(plain, x) or isinstance(subclass, np.ma.MaskedArray)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_tensor_gets_other_contents_in_place(needs, library):
    needs(library)
    tensor = place(np.zeros(2, np.float32), "CPU", library)
    assert overwrite(tensor, np.array([1, 2], np.float32))
    assert tensor.tolist() == [1, 2]


def test_what_nobody_can_write_to_keeps_its_contents(needs, jax):
    fixed = np.zeros(2)
    fixed.flags.writeable = False
    sparse = needs("scipy.sparse").eye_array(2)
    for tensor in (fixed, place(np.zeros(2, np.float32), "CPU", "jax"), sparse, object()):
        assert not overwrite(tensor, np.ones(2))
