import pytest

from c10cli.interop.imported import Collector, matches_name
from c10cli.schema.parser import parse_schema


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("aten::f(int x) -> Tensor", "no tensor argument to dispatch on"),
        ("aten::f(Tensor x, ...) -> Tensor", "`...` among arguments or returns"),
        ("aten::f(Tensor x) -> ...", "`...` among arguments or returns"),
        ("aten::f(__torch__.torch.classes.c10d.Work x) -> Tensor", "unknown type"),
        ("aten::f(Tensor x, int x) -> Tensor", "argument name used twice"),
        ("aten::f", "no `->` and returns"),
    ],
)
def test_what_no_operator_can_have_is_left_out_with_the_reason(text, reason):
    collector = Collector()
    assert collector.parse("aten::f", text) is None
    assert collector.imported("here").reasons() == {reason: ["aten::f"]}


def test_a_name_is_taken_once():
    collector = Collector()
    collector.add(collector.parse("aten::f", "aten::f(Tensor x) -> Tensor"), ["CPU"])
    assert collector.parse("aten::f", "aten::f(Tensor x, int n) -> Tensor") is None
    imported = collector.imported("here")
    assert [str(o.schema) for o in imported.operators] == ["aten::f(Tensor x) -> Tensor"]
    assert imported.reasons() == {"given twice": ["aten::f"]}


def test_operators_come_by_name_and_kernels_are_counted():
    collector = Collector()
    collector.add(parse_schema("b::f(Tensor x) -> Tensor"), ["CPU", "Meta"])
    collector.add(parse_schema("a::g(Tensor x) -> Tensor"), ["CPU"])
    imported = collector.imported("here", "a note")
    assert [o.schema.name.namespace for o in imported.operators] == ["a", "b"]
    assert (imported.origin, imported.note, imported.kernel_count) == ("here", "a note", 3)


@pytest.mark.parametrize(
    ("schema", "entry_point"),
    [
        ("aten::add.Tensor(Tensor self) -> Tensor", "torch:ops.aten.add.Tensor"),
        ("aten::relu(Tensor self) -> Tensor", "torch:ops.aten.relu.default"),
    ],
)
def test_the_entry_point_is_the_overload_that_python_finds(schema, entry_point):
    collector = Collector()
    collector.add(parse_schema(schema), ["CPU"])
    assert collector.imported("here").operators[0].entry_point == entry_point


def test_the_most_frequent_reason_comes_first():
    collector = Collector()
    for name, reason in (("a", "rare"), ("b", "usual"), ("c", "usual")):
        collector.leave_out(name, reason)
    assert list(collector.imported("here").reasons().items()) == [("usual", ["b", "c"]), ("rare", ["a"])]


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("add", True),
        ("aten::add", True),
        ("add.Tensor", True),
        ("aten::*", True),
        ("add.*", True),
        ("add*r", True),
        ("add?Tensor", True),
        ("sub", False),
        ("add*out", False),
        ("dd.*", False),
    ],
)
def test_a_pattern_is_a_part_of_the_name_or_with_marks_the_whole_name(pattern, matches):
    assert matches_name("aten::add.Tensor", pattern) is matches
    assert Collector([pattern]).wants("aten::add.Tensor") is matches


def test_without_a_pattern_every_name_is_wanted():
    assert Collector().wants("aten::anything")
