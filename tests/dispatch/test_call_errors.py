import pytest

from c10cli.dispatch import call_errors
from c10cli.errors import ArgumentError, DispatchError, KernelError
from c10cli.schema import parse_schema

SCHEMA = parse_schema("t::f(Tensor[] l, Tensor? o) -> (int, int)")


@pytest.mark.parametrize(
    ("error", "family", "code"),
    [
        (call_errors.no_tensor(SCHEMA, {"l": [], "o": None}), ArgumentError, "C10E408"),
        (call_errors.not_a_list(SCHEMA, SCHEMA.arguments[0], 3), ArgumentError, "C10E405"),
        (call_errors.not_a_tensor(SCHEMA, SCHEMA.arguments, 3), ArgumentError, "C10E408"),
        (call_errors.missing_argument(SCHEMA, SCHEMA.arguments[0]), ArgumentError, "C10E404"),
        (call_errors.stack_too_short(SCHEMA, 1), DispatchError, "C10E409"),
        (call_errors.broken_discipline(SCHEMA, "k", None), KernelError, "C10E507"),
        (call_errors.wrong_returns(SCHEMA, 3), KernelError, "C10E502"),
    ],
)
def test_every_error_has_its_family_code_operator_schema_and_advice(error, family, code):
    assert (type(error), error.code, error.operator) == (family, code, "t::f")
    (diagnostic,) = error.diagnostics
    assert f"the schema is {SCHEMA}" in diagnostic.notes
    assert diagnostic.help


def test_all_arguments_that_could_decide_are_named():
    error = call_errors.not_a_tensor(SCHEMA, SCHEMA.arguments, 3)
    assert str(error) == (
        "error[C10E408] what decides in `l` or `o` of `t::f` is of type `int`, which is no known tensor"
    )


def test_broken_discipline_says_what_the_kernel_left():
    error = call_errors.broken_discipline(SCHEMA, "pushy", 3)
    assert str(error).endswith("`pushy` of `t::f` left 3 values on the stack where the schema returns 2")
    assert error.kernel == "pushy"
