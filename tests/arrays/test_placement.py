import numpy as np
import pytest

from c10cli import ArgumentError, DispatchError
from c10cli.arrays.devices import device_of
from c10cli.arrays.placement import place, to_numpy


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

    @pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
    def test_floats_that_numpy_does_not_have_come_as_float32(self, dtype):
        import torch

        array = to_numpy(torch.tensor([1.0, 2.0]).to(getattr(torch, dtype)))
        assert (array.dtype, array.tolist()) == (np.float32, [1.0, 2.0])

    def test_sparse_and_conjugated_tensors_are_read_as_what_they_mean(self):
        import torch

        assert to_numpy(torch.eye(2).to_sparse()).tolist() == [[1, 0], [0, 1]]
        assert to_numpy(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]
        assert to_numpy(torch.tensor([1 + 2j]).conj().imag).tolist() == [-2.0]


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
