"""`c10 call` of the shipped operators, with their NumPy kernels."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shipped(c10):
    """`shipped(*words)`: `c10 call` over the shipped registry, with its NumPy kernels."""
    return lambda *words, **settings: c10("call", "--registry", ROOT / "registry.yaml", *words, **settings)


def test_add_with_lists_and_a_keyword(shipped):
    ran = shipped("add", "[[1, 2], [3, 4]]", "ones(2, 2)", "--alpha", "2")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "float32[2, 2]\n[[3., 4.],\n [5., 6.]]\n"


def test_cat_dispatches_on_a_list(shipped):
    ran = shipped("cat", "[ones(2), zeros(3)]")
    assert (ran.code, ran.out) == (0, "float32[5]\n[1., 1., 0., 0., 0.]\n")


def test_layer_norm_takes_a_negative_number_and_gives_three(shipped):
    ran = shipped("--variant", "numpy", "layer_norm", "randn(4, 8)", "--axis", "-1", "--format", "json")
    assert ran.code == 0
    output, mean, stdev = ran.json["returns"]
    assert (output["name"], output["dtype"], output["shape"]) == ("output", "float32", [4, 8])
    assert ([mean["name"], mean["shape"]], [stdev["name"], stdev["shape"]]) == (["mean", [4]], ["stdev", [4]])
    data = np.array(output["data"])
    np.testing.assert_allclose(data.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(data.std(axis=1), 1, rtol=1e-4)


def test_topk_reads_a_file_and_saves_both_results(shipped, folder):
    np.save("x.npy", np.array([3.0, 9.0, 1.0, 7.0]))
    ran = shipped("topk", "@x.npy", "3", "--save", "y.npz")
    assert ran.code == 0
    assert ran.out == "values: float64[3]\n[9., 7., 3.]\nindices: int64[3]\n[1, 3, 0]\n"
    with np.load("y.npz") as saved:
        assert saved["values"].tolist() == [9, 7, 3]
        assert saved["indices"].tolist() == [1, 3, 0]


def test_standard_input_and_archive_members_are_arrays(shipped, folder):
    raw = io.BytesIO()
    np.save(raw, np.array([-1.0, 2.0]))
    assert shipped("relu", "-", stdin=raw.getvalue()).out == "float64[2]\n[0., 2.]\n"
    np.savez("z.npz", a=np.array([-3, 4]), b=np.zeros(1))
    assert shipped("relu", "@z.npz:a").out == "int64[2]\n[0, 4]\n"


def test_json_is_one_named_object(shipped):
    ran = shipped("add", "[1]", "[2]", "--format", "json")
    assert ran.json == {
        "format": "c10.call/1",
        "name": "c10::add",
        "kernel": "kernels/add.py:add_cpu",
        "returns": [{"name": "", "dtype": "float32", "shape": [1], "key": "CPU", "data": [3.0]}],
        "registry": str(ROOT / "registry.yaml"),
        "disabled": [],
    }


def test_nan_and_infinity_are_valid_json(shipped):
    ran = shipped("add", "[nan, inf, -inf]", "[0, 0, 0]", "--format", "json")
    assert ran.json["returns"][0]["data"] == ["nan", "inf", "-inf"]


def test_a_call_without_a_tensor_is_refused_for_a_variant_too(shipped):
    for words in ([], ["--variant", "numpy"]):
        ran = shipped("cat", "[]", *words)
        assert ran.code == 2
        assert "error[C10E408]" in ran.err


def test_shapes_that_do_not_fit_are_wrong_use_told_by_the_kernel(shipped):
    ran = shipped("cat", "[ones(2, 3), ones(2, 4)]")
    assert ran.code == 2
    first, second, third, fourth = ran.err.splitlines()
    assert first == (
        "error[C10E501]: kernel `kernels/cat.py:cat_cpu` of `c10::cat` raised ValueError: "
        "tensors[1] float32[2, 4] does not match tensors[0] float32[2, 3] outside dim 0"
    )
    assert second == " --> call of c10::cat with `tensors`: list of 2, `dim`: int 0"
    assert third.startswith("  = note: raised at ")
    assert "kernels/cat.py:" in third
    assert fourth == "  = help: give arguments that the kernel takes, or correct the kernel"


def test_arguments_outside_of_the_domain_are_wrong_use_and_reach_no_kernel(shipped):
    ran = shipped("matmul", "ones(2, 3)", "ones(2, 3)")
    assert ran.code == 2
    assert ran.err.splitlines()[0] == (
        "error[C10E405]: argument `other` of `c10::matmul`, float32[2, 3], is outside its domain: "
        "`inner` is 2 here, and inner is 3, from self float32[2, 3]"
    )


def test_what_is_not_given_is_made_from_the_domain(shipped):
    assert shipped("softmax", "--dims", "n=2,3").out.splitlines()[0] == "float32[2, 3]"
    ran = shipped("topk", "--dims", "n=2,9", "--k", "3", "--dtype", "float16")
    assert [line for line in ran.out.splitlines() if ":" in line] == [
        "values: float16[2, 3]",
        "indices: int64[2, 3]",
    ]
    ran = shipped("softmax", "--dims", "m=3")
    assert (ran.code, ran.err.splitlines()[0]) == (
        2,
        "error[C10E405]: the domain of `c10::softmax` has no dim `m`; it has n",
    )
