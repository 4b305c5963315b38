from types import SimpleNamespace

import numpy as np
import pytest

from c10cli import ArgumentError, DispatchError, ManifestError
from c10cli.arrays.tensor_types import tensors_of
from c10cli.errors import Diagnostic
from c10cli.manifest.checks import check_operator
from c10cli.manifest.load import require_manifest
from c10cli.verify import inputs
from c10cli.verify.inputs import (
    as_argument,
    case_points,
    copy_tensors,
    is_of_case,
    make_arguments,
    place_arguments,
    place_case,
    shapes_text,
)


@pytest.fixture
def declare(tmp_path):
    """The declaration of one operator, from its schema and cases."""

    def declare(schema, *cases):
        listed = "".join(f"      - {case}\n" for case in cases)
        path = tmp_path / "registry.yaml"
        path.write_text(
            f'version: 1\noperators:\n  - schema: "{schema}"\n    cases:\n{listed}', encoding="utf-8"
        )
        return require_manifest(path).operators[0]

    return declare


F = "t::f(Tensor x, int n=2) -> Tensor"
SWEPT = "{name: s, sweep: {r: [1, 2], c: [3]}, dtypes: [float32, int8], inputs: {x: 'ones(r, c)'}}"
UNTIMED = "{name: u, bench: false, dtypes: [float64], inputs: {x: 'ones(1)'}}"


def test_points_are_every_combination_in_the_order_of_the_file(declare):
    points = list(case_points(declare(F, SWEPT, UNTIMED)))
    assert [p.label for p in points] == [
        "s[r=1,c=3]/float32",
        "s[r=1,c=3]/int8",
        "s[r=2,c=3]/float32",
        "s[r=2,c=3]/int8",
        "u/float64",
    ]


def test_cases_that_are_not_timed_can_be_left_out(declare):
    points = case_points(declare(F, SWEPT, UNTIMED), bench_only=True)
    assert {p.case.name for p in points} == {"s"}


def test_arguments_are_all_there_in_schema_order_with_defaults(declare):
    decl = declare(
        "t::f(Tensor x, int n=2, *, float e=0.5) -> Tensor", "{name: s, inputs: {e: 1.5, x: [1, 2]}}"
    )
    arguments = make_arguments(decl, next(case_points(decl)))
    assert list(arguments) == ["x", "n", "e"]
    assert (arguments["n"], arguments["e"]) == (2, 1.5)
    assert (arguments["x"].dtype, arguments["x"].tolist()) == (np.float32, [1.0, 2.0])


def test_random_numbers_depend_on_operator_point_and_seed_alone(declare):
    case = "{name: s, sweep: {n: [3, 4]}, inputs: {x: 'randn(3)', n: n}}"
    decl = declare(F, case)
    first, second = case_points(decl)

    def drawn(decl, point, **options):
        return make_arguments(decl, point, **options)["x"].tolist()

    assert drawn(decl, first) == drawn(decl, first, seed=0)
    others = [
        drawn(decl, second),
        drawn(decl, first, seed=1),
        drawn(declare(F.replace("f(", "g("), case), first),
    ]
    assert drawn(decl, first) not in others


def test_an_expression_that_fails_is_found_at_its_place(declare):
    decl = declare(F, "{name: s, sweep: {n: [1, 2]}, inputs: {x: 'ones(1 - n)'}}")
    good, bad = case_points(decl)
    assert make_arguments(decl, good)["x"].shape == (0,)
    with pytest.raises(ManifestError) as caught:
        make_arguments(decl, bad)
    finding = caught.value.diagnostics[0]
    assert finding.code == "C10E110"
    assert finding.span.line_text[finding.span.column - 1 :].startswith("'ones(1 - n)'")
    assert "in case s[n=2]/float32" in finding.notes


def test_a_value_that_does_not_fit_the_schema_is_found_at_its_input(declare):
    decl = declare(F, "{name: s, inputs: {x: 'ones(1)', n: 'ones(1)'}}")
    with pytest.raises(ArgumentError) as caught:
        make_arguments(decl, next(case_points(decl)))
    assert caught.value.code == "C10E405"
    assert caught.value.diagnostics[0].span == decl.cases[0].node.child("inputs").span("n")


def test_more_memory_than_there_is_keeps_its_cause(declare):
    decl = declare(F, "{name: s, inputs: {x: 'ones(1000000, 1000000, 1000)'}}")
    with pytest.raises(ManifestError) as caught:
        make_arguments(decl, next(case_points(decl)))
    assert caught.value.code == "C10E110"
    assert isinstance(caught.value.__cause__, MemoryError)


@pytest.mark.parametrize("value", [[[1, 2], [3]], [1e400, "x"], 300, 1.7, [None], [np.nan], [2**70]])
def test_what_is_no_array_of_the_dtype_is_refused(declare, value):
    argument = declare(F, SWEPT).schema.arguments[0]
    with pytest.raises(ArgumentError) as caught:
        as_argument(argument, value, "int8")
    assert (caught.value.code, caught.value.argument) == ("C10E405", "x")


def test_lists_of_tensors_become_lists_of_arrays(declare):
    decl = declare("t::f(Tensor?[] xs) -> Tensor", SWEPT.replace("x:", "xs:"))
    value = as_argument(decl.schema.arguments[0], [[1, 2], None], "int8")
    assert value[0].tolist() == [1, 2]
    assert value[1] is None


def test_numbers_stay_numbers_where_the_argument_is_none_of_tensors(declare):
    assert as_argument(declare(F, SWEPT).schema.arguments[1], 3, "float32") == 3


def test_placing_on_the_cpu_changes_nothing():
    arguments = {"x": np.ones(1), "xs": [np.ones(1), None], "n": 2, "sizes": [1, 2]}
    placed = place_arguments(arguments, "CPU")
    assert placed["x"] is arguments["x"]
    assert placed["xs"][0] is arguments["xs"][0]
    assert (placed["xs"][1], placed["n"], placed["sizes"]) == (None, 2, [1, 2])


def test_placing_where_no_tensor_can_be_made_is_refused():
    with pytest.raises(DispatchError) as caught:
        place_arguments({"x": np.ones(1)}, "XLA")
    assert caught.value.code == "C10E607"


def refuse(array, *_):
    raise ArgumentError(Diagnostic("C10E405", f"no {array.dtype}"))


@pytest.mark.parametrize(
    ("case", "place"),
    [
        ("{name: s, dtypes: [int8, float32], inputs: {x: 'ones(1)'}}", "float32"),
        ("{name: s, inputs: {x: 'ones(1)'}}", "'ones(1)'"),
        ("{name: s, dtypes: [float32], inputs: {x: 'arange(3) > 1'}}", "'arange(3) > 1'"),
    ],
    ids=["the dtype of the case", "no dtype given", "a dtype of its own"],
)
def test_a_case_that_a_library_makes_no_array_of_is_found_at_what_asks_for_it(
    declare, monkeypatch, case, place
):
    decl = declare("t::f(Tensor x) -> Tensor", case)
    *_, point = case_points(decl)
    monkeypatch.setattr(inputs, "place", refuse)
    arguments = {"x": np.ones(1, np.float32 if "arange" not in case else np.bool_)}
    with pytest.raises(ArgumentError) as caught:
        place_case(decl, point, arguments, SimpleNamespace(dispatch_key="CPU", arrays=""))
    (finding,) = caught.value.diagnostics
    assert finding.message == f"case s/float32 of `t::f` cannot be made: no {arguments['x'].dtype}"
    assert finding.span.line_text[finding.span.column - 1 :].startswith(place)
    assert is_of_case(caught.value)
    assert not is_of_case(ArgumentError(finding))


def test_a_case_is_placed_in_copies(declare):
    decl = declare(F, SWEPT)
    point = next(case_points(decl))
    arguments = make_arguments(decl, point)
    placed = place_case(decl, point, arguments, SimpleNamespace(dispatch_key="CPU", arrays=""))
    assert placed["x"].tolist() == arguments["x"].tolist()
    assert not np.shares_memory(placed["x"], arguments["x"])


def test_copies_share_no_memory_with_the_arguments():
    arguments = {"x": np.ones(2), "xs": [np.ones(2), None], "n": 3}
    copied = copy_tensors(arguments)
    copied["x"][:] = copied["xs"][0][:] = 5
    assert arguments["x"].tolist() == arguments["xs"][0].tolist() == [1, 1]
    assert (copied["xs"][1], copied["n"]) == (None, 3)


def test_copies_are_made_however_deep_a_tensor_lies():
    x = np.ones(1)
    (inner,) = copy_tensors({"d": {"a": ([x],)}})["d"]["a"]
    inner[0][:] = 5
    assert x.tolist() == [1]


def test_tensors_of_a_value_are_itself_or_those_of_its_list():
    x = np.ones(1)
    assert tensors_of(x) == [x]
    assert tensors_of([x, None, 3]) == [x]
    assert tensors_of([[x], {"a": [x]}]) == [x, x]
    assert tensors_of(3) == tensors_of(None) == tensors_of("x") == []


def test_shapes_are_written_by_argument():
    x = np.ones((2, 3), np.float32)
    assert shapes_text({"x": x, "n": 2, "xs": [x, x[0]]}) == "float32[2, 3], [float32[2, 3], float32[3]]"


STR = "t::f(Tensor x, str mode='', str? other=None, ScalarType kind=float32) -> Tensor"


@pytest.mark.parametrize(
    ("sweep", "inputs", "expected"),
    [
        ("", "mode: tanh", {"mode": "tanh"}),
        ("", "mode: none, other: two words", {"mode": "none", "other": "two words"}),
        ("", "mode: \"'tanh'\", other: none", {"mode": "tanh", "other": None}),
        ("", "mode: ones(2), other: null", {"mode": "ones(2)", "other": None}),
        ("", "kind: int8", {"kind": "int8"}),
        ("sweep: {m: [\"'tanh'\"]}, ", "mode: m", {"mode": "tanh"}),
        ("sweep: {m: [none]}, ", "mode: m", {"mode": "none"}),
    ],
)
def test_the_text_for_a_string_is_the_value_with_or_without_quotes_of_its_own(
    declare, sweep, inputs, expected
):
    decl = declare(STR, f"{{name: c, {sweep}inputs: {{x: 'ones(1)', {inputs}}}}}")
    for point in case_points(decl):
        made = make_arguments(decl, point)
        assert {name: made[name] for name in expected} == expected
    assert check_operator(decl)[0] == []


@pytest.mark.parametrize(
    "listed",
    [
        "[ones(2), 'randn(2, 3)', [1, 2]]",
        "'[ones(2), randn(2, 3), [1, 2]]'",
        '\'["ones(2)", "randn(2, 3)", [1, 2]]\'',
    ],
)
def test_lists_of_tensors_are_written_in_yaml_or_as_in_a_shell(declare, listed):
    decl = declare("t::f(Tensor[] xs) -> Tensor", f"{{name: c, inputs: {{xs: {listed}}}}}")
    assert check_operator(decl)[0] == []
    (point,) = case_points(decl)
    assert shapes_text(make_arguments(decl, point)) == "[float32[2], float32[2, 3], float32[2]]"


def test_a_literal_tensor_has_the_cases_dtype_or_its_own(declare):
    case = (
        "{name: c, dtypes: [float16], inputs: {x: 'tensor([[0, 1]], dtype=\"int64\")', y: 'tensor([1.5])'}}"
    )
    decl = declare("t::f(Tensor x, Tensor y) -> Tensor", case)
    assert check_operator(decl)[0] == []
    (point,) = case_points(decl)
    assert shapes_text(make_arguments(decl, point)) == "int64[1, 2], float16[1]"


def test_arguments_outside_of_the_domain_are_found_with_the_case_and_the_values(tmp_path):
    text = """
version: 1
operators:
  - schema: "t::take(Tensor weight, Tensor indices) -> Tensor"
    domain:
      weight: "floating[rows, columns]"
      indices: "int64[*n], 0 <= _ < rows"
    cases:
      - {name: in, inputs: {weight: "randn(3, 2)", indices: "tensor([0, 2], dtype='int64')"}}
      - {name: out, inputs: {weight: "randn(3, 2)", indices: "tensor([0, 3], dtype='int64')"}}
"""
    path = tmp_path / "registry.yaml"
    path.write_text(text, encoding="utf-8")
    decl = require_manifest(path).operators[0]
    inside, outside = case_points(decl)
    make_arguments(decl, inside)
    with pytest.raises(ArgumentError) as caught:
        make_arguments(decl, outside)
    (finding,) = caught.value.diagnostics
    assert finding.code == "C10E405"
    assert "`0 <= _ < rows` is false: element [1] is 3, rows is 3, from weight" in finding.message
    assert (finding.span.line, finding.notes[-1]) == (10, "in case out/float32")
