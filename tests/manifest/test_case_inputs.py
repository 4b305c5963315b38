import textwrap

import pytest

from c10cli.manifest.checks import check_operator
from c10cli.manifest.load import require_manifest

SCHEMA = (
    "c10::f(Tensor self, Tensor? bias=None, Tensor[] others=[], *, float low=0.0, int n=1, int[2] size=1,"
    " Scalar by=1, str mode='', bool flag=False, int spare=0) -> Tensor"
)


@pytest.fixture
def check(tmp_path):
    """The static findings for the inputs of one case, whose `self` is given where *inputs* leave it out."""

    def run(inputs, sweep="{k: [1]}"):
        used = "" if "k" not in sweep or "k" in inputs else ", spare: k"
        first = "" if "self:" in inputs else "self: ones(1), "
        case = f"{{name: a, sweep: {sweep}, inputs: {{{first}{inputs}{used}}}}}"
        text = f'version: 1\noperators:\n  - schema: "{SCHEMA}"\n    cases:\n      - {case}\n'
        path = tmp_path / "registry.yaml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        (operator,) = require_manifest(path).operators
        return check_operator(operator)[0]

    return run


@pytest.mark.parametrize(
    "inputs",
    [
        "self: [[1, 2], [3, 4]]",
        "self: 'randn(2) * 2 + 1'",
        "self: '[k, 2]'",
        "bias: null",
        "bias: 'ones(3)'",
        "others: '[ones(2), zeros(3)]'",
        "low: 1",
        "low: 'k / 3'",
        "low: '1 / 0'",
        "low: -inf",
        "size: 3",
        "size: [k, 2]",
        "by: 2.5",
        "mode: '\"tanh\"'",
        "flag: true",
    ],
)
def test_what_may_fit_is_no_finding(check, inputs):
    assert check(inputs) == []


@pytest.mark.parametrize(
    ("inputs", "fact"),
    [
        ("self: 3", "argument `self` of `c10::f` must be Tensor, not int 3"),
        ("self: '1 + 2'", "argument `self` of `c10::f` must be Tensor, not int 3"),
        ("self: k", "argument `self` of `c10::f` must be Tensor, not int 1"),
        ("self: null", "argument `self` of `c10::f` must be Tensor, not None"),
        ("bias: true", "argument `bias` of `c10::f` must be Tensor, not True"),
        ("others: ones(2)", "argument `others` of `c10::f` must be Tensor[], not a tensor"),
        ("low: 'randn(2)'", "argument `low` of `c10::f` must be float, not a tensor"),
        ("low: '-randn(2) / 2'", "argument `low` of `c10::f` must be float, not a tensor"),
        ("low: true", "argument `low` of `c10::f` must be float, not True"),
        ("n: 1.5", "argument `n` of `c10::f` must be int, not float 1.5"),
        ("by: 'ones(1)'", "argument `by` of `c10::f` must be Scalar, not a tensor"),
        ("mode: 3", "argument `mode` of `c10::f` must be str, not int 3"),
        (
            "size: 'ones(2)'",
            "argument `size` of `c10::f` must be int[2] or one int for all items, not a tensor",
        ),
    ],
)
def test_what_cannot_fit_is_found_at_the_input(check, inputs, fact):
    (finding,) = check(inputs)
    assert (finding.code, finding.message) == ("C10E405", fact)
    name = inputs.partition(":")[0]
    line, column = finding.span.line_text, finding.span.column
    assert line[: column - 1].endswith(f"{name}: ")
    assert finding.notes[-1] == "in case a"


def test_a_number_for_a_tensor_is_told_how_to_be_one(check):
    assert check("self: 3")[0].help == "write `full((), 3)` for a tensor without dimensions"


def test_one_value_of_a_sweep_is_enough(check):
    (finding,) = check("n: k", sweep="{k: [1, two]}")
    assert finding.message == "argument `n` of `c10::f` must be int, not str 'two'"


def test_an_expression_that_is_not_understood_hides_no_other_input(check):
    assert [finding.code for finding in check("low: 'randm(2)', n: 1.5")] == ["C10E110", "C10E405"]
