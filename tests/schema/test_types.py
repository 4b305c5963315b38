import pickle

import pytest

from c10cli.schema import types
from c10cli.schema.types import (
    BASE_TYPES,
    FLOAT,
    INT,
    NONE,
    SCALAR,
    STR,
    TENSOR,
    ClassType,
    DictType,
    GenericType,
    ListType,
    OptionalType,
    TupleType,
    UnionType,
    VarType,
)


@pytest.mark.parametrize(
    ("t", "text"),
    [
        (TENSOR, "Tensor"),
        (ListType(OptionalType(TENSOR)), "Tensor?[]"),
        (OptionalType(ListType(TENSOR)), "Tensor[]?"),
        (ListType(ListType(STR)), "str[][]"),
        (TupleType(()), "()"),
        (TupleType((INT, TupleType((TENSOR,)))), "(int, (Tensor))"),
        (DictType(STR, ListType(FLOAT)), "Dict(str, float[])"),
        (GenericType("Future", VarType("t")), "Future(t)"),
        (UnionType((INT, STR)), "Union(int, str)"),
        (ClassType("__torch__.torch.classes.ns.Name"), "__torch__.torch.classes.ns.Name"),
    ],
)
def test_a_type_prints_as_the_schema_spells_it(t, text):
    assert str(t) == text


def test_types_are_values():
    assert ListType(TENSOR) == ListType(types.BaseType("Tensor"))
    assert len({OptionalType(INT), OptionalType(INT), ListType(INT)}) == 2
    assert pickle.loads(pickle.dumps(DictType(STR, INT))) == DictType(STR, INT)
    with pytest.raises(AttributeError):
        TENSOR.name = "Other"


def test_the_words_that_are_other_names_mean_the_type_torch_prints():
    assert BASE_TYPES["DeviceIndex"] is INT
    assert BASE_TYPES["ConstQuantizerPtr"] is INT
    assert BASE_TYPES["None"] is NONE


def test_there_are_the_documented_base_types():
    assert len(BASE_TYPES) == 26
    assert not {"number", "SymFloat", "Dimname", "double", "long"} & set(BASE_TYPES)


def test_optional_of_optional_is_optional():
    assert types.optional(OptionalType(INT)) == OptionalType(INT)


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ([STR, INT], "Union(int, str)"),
        ([INT, UnionType((FLOAT, STR))], "Union(float, int, str)"),
        ([INT, NONE], "int?"),
        ([OptionalType(INT), STR], "Union(int, NoneType, str)"),
        ([SCALAR, STR], "Union(Scalar, str)"),
        ([STR, ListType(INT), TENSOR], "Union(Tensor, int[], str)"),
        ([INT, TupleType((INT, STR))], "Union((int, str), int)"),
    ],
)
def test_a_union_is_flat_and_in_order(members, text):
    assert str(types.union(members)) == text
    assert str(types.union(members[::-1])) == text


def test_a_union_of_one_type_is_none():
    assert types.union([INT]) is None
    assert types.union([INT, INT]) is None


def test_the_predicates_know_the_tensor_types():
    spelled = {
        "Tensor": TENSOR,
        "Tensor?": OptionalType(TENSOR),
        "Tensor[]": ListType(TENSOR),
        "Tensor?[]": ListType(OptionalType(TENSOR)),
        "Tensor[]?": OptionalType(ListType(TENSOR)),
        "int[]": ListType(INT),
    }
    assert [text for text, t in spelled.items() if types.is_tensor(t)] == ["Tensor"]
    assert [text for text, t in spelled.items() if types.is_optional_tensor(t)] == ["Tensor?"]
    assert [text for text, t in spelled.items() if types.is_tensor_list(t)] == ["Tensor[]", "Tensor?[]"]
