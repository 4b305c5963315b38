"""The CUDA kernels without a GPU: in Triton's interpreter on NumPy arrays, and compiled for devices."""

import json

import numpy as np
import pytest

# Runs one kernel on the arrays of a file, in a child: Triton chooses its interpreter when imported.
CALLS = """
import json
import numpy as np
entry, file, calls = arguments
arrays = dict(np.load(file))
results = {}
called = kernel(entry)
assert "torch" not in sys.modules  # which Triton 3.7 imports itself, when it launches
for number, (names, keywords) in enumerate(json.loads(calls)):
    inputs = [arrays[name] for name in names]
    before = [array.copy() for array in inputs]
    returned = called(*inputs, **keywords)
    for letter, array in zip("abc", returned if isinstance(returned, tuple) else (returned,)):
        results[f"{number}{letter}"] = array
    np.testing.assert_equal(inputs, before)
np.savez(file, **results)
"""

TORCH = """
import torch
x = torch.arange(35, dtype=torch.bfloat16).reshape(7, 5).t()
total = kernel("add_triton")(x, x[:, :1], alpha=2)
assert type(total) is torch.Tensor and total.dtype == torch.bfloat16
assert torch.equal(total, (x.float() + 2 * x[:, :1].float()).bfloat16())
output, mean, stdev = kernel("layer_norm_triton")(x.float(), 1, 1e-5)
torch.testing.assert_close(output, torch.layer_norm(x.float(), (7,)))
assert mean.shape == stdev.shape == (5,)
"""

# A library that neither Triton nor the kernels know, but that speaks DLPack.
FOREIGN = """
import types
import numpy as np
foreign = sys.modules["foreign"] = types.ModuleType("foreign")
class Array:
    __module__ = "foreign"
    def __init__(self, array): self.array = array
    def __dlpack__(self, **keywords): return self.array.__dlpack__(**keywords)
    def __dlpack_device__(self): return self.array.__dlpack_device__()
foreign.from_dlpack = lambda array: Array(np.from_dlpack(array))
total = kernel("add_triton")(Array(np.ones(3)), Array(np.ones(3)))
assert type(total) is Array
assert total.array.tolist() == [2.0, 2.0, 2.0]
"""

ADD_SHAPES = [
    ((4, 8), (4, 8)),
    ((3, 1000), (1000,)),
    ((1000,), (3, 1000)),
    ((5, 7), (5, 1)),
    ((), (3, 3)),
    ((1,), (5,)),
    ((0, 4), (4,)),
    ((1, 3), (4, 3)),
    ((2049,), (1,)),
    ((4, 1, 3), (1, 5, 1)),
]
NORM_SHAPES = [
    ((4, 8), 1),
    ((3, 5000), -1),
    ((2, 3, 5), 1),
    ((7,), 0),
    ((0, 4), 1),
    ((4, 0), 1),
    ((1, 1), -1),
]


@pytest.fixture(autouse=True)
def _triton(needs):
    needs("triton")


@pytest.fixture
def interpreted(run_child, tmp_path):
    """``interpreted(entry, calls)``, calls being (arrays, keywords): for each the list of its results."""

    def run(entry, calls):
        file = tmp_path / "arrays.npz"
        np.savez(file, **{f"{n}-{i}": x for n, (arrays, _) in enumerate(calls) for i, x in enumerate(arrays)})
        plan = [
            ([f"{n}-{i}" for i in range(len(arrays))], keywords) for n, (arrays, keywords) in enumerate(calls)
        ]
        run_child(CALLS, entry, file, json.dumps(plan), TRITON_INTERPRET="1")
        with np.load(file) as results:
            keys = [[f"{n}{letter}" for letter in "abc"] for n in range(len(calls))]
            return [[results[key] for key in row if key in results] for row in keys]

    return run


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_add_agrees_with_the_reference(interpreted, load, rng, dtype):
    reference = load("reference.add:add")
    pairs = [[np.asarray(rng.standard_normal(s)).astype(dtype) for s in shapes] for shapes in ADD_SHAPES]
    calls = [(pair, {"alpha": alpha}) for pair in pairs for alpha in (1, -0.3)]
    calls.append(([pairs[0][0].T, pairs[0][1].T], {}))
    limit = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
    for (arrays, keywords), (result,) in zip(calls, interpreted("add_triton", calls), strict=True):
        assert result.dtype == dtype
        np.testing.assert_allclose(result, reference(*arrays, **keywords), rtol=limit, atol=limit)


def test_add_takes_integers_and_mixed_dtypes(interpreted, load):
    small, large = np.arange(5, dtype=np.int8), np.arange(5, dtype=np.int64)
    calls = [
        ([small, small], {"alpha": 100}),
        ([large, large], {"alpha": 2**40}),
        ([np.ones(5, np.float32), small], {}),
    ]
    for (arrays, keywords), (result,) in zip(calls, interpreted("add_triton", calls), strict=True):
        assert result.dtype == np.result_type(*arrays)
        np.testing.assert_array_equal(result, load("reference.add:add")(*arrays, **keywords))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_layer_norm_agrees_with_the_reference(interpreted, load, rng, dtype):
    reference = load("reference.layer_norm:layer_norm")
    calls = [
        ([(3 * rng.standard_normal(shape) + 5).astype(dtype)], {"axis": axis}) for shape, axis in NORM_SHAPES
    ]
    calls.append(([np.array([[1, 2, np.nan], [1, np.inf, 2], [1, 2, 3]], dtype)], {"epsilon": 0.25}))
    limit = {"float16": 4e-3, "float32": 1e-5, "float64": 1e-12}[dtype]
    for (arrays, keywords), results in zip(calls, interpreted("layer_norm_triton", calls), strict=True):
        for result, expected in zip(results, reference(*arrays, **keywords), strict=True):
            assert (result.dtype, result.shape) == (dtype, expected.shape)
            np.testing.assert_allclose(result, expected, rtol=limit, atol=limit)


def test_torch_tensors_stay_torch_tensors(run_child, needs):
    needs("torch")
    run_child(TORCH, TRITON_INTERPRET="1")


def test_arrays_of_an_unknown_library_come_back_as_its_own(run_child):
    run_child(FOREIGN, TRITON_INTERPRET="1")


@pytest.mark.parametrize("entry", ["add_triton", "layer_norm_triton"])
def test_a_numpy_array_is_no_cuda_array(load, entry):
    name = "self" if entry == "add_triton" else "input"
    with pytest.raises(TypeError, match=rf"^{name} must be a CUDA array, got numpy\.ndarray$"):
        load(f"{entry}:{entry}")(*[np.ones(3)] * (2 if entry == "add_triton" else 1))


@pytest.fixture
def compile_for():
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    def compile_kernel(architecture, kernel, types, constants):
        signature = types | dict.fromkeys(constants, "constexpr")
        source = ASTSource(kernel, {name: signature[name] for name in kernel.arg_names}, constexprs=constants)
        target = GPUTarget("cuda", architecture, 32)
        return triton.compile(source, target=target, options={"enable_fp_fusion": True}).asm["cubin"]

    return compile_kernel


@pytest.mark.parametrize("architecture", [80, 90, 100])
@pytest.mark.parametrize("element", ["fp16", "fp32", "fp64"])
def test_both_kernels_compile_for_real_devices(
    load, compile_for, monkeypatch, tmp_path, architecture, element
):
    import triton.language as tl

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    work = tl.float64 if element == "fp64" else tl.float32
    pointers = dict.fromkeys(["self_ptr", "other_ptr", "out_ptr"], f"*{element}")
    numbers = {"size": "i64", "self_size": "i64", "other_size": "i32", "factor": "fp64", "whole": "i32"}
    constants = {"WORK": work, "SELF_REPEATS": False, "OTHER_REPEATS": True, "BLOCK": 1024}
    assert compile_for(architecture, load("add_triton:add_kernel"), pointers | numbers, constants)
    pointers = dict.fromkeys(["input_ptr", "output_ptr", "mean_ptr", "stdev_ptr"], f"*{element}")
    numbers = {"columns": "i32", "epsilon": "fp64"}
    constants = {"WORK": work, "BLOCK": 1024}
    assert compile_for(
        architecture, load("layer_norm_triton:layer_norm_kernel"), pointers | numbers, constants
    )
