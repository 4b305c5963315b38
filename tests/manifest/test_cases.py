import textwrap

import pytest

from c10cli.manifest.declarations import Tolerance
from c10cli.manifest.load import load_manifest

HEAD = 'version: 1\noperators:\n  - schema: "c10::f(Tensor x, int n=1, int[] shape=[]) -> Tensor"\n'


def load(folder, fields):
    path = folder / "registry.yaml"
    path.write_text(HEAD + textwrap.indent(textwrap.dedent(fields), "    "), encoding="utf-8")
    return load_manifest(path)


def the_case(folder, fields):
    result = load(folder, "cases:\n" + textwrap.indent(textwrap.dedent(fields), "  "))
    assert result.diagnostics == (), result.diagnostics
    (case,) = result.manifest.operators[0].cases
    return case


def test_every_field_of_a_case(tmp_path):
    case = the_case(
        tmp_path,
        """\
        - name: transformer
          sweep: {rows: [512, 4096], mode: [mean, null]}
          dtypes: [float32, float16]
          inputs: {x: "randn(rows)", n: -1}
          bench: false
        """,
    )
    assert case.name == "transformer"
    assert case.sweep == {"rows": (512, 4096), "mode": ("mean", None)}
    assert case.dtypes == ("float32", "float16")
    assert case.inputs == {"x": "randn(rows)", "n": -1}
    assert case.bench is False
    assert case.span.line == 5


def test_what_a_case_leaves_out(tmp_path):
    case = the_case(tmp_path, "- {name: a, inputs: {x: ones(1)}}\n")
    assert (case.sweep, case.dtypes, case.bench) == ({}, ("float32",), True)


def test_a_list_with_expressions_becomes_one_expression(tmp_path):
    case = the_case(
        tmp_path, "- {name: a, sweep: {r: [1]}, inputs: {x: ones(r), shape: [r, [1, '2 * r']]}}\n"
    )
    assert case.inputs["shape"] == "[r, [1, 2 * r]]"
    case = the_case(tmp_path, "- {name: a, inputs: {x: ones(1), shape: [1, 2]}}\n")
    assert case.inputs["shape"] == [1, 2]


def test_tolerances(tmp_path):
    result = load(tmp_path, "tolerance: {float32: {rtol: 1e-5, atol: 0}, bfloat16: {rtol: 1, atol: .5}}\n")
    assert result.diagnostics == ()
    assert result.manifest.operators[0].tolerance == {
        "float32": Tolerance(1e-5, 0.0),
        "bfloat16": Tolerance(1.0, 0.5),
    }


CASE = "cases: [{name: a, inputs: {x: ones(1)}, %s}]\n"


@pytest.mark.parametrize(
    ("fields", "code", "column", "words"),
    [
        ("tolerance: 1e-5\n", "C10E106", 16, "`tolerance` of `c10::f` must be a mapping, not a float"),
        (
            "tolerance: {float31: {rtol: 0, atol: 0}}\n",
            "C10E106",
            17,
            "dtype `float31` in the tolerance of `c10::f` is unknown",
        ),
        (
            "tolerance: {int32: {rtol: 0, atol: 1}}\n",
            "C10E106",
            17,
            "tolerance of `c10::f` has `int32`, and integers and booleans are compared exactly",
        ),
        (
            "cases: [{name: a, dtypes: [float32, int8, float32], inputs: {x: ones(1)}}]\n",
            "C10E103",
            47,
            "dtype `float32` of case `a` of `c10::f` is given twice",
        ),
        (
            "cases: [{name: 'a{0}', dtypes: [int8, int8], inputs: {x: ones(1)}}]\n",
            "C10E103",
            43,
            "dtype `int8` of case `a{0}` of `c10::f` is given twice",
        ),
        (
            "cases: [{name: a, sweep: {r: [1, '1']}, inputs: {x: ones(r)}}]\n",
            "C10E103",
            38,
            "value `1` of `r` in the sweep of case `a` of `c10::f` is given twice",
        ),
        (
            'cases: [{name: a, sweep: {r: ["a\\u202e"]}, inputs: {x: ones(r)}}]\n',
            "C10E106",
            35,
            "value 1 of `r` in the sweep of case `a` of `c10::f` has U+202E in it",
        ),
        (
            "cases: [{name: a/b, inputs: {x: ones(1)}}]\n",
            "C10E106",
            20,
            "`name` of case 1 of `c10::f` has `/` in it",
        ),
        (
            "cases: [{name: a, sweeep: {r: [1]}, inputs: {x: ones(r)}}]\n",
            "C10E104",
            23,
            "field `sweeep` of case 1 of `c10::f` is unknown",
        ),
        (
            "cases: [{name: a, inputs: {x: ones(1), shpae: [1]}}]\n",
            "C10E104",
            44,
            "argument `shpae` in the inputs of case `a` of `c10::f` is unknown",
        ),
        ("tolerance: {float32: 1e-5}\n", "C10E106", 26, "`float32` tolerance of `c10::f` must be a mapping"),
        ("tolerance: {float32: {rtol: -1, atol: 0}}\n", "C10E106", 33, "must be a finite number from 0 on"),
        ("tolerance: {float32: {rtol: .nan, atol: 0}}\n", "C10E106", 33, "must be a finite number from 0 on"),
        ("tolerance: {float32: {rtol: .inf, atol: 0}}\n", "C10E106", 33, "must be a finite number from 0 on"),
        (
            f"tolerance: {{float32: {{rtol: {'9' * 400}, atol: 0}}}}\n",
            "C10E106",
            33,
            "must be a finite number from 0 on",
        ),
        (
            "tolerance: {float32: {rtol: true, atol: 0}}\n",
            "C10E106",
            33,
            "must be a number, not the boolean `true`",
        ),
        ("tolerance: {float32: {rtol: 0}}\n", "C10E105", 26, "field `atol` of the `float32` tolerance"),
        (
            "tolerance: {float32: {rtol: 0, atol: 0, r: 0}}\n",
            "C10E104",
            45,
            "field `r` of the `float32` tolerance",
        ),
        ("cases: x\n", "C10E106", 12, "`cases` of `c10::f` must be a list"),
        ("cases: [x]\n", "C10E106", 13, "case 1 of `c10::f` must be a mapping"),
        ("cases: [{inputs: {x: ones(1)}}]\n", "C10E105", 13, "field `name` of case 1 of `c10::f` is missing"),
        ("cases: [{name: a}]\n", "C10E105", 13, "field `inputs` of case 1 of `c10::f` is missing"),
        (
            "cases: [{name: a, inputs: {n: 1}}]\n",
            "C10E105",
            23,
            "argument `x` is missing in the inputs of case `a`",
        ),
        (
            "cases: [{name: a, inputs: {x: 1, nn: 1}}]\n",
            "C10E104",
            38,
            "argument `nn` in the inputs of case `a` of `c10::f`",
        ),
        ("cases: [{name: a, inputs: {x: 1, x: 2}}]\n", "C10E103", 38, "key `x` is given twice"),
        ("cases: [{name: a, inputs: {x: {y: 1}}}]\n", "C10E106", 35, "input `x` of case `a`"),
        (
            "cases: [{name: a, inputs: {x: 1}}, {name: a, inputs: {x: 2}}]\n",
            "C10E103",
            40,
            "case `a` of `c10::f` is given twice",
        ),
        (CASE % "size: 1", "C10E104", 45, "field `size` of case 1 of `c10::f`"),
        (CASE % "bench: 1", "C10E106", 52, "`bench` of case `a`"),
        (CASE % "dtypes: float32", "C10E106", 53, "`dtypes` of case `a` of `c10::f` must be a list"),
        (CASE % "dtypes: []", "C10E106", 53, "is an empty list"),
        (CASE % "dtypes: [float31]", "C10E106", 54, "dtype `float31` of case `a` of `c10::f` is unknown"),
        (CASE % "dtypes: [32]", "C10E106", 54, "item 1 of `dtypes`"),
        (CASE % "sweep: [1]", "C10E106", 52, "`sweep` of case `a` of `c10::f` must be a mapping"),
        (CASE % "sweep: {r: 1}", "C10E106", 56, "`r` in the sweep of case `a` of `c10::f` must be a list"),
        (CASE % "sweep: {r: []}", "C10E106", 56, "is empty"),
        (CASE % "sweep: {r: [[1]]}", "C10E106", 57, "value 1 of `r`"),
        (
            CASE % "sweep: {'a-b': [1]}",
            "C10E106",
            53,
            "`a-b` in the sweep of case `a` of `c10::f` is no name",
        ),
        (CASE % "sweep: {nan: [1]}", "C10E106", 53, "means something in expressions"),
        (CASE % "sweep: {randn: [1]}", "C10E106", 53, "means something in expressions"),
        (CASE % "sweep: {r: [1], r: [2]}", "C10E103", 61, "key `r` is given twice"),
    ],
)
def test_each_fault_is_one_finding_at_its_place(tmp_path, fields, code, column, words):
    findings = load(tmp_path, fields).diagnostics
    assert [(f.code, f.span.line, f.span.column) for f in findings] == [(code, 4, column)]
    assert words in findings[0].message


def test_a_sweep_has_a_limit(tmp_path):
    values = ", ".join(map(str, range(101)))
    (finding,) = load(tmp_path, CASE % f"sweep: {{a: [{values}], b: [{values}]}}").diagnostics
    assert finding.message == "sweep of case `a` of `c10::f` has 10,201 combinations, more than 10,000"


def test_near_names_of_dtypes_and_arguments(tmp_path):
    (finding,) = load(tmp_path, CASE % "dtypes: [flaot32]").diagnostics
    assert finding.help.startswith("did you mean `float32`")
    (finding,) = load(tmp_path, "cases: [{name: a, inputs: {x: 1, shpe: [1]}}]\n").diagnostics
    assert finding.help == "did you mean `shape`?"


def test_inputs_of_an_operator_whose_schema_failed_are_not_compared(tmp_path):
    path = tmp_path / "registry.yaml"
    failing = HEAD.replace("Tensor x", "Tensr x")
    path.write_text(failing + "    cases: [{name: a, inputs: {y: 1}}]\n", encoding="utf-8")
    assert [f.code for f in load_manifest(path).diagnostics] == ["C10E204"]
