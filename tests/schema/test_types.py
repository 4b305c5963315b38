import pickle

import pytest

from c10cli.schema import types
from c10cli.schema.parser import parse_schema
from c10cli.schema.types import (
    BASE_TYPES,
    DEVICE_NAME,
    FLOAT,
    INT,
    NONE,
    NUMBERED,
    SCALAR,
    SCALAR_TYPE,
    SCALAR_TYPES,
    STR,
    TENSOR,
    BaseType,
    CompoundType,
    ListType,
    OptionalType,
    VarType,
    is_subtype,
)


@pytest.mark.parametrize(
    ("t", "text"),
    [
        (TENSOR, "Tensor"),
        (ListType(OptionalType(TENSOR)), "Tensor?[]"),
        (OptionalType(ListType(TENSOR)), "Tensor[]?"),
        (ListType(ListType(STR)), "str[][]"),
        (CompoundType("", ()), "()"),
        (CompoundType("", (INT, CompoundType("", (TENSOR,)))), "(int, (Tensor))"),
        (CompoundType("Dict", (STR, ListType(FLOAT))), "Dict(str, float[])"),
        (CompoundType("Future", (VarType("t"),)), "Future(t)"),
        (CompoundType("Union", (INT, STR)), "Union(int, str)"),
        (BaseType("__torch__.torch.classes.ns.Name"), "__torch__.torch.classes.ns.Name"),
    ],
)
def test_a_type_prints_as_the_schema_spells_it(t, text):
    assert str(t) == text


def test_types_are_values():
    assert ListType(TENSOR) == ListType(types.BaseType("Tensor"))
    assert len({OptionalType(INT), OptionalType(INT), ListType(INT)}) == 2
    assert pickle.loads(pickle.dumps(CompoundType("Dict", (STR, INT)))) == CompoundType("Dict", (STR, INT))
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
        ([INT, CompoundType("Union", (FLOAT, STR))], "Union(float, int, str)"),
        ([INT, NONE], "int?"),
        ([OptionalType(INT), STR], "Union(int, NoneType, str)"),
        ([SCALAR, STR], "Union(Scalar, str)"),
        ([STR, ListType(INT), TENSOR], "Union(Tensor, int[], str)"),
        ([INT, CompoundType("", (INT, STR))], "Union((int, str), int)"),
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


def argument(text):
    (found,) = parse_schema(f"f({text} x) -> ()", "torch").arguments
    return found


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("int", "Scalar"),
        ("float", "Scalar"),
        ("complex", "Scalar"),
        ("int", "int?"),
        ("NoneType", "int?"),
        ("int?", "Scalar?"),
        ("int?", "Any"),
        ("Tensor[]", "Tensor[]?"),
        ("int", "Union(int, str)"),
        ("int", "Union(Scalar, str)"),
        ("int?", "Union(int, str, NoneType)"),
        ("Union(int, str)", "Union(int, str, Tensor)"),
        ("(int, int)", "(Scalar, int?)"),
        ("Future(int)", "Future(int?)"),
    ],
)
def test_values_of_one_type_are_values_of_a_wider_one(narrow, wide):
    assert is_subtype(argument(narrow).type, argument(wide).type)
    assert not is_subtype(argument(wide).type, argument(narrow).type)


@pytest.mark.parametrize(
    ("t", "other"),
    [
        ("bool", "Scalar"),
        ("bool", "int"),
        ("int", "float"),
        ("str", "Device"),
        ("int[]", "int?[]"),
        ("Tensor[]", "Tensor?[]"),
        ("Dict(str, int)", "Dict(str, int?)"),
        ("RRef(int)", "RRef(int?)"),
        ("Future(int)", "Await(int)"),
        ("(int, int)", "(int, int, int)"),
        ("ScalarType", "int"),
    ],
)
def test_neither_type_holds_the_other(t, other):
    assert not is_subtype(argument(t).type, argument(other).type)
    assert not is_subtype(argument(other).type, argument(t).type)


def test_both_spellings_of_an_element_type_name_the_same():
    assert SCALAR_TYPES["half"] == SCALAR_TYPES["float16"] == "float16"
    assert SCALAR_TYPES["long"] == "int64"
    assert set(SCALAR_TYPES.values()) == set(NUMBERED[SCALAR_TYPE])


def test_the_numbers_are_those_of_torch():
    known = {
        "uint8": 0,
        "int64": 4,
        "float32": 6,
        "bool": 11,
        "bfloat16": 15,
        "float8_e5m2": 23,
        "uint64": 29,
    }
    assert {name: NUMBERED[SCALAR_TYPE][name] for name in known} == known


def test_a_device_is_a_name_and_perhaps_an_index():
    assert all(map(DEVICE_NAME.fullmatch, ["cpu", "cuda:0", "my_npu:12"]))
    assert not any(map(DEVICE_NAME.fullmatch, ["", "cuda:", ":0", "cuda:x", "cuda:0 "]))
