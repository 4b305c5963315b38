import textwrap
from datetime import date

import pytest

from c10cli.document.source import parse_document
from c10cli.manifest.load import load_manifest
from c10cli.manifest.waivers import WAIVABLE


def load(folder, waive):
    text = 'version: 1\noperators:\n  - schema: "c10::f(Tensor x) -> Tensor"\n    waive:'
    path = folder / "registry.yaml"
    path.write_text(text + textwrap.indent(textwrap.dedent(waive), "      ").rstrip() + "\n")
    return load_manifest(path)


def findings(folder, waive):
    return [(f.code, f.span.line, f.message) for f in load(folder, waive).diagnostics]


def test_a_waiver_is_read_with_its_place(tmp_path):
    result = load(
        tmp_path,
        """
        - {breaks: argument-removed alpha, reason: " never used ", until: 2026-12-31}
        - breaks: kernel-removed
          reason: gone
          until: "2027-01-01"
        """,
    )
    assert result.diagnostics == ()
    first, second = result.manifest.operators[0].waivers
    assert (first.breaks, first.subject, first.reason) == ("argument-removed", "alpha", "never used")
    assert first.until == date(2026, 12, 31)
    assert str(first.span) == f"{tmp_path / 'registry.yaml'}:5:18"
    assert (second.breaks, second.subject, second.until) == ("kernel-removed", "", date(2027, 1, 1))


def test_an_operator_without_waivers_has_none(tmp_path):
    result = load(tmp_path, " []")
    assert result.diagnostics == ()
    assert result.manifest.operators[0].waivers == ()


@pytest.mark.parametrize(
    ("waive", "found"),
    [
        (" 3", [("C10E106", 4, "`waive` of `c10::f` must be a list, not an integer")]),
        ("\n- 3", [("C10E106", 5, "waiver 1 of `c10::f` must be a mapping, not an integer")]),
        (
            "\n- {breaks: argument-type, until: 2026-12-31}",
            [("C10E105", 5, "field `reason` of waiver 1 of `c10::f` is missing")],
        ),
        (
            "\n- {breaks: argument-type, reason: '  ', until: 2026-12-31}",
            [("C10E106", 5, "`reason` of waiver 1 of `c10::f` is empty")],
        ),
        (
            "\n- {breaks: argument-type, reason: r, until: 2026-12-31, by: me}",
            [("C10E104", 5, "field `by` of waiver 1 of `c10::f` is unknown")],
        ),
        (
            "\n- {breaks: argument-typ, reason: r, until: 2026-12-31}",
            [("C10E106", 5, "`argument-typ` in `breaks` of waiver 1 of `c10::f` is no kind of change")],
        ),
        (
            "\n- {breaks: argument-type, reason: r, until: 2026}",
            [("C10E106", 5, "`until` of waiver 1 of `c10::f` must be a string, not an integer")],
        ),
    ],
)
def test_a_fault_is_found_at_its_line(tmp_path, waive, found):
    assert findings(tmp_path, waive) == found


@pytest.mark.parametrize("day", ["2026-02-30", "20261231", "2026-W01-1", "31.12.2026", "2026-12-31T00:00"])
def test_only_a_day_of_the_calendar_is_one(tmp_path, day):
    (finding,) = load(tmp_path, f"\n- {{breaks: argument-type, reason: r, until: '{day}'}}").diagnostics
    assert finding.message == (
        f"`until` of waiver 1 of `c10::f` must be a day such as `2026-12-31`, not `{day}`"
    )


def test_a_kind_that_is_near_is_offered(tmp_path):
    (finding,) = load(tmp_path, "\n- {breaks: argument-typ, reason: r, until: 2026-12-31}").diagnostics
    assert "`argument-type`" in finding.help
    assert finding.notes == (f"known here: {', '.join(f'`{kind}`' for kind in WAIVABLE)}",)


def removals(entry):
    """The waivers of a manifest, and the faults among them by line."""
    text = f"version: 1\nwaive:\n  - {entry}\noperators: []\n"
    result = load_manifest("m.yaml", read=lambda path: parse_document(text, str(path)))
    return result.manifest.removals, [
        (f.code, f.span.line, f.span.column, f.message) for f in result.diagnostics
    ]


def test_a_waiver_of_the_manifest_names_the_operator_that_is_gone():
    entry = "{operator: c10::add.out, breaks: operator-removed, reason: unused, until: 2026-12-31}"
    (waiver,), faults = removals(entry)
    assert (waiver.breaks, waiver.subject, waiver.reason) == ("operator-removed", "c10::add.out", "unused")
    assert (waiver.until, faults) == (date(2026, 12, 31), [])


def test_the_waivers_of_includes_are_those_of_the_manifest_too():
    waiver = "{operator: c10::add, breaks: operator-removed, reason: unused, until: 2026-12-31}"
    texts = {
        "m.yaml": "version: 1\ninclude: [n.yaml]\n",
        "n.yaml": f"version: 1\noperators: []\nwaive: [{waiver}]\n",
    }
    result = load_manifest("m.yaml", read=lambda path: parse_document(texts[path.name], str(path)))
    assert [waiver.subject for waiver in result.manifest.removals] == ["c10::add"]


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ("3", [("C10E106", 3, 5, "waiver 1 of the manifest must be a mapping, not an integer")]),
        (
            "{breaks: operator-removed, reason: r, until: 2026-12-31}",
            [("C10E105", 3, 5, "field `operator` of waiver 1 of the manifest is missing")],
        ),
        (
            "{operator: c10::f, breaks: argument-type, reason: r, until: 2026-12-31}",
            [
                (
                    "C10E106",
                    3,
                    32,
                    "`breaks` of waiver 1 of the manifest must be `operator-removed`, not `argument-type`",
                )
            ],
        ),
        (
            "{operator: f, breaks: operator-removed, reason: r, until: 2026-12-31}",
            [
                (
                    "C10E203",
                    3,
                    16,
                    "`operator` of waiver 1 of the manifest must be a whole name "
                    "such as `c10::add.out`, not `f`",
                )
            ],
        ),
        (
            "{operator: 'c10::f(', breaks: operator-removed, reason: r, until: soon}",
            [
                (
                    "C10E203",
                    3,
                    16,
                    "`operator` of waiver 1 of the manifest must be a whole name "
                    "such as `c10::add.out`, not `c10::f(`",
                ),
                (
                    "C10E106",
                    3,
                    71,
                    "`until` of waiver 1 of the manifest must be a day such as `2026-12-31`, not `soon`",
                ),
            ],
        ),
    ],
)
def test_a_fault_in_a_waiver_of_the_manifest_is_found_at_its_place(entry, found):
    waivers, faults = removals(entry)
    assert waivers == ()
    assert faults == found
