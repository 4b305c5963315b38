# ruff: noqa: UP006, UP007, UP045 - old spellings are tested as well
import enum
import functools
import math
import numbers
import typing
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings, strategies as st

from c10cli.errors import SchemaError
from c10cli.schema.infer import infer_schema, type_of
from c10cli.schema.parser import parse_schema

Array = npt.NDArray[np.floating]


class Owned(np.ndarray):
    pass


class Color(enum.Enum):
    RED = 1


def scale(x: Array, by: float = 2.0, *, out: Array | None = None) -> Array: ...


def refusal(function: Callable[..., Any], **more: Any) -> Any:
    with pytest.raises(SchemaError) as raised:
        infer_schema(function, **more)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.place.startswith("function ")
    return diagnostic


def text(function: Callable[..., Any], **more: Any) -> str:
    """The inferred schema without its name."""
    return str(infer_schema(function, name="c10::f", **more)).removeprefix("c10::f")


@pytest.mark.parametrize(
    ("annotation", "t"),
    [
        (np.ndarray, "Tensor"),
        (Owned, "Tensor"),
        (npt.NDArray[np.float32], "Tensor"),
        (int, "int"),
        (bool, "bool"),
        (float, "float"),
        (complex, "complex"),
        (str, "str"),
        (Any, "Any"),
        (numbers.Number, "Scalar"),
        (Optional[np.ndarray], "Tensor?"),
        (int | None, "int?"),
        (Union[None, int], "int?"),
        (list[Array | None] | None, "Tensor?[]?"),
        (typing.List[int], "int[]"),
        (Sequence[float], "float[]"),
        (list[list[int]], "int[][]"),
        (tuple[int, ...], "int[]"),
        (typing.Tuple[int, str], "(int, str)"),
        (tuple[()], "()"),
    ],
)
def test_plain_types_optional_ones_lists_and_tuples_are_understood(annotation, t):
    assert str(type_of(annotation)) == t


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("torch", "Tensor"),
        ("torch.nn", "Parameter"),
        ("jax", "Array"),
        ("scipy.sparse", "csr_array"),
        ("scipy.sparse", "coo_matrix"),
    ],
)
def test_the_tensors_of_the_array_libraries_are_known_by_name(needs, module, name):
    needs(module.partition(".")[0])
    assert str(type_of(getattr(needs(module), name))) == "Tensor"


@pytest.mark.parametrize(
    ("annotation", "shown"),
    [
        (list, "list"),
        (bytes, "bytes"),
        (set[int], "set[int]"),
        (dict[str, int], "dict[str, int]"),
        (int | str, "int | str"),
        (int | str | None, "int | str | None"),
        (Color, "Color"),
        (np.dtype, "numpy.dtype"),
        (typing.Literal["a"], "Literal['a']"),
        ("Tensor", "'Tensor'"),
        (None, "None"),
        (3, "3"),
    ],
)
def test_anything_else_is_refused_by_name(annotation, shown):
    with pytest.raises(SchemaError) as raised:
        type_of(annotation)
    (found,) = raised.value.diagnostics
    assert found.code == "C10E204"
    assert found.message.startswith("annotation `")
    assert found.message.endswith(f"{shown}` has no schema type")
    assert "numpy.ndarray" in found.help


def test_the_name_is_that_of_module_and_function():
    assert str(infer_schema(scale).name) == "test_infer::scale"
    assert str(infer_schema(scale, name="demo::scale.out").name) == "demo::scale.out"


@pytest.mark.parametrize(("module", "namespace"), [("__main__", "main"), ("a.b._c", "c"), ("", "unnamed")])
def test_a_module_name_is_made_a_namespace(module, namespace):
    def f(x: Array) -> Array: ...

    f.__module__ = module
    assert str(infer_schema(f).name) == f"{namespace}::f"


def test_every_kind_of_argument():
    def f(
        x: Array,
        y: "np.ndarray | None",
        /,
        xs: list[Array],
        maybe: Optional[list[Array]] = None,
        sizes: list[int] = [1, 2],  # noqa: B006 - a default of the schema, never written
        *,
        mode: str = 'it\'s "x"\n\\',
        low: float = -math.inf,
        high: float = math.inf,
        fill: float = math.nan,
        alpha: numbers.Number = 1,
        phase: complex = -2j,
        flag: bool = False,
        anything: Any = None,
        words: tuple[str, ...] = ("a", "b"),
        pair: tuple[int, int] | None = None,
        count: int = np.int32(3),
        none: Array = None,
    ) -> Array: ...

    assert text(f) == (
        "(Tensor x, Tensor? y, Tensor[] xs, Tensor[]? maybe=None, int[] sizes=[1, 2], *, "
        'str mode="it\\\'s \\"x\\"\\n\\\\", float low=-inf, float high=inf, '
        "float fill=nan, Scalar alpha=1, complex phase=-2.0j, bool flag=False, Any? anything=None, "
        'str[] words=["a", "b"], (int, int)? pair=None, int count=3, Tensor? none=None) -> Tensor'
    )


@pytest.mark.parametrize(
    ("annotation", "returns"),
    [
        (None, "()"),
        ("None", "()"),
        (tuple[()], "()"),
        (Array, "Tensor"),
        (tuple[Array], "Tensor"),
        (tuple[Array, int], "(Tensor, int)"),
        (tuple[Array, ...], "Tensor[]"),
        (tuple[Array, int] | None, "((Tensor, int)?)"),
        (str, "str"),
    ],
)
def test_a_tuple_of_fixed_length_is_as_many_returns(annotation, returns):
    def f(x: Array) -> None: ...

    f.__annotations__["return"] = annotation
    assert text(f) == f"(Tensor x) -> {returns}"


def test_mutated_arguments_get_a_set_each():
    def f(x: Array, xs: list[Array], sizes: list[int], maybe: Array | None, n: int) -> None: ...

    assert text(f, mutates=["maybe", "x", "xs", "sizes"]) == (
        "(Tensor(a!) x, Tensor(b!)[] xs, int[](c!) sizes, Tensor(d!)? maybe, int n) -> ()"
    )
    assert refusal(f, mutates=["m"]).message == "there is no parameter `m` to mutate"
    found = refusal(f, mutates="n")
    assert (found.code, found.message) == ("C10E208", "parameter `n` is `int`, which cannot be written")


def test_methods_callable_objects_partials_and_wrappers_are_seen_through():
    class Scaler:
        def method(self, x: Array) -> Array: ...

        @staticmethod
        def static(x: Array) -> Array: ...

        def __call__(self, x: Array) -> Array: ...

    @functools.wraps(scale)
    def wrapper(*args: Any, **kwargs: Any) -> Any: ...

    assert text(Scaler().method) == text(Scaler.static) == text(Scaler()) == "(Tensor x) -> Tensor"
    assert text(wrapper) == text(scale)
    partial = functools.partial(scale, by=3)
    assert text(partial) == "(Tensor x, *, float by=3.0, Tensor? out=None) -> Tensor"


def no_annotation(x: Array, n=1) -> Array: ...
def no_return(x: Array): ...
def stars(x: Array, *rest: Array) -> Array: ...
def more_stars(x: Array, **rest: Array) -> Array: ...
def unresolved(x: "Tensr") -> Array: ...  # noqa: F821
def unknown_return(x: Array) -> set[int]: ...
def bad_default(x: Array, n: int = 2.5) -> Array: ...
def tensor_default(x: Array = np.ones(2)) -> Array: ...  # noqa: B008
def two_parts(x: Array, z: complex = 1 + 2j) -> Array: ...
def nested(x: Array, n: list[list[int]] = [[1]]) -> Array: ...  # noqa: B006
def pair(x: Array, n: tuple[int, int] = (1, 2)) -> Array: ...
def umlaut(größe: Array) -> Array: ...
async def coroutine(x: Array) -> Array: ...
def generator(x: Array) -> Array:
    yield x


@pytest.mark.parametrize(
    ("function", "code", "message"),
    [
        (no_annotation, "C10E204", "parameter `n` has no annotation"),
        (no_return, "C10E204", "the return has no annotation"),
        (stars, "C10E207", "parameter `rest` takes any number of values"),
        (more_stars, "C10E207", "parameter `rest` takes any number of values"),
        (unresolved, "C10E204", "its signature cannot be read: NameError: name 'Tensr' is not defined"),
        (unknown_return, "C10E204", "the return: annotation `set[int]` has no schema type"),
        (bad_default, "C10E205", "the default of parameter `n` must be int, not float 2.5"),
        (tensor_default, "C10E205", "the default of parameter `x` must be Tensor, not float64[2]"),
        (
            two_parts,
            "C10E205",
            "`c10::f(Tensor x, complex z=1.0) -> Tensor` is all that can be written of its schema",
        ),
        (nested, "C10E205", "expected a default, found `(`"),
        (pair, "C10E205", "`(int, int)` cannot have a default"),
        (umlaut, "C10E201", "expected `,` or `)` after the argument, found `ö` (U+00F6)"),
        (coroutine, "C10E204", "it returns a coroutine or a generator"),
        (generator, "C10E204", "it returns a coroutine or a generator"),
        (lambda: None, "C10E204", "the return has no annotation"),
    ],
)
def test_what_no_schema_has_is_refused_with_the_parameter_named(function, code, message):
    found = refusal(function, name="c10::f")
    assert (found.code, found.message) == (code, message)


def test_a_name_without_namespace_is_refused():
    assert refusal(scale, name="scale").code == "C10E203"


# What is emitted always parses back to the same schema.

PLAIN = {
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(),
    bool: st.booleans(),
    str: st.text(max_size=8),
    complex: st.floats(allow_nan=False, allow_infinity=False).map(lambda x: complex(0, x)),
    numbers.Number: st.one_of(st.integers(-99, 99), st.floats(), st.booleans()),
}
NO_DEFAULT = [np.ndarray, Array, Any, tuple[int, str], list[list[int]]]
NAMES = st.sampled_from([f"{stem}{n}" for stem in ("x", "from_", "Tensor", "int", "_") for n in range(4)])


@st.composite
def annotated(draw):
    """An annotation, and a default or none."""
    if draw(st.booleans()):
        kind = draw(st.sampled_from(NO_DEFAULT))
        return draw(
            st.sampled_from([(kind, Parameter.empty), (kind, None), (Optional[kind], None), (list[kind], [])])
        )
    kind = draw(st.sampled_from(list(PLAIN)))
    values = PLAIN[kind]
    return draw(
        st.one_of(
            st.just((kind, Parameter.empty)),
            st.tuples(st.just(kind), values),
            st.tuples(st.just(Optional[kind]), st.none() | values),
            st.tuples(st.just(list[kind]), st.lists(values, max_size=3)),
            st.tuples(
                st.just(Optional[tuple[kind, ...]]), st.none() | st.lists(values, max_size=3).map(tuple)
            ),
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
    returned = draw(st.sampled_from([None, np.ndarray, tuple[Array, int], tuple[int], str, list[np.ndarray]]))

    def f(): ...

    f.__signature__ = Signature(ordered, return_annotation=returned)
    mutable = [p.name for p in ordered if p.annotation in (np.ndarray, Array)]
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
