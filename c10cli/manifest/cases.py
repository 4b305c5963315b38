"""The tolerances and cases of an operator as values."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

from c10cli.document.fields import Fields
from c10cli.document.findings import Findings
from c10cli.document.nodes import REFUSED, Node
from c10cli.document.scalars import kind_name
from c10cli.entry_points.entry_point import EntryPoint
from c10cli.errors import Diagnostic
from c10cli.manifest.declarations import CaseDecl, PlainValue, Tolerance
from c10cli.schema.dtypes import DTYPES, RESERVED_NAMES, is_exact
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.types import OptionalType

CASE_FIELDS = ("name", "sweep", "points", "dtypes", "inputs", "dims", "keys", "variants", "bench")
# What makes an input: a function of a file.
_MAKER = re.compile(r"[\w./-]+\.py:[A-Za-z_][\w.]*")
# Reads the entry point at a key of a container; None where it has a fault.
ReadEntryPoint = Callable[[Any, Any, str], EntryPoint | None]
TOLERANCE_FIELDS = ("rtol", "atol")
MAX_COMBINATIONS = 10_000
_PLAIN_TYPES = (bool, int, float, str, type(None))


def read_tolerance(fields: Fields, entry: dict[str, Any], owner: str) -> dict[str, Tolerance]:
    """The tolerances of an operator by dtype."""
    table = fields.mapping(entry, "tolerance", f"`tolerance` of {owner}") or {}
    found = {}
    for dtype in table:
        if dtype not in DTYPES:
            fields.unknown("C10E106", f"dtype `{dtype}` in the tolerance of {owner}", dtype, DTYPES, table)
        elif is_exact(dtype):
            message = f"tolerance of {owner} has `{dtype}`, and integers and booleans are compared exactly"
            fields.report("C10E106", message, fields.document.span(table, dtype, "key"), help="leave it out")
        what = f"`{dtype}` tolerance of {owner}"
        given = fields.mapping(table, dtype, what)
        if given is None:
            continue
        fields.check_names(given, f"the {what}", TOLERANCE_FIELDS, required=TOLERANCE_FIELDS)
        bounds = [_bound(fields, given, name, f"`{name}` of the {what}") for name in TOLERANCE_FIELDS]
        if None not in bounds:
            found[dtype] = Tolerance(*bounds)
    return found


def _bound(fields: Fields, given: dict[str, Any], name: str, what: str) -> Any:
    value = fields.read(given, name, what, "a number", int, float)
    if value is None or 0 <= value <= sys.float_info.max:
        return value if value is None else float(value)
    fields.report("C10E106", f"{what} must be a finite number from 0 on", fields.document.span(given, name))
    return None


def read_cases(
    fields: Fields,
    entry: dict[str, Any],
    owner: str,
    schema: FunctionSchema | None,
    entry_point: ReadEntryPoint,
) -> tuple[CaseDecl, ...]:
    """The cases of an operator.

    Args:
        schema: what their inputs are compared with; None: it has a fault, or is
            in another file, and then `check_inputs` does that once it is known.
    """
    entries = fields.items(entry, "cases", f"`cases` of {owner}") or ()
    found: dict[str, CaseDecl] = {}
    for index in range(len(entries)):
        case = _read_case(fields, entries, index, owner, schema, entry_point)
        if case is not None and found.setdefault(case.name, case) is not case:
            fields.findings.append(case_given_twice(case, found[case.name], owner))
    return tuple(found.values())


def case_given_twice(case: CaseDecl, first: CaseDecl, owner: str) -> Diagnostic:
    """The finding for *case*, which is called as *first* is."""
    message = f"case `{case.name}` of {owner} is given twice"
    note = f"the first is at {first.span}"
    return Diagnostic("C10E103", message, case.span, notes=(note,), help="give one of them another name")


def _read_case(
    fields: Fields,
    entries: Any,
    index: int,
    owner: str,
    schema: FunctionSchema | None,
    entry_point: ReadEntryPoint,
) -> CaseDecl | None:
    what = f"case {index + 1} of {owner}"
    entry = fields.mapping(entries, index, what)
    if entry is None:
        return None
    required = ("name",) if "dims" in entry else ("name", "inputs")
    fields.check_names(entry, what, CASE_FIELDS, required)
    name = fields.name(entry, "name", f"`name` of {what}")
    what = f"case `{name[:200]}` of {owner}" if name else what
    sweep, dtypes = _sweep(fields, entry, what), _dtypes(fields, entry, what)
    points = _points(fields, entry, what, sweep) if "points" in entry else ()
    inputs = _inputs(fields, entry, what, schema, entry_point) if "inputs" in entry else {}
    dims = _dims(fields, entry, what) if "dims" in entry else None
    if schema is not None:
        fields.findings += check_inputs(Node(fields.document, entry), what, schema)
    bench = fields.flag(entry, "bench", f"`bench` of {what}", default=True)
    keys, variants = (
        (fields.texts(entry, name, f"`{name}` of {what}") or ()) if name in entry else ()
        for name in ("keys", "variants")
    )
    node = Node(fields.document, entry)
    if not name:
        return None
    return CaseDecl(name, sweep, dtypes, inputs, bench, node, dims, points, keys, variants)


def _dims(fields: Fields, entry: dict[str, Any], what: str) -> dict[str, object]:
    """The sizes of dims: numbers, lists of numbers, and expressions over the sweep."""
    table = fields.mapping(entry, "dims", f"`dims` of {what}") or {}
    found = {}
    for name, value in table.items():
        sizes = value if type(value) is list else [value]
        if all(type(size) is str or (type(size) is int and size >= 0) for size in sizes):
            found[name] = _spell(value) if _holds_text(sizes) else value
        elif value is not REFUSED:
            message = f"dim `{name}` of {what} must be a size, a list of sizes or an expression"
            told = "" if type(value) in (int, list) else f", not {kind_name(value)}"
            fields.report("C10E106", message + told, fields.document.span(table, name))
    return found


def _points(
    fields: Fields, entry: dict[str, Any], what: str, sweep: Mapping[str, Collection[PlainValue]]
) -> tuple[dict[str, PlainValue], ...]:
    """The points of a case: mappings of the same names, none of which is swept."""
    points = fields.items(entry, "points", f"`points` of {what}")
    found: list[dict[str, PlainValue]] = []
    if points == []:
        fields.report(
            "C10E106", f"`points` of {what} is an empty list", fields.document.span(entry, "points")
        )
    first: dict[str, int] = {}
    for index in range(len(points or ())):
        which = f"point {index + 1} of {what}"
        point = fields.mapping(points, index, which)
        if point is None:
            continue
        names = list(found[0]) if found else [name for name in point if name not in sweep]
        fields.check_names(point, which, names, required=names)
        for name in point:
            if not found:
                _check_name(fields, point, name, f"`{name}` in {which}")
            _read_plain(fields, point, name, f"`{name}` in {which}")
        found.append({name: point.get(name) for name in names})
        if first.setdefault(str([*map(str, found[-1].values())]), index) != index:
            fields.report("C10E103", f"{which} is given twice", fields.document.span(points, index))
    _check_count(fields, entry, "points", len(found) * math.prod(map(len, sweep.values())), what)
    return tuple(found)


def _read_plain(fields: Fields, container: Any, key: Any, what: str) -> None:
    """Report a value that no name can have."""
    if type(container[key]) is str:
        fields.line(container, key, what)
    else:
        fields.read(container, key, what, "a number, a string, a boolean or null", *_PLAIN_TYPES)


def _check_name(fields: Fields, table: dict[str, Any], name: str, what: str) -> None:
    """Report a name that expressions cannot use as they like."""
    if not name.isidentifier() or name in RESERVED_NAMES:
        reason = "means something in expressions" if name in RESERVED_NAMES else "is no name"
        fields.report("C10E106", f"{what} {reason}", fields.document.span(table, name, "key"))


def _check_count(fields: Fields, entry: dict[str, Any], field: str, combinations: int, what: str) -> None:
    if combinations > MAX_COMBINATIONS:
        message = f"{field} of {what} has {combinations:,} combinations, more than {MAX_COMBINATIONS:,}"
        fields.report("C10E106", message, fields.document.span(entry, field), help="sweep fewer values")


def _sweep(fields: Fields, entry: dict[str, Any], what: str) -> dict[str, tuple[PlainValue, ...]]:
    table = fields.mapping(entry, "sweep", f"`sweep` of {what}") or {}
    found = {}
    for name in table:
        _check_name(fields, table, name, f"`{name}` in the sweep of {what}")
        values = fields.items(table, name, f"`{name}` in the sweep of {what}")
        if values is not None:
            found[name] = _sweep_values(fields, table, name, f"`{name}` in the sweep of {what}")
    _check_count(fields, entry, "sweep", math.prod(map(len, found.values())), what)
    return found


def _sweep_values(fields: Fields, table: dict[str, Any], name: str, what: str) -> tuple[PlainValue, ...]:
    values = table[name]
    if not values:
        fields.report("C10E106", f"list of {what} is empty", fields.document.span(table, name))
    for index in range(len(values)):
        _read_plain(fields, values, index, f"value {index + 1} of {what}")
    _check_repeats(fields, values, "value", what)
    return tuple(value for value in values if type(value) in _PLAIN_TYPES)


def _check_repeats(fields: Fields, values: list[Any], kind: str, what: str) -> None:
    """Report what is twice in *values* as the ids of cases show it: ``1`` and ``"1"`` are one."""
    first: dict[str, int] = {}
    for index, value in enumerate(values):
        if type(value) not in _PLAIN_TYPES or not str(value).isprintable():
            continue
        before = first.setdefault(str(value), index)
        if before != index:
            note = f"the first is at {fields.document.span(values, before)}"
            message = f"{kind} `{value}` of {what} is given twice"
            span = fields.document.span(values, index)
            fields.report("C10E103", message, span, label="second one", notes=(note,), help="remove one")


def _dtypes(fields: Fields, entry: dict[str, Any], what: str) -> tuple[str, ...]:
    if "dtypes" not in entry:
        return ("float32",)
    dtypes = fields.texts(entry, "dtypes", f"`dtypes` of {what}")
    if dtypes is None:
        return ()
    values = entry["dtypes"]
    if not values:
        message = f"`dtypes` of {what} is an empty list"
        fields.report("C10E106", message, fields.document.span(entry, "dtypes"))
    _check_repeats(fields, values, "dtype", what)
    for index, dtype in enumerate(values):
        if type(dtype) is str and dtype.strip() and dtype not in DTYPES:
            note = f"known here: {', '.join(f'`{known}`' for known in DTYPES)}"
            message, place = f"dtype `{dtype}` of {what} is unknown", fields.document.span(values, index)
            fields.report("C10E106", message, place, notes=(note,), help=fields.did_you_mean(dtype, DTYPES))
    return dtypes


def _inputs(
    fields: Fields,
    entry: dict[str, Any],
    what: str,
    schema: FunctionSchema | None,
    entry_point: ReadEntryPoint,
) -> dict[str, object]:
    table = fields.mapping(entry, "inputs", f"`inputs` of {what}") or {}
    texts = {a.name for a in schema.arguments if is_word(a, "x")} if schema else ()
    found: dict[str, object] = {}
    for name, value in table.items():
        if type(value) is str and _MAKER.fullmatch(value) and name not in texts:
            maker = entry_point(table, name, f"input `{name}` of {what}")
            found |= {name: maker} if maker else {}
        elif _is_input(value):
            # A list that holds expressions is one.
            found[name] = _spell(value) if type(value) is list and _holds_text(value) else value
        elif value is not REFUSED:
            expected = "an expression, a number, a list, a boolean or null"
            message = f"input `{name}` of {what} must be {expected}, not {kind_name(value)}"
            fields.report("C10E106", message, fields.document.span(table, name))
    return found


def check_inputs(case: Node, what: str, schema: FunctionSchema) -> list[Diagnostic]:
    """The unknown and the missing inputs of a case; a misspelt one is not missing as well."""
    fields, table = Fields(case.document), case.value.get("inputs")
    fields.findings = Findings()
    if type(table) is not dict:  # which is found already
        return []
    known = [argument.name for argument in schema.arguments]
    given = set(table)
    for name in [name for name in table if name not in known]:
        fields.unknown("C10E104", f"argument `{name}` in the inputs of {what}", name, known, table)
        given.update(fields.nearest(name, known))
    for argument in schema.arguments if "dims" not in case.value else ():  # else the domain gives them
        if not argument.has_default and argument.name not in given:
            message = f"argument `{argument.name}` is missing in the inputs of {what}"
            fields.report("C10E105", message, case.span("inputs", "key"))
    return fields.findings


def is_word(argument: Argument, text: str, names: Collection[str] = ()) -> bool:
    """Whether *text* is the value itself: strings, dtypes and devices need no quotes, here and in a shell.

    Args:
        names: of a sweep, which stand for its values.
    """
    declared = argument.type
    if isinstance(declared, OptionalType):
        if text.lower() == "none":
            return False
        declared = declared.element
    is_expression = text.strip() in names or is_quoted(text)
    return str(declared) in ("str", "ScalarType", "Device", "Layout", "MemoryFormat") and not is_expression


def is_quoted(text: str) -> bool:
    """Whether *text* stands in quotes of its own."""
    return len(text) > 1 and text[0] == text[-1] and text[0] in "'\""


def _is_input(value: object) -> bool:
    return all(map(_is_input, value)) if isinstance(value, list) else type(value) in _PLAIN_TYPES


def _holds_text(value: object) -> bool:
    return any(map(_holds_text, value)) if isinstance(value, list) else isinstance(value, str)


def _spell(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_spell, value))}]"
    return value if isinstance(value, str) else repr(value)
