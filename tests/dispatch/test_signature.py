from inspect import signature

import pytest

from c10cli.dispatch.signature import cache_parameter, mismatch
from c10cli.schema.parser import parse_schema

PLAIN = parse_schema("t::f(Tensor x, int y) -> Tensor")
KEYWORD = parse_schema("t::f(Tensor x, *, int y) -> Tensor")


def reason(schema, kernel, **options):
    return mismatch(schema, signature(kernel), **options)


@pytest.mark.parametrize(
    ("schema", "kernel"),
    [
        (PLAIN, lambda x, y: x),
        (PLAIN, lambda x, y=7: x),
        (PLAIN, lambda x, y, z=0: x),
        (PLAIN, lambda a, b, /: a),
        (PLAIN, lambda a, y, /: a),
        (PLAIN, lambda *args: args),
        (PLAIN, lambda x, *args: args),
        (PLAIN, lambda x, y, **kwargs: x),
        (KEYWORD, lambda x, *, y: x),
        (KEYWORD, lambda x, y: x),
        (KEYWORD, lambda x, **kwargs: x),
        (KEYWORD, lambda x, *, z=0, y: x),
    ],
)
def test_a_kernel_that_takes_the_schemas_arguments_fits(schema, kernel):
    assert reason(schema, kernel) is None


@pytest.mark.parametrize(
    ("schema", "kernel", "text"),
    [
        (PLAIN, lambda: 0, "takes 0 arguments, and the schema has 2: () against (x, y)"),
        (PLAIN, lambda x: 0, "takes 1 argument, and the schema has 2: (x) against (x, y)"),
        (PLAIN, lambda x, y, z: 0, "takes 3 arguments, and the schema has 2: (x, y, z) against (x, y)"),
        (PLAIN, lambda x, z: 0, "calls argument 1 `z`, and the schema calls it `y`"),
        (PLAIN, lambda y, x: 0, "calls argument 0 `y`, and the schema calls it `x`"),
        (PLAIN, lambda y, x, /: 0, "calls argument 0 `y`, and the schema calls it `x`"),
        (PLAIN, lambda a, x, /: 0, "calls argument 1 `x`, and the schema calls it `y`"),
        (KEYWORD, lambda y, /, **kwargs: 0, "calls argument 0 `y`, and the schema calls it `x`"),
        (PLAIN, lambda x, y, *, z: 0, "takes 3 arguments, and the schema has 2: (x, y, z) against (x, y)"),
        (KEYWORD, lambda x, *, y, z: 0, "takes 3 arguments, and the schema has 2: (x, y, z) against (x, y)"),
    ],
)
def test_a_kernel_that_cannot_take_them_is_refused_for_what_differs(schema, kernel, text):
    assert reason(schema, kernel) == text


@pytest.mark.parametrize(
    ("schema", "kernel", "taken"),
    [
        (PLAIN, lambda x, *, y: 0, "(x, *, y)"),
        (PLAIN, lambda **kwargs: 0, "(**kwargs)"),
        (PLAIN, lambda *args, z: 0, "(*args, z)"),
        (KEYWORD, lambda x, z: 0, "(x, z)"),
        (KEYWORD, lambda x, *args: 0, "(x, *args)"),
        (KEYWORD, lambda x, y=3, /: 0, "(x, y, /)"),
        (KEYWORD, lambda y, x: 0, "(y, x)"),
    ],
)
def test_a_kernel_that_takes_them_in_another_way_is_refused_in_pythons_words(schema, kernel, taken):
    fact = f"takes {taken}, which cannot be called as the schema says: "
    assert reason(schema, kernel).startswith(fact)


def annotated(**annotations):
    def kernel(x, y):
        return x

    kernel.__annotations__ = annotations
    return kernel


@pytest.mark.parametrize(
    ("schema", "annotations", "text"),
    [
        ("(Tensor x, float y) -> Tensor", {"y": int}, "annotates `y` as int, and the schema says float"),
        ("(Tensor x, int y) -> Tensor", {"x": "int"}, "annotates `x` as int, and the schema says Tensor"),
        ("(Tensor[] x, int y) -> Tensor", {"x": int}, "annotates `x` as int, and the schema says Tensor[]"),
        ("(Tensor? x, int y) -> int", {"x": str}, "annotates `x` as str, and the schema says Tensor?"),
        (
            "(Tensor x, int y) -> Tensor",
            {"return": int},
            "is annotated to return int, and the schema returns Tensor",
        ),
        (
            "(Tensor x, int y) -> (int, int)",
            {"return": int},
            "is annotated to return 1 value (int), and the schema returns 2",
        ),
        (
            "(Tensor x, int y) -> ()",
            {"return": "str"},
            "is annotated to return 1 value (str), and the schema returns 0",
        ),
    ],
)
def test_an_annotation_that_contradicts_the_schema_is_refused(schema, annotations, text):
    assert reason(parse_schema(f"t::f{schema}"), annotated(**annotations)) == text


@pytest.mark.parametrize("kernel", [lambda x, y, cache: 0, lambda a, b, c, /: 0, lambda *args: 0])
def test_a_cached_kernel_takes_the_cache_behind_the_arguments(kernel):
    assert reason(PLAIN, kernel, has_cache=True) is None


@pytest.mark.parametrize(
    ("schema", "kernel", "index"),
    [
        (PLAIN, lambda x, cache, y, /: 0, 1),
        (PLAIN, lambda x, cache, y: 0, 1),
        (PLAIN, lambda cache, x, y: 0, 0),
        (PLAIN, lambda cache, x, /, y: 0, 0),
        (PLAIN, lambda x, cache, *args: 0, 1),
        (PLAIN, lambda x, y, z=0, cache=None, /: 0, 3),
        (KEYWORD, lambda cache, x, *, y: 0, 0),
    ],
)
def test_a_cache_among_the_arguments_is_refused(schema, kernel, index):
    wanted = len(schema.positional)
    text = f"takes its cache `cache` as argument {index}, and is passed it as argument {wanted}"
    assert reason(schema, kernel, has_cache=True) == text


@pytest.mark.parametrize(
    ("schema", "kernel"),
    [
        (PLAIN, lambda x, y, cache, /: 0),
        (PLAIN, lambda x, y, z=0, cache=None: 0),
        (PLAIN, lambda x, y, *, cache: 0),
        (KEYWORD, lambda x, cache, /, *, y: 0),
        (KEYWORD, lambda x, y, cache: 0),
    ],
)
def test_a_cache_behind_the_positional_arguments_or_by_keyword_fits(schema, kernel):
    assert reason(schema, kernel, has_cache=True) is None


def test_the_cache_is_the_last_parameter_that_is_no_argument():
    assert cache_parameter(KEYWORD, signature(lambda x, workspace, *, y: 0)).name == "workspace"
    assert cache_parameter(PLAIN, signature(lambda x, y: 0)) is None


def test_a_cached_kernel_without_room_for_the_cache_is_refused():
    text = "takes 2 arguments and none of them is left for the cache"
    assert reason(PLAIN, lambda x, y: 0, has_cache=True) == text


def test_a_boxed_kernel_takes_stack_and_cache():
    assert reason(PLAIN, lambda stack, cache=None: 0, boxed=True) is None
    assert reason(PLAIN, lambda *args: 0, boxed=True) is None
    text = "is registered as boxed, which takes (stack, cache), but takes (x, y, z)"
    assert reason(PLAIN, lambda x, y, z: 0, boxed=True) == text
    assert reason(PLAIN, lambda stack: 0, boxed=True).endswith("but takes (stack)")
