"""The worker's function, called in this process; what ends a process is in test_run.py."""

import sys

import pytest

from c10cli import ManifestError
from c10cli.arrays.library import load_library
from c10cli.bench import rungs
from c10cli.bench.case_job import prepare
from c10cli.bench.outcome import CaseResult, read_record
from c10cli.jobs.fingerprint import fingerprint
from c10cli.manifest.load import require_manifest

KERNELS = """\
import sys
import numpy as np
calls = []
def right(x):
    return x + 1
def wrong(x):
    return x + 2
def not_a_number(x):
    return x * np.nan
def changes(x):
    x += 1
    return x.copy()
def alias(x):
    return x
def nothing(x):
    return None
def raises(x):
    raise ValueError("no such block")
def allocates(x):
    return np.empty(1 << 50)
remembered = {}
def remembers_by_identity(x):
    if id(x) not in remembered:
        remembered[id(x)] = x + 1
    return remembered[id(x)].copy()
def gives_up(x):
    calls.append(1)
    if len(calls) > 30:
        raise Unprintable
    return x + 1
class Unprintable(BaseException):
    def __str__(self):
        raise ValueError
def profiles(x):
    sys.setprofile(lambda *_: None)
    return x + 1
def adds_one(x):
    x += 1
def wears_out(x):
    calls.append(1)
    return x + (1 if len(calls) < 9 else 2)
def misfit(x, y, z):
    return x
def reference(x):
    return x + 1
def bad_reference(x):
    raise KeyError
"""
REGISTRY = """\
version: 1
operators:
  - schema: "t::f(Tensor x) -> Tensor"
    kernels: {{CPU: [k.py:{names}]}}
    reference: k.py:reference
    cost: {{bytes: "2 * nbytes(x)", flops: "size(x)"}}
    cases:
      - {{name: untimed, bench: false, inputs: {{x: 'ones(1)'}}}}
      - {{name: small, sweep: {{n: [2]}}, inputs: {{x: 'ones(n, 3)'}}}}
      - {{name: huge, inputs: {{x: 'ones(1000000, 1000000, 1000)'}}}}
      - {{name: broken, inputs: {{x: 'ones(0 - 1)'}}}}
  - schema: "t::g(Tensor x) -> Tensor"
    kernels: {{CPU: k.py:right}}
    cases: [{{name: small, inputs: {{x: 'ones(2)'}}}}]
  - schema: "t::w(Tensor(a!) x) -> ()"
    kernels: {{CPU: k.py:adds_one}}
    reference: k.py:adds_one
    cost: {{bytes: "0 - 1"}}
    cases: [{{name: small, inputs: {{x: 'randn(2)'}}}}]
  - schema: "t::h(Tensor x) -> Tensor"
    kernels: {{CPU: k.py:right}}
    reference: k.py:bad_reference
    cases: [{{name: small, inputs: {{x: 'ones(2)'}}}}]
  - schema: "t::o(Tensor x) -> Tensor"
    kernels: {{CPU: {{kernel: k.py:right, arrays: torch}}}}
    cases: [{{name: small, inputs: {{x: 'ones(2)'}}}}]
"""
NAMES = (
    "right",
    "wrong",
    "not_a_number",
    "changes",
    "alias",
    "nothing",
    "raises",
    "allocates",
    "wears_out",
    "misfit",
    "remembers_by_identity",
    "gives_up",
    "profiles",
)


@pytest.fixture(scope="module")
def measure(tmp_path_factory):
    folder = tmp_path_factory.mktemp("worker")
    (folder / "k.py").write_text(KERNELS, encoding="utf-8")
    (folder / "registry.yaml").write_text(REGISTRY.format(names=", k.py:".join(NAMES)), encoding="utf-8")

    path = folder / "registry.yaml"
    measured = fingerprint(require_manifest(path))

    def measure(variant, case="small[n=2]", operator="t::f", fingerprint=measured):
        case = case if operator == "t::f" else "small"
        job = {
            "registry": str(path),
            "fingerprint": fingerprint,
            "items": [1],
            "cases": ["of another kernel", f"{operator}/CPU/{variant}/{case}/float32"],
            "time_s": 0.001,
            "seed": 0,
        }
        return read_record(CaseResult, prepare(job)(1, print))

    return measure


def test_a_right_kernel_has_times_for_every_rung_and_the_facts_of_its_case(measure):
    case = measure("right")
    assert (case.id, case.status, case.code) == ("t::f/CPU/right/small[n=2]/float32", "ok", "")
    assert (case.shapes, case.bytes, case.flops) == ("float32[2, 3]", 48.0, 6.0)
    assert set(case.ladder) == {"null", "direct", "lookup", "dispatch", "call"}
    assert case.samples == case.ladder["call"]
    assert len(case.samples.samples_ns) >= 3
    assert case.median_ns > 0
    assert case.max_rss_bytes > 1 << 20
    assert case.checks == {"before": "ok", "after": "ok", "against": "reference", "follows": "ok"}


@pytest.mark.needs("torch")
def test_the_library_of_the_kernels_arrays_says_how_to_wait_for_its_results(measure, monkeypatch):
    asked = []
    monkeypatch.setattr(rungs, "waiter", lambda device: asked.append((device.dispatch_key, device.library)))
    assert measure("right", operator="t::o").status == "ok"
    assert set(asked) == {("CPU", "torch")}


@pytest.mark.parametrize(
    ("variant", "status", "code", "reason"),
    [
        ("wrong", "wrong", "C10E504", "differs from the reference"),
        ("not_a_number", "wrong", "C10E504", "it is nan where the reference gives 2.0"),
        ("changes", "wrong", "C10E505", "changed argument `x`"),
        ("alias", "wrong", "C10E506", "shares memory"),
        ("nothing", "wrong", "C10E502", "gave None"),
        ("raises", "crashed", "C10E501", "raised ValueError: no such block"),
        ("allocates", "out-of-memory", "C10E501", "MemoryError"),
        ("misfit", "crashed", "C10E305", "misfit"),
        ("wears_out", "wrong", "C10E504", "differs from the reference"),
        ("remembers_by_identity", "wrong", "C10E504", "did not follow its arguments"),
        ("gives_up", "crashed", "C10E501", "raised Unprintable: a message that cannot be shown"),
    ],
)
def test_a_kernel_that_is_not_right_has_a_status_and_no_time(measure, variant, status, code, reason):
    case = measure(variant)
    assert (case.status, case.code) == (status, code)
    assert reason in case.reason
    assert case.samples is None
    assert case.ladder == {}


@pytest.fixture
def _no_profiler():
    yield
    sys.setprofile(None)


@pytest.mark.usefixtures("_no_profiler")
def test_what_a_kernel_sets_to_watch_every_call_is_recorded(measure):
    case = measure("profiles")
    assert case.status == "ok"
    assert "profiler" in case.checks["observers"]


def test_an_operator_that_writes_its_arguments_is_checked_on_new_contents_too(measure):
    case = measure("adds_one", operator="t::w")
    assert (case.status, case.checks["follows"]) == ("ok", "ok")


def test_a_cost_without_a_value_leaves_the_time_and_is_told(measure):
    case = measure("adds_one", operator="t::w")
    assert (case.status, case.bytes, case.flops) == ("ok", None, None)
    assert case.checks["cost"] == "a cost is a finite number from 0 up, and `0 - 1` gives -1"


def test_a_manifest_that_was_edited_since_the_plan_is_refused(measure):
    with pytest.raises(ManifestError) as caught:
        measure("right", fingerprint={})
    assert caught.value.code == "C10E101"


def test_inputs_larger_than_memory_are_out_of_memory(measure):
    case = measure("right", case="huge")
    assert (case.status, case.code) == ("out-of-memory", "C10E110")


def test_inputs_that_cannot_be_made_are_told(measure):
    case = measure("right", case="broken")
    assert (case.status, case.code, case.case) == ("skipped", "C10E110", "broken")


@pytest.mark.parametrize(
    ("error", "largest", "status", "code"),
    [
        (RuntimeError("no platform"), 0, "skipped", "C10E607"),
        (TypeError("no such dtype"), 1, "skipped", "C10E405"),
        (type("OutOfMemoryError", (RuntimeError,), {})("full"), 1, "out-of-memory", "C10E405"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"),
            1,
            "out-of-memory",
            "C10E405",
        ),
        (MemoryError("full"), 0, "out-of-memory", "C10E606"),
    ],
)
def test_tensors_that_cannot_be_made_are_no_fault_of_the_kernel(
    measure, monkeypatch, error, largest, status, code
):
    def fails(array, key):
        if array.size > largest:
            raise error

    monkeypatch.setattr(load_library("numpy"), "make", fails)
    case = measure("right", operator="t::g")
    assert (case.status, case.code, case.samples) == (status, code, None)
    assert str(error) in case.reason


def test_without_a_reference_that_is_said_beside_the_time(measure):
    case = measure("right", operator="t::g")
    assert case.status == "ok"
    assert case.checks["against"] == "none: the operator has no reference"
    assert (case.bytes, case.flops) == (None, None)


def test_a_reference_that_fails_is_told_as_such(measure):
    case = measure("right", operator="t::h")
    assert (case.status, case.code) == ("crashed", "C10E508")


def test_memory_that_runs_out_outside_the_kernel_is_told(measure, monkeypatch):
    from c10cli.bench import case_job as worker

    def fails(*_args):
        raise MemoryError

    monkeypatch.setattr(worker, "make_rounds", fails)
    case = measure("right")
    assert (case.status, case.code, case.reason) == ("out-of-memory", "C10E606", "not enough memory")
