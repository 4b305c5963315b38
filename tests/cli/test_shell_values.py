from __future__ import annotations

import zipfile
from types import SimpleNamespace

import numpy as np
import pytest

from c10cli.cli.operator_command import OperatorCall
from c10cli.cli.shell_values import bind_values
from c10cli.errors import ArgumentError, DispatchError
from c10cli.schema.parser import parse_schema


def bind(schema, *positional, keywords=(), **made):
    """The arguments of a call of an operator of *schema* with such texts."""
    linked = SimpleNamespace(decl=SimpleNamespace(schema=parse_schema(schema)))
    return bind_values(OperatorCall(linked, positional, dict(keywords), **made))


def value(declared: str, text: str) -> object:
    """What *text* means for an argument of type *declared*."""
    return bind(f"t::f(Tensor like, {declared} v) -> Tensor", "0", text)["v"]


@pytest.mark.parametrize(
    ("declared", "text", "expected"),
    [
        ("int", "-3", -3),
        ("int", "2 ** 10", 1024),
        ("float", "1e-5", 1e-5),
        ("float", "inf", float("inf")),
        ("bool", "true", True),
        ("bool", "False", False),
        ("Scalar", "-1.5", -1.5),
        ("int?", "none", None),
        ("int?", "7", 7),
        ("str", "none", "none"),
        ("str", "two words", "two words"),
        ("str", "", ""),
        ("str", "@home", "@home"),
        ("str", "-", "-"),
        ("str", "'quoted'", "quoted"),
        ("str?", "none", None),
        ("str?", "'none'", "none"),
        ("ScalarType", "float64", "float64"),
        ("Device", "cuda:0", "cuda:0"),
        ("int[]", "[1, -2]", [1, -2]),
        ("int[]", "[]", []),
        ("int[2]", "3", [3, 3]),
        ("float[]", "[1, 2.5]", [1, 2.5]),
        ("str[]", "['a', \"b\"]", ["a", "b"]),
        ("Tensor?", "none", None),
    ],
)
def test_a_text_means_what_the_arguments_type_makes_of_it(declared, text, expected):
    found = value(declared, text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("declared", "text", "expected"),
    [
        ("Tensor", "[[1, 2], [3, 4]]", np.array([[1, 2], [3, 4]], np.float32)),
        ("Tensor", "-1", np.array(-1, np.float32)),
        ("Tensor?", "zeros(2) + 1", np.ones(2, np.float32)),
        ("Tensor", "[nan, inf]", np.array([np.nan, np.inf], np.float32)),
    ],
)
def test_tensors_are_arrays_of_the_asked_dtype(declared, text, expected):
    found = value(declared, text)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)


def test_random_numbers_depend_on_the_seed_alone():
    first, again, other = (bind("t::f(Tensor x) -> Tensor", "randn(8)", seed=s)["x"] for s in (3, 3, 4))
    assert (first == again).all()
    assert (first != other).any()


@pytest.fixture
def arrays(folder):
    np.save("x.npy", np.arange(3.0))
    np.save("a:b.npy", np.ones(1))
    np.savez("two.npz", a=np.ones(2), b=np.zeros(3))
    np.savez("one.npz", only=np.full(2, 7.0))
    np.savez("none.npz")
    with zipfile.ZipFile("torch.pt", "w") as archive:  # as torch.save writes one
        for name in ("torch/data.pkl", "torch/byteorder", "torch/data/0"):
            archive.writestr(name, b"x")
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez("objects.npz", a=np.array([{}], dtype=object))
    (folder / "text.npy").write_text("hello")
    (folder / "empty.npy").touch()
    (folder / "half.npz").write_bytes((folder / "two.npz").read_bytes()[:100])
    cut = (folder / "x.npy").read_bytes()
    (folder / "cut.npy").write_bytes(cut[:-4])
    (folder / "header.npy").write_bytes(cut.replace(b"}", b" "))
    odd = (folder / "one.npz").read_bytes()
    directory = odd.index(b"PK\x01\x02")
    (folder / "odd.npz").write_bytes(odd[: directory + 10] + b"c" + odd[directory + 11 :])
    (folder / "huge.npy").write_bytes(cut.replace(b"(3,)", b"(3000000000000000,)".ljust(4)))
    return folder


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@x.npy", [0, 1, 2]),
        ("@a:b.npy", [1]),
        ("@two.npz:b", [0, 0, 0]),
        ("@one.npz", [7, 7]),
        ("@one.npz:only", [7, 7]),
    ],
)
def test_files_of_arrays_are_read(arrays, text, expected):
    found = value("Tensor", text)
    assert found.tolist() == expected
    assert found.dtype == np.float64


def test_an_expression_that_a_shell_has_cut_is_to_be_quoted():
    with pytest.raises(ArgumentError) as caught:
        value("Tensor", "[1,")
    assert caught.value.diagnostics[0].help == "quote expressions: '[1, 2]'"


@pytest.mark.parametrize(
    ("text", "shapes"),
    [("[@x.npy, ones(2)]", [(3,), (2,)]), ("[@two.npz:a,@two.npz:b]", [(2,), (3,)]), ("@x.npy", [(3,)])],
)
def test_a_list_of_tensors_may_hold_files(arrays, text, shapes):
    assert [array.shape for array in value("Tensor[]", text)] == shapes


def test_a_list_of_tensors_may_hold_quoted_expressions_as_in_a_manifest():
    assert [x.shape for x in value("Tensor[]", '["ones(2)", "randn(2, 3)", [1, 2]]')] == [(2,), (2, 3), (2,)]


def test_a_missing_file_in_a_list_is_named(arrays):
    with pytest.raises(ArgumentError) as caught:
        value("Tensor[]", "[@x.npy, @gone.npy]")
    assert "`gone.npy` cannot be read" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code", "fact"),
    [
        (
            "@gone.npy",
            "C10E411",
            "`gone.npy` cannot be read for argument `v` of `t::f`: No such file or directory",
        ),
        ("@.", "C10E411", "`.` cannot be read for argument `v` of `t::f`: Is a directory"),
        ("@", "C10E411", "`` cannot be read for argument `v` of `t::f`: Is a directory"),
        (
            "@empty.npy",
            "C10E411",
            "`empty.npy` cannot be read for argument `v` of `t::f`: No data left in file",
        ),
        (
            "@half.npz",
            "C10E411",
            "`half.npz` cannot be read for argument `v` of `t::f`: File is not a zip file",
        ),
        ("@x.npy:a", "C10E410", "`x.npy` is one array, without names"),
        ("@two.npz", "C10E410", "`two.npz` has several arrays: `a`, `b`"),
        ("@two.npz:c", "C10E410", "`two.npz` has no array `c`; there is `a`, `b`"),
        ("@none.npz", "C10E410", "`none.npz` has no arrays of NumPy"),
        ("@torch.pt", "C10E410", "`torch.pt` has no arrays of NumPy"),
    ],
)
def test_files_that_hold_no_such_array_are_refused(arrays, text, code, fact):
    with pytest.raises(ArgumentError) as caught:
        value("Tensor", text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.message == fact


@pytest.mark.parametrize("name", ["objects.npy", "objects.npz", "text.npy"])
def test_pickled_objects_are_never_loaded_nor_advised(arrays, name):
    with pytest.raises(ArgumentError) as caught:
        value("Tensor", f"@{name}")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "C10E411"
    assert diagnostic.message.endswith("it is no array file, or has pickled objects in it")
    assert "allow_pickle" not in str(caught.value)


@pytest.mark.parametrize("name", ["cut.npy", "header.npy", "huge.npy", "odd.npz"])
def test_a_damaged_file_is_refused(arrays, name):
    with pytest.raises(ArgumentError) as caught:
        value("Tensor", f"@{name}")
    assert caught.value.code == "C10E411"


@pytest.mark.parametrize(
    ("declared", "text", "code", "mention"),
    [
        ("Tensor", "x", "C10E410", "unknown name `x`"),
        ("Tensor", "", "C10E410", "expression is empty"),
        ("Tensor", "((1", "C10E410", "is not an expression"),
        ("Tensor", "__import__('os')", "C10E410", "unknown function `__import__`"),
        ("Tensor", "ones(10000000000000)", "C10E410", "more than is free"),
        ("int", "9**9**9", "C10E410", "more than 4,096 bits"),
        ("Tensor", "[[1, 2], [3]]", "C10E405", "no array of float32"),
        ("Tensor", "\udcff", "C10E410", "expression"),
    ],
)
def test_texts_that_mean_nothing_are_refused_with_the_argument(declared, text, code, mention):
    with pytest.raises(ArgumentError) as caught:
        value(declared, text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert mention in diagnostic.message
    assert "`v`" in diagnostic.message


def test_an_unknown_dtype_offers_a_near_one():
    with pytest.raises(DispatchError) as caught:
        bind("t::f(Tensor x) -> Tensor", "1", dtype="float23")
    assert caught.value.diagnostics[0].message == "unknown dtype `float23`"
    assert "`float32`" in caught.value.diagnostics[0].help


def test_too_many_positional_arguments_are_counted_before_any_is_evaluated():
    with pytest.raises(ArgumentError) as caught:
        bind("t::f(Tensor x, int n=1, *, int m=0) -> Tensor", "1", "2", "ones(10**15)")
    assert caught.value.code == "C10E404"
    assert "takes 2 positional arguments, 3 are given" in str(caught.value)


def test_arguments_are_bound_by_place_and_name_with_defaults():
    bound = bind(
        "t::f(Tensor x, Tensor y, *, int n=1) -> Tensor", "[1]", keywords={"y": "[2]"}, dtype="float64"
    )
    assert list(bound) == ["x", "y", "n"]
    assert (bound["x"].dtype, bound["n"]) == (np.float64, 1)


def test_too_few_arguments_are_refused():
    with pytest.raises(ArgumentError, match="missing argument `y`"):
        bind("t::f(Tensor x, Tensor y) -> Tensor", "[1]")
