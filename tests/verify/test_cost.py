import numpy as np
import pytest

from c10cli import ManifestError
from c10cli.manifest.checks import check_operator
from c10cli.manifest.load import require_manifest
from c10cli.verify.cost import evaluate_cost


@pytest.fixture
def declare(tmp_path):
    def declare(cost):
        path = tmp_path / "registry.yaml"
        schema = "t::f(Tensor x, Tensor[] xs, Tensor? m, int n) -> Tensor"
        path.write_text(
            f'version: 1\noperators:\n  - schema: "{schema}"\n    cost: {cost}\n', encoding="utf-8"
        )
        return require_manifest(path).operators[0]

    return declare


ARGUMENTS = {"x": np.ones((2, 3), np.float32), "xs": [np.ones(4), np.ones(1, np.int8)], "m": None, "n": 7}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("nbytes(x)", 24.0),
        ("nbytes(xs)", 33.0),
        ("nbytes(m) + size(m)", 0.0),
        ("size(xs)", 5.0),
        ("2 * size(x) * n", 84.0),
        ("dim(x, 0) + dim(x, -1)", 5.0),
    ],
)
def test_bytes_and_flops_come_from_the_arguments(declare, text, value):
    assert evaluate_cost(declare(f"{{bytes: '{text}', flops: '{text}'}}"), ARGUMENTS) == (value, value)


def test_what_the_manifest_does_not_say_is_none(declare):
    assert evaluate_cost(declare("{flops: '1'}"), ARGUMENTS) == (None, 1.0)


@pytest.mark.parametrize("text", ["dim(x, 2)", "dim(x, -3)", "dim(n, 0)", "dim(xs, 0)", "1 / (n - 7)"])
def test_a_cost_that_cannot_be_computed_is_a_finding(declare, text):
    with pytest.raises(ManifestError) as caught:
        evaluate_cost(declare(f"{{bytes: '{text}'}}"), ARGUMENTS)
    assert caught.value.code == "C10E110"


@pytest.mark.parametrize(
    ("text", "came"),
    [
        ("inf", "inf"),
        ("nan", "nan"),
        ("0 - size(x)", "-6"),
        ("1e308 * 10", "inf"),
        ("10 ** 400", "1000000000000000000000000000000000000000"),
        ("1j", "1j"),
        ("'many'", "a str"),
        ("xs", "a list"),
        ("x", "a ndarray"),
        ("None", "a NoneType"),
    ],
)
def test_a_cost_is_a_finite_number_from_0_up(declare, text, came):
    decl = declare(f'{{flops: "{text}"}}')
    with pytest.raises(ManifestError) as caught:
        evaluate_cost(decl, ARGUMENTS)
    (finding,) = caught.value.diagnostics
    assert finding.code == "C10E110"
    assert finding.message == f"a cost is a finite number from 0 up, and `{text}` gives {came}"
    assert finding.span == decl.node.child("cost").span("flops")
    assert finding.notes == ("the arguments are float32[2, 3], [float64[4], int8[1]]",)


def test_a_cost_knows_the_dims_and_dtypes_of_the_domain(tmp_path):
    path = tmp_path / "registry.yaml"
    path.write_text(
        """
version: 1
operators:
  - schema: "t::f(Tensor x) -> Tensor"
    domain: {T: floating, x: "T[rows, *n]"}
    cost: {bytes: "2 * rows * prod(n) * itemsize(T)", flops: "max(size(x, 0), len(n)) + rank(x)"}
""",
        encoding="utf-8",
    )
    decl = require_manifest(path).operators[0]
    assert not check_operator(decl)[0]
    arguments = {"x": np.zeros((3, 4, 5), np.float16)}
    assert evaluate_cost(decl, arguments) == (240.0, 6.0)
