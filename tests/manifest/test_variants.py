"""Variants of one key in a manifest: who is registered, who is called, what is found without a call."""

from dataclasses import replace

import numpy as np
import pytest

from c10cli import NoKernelError, load_registry
from c10cli.manifest.link import covers
from c10cli.manifest.load import load_manifest, require_manifest
from c10cli.verify.gate import validate

KERNELS = """
import numpy as np

def plain(x): return x + x
def short(x): return 2 * x
def of_torch(x): return x.add(x)
def reference(x): return x.astype(np.float64) * 2
"""


@pytest.fixture
def declare(tmp_path):
    """A manifest with CPU *kernels* of one operator, and more fields of it."""

    def declare(kernels, more=""):
        (tmp_path / "k.py").write_text(KERNELS, encoding="utf-8")
        path = tmp_path / "registry.yaml"
        path.write_text(
            f"""version: 1
operators:
  - schema: "t::double(Tensor x) -> Tensor"
    domain: {{T: floating, x: "T[*n, d]", returns: "T[*n, d]"}}
    reference: k.py:reference
    cases: [{{name: a, inputs: {{x: "randn(2, 9)"}}}}]
    kernels: {{CPU: [{kernels}]}}
    {more}
""",
            encoding="utf-8",
        )
        return path

    return declare


SHORT = "{kernel: k.py:short, when: 'd <= 8'}"
TORCH = "{kernel: k.py:of_torch, arrays: torch}"


def taken(linked):
    return [(v.kernel.name, v.taken, v.reason) for v in linked.variants["CPU"]]


@pytest.mark.parametrize("kernels", [f"{SHORT}, k.py:plain, {TORCH}", f"{TORCH}, {SHORT}, k.py:plain"])
def test_the_first_that_takes_the_arrays_and_whose_condition_holds_is_called(declare, kernels, needs):
    torch = needs("torch")
    registry = load_registry(declare(kernels))
    linked = registry.find("double")
    assert [name for name, is_taken, _ in taken(linked) if is_taken] == [
        v.kernel.name for v in linked.variants["CPU"]
    ]
    for _ in range(2):
        for value, name in ((np.ones(8), "short"), (np.ones(9), "plain"), (torch.ones(9), "of_torch")):
            assert linked.handle.lookup(value).function.__name__ == name
            assert linked.handle.call(value)[0] == 2


def test_the_best_variant_comes_first_also_where_one_behind_it_takes_more_under_a_condition(declare, needs):
    torch = needs("torch")
    path = declare(f"{TORCH}, {SHORT}, k.py:plain")
    path.write_text(path.read_text().replace("CPU: [", "Meta: ["))  # whose kernels take all arrays
    linked = load_registry(path).find("double")
    for size in (8, 9):
        assert linked.handle.lookup(torch.ones(size, device="meta")).function.__name__ == "of_torch"


def test_a_variant_behind_one_that_takes_all_that_it_takes_stays_known(declare):
    linked = load_registry(declare(f"k.py:plain, {{kernel: k.py:short, name: other}}, {TORCH}")).find(
        "double"
    )
    assert taken(linked) == [
        ("plain", True, "the best of 3"),
        ("other", False, "`plain` comes before it"),
        ("of_torch", True, "takes what `plain` leaves"),
    ]


def test_arrays_of_another_library_are_refused_with_the_other_variant_named(declare, needs):
    torch = needs("torch")
    with pytest.raises(NoKernelError, match="C10E413") as caught:
        load_registry(declare("k.py:plain")).find("double").handle.call(torch.ones(2))
    assert "`k.py:plain` takes numpy arrays" in caught.value.diagnostics[0].notes
    assert "numpy.asarray(x)" in caught.value.diagnostics[0].advice


def test_a_tensor_of_no_library_is_taken_by_the_usual_kernel(declare):
    class Own:
        shape, dtype = (2,), np.dtype("float32")

        def __add__(self, other):
            return self

    from c10cli import register_tensor_type

    register_tensor_type(Own, "CPU")
    x = Own()
    assert load_registry(declare("k.py:plain")).find("double").handle.call(x) is x


@pytest.mark.parametrize(
    ("kernels", "more", "found"),
    [
        (f"k.py:plain, {SHORT}", "", [("C10E311", "no call reaches `CPU` kernel `short`")]),
        (
            f"{SHORT}, {{kernel: k.py:plain, name: same, when: 'd<=8'}}, k.py:plain",
            "",
            [("C10E311", "`same`")],
        ),
        (SHORT, "", [("C10W352", "take numpy arrays under conditions alone")]),
        (SHORT, "complete: true", [("C10E312", "take numpy arrays under conditions alone")]),
        (TORCH, "complete: true", [("C10E312", "take no numpy arrays")]),
        (TORCH, "", []),
        (f"{{kernel: k.py:short, name: far, requires: [nothing_such]}}, {SHORT}, k.py:plain", "", []),
        (f"{SHORT}, k.py:plain", "complete: true", []),
        ("{kernel: k.py:short, when: 'dd <= 8'}, k.py:plain", "", [("C10E211", "nothing is called `dd`")]),
        ("{kernel: k.py:short, when: 3}, k.py:plain", "", [("C10E106", "`when`")]),
    ],
)
def test_what_no_call_reaches_and_calls_that_reach_nothing_are_found(declare, kernels, more, found):
    findings = validate(declare(kernels, more), static=True).diagnostics
    assert [f.code for f in findings] == [code for code, _ in found]
    assert all(words in f.message for f, (_, words) in zip(findings, found, strict=True)), findings


def test_a_faulty_condition_is_found_at_its_column(declare):
    path = declare("{kernel: k.py:short, when: 'd <= 8 and e > 2'}, k.py:plain")
    (finding,) = load_manifest(path).findings
    assert finding.span.line_text[finding.span.column - 1 : finding.span.end_column - 1] == "e"


def test_a_kernel_is_not_run_on_cases_that_its_condition_refuses(declare):
    validation = validate(declare(f"{SHORT}, k.py:plain"))
    assert validation.ok
    (skipped,) = validation.skipped
    assert (skipped.variant, skipped.stage) == ("short", "run")
    assert skipped.reason == "it takes no case, as `d <= 8` is false: d is 9, from x float32[2, 9]"


def test_conditions_are_the_same_where_their_expressions_are(declare):
    spaced = (
        "{kernel: k.py:short, when: 'd<=8'}, {kernel: k.py:plain, name: same, when: 'd  <= 8'}, k.py:plain"
    )
    (finding,) = validate(declare(spaced), static=True).diagnostics
    assert finding.code == "C10E311"
    kernel, *_ = require_manifest(declare(f"{SHORT}, k.py:plain")).operators[0].kernels
    one, other = (replace(kernel, when=when) for when in ("mode == 'a b'", "mode == 'ab'"))
    assert not covers(one, other)  # a blank in a text is no blank of the expression
    assert covers(one, replace(kernel, when='mode=="a b"'))


def test_a_condition_with_a_fault_is_one_finding_also_beside_others(declare):
    faulty = (
        "{kernel: k.py:short, when: 'd <='}, {kernel: k.py:plain, name: other, when: 'd <= 8'}, k.py:plain"
    )
    assert [f.code for f in validate(declare(faulty), static=True).diagnostics] == ["C10E211"]
