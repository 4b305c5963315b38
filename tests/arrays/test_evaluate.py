import re

import numpy as np
import pytest

from c10cli.arrays.evaluate import evaluate
from c10cli.errors import ManifestError
from c10cli.schema.dtypes import COST_FUNCTIONS
from c10cli.schema.expression import find_unknown_names, makes_array, parse_expression


def value(text, dtype="float32", **names):
    return evaluate(parse_expression(text), names, dtype, np.random.default_rng(7))


def fault(text, dtype="float32", **names):
    """The one finding that *text* causes, parsed or evaluated."""
    with pytest.raises(ManifestError) as caught:
        value(text, dtype, **names)
    (finding,) = caught.value.diagnostics
    assert finding.code == "C10E110"
    assert finding.span.file == "<expression>"
    return finding


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 1),
        ("-2.5e-3", -0.0025),
        ("+3", 3),
        ("True", True),
        ("None", None),
        ("'mean'", "mean"),
        ("2j", 2j),
        ("-inf", -np.inf),
        ("[1, [2, rows]]", [1, [2, 4]]),
        ("(1, 2)", (1, 2)),
        ("2 * rows + 1", 9),
        ("7 // 2 + 7 % 4 - 2 ** 3", -2),
        ("1 / 4", 0.25),
        ("2 ** -1", 0.5),
        ("\n  1 +\n  2\n", 3),
    ],
)
def test_plain_values(text, expected):
    result = value(text, rows=4)
    assert result == expected
    assert type(result) is type(expected)


def test_nan_is_a_name():
    assert np.isnan(value("nan"))


def test_free_names_are_listed():
    expression = parse_expression("[randn(rows, cols) * 2, nan, zeros(n)]")
    assert expression.names == {"rows", "cols", "n"}


def test_arrays_combine_with_numbers_and_keep_their_dtype():
    for text in ("ones(3) * 2.5", "2.5 * ones(3)", "ones(3) + 1.5", "3.5 - ones(3)", "ones(3) / 0.4"):
        result = value(text, "float16")
        assert result.dtype == np.float16
        assert np.array_equal(result, np.full(3, 2.5, np.float16))


def test_minus_an_array():
    assert value("-arange(3)", "int32").tolist() == [0, -1, -2]


def test_an_array_without_dimensions_stays_one():
    for text in ("randn() * 2", "-randn()"):
        assert isinstance(value(text), np.ndarray)


def test_integers_divided_become_the_wanted_fractions():
    assert value("randint(0, 9, 4) / 10", "float32").dtype == np.float32
    assert value("arange(4) / 2", "int32").dtype == np.float64


@pytest.mark.parametrize(
    ("text", "dtype", "words"),
    [
        ("arange(4) * 100", "int8", "int8 cannot hold 300"),
        ("1 - arange(3)", "uint8", "uint8 cannot hold -1"),
        ("-arange(3)", "uint8", "uint8 cannot hold -2"),
        ("-full(2, -128)", "int8", "int8 cannot hold 128"),
        ("full(2, 2**62) * 4", "int64", "int64 cannot hold 1.8446744073709552e+19"),
        ("full(2, 60000) * 2", "float16", "float16 cannot hold 120000.0"),
        ("full(2, 60000) / 0.001", "float16", "float16 cannot hold 60000000.0"),
        ("arange(2, dtype='int32') * 1e6", "float16", "float16 cannot hold 1000000.0"),
        ("full(2, 1e38) * 10j", "complex64", "complex64 cannot hold"),
    ],
)
def test_arithmetic_ends_where_the_dtype_does(text, dtype, words):
    with pytest.raises(ManifestError, match=re.escape(words)) as caught:
        value(text, dtype)
    assert caught.value.code == "C10E110"
    assert caught.value.diagnostics[0].help == "give what the dtype can hold, or another dtype"


def test_infinity_and_nan_are_what_floats_hold_also_by_division():
    for text in ("ones(2) * inf", "ones(2) / 0", "full(2, nan) + 1", "1 / arange(2)", "zeros(0) * 9"):
        assert not np.isfinite(value(text, "float16")).all() or not value(text).size
    assert value("5 - arange(3)", "uint8").tolist() == [5, 4, 3]
    assert value("zeros(0) - 1", "uint8").tolist() == []


@pytest.mark.parametrize(
    ("text", "column", "end_column", "words"),
    [
        ("x.real", 1, 7, "`x.real` is not part"),
        ("1 + a[0:9:2]", 7, 12, "a step is not part"),
        ("lambda: 0", 1, 10, "`lambda: 0` is not part"),
        ("[i for i in x]", 1, 15, "`[i for i in x]` is not part"),
        ("1 if x else 2", 1, 14, "`1 if x else 2` is not part"),
        ("1 is 2", 1, 7, "`is` is not part"),
        ("f'{x}'", 1, 7, "`f'{x}'` is not part"),
        ("b'x'", 1, 5, "b'x'"),
        ("...", 1, 4, "`...` is not part"),
        ("{1: 2}", 1, 7, "`{1: 2}` is not part"),
        ("randn(*x)", 7, 9, "`*x` is not part"),
        ("randn(**x)", 1, 11, "`**`"),
        ("(1)(2)", 1, 7, "plain name"),
        ("~1", 1, 3, "`~`"),
        ("1 << 2", 1, 7, "only + - * / // % **"),
        ("é.x", 1, 4, "`é.x` is not part"),
        ("'é' + x.y", 7, 10, "`x.y` is not part"),
    ],
)
def test_what_is_not_in_the_language_is_refused_at_its_column(text, column, end_column, words):
    finding = fault(text, x=1)
    assert words in finding.message
    assert (finding.span.line, finding.span.column, finding.span.end_column) == (1, column, end_column)


@pytest.mark.parametrize(
    "text", ["", "  ", "randn(2,", "1 +", "1)", "a)+(b", "x := 1", "x = 1", "1; 2", "# 1", "\0"]
)
def test_what_is_no_expression_is_refused(text):
    fault(text)


def test_a_fault_on_a_later_line_has_that_line():
    finding = fault("randn(2,\n  x.y)", x=1)
    assert (finding.span.line, finding.span.column, finding.span.end_column) == (2, 3, 6)
    assert finding.span.line_text == "  x.y)"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 150 + "]" * 150,
        "(" * 1_000 + ")" * 1_000,
        "-" * 9_000 + "1",
        "not " * 2_000 + "x",
        "1" + "+1" * 4_000,
        "1" * 9_000,
        "1," * 9_000,
    ],
)
def test_deep_and_long_texts_end_in_a_finding(text):
    fault(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("10 ** 10 ** 10", "4,096 bits"),
        ("2 ** 4095 * 4", "4,096 bits"),
        ("10.0 ** 400", "too large"),
        ("1 // 0", "zero"),
        ("1 % 0", "zero"),
        ("'a' * 3", "a number is wanted, not str"),
        ("[1] * 3", "a number is wanted, not list of 1"),
        ("-'a'", "a number is wanted, not str"),
        ("ones(2) + ones(2)", "combines with one number"),
        ("ones(2) ** 2", "combines with one number"),
        ("-ones(2, dtype='bool')", "boolean"),
    ],
)
def test_arithmetic_is_bounded_and_for_numbers(text, words):
    assert words in fault(text).message


def test_an_unknown_name_has_its_place_and_near_names():
    finding = fault("randn(rows, colls)", rows=1, cols=2)
    assert finding.message == "unknown name `colls` in `randn(rows, colls)`"
    assert (finding.span.column, finding.span.end_column) == (13, 18)
    assert finding.help == "did you mean `cols`?"


def test_an_unknown_function_is_never_called():
    finding = fault("__import__('os')")
    assert finding.message == "unknown function `__import__` in `__import__('os')`"
    assert fault("ramdn(2)").help == "did you mean `randn`?"


def test_all_unknown_names_are_found_without_evaluating():
    expression = parse_expression("ramdn(rws) + nbytes(cols)")
    findings = find_unknown_names(expression, ["rows", "cols"])
    assert [(f.message.split(" in ")[0], f.span.column) for f in findings] == [
        ("unknown function `ramdn`", 1),
        ("unknown function `nbytes`", 14),
        ("unknown name `rws`", 7),
    ]
    assert find_unknown_names(parse_expression("2 * nbytes(x)"), ["x"], COST_FUNCTIONS) == []


def test_other_functions_can_be_given():
    functions = {"nbytes": lambda array: array.nbytes, "dim": lambda array, axis: array.shape[axis]}
    names = {"x": np.zeros((2, 8), np.float32)}
    assert evaluate(parse_expression("3 * nbytes(x) + dim(x, 1)"), names, functions=functions) == 200
    with pytest.raises(ManifestError, match="unknown function `randn`"):
        evaluate(parse_expression("randn(2)"), names, functions=functions)


def test_a_functions_own_complaint_names_it_and_its_place():
    finding = fault("[1, randn(-2)]")
    assert finding.message == "`randn`: size -2 is negative, in `[1, randn(-2)]`"
    assert finding.span.column == 5


@pytest.mark.parametrize(
    ("text", "is_array"),
    [
        ("randn(2)", True),
        ("-ones(1) * 2", True),
        ("2 * n", False),
        ("n", False),
        ("[ones(2)]", False),
        ("3", False),
    ],
)
def test_the_outermost_function_tells_whether_the_value_is_an_array(text, is_array):
    assert makes_array(parse_expression(text)) is is_array


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 <= n < 5", True),
        ("0 <= n < 3", False),
        ("n == 3 and not n > 4", True),
        ("n in (1, 2) or word not in ['a', 'b']", True),
        ("sizes[-1] * sizes[0]", 10),
        ("sizes == [2, 5]", True),
        ("sizes[:-1] == [2] and sizes[:0] == [] and sizes[1:][0] == 5", True),
        ("nothing or word", "c"),
        ("word or nothing", "c"),
        ("nothing == none", True),
        ("rank == 2 and sizes[2] == 4 or true", True),  # what is not asked for is not evaluated
    ],
)
def test_comparisons_join_and_items_are_taken(text, expected):
    assert value(text, n=3, word="c", sizes=(2, 5), nothing=None, rank=1) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 < 'a'", "compare numbers, not str"),
        ("1 and true", "a condition is wanted, not int 1"),
        ("not 1", "a condition is wanted, not int 1"),
        ("1 in 2", "looks into a list"),
        ("[1, 2][2]", "item 2 of a list of 2"),
        ("[1, 2][true]", "takes an item of a list by its number"),
        ("'ab'[0]", "takes an item of a list by its number"),
        ("ones(2) > 0", "an array is not compared"),
    ],
)
def test_comparisons_of_what_cannot_be_compared_are_refused(text, words):
    assert words in fault(text).message
