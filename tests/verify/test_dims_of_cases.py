"""Cases that give dims: what is made of them, and what is found where they give nothing."""

import pytest

from c10cli import ArgumentError, ManifestError
from c10cli.manifest.checks import check_operator
from c10cli.manifest.load import load_manifest, require_manifest
from c10cli.verify.inputs import case_points, make_arguments, shapes_text

MANIFEST = """
version: 1
operators:
  - schema: "t::take(Tensor weight, Tensor indices, Tensor? bias=None) -> Tensor"
    domain:
      T: floating
      weight: "T[rows, columns]"
      indices: "int32 | int64 [*n], 0 <= _ < rows"
      bias: "T[others]"
    cases:
      - {name: c, sweep: {r: [2, null, a]}, CASE}
"""


@pytest.fixture
def declare(tmp_path):
    def declare(case, text=MANIFEST):
        path = tmp_path / "registry.yaml"
        path.write_text(text.replace("CASE", case), encoding="utf-8")
        return path

    return declare


@pytest.mark.parametrize(
    ("case", "shapes"),
    [
        ("dims: {rows: r, n: [r, 3]}", "float32[2, 2], int64[2, 3]"),
        ("dims: {rows: '2 * r', columns: 1, n: '(r, 1)'}", "float32[4, 1], int64[2, 1]"),
        ("dims: {n: r}, dtypes: [int32]", "float32[2, 3], int32[2]"),
        ("dims: {n: []}, dtypes: [float16], inputs: {weight: 'ones(r, 2)'}", "float16[2, 2], int64[]"),
    ],
)
def test_dims_are_numbers_lists_and_expressions(declare, case, shapes):
    decl = require_manifest(declare(case)).operators[0]
    assert check_operator(decl)[0] == []
    assert shapes_text(make_arguments(decl, next(case_points(decl)))) == shapes


@pytest.mark.parametrize(
    ("case", "at", "piece", "words"),
    [
        ("dims: {rows: r / 1}", 0, "r / 1", "dim `rows` of `t::take` wants sizes, and is 2.0"),
        ("dims: {rows: r}", 1, "r}", "dim `rows` of `t::take` wants sizes, and is None"),
        ("dims: {n: r}", 2, "r}", "dim `n` of `t::take` wants sizes, and is 'a'"),
        ("dims: {n: [0 - r, 1]}", 0, "[0 - r", "wants sizes, and is [-2, 1]"),
        ("dims: {n: 'r < 3'}", 0, "'r < 3", "wants sizes, and is True"),
        ("dims: {rows: 'r // 0'}", 0, "'r // 0", "division"),
        ("dims: {rows: r, n: '[1] * r'}", 0, "'[1]", "a number is wanted"),
        ("dims: {rows: '10 ** 30 * r'}", 0, "", "GiB to make, more than is free"),
        ("dims: {n: [1000000, 1000000, r]}", 0, "", "GiB to make, more than is free"),
        ("dims: {rows: 3, n: r}, inputs: {weight: 'ones(r, 5)'}", 0, "", "is to be 3, but rows is 2"),
        ("dims: {others: r}", 0, "", "dim `others` of `t::take` is to be 2, but no argument"),
        ("dims: {n: r}, dtypes: [bool]", 0, "", "no argument of `t::take` may be bool in its domain"),
    ],
)
def test_dims_that_give_no_arguments_are_found_at_their_place(declare, case, at, piece, words):
    path = declare(case)
    decl = require_manifest(path).operators[0]
    with pytest.raises((ArgumentError, ManifestError)) as caught:
        make_arguments(decl, list(case_points(decl))[at])
    (finding,) = caught.value.diagnostics
    assert words in finding.message
    line = path.read_text(encoding="utf-8").splitlines()[finding.span.line - 1]
    assert line[finding.span.column - 1 :].lstrip("'").startswith(piece.lstrip("'") or "{name: c")
    assert sum(note.startswith("in case c") for note in finding.notes) == 1


def test_more_axes_than_arrays_have_are_refused(declare):
    decl = require_manifest(declare(f"dims: {{n: {[1] * 40}}}, inputs: {{bias: 'ones(r)'}}")).operators[0]
    with pytest.raises(ArgumentError, match="40 axes are more than 32"):
        make_arguments(decl, next(case_points(decl)))


def test_a_size_below_zero_is_told_in_words_that_fit(declare):
    (finding, other) = load_manifest(declare("dims: {rows: -1, n: [r, -2]}")).findings
    assert finding.message.endswith("must be a size, a list of sizes or an expression")
    assert other.message.startswith("dim `n` of case `c`")


def test_dims_without_a_domain_are_one_finding(declare):
    text = MANIFEST[: MANIFEST.index("    domain:")] + MANIFEST[MANIFEST.index("    cases:") :]
    decl = require_manifest(declare("dims: {rows: r, n: 2}", text)).operators[0]
    (finding,) = check_operator(decl)[0]
    assert finding.message == "case `c` of `t::take` has dims, and the operator no domain"
    with pytest.raises(ArgumentError, match="has no domain"):
        make_arguments(decl, next(case_points(decl)))
