from datetime import date

import pytest

from c10cli.diff.manifests import compare_sides
from c10cli.diff.sides import read_side

TODAY = date(2026, 6, 30)
OLD = """\
version: 1
operators:
  - schema: "d::f(Tensor x, int n=1) -> Tensor"
    kernels: {CPU: k.py:f, CUDA: k.py:g}
  - schema: "d::gone(Tensor x) -> Tensor"
  - schema: "d::same(Tensor x) -> Tensor"
"""
NEW = """\
version: 1
operators:
  - schema: "d::f(Tensor x, int n=2) -> Tensor"
    kernels: {CPU: k.py:f, Meta: k.py:g}
    waive: []
  - schema: "d::same(Tensor x) -> Tensor"
  - schema: "d::fresh(Tensor x) -> Tensor"
"""


@pytest.fixture
def compared(tmp_path, monkeypatch):
    """`compared(waive="[]", today=TODAY)`: what changed from OLD to NEW with those waivers."""
    monkeypatch.chdir(tmp_path)

    def compare(waive="[]", today=TODAY):
        (tmp_path / "old.yaml").write_text(OLD)
        (tmp_path / "new.yaml").write_text(NEW.replace("[]", waive))
        return compare_sides(read_side("old.yaml"), read_side("new.yaml"), today)

    return compare


def waiver(breaks, until="2026-06-30"):
    return f"[{{breaks: {breaks}, reason: r, until: {until}}}]"


def test_every_change_is_listed_with_both_places(compared):
    changes = compared()
    assert [(c.operator, c.change.what, str(c.old), str(c.new)) for c in changes.changes] == [
        ("d::f", "argument-default", "old.yaml:3:29", "new.yaml:3:29"),
        ("d::f", "kernel-removed", "old.yaml:4:28", "new.yaml:3:13"),
        ("d::f", "kernel-added", "old.yaml:3:13", "new.yaml:4:28"),
        ("d::fresh", "operator-added", "None", "new.yaml:7:13"),
        ("d::gone", "operator-removed", "old.yaml:5:13", "None"),
    ]
    assert [c.breaks for c in changes.changes] == [True, True, False, False, True]
    assert [c.change.forward for c in changes.changes] == [False, True, False, False, True]
    assert len(changes.breaks) == 3
    assert changes.unchanged == 1
    first = changes.changes[0]
    assert (first.old_text, first.new_text) == ("int n=1", "int n=2")


@pytest.mark.parametrize("breaks", ["argument-default", "argument-default n"])
def test_a_waiver_holds_until_its_day_has_passed(compared, breaks):
    change, *_ = compared(waiver(breaks)).changes
    assert (change.is_waived, change.breaks, change.waiver.reason) == (True, False, "r")
    change, *_ = compared(waiver(breaks), today=date(2026, 7, 1)).changes
    assert (change.is_waived, change.breaks, change.waiver.reason) == (False, True, "r")


def test_a_waiver_of_a_key_covers_that_key_alone(compared):
    assert [c.is_waived for c in compared(waiver("kernel-removed CUDA")).changes] == [
        False,
        True,
        False,
        False,
        False,
    ]
    assert not any(c.is_waived for c in compared(waiver("kernel-removed CPU")).changes)


def test_the_waiver_that_holds_longest_is_taken(compared):
    both = waiver("argument-default", "2026-01-01")[:-1] + ", " + waiver("argument-default n")[1:]
    changes = compared(both)
    assert changes.changes[0].is_waived
    assert [waiver.until for _, waiver in changes.unused] == [date(2026, 1, 1)]


@pytest.mark.parametrize("breaks", ["argument-default x", "argument-type", "kernel-removed Meta"])
def test_a_waiver_that_no_break_needs_is_told(compared, breaks):
    changes = compared(waiver(breaks))
    assert [(name, f"{w.breaks} {w.subject}".strip()) for name, w in changes.unused] == [("d::f", breaks)]


def test_a_waiver_that_one_operator_needs_is_told_of_another_that_has_the_same(compared, tmp_path):
    compared()
    path, waive = tmp_path / "new.yaml", waiver("argument-default")
    same = '"d::same(Tensor x) -> Tensor"\n'
    path.write_text(path.read_text().replace("[]", waive).replace(same, f"{same}    waive: {waive}\n"))
    changes = compare_sides(read_side("old.yaml"), read_side("new.yaml"), TODAY)
    assert [name for name, _ in changes.unused] == ["d::same"]


@pytest.fixture
def compared_removals(compared, tmp_path):
    """`compared_removals(name, today=TODAY)`: the same with a waiver of the manifest for that operator."""

    def compare(name, today=TODAY):
        compared()
        path = tmp_path / "new.yaml"
        entry = f"{{operator: {name}, breaks: operator-removed, reason: r, until: 2026-06-30}}"
        path.write_text(f"{path.read_text()}waive: [{entry}]\n")
        return compare_sides(read_side("old.yaml"), read_side("new.yaml"), today)

    return compare


@pytest.mark.parametrize("name", ["d::gone", "d::gone.default"])
def test_a_removed_operator_is_waived_by_the_manifest_until_the_day_has_passed(compared_removals, name):
    *_, gone = (changes := compared_removals(name)).changes
    assert (gone.operator, gone.is_waived, gone.breaks, gone.waiver.reason) == ("d::gone", True, False, "r")
    assert changes.unused == ()
    *_, gone = (changes := compared_removals(name, today=date(2026, 7, 1))).changes
    assert (gone.is_waived, gone.breaks, gone.waiver.reason) == (False, True, "r")
    assert changes.unused == ()


@pytest.mark.parametrize("name", ["d::same", "d::never", "d::gone.out"])
def test_a_waiver_for_an_operator_that_was_not_removed_is_told(compared_removals, name):
    changes = compared_removals(name)
    assert changes.changes[-1].waiver is None
    assert [(name, str(waiver.span)) for name, waiver in changes.unused] == [
        (name, f"new.yaml:8:{30 + len(name)}")
    ]


def test_a_change_that_breaks_nobody_uses_up_no_waiver(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.yaml").write_text('version: 1\noperators:\n  - schema: "d::f(Tensor x, int n) -> ()"\n')
    waive = waiver("argument-type")
    new = f'version: 1\noperators:\n  - schema: "d::f(Tensor x, int? n) -> ()"\n    waive: {waive}\n'
    (tmp_path / "new.yaml").write_text(new)
    changes = compare_sides(read_side("old.yaml"), read_side("new.yaml"), TODAY)
    assert (changes.changes[0].waiver, len(changes.unused)) == (None, 1)


@pytest.fixture
def native(tmp_path, monkeypatch):
    """`native(old, new)`: the changes between two files of torch's or ExecuTorch's."""
    monkeypatch.chdir(tmp_path)

    def compare(old, new):
        for name, text in (("old.yaml", old), ("new.yaml", new)):
            (tmp_path / name).write_text("".join(f"- {line}\n" for line in text))
        return compare_sides(read_side("old.yaml"), read_side("new.yaml"), TODAY)

    return compare


def test_what_nobody_understands_is_compared_as_far_as_it_can_be(native):
    old = [
        "func: same(Odd x) -> ()",
        "func: other(Odd x) -> ()",
        "func: gone(Odd x) -> ()",
        "func: f(int x) -> ()",
    ]
    new = [
        "func: same(Odd x) -> ()",
        "func: other(Odd y) -> ()",
        "func: fresh(Odd x) -> ()",
        "func: f() -> ()",
    ]
    changes = native(old, new)
    assert [(c.operator, c.change.what) for c in changes.changes] == [
        ("aten::fresh", "operator-added"),
        ("aten::f", "argument-removed"),
        ("aten::gone", "operator-removed"),
    ]
    assert {name: fault.message for name, fault in changes.unjudged.items()} == {
        "aten::other": "unknown type `Odd`"
    }
    assert changes.unchanged == 1


def test_one_cause_is_one_finding_with_the_names_of_all(native):
    old = [f"func: f{i}({'Odd' if i else 'Strange'} x) -> ()" for i in range(100)]
    changes = native(old, [f"func: f{i}() -> ()" for i in range(100)])
    assert [(fault.message, str(fault.span), len(names)) for fault, names in changes.causes()] == [
        ("unknown type `Strange`", "old.yaml:1:12", 1),
        ("unknown type `Odd`", "old.yaml:2:12", 99),
    ]


def test_names_without_schemas_are_compared_with_each_other_and_with_nothing_else(native):
    changes = native(["op: f", "op: g", "op: h"], ["op: f", "func: g() -> ()", "op: k"])
    assert [(c.operator, c.change.what) for c in changes.changes] == [
        ("aten::k", "operator-added"),
        ("aten::h", "operator-removed"),
    ]
    assert {name: (f.code, str(f.span)) for name, f in changes.unjudged.items()} == {
        "aten::g": ("C10E105", "old.yaml:2:7")
    }
    assert changes.unchanged == 1


def test_what_may_stand_in_a_file_that_cannot_be_read_is_neither_gone_nor_new(compared, tmp_path):
    compared()
    new = (tmp_path / "new.yaml").read_text()
    (tmp_path / "new.yaml").write_text(f"include: [none.yaml]\n{new}")
    changes = compare_sides(read_side("old.yaml"), read_side("new.yaml"), TODAY)
    assert {name: fault.code for name, fault in changes.unjudged.items()} == {"d::gone": "C10E101"}
    assert "d::fresh" in [change.operator for change in changes.changes]
    changes = compare_sides(read_side("new.yaml"), read_side("old.yaml"), TODAY)
    assert list(changes.unjudged) == ["d::gone"]


def test_a_waiver_of_what_could_not_be_judged_is_not_called_unused(compared_removals, tmp_path):
    compared_removals("d::gone")
    new = (tmp_path / "new.yaml").read_text()
    (tmp_path / "new.yaml").write_text(f"include: [none.yaml]\n{new}")
    changes = compare_sides(read_side("old.yaml"), read_side("new.yaml"), TODAY)
    assert (list(changes.unjudged), changes.unused) == (["d::gone"], ())


def test_a_side_that_says_nothing_of_kernels_takes_none_away(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "manifest.yaml").write_text(
        'version: 1\noperators:\n  - schema: "aten::f(Tensor x) -> ()"\n    kernels: {CPU: k.py:f}\n'
    )
    (tmp_path / "native.yaml").write_text("- func: f(Tensor x) -> ()\n")
    sides = [read_side("manifest.yaml"), read_side("native.yaml")]
    for old, new in (sides, reversed(sides)):
        assert compare_sides(old, new, TODAY).changes == ()
