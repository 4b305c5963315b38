"""What an entry that extends an operator may say, file by file."""

import pytest

from c10cli.document.source import parse_document
from c10cli.manifest.load import load_manifest

BASE = 'version: 1\noperators:\n  - {schema: "t::f(Tensor x) -> Tensor", kernels: {CPU: k.py:f}}\n'
FULL = """\
version: 1
arrays: cupy
requires: [cupy]
include: [base.yaml]
operators:
  - operator: "t::f"
    kernels:
      CUDA: fast.py:f
      CPU: [{kernel: fast.py:g, requires: [numba], arrays: numpy}, fast.py:h]
    override: {CPU: "  twice as fast  "}
    cases:
      - {name: mine, inputs: {x: "randn(3)"}}
"""


@pytest.fixture
def load():
    """The manifest in a text; `base.yaml`, which it may include, defines `t::f`."""

    def load(text, base=BASE):
        texts = {"registry.yaml": text, "base.yaml": base}
        return load_manifest("registry.yaml", read=lambda path: parse_document(texts[path.name], str(path)))

    return load


@pytest.fixture
def findings(load):
    """The findings of one entry, as code, the text that is pointed at, message and help."""

    def pointed(span):
        return span.line_text[span.column - 1 : span.end_column - 1]

    def findings(entry):
        result = load(f"version: 1\ninclude: [base.yaml]\noperators:\n{entry}")
        assert all(d.span.file == "registry.yaml" for d in result.own)
        return [(d.code, pointed(d.span), d.message, d.help) for d in result.diagnostics]

    return findings


def test_every_field_is_read_and_the_defaults_of_its_file_hold(load):
    result = load(FULL)
    assert result.diagnostics == ()
    (operator,) = result.manifest.operators
    _, _, _, cuda = operator.kernels
    assert (cuda.dispatch_key, cuda.arrays, cuda.requires, cuda.override) == ("CUDA", "cupy", ("cupy",), "")
    g, h, f = operator.variants("CPU")
    assert (g.name, g.arrays, g.requires, g.override) == ("g", "numpy", ("cupy", "numba"), "twice as fast")
    assert (h.arrays, h.requires, h.override) == ("cupy", ("cupy",), "twice as fast")
    assert (f.arrays, f.requires, f.override) == ("", (), "")
    assert [case.name for case in operator.cases] == ["mine"]
    assert str(operator.cases[0].span) == "registry.yaml:12:9"
    assert str(operator.span) == "base.yaml:3:5"


def test_the_empty_overload_may_be_called_default(load):
    assert load(FULL.replace("t::f", "t::f.default")).diagnostics == ()


@pytest.mark.parametrize("field", ["summary", "reference", "tolerance", "domain", "cost", "waive"])
def test_what_belongs_to_the_definition_is_refused(load, field):
    text = FULL.replace("    cases:", f"    {field}: x\n    cases:")
    (finding,) = load(text).diagnostics
    assert finding.code == "C10E104"
    assert finding.message == f"field `{field}` of the extension of `t::f` is unknown"
    assert finding.notes == ("known here: `operator`, `kernels`, `cases`, `override`",)


def test_schema_and_operator_in_one_entry(load):
    entry = '  - {schema: "t::g(Tensor x) -> Tensor", operator: "t::f", override: {CPU: x}}\n'
    both, override = load(f"version: 1\noperators:\n{entry}").diagnostics
    assert (both.code, both.message) == ("C10E104", "field `operator` of `t::g` is unknown")
    assert (override.code, override.message) == ("C10E104", "field `override` of `t::g` is unknown")


NAME = "`operator` of operator 1 must be the name of an operator, such as `c10::add.out`"
PARTS = "write a namespace, `::` and a base name; then, for an overload, `.` and its name; no schema"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            '  - {operator: "t::f(Tensor x) -> Tensor", kernels: {}}',
            ("C10E203", '"t::f(Tensor x) -> Tensor"', NAME, PARTS),
        ),
        ('  - {operator: "t:f", kernels: {}}', ("C10E203", '"t:f"', NAME, PARTS)),
        ("  - {operator: '::', kernels: {}}", ("C10E203", "'::'", NAME, PARTS)),
        (
            "  - {operator: 3, kernels: {}}",
            ("C10E106", "3", "`operator` of operator 1 must be a string, not an integer", ""),
        ),
        (
            "  - {operator: , kernels: {}}",
            ("C10E106", "operator", "`operator` of operator 1 must be a string, not null", ""),
        ),
        ("  - {operator: '', kernels: {}}", ("C10E106", "''", "`operator` of operator 1 is empty", "")),
        (
            "  - {operator: t::f}",
            (
                "C10E105",
                "{operator: t::f}",
                "the extension of `t::f` has neither `kernels` nor `cases`",
                "add one of them",
            ),
        ),
        (
            "  - {operater: t::f, kernels: {CUDA: k.py:f}}",
            (
                "C10E104",
                "operater",
                "field `operater` of the extension of operator 1 is unknown",
                "did you mean `operator`?",
            ),
        ),
        (
            "  - {operator: t::f, kernels: {CUDA: k.py:f}, overide: {}}",
            (
                "C10E104",
                "overide",
                "field `overide` of the extension of `t::f` is unknown",
                "did you mean `override`?",
            ),
        ),
        (
            "  - {operator: t::f, kernels: {CUDA: k.py:f}, override: [CUDA]}",
            ("C10E106", "[CUDA]", "`override` of `t::f` must be a mapping, not a list", ""),
        ),
        (
            "  - {operator: t::f, kernels: {CPU: k.py:g}, override: {Cpu: faster}}",
            (
                "C10E309",
                "Cpu",
                "`override` of `t::f` names `Cpu`, for which this entry has no kernels",
                "did you mean `CPU`?",
            ),
        ),
        (
            "  - {operator: t::f, cases: [], override: {CPU: faster}}",
            (
                "C10E309",
                "CPU",
                "`override` of `t::f` names `CPU`, for which this entry has no kernels",
                "leave it out",
            ),
        ),
        (
            "  - {operator: t::f, kernels: {CPU: k.py:g}, override: {CPU: }}",
            ("C10E106", "CPU", "reason to override `CPU` kernels of `t::f` must be a string, not null", ""),
        ),
        (
            "  - {operator: t::f, kernels: {CPU: k.py:g}, override: {CPU: ' '}}",
            ("C10E106", "' '", "reason to override `CPU` kernels of `t::f` is empty", ""),
        ),
        (
            "  - {operator: t::f, kernels: {CPU: k.py:g}, override: {CPU: x, CPU: y}}",
            ("C10E103", "CPU", "key `CPU` is given twice in `override` of `t::f`", "remove one"),
        ),
        (
            "  - {operator: t::f, kernels: {Cuda: k.py:f}}",
            ("C10E108", "Cuda", "dispatch key `Cuda` of `t::f` is unknown", "did you mean `CUDA`?"),
        ),
        (
            "  - {operator: t::f, kernels: {CUDA: k.py}}",
            (
                "C10E109",
                "k.py",
                "entry point `k.py` has no `:`",
                "write `file.py:function`, relative to the manifest, or `package.module:name`",
            ),
        ),
        (
            "  - {operator: t::f, cases: [{name: a, inputs: {x: 1, x: 2}}]}",
            ("C10E103", "x", "key `x` is given twice in `inputs` of case `a` of `t::f`", "remove one"),
        ),
    ],
)
def test_one_slip_is_one_finding(findings, entry, expected):
    assert findings(entry) == [expected]


def test_an_operator_of_the_same_file_is_extended_in_its_definition(load):
    result = load(BASE + "  - {operator: t::f, kernels: {CUDA: k.py:g}}\n")
    (finding,) = result.own
    assert (finding.code, str(finding.span)) == ("C10E309", "registry.yaml:4:16")
    assert finding.message == "`t::f` is extended in the file that defines it"
    assert finding.notes == ("it is defined at registry.yaml:3:14",)
    assert finding.help == "add the kernels and cases to the definition"


def test_one_file_extends_an_operator_once(load):
    text = FULL + "  - {operator: t::f.default, kernels: {Meta: k.py:g}}\n"
    (finding,) = load(text).own
    assert (finding.code, str(finding.span)) == ("C10E309", "registry.yaml:13:16")
    assert finding.notes == ("the first is at registry.yaml:6:15",)


def test_an_entry_of_neither_kind_lacks_its_schema(findings):
    assert [f[2] for f in findings("  - {summary: nothing}")] == ["field `schema` of operator 1 is missing"]
