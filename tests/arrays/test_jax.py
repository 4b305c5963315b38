"""A manifest whose kernels take jax's arrays, through the commands; jax runs in their processes alone."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.needs("jax")

KERNELS = """\
import jax
import jax.numpy as jnp
import numpy

def plus_one(x):
    assert isinstance(x, jax.Array)
    return x + 1

def plus_one_reference(x):
    return x + 1

def of_numpy(x):
    return numpy.asarray(x) + 1

def of_jax(x):
    return jnp.asarray(x) + 1
"""
MANIFEST = """\
version: 1
requires: [jax]
operators:
  - schema: "demo::plus_one(Tensor x) -> Tensor"
    kernels:
      CPU: {kernel: kernels.py:plus_one, arrays: jax}
      CUDA: {kernel: kernels.py:plus_one, arrays: jax}
    reference: kernels.py:plus_one_reference
    cases: [{name: three, dtypes: [float32, bfloat16], inputs: {x: "randn(3)"}}]
"""
MIXED = """\
version: 1
operators:
  - schema: "demo::plus_one(Tensor x) -> Tensor"
    kernels: {CPU: kernels.py:of_jax}
    cases: [{name: three, inputs: {x: "randn(3)"}}]
"""
NUMPYS = """\
version: 1
operators:
  - schema: "demo::plus_one(Tensor x) -> Tensor"
    kernels: {CPU: {kernel: kernels.py:of_numpy, arrays: jax}}
    cases: [{name: c, sweep: {n: [1, 2]}, dtypes: [float32, float16, int32, int8], inputs: {x: "ones(n)"}}]
"""
WIDE = """\
version: 1
operators:
  - schema: "demo::plus_one(Tensor x) -> Tensor"
    kernels: {CPU: [{kernel: kernels.py:plus_one, arrays: jax}, {kernel: kernels.py:of_jax, arrays: jax}]}
    cases: [{name: three, dtypes: [float64], inputs: {x: "randn(3)"}}]
"""


@pytest.fixture
def c10(tmp_path):
    """``c10(manifest, *words)``: the ended command, in the folder of the manifest."""

    def c10(manifest, *words, **variables):
        (tmp_path / "registry.yaml").write_text(manifest, encoding="utf-8")
        (tmp_path / "kernels.py").write_text(KERNELS, encoding="utf-8")
        settings = {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu", **variables}
        return subprocess.run(
            [sys.executable, "-m", "c10cli", *words],
            cwd=tmp_path,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
        )

    return c10


def test_kernels_that_take_jaxs_arrays_are_checked_against_the_reference(c10):
    done = c10(MANIFEST, "validate")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 kernel run, 2 calls compared with the reference" in done.stdout


def test_a_call_makes_jaxs_arrays_and_shows_the_result(c10):
    done = c10(MANIFEST, "call", "plus_one", "[1, 2]")
    assert done.stdout.splitlines() == ["float32[2]", "[2., 3.]"], done.stderr


def test_kernels_that_take_jaxs_arrays_are_timed(c10):
    done = c10(MANIFEST, "bench", "three/float32", "--time", "0.01", "--format", "json")
    run = json.loads(done.stdout)["run"]
    (case,) = run["cases"]
    assert (case["id"], case["status"]) == ("demo::plus_one/CPU/plus_one/three/float32", "ok")
    assert case["checks"]["follows"] == "not checked: the arguments have no contents to change in place"
    assert "jax" in run["environment"]["packages"]


def test_a_kernel_that_gives_jaxs_arrays_for_numpys_is_refused(c10):
    done = c10(MIXED, "validate")
    assert done.returncode == 1
    assert "C10E502" in done.stderr
    assert "gave a jax tensor (float32[3]) for return 0, where the arguments are of numpy" in done.stderr


def test_jax_is_not_to_make_narrower_arrays_unless_the_user_lets_it_make_wide_ones(c10):
    done = c10(WIDE, "validate")
    assert done.returncode == 1
    made = "case three/float64 of `demo::plus_one` cannot be made: jax makes float32 of an array of float64"
    assert done.stderr.count("error[C10E405]") == 1
    column = WIDE.splitlines()[4].index("float64") + 1
    assert f"error[C10E405]: {made}\n --> registry.yaml:5:{column}\n" in done.stderr
    assert c10(WIDE, "validate", JAX_ENABLE_X64="1").returncode == 0


def test_a_case_that_jax_does_not_make_is_skipped_and_told_by_its_exit_code(c10):
    done = c10(WIDE, "bench", "--time", "0.01", "--format", "json")
    cases = json.loads(done.stdout)["run"]["cases"]
    assert [(case["status"], case["code"]) for case in cases] == [("skipped", "C10E405")] * 2
    assert done.returncode == 1


def test_one_fault_of_a_kernel_is_one_finding_whatever_its_cases_look_like(c10):
    done = c10(NUMPYS, "validate")
    assert done.returncode == 1
    assert done.stderr.count("error[") == 1
    assert "error[C10E502]: kernel `of_numpy` of `demo::plus_one` gave a numpy tensor (" in done.stderr
    assert "= note: 7 more cases in the same way\n" in done.stderr


LEFT_OUT = "JAX_PLATFORMS leaves out the CPU"


def test_a_jax_that_is_to_leave_out_the_cpu_is_told_before_it_is_imported(c10):
    for platforms in ("cuda", "nope"):
        done = c10(MANIFEST, "call", "plus_one", "[1, 2]", JAX_PLATFORMS=platforms)
        assert done.returncode == 3
        told = f"error[C10E607]: no CPU tensor can be made here: {LEFT_OUT}\n"
        assert done.stderr.startswith(f"{told}  = help: add `cpu` to JAX_PLATFORMS")
    explained = c10(MANIFEST, "explain", "plus_one", "[1, 2]", JAX_PLATFORMS="cuda")
    assert f"cannot be called here: {LEFT_OUT}" in explained.stdout
    checked = c10(MANIFEST, "validate", JAX_PLATFORMS="cuda")
    assert (checked.returncode, checked.stderr) == (4, "")  # nothing was checked
    assert f"run of demo::plus_one CPU plus_one: {LEFT_OUT}\n" in checked.stdout


def test_kernels_of_a_jax_that_leaves_out_the_cpu_are_skipped_by_the_benchmark(c10):
    done = c10(MANIFEST, "bench", "--time", "0.01", "--format", "json", JAX_PLATFORMS="cuda")
    run = json.loads(done.stdout)["run"]
    assert run["cases"] == []
    assert LEFT_OUT in {skipped["reason"] for skipped in run["skipped"]}


def test_a_platform_of_jaxs_that_does_not_start_is_told_where_the_first_array_is_made(c10):
    # It is named before the CPU, and jax refuses to start without it.
    settings = {"JAX_PLATFORMS": "nope,cpu"}
    called = c10(MANIFEST, "call", "plus_one", "[1, 2]", **settings)
    assert called.returncode == 3
    assert called.stderr.startswith("error[C10E607]: no CPU tensor can be made here: RuntimeError: ")
    checked = c10(MANIFEST, "validate", **settings)
    assert (checked.returncode, checked.stderr) == (4, "")  # nothing was checked
    assert "run of demo::plus_one CPU plus_one: no CPU tensor can be made here: " in checked.stdout
    assert c10(MANIFEST, "validate", "--require", "CPU", **settings).returncode == 1
    timed = c10(MANIFEST, "bench", "three/float32", "--time", "0.01", "--format", "json", **settings)
    (case,) = json.loads(timed.stdout)["run"]["cases"]
    assert (case["status"], case["code"], timed.returncode) == ("skipped", "C10E607", 4)
