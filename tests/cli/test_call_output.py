from __future__ import annotations

import io
import json
import os
import re
import threading
from pathlib import Path

import click
import numpy as np
import pytest

from c10cli.arrays.filling import array_functions
from c10cli.arrays.more_dtypes import restored
from c10cli.cli.call import as_dict, as_text, check_savable, saved_bytes, write_saved
from c10cli.cli.shell_values import _read
from c10cli.errors import ArgumentError, ReportError
from c10cli.schema.parser import parse_schema


def save_returns(path, schema, returns):
    write_saved(path, saved_bytes(path, [*zip(schema.returns, returns, strict=True)]))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("", np.array([[3, 4], [5, 6]], np.float32), "float32[2, 2]\n[[3., 4.],\n [5., 6.]]"),
        ("mean", np.array(2.5), "mean: float64[]\n2.5"),
        ("", np.zeros(0), "float64[0]\n[]"),
        ("n", 3, "n: 3"),
        ("", np.int64(3), "3"),
        ("", np.float32(0.5), "0.5"),
        ("", "words", "'words'"),
        ("", None, "None"),
        ("sizes", [1, np.int64(2)], "sizes: [1, 2]"),
        ("", [], "[]"),
        ("parts", [np.ones(1), np.zeros(1)], "parts[0]: float64[1]\n[1.]\nparts[1]: float64[1]\n[0.]"),
    ],
)
def test_a_return_is_shown_with_name_dtype_shape_and_values(name, value, text):
    assert as_text(name, value) == text


def test_a_large_array_is_shown_in_short():
    assert len(as_text("", np.zeros((1000, 1000))).splitlines()) < 20


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (float("nan"), "nan"),
        ("words", "words"),
        (None, None),
        ([1, np.int64(2), float("-inf")], [1, 2, "-inf"]),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_plain_values_become_json(value, expected):
    fields = as_dict("r", value)
    assert fields == {"name": "r", "value": expected}
    assert type(fields["value"]) is type(expected)
    json.dumps(fields, allow_nan=False)


def test_arrays_become_json_with_dtype_shape_and_key():
    assert as_dict("y", np.array([1.5, np.nan, -np.inf], np.float32)) == {
        "name": "y",
        "dtype": "float32",
        "shape": [3],
        "key": "CPU",
        "data": [1.5, "nan", "-inf"],
    }


def test_elements_of_a_large_array_are_left_out():
    assert "data" in as_dict("", np.zeros(1000))
    assert "data" not in as_dict("", np.zeros(1001))


def test_a_list_of_arrays_keeps_each():
    (first, second) = as_dict("", [np.ones(1), np.zeros(2)])["value"]
    assert (first["shape"], second["shape"]) == ([1], [2])


ONE = parse_schema("t::f(Tensor x) -> Tensor")
PAIR = parse_schema("t::f(Tensor x) -> (Tensor file, Tensor allow_pickle)")


def test_one_array_is_saved_as_npy(folder):
    save_returns(folder / "y.npy", ONE, (np.arange(3),))
    assert np.load("y.npy").tolist() == [0, 1, 2]


def test_arrays_of_ml_dtypes_are_saved_as_what_they_are(folder, needs):
    ml_dtypes = needs("ml_dtypes")
    every = [
        getattr(ml_dtypes, n) for n in vars(ml_dtypes) if n.startswith(("bfloat", "float", "int", "uint"))
    ]
    assert len(every) > 8
    for dtype in every:
        with np.errstate(invalid="ignore"):  # of a flag of the processor that earlier casts have left
            array = np.ones((2, 3)).astype(dtype).T
        save_returns(folder / "y.npy", ONE, (array,))
        save_returns(folder / "y.npz", PAIR, (array, array[0]))
        for text, saved in (("@y.npy", array), ("@y.npz:file", array), ("@y.npz:allow_pickle", array[0])):
            read = _read(text, "it")
            assert (read.dtype, read.shape, read.tobytes()) == (saved.dtype, saved.shape, saved.tobytes())
        assert np.load("y.npy").dtype.names == (f"ml_dtypes.{np.dtype(dtype).name}",)


def test_a_bfloat16_goes_through_a_pipe(needs, capsysbinary):
    needs("ml_dtypes")
    save_returns(Path("-"), ONE, (array_functions("bfloat16")["arange"](3),))
    piped = capsysbinary.readouterr().out
    assert restored(np.load(io.BytesIO(piped))).dtype.name == "bfloat16"


@pytest.mark.filterwarnings("ignore:ComplexHalf:UserWarning", "ignore:torch.quantize_per_tensor:UserWarning")
def test_what_would_be_saved_as_something_else_is_refused(folder, torch, jax):
    quantized = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)
    for tensor, dtype, other in (
        (torch.ones(2).to(torch.complex32), "complex32", "complex64"),
        (quantized, "quint8", "float32"),
        (jax.random.key(0), "key<fry>", "uint32"),
    ):
        with pytest.raises(ReportError) as caught:
            save_returns(folder / "y.npy", ONE, (tensor,))
        fact = f"return `return_0` is of {dtype}, and would be saved as {other}"
        assert caught.value.diagnostics[0].message == fact
    assert list(folder.iterdir()) == []


def test_where_ml_dtypes_is_missing_a_bfloat16_is_neither_saved_nor_read(folder, torch, needs, monkeypatch):
    save_returns(folder / "y.npy", ONE, (np.ones(2).astype(needs("ml_dtypes").bfloat16),))
    for module in ("torch", "more_dtypes"):
        monkeypatch.setattr(f"c10cli.arrays.{module}.numpy_dtype", no_dtype)
    with pytest.raises(ReportError) as caught:
        save_returns(folder / "z.npy", ONE, (torch.ones(2).bfloat16(),))
    assert caught.value.diagnostics[0].help == "install ml_dtypes (extra `dtypes`)"
    with pytest.raises(ArgumentError, match="bfloat16 needs the package ml_dtypes") as unread:
        _read("@y.npy", "it")
    assert unread.value.code == "C10E411"


def no_dtype(name):
    """As `numpy_dtype` where ml_dtypes is missing: once imported, NumPy itself knows its names."""
    raise ImportError(f"{name} needs the package ml_dtypes (extra `dtypes`)")


def test_two_arrays_of_one_name_are_not_saved(folder):
    schema = parse_schema("t::f(Tensor x) -> (Tensor[] a, Tensor a_0)")
    with pytest.raises(ReportError, match="two of 2 arrays would be saved under one name"):
        save_returns(folder / "y.npz", schema, ([np.ones(1)], np.ones(1)))


def test_several_are_saved_as_npz_under_any_names(folder):
    save_returns(folder / "y.npz", PAIR, (np.ones(2), np.zeros(3)))
    with np.load("y.npz") as saved:
        assert {name: saved[name].shape for name in saved.files} == {"file": (2,), "allow_pickle": (3,)}


def test_a_list_of_arrays_is_saved_under_numbered_names(folder):
    schema = parse_schema("t::f(Tensor x) -> Tensor[]")
    save_returns(folder / "y.npz", schema, ([np.ones(1), np.zeros(2)],))
    with np.load("y.npz") as saved:
        assert saved.files == ["return_0_0", "return_0_1"]


@pytest.mark.parametrize(
    ("name", "schema", "returns", "fact"),
    [
        ("y.npy", PAIR, (np.ones(1), np.ones(1)), "`y.npy` cannot hold 2 arrays"),
        ("/dev/null", PAIR, (np.ones(1), np.ones(1)), "`/dev/null` cannot hold 2 arrays"),
        ("gone/y.npy", ONE, (np.ones(1),), "cannot write y.npy: No such file or directory"),
        (
            "y.npy",
            ONE,
            (np.array([{}], object),),
            "cannot write y.npy: Object arrays cannot be saved when allow_pickle=False",
        ),
        (
            "y.npz",
            parse_schema("t::f(Tensor x) -> int"),
            (3,),
            "return `return_0` is int 3, no array, and cannot be saved",
        ),
    ],
)
def test_what_cannot_be_saved_is_refused_and_leaves_no_file(folder, name, schema, returns, fact):
    with pytest.raises(ReportError) as caught:
        save_returns(Path(name), schema, returns)
    assert caught.value.diagnostics[0].message == fact
    assert list(folder.iterdir()) == []


def test_a_fifo_takes_one_array_as_npy_and_stays(folder):
    os.mkfifo("pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_bytes()))
    reader.start()
    save_returns(Path("pipe"), ONE, (np.arange(3),))
    reader.join()
    assert np.load(io.BytesIO(read[0])).tolist() == [0, 1, 2]
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize(
    ("name", "returns", "fact"),
    [
        ("y.txt", "Tensor", "--save `y.txt` ends in neither .npy nor .npz"),
        ("y", "Tensor", "--save `y` ends in neither .npy nor .npz"),
        ("y.npy", "(Tensor, Tensor)", "`y.npy` takes one array as .npy, not 2; name an .npz file"),
        ("y.npz", "(Tensor, int n)", "return `n` of `t::f` is int, no array to save"),
        ("-", "(Tensor, Tensor)", "`-` takes one array as .npy, not 2"),
        ("/dev/null", "(Tensor, Tensor)", "`/dev/null` takes one array as .npy, not 2"),
    ],
)
def test_what_can_be_told_beforehand_is_wrong_use(folder, name, returns, fact):
    with pytest.raises(click.UsageError, match=re.escape(fact)):
        check_savable(Path(name), parse_schema(f"t::f(Tensor x) -> {returns}"))


def test_a_folder_that_is_not_there_is_told_beforehand(folder):
    with pytest.raises(ReportError, match="there is no folder `gone`"):
        check_savable(Path("gone/y.npy"), ONE)


@pytest.mark.parametrize(
    ("name", "returns"), [("y.npy", "Tensor[]"), ("y.npz", "Tensor[]"), ("-", "Tensor?")]
)
def test_what_may_hold_the_result_is_not_refused_beforehand(folder, name, returns):
    check_savable(Path(name), parse_schema(f"t::f(Tensor x) -> {returns}"))
