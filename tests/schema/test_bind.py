import pytest

from c10cli.errors import ArgumentError
from c10cli.schema.parser import parse_schema


class Array:
    """Stands for a tensor."""

    def __init__(self, dtype="float32", shape=(4, 8)):
        self.dtype = dtype
        self.shape = shape


X = Array()


def bind(arguments, *args, dialect="strict", **kwargs):
    return parse_schema(f"t::op({arguments}) -> ()", dialect).bind(args, kwargs)


def refusal(arguments, *args, **kwargs):
    with pytest.raises(ArgumentError) as raised:
        bind(arguments, *args, **kwargs)
    return raised.value


def test_values_come_by_position_and_by_keyword_in_schema_order():
    assert list(bind("Tensor x, int y", y=1, x=X).items()) == [("x", X), ("y", 1)]
    assert bind("Tensor x, int y", X, y=1) == {"x": X, "y": 1}
    assert bind("Tensor op, int name, int self, int key", X, name=1, self=2, key=3)["self"] == 2


def test_defaults_are_filled_on_both_sides_of_the_star():
    assert bind("Tensor x, int y=3, *, int z=4", X) == {"x": X, "y": 3, "z": 4}
    assert bind("Tensor x, Tensor? y=None", X) == {"x": X, "y": None}


def test_a_list_default_is_fresh_at_each_call():
    schema = parse_schema("t::op(int[2] a=1, int[] b=[]) -> ()")
    first, second = schema.bind([], {}), schema.bind([], {})
    assert first == {"a": [1, 1], "b": []}
    assert first["b"] is not second["b"]


@pytest.mark.parametrize(
    ("arguments", "args", "kwargs", "message", "hint"),
    [
        ("Tensor x, *, int z", [X], {}, "`t::op` is missing argument `z`", ""),
        ("int x, int y", [], {}, "`t::op` is missing arguments `x`, `y`", ""),
        ("int x", [1, 2], {}, "`t::op` takes 1 positional argument, 2 are given", ""),
        (
            "int x, *, int y",
            [1, 2],
            {},
            "`t::op` takes 1 positional argument, 2 are given",
            "pass `y` by keyword",
        ),
        ("", [1], {}, "`t::op` takes 0 positional arguments, 1 are given", ""),
        ("int x, int y", [1, 2], {"y": 2}, "argument `y` of `t::op` is given twice", ""),
        ("int alpha", [1], {"alhpa": 2}, "`t::op` has no argument `alhpa`", "did you mean `alpha`?"),
    ],
)
def test_each_argument_has_one_value_and_each_value_an_argument(arguments, args, kwargs, message, hint):
    error = refusal(arguments, *args, **kwargs)
    assert (error.code, error.diagnostics[0].message, error.diagnostics[0].help) == ("C10E404", message, hint)
    assert error.diagnostics[0].notes == (f"declared as `t::op({arguments}) -> ()`",)


@pytest.mark.parametrize(
    ("arguments", "value", "message"),
    [
        ("int y", 1.0, "argument `y` of `t::op` must be int, not float 1.0"),
        ("int y", True, "argument `y` of `t::op` must be int, not True"),
        ("int y", X, "argument `y` of `t::op` must be int, not float32[4, 8]"),
        ("Tensor y", None, "argument `y` of `t::op` must be Tensor, not None"),
        ("int[] y", [1, None], "argument `y` of `t::op` must be int[]: item 1 is None, not int"),
        ("int[2] y", [1, 2, 3], "argument `y` of `t::op` must be int[2], not list of 3"),
        ("int[2]? y", "a", "argument `y` of `t::op` must be int[2]? or one int for all items, not str 'a'"),
        ("Dict(str, int[])[] y", [{"a": [1, "b"]}],
         "argument `y` of `t::op` must be Dict(str, int[])[]: "
         "item 1 of the value of str 'a' of item 0 is str 'b', not int"),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_named_with_the_type_it_should_have(arguments, value, message):
    error = refusal(arguments, value)
    assert (error.code, error.diagnostics[0].message) == ("C10E405", message)
    assert error.diagnostics[0].place == "call of t::op, argument 0 `y`"
    assert (error.operator, error.argument) == ("t::op", "y")


def test_a_hint_says_how_to_convert():
    assert refusal("int y", True).diagnostics[0].help == "pass `int(True)` if that is meant"
    assert refusal("str[] y", "ab").diagnostics[0].help == "pass a list"
    assert (
        refusal("Tensor y", None).diagnostics[0].help == "leave `None` out, or declare the argument `Tensor?`"
    )


def test_a_sized_list_takes_its_length_or_one_value():
    assert bind("int[2] y", 3) == {"y": [3, 3]}
    assert bind("int[2]? y", 3) == {"y": [3, 3]}
    assert bind("int[2]? y", None) == {"y": None}
    assert bind("int[2] y", (1, 2)) == {"y": [1, 2]}
    assert refusal("int[2] y", []).code == "C10E405"


def test_the_torch_dialect_takes_a_list_of_any_length_as_torch_does():
    for t, value in (("int[1]?", [0, 1]), ("int[2]", []), ("int[3]", (1,)), ("Tensor[2]", [X] * 5)):
        assert bind(f"{t} y", value, dialect="torch") == {"y": list(value)}
        assert refusal(f"{t} y", value).code == "C10E405"
    assert bind("int[2] y", 3, dialect="torch") == {"y": [3, 3]}
    assert refusal("int[2] y", [1, 2.5], dialect="torch").code == "C10E405"


def test_an_empty_default_of_a_sized_list_may_be_passed_too():
    assert bind("int[2] stride=[]", []) == {"stride": []}
    assert bind("int[2] stride=[]") == {"stride": []}


def test_one_value_does_not_fill_a_billion_items():
    assert refusal("int[1000000000] y", 1).code == "C10E405"


def test_a_list_is_copied_unless_it_is_written():
    items = [X]
    assert bind("Tensor[] y", items)["y"] is not items
    assert bind("Tensor(a!)[] y", items)["y"] is not items
    assert bind("Tensor[](a!) y", items)["y"] is items
    assert "must be a list" in str(refusal("Tensor[](a!) y", (X,)))


def test_is_tensor_decides_what_a_tensor_is():
    schema = parse_schema("t::op(Tensor x) -> ()")
    assert schema.bind([1], {}, is_tensor=lambda value: value == 1) == {"x": 1}
    with pytest.raises(ArgumentError):
        schema.bind([X], {}, is_tensor=lambda value: False)


def test_varargs_are_kept_under_three_dots():
    assert bind("int x, ...", 1, 2, "a") == {"x": 1, "...": (2, "a")}
