# ruff: noqa: UP006, UP007, UP045 - old spellings are tested as well
from __future__ import annotations

import enum
import numbers
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypeVar, Union

import numpy as np
import numpy.typing as npt
import pytest

from c10cli.errors import SchemaError
from c10cli.schema.annotations import Unknown, named_tuple_fields, returns_of, type_of_annotation
from c10cli.schema.infer import type_of


class Tensor:
    """Of no library."""


class Parameter(Tensor):
    pass


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    out: Tensor
    count: int


FloatArray = npt.NDArray[np.floating]
Anything = TypeVar("Anything")
Bound = TypeVar("Bound", bound=Tensor)
Number = TypeVar("Number", int, float)
UserId = NewType("UserId", int)
NAMES = {**vars(typing), **globals()}


@pytest.mark.parametrize(
    ("annotation", "t"),
    [
        (Tensor, "Tensor"),
        (Parameter, "Tensor"),
        (np.ndarray, "Tensor"),
        (npt.NDArray[np.float32], "Tensor"),
        (FloatArray, "Tensor"),
        (int, "int"),
        (bool, "bool"),
        (float, "float"),
        (complex, "complex"),
        (str, "str"),
        (object, "Any"),
        (Any, "Any"),
        (None, "NoneType"),
        (numbers.Number, "Scalar"),
        (numbers.Integral, "int"),
        (np.float32, "float"),
        (np.float64, "float"),
        (np.int64, "int"),
        (np.bool_, "bool"),
        (np.complex64, "complex"),
        (np.dtype, "ScalarType"),
        (np.dtype[np.float32], "ScalarType"),
        (Optional[Tensor], "Tensor?"),
        (Tensor | None, "Tensor?"),
        (Optional[list[Tensor]], "Tensor[]?"),
        (list[Tensor | None], "Tensor?[]"),
        (typing.List[int], "int[]"),
        (Sequence[float], "float[]"),
        (Iterable[str], "str[]"),
        (Collection[bool], "bool[]"),
        (list[list[int]], "int[][]"),
        (tuple[int, ...], "int[]"),
        (typing.Tuple[Tensor, ...], "Tensor[]"),
        (tuple[int, str], "(int, str)"),
        (tuple[()], "()"),
        (typing.Tuple[()], "()"),
        (Pair, "(Tensor, int)"),
        (dict[str, int], "Dict(str, int)"),
        (typing.Dict[str, Tensor], "Dict(str, Tensor)"),
        (Mapping[int, list[float]], "Dict(int, float[])"),
        (Literal["a", "b"], "str"),
        (Literal[1, True], "Scalar"),
        (Literal["a", 1, None], "Union(int, str)?"),
        (int | float, "Scalar"),
        (Union[int, float, bool, complex], "Scalar"),
        (int | float | None, "Scalar?"),
        (int | str, "Union(int, str)"),
        (int | str | float | None, "Union(Scalar, str)?"),
        (Tensor | np.ndarray, "Tensor"),
        (Optional[Any], "Any"),
        (int | Any, "Any"),
        (Annotated[int, "positive"], "int"),
        (typing.Final[int], "int"),
        (list[Annotated[Tensor, 3]], "Tensor[]"),
        (Bound, "Tensor"),
        (Number, "Scalar"),
        (UserId, "int"),
        (list["Tensor"], "Tensor[]"),
        (typing.ForwardRef("Tensor"), "Tensor"),
    ],
)
def test_an_object_has_its_type(annotation, t):
    assert str(type_of(annotation)) == t


@pytest.mark.parametrize(
    ("text", "t"),
    [
        ("Tensor", "Tensor"),
        ("cupy.ndarray | None", "Tensor?"),
        ("npt.NDArray[np.float32]", "Tensor"),
        ("not_there.typing.NDArray[not_there.float32]", "Tensor"),
        ("jax.Array", "Tensor"),
        ("torch.dtype", "ScalarType"),
        ("torch.device", "Device"),
        ("torch.memory_format", "MemoryFormat"),
        ("torch.layout", "Layout"),
        ("torch.Generator", "Generator"),
        ("torch.Size", "int[]"),
        ("torch.SymInt", "SymInt"),
        ("FloatArray", "Tensor"),
        ("Pair", "(Tensor, int)"),
        ("None", "NoneType"),
        ("int | 'float'", "Scalar"),
        ("Optional[List['Tensor']]", "Tensor[]?"),
        ("tuple[int, ...]", "int[]"),
        ("tuple[()]", "()"),
        ("typing.Literal['a', -1]", "Union(int, str)"),
        ("Annotated[int, 3 < 4]", "int"),
        ("dict[str, list[float | None]]", "Dict(str, float?[])"),
        ("  Tensor ", "Tensor"),
    ],
)
def test_a_string_need_not_resolve(text, t):
    assert str(type_of_annotation(text, NAMES)) == t


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (list, "annotation `list` does not say of what"),
        (typing.List, "annotation `list` does not say of what"),
        (tuple, "annotation `tuple` does not say of what"),
        (typing.Tuple, "annotation `tuple` does not say of what"),
        ("dict", "annotation `dict` does not say of what"),
        ("Sequence", "annotation `Sequence` does not say of what"),
        (bytes, "annotation `bytes` has no schema type"),
        (set[int], "annotation `set[…]` has no schema type"),
        (Callable[[int], int], "annotation `Callable[…]` has no schema type"),
        (typing.Generator[int, None, None], "annotation `Generator[…]` has no schema type"),
        (Color, "`Color` is an Enum, and no schema type has its members"),
        (Level, "`Level` is an Enum, and no schema type has its members"),
        (Literal[Color.RED], "`<Color.RED: 1>` in a Literal has no schema type"),
        ("Literal[Color.RED]", "`Color.RED` in a Literal has no schema type"),
        (Anything, "type variable `Anything` stands for any type"),
        (3, "annotation `3` has no schema type"),
        ("Tensr", "annotation `Tensr` has no schema type"),
        ("my.Tensr", "annotation `my.Tensr` has no schema type"),
        ("list[", "annotation `list[` is no expression"),
        ("f(x)", "annotation `f(x)` is no type"),
        ("tuple[..., int]", "`...` in a tuple stands for nothing here"),
    ],
)
def test_what_no_schema_has_is_refused_by_name(annotation, message):
    with pytest.raises(Unknown) as raised:
        type_of_annotation(annotation, NAMES)
    assert raised.value.message == message


def test_an_annotation_that_is_its_own_part_is_refused():
    with pytest.raises(Unknown, match="defined by itself"):
        type_of_annotation("Json", {"Json": "dict[str, Json]"})


def test_nothing_in_a_string_is_run():
    with pytest.raises(Unknown, match="is no type"):
        type_of_annotation("__import__('sys').exit(3)", {})


def test_type_of_raises_an_error_with_code_and_help():
    with pytest.raises(SchemaError) as raised:
        type_of(Color)
    assert raised.value.code == "C10E204"
    assert raised.value.diagnostics[0].help.startswith("take its value")


@pytest.mark.parametrize(
    ("annotation", "returns"),
    [
        (None, []),
        ("None", []),
        (tuple[()], []),
        (int, ["int"]),
        (tuple[Tensor], ["Tensor"]),
        (tuple[Tensor, int | None], ["Tensor", "int?"]),
        ("tuple[Tensor, int]", ["Tensor", "int"]),
        (Annotated[tuple[Tensor, int], 3], ["Tensor", "int"]),
        (tuple[Tensor, ...], ["Tensor[]"]),
        (Optional[tuple[Tensor, int]], ["(Tensor, int)?"]),
        (Pair, ["Tensor out", "int count"]),
        ("Pair", ["Tensor out", "int count"]),
    ],
)
def test_a_tuple_of_fixed_length_is_as_many_returns(annotation, returns):
    found = returns_of(annotation, NAMES)
    assert [f"{t} {name}".strip() for name, t in found] == returns


def test_fields_of_a_named_tuple_need_annotations():
    from collections import namedtuple

    with pytest.raises(Unknown, match="field `x` of `Bare` has no annotation"):
        named_tuple_fields(namedtuple("Bare", "x"))
    assert named_tuple_fields(tuple) is None


def test_a_type_statement_stands_for_its_value():
    alias = SimpleNamespace(__value__=list[tuple[int, int]])  # what one makes, from Python 3.12 on
    assert str(type_of(alias)) == "(int, int)[]"
