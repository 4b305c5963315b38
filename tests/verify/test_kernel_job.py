import pytest

from c10cli import ManifestError
from c10cli.arrays.library import load_library
from c10cli.errors import Diagnostic
from c10cli.jobs.fingerprint import fingerprint
from c10cli.manifest.load import require_manifest
from c10cli.verify import kernel_job
from c10cli.verify.kernel_job import prepare

KERNELS = """\
from pathlib import Path
def f(x):
    return x + 1
def g(x):
    return x + 1
def refuses(x):
    raise ValueError
def reference(x):
    log = Path(__file__).with_name("log")
    log.write_text((log.read_text() if log.exists() else "") + "r")
    return x + 1
"""
REGISTRY = """\
version: 1
operators:
  - schema: "t::a(Tensor x) -> Tensor"
    kernels: {CPU: [k.py:f, k.py:g, k.py:refuses, "k.py:nowhere"], XLA: k.py:f}
    reference: k.py:reference
    cases: [{name: s, dtypes: [float32, float64], inputs: {x: 'ones(2)'}}]
  - schema: "t::b(Tensor x) -> Tensor"
    kernels: {CPU: [k.py:f]}
    reference: k.py:reference
    cases: [{name: s, inputs: {x: 'ones(2)'}}]
"""


@pytest.fixture
def job(tmp_path):
    (tmp_path / "k.py").write_text(KERNELS, encoding="utf-8")
    (tmp_path / "registry.yaml").write_text(REGISTRY, encoding="utf-8")
    path = tmp_path / "registry.yaml"
    return job_of(path, range(6))


def job_of(path, places):
    before = fingerprint(require_manifest(path))
    return {"registry": str(path), "fingerprint": before, "items": places, "not_run": [""] * 6, "seed": 0}


def test_a_kernel_is_bound_and_run_on_every_case(job):
    assert prepare(job)(0, print) == {
        "bound": True,
        "run": True,
        "compared": 2,
        "skipped": (),
        "findings": [],
    }


def test_a_kernel_that_was_not_to_be_run_is_only_bound(job, tmp_path):
    answer = prepare({**job, "not_run": ["", "no device"]})(1, print)
    assert (answer["bound"], answer["run"], answer["skipped"]) == (True, False, ("run", "no device"))
    assert not (tmp_path / "log").exists()


def test_a_kernel_that_cannot_be_bound_is_a_finding_at_its_place(job):
    answer = prepare(job)(3, print)
    assert (answer["bound"], answer["run"]) == (False, False)
    (finding,) = map(Diagnostic.from_dict, answer["findings"])
    assert finding.code == "C10E304"
    assert finding.span.line_text[finding.span.column - 1 :].startswith('"k.py:nowhere"')


def test_cases_that_fail_alike_are_one_finding_at_the_kernels_place(job):
    (finding,) = [Diagnostic.from_dict(d) for d in prepare(job)(2, print)["findings"]]
    assert finding.code == "C10E501"
    assert finding.notes[-2:] == ("in case s/float32", "1 more case in the same way")
    assert finding.span.line == 4


def test_findings_of_one_code_and_place_are_counted_together():
    first, second, other = (
        Diagnostic(c, m) for c, m in (("C10E508", "1"), ("C10E508", "2"), ("C10E304", "3"))
    )
    assert kernel_job._counted([first, other, second]) == [
        first.with_notes("1 more case in the same way"),
        other,
    ]


def test_wrong_results_of_two_returns_are_two_findings():
    first, again, other = (
        Diagnostic("C10E504", m)
        for m in ("return `a`: 1 differs", "return `a`: 2 differ", "return `b`: 1 differs")
    )
    found = kernel_job._counted([first, again, other], by_message=True)
    assert found == [first.with_notes("1 more case in the same way"), other]


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("gave a numpy tensor (float32[1]) for return 0", "gave a numpy tensor (int8[2, 3]) for return 0"),
        ("gave float 6.0 for return 0", "gave float 1e-05 for return 0"),
        ("gave tuple of 2 for return 0", "gave tuple of 3 for return 0"),
        ("returned one value (float32[1]) where", "returned one value (float64[]) where"),
        ("returned 1 value where", "returned 4 values where"),
        ("gave True for return 0", "gave False for return 0"),
    ],
)
def test_values_that_differ_from_case_to_case_do_not_make_other_findings(first, again):
    findings = [Diagnostic("C10E502", message) for message in (first, again)]
    (found,) = kernel_job._counted(findings, by_message=True)
    assert found == findings[0].with_notes("1 more case in the same way")


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("gave float 6.0 for return 0", "gave float 6.0 for return 1"),
        ("kernel `k1` raised ValueError: no", "kernel `k1` raised KeyError: no"),
        ("kernel `k` changed argument `x1`", "kernel `k` changed argument `x2`"),
    ],
)
def test_what_is_not_a_value_makes_another_finding(first, other):
    findings = [Diagnostic("C10E502", message) for message in (first, other)]
    assert kernel_job._counted(findings, by_message=True) == findings


def fail_to_place(monkeypatch, error, dtype="float64"):
    """Let placing an array of *dtype* end with *error*."""

    def place(array, key):
        if array.dtype == dtype:
            raise error
        return array

    monkeypatch.setattr(load_library("numpy"), "make", place)


def test_a_case_whose_tensors_cannot_be_made_is_at_fault_and_no_kernel(job, monkeypatch):
    fail_to_place(monkeypatch, TypeError("no such dtype"))
    check = prepare(job)
    first, second = check(0, print), check(1, print)
    assert (first["bound"], first["run"], first["compared"]) == (True, True, 1)
    (finding,) = map(Diagnostic.from_dict, first["findings"])
    assert finding.code == "C10E405"
    assert finding.message.startswith("case s/float64 of `t::a` cannot be made: ")
    assert finding.span.line_text[finding.span.column - 1 : finding.span.end_column - 1] == "float64"
    assert second["findings"] == first["findings"]  # and so it is told once


def test_a_key_of_which_no_tensor_can_be_made_after_all_is_told_as_such(job, monkeypatch):
    fail_to_place(monkeypatch, RuntimeError("no platform"), dtype="float32")
    answer = prepare(job)(0, print)
    assert (answer["bound"], answer["run"], answer["findings"]) == (True, False, [])
    assert answer["skipped"] == ("run", "no CPU tensor can be made here: RuntimeError: no platform")


def test_a_manifest_that_was_edited_meanwhile_is_refused(job):
    with open(job["registry"], "a") as file:  # noqa: PTH123 - to append
        file.write("# edited\n")
    with pytest.raises(ManifestError) as caught:
        prepare(job)
    assert caught.value.code == "C10E101"
    assert caught.value.diagnostics[0].message == (
        "`registry.yaml` was changed while the kernels were being run"
    )


COSTLY = """\
version: 1
operators:
  - schema: "t::a(Tensor x) -> Tensor"
    kernels: {CPU: [k.py:f]}
    cases: [{name: s, inputs: {x: 'ones(2)'}}]
"""


def test_a_cost_without_a_value_is_found_once_on_the_cases_that_are_timed(tmp_path):
    (tmp_path / "k.py").write_text("def f(x):\n    return x + 1\n", encoding="utf-8")
    path = tmp_path / "registry.yaml"
    path.write_text(
        COSTLY.replace(
            "    cases: [",
            '    cost: {flops: "1 / (size(x) - 2)"}\n    cases: [{name: b, bench: false, '
            "inputs: {x: 'ones(2)'}}, ",
        ),
        encoding="utf-8",
    )
    answer = prepare(job_of(path, [0]))(0, print)
    (finding,) = map(Diagnostic.from_dict, answer["findings"])
    assert finding.code == "C10E110"
    assert finding.span.line_text[finding.span.column - 1 :].startswith('"1 / (size(x) - 2)"')
    assert "in case s/float32" in finding.notes
    assert (answer["run"], answer["compared"], answer["skipped"][0]) == (True, 0, "compare")
