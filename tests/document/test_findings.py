from c10cli.document.findings import Findings
from c10cli.errors import Diagnostic, Span


def finding(place, message="m", cause=""):
    return Diagnostic("C10E304", message, Span("f", place, 1, 2), cause=cause)


def test_findings_of_one_cause_are_one_that_says_where_else():
    found = Findings([finding(9, "b", "x"), finding(3, "a"), *(finding(n, "c", "x") for n in range(10, 15))])
    found.append(finding(9, "b", "x"))
    assert [(d.message, d.notes) for d in found.told()] == [
        ("a", ()),
        ("b", ("the same at 5 more places: f:10:1, f:11:1, f:12:1, and 2 more",)),
    ]
    assert found.places == {f"f:{n}:1" for n in (3, 9, *range(10, 15))}


def test_beyond_a_hundred_of_a_file_findings_are_counted():
    found = Findings(finding(n) for n in range(250))
    found.append(Diagnostic("C10E102", "of another file", Span("g", 1, 1, 2)))
    told = Findings(found).told()
    assert (len(told), found.total) == (101, 251)
    assert [d.notes for d in told if d.notes] == [("150 more findings in `f`",)]
    assert told[99].span.line == 99


def test_warnings_take_no_errors_place():
    found = Findings(Diagnostic("C10W351", "m", Span("f", n, 1, 2)) for n in range(250))
    found.append(finding(300))
    assert [d.span.line for d in found.told() if d.severity == "error"] == [300]
    assert (len(found), found.total, found.places) == (101, 251, {"f:300:1"})
