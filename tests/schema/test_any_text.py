"""Whatever the text: a schema or a SchemaError, in steps by its length, and nothing else."""

import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from c10cli.errors import SchemaError
from c10cli.schema.parser import parse_schema

SCHEMAS = [
    line
    for line in (Path(__file__).parent / "data" / "torch_schemas.txt")
    .read_text(encoding="utf-8")
    .splitlines()
    if not line.startswith("#")
]
CLASSES = {"c10d.ProcessGroup", "c10d.ReduceOp", "c10d.Work", "quantized.LinearPackedParamsBase"}

BACKSLASH_N = "\\n"
LINE_END = "\n"

# `~` stands for a blank.
PIECES_TEXT = r"""
    ? [] [2] (a!) (a~->~*) ! * ... , ( ) = None 1 - 1.5 ' "x" [ ] t Tensor int Dict( Union( -> | :: .
    in \ # é { 0x 1e n::f( ->~() __torch__ '' int~x=1 Tensor(a)~y @
"""
PIECES = [piece.replace("~", " ") for piece in PIECES_TEXT.split()] + [" ", "\n", "\\\n", "\0", "'''"]


@st.composite
def damaged_schemas(draw):
    """Real schemas with a few pieces replaced by others."""
    text = draw(st.sampled_from(SCHEMAS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 6)))
        text = text[:start] + draw(st.sampled_from(["", *PIECES])) + text[end:]
    return text


def soups():
    """Pieces of schemas in any order, some of them many times."""
    some = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
    many = st.builds(lambda piece, n: piece * n, st.sampled_from(PIECES), st.integers(1, 200))
    return st.builds("{}{}{}".format, st.sampled_from(["", "n::f(", "n::f(int x="]), many, some)


def parsed(text, dialect):
    """The schema, or None after a `SchemaError` that points into the text."""
    try:
        return parse_schema(text, dialect, known_classes=CLASSES)
    except SchemaError as error:
        span = error.diagnostics[0].span
        if error.code.startswith("C10E2") and 0 <= error.start <= error.end <= len(text) and span.column > 0:
            return None
        raise


def steps(text, dialect):
    """How many functions are called, Python's own among them, until *text* is parsed."""
    calls = 0

    def note(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        parsed(text, dialect)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize(
    ("texts", "examples"),
    [(st.text(max_size=80), 2500), (damaged_schemas(), 5000), (soups(), 2500)],
    ids=["any text", "damaged schemas", "soups"],
)
def test_ten_thousand_texts_give_schemas_that_print_back_or_schema_errors(texts, examples):
    run = count(1)

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.nested_given],
    )
    @given(texts, st.sampled_from(["strict", "torch"]))
    def check(text, dialect):
        next(run)
        schema = parsed(text, dialect)
        assert schema is None or parse_schema(str(schema), dialect, known_classes=CLASSES) == schema

    check()
    assert next(run) > examples * 0.9  # hypothesis may end early where it has seen all there is


def listed(item, n, separator=", "):
    """``item`` n times, each with its number for ``{}``."""
    return separator.join(item.format(i) for i in range(n))


FAMILIES = {
    # Nesting, open and closed.
    "open tuples": lambda n: "n::f(" + "(" * n,
    "tuples": lambda n: f"n::f({'(' * n}int{')' * n} x) -> ()",
    "Dicts": lambda n: f"n::f({'Dict(str, ' * n}int{')' * n} x) -> ()",
    "Unions in Unions": lambda n: f"n::f({'Union(int, ' * n}str{')' * n} x) -> ()",
    "open lists as default": lambda n: "n::f(int x=" + "[" * n,
    "open lists as type": lambda n: "n::f(Tensor" + "[" * n,
    "open annotations": lambda n: "n::f(" + "Tensor(a" * n,
    # Many of one kind.
    "postfixes": lambda n: f"n::f(Tensor{'[]' * n} x) -> ()",
    "question marks": lambda n: f"n::f(int{'?' * n} x) -> ()",
    "sizes": lambda n: f"n::f(int{'[1]' * n} x) -> ()",
    "annotations": lambda n: f"n::f(int{'[](a)' * n} x) -> ()",
    "exclamation marks": lambda n: f"n::f(Tensor{'!' * n} x) -> ()",
    "members": lambda n: f"n::f(Union({listed('t{}', n)}) x) -> ()",
    "arguments": lambda n: f"n::f({listed('Tensor a{}', n)}) -> ()",
    "arguments of new types": lambda n: f"n::f({listed('t{0}[]?[] a{0}', n)}) -> ()",
    "repeated names": lambda n: f"n::f({listed('Tensor a', n)}) -> ()",
    "defaults": lambda n: f"n::f({listed('float a{0}={0}.5', n)}) -> ()",
    "keyword-only arguments": lambda n: f"n::f(*, {listed('int? a{}=None', n)}) -> ()",
    "stars": lambda n: f"n::f({'*, ' * n}int x) -> ()",
    "returns": lambda n: f"n::f() -> ({listed('Tensor r{}', n)})",
    "alias sets": lambda n: f"n::f(Tensor({listed('a{}', n, '|')}!) x) -> Tensor({listed('a{}', n, '|')})",
    "written arguments": lambda n: f"n::f({listed('Tensor(a{0}!) x{0}', n)}) -> Tensor(a0)",
    "unnamed sets": lambda n: f"n::f({listed('Tensor! x{}', n)}) -> ()",
    "arrows in an annotation": lambda n: f"n::f(Tensor(a{'-> a' * n}) x) -> ()",
    "words in an annotation": lambda n: f"n::f(Tensor({'a ' * n} x) -> ()",
    # Long words, numbers and strings.
    "operator name": lambda n: f"n::{'a' * n}() -> ()",
    "argument name": lambda n: f"n::f(int {'a' * n}) -> ()",
    "type variable": lambda n: f"n::f(t{'.a' * n} x) -> ()",
    "unknown type": lambda n: f"n::f({'T' * n} x) -> ()",
    "class path": lambda n: f"n::f(__torch__{'.torch' * n} x) -> ()",
    "digits": lambda n: f"n::f(int x={'9' * n}) -> ()",
    "decimals": lambda n: f"n::f(float x=1.{'9' * n}) -> ()",
    "exponent": lambda n: f"n::f(float x=1e{'9' * n}) -> ()",
    "hex digits": lambda n: f"n::f(int x=0x{'f' * n}) -> ()",
    "hex fraction": lambda n: f"n::f(float x=0x1.{'f' * n}p1) -> ()",
    "hex exponent": lambda n: f"n::f(float x=0x1p{'9' * n}) -> ()",
    "size": lambda n: f"n::f(int[{'9' * n}] x) -> ()",
    "string": lambda n: f"n::f(str x='{'a' * n}') -> ()",
    "escapes": lambda n: f"n::f(str x='{BACKSLASH_N * n}') -> ()",
    "open string": lambda n: "n::f(str x='" + "a" * n,
    "open string of backslashes": lambda n: "n::f(str x='" + "\\" * n,
    "open string of quotes": lambda n: "n::f(str x='''" + "a'" * n,
    "quotes": lambda n: "n::f(str x=" + "'" * n,
    "list default": lambda n: f"n::f(int[] x=[{listed('{}', n)}]) -> ()",
    "open list default": lambda n: f"n::f(int[] x=[{'1, ' * n} x) -> ()",
    # What lies between.
    "blanks": lambda n: f"n::f(Tensor{' ' * n}x{' ' * n}={' ' * n}None{' ' * n}) -> (){' ' * n}",
    "blanks before a fault": lambda n: f"n::f({' ' * n}?",
    "lines": lambda n: f"{LINE_END * n}n::f({LINE_END * n}Tensr x) -> (){LINE_END * n}",
    "comments": lambda n: "n::f(" + "# a\n" * n + ") -> ()",
    "joined lines": lambda n: "\\\n" * n + "n::f() -> ()",
    "dots": lambda n: "n::f(" + "." * n,
    "colons": lambda n: "n" + ":" * n,
    "minus signs": lambda n: "n::f(int x=" + "-" * n,
    "nothing known": lambda n: "@\0" * n,
}


@pytest.mark.parametrize("dialect", ["strict", "torch"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_steps_grow_with_the_length_and_not_with_its_square(family, dialect):
    parsed(FAMILIES[family](2), dialect)  # what is remembered from then on
    short, long = (steps(FAMILIES[family](n), dialect) for n in (500, 4000))
    # The square of eight times the length would be sixty-four times as many.
    assert long < 16 * short
    assert long < 100 * len(FAMILIES[family](4000))
