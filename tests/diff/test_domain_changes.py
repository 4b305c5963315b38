"""Which changes of a domain break those who call the operator."""

from datetime import date

import pytest

from c10cli.diff.domain_changes import compare_domains
from c10cli.diff.manifests import compare_sides
from c10cli.diff.sides import read_side
from c10cli.schema.domain_parser import parse_domain
from c10cli.schema.parser import parse_schema

SCHEMA = "d::f(Tensor x, Tensor where, int dim, ScalarType? dtype=None) -> Tensor"


def changes(old, new, schema=SCHEMA):
    sides = (parse_domain(old, parse_schema(SCHEMA)), parse_domain(new, parse_schema(schema)))
    return [(c.what, c.subject, c.backward, c.forward, c.why) for c in compare_domains(*sides)]


NARROWED = [
    ("x", "floating[n]", "float32 | float64 [n]", "it takes float16, bfloat16 no more"),
    ("x", "floating", "float32", "it takes float16, bfloat16, float64 no more"),
    ("x", "any[*n]", "any[m, *n]", "it takes fewer axes no more"),
    ("x", "any[*n]", "any[n]", "it takes fewer axes no more"),
    ("x", "any[n, *m]", "any[n]", "it takes more axes no more"),
    ("x", "any[n]", "any[4]", "it takes other sizes than 4 no more"),
    ("x", "any[n]", "any[n], finite(_)", "it takes what breaks `finite(_)` no more"),
    ("where_", "any", "boolean[*n]", "it takes int8,"),
    ("dim", "0 <= _ < 8", "0 <= _ < 4", "it takes what breaks `0 <= _ < 4` no more"),
    ("dim", "0 <= _ and _ < 8", "_ < 8 and 0 <= _ and _ != 3", "it takes what breaks `_ != 3` no more"),
    ("where", ["dim <= 8"], ["dim <= 8", "dim != 3"], "it takes what breaks `dim != 3` no more"),
]


@pytest.mark.parametrize(("key", "wide", "narrow", "why"), NARROWED)
def test_an_argument_that_may_be_less_breaks_calls_and_one_that_may_be_more_does_not(key, wide, narrow, why):
    ((what, subject, backward, forward, said),) = changes({key: wide}, {key: narrow})
    assert (what, subject, backward, forward) == ("domain-narrowed", key, False, True)
    assert said.startswith(why)
    ((what, _, backward, forward, said),) = changes({key: narrow}, {key: wide})
    assert (what, backward, forward) == ("domain-changed", True, False)
    assert said.startswith("it did not take")


@pytest.mark.parametrize(
    ("returns", "other", "ways"),
    [
        ("float32[1]", "float64[1]", (False, False)),
        ("float32[1]", "float32[1, 1]", (False, False)),
        ("float32[1]", "float32[2]", (False, False)),
        ("float32[1]", "any[...]", (False, True)),
        ("any", "float32[1]", (True, False)),
        ("float32", "dtype or float32", (True, True)),
        ("float32[dim]", "float32[2 * dim]", (True, True)),
    ],
)
def test_a_return_that_may_be_more_breaks_calls(returns, other, ways):
    ((what, subject, *found, _),) = changes({"returns": returns}, {"returns": other})
    assert (what, subject) == ("domain-changed" if ways[0] else "domain-returns", "returns")
    assert tuple(found) == ways


def test_of_what_nothing_tells_it_is_said_that_it_changed():
    old = {"x": "any[n]", "dim": "_ % 2 == 0", "where": "n != 3"}
    new = {"x": "any[m]", "dim": "_ % 3 == 0", "where": "m != 3"}
    assert changes(old, new) == [
        ("domain-changed", name, True, True, "nothing tells whether calls are affected")
        for name in ("x", "dim", "where")
    ]
    assert changes(old, dict(reversed(old.items()))) == []


def test_a_dtype_variable_has_a_line_of_its_own():
    old = {"T": "floating", "x": "T[n]", "returns": "T[n]"}
    assert [change[:4] for change in changes(old, {**old, "T": "float32"})] == [
        ("domain-narrowed", "T", False, True)
    ]


def test_what_is_said_of_an_argument_that_only_one_side_has_breaks_nothing():
    schema = SCHEMA.replace("dim,", "dim, *, Tensor? y=None,")
    assert changes({}, {"y": "any[n]"}, schema) == []


FILE = 'version: 1\noperators:\n  - schema: "d::f(Tensor x) -> Tensor"\n'
DOMAIN = '    domain: {x: "floating[n]", returns: "float32[n]"}\n    kernels: {CPU: k.py:f}\n'


@pytest.fixture
def compared(tmp_path, monkeypatch):
    """`compared(old, new)`: the changes between two files of one operator, of which these lines are more."""
    monkeypatch.chdir(tmp_path)

    def compare(old, new):
        for name, text in (("old.yaml", old), ("new.yaml", new)):
            (tmp_path / name).write_text(f"{FILE}{text}")
        return compare_sides(read_side("old.yaml"), read_side("new.yaml"), date(2026, 6, 30))

    return compare


def test_changes_of_a_domain_have_both_places_and_may_be_waived(compared):
    waive = "    waive: [{breaks: domain-narrowed x, reason: r, until: 2026-06-30}]\n"
    new = DOMAIN.replace("floating[n]", "float32[n]").replace(', returns: "float32[n]"', "")
    changes = compared(DOMAIN, new + waive)
    assert [(c.change.what, str(c.old), str(c.new), c.breaks) for c in changes.changes] == [
        ("domain-narrowed", "old.yaml:4:17", "new.yaml:4:17", False),
        ("domain-returns", "old.yaml:4:41", "new.yaml:4:5", True),
    ]


def test_a_domain_where_there_was_none_breaks_nothing(compared):
    without = DOMAIN[DOMAIN.index("\n") + 1 :]
    (change,) = compared(without, DOMAIN).changes
    assert (change.change.what, change.breaks, str(change.new)) == ("domain-added", False, "new.yaml:4:5")
    assert [c.breaks for c in compared(DOMAIN, without).changes] == [False, True]


def test_an_operator_whose_domain_has_a_fault_is_not_compared(compared):
    changes = compared(DOMAIN, DOMAIN.replace("floating", "floatng"))
    assert (changes.changes, {n: str(f.span) for n, f in changes.unjudged.items()}) == (
        (),
        {"d::f": "new.yaml:4:18"},
    )
