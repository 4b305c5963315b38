import copy
import json
import pickle
import re
from pathlib import Path

import pytest

import c10cli
from c10cli import errors
from c10cli.arrays.keys import DispatchKey
from c10cli.errors import (
    CODES,
    C10Error,
    Diagnostic,
    InternalError,
    ReportError,
    Span,
    did_you_mean,
    near_names,
)

PACKAGE = Path(c10cli.__file__).parent

# A code is never given to another condition.
RETIRED = {"C10E407", "C10E605"}

SPAN = Span("registry.yaml", 3, 5, 9, "    text")
FULL = Diagnostic("C10E204", "unknown type `Tensr`", SPAN, "a place", "not a type", ("n1", "n2"), "do this")
BARE = Diagnostic("C10E504", "no manifest")
FAMILIES = [
    family
    for family in vars(errors).values()
    if isinstance(family, type) and issubclass(family, C10Error) and family is not C10Error
]


def used_codes():
    """Every code in the sources but for the table itself, with the files that use it."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name == "errors.py" and path.parent == PACKAGE:
            text = text[text.index("class Span") :]
        for code in re.findall(r'"(C10[EW]\d{3,})"', text):
            found.setdefault(code, []).append(str(path.relative_to(PACKAGE)))
    return found


def test_every_code_that_is_used_is_in_the_table():
    assert {code: files for code, files in used_codes().items() if code not in CODES} == {}


def test_every_code_of_the_table_is_used_and_none_is_retired():
    assert set(CODES) - set(used_codes()) == set()
    assert RETIRED.isdisjoint(CODES)


def test_codes_are_in_order_and_their_titles_are_facts():
    errors_first = sorted(CODES, key=lambda code: (code[3] == "W", code))
    assert list(CODES) == errors_first
    assert all(re.fullmatch(r"C10(E[1-79]|W[36])\d\d", code) for code in CODES)
    assert all(title and not title.endswith(".") for title in CODES.values())


def test_a_code_that_is_not_in_the_table_is_a_bug():
    with pytest.raises(InternalError, match="C10E999"):
        Diagnostic("C10E999", "nothing")


def test_a_warning_is_told_by_its_code():
    assert Diagnostic("C10W651", "noise").severity == "warning"
    assert BARE.severity == "error"


def test_the_concise_form_is_place_severity_code_and_fact():
    assert FULL.concise() == "registry.yaml:3:5: error[C10E204] unknown type `Tensr`"
    assert BARE.concise() == "error[C10E504] no manifest"


@pytest.mark.parametrize("diagnostic", [FULL, BARE, Diagnostic("C10E204", "x", Span("f", 1, 1, 2))])
def test_a_diagnostic_survives_json(diagnostic):
    assert Diagnostic.from_dict(json.loads(json.dumps(diagnostic.as_dict()))) == diagnostic


def test_what_a_diagnostic_does_not_have_is_null_in_its_data():
    data = BARE.as_dict()
    assert {name for name, value in data.items() if value is None} == {
        "file",
        "line",
        "column",
        "end_column",
        "line_text",
        "label",
        "place",
        "help",
    }
    assert (data["code"], data["severity"], data["notes"]) == ("C10E504", "error", [])


def test_notes_are_added_after_its_own_and_to_a_copy():
    assert FULL.with_notes("n3").notes == ("n1", "n2", "n3")
    assert FULL.notes == ("n1", "n2")


def test_an_error_shows_all_findings_and_gives_the_first_ones_code():
    error = C10Error(FULL, BARE)
    assert str(error).startswith(f"{FULL.concise()}\n{BARE.concise()}")
    assert (error.code, error.diagnostics) == ("C10E204", (FULL, BARE))
    assert error.__notes__ == ["--> a place", "note: n1", "note: n2", "help: do this"]
    assert not hasattr(C10Error(BARE), "__notes__")


@pytest.mark.parametrize(("prints_notes", "lines"), [(False, 6), (True, 2)])
def test_where_python_prints_no_notes_they_stand_in_the_message(monkeypatch, prints_notes, lines):
    monkeypatch.setattr(errors, "_PRINTS_NOTES", prints_notes)
    shown = str(C10Error(FULL, BARE)).splitlines()
    expected = [FULL.concise(), BARE.concise(), "--> a place", "note: n1", "note: n2", "help: do this"]
    assert shown == expected[:lines]


def test_facts_are_attributes():
    error = C10Error(BARE, operator="c10::add", kernel=None)
    assert (error.operator, error.kernel) == ("c10::add", None)
    with pytest.raises(AttributeError, match="'C10Error' object has no attribute 'argument'"):
        _ = error.argument


@pytest.mark.parametrize("family", FAMILIES)
def test_an_error_of_every_family_survives_pickling_and_copying(family):
    error = family(FULL, BARE, dispatch_key=DispatchKey.CPU, path=Path("x"))
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is family
        assert twin.diagnostics == (FULL, BARE)
        assert twin.dispatch_key is DispatchKey.CPU
        assert str(twin) == str(error)
        assert twin.__notes__ == error.__notes__


@pytest.mark.parametrize(
    ("family", "built_in"),
    [
        ("ManifestError", ValueError),
        ("SchemaError", ValueError),
        ("RegistrationError", RuntimeError),
        ("StaleHandleError", ReferenceError),
        ("UnknownOperatorError", LookupError),
        ("NoKernelError", NotImplementedError),
        ("AmbiguousOverloadError", TypeError),
        ("ArgumentError", TypeError),
        ("KernelError", RuntimeError),
        ("BenchError", RuntimeError),
        ("ReportError", OSError),
    ],
)
def test_every_family_is_also_the_built_in_type_that_a_caller_expects(family, built_in):
    assert issubclass(getattr(c10cli, family), built_in)


def test_a_report_error_is_no_number_and_text_although_it_is_an_os_error():
    error = ReportError(BARE, FULL)
    assert error.errno is None
    assert str(error).startswith("error[C10E504]")


def test_a_bug_is_caught_by_no_family():
    assert not issubclass(InternalError, C10Error)


def test_near_names_are_few_and_near_and_best_first():
    known = ["softmax", "softmax_", "softmin", "soft", "matmul", "SoftMax2"]
    assert near_names("sofmax", known)[0] == "softmax"
    assert len(near_names("sofmax", known)) == 3
    assert near_names("conv2d", known) == []
    assert near_names("MATMUL", known) == ["matmul"]
    assert near_names("x", []) == []


def test_the_help_line_offers_near_names_or_is_empty():
    assert did_you_mean("matmull", ["matmul", "add"]) == "did you mean `matmul`?"
    assert did_you_mean("adds", ["add", "addr"]) in (
        "did you mean `addr` or `add`?",
        "did you mean `add` or `addr`?",
    )
    assert did_you_mean("zzz", ["add"]) == ""


def test_of_a_long_line_only_what_stands_around_the_place_is_in_the_data():
    line = "x" * 10_000 + "here" + "y" * 10_000
    data = Diagnostic("C10E102", "m", Span("f", 1, 10_001, 10_005, line)).as_dict()
    first = data["column"] - data["line_column"]
    assert data["line_text"][first : first + 4] == "here"
    assert len(json.dumps(data)) < 1_000
    assert Diagnostic.from_dict(data).as_dict() == data


def test_what_a_message_quotes_is_cut():
    long = Diagnostic("C10E102", "m" * 10_000, notes=("n" * 10_000, "short"))
    assert [len(text) for text in (long.message, *long.notes)] == [2_003, 2_003, 5]
