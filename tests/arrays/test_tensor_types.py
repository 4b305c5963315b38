import sys
from types import SimpleNamespace

import numpy as np
import pytest

from c10cli.arrays import tensor_types
from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import library_of
from c10cli.arrays.tensor_types import fault_of, is_tensor, key_of, register_tensor_type, resolve_type
from c10cli.errors import ArgumentError, DispatchError, RegistrationError


def test_a_numpy_array_is_on_cpu():
    assert key_of(np.zeros(2)) is DispatchKey.CPU


def test_a_subclass_of_ndarray_may_mean_something_else_and_is_no_tensor_unless_taught():
    class Labelled(np.ndarray):
        pass

    class Mapped(np.memmap):
        pass

    record = np.zeros(2, "i4,f4").view(np.recarray)
    for value in (np.zeros(2).view(Labelled), np.ma.zeros(2), np.zeros((2, 2)).view(np.matrix), record):
        assert key_of(value) is None
        assert not is_tensor(value)
    assert library_of(np.ma.zeros(2)) == ""
    assert resolve_type(Mapped) is None
    register_tensor_type(Labelled, "CPU")
    assert key_of(np.zeros(2).view(Labelled)) is DispatchKey.CPU


def test_a_memory_map_is_an_ordinary_array(tmp_path):
    array = np.memmap(tmp_path / "x", "float32", "w+", shape=3)
    assert key_of(array) is DispatchKey.CPU
    assert library_of(array) == "numpy"
    assert fault_of(array) == ("", "")


@pytest.mark.parametrize(
    ("dtype", "fact"),
    [
        ("O", "holds Python objects"),
        ("i4,f4", "holds records"),
        ("V2", "holds raw bytes"),
        (np.dtype("f4").newbyteorder("S"), "has a foreign byte order"),
        (np.dtype("c8").newbyteorder("S"), "has a foreign byte order"),
    ],
)
def test_arrays_of_elements_that_no_kernel_can_see_have_a_fault_unless_they_are_taught(
    dtype, fact, monkeypatch
):
    array = np.zeros(2, dtype)
    assert fault_of(array)[0] == fact
    monkeypatch.setitem(tensor_types._taught, id(np.ndarray), (np.ndarray, DispatchKey.CPU))
    assert fault_of(array) == ("", "")


def test_numbers_booleans_texts_and_times_have_no_fault(needs):
    dtypes = ["?", "i1", "u8", "f2", "g", "G", "U3", "M8[s]", needs("ml_dtypes").bfloat16]
    assert {fault_of(np.zeros(2, dtype)) for dtype in dtypes} == {("", "")}


@pytest.mark.parametrize("value", [None, 1, 2.0, "text", [np.zeros(2)], np.float64(1), np.ndarray, object()])
def test_what_is_no_array_is_no_tensor(value):
    assert key_of(value) is None
    assert not is_tensor(value)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_scipy_sparse_matrices_and_arrays_are_on_sparse_cpu(needs, form, kind):
    sparse = needs("scipy.sparse")
    assert key_of(getattr(sparse, f"{form}_{kind}")(np.eye(2))) is DispatchKey.SparseCPU


TORCH = {
    "strided": (lambda torch: torch.zeros(2, 2), "CPU"),
    "a view": (lambda torch: torch.zeros(2, 2).T, "CPU"),
    "COO": (lambda torch: torch.eye(2).to_sparse(), "SparseCPU"),
    "CSR": (lambda torch: torch.eye(2).to_sparse_csr(), "SparseCPU"),
    "CSC": (lambda torch: torch.eye(2).to_sparse_csc(), "SparseCPU"),
    "BSR": (lambda torch: torch.eye(2).to_sparse_bsr((1, 1)), "SparseCPU"),
    "BSC": (lambda torch: torch.eye(2).to_sparse_bsc((1, 1)), "SparseCPU"),
    "mkldnn": (lambda torch: torch.eye(2).to_mkldnn(), "CPU"),
    "quantized": (lambda torch: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8), "CPU"),
    "nested": (lambda torch: torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]), "CPU"),
    "nested, jagged": (
        lambda torch: torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=torch.jagged),
        "CPU",
    ),
    "meta": (lambda torch: torch.zeros(2, device="meta"), "Meta"),
    "sparse on meta": (lambda torch: torch.eye(2).to_sparse_csr().to("meta"), "Meta"),
    "fake": (lambda torch: fake(torch, torch.zeros(2)), "CPU"),
    "fake and sparse": (lambda torch: fake(torch, torch.eye(2).to_sparse()), "SparseCPU"),
    "fake, of a device that is not there": (lambda torch: fake_cuda(torch), "CUDA"),
    "functional": (lambda torch: torch._to_functional_tensor(torch.zeros(2)), "CPU"),
    "functional, as a subclass": (lambda torch: functional(torch), "CPU"),
    "a buffer": (lambda torch: torch.nn.Buffer(torch.zeros(2)), "CPU"),
    "a parameter": (lambda torch: torch.nn.Parameter(torch.zeros(2)), "CPU"),
    "a sparse parameter": (lambda torch: torch.nn.Parameter(torch.eye(2).to_sparse()), "SparseCPU"),
    "a parameter not yet made": (lambda torch: torch.nn.UninitializedParameter(), "CPU"),
    "a parameter on meta": (lambda torch: torch.nn.Parameter(torch.zeros(2, device="meta")), "Meta"),
    "a subclass": (lambda torch: torch.zeros(2).as_subclass(type("Own", (torch.Tensor,), {})), "CPU"),
}


def fake(torch, tensor):
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode().from_tensor(tensor)


def fake_cuda(torch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.empty(2, device="cuda")


def functional(torch):
    from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode

    with FunctionalTensorMode():
        return FunctionalTensor.to_functional(torch.zeros(2))


@pytest.mark.filterwarnings(
    "ignore:Sparse:UserWarning",
    "ignore:The PyTorch API of nested:UserWarning",
    "ignore:torch.quantize_per_tensor:UserWarning",
)
@pytest.mark.parametrize(("make", "key"), TORCH.values(), ids=TORCH)
def test_torch_tensors_have_the_key_of_their_device_and_layout(torch, make, key):
    assert key_of(make(torch)) is DispatchKey(key)


@pytest.mark.parametrize("transform", ["vmap", "grad", "functionalize"])
def test_a_tensor_that_torch_transforms_keeps_its_key(torch, transform):
    found = []

    def function(x):
        found.append(key_of(x))
        return x.sum()

    getattr(torch.func, transform)(function)(torch.ones(2))
    assert found
    assert set(found) == {DispatchKey.CPU}


def stand_in(module, name, bases=(), **attributes):
    """A type that says it is another library's, for devices that a test machine does not have."""
    return type(name, bases, {"__module__": module, **attributes})


def on_jax_device(platform, version=""):
    """A stand-in for an array of jax on a device other than the CPU; those on it are in test_jax.py."""
    device = SimpleNamespace(platform=platform, client=SimpleNamespace(platform_version=version))
    return stand_in("jaxlib._jax", "ArrayImpl", sharding=SimpleNamespace(device_set=[device]))()


@pytest.mark.parametrize(
    ("platform", "version", "key"),
    [
        ("gpu", "PJRT C API\ncuda 12090", "CUDA"),
        ("gpu", "PJRT C API\nrocm 60300", "HIP"),
        ("cuda", "", "CUDA"),
        ("rocm", "", "HIP"),
        ("tpu", "", "XLA"),
    ],
)
def test_a_stand_in_for_an_array_of_jax_has_the_key_of_its_platform(platform, version, key):
    assert key_of(on_jax_device(platform, version)) is DispatchKey(key)


@pytest.mark.parametrize(("platform", "version"), [("METAL", ""), ("gpu", "another vendor's 1.0")])
def test_a_platform_of_jax_without_a_key_is_named(platform, version):
    with pytest.raises(ArgumentError, match=f"lives on device `{platform}`, which has no dispatch key"):
        key_of(on_jax_device(platform, version))


def test_a_stand_in_for_a_sparse_array_of_jax_has_the_sparse_key_or_none():
    base = stand_in("jax.experimental.sparse._base", "JAXSparse")
    sparse = stand_in("jax.experimental.sparse.bcoo", "BCOO", (base,))()
    sparse.data = on_jax_device("gpu", "cuda 12")
    assert key_of(sparse) is DispatchKey.SparseCUDA
    sparse.data = on_jax_device("tpu")
    with pytest.raises(ArgumentError, match="lives on device `sparse XLA`, which has no dispatch key"):
        key_of(sparse)
    sparse.data = [1.0]
    with pytest.raises(ArgumentError, match="lives on device `list`, which has no dispatch key"):
        key_of(sparse)


def test_a_stand_in_for_an_array_that_jax_traces_has_no_key_whatever_it_holds():
    traced = stand_in("jax._src.core", "Tracer")
    own = stand_in("jax._src.interpreters.ad", "JVPTracer", (traced,), shape=(2,), dtype="float32")
    for held in (traced(), 2.0, None):
        tracer = own()
        tracer.primal = held
        with pytest.raises(ArgumentError, match=r"float32\[2\], an array that jax traces, is on no device"):
            key_of(tracer)
    tracer.primal = np.zeros(2)
    assert key_of(tracer) is DispatchKey.CPU


@pytest.mark.parametrize(("is_hip", "key"), [(False, "CUDA"), (True, "HIP")])
def test_a_stand_in_for_cupy_has_the_key_of_its_build(monkeypatch, is_hip, key):
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=SimpleNamespace(is_hip=is_hip)))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    array = stand_in("cupy", "ndarray")
    assert key_of(array()) is DispatchKey(key)
    assert key_of(type("Labelled", (array,), {})()) is DispatchKey(key)


@pytest.mark.parametrize("name", ["spmatrix", "_spbase"])
def test_a_stand_in_for_cupys_sparse_matrices_is_on_sparse_cuda_or_has_no_key(monkeypatch, name):
    base = stand_in("cupyx.scipy.sparse._base", name)
    matrix = stand_in("cupyx.scipy.sparse._csr", "csr_matrix", (base,))()
    runtime = SimpleNamespace(is_hip=False)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    assert key_of(matrix) is DispatchKey.SparseCUDA
    runtime.is_hip = True
    with pytest.raises(ArgumentError, match="lives on device `sparse HIP`, which has no dispatch key"):
        key_of(matrix)


def fake_torch_type(**attributes):
    return stand_in("torch", "Tensor", **attributes)


@pytest.mark.parametrize(
    ("device", "key"), [("xpu", "XPU"), ("mps", "MPS"), ("xla", "XLA"), ("hip", "HIP"), ("meta", "Meta")]
)
def test_a_stand_in_for_a_torch_device_has_its_key(monkeypatch, device, key):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(strided="strided"))
    place = SimpleNamespace(type=device)
    value = fake_torch_type(is_cpu=False, is_cuda=False, device=place, layout="strided")()
    assert key_of(value) is DispatchKey(key)


def test_a_torch_device_without_a_key_says_how_to_teach_one():
    device = type("device", (), {"type": "vulkan"})
    value = fake_torch_type(is_cpu=False, is_cuda=False, device=device)()
    with pytest.raises(ArgumentError) as caught:
        key_of(value)
    (told,) = caught.value.diagnostics
    assert told.message == (
        "a tensor of type `torch.Tensor` lives on device `vulkan`, which has no dispatch key"
    )
    assert told.help == "teach the key with register_tensor_type(Tensor, FUNCTION)"


@pytest.mark.parametrize(
    ("hip", "layout", "key"),
    [(None, "strided", "CUDA"), ("6.0", "strided", "HIP"), (None, "torch.sparse_coo", "SparseCUDA")],
)
def test_a_fake_torch_on_a_gpu_gives_the_key_of_its_build_and_layout(monkeypatch, hip, layout, key):
    version = type("version", (), {"hip": hip})
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(version=version, strided="strided"))
    value = fake_torch_type(is_cpu=False, is_cuda=True, layout=layout)()
    assert key_of(value) is DispatchKey(key)


@pytest.mark.parametrize(("device", "name"), [("mps", "MPS"), ("xpu", "XPU")])
def test_a_stand_in_for_a_sparse_torch_tensor_gets_no_dense_kernel(monkeypatch, device, name):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(strided="strided"))
    place = SimpleNamespace(type=device)
    value = fake_torch_type(is_cpu=False, is_cuda=False, device=place, layout="torch.sparse_coo")()
    with pytest.raises(ArgumentError, match=f"lives on device `sparse {name}`, which has no dispatch key"):
        key_of(value)


@pytest.mark.parametrize(
    ("device_type", "key"), [(1, "CPU"), (2, "CUDA"), (3, "CPU"), (8, "MPS"), (10, "HIP"), (14, "XPU")]
)
def test_an_unknown_type_with_dlpack_is_asked_for_its_device(device_type, key):
    exporter = type("Exporter", (), {"__dlpack_device__": lambda self: (device_type, 0)})
    assert key_of(exporter()) is DispatchKey(key)


def test_types_by_the_thousand_are_not_all_remembered():
    for i in range(3000):
        assert key_of(type(f"Passing{i}", (), {})()) is None
    assert len(tensor_types._resolved) <= 1000
    assert key_of(np.zeros(1)) is DispatchKey.CPU


def test_a_dlpack_device_without_a_key_is_an_error_that_names_it():
    exporter = type("Exporter", (), {"__dlpack_device__": lambda self: (99, 0)})
    with pytest.raises(ArgumentError, match="lives on device `DLPack 99`, which has no dispatch key"):
        key_of(exporter())


def test_a_taught_type_and_its_subclasses_have_the_key():
    class Grid:
        pass

    class FineGrid(Grid):
        pass

    assert key_of(Grid()) is None
    register_tensor_type(Grid, "XLA")
    assert (key_of(Grid()), key_of(FineGrid())) == (DispatchKey.XLA, DispatchKey.XLA)


def test_a_taught_function_decides_by_value_and_may_give_a_name():
    class Anywhere:
        place = "CUDA"

    register_tensor_type(Anywhere, lambda value: value.place)
    value = Anywhere()
    assert key_of(value) is DispatchKey.CUDA
    value.place = DispatchKey.CPU
    assert key_of(value) is DispatchKey.CPU


def test_teaching_wins_over_what_is_built_in():
    class OnDevice(np.ndarray):
        pass

    register_tensor_type(OnDevice, "MPS")
    assert key_of(np.zeros(2).view(OnDevice)) is DispatchKey.MPS
    assert key_of(np.zeros(2)) is DispatchKey.CPU


def test_a_type_may_be_taught_anew():
    class Grid:
        pass

    register_tensor_type(Grid, "CPU")
    register_tensor_type(Grid, "CUDA")
    assert key_of(Grid()) is DispatchKey.CUDA


def test_teaching_an_unknown_key_is_refused_and_teaches_nothing():
    class Grid:
        pass

    with pytest.raises(DispatchError, match="unknown dispatch key `Cpu`"):
        register_tensor_type(Grid, "Cpu")
    assert key_of(Grid()) is None


@pytest.mark.parametrize(
    ("tensor_type", "key", "message"),
    [
        ("numpy.ndarray", "CPU", "error[C10E309] 'numpy.ndarray' is no type"),
        (int, 3, "error[C10E309] 3 is neither a dispatch key nor a function"),
    ],
)
def test_teaching_takes_a_type_and_a_key_or_function(tensor_type, key, message):
    with pytest.raises(RegistrationError) as caught:
        register_tensor_type(tensor_type, key)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("found", "gave", "help"),
    [
        (None, "None", "return a DispatchKey, or the name of one"),
        (3, "int 3", "return a DispatchKey, or the name of one"),
        ([1], "list of 1", "return a DispatchKey, or the name of one"),
        ("CUDO", "`CUDO`", "did you mean `CUDA`?"),
    ],
)
def test_a_key_function_that_gives_no_key_is_named_with_its_type(found, gave, help):
    class Grid:
        pass

    def device_of(grid):
        return found

    register_tensor_type(Grid, device_of)
    local = "test_a_key_function_that_gives_no_key_is_named_with_its_type.<locals>"
    with pytest.raises(DispatchError) as caught:
        key_of(Grid())
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.help) == ("C10E108", help)
    assert diagnostic.message == (
        f"`{local}.device_of`, the key function of tensor type `{__name__}.{local}.Grid`,"
        f" gave {gave}, which is no dispatch key"
    )
    assert (caught.value.tensor_type, caught.value.dispatch_key) == (Grid, found)
