# ruff: noqa: UP007, UP045 - old spellings are tested as well
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, signature
from typing import Any, Literal, NamedTuple, Optional, Protocol, TypeVar, Union

import numpy as np
import numpy.typing as npt
import pytest

from c10cli.dispatch.annotations import annotation_text, said
from c10cli.dispatch.kernel import bind_kernel
from c10cli.dispatch.signature import mismatch
from c10cli.errors import RegistrationError
from c10cli.schema.parser import parse_schema

PLAIN = parse_schema("t::f(Tensor x, int y) -> Tensor")


def reason(schema, kernel):
    return mismatch(schema, signature(kernel))


@pytest.mark.parametrize(
    ("text", "t"),
    [
        ("int", "int"),
        ("None", "NoneType"),
        ("'list[\\'int\\']'", "Any"),
        ("list['int']", "int[]"),
        ("tuple[()]", "()"),
        ("tuple[int, ...]", "int[]"),
        ("typing.Tuple[int, np.ndarray]", "(int, Tensor)"),
        ("Optional[Literal['a', 'b']]", "str?"),
        ("npt.NDArray[np.float32] | None", "Tensor?"),
        ("np.int | np.float", "Any"),
        ("dict[str, int]", "Any"),
        ("lambda: 0", "Any"),
        ("", "Any"),
        ("int]", "Any"),
        ("list[]", "Any"),
        ("Optional[()]", "Any"),
        (" | ".join(["int"] * 5000), "Any"),
    ],
)
def test_what_an_annotation_certainly_means_is_a_schema_type(text, t):
    assert str(said(text)) == t


def test_the_text_of_an_annotation_is_that_of_a_source():
    texts = [
        annotation_text(a) for a in (Parameter.empty, None, int, Optional[int], np.ndarray, "list[ int ]")
    ]
    assert texts == ["", "None", "int", "Optional[int]", "numpy.ndarray", "list[ int ]"]


SEVERAL = parse_schema(
    "t::f(Tensor x, int[] n, float? f, int[2] p, Tensor[] t, str s='a', Scalar a=1) -> Tensor"
)
PAIR = parse_schema("t::f(Tensor x) -> (Tensor, int)")


@pytest.mark.parametrize(
    ("name", "annotation", "text"),
    [
        ("n", str, "str"),
        ("n", "list[str]", "list[str]"),
        ("n", "'Sequence[str]'", "'Sequence[str]'"),
        ("n", tuple[int, str], "tuple[int, str]"),
        ("n", int, "int"),
        ("f", "str", "str"),
        ("f", Optional[int], "Optional[int]"),
        ("f", Literal["a", 2], "Literal['a', 2]"),
        ("p", list[str], "list[str]"),
        ("t", "typing.List[int]", "typing.List[int]"),
        ("t", None, "None"),
        ("s", int | None, "int | None"),
        ("s", Literal[1], "Literal[1]"),
        ("a", "str", "str"),
        ("x", list[float], "list[float]"),
        ("x", "Annotated[ int, 'so many' ]", "Annotated[ int, 'so many' ]"),
    ],
)
def test_an_annotation_that_certainly_contradicts_the_schema_is_refused(name, annotation, text):
    def kernel(x, n, f, p, t, s, a):
        return x

    kernel.__annotations__ = {name: annotation}
    declared = next(argument.type for argument in SEVERAL.arguments if argument.name == name)
    assert reason(SEVERAL, kernel) == f"annotates `{name}` as {text}, and the schema says {declared}"


@pytest.mark.parametrize(
    ("schema", "annotation", "text"),
    [
        (PLAIN, None, "is annotated to return None, and the schema returns Tensor"),
        (
            PLAIN,
            "tuple[Tensor, int]",
            "is annotated to return tuple[Tensor, int], and the schema returns Tensor",
        ),
        (PLAIN, tuple, "is annotated to return tuple, and the schema returns Tensor"),
        (PLAIN, list[int], "is annotated to return list[int], and the schema returns Tensor"),
        (PAIR, None, "is annotated to return 0 values (None), and the schema returns 2"),
        (PAIR, "Tensor", "is annotated to return 1 value (Tensor), and the schema returns 2"),
        (PAIR, "tuple[Tensor]", "is annotated to return 1 value (tuple[Tensor]), and the schema returns 2"),
        (
            PAIR,
            "Tuple[Tensor, int, int]",
            "is annotated to return 3 values (Tuple[Tensor, int, int]), and the schema returns 2",
        ),
        (
            PAIR,
            tuple[int, int],
            "is annotated to return tuple[int, int], and the schema returns (Tensor, int)",
        ),
        (
            PAIR,
            "tuple[Tensor, float]",
            "is annotated to return tuple[Tensor, float], and the schema returns (Tensor, int)",
        ),
        (PAIR, "list[str]", "is annotated to return list[str], and the schema returns (Tensor, int)"),
    ],
)
def test_returns_that_are_annotated_as_too_few_too_many_or_others_are_refused(schema, annotation, text):
    def kernel(x, y):
        return x

    def of_one(x):
        return x, 1

    function = kernel if schema is PLAIN else of_one
    function.__annotations__ = {"return": annotation}
    assert reason(schema, function) == text


Array = npt.NDArray[np.floating]
T = TypeVar("T", bound=np.ndarray)


class Pair(NamedTuple):
    first: np.ndarray
    second: int


class Sized(Protocol):
    def __len__(self) -> int: ...


class Hostile:
    def __repr__(self):
        raise OSError


@pytest.mark.parametrize(
    "annotations",
    [
        {"x": Array, "n": list[int], "f": float | None, "p": tuple[int, int], "return": Array},
        {
            "x": "np.ndarray",
            "n": "Sequence[int]",
            "f": "Optional[float]",
            "p": "list[int]",
            "return": "Array",
        },
        {"x": "torch.Tensor", "n": "typing.List[int]", "t": "list[torch.Tensor]", "return": "torch.Tensor"},
        {
            "x": "Float[Array, 'b n']",
            "n": "int | Sequence[int]",
            "t": "Sequence[Array]",
            "return": "Float[Array, 'b']",
        },
        {"x": T, "n": Sized, "f": Any, "t": object, "return": T},
        {"x": Array | float, "n": tuple[int, ...], "f": complex, "p": int, "t": tuple[Array, ...]},
        {"x": "list[float] | Array", "n": np.ndarray, "f": np.float64, "p": "jax.Array", "t": "Mine"},
        {"x": Callable, "n": Iterable[int], "f": Union[float, str], "p": np.bool_, "return": Optional[Array]},
        {"x": Sequence[float], "n": "list[float]", "s": Literal["a", "b"], "a": float, "return": "Mine[int]"},
        {"x": "a shape (n, m)", "n": "list[", "f": "tl.constexpr", "p": "np.int", "s": "Mode", "t": "List"},
        {
            "x": 3,
            "n": Hostile(),
            "f": "(" * 1000,
            "p": "tuple[int, *Rest]",
            "t": "Tuple[Unpack[Ts]]",
            "s": "\\d",
        },
        {"s": Sequence[str], "a": Literal[1, 2.0], "f": "Optional[Unknown]", "return": Pair},
        {"n": "Annotated[list[int], 3]", "p": "int | int", "f": "np.float32 | None", "return": "'Tensor'"},
        {"x": "int | Tensor", "f": "typing.Any", "n": "List[Any]", "return": "Never"},
    ],
)
def test_annotations_that_may_be_right_are_not_judged(annotations):
    def kernel(x, n, f, p, t, s, a):
        return x

    kernel.__annotations__ = annotations
    assert reason(SEVERAL, kernel) is None


@pytest.mark.parametrize(
    ("returns", "annotation"),
    [
        ("(Tensor, int)", "tuple[Tensor, int]"),
        ("(Tensor, int)", tuple[Array, Any]),
        ("(Tensor, int)", "tuple[Any, ...]"),
        ("(Tensor, int)", list),
        ("(Tensor, int)", "Result"),
        ("(Tensor, int)", Pair),
        ("(Tensor, int)", tuple[Array, int] | None),
        ("()", None),
        ("()", tuple[()]),
        ("()", "NoneType"),
        ("Tensor[]", "tuple[Tensor, Tensor]"),
        ("Tensor[]", list[Array]),
        ("Tensor?", None),
        ("((Tensor, int))", "tuple[Tensor, int]"),
        ("Tensor(a!)", "Tensor"),
    ],
)
def test_returns_that_are_annotated_as_the_schema_has_them_fit(returns, annotation):
    def kernel(x):
        return x

    kernel.__annotations__ = {"return": annotation}
    assert reason(parse_schema(f"t::f(Tensor(a!) x) -> {returns}"), kernel) is None


Both = tuple[np.ndarray, int]


def quoted(x: "Array", y: "int") -> "Both": ...
def unresolved(x: "Tensr", y: "list[int]") -> "Tensr": ...  # noqa: F821
def fits(x: "Tensr", y: "int") -> "Array": ...  # noqa: F821


@pytest.mark.parametrize(
    ("kernel", "fact"),
    [
        (quoted, "is annotated to return tuple[numpy.ndarray, int], and the schema returns Tensor"),
        (unresolved, "annotates `y` as list[int], and the schema says int"),
    ],
)
def test_quoted_annotations_are_evaluated_where_all_their_names_are_there(kernel, fact):
    with pytest.raises(RegistrationError) as caught:
        bind_kernel(PLAIN, "k", kernel)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("C10E305", f"kernel `k` of `t::f` {fact}")
    assert found.help == "correct the annotation, or declare in the schema what the kernel takes and returns"


def test_what_cannot_be_evaluated_and_contradicts_nothing_is_taken():
    assert bind_kernel(PLAIN, "k", fits).function is fits


def test_an_annotation_of_every_argument_that_star_takes_is_not_that_of_one():
    def kernel(*x: int, y: int): ...

    assert reason(parse_schema("t::f(Tensor x, *, int y) -> Tensor"), kernel) is None
