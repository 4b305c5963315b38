import numpy as np
import pytest

from c10cli.manifest.load import require_manifest
from c10cli.verify.difference import find_difference


@pytest.fixture
def fact(tmp_path):
    """What differs, in words, between two results of a call with tensors of *given* dtypes."""

    def fact(actual, expected, given=("float32",), fields="", part="fact"):
        path = tmp_path / "registry.yaml"
        schema = '  - schema: "t::f(Tensor x) -> Tensor"'
        path.write_text(f"version: 1\noperators:\n{schema}\n    {fields}\n", encoding="utf-8")
        arguments = {"x": [np.ones(1, dtype) for dtype in given]}
        found = find_difference(require_manifest(path).operators[0], arguments, actual, expected)
        return getattr(found, part) if found else ""

    return fact


def ones(dtype):
    return np.ones(2, dtype)


@pytest.mark.parametrize(
    ("given", "dtype", "stated", "said"),
    [
        ("float32", "float32", "float64", ""),
        ("float32", "float64", "float64", "the arguments are float32"),
        ("float32", "float16", "float16", ""),
        ("float32 float16", "float16", "float64", ""),
        ("float32 float16", "float64", "float64", ""),
        ("float32 float64", "float16", "float64", "the arguments are float32 and float64"),
        ("int64", "float32", "float64", ""),
        ("int64", "float16", "float64", "the reference gives float64"),
        ("complex64", "float32", "float64", ""),
        ("complex64", "float64", "float64", "the arguments are float32"),
        ("complex64", "complex128", "complex128", "the arguments are complex64"),
        ("float32", "complex128", "complex128", ""),
        ("int8", "int8", "int64", "the reference gives int64"),
        ("int8", "int64", "int64", ""),
        ("float32", "uint8", "int8", "the reference gives int8"),
        ("float32", "bool", "int8", "the reference gives int8"),
    ],
)
def test_the_dtype_is_the_arguments_or_the_references(fact, given, dtype, stated, said):
    found = fact(ones(dtype), ones(stated), given.split())
    assert found == (f"the dtype is {dtype} where {said}" if said else "")
    kinds = {np.dtype(dtype).kind, np.dtype(stated).kind} - {"u"}
    open_width = fact(ones(dtype), ones(stated), given.split(), "domain: {returns: any}")
    assert open_width == (found if len(kinds) > 1 and "b" in kinds else "")


@pytest.mark.parametrize(
    ("actual", "expected", "said"),
    [
        (2, 2, ""),
        (2**70, 2**70, ""),
        (2, 3, "it is 2 where the reference gives 3"),
        (True, 1, "it is True where the reference gives 1"),
        (1.0, 1, "it is 1.0 where the reference gives 1"),
        (np.float32(1.000001), 1.0, ""),
        (1.1, 1.0, "it is 1.1 where the reference gives 1.0"),
        (float("nan"), float("nan"), ""),
        (1j, 1j, ""),
        ("a", "b", "it is a where the reference gives b"),
        (None, np.ones(2), "it is None where the reference gives float64[2]"),
        ([1, [2, None]], (1, [2, None]), ""),
        ([1, [2, 3]], [1, [2, 4]], "element 1: element 1: it is 3 where the reference gives 4"),
        ([1], [], "1 values where the reference gives 0"),
        ({"a": [1]}, {"a": [2]}, "element 'a': element 0: it is 1 where the reference gives 2"),
        ({}, {"a": 1}, "the keys are none where the reference gives 'a'"),
    ],
)
def test_values_of_every_kind_are_compared_place_by_place(fact, actual, expected, said):
    assert fact(actual, expected) == said


class Vague:
    def __eq__(self, other):
        raise TypeError

    __hash__ = None


@pytest.mark.parametrize(
    ("actual", "expected", "todo"),
    [
        (np.ones(2, np.float32), np.zeros(2), "correct the kernel, or widen `tolerance:` with a reason"),
        (0.5, 0.25, "correct the kernel, or widen `tolerance:` with a reason"),
        (np.ones(2, np.int64), np.zeros(2, np.int64), ""),
        (np.ones(2, np.float32), np.ones(3), ""),
        (1, 2, ""),
        (np.ones(2, np.int64), np.ones(2), "return a floating dtype"),
        (np.ones(2, np.float32), np.ones(2, np.int64), "return the reference's dtype"),
    ],
)
def test_a_wider_tolerance_is_offered_only_where_it_helps(fact, actual, expected, todo):
    assert fact(actual, expected, part="help") == todo


def test_what_cannot_be_compared_is_different_unless_it_is_the_same(fact):
    vague = Vague()
    assert fact(vague, vague) == ""
    assert fact(vague, Vague()) == "it is Vague where the reference gives Vague"


class ByDlpackAlone:
    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_what_speaks_dlpack_alone_is_compared_by_its_elements(fact):
    assert fact(ByDlpackAlone(ones("float32")), ones("float64")) == ""
    assert fact(ones("float32"), ByDlpackAlone(ones("float64"))) == ""
    assert fact(ByDlpackAlone(ones("int32")), ones("int64")) == (
        "the dtype is int32 where the reference gives int64"
    )
    assert "2 of 2" in fact(ByDlpackAlone(ones("float32") + 1), ones("float64"))


@pytest.mark.needs("torch", "ml_dtypes")
def test_bfloat16_has_its_own_tolerance_in_every_library(fact, torch, needs):
    bfloat16 = needs("ml_dtypes").bfloat16
    x = torch.full((2,), 1.01, dtype=torch.bfloat16)
    assert fact(x, np.full(2, 1.02), [bfloat16]) == ""
    assert "rtol 0.04" in fact(x, np.full(2, 1.2), [bfloat16])


@pytest.mark.parametrize(
    ("given", "dtype", "stated"),
    [("float16", "float16", "float64"), ("float32", "float32", "float16"), ("float64", "float64", "float32")],
)
def test_the_tolerance_is_that_of_the_coarser_of_the_two_dtypes(fact, given, dtype, stated):
    coarser, finer = sorted((dtype, stated), key=lambda name: np.dtype(name).itemsize)
    tolerances = f"{{{coarser}: {{rtol: 0.1, atol: 0}}, {finer}: {{rtol: 0, atol: 0}}}}"
    compared = (np.full(2, 1.0625, dtype), ones(stated), [given])
    assert fact(*compared, fields=f"tolerance: {tolerances}") == ""
    assert fact(*compared, fields=f"tolerance: {tolerances.replace('0.1', '0.05')}") != ""
