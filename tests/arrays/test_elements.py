"""Conditions on all elements of a tensor."""

import numpy as np
import pytest

from c10cli.arrays.elements import judge_elements
from c10cli.errors import ArgumentError
from c10cli.schema.bindings import bind_domain
from c10cli.schema.domain_parser import parse_domain
from c10cli.schema.expression import parse_expression
from c10cli.schema.parser import parse_schema


def judge(text, array, **names):
    return judge_elements(parse_expression(text), array, names)


@pytest.mark.parametrize(
    ("text", "values", "dtype"),
    [
        ("0 <= _ < rows", [0, 4], "int8"),
        ("_ * 100 > 100", [2, 127], "int8"),  # which int8 could not hold
        ("_ % 2 == 0 or _ == 7", [2, 7], "int64"),
        ("not _ in (1, 2)", [0, 3], "uint64"),
        ("finite(_) and _ != 0", [1.5, -2.0], "float16"),
        ("sorted(_)", [1, 1, 3], "int32"),
        ("sorted(_, 0)", [[1, 9], [1, 10]], "int32"),
        ("unique(_, -1)", [[1, 2], [2, 1]], "int32"),
        ("distribution(_, -1)", [[0.25, 0.75], [1.0, 0.0]], "float16"),
        ("offsets(_, total)", [0, 2, 2, 5], "int32"),
        ("_ > 3", [], "int32"),
        ("sorted(_)", [], "int32"),
        ("-_ < 1 and _ ** 2 <= 4 and abs(_) + 1 > 0 and 1 / _ < 2", 1, "float32"),  # of no axes
        ("-_ < 1 and _ + 1 > _", [0, 2**63 - 2], "uint64"),
        ("-_ <= 0 and _ + _ < 3", [True], "bool"),
        ("-_ < 1 and _ + 1 > _", [0, 2**64 - 1], "uint64"),
        ("min(_, 1) <= 1 and max(_, rows) == max(rows, 2) and min(rows, 2) == 2", [0, 5], "int8"),
    ],
)
def test_conditions_that_hold_for_all_elements(text, values, dtype):
    assert judge(text, np.array(values, dtype), rows=5, total=5) == ""


@pytest.mark.parametrize(
    ("text", "values", "dtype", "why"),
    [
        ("0 <= _ < rows", [[0, 4], [5, 9]], "int8", "`0 <= _ < rows` is false: element [1, 0] is 5"),
        ("finite(_)", [1.0, np.nan], "float32", "`finite(_)` is false: element [1] is nan"),
        ("_ >= 0 and sorted(_)", [2, 1], "int64", "`sorted(_)` is false: in int64[2]"),
        ("unique(_)", [[1], [1]], "int64", "`unique(_)` is false: in int64[2, 1]"),
        ("distribution(_, -1)", [[0.5, 0.6]], "float64", "`distribution(_, -1)` is false: in float64[1, 2]"),
        ("offsets(_, total)", [0, 3, 2, 5], "int32", "`offsets(_, total)` is false: in int32[4]"),
        ("offsets(_, total)", [0, 4], "int32", "`offsets(_, total)` is false: in int32[2]"),
        ("offsets(_, total)", [], "int32", "`offsets(_, total)` is false: in int32[0]"),
        ("_ < 0", 1, "int64", "`_ < 0` is false: it is 1"),
        ("_ < 3", [1], "complex64", "`<` and `>` compare numbers, not complex64[1]"),
        ("sorted(_, 3)", [1], "int64", "`sorted`: "),
    ],
)
def test_why_a_condition_does_not_hold(text, values, dtype, why):
    assert judge(text, np.array(values, dtype), rows=5, total=5).startswith(why)


def test_torchs_bfloat16_is_judged_as_it_is(needs):
    torch = needs("torch")
    assert judge("0 <= _ < 2", torch.ones(2, dtype=torch.bfloat16)) == ""
    assert "element [0] is" in judge("_ < 1", torch.ones(2, dtype=torch.bfloat16))


def test_a_domain_asks_for_the_elements_and_names_what_they_are_compared_with():
    schema = parse_schema("t::embedding(Tensor weight, Tensor indices) -> Tensor")
    texts = {"weight": "floating[rows, columns]", "indices": "int32 | int64 [*n], 0 <= _ < rows"}
    domain = parse_domain(texts, schema)
    values = {"weight": np.zeros((3, 2), np.float32), "indices": np.array([[0, 2]])}
    assert bind_domain(domain, values, judge=judge_elements).dims == {"rows": 3, "columns": 2, "n": (1, 2)}
    values["indices"][0, 1] = 3
    with pytest.raises(ArgumentError) as caught:
        bind_domain(domain, values, judge=judge_elements)
    assert caught.value.diagnostics[0].message == (
        "argument `indices` of `t::embedding`, int64[1, 2], is outside its domain: "
        "`0 <= _ < rows` is false: element [0, 1] is 3, rows is 3, from weight float32[3, 2]"
    )
