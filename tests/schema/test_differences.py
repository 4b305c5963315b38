import pytest

from c10cli.schema.differences import schema_differences
from c10cli.schema.parser import parse_schema


@pytest.mark.parametrize(
    ("first", "second", "sentences"),
    [
        ("(Tensor x) -> Tensor", "(Tensor x) -> Tensor", []),
        (
            "(Tensor x, int a) -> ()",
            "(Tensor x) -> ()",
            ["argument 1 is `int a` in the first and absent in the second"],
        ),
        (
            "(Tensor(a!) x, *, int? b) -> Tensor(a!)",
            "(Tensor x, int? b) -> Tensor",
            [
                "argument 0 is `Tensor(a!) x` in the first and `Tensor x` in the second",
                "argument 1 is keyword-only `int? b` in the first and `int? b` in the second",
                "return 0 is `Tensor(a!)` in the first and `Tensor` in the second",
            ],
        ),
        (
            "(Tensor x, ...) -> ()",
            "(Tensor x) -> ()",
            ["the first is `t::f(Tensor x, ...) -> ()` and the second `t::f(Tensor x) -> ()`"],
        ),
    ],
)
def test_schemas_are_compared_argument_by_argument(first, second, sentences):
    assert schema_differences(parse_schema(f"t::f{first}"), parse_schema(f"t::f{second}")) == sentences
