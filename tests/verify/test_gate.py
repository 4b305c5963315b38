"""Faulty kernels of every kind in one manifest, validated once; each test asks what became of one."""

import json

import pytest

from c10cli.verify.gate import validate

KERNELS = '''\
"""One function per way to be wrong."""
import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np


def right(x):
    return x + 1


def wrong(x):
    return x + 2


def not_a_number(x):
    return x * np.nan


def wrong_shape(x):
    return (x + 1).ravel()


def wrong_kind(x):
    return (x + 1).astype(np.int64)


def too_many(x):
    return x + 1, x


def no_tensor(x):
    return float(x.sum())


def nothing(x):
    return None


def raises(x):
    raise KeyError("no such block")


def changes(x):
    x += 1
    return x.copy()


def alias(x):
    return x


def view(x):
    return x.reshape(-1)[:].reshape(x.shape)


def allocates(x):
    return np.empty(1 << 50)


def prints(x):
    print("loud")
    os.write(1, b'{"item": 0, "result": {}}\\n')
    subprocess.run([sys.executable, "-c", "print('louder')"], check=True)
    return x + 1


def complains(x):
    subprocess.run([sys.executable, "-c", "import sys; sys.stderr.write('line\\\\n' * 20000)"], check=True)
    return x + 1


def reads(x):
    assert sys.stdin.read() == ""
    return x + 1


def sleeps(x):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    time.sleep(60)


def leaves_a_thread(x):
    threading.Thread(target=time.sleep, args=(60,)).start()
    return x + 1


def exits(x):
    os._exit(3)


def quits(x):
    sys.exit("enough")


def forks(x):
    os.fork()
    return x + 1


def words(x):
    raise ValueError("half \\udc80")


class Mute(BaseException):
    def __str__(self):
        raise ValueError


def mute(x):
    raise Mute


buffer = np.empty((2, 3), np.float32)


def reuses(x):
    return np.add(x, 1, out=buffer)


def sets(x):
    np.seterr(all="raise")
    os.environ.clear()
    os.chdir("/")
    return x + 1


def looks(x):
    assert np.geterr()["divide"] == "warn"
    assert "PATH" in os.environ
    assert os.getcwd() != "/"
    return x + 1


def segfaults(x):
    ctypes.string_at(0)


def reference(x):
    return x + 1
'''
FATAL = ("sleeps", "exits", "segfaults")
FINE = ("right", "sets", "looks", "forks", "prints", "complains", "reads", "leaves_a_thread")
BROKEN = {
    "wrong": ("C10E504", "differs from the reference in return `0`: 6 of 6 elements differ"),
    "not_a_number": ("C10E504", "differs from the reference in return `0`: 6 of 6 elements differ"),
    "wrong_shape": ("C10E504", "the shape is [6] where the reference gives [2, 3]"),
    "wrong_kind": ("C10E504", "the dtype is int64 where the reference gives float32"),
    "too_many": ("C10E502", "gave tuple of 2 for return 0, declared Tensor"),
    "no_tensor": ("C10E502", "gave float 6.0 for return 0, declared Tensor"),
    "nothing": ("C10E502", "gave None for return 0, declared Tensor"),
    "raises": ("C10E501", "raised KeyError: 'no such block'"),
    "changes": ("C10E505", "changed argument `x`"),
    "alias": ("C10E506", "shares memory with argument `x`"),
    "view": ("C10E506", "shares memory with argument `x`"),
    "allocates": ("C10E501", "MemoryError"),
    "sleeps": ("C10E501", "ended its process on case small/float32: took longer than 2 s and was stopped"),
    "exits": ("C10E501", "ended its process on case small/float32: the process ended with exit code 3"),
    "words": ("C10E501", "raised ValueError: half \\udc80"),
    "mute": ("C10E501", "raised Mute: a message that cannot be shown"),
    "reuses": ("C10E506", "is the same memory in every call"),
    "quits": ("C10E501", "raised SystemExit: enough"),
    "segfaults": ("C10E501", "ended its process on case small/float32: the process was killed by SIGSEGV"),
}
CASES = "    cases: [{name: small, dtypes: [float32], inputs: {x: 'ones(2, 3)'}}]\n"


def write_manifest(folder, operators, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    path = folder / "registry.yaml"
    path.write_text(f"version: 1\noperators:\n{operators}", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def names():
    """The fatal ones between the others, so that each proves that the next is still run."""
    gentle = [name for name in (*FINE, *BROKEN) if name not in FATAL]
    return [*gentle[:4], *FATAL, *gentle[4:]]


@pytest.fixture(scope="module")
def begun():
    return []


@pytest.fixture(scope="module")
def validation(tmp_path_factory, names, begun):
    listed = "".join(f"        - k.py:{name}\n" for name in names)
    operators = (
        f'  - schema: "t::f(Tensor x) -> Tensor"\n    kernels:\n      CPU:\n{listed}'
        f"    reference: k.py:reference\n{CASES}"
    )
    path = write_manifest(tmp_path_factory.mktemp("faulty"), operators, k=KERNELS)
    return validate(path, timeout_s=2.0, begins=begun.append)


def findings_of(validation, name):
    return [
        d
        for d in validation.diagnostics
        if d.message.startswith(f"kernel `{name}` of") or f" of kernel `{name}` of" in d.message
    ]


@pytest.mark.parametrize("name", BROKEN)
def test_each_faulty_kernel_has_one_finding_at_its_line(validation, names, name):
    code, fact = BROKEN[name]
    found = findings_of(validation, name)
    assert [(d.code, d.severity) for d in found] == [(code, "error")]
    assert fact in found[0].message
    assert found[0].span.line == 6 + names.index(name)
    assert found[0].span.line_text.endswith(f"k.py:{name}")


@pytest.mark.parametrize("name", FINE)
def test_what_a_kernel_prints_reads_or_leaves_behind_is_no_fault(validation, name):
    assert findings_of(validation, name) == []


def test_every_kernel_is_reached_and_counted(validation, names, begun):
    assert begun == [f"t::f CPU {name}" for name in names]
    assert not validation.ok
    assert len(validation.diagnostics) == len(BROKEN)
    survivors = len(names) - len(FATAL)
    assert (validation.operators, validation.kernels, validation.static) == (1, len(names), len(names))
    assert (validation.bound, validation.run, validation.cases) == (survivors,) * 3
    assert validation.skipped == []


def test_findings_are_in_the_order_of_the_file(validation):
    lines = [d.span.line for d in validation.diagnostics]
    assert lines == sorted(lines)


def test_a_finding_names_the_case(validation):
    assert "in case small/float32" in findings_of(validation, "raises")[0].notes
    assert findings_of(validation, "wrong")[0].place == "case small/float32 of t::f"


def test_a_kernel_without_enough_time_is_told_which_option_gives_more(validation):
    assert findings_of(validation, "sleeps")[0].help == "give it more time with --timeout"
    assert "under a debugger" in findings_of(validation, "exits")[0].help


def test_a_module_that_raises_what_cannot_be_shown_is_a_finding(tmp_path):
    text = "class Mute(BaseException):\n    def __str__(self):\n        raise SystemExit\nraise Mute\n"
    path = write_manifest(
        tmp_path, operator("f", "", kernels="[k.py:f]"), k=f"def f(x):\n    return x\n{text}"
    )
    (finding,) = validate(path).diagnostics
    assert finding.code == "C10E304"
    assert finding.message == "`k.py` cannot be imported: Mute: a message that cannot be shown"


REFERENCES = """\
def f(x):
    return x + 1
def g(x):
    return x + 1
def moody(x):
    if x.size > 1:
        raise ValueError("only one element")
    return x + 1
def odd(x, y):
    return x
with_dots = f
"""


def operator(name, reference="r.py:f", kernels="[r.py:f, r.py:g]", cases=CASES):
    lines = [f'  - schema: "t::{name}(Tensor x) -> Tensor"\n    kernels: {{CPU: {kernels}}}\n']
    lines += [f"    reference: {reference}\n"] if reference else []
    return "".join([*lines, cases])


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Operators whose reference or cases are at fault, not their kernels."""
    grow = "{name: grow, sweep: {n: [1, 2, 3]}, dtypes: [float32, float64], inputs: {x: 'ones(n)'}}"
    sweep = f"    cases: [{grow}]\n"
    negative = sweep.replace("ones(n)", "ones(2 - n)")
    operators = (
        operator("moody", "r.py:moody", cases=sweep)
        + operator("absent", "r.py:nowhere")
        + operator("odd", "r.py:odd")
        + operator("broken_import", "late.py:f")
        + operator("negative", cases=negative)
        + operator("typo", cases=CASES.replace("ones", "onse"))
        + operator("misfit", kernels="[r.py:f, r.py:odd, {kernel: late.py:f, name: late}]")
        + operator("unchecked", reference="")
        + operator("idle", cases="")
        + operator("aliased", "r.py:with_dots", kernels="[r.py:with_dots]")
        + operator("elsewhere", kernels="[r.py:f, {kernel: r.py:g, requires: [no_such_package]}]")
        + operator("far", kernels="[r.py:f]").replace("CPU:", "CUDA:").replace("r.py:f]", "r.py:f]", 1)
    )
    late = "import no_such_module\ndef f(x):\n    return x\n"
    path = write_manifest(tmp_path_factory.mktemp("shared"), operators, r=REFERENCES, late=late)
    return validate(path, timeout_s=10.0, require=["XLA"])


def codes_at(validation, text):
    return [d.code for d in validation.diagnostics if d.span and text in (d.span.line_text or "")]


def reasons(validation, name):
    return [(s.stage, s.variant, s.reason) for s in validation.skipped if s.operator == f"t::{name}"]


def test_a_reference_that_raises_is_found_once_for_all_kernels_and_cases(shared):
    found = [d for d in shared.diagnostics if "`t::moody`" in d.message]
    assert [d.code for d in found] == ["C10E508"]
    assert "failed on case grow[n=2]/float32" in found[0].message
    assert "raised ValueError: only one element" in found[0].message
    assert "3 more cases in the same way" in found[0].notes
    assert found[0].span.line_text.strip() == "reference: r.py:moody"


def test_what_is_found_in_a_source_is_not_found_again_by_running(shared):
    assert codes_at(shared, "r.py:nowhere") == ["C10E304"]
    assert codes_at(shared, "reference: r.py:odd") == ["C10E305"]
    assert codes_at(shared, "onse") == ["C10E110"]
    for name in ("absent", "odd", "typo"):
        reason = "the operator's reference or cases have findings"
        assert reasons(shared, name) == [("run", "f", reason), ("run", "g", reason)]


def test_a_reference_that_cannot_be_imported_is_found_once(shared):
    found = [d for d in shared.diagnostics if d.span and d.span.line_text.strip() == "reference: late.py:f"]
    assert [d.code for d in found] == ["C10E304"]
    assert found[0].notes[0].startswith("the same at 1 more place: ")  # where a kernel is `late.py:f`
    assert reasons(shared, "broken_import") == [
        ("run", "f", "the reference failed"),
        ("run", "g", "the reference failed"),
    ]


def test_a_case_that_cannot_be_made_is_found_at_its_expression_and_the_others_run(shared):
    found = [d for d in shared.diagnostics if d.span and "2 - n" in d.span.line_text]
    assert [d.code for d in found] == ["C10E110"]
    assert found[0].span.line_text[found[0].span.column - 1 :].startswith("'ones(2 - n)'")
    assert "in case grow[n=3]/float32" in found[0].notes
    assert "1 more case in the same way" in found[0].notes
    assert reasons(shared, "negative") == []


def test_a_kernel_that_does_not_fit_is_found_by_source_or_by_binding_never_both(shared):
    assert codes_at(shared, "name: late") == ["C10E305"]  # r.py:odd
    assert reasons(shared, "misfit") == [("bind", "odd", "its source has findings")]


def test_what_is_left_out_has_its_reason(shared):
    assert reasons(shared, "unchecked") == [
        ("compare", "f", "the operator has no reference to compare with"),
        ("compare", "g", "the operator has no reference to compare with"),
    ]
    assert reasons(shared, "idle") == [
        ("run", "f", "the operator has no cases"),
        ("run", "g", "the operator has no cases"),
    ]
    assert reasons(shared, "elsewhere") == [("bind", "g", "needs `no_such_package`, not installed")]


def test_a_required_key_without_a_kernel_is_a_finding(shared):
    assert shared.diagnostics[-1].code == "C10E607"
    assert shared.diagnostics[-1].message == (
        "kernels for required dispatch key `XLA` were not run here: the registry has no kernel for it"
    )
    assert shared.diagnostics[-1].help.startswith("require one of CPU")


def test_a_source_that_shows_no_signature_does_not_count_as_checked(tmp_path):
    operators = operator("f", "numpy:add", kernels="[r.py:f, numpy:negative]")
    found = validate(write_manifest(tmp_path, operators, r=REFERENCES), static=True)
    assert (found.kernels, found.static) == (2, 1)
    assert {(s.stage, s.variant) for s in found.skipped} == {
        ("static", "numpy:add"),
        ("static", "numpy:negative"),
    }


def test_static_checks_import_nothing(tmp_path):
    source = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\ndef f(x):\n    return x\n"
    path = write_manifest(tmp_path, operator("f", "", kernels="[k.py:f]"), k=source)
    found = validate(path, static=True)
    assert found.ok
    assert (found.static, found.bound, found.run) == (1, 0, 0)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"static": True}, "only the sources were checked"), ({"run": False}, "not asked for (--no-run)")],
)
def test_a_required_key_that_was_not_to_be_run_is_a_finding(tmp_path, options, reason):
    path = write_manifest(tmp_path, operator("f", kernels="[r.py:f]"), r=REFERENCES)
    found = validate(path, require=["CPU"], **options)
    assert [d.code for d in found.diagnostics] == ["C10E607"]
    assert found.diagnostics[0].message.endswith(f"were not run here: {reason}")
    assert found.diagnostics[0].notes == ("`t::f` f",)
    assert validate(path, **options).ok


def test_a_required_key_that_was_run_is_none_also_without_a_reference(tmp_path):
    path = write_manifest(tmp_path, operator("f", "", kernels="[r.py:f]"), r=REFERENCES)
    found = validate(path, require=["CPU"])
    assert found.diagnostics == []
    assert (found.bound, found.run, found.cases) == (1, 1, 0)  # a call, and nothing to compare it with


def test_kernels_of_a_faulty_manifest_are_not_imported(tmp_path):
    path = write_manifest(tmp_path, operator("f") + "    unknown: 1\n", r=REFERENCES)
    found = validate(path)
    assert [d.code for d in found.diagnostics] == ["C10E104"]
    assert (found.static, found.bound) == (2, 0)
    assert found.left_out == "the manifest has findings"


def test_a_file_that_is_no_manifest_has_findings_and_no_counts(tmp_path):
    found = validate(tmp_path / "registry.yaml")
    assert [d.code for d in found.diagnostics] == ["C10E101"]
    assert (found.operators, found.kernels) == (0, 0)


def test_modules_beside_the_current_folder_do_not_shadow_the_standard_library(tmp_path, monkeypatch):
    path = write_manifest(
        tmp_path, operator("f", kernels="[r.py:f]"), r=REFERENCES, json="0/0\n", queue="0/0\n"
    )
    monkeypatch.chdir(tmp_path)
    found = validate(path)
    assert found.diagnostics == []
    assert found.run == 1


def test_a_finding_survives_the_way_through_the_child_as_json(validation):
    assert json.loads(json.dumps([d.as_dict() for d in validation.diagnostics]))
