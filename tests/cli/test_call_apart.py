"""`c10 call` and what its kernel does to its process: crashes, leftovers, tracebacks."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from c10cli.jobs.fork import FORKS

KERNELS = """
import ctypes, os, subprocess, sys, time
import numpy as np

def crashes(x):
    ctypes.string_at(0)

def exits(x):
    os._exit(0)

def leaves(x):
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    return x.copy()

def closes(x):
    os.closerange(0, 3)
    sys.stdout = sys.stderr = None
    return x.copy()

def is_alone(x):
    return np.array([os.getppid(), os.getpid()])

def waits(x):
    print("waiting", flush=True)
    time.sleep(600)

def asks(x):
    return x.copy() if input() else None

def inner(x):
    raise RuntimeError("deep down")

def outer(x):
    return inner(x)

def axis(x):
    return np.sum(x, axis=7, keepdims=True)

def product(x):
    return x @ x

def own(x):
    raise RuntimeError("out of luck")

def special(x):
    raise NotImplementedError("not yet")
"""
OF_TORCH = ("product", "own", "special")
NAMES = ("crashes", "exits", "leaves", "closes", "is_alone", "waits", "asks", "outer", "axis", *OF_TORCH)


@pytest.fixture
def call(folder, c10_process):
    """`call(*words)`: `c10 call` as a process, over the kernels above."""
    (folder / "k.py").write_text(KERNELS)
    entries = ""
    for name in NAMES:
        more = ", arrays: torch, requires: [torch]" if name in OF_TORCH else ""
        entries += f'  - schema: "t::{name}(Tensor x) -> Tensor"\n'
        entries += f"    kernels: {{CPU: {{kernel: k.py:{name}{more}}}}}\n"
    entries += '  - schema: "t::gone(Tensor x) -> Tensor"\n    kernels: {CPU: broken.py:f}\n'
    (folder / "broken.py").write_text("def helper():\n    return 1 / 0\n\nhelper()\n")
    (folder / "registry.yaml").write_text(f"version: 1\noperators:\n{entries}")
    return lambda *words, **settings: c10_process("call", *words, **settings)


forks = pytest.mark.skipif(not FORKS, reason="only on Linux has a kernel of `c10 call` its own process")


@forks
@pytest.mark.parametrize(
    ("op", "how"), [("crashes", "was killed by SIGSEGV"), ("exits", "ended with exit code 0")]
)
def test_a_kernel_that_ends_its_process_is_told_as_that(call, op, how):
    ran = call(op, "[1]")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"error[C10E501]: kernel `{op}` of `t::{op}` ended its process: the process {how}\n"
        "  = help: run it with --in-process, under a debugger\n"
    )
    assert call(op, "[1]", "--format", "json").json["diagnostics"][0]["code"] == "C10E501"


@forks
def test_in_this_process_it_is_on_its_own(call):
    assert call("crashes", "[1]", "--in-process").code == -signal.SIGSEGV


@forks
def test_what_a_kernel_leaves_running_is_ended_and_named(call):
    ran = call("leaves", "[1]")
    assert (ran.code, ran.out) == (0, "float32[1]\n[1.]\n")
    assert ran.err == "kernel `leaves` of `t::leaves` left running, and ended now: sleep 600\n"


@forks
def test_what_a_kernel_does_to_its_streams_leaves_the_output_whole(call, folder):
    ran = call("closes", "[1]", "--save", "y.npy")
    assert (ran.code, ran.out, ran.err) == (0, "float32[1]\n[1.]\n", "")
    assert np.load(folder / "y.npy").tolist() == [1]


@forks
def test_a_kernel_that_asks_waits_for_nobody_unless_it_is_in_this_process(call, folder):
    (folder / "answer").write_text("yes\n")
    with (folder / "answer").open() as answer:
        assert "raised EOFError" in call("asks", "[1]", stdin=answer).err
    with (folder / "answer").open() as answer:
        assert call("asks", "[1]", "--in-process", stdin=answer).code == 0


@forks
def test_an_interrupt_ends_the_kernel_too(call, start_c10):
    with start_c10("call", "waits", "[1]") as process:
        said = process.stderr.readline() + process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert said == "kernel `waits` of `t::waits` printed:\n  waiting\n"
        assert process.communicate(timeout=30)[1].strip() == "interrupted"
    assert process.returncode == 130


@pytest.mark.parametrize("words", [[], ["--in-process"]], ids=["apart", "in-process"])
def test_a_traceback_begins_with_the_kernels_own_frames(call, folder, words):
    plain = call("outer", "[1]", *words)
    traced = call("outer", "[1]", "--traceback", *words)
    assert (plain.code, traced.code) == (1, 1)
    assert "Traceback" not in plain.err
    first, *frames = [line for line in traced.err.splitlines() if line.startswith(("Trace", "  File"))]
    assert first == "Traceback (most recent call last):"
    assert [frame.rpartition("in ")[2] for frame in frames] == ["outer", "inner"]
    assert all(f'File "{folder / "k.py"}"' in frame for frame in frames)
    assert traced.err.endswith(plain.err)


def test_the_traceback_of_an_import_begins_in_the_file(call, folder):
    ran = call("gone", "[1]", "--traceback")
    assert ran.code == 3
    assert ran.err.startswith(
        f'Traceback (most recent call last):\n  File "{folder / "broken.py"}", line 4, in <module>'
    )
    assert "ZeroDivisionError: division by zero\n" in ran.err


def test_an_axis_that_is_not_there_is_wrong_use(call):
    assert call("axis", "[1]").code == 2


@pytest.mark.parametrize(("op", "code"), [("product", 2), ("own", 1), ("special", 1)])
def test_what_torch_refuses_is_wrong_use_and_what_a_kernel_raises_is_not(call, op, code):
    pytest.importorskip("torch", reason="torch is not installed")
    ran = call(op, "ones(2, 3)")
    assert ran.code == code
    assert "error[C10E501]" in ran.err
