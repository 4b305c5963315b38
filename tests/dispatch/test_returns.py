import numpy as np
import pytest

from c10cli.dispatch.returns import check_returns
from c10cli.errors import KernelError
from c10cli.schema.parser import parse_schema


def test_returns_of_all_kinds_come_as_a_tuple():
    schema = parse_schema("t::f(Tensor x) -> (int, int)")
    assert check_returns(schema, "k", [1, 2]) == (1, 2)
    assert check_returns(parse_schema("t::f(Tensor x) -> ()"), "k", None) == ()


@pytest.mark.parametrize(
    ("declared", "right", "wrong"),
    [
        ("Tensor?", None, 3),
        ("Tensor[]", [np.ones(1)], [np.ones(1), None]),
        ("Tensor?[]", [np.ones(1), None], np.ones(2)),
        ("float", 1.5, 1),
        ("float", np.float32(1.5), "1.5"),
        ("int", np.int64(3), np.bool_(True)),
        ("bool", np.bool_(True), 1),
        ("complex", np.complex64(1j), 1.5),
        ("Scalar", True, "1"),
        ("int[]", (1, 2), [1, 2.5]),
        ("str", "text", b"text"),
    ],
)
def test_each_type_takes_its_own_values_alone(declared, right, wrong):
    schema = parse_schema(f"t::f(Tensor x) -> {declared}")
    assert check_returns(schema, "k", right) == (right,)
    with pytest.raises(KernelError) as caught:
        check_returns(schema, "k", wrong)
    assert caught.value.code == "C10E502"


@pytest.mark.parametrize("value", [None, 1, "text", object()])
def test_a_type_without_a_rule_takes_anything(value):
    schema = parse_schema("t::f(Tensor x) -> Any")
    assert check_returns(schema, "k", value) == (value,)


def test_a_symbolic_int_is_an_int():
    schema = parse_schema("t::f(Tensor x) -> SymInt", "torch")
    assert check_returns(schema, "k", 3) == (3,)
    with pytest.raises(KernelError):
        check_returns(schema, "k", 3.0)
