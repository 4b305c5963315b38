from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from c10cli.arrays import devices

ROOT = Path(__file__).parents[2]

HELP = """\
Usage: c10 call clash [OPTIONS] X KEY

  The operator clash.

  t::clash(Tensor x, int key, *, int save=0, int seed=0, int registry=0, int format=0) -> int[]

Options:
  --x Tensor                   such as 'randn(4, 8)', '[[1, 2]]', @x.npy,
                               @x.npz:name, or - for standard input
                               [required]
  --key int                    such as -1  [required]
  --save int                   such as -1  [default: 0]
  --seed int                   such as -1  [default: 0]
  --registry int               such as -1  [default: 0]
  --format int                 such as -1  [default: 0]
  --device DEVICE  """

KERNELS = """
import os
import sys
import numpy as np

def echo(like, word, number, scale, flag, dims, weights, scalar, dtype, maybe, mask):
    shown = None if mask is None else mask.tolist()
    return repr((word, number, scale, flag, dims, weights, scalar, str(dtype), maybe, shown))

def clash(x, key, save, seed, registry, format):
    return [key, save, seed, registry, format]

def noisy(x):
    print("noise from Python")
    sys.stdout.flush()
    os.write(1, b"noise from below\\n")
    return x + 1

def leaves(x):
    sys.exit(0)

def fails(x):
    raise RuntimeError("the device is on fire")

def refuses(x):
    raise ValueError("rank 2 is wanted")

def mistypes(x):
    raise TypeError("x of integers is wanted")

def overruns(x):
    raise IndexError("axis 3 of 2")

def writes(x):
    x += 1
    return x.copy()

def aliases(x):
    return x

def one_of_two(x):
    return x + 1

def nothing(x):
    return None

def scalars(x):
    return np.int64(3), np.float32(0.5), True, "word"

def parts(x):
    return [x[:1].copy(), x[1:].copy()]

def double(x):
    return x * 2

def triple(x):
    return x * 3
"""

REGISTRY = """\
version: 1
operators:
  - schema: >-
      t::echo(Tensor like, *, str word='', int number=1, float scale=0.5, bool flag=False, int[] dims=[],
      float[] weights=[], Scalar? scalar=None, ScalarType? dtype=None, int? maybe=None,
      Tensor? mask=None) -> str
    kernels: {CPU: kernels.py:echo}
  - schema: >-
      t::clash(Tensor x, int key, *, int save=0, int seed=0, int registry=0, int format=0) -> int[]
    kernels: {CPU: kernels.py:clash}
  - schema: "t::noisy(Tensor x) -> Tensor"
    kernels: {CPU: kernels.py:noisy}
  - schema: "t::leaves(Tensor x) -> Tensor"
    kernels: {CPU: kernels.py:leaves}
  - schema: "t::fails(Tensor x) -> Tensor"
    kernels: {CPU: kernels.py:fails}
  - schema: "t::refuses(Tensor x) -> Tensor"
    kernels: {CPU: kernels.py:refuses}
  - schema: "t::mistypes(Tensor x) -> Tensor"
    kernels: {CPU: kernels.py:mistypes}
  - schema: "t::overruns(Tensor x) -> Tensor"
    kernels: {CPU: kernels.py:overruns}
  - schema: "t::writes(Tensor x) -> Tensor"
    kernels: {CPU: kernels.py:writes}
  - schema: "t::aliases(Tensor x) -> Tensor"
    kernels: {CPU: kernels.py:aliases}
  - schema: "t::two(Tensor x) -> (Tensor, Tensor)"
    kernels: {CPU: kernels.py:one_of_two}
  - schema: "t::nothing(Tensor x) -> ()"
    kernels: {CPU: kernels.py:nothing}
  - schema: "t::scalars(Tensor x) -> (int n, float f, bool b, str s)"
    kernels: {CPU: kernels.py:scalars}
  - schema: "t::parts(Tensor x) -> Tensor[]"
    kernels: {CPU: kernels.py:parts}
  - schema: "t::variants(Tensor x) -> Tensor"
    kernels:
      CPU: [{kernel: kernels.py:double, name: double}, {kernel: kernels.py:triple, name: triple}]
      CUDA: {kernel: kernels.py:double, name: gpu}
  - schema: "t::needy(Tensor x) -> Tensor"
    kernels: {CPU: {kernel: kernels.py:double, requires: [no_such_package]}}
  - schema: "t::absent(Tensor x) -> Tensor"
    kernels: {CPU: gone.py:double}
  - schema: "t::broken(Tensor x) -> Tensor"
    kernels: {CPU: broken.py:double}
"""


@pytest.fixture
def call(c10, folder):
    """`call(*words)`: `c10 call` over the registry above."""
    (folder / "registry.yaml").write_text(REGISTRY)
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "broken.py").write_text("import a_module_that_is_not_there\n")
    return lambda *words, **settings: c10("call", *words, **settings)


@pytest.fixture
def no_driver(monkeypatch):
    monkeypatch.setattr(devices, "cuda_driver_reason", lambda: "no CUDA driver found")
    devices._device_of.cache_clear()


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ([], ("", 1, 0.5, False, [], [], None, "None", None, None)),
        (["--word", "a b"], ("a b", 1, 0.5, False, [], [], None, "None", None, None)),
        (["--word=--number"], ("--number", 1, 0.5, False, [], [], None, "None", None, None)),
        (
            ["--number", "-3", "--scale", "-1e-3", "--flag", "true"],
            ("", -3, -0.001, True, [], [], None, "None", None, None),
        ),
        (
            ["--dims", "[1, -2]", "--weights", "[0.5, 2]"],
            ("", 1, 0.5, False, [1, -2], [0.5, 2.0], None, "None", None, None),
        ),
        (["--scalar", "2.5", "--maybe", "7"], ("", 1, 0.5, False, [], [], 2.5, "None", 7, None)),
        (
            ["--scalar", "none", "--mask", "[1, 0]"],
            ("", 1, 0.5, False, [], [], None, "None", None, [1.0, 0.0]),
        ),
    ],
)
def test_every_kind_of_argument_comes_through(call, words, shown):
    ran = call("echo", "0", *words, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["returns"][0]["value"] == repr(shown)


def test_a_dtype_is_a_word(call):
    ran = call("echo", "0", "--dtype", "float64")
    assert ran.code == 0
    assert "float64" in ran.out


def test_after_the_operator_its_own_argument_names_win(call):
    ran = call("clash", "0", "5", "--save", "1", "--seed=2", "--registry", "3", "--format", "4")
    assert (ran.code, ran.out) == (0, "[5, 1, 2, 3, 4]\n")
    assert call("clash", "0", "--key", "-6").out == "[-6, 0, 0, 0, 0]\n"


def test_before_the_operator_every_option_is_ours(call, folder):
    ran = call("--key", "CPU", "--seed", "1", "--format", "json", "clash", "0", "5")
    assert ran.json["returns"] == [{"name": "", "value": [5, 0, 0, 0, 0]}]
    ran = call("--save", "y.npz", "clash", "0", "5")
    assert ran.code == 2
    assert "is int[], no array to save" in ran.err


def test_our_options_may_follow_the_operator(call, folder):
    ran = call(
        "variants", "[1]", "--variant", "triple", "--dtype=float64", "--save", "y.npy", "--format", "json"
    )
    assert ran.json["returns"][0]["dtype"] == "float64"
    assert ran.json["kernel"] == "kernels.py:triple"
    assert np.load("y.npy").tolist() == [3]


def test_the_registry_may_follow_the_operator(call, folder, monkeypatch):
    registry = folder / "registry.yaml"
    monkeypatch.setenv("C10_REGISTRY", str(ROOT / "registry.yaml"))
    for words in (["--registry", str(registry)], [f"--registry={registry}"]):
        assert call("variants", "[1]", *words).out == "float32[1]\n[2.]\n"
    assert call("relu", "[1]", "--registry", "gone.yaml").code == 3
    assert call("variants", "[1]").code == 2


def test_words_after_two_dashes_are_values(call):
    assert call("noisy", "--", "[-1]").out == "float32[1]\n[0.]\n"
    assert call("clash", "0", "--", "-1").out == "[-1, 0, 0, 0, 0]\n"
    assert call("--", "clash", "0", "-1").out == "[-1, 0, 0, 0, 0]\n"


def test_help_after_the_operator_is_made_of_its_schema(call):
    ran = call("clash", "--help", "--key", "CPU")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(HELP)
    assert "--key KEY" not in ran.out


@pytest.mark.parametrize(
    ("words", "code", "fact"),
    [
        (["varaints", "1"], "C10E401", "did you mean `t::variants`"),
        (["variants"], "C10E404", "is missing argument `x`"),
        (["variants", "1", "2"], "C10E404", "2 are given"),
        (["variants", "[1,", "2]"], "C10E404", "help: quote expressions: '[1, 2]'"),
        (["variants", "1", "--x", "2"], "C10E404", "`x` of `t::variants` is given twice"),
        (["variants", "1", "--x", "2", "--x", "3"], "C10E404", "argument `x` is given twice"),
        (["variants", "1", "--y", "2"], "C10E404", "`--y` is no argument of `t::variants` and no option"),
        (["variants", "'text'"], "C10E405", "must be Tensor"),
        (["echo", "0", "--number", "1.5"], "C10E405", "must be int, not float"),
        (["echo", "0", "--flag", "2"], "C10E405", "must be bool"),
        (["echo", "0", "--number", "9223372036854775808"], "C10E405", "64 bits"),
        (["variants", "[[1], [2, 3]]"], "C10E405", "no array of float32"),
        (["variants", "ones(10000000000000)"], "C10E410", "more than is free"),
        (["variants", "1", "--key", "CUDAA"], "C10E108", "did you mean `CUDA`?"),
        (["variants", "1", "--key", ""], "C10E108", "unknown dispatch key ``"),
        (["variants", "1", "--key", "FOO"], "C10E108", "help: name one of these"),
        (["variants", "1", "--device", "tpu"], "C10E108", "device `tpu` is none of cpu, cuda, gpu"),
        (["variants", "1", "--device", "cuda", "--key", "CPU"], "C10E108", "--key and --device differ"),
        (["variants", "1", "--variant", "tripel"], "C10E412", "did you mean `triple`?"),
        (["variants", "1", "--dtype", "float23"], "C10E410", "unknown dtype `float23`"),
        (
            ["refuses", "1"],
            "C10E501",
            "`kernels.py:refuses` of `t::refuses` raised ValueError: rank 2 is wanted",
        ),
        (["mistypes", "1"], "C10E501", "raised TypeError: x of integers is wanted"),
        (["overruns", "1"], "C10E501", "raised IndexError: axis 3 of 2"),
    ],
)
def test_wrong_use_is_told_with_code_fact_and_way_out(call, words, code, fact):
    ran = call(*words)
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err
    assert fact in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("words", "code", "fact"),
    [
        (["variants", "@gone.npy"], "C10E411", "No such file or directory"),
        (["variants", "-"], "C10E411", "standard input cannot be read"),
        (["needy", "1"], "C10E403", "needs `no_such_package`, not installed"),
        (["absent", "1"], "C10E304", "kernel file `gone.py` does not exist"),
        (["broken", "1"], "C10E304", "`broken.py` cannot be imported: ModuleNotFoundError"),
        (
            ["variants", "[1]", "--save", "gone/y.npy"],
            "C10E701",
            "cannot write y.npy: there is no folder `gone`",
        ),
        (["variants", "1", "--key", "CUDA"], "C10E607", "no CUDA driver found"),
        (["variants", "1", "--device", "cuda:0"], "C10E607", "no CUDA driver found"),
        (["variants", "1", "--key", "CUDA", "--variant", "gpu"], "C10E607", "no CUDA driver found"),
    ],
)
def test_what_this_machine_cannot_do_is_told_as_such(call, no_driver, words, code, fact):
    ran = call(*words)
    assert ran.code == 3
    assert f"error[{code}]" in ran.err
    assert fact in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("op", "code", "fact"),
    [
        ("fails", "C10E501", "raised RuntimeError: the device is on fire"),
        ("leaves", "C10E501", "raised SystemExit: 0"),
        ("writes", "C10E505", "changed argument `x`"),
        ("aliases", "C10E506", "shares memory with argument `x`"),
        ("two", "C10E502", "returned"),
    ],
)
def test_a_kernel_that_is_wrong_is_a_finding(call, op, code, fact):
    ran = call(op, "ones(2)")
    assert (ran.code, ran.out) == (1, "")
    assert f"error[{code}]" in ran.err
    assert fact in ran.err


def test_written_arguments_that_are_not_returned_are_shown_and_saved(c10, folder):
    (folder / "registry.yaml").write_text(
        """version: 1
operators:
  - schema: "t::twice(Tensor! out, Tensor x) -> ()"
    kernels: {CPU: k.py:twice}
  - schema: "t::both(Tensor(a!) x, Tensor(b!)? y=None) -> Tensor(a!)"
    kernels: {CPU: k.py:both}
"""
    )
    (folder / "k.py").write_text(
        "def twice(out, x):\n    out[...] = 2 * x\n"
        "def both(x, y):\n    x[...] = 1\n    if y is not None:\n        y[...] = 2\n    return x\n"
    )
    ran = c10("call", "twice", "zeros(2)", "ones(2)", "--save", "o.npy")
    assert ran.out.splitlines() == ["out: float32[2]", "[2., 2.]"]
    assert np.load(folder / "o.npy").tolist() == [2, 2]
    assert c10("call", "both", "zeros(1)").out.splitlines() == ["float32[1]", "[1.]"]
    given = c10("call", "both", "zeros(1)", "zeros(1)", "--format", "json").json["returns"]
    assert [(returned["name"], returned["data"]) for returned in given] == [("", [1]), ("y", [2])]


def test_what_a_kernel_prints_does_not_spoil_the_output(call, folder, c10_process):
    for words in ([], ["--in-process"]):
        ran = c10_process("call", "noisy", "[1]", "--format", "json", *words)
        assert ran.json["returns"][0]["data"] == [2.0]
        heard = "noise from Python\n{0}noise from below\n"
        name = "kernel `noisy` of `t::noisy` printed:\n  "
        assert ran.err == (heard.format("") if words else name + heard.format("  "))


def test_returns_that_are_no_tensors_are_shown_as_python_values(call):
    assert call("scalars", "0").out == "n: 3\nf: 0.5\nb: True\ns: 'word'\n"
    values = [r["value"] for r in call("scalars", "0", "--format", "json").json["returns"]]
    assert values == [3, 0.5, True, "word"]
    assert call("nothing", "0").out == ""
    assert call("parts", "[1, 2]").out == "[0]: float32[1]\n[1.]\n[1]: float32[1]\n[2.]\n"


def test_the_same_seed_gives_the_same_numbers(call):
    first, again, other = (call("variants", "randn(4)", "--seed", seed).out for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("name", ["y.txt", "y", ""])
def test_a_file_that_cannot_hold_the_result_is_refused_before_the_kernel_runs(call, name):
    ran = call("fails", "[1]", "--save", name)
    assert (ran.code, ran.out) == (2, "")
    assert "on fire" not in ran.err


def test_standard_output_takes_the_array_and_nothing_else(call, start_c10):
    words = ("call", "variants", "[1, 2]", "--save", "-")
    with start_c10(*words, text=False, encoding=None, errors=None) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert np.load(io.BytesIO(out)).tolist() == [2, 4]
    ran = call("variants", "[1, 2]", "--save", "-", "--format", "json")
    assert ran.code == 2
    assert "leaves no room for the array" in ran.err


def test_a_device_is_written_to(call):
    ran = call("variants", "[1]", "--save", "/dev/full")
    assert ran.code == 3
    assert "cannot write full: No space left on device" in ran.err
    assert Path("/dev/full").is_char_device()


def test_a_refusal_at_the_first_call_shows_the_manifests_place(call, folder):
    (folder / "kernels.py").write_text(KERNELS.replace("def double(x)", "def double(x, y)"))
    ran = call("variants", "[1]")
    assert ran.code == 1
    assert "error[C10E305]" in ran.err
    assert "registry.yaml:" in ran.err


def test_words_of_the_schema_are_the_same_inside_lists(folder, c10):
    (folder / "k.py").write_text("def f(x, xs, flags): return [len(xs), *map(int, flags)]\n")
    (folder / "registry.yaml").write_text(
        'version: 1\noperators:\n  - schema: "t::f(Tensor x, Tensor?[] xs, bool[] flags) -> int[]"\n'
        "    kernels: {CPU: k.py:f}\n"
    )
    assert c10("call", "f", "[1]", "[none, ones(2), None]", "[true, false, True]").out == "[3, 1, 0, 1]\n"
