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

def plus_one(x):
    assert isinstance(x, jax.Array)
    return x + 1

def plus_one_reference(x):
    return x + 1

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
WIDE = """\
version: 1
operators:
  - schema: "demo::plus_one(Tensor x) -> Tensor"
    kernels: {CPU: {kernel: kernels.py:plus_one, arrays: jax}}
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
    assert "error[C10E405]: jax makes float32 of an array of float64" in done.stderr
    assert c10(WIDE, "validate", JAX_ENABLE_X64="1").returncode == 0
