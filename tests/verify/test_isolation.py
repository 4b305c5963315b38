"""What a kernel does to its process stays its own: the next kernel sees none of it."""

import pytest

from c10cli.verify.gate import validate

KERNELS = '''\
"""Pairs: `f_x` changes something of its process, `g_x`, the next one, finds it as it was."""
import builtins
import locale
import os
import random
import resource
import signal
import sys
import threading
import time
import warnings

import numpy as np


def reference(x):
    return x + 1


def f_alarm(x):
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    return x + 1


def g_alarm(x):
    time.sleep(0.4)
    return x + 1


def f_recursion(x):
    sys.setrecursionlimit(10_000)
    return x + 1


def g_recursion(x):
    assert sys.getrecursionlimit() < 10_000
    return x + 1


def f_modules(x):
    np.add = np.zeros = builtins.sorted = warnings.warn = None
    sys.modules["json"] = None
    return x + 1


def g_modules(x):
    import json

    assert None not in (np.add, np.zeros, builtins.sorted, warnings.warn, json)
    return x + 1


def f_descriptors(x):
    for number in range(3):
        os.close(number)
    return x + 1


def g_descriptors(x):
    print("still here")
    return x + 1


def f_folder(x):
    os.chdir("/")
    os.umask(0o777)
    return x + 1


def g_folder(x):
    assert os.getcwd() != "/"
    assert os.umask(0o22) != 0o777
    return x + 1


def f_environment(x):
    os.environ.clear()
    locale.setlocale(locale.LC_ALL, "C")
    locale.localeconv = None
    return x + 1


def g_environment(x):
    assert "PATH" in os.environ
    assert locale.localeconv
    return x + 1


def f_signals(x):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    return x + 1


def g_signals(x):
    assert signal.getsignal(signal.SIGTERM) == signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
    return x + 1


def f_random(x):
    np.random.seed(0)
    random.seed(0)
    return x + 1


def g_random(x):
    ours = np.random.rand(), random.random()
    np.random.seed(0)
    random.seed(0)
    assert ours != (np.random.rand(), random.random())
    return x + 1


def f_errors(x):
    np.seterr(all="raise")
    warnings.simplefilter("error")
    return x + 1


def g_errors(x):
    assert np.geterr()["divide"] == "warn"
    warnings.warn("not raised")
    return x + 1


def f_limits(x):
    resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
    return x + 1


def g_limits(x):
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 8
    return x + 1


def f_tracing(x):
    sys.settrace(lambda *_: None)
    threading.settrace(lambda *_: None)
    sys.setswitchinterval(100)
    return x + 1


def g_tracing(x):
    assert sys.getswitchinterval() < 1
    return x + 1
'''
STATES = (
    *("alarm", "recursion", "modules", "descriptors", "folder", "environment", "signals", "random"),
    *("errors", "limits", "tracing"),
)
OTHERS = """\
import ctypes
import subprocess
import sys

import numpy as np

here = "second"


def reference(x):
    if x.size == 5:
        ctypes.string_at(0)
    return x + 1


def dies_later(x):
    if x.size == 3:
        ctypes.string_at(0)
    return x + 1


def leaves(x):
    subprocess.Popen(["sleep", "60"], start_new_session=True)
    return x + 1


def waits_for_it(x):
    subprocess.run(["sleep", "0"], start_new_session=True)
    return x + 1


def hoards(x):
    held = []
    while True:
        held.append(np.ones(1_000_000))


def unloads(x):
    sys.modules.clear()
    return x + 1


def interrupts(x):
    raise KeyboardInterrupt


def right(x):
    return x + 1
"""


def write_registry(folder, names, cases, text):
    (folder / "k.py").write_text(text, encoding="utf-8")
    listed = ", ".join(f"k.py:{name}" for name in names)
    (folder / "registry.yaml").write_text(
        f'version: 1\noperators:\n  - schema: "t::f(Tensor x) -> Tensor"\n    kernels: {{CPU: [{listed}]}}\n'
        f"    reference: k.py:reference\n    cases: [{cases}]\n",
        encoding="utf-8",
    )
    return folder / "registry.yaml"


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    names = [f"{which}_{state}" for state in STATES for which in "fg"]
    path = write_registry(
        tmp_path_factory.mktemp("states"), names, "{name: a, inputs: {x: 'ones(2)'}}", KERNELS
    )
    return validate(path)


@pytest.mark.parametrize("state", [*STATES[1:]])
def test_what_a_kernel_does_to_its_process_the_next_one_does_not_see(states, state):
    found = [d.message for d in states.diagnostics if f"_{state}`" in d.message and "kernel `g_" in d.message]
    assert found == []


def test_an_alarm_ends_no_other_kernel(states):
    assert [d.message for d in states.diagnostics if "_alarm`" in d.message] == []


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    names = ("dies_later", "leaves", "waits_for_it", "hoards", "unloads", "interrupts", "right")
    cases = (
        "{name: a, inputs: {x: 'ones(2)'}}, {name: b, sweep: {n: [1, 3]}, dtypes: [float32, float64], "
        "inputs: {x: 'ones(n)'}}"
    )
    path = write_registry(tmp_path_factory.mktemp("others"), names, cases, OTHERS)
    return validate(path, memory_bytes=400_000_000)


def messages(validation, name):
    return [d.message for d in validation.diagnostics if f"kernel `{name}`" in d.message]


def test_the_case_in_which_a_kernel_dies_is_named(others):
    assert messages(others, "dies_later") == [
        "kernel `dies_later` of `t::f` ended its process on case b[n=3]/float32: "
        "the process was killed by SIGSEGV"
    ]


def test_what_a_kernel_left_running_is_a_finding_with_its_name(others):
    assert messages(others, "leaves") == ["kernel `leaves` of `t::f` left running: sleep 60"]
    assert messages(others, "waits_for_it") == []


def test_a_kernel_that_takes_all_memory_is_told_how_to_have_more(others):
    (message,) = messages(others, "hoards")
    assert message.startswith("kernel `hoards` of `t::f` ended its process on case a/float32: took 0.")
    assert message.endswith(" GiB of memory, more than 0.37 GiB, and was stopped")
    (finding,) = [d for d in others.diagnostics if d.message == message]
    assert finding.help == "let it have more with --memory, or make the case smaller"


def test_a_kernel_that_empties_the_modules_is_blamed_itself(others):
    assert messages(others, "unloads") == [
        "kernel `unloads` of `t::f` removed c10cli, numpy from `sys.modules`"
    ]


def test_an_interrupt_of_a_kernels_own_is_told_without_a_traceback(others):
    (message,) = messages(others, "interrupts")
    assert "its last words: KeyboardInterrupt (at " in message
    assert "Traceback" not in "".join(printed.text for printed in others.printed)


def test_the_kernels_after_them_are_right(others):
    assert messages(others, "right") == []
    assert others.run == 4


def test_a_reference_that_dies_is_at_fault_and_not_the_kernels(tmp_path):
    cases = "{name: a, inputs: {x: 'ones(2)'}}, {name: b, inputs: {x: 'ones(5)'}}"
    path = write_registry(tmp_path, ["right", "waits_for_it"], cases, OTHERS)
    (finding,) = validate(path).diagnostics
    assert (finding.code, finding.span.line_text.strip()) == ("C10E508", "reference: k.py:reference")
    assert finding.message == (
        "the reference of `t::f` ended its process on case b/float32: the process was killed by SIGSEGV"
    )


def test_an_expression_that_takes_all_memory_is_at_fault_and_not_the_kernel(tmp_path):
    path = write_registry(tmp_path, ["right"], "{name: a, inputs: {x: 'ones(80_000_000)'}}", OTHERS)
    (finding,) = validate(path, memory_bytes=200_000_000).diagnostics
    assert finding.code == "C10E110"
    assert finding.message.startswith("an expression of `t::f` ended its process on case a/float32: took 0.")
