# ruff: noqa: UP045, RUF013 - old spellings are tested as well
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from c10cli.errors import SchemaError
from c10cli.schema.infer import infer_schema
from c10cli.schema.parser import parse_schema

if TYPE_CHECKING:
    import cupy as cp

FloatArray = npt.NDArray[np.floating]


class Tensor:
    """Of no library."""


class Pair(NamedTuple):
    output: Tensor
    count: int


def scale(x: Tensor, by: float = 2.0, *, out: Tensor | None = None) -> Tensor: ...


def refusal(function: Callable[..., Any], **more: Any) -> Any:
    with pytest.raises(SchemaError) as raised:
        infer_schema(function, **more)
    (diagnostic,) = raised.value.diagnostics
    return diagnostic


def text(function: Callable[..., Any], **more: Any) -> str:
    """The inferred schema without its name."""
    return str(infer_schema(function, name="c10::f", **more)).removeprefix("c10::f")


def test_the_name_is_that_of_module_and_function():
    assert str(infer_schema(scale).name) == "test_infer::scale"
    assert str(infer_schema(scale, name="demo::scale.out").name) == "demo::scale.out"


@pytest.mark.parametrize(("module", "namespace"), [("__main__", "main"), ("a.b._c", "c"), ("", "unnamed")])
def test_a_module_name_is_made_a_namespace(module, namespace):
    def f(x: Tensor) -> Tensor: ...

    f.__module__ = module
    assert str(infer_schema(f).name) == f"{namespace}::f"


def test_every_kind_of_argument():
    def f(
        x: FloatArray,
        y: cp.ndarray | None,
        /,
        xs: list[Tensor],
        maybe: Optional[list[Tensor]] = None,
        sizes: list[int] = [1, 2],  # noqa: B006 - a default of the schema, never written
        *,
        dtype: np.dtype = np.float32,
        mode: str = 'it\'s "x"\n\\',
        low: float = -math.inf,
        high: float = math.inf,
        fill: float = math.nan,
        alpha: int | float = 1,
        phase: complex = -2j,
        flag: bool = False,
        anything: Any = None,
        table: dict[str, int] | None = None,
        words: tuple[str, ...] = ("a", "b"),
        pair: tuple[int, int] | None = None,
    ) -> Tensor: ...

    assert text(f) == (
        "(Tensor x, Tensor? y, Tensor[] xs, Tensor[]? maybe=None, int[] sizes=[1, 2], *, "
        'ScalarType dtype=float32, str mode="it\\\'s \\"x\\"\\n\\\\", float low=-inf, float high=inf, '
        "float fill=nan, Scalar alpha=1, complex phase=-2.0j, bool flag=False, Any? anything=None, "
        'Dict(str, int)? table=None, str[] words=["a", "b"], (int, int)? pair=None) -> Tensor'
    )


def test_a_default_of_none_makes_the_argument_optional():
    def f(x: Tensor = None, n: int = None) -> None: ...

    assert text(f) == "(Tensor? x=None, int? n=None) -> ()"


@pytest.mark.parametrize(
    ("annotation", "returns"),
    [
        (None, "()"),
        ("None", "()"),
        (Tensor, "Tensor"),
        (tuple[Tensor], "Tensor"),
        (tuple[Tensor, int], "(Tensor, int)"),
        (tuple[Tensor, ...], "Tensor[]"),
        (tuple[Tensor, int] | None, "((Tensor, int)?)"),
        (Pair, "(Tensor output, int count)"),
        (str, "str"),
        (dict[str, Tensor], "Dict(str, Tensor)"),
        (Optional[Tensor], "Tensor?"),
    ],
)
def test_returns(annotation, returns):
    def f(x: Tensor) -> None: ...

    f.__annotations__["return"] = annotation
    assert text(f) == f"(Tensor x) -> {returns}"


def test_mutated_arguments_get_a_set_each():
    def f(x: Tensor, xs: list[Tensor], sizes: list[int], maybe: Tensor | None, n: int) -> None: ...

    assert text(f, mutates=["maybe", "x", "xs", "sizes"]) == (
        "(Tensor(a!) x, Tensor(b!)[] xs, int[](c!) sizes, Tensor(d!)? maybe, int n) -> ()"
    )
    assert refusal(f, mutates=["m"]).message == "`f` has no parameter `m` to mutate"
    found = refusal(f, mutates="n")
    assert (found.code, found.message) == (
        "C10E208",
        "parameter `n` of `f` is `int`, which cannot be written",
    )


def test_methods_callable_objects_partials_and_wrappers_are_seen_through():
    class Scaler:
        def method(self, x: Tensor) -> Tensor: ...

        @staticmethod
        def static(x: Tensor) -> Tensor: ...

        def __call__(self, x: FloatArray) -> Tensor: ...

    @functools.wraps(scale)
    def wrapper(*args: Any, **kwargs: Any) -> Any: ...

    assert text(Scaler().method) == text(Scaler.static) == text(Scaler()) == "(Tensor x) -> Tensor"
    assert str(infer_schema(Scaler()).name) == "test_infer::Scaler"
    assert text(wrapper) == text(scale)
    partial = functools.partial(scale, by=3)
    assert text(partial) == "(Tensor x, *, float by=3.0, Tensor? out=None) -> Tensor"
    assert str(infer_schema(partial).name) == "test_infer::scale"


def test_names_of_an_enclosing_function_are_seen():
    here = FloatArray

    def f(x: here) -> Tensor:
        return here

    assert text(f) == "(Tensor x) -> Tensor"


def no_annotation(x: Tensor, n=1) -> Tensor: ...  # type: ignore[no-untyped-def]
def no_return(x: Tensor): ...  # type: ignore[no-untyped-def]
def stars(x: Tensor, *rest: Tensor) -> Tensor: ...
def more_stars(x: Tensor, **rest: Tensor) -> Tensor: ...
def unknown(x: Tensr) -> Tensor: ...  # noqa: F821
def unknown_return(x: Tensor) -> set[int]: ...
def bad_default(x: Tensor, n: int = 2.5) -> Tensor: ...
def two_parts(x: Tensor, z: complex = 1 + 2j) -> Tensor: ...
def umlaut(größe: Tensor) -> Tensor: ...
async def coroutine(x: Tensor) -> Tensor: ...
def generator(x: Tensor) -> Tensor:
    yield x


@pytest.mark.parametrize(
    ("function", "code", "message"),
    [
        (no_annotation, "C10E204", "parameter `n` of `no_annotation` has no annotation"),
        (no_return, "C10E204", "the return of `no_return` has no annotation"),
        (stars, "C10E207", "`*rest` of `stars` takes any number of values"),
        (more_stars, "C10E207", "`**rest` of `more_stars` takes any number of values"),
        (unknown, "C10E204", "parameter `x` of `unknown`: annotation `Tensr` has no schema type"),
        (unknown_return, "C10E204", "the return of `unknown_return`: annotation `set[…]` has no schema type"),
        (bad_default, "C10E205", "default of parameter `n` of `bad_default`: `2.5` does not fit `int`"),
        (
            two_parts,
            "C10E205",
            "default of parameter `z` of `two_parts`: `(1+2j)` has two parts, and a schema can write one",
        ),
        (umlaut, "C10E201", "expected `,` or `)` after the argument, found `ö` (U+00F6)"),
        (coroutine, "C10E204", "`coroutine` returns a coroutine"),
        (generator, "C10E204", "`generator` returns a generator"),
    ],
)
def test_what_no_schema_has_is_refused_where_the_function_stands(function, code, message):
    found = refusal(function)
    assert (found.code, found.message) == (code, message)
    assert found.span.file == __file__
    assert f"def {function.__name__}" in found.span.line_text


def test_a_lambda_needs_a_name_and_annotations():
    function: Any = lambda: None  # noqa: E731
    function.__annotations__["return"] = None
    assert refusal(function).message == "`<lambda>` is no name for an operator"
    assert str(infer_schema(function, name="c10::f")) == "c10::f() -> ()"


def test_what_has_no_source_is_named_instead():
    found = refusal(len)
    assert (found.span, found.place) == (None, "function len")


def test_a_name_without_namespace_is_refused():
    assert refusal(scale, name="scale").code == "C10E203"


def test_an_error_keeps_the_function():
    with pytest.raises(SchemaError) as raised:
        infer_schema(stars)
    assert raised.value.function is stars


# What is emitted always parses back to the same schema.

PLAIN = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(),
    bool: st.booleans(),
    str: st.text(max_size=8),
    complex: st.floats(allow_nan=False, allow_infinity=False).map(lambda x: complex(0, x)),
    int | float: st.one_of(st.integers(-99, 99), st.floats(), st.booleans()),
}
NO_DEFAULT = [Tensor, np.ndarray, Any, dict[str, int], tuple[int, str], int | str, list[list[int]]]
NAMES = st.sampled_from([f"{stem}{n}" for stem in ("x", "from_", "Tensor", "int", "_") for n in range(4)])


@st.composite
def annotated(draw):
    """An annotation, and a default or none."""
    if draw(st.booleans()):
        kind = draw(st.sampled_from(NO_DEFAULT))
        return draw(
            st.sampled_from([(kind, Parameter.empty), (kind, None), (kind | None, None), (list[kind], [])])
        )
    kind = draw(st.sampled_from(list(PLAIN)))
    values = PLAIN[kind]
    return draw(
        st.one_of(
            st.just((kind, Parameter.empty)),
            st.tuples(st.just(kind), values),
            st.tuples(st.just(kind | None), st.none() | values),
            st.tuples(st.just(list[kind]), st.lists(values, max_size=3)),
            st.tuples(st.just(tuple[kind, ...] | None), st.none() | st.lists(values, max_size=3).map(tuple)),
        )
    )


@st.composite
def functions(draw):
    """A function with a signature that Python would allow."""
    names = draw(st.lists(NAMES, unique=True, max_size=5))
    found = []
    for name in names:
        annotation, default = draw(annotated())
        kinds = [Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY]
        found.append(Parameter(name, draw(st.sampled_from(kinds)), annotation=annotation, default=default))
    found.sort(
        key=lambda p: (
            p.kind is Parameter.KEYWORD_ONLY,
            p.default is not Parameter.empty and p.kind < 3,
            p.kind,
        )
    )
    # A positional-only parameter may not follow another kind.
    fixed, ordered = True, []
    for p in found:
        fixed = fixed and p.kind is Parameter.POSITIONAL_ONLY
        ordered.append(p if fixed or p.kind is not Parameter.POSITIONAL_ONLY else p.replace(kind=1))
    returned = draw(
        st.sampled_from([None, Tensor, Pair, tuple[Tensor, int], tuple[int], str, dict[str, Tensor]])
    )

    def f(): ...

    f.__signature__ = Signature(ordered, return_annotation=returned)
    mutable = [p.name for p in ordered if p.annotation in (Tensor, np.ndarray)]
    return f, draw(st.sets(st.sampled_from(mutable))) if mutable else set()


@settings(max_examples=300, deadline=None)
@given(functions())
def test_what_is_inferred_parses_back_to_itself(drawn):
    function, mutates = drawn
    schema = infer_schema(function, name="c10::f", mutates=sorted(mutates))
    again = parse_schema(str(schema), "strict")
    assert again == schema
    assert str(again) == str(schema)
    parameters = function.__signature__.parameters
    assert [argument.name for argument in schema.arguments] == list(parameters)
    for argument, parameter in zip(schema.arguments, parameters.values(), strict=True):
        assert argument.is_mutable == (argument.name in mutates)
        assert argument.kwarg_only == (parameter.kind is Parameter.KEYWORD_ONLY)
        assert argument.has_default == (parameter.default is not Parameter.empty)
        if argument.has_default:
            assert _as_written(argument.default) == _as_written(parameter.default)


def _as_written(value: object) -> object:
    """*value* for comparison: nan equals itself, a list a tuple, -0j 0j."""
    if isinstance(value, list | tuple):
        return [_as_written(item) for item in value]
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value
