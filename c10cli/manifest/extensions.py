"""The entries under `operators:` that extend an operator of another manifest."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

from c10cli.document.fields import Fields
from c10cli.document.nodes import Node
from c10cli.errors import SchemaError, did_you_mean, near_names
from c10cli.manifest.cases import read_cases
from c10cli.manifest.model import ExtensionDecl
from c10cli.manifest.operators import DEFINITION_FIELDS, EXTENSION_FIELDS, OPERATOR_FIELDS, OperatorReader
from c10cli.schema.model import OperatorName
from c10cli.schema.parser import parse_name

_OF_DEFINITIONS = tuple(
    (name, f"`{name}` belongs to the entry that defines the operator, beside its `schema`")
    for name in DEFINITION_FIELDS
    if name not in (*EXTENSION_FIELDS, "schema")  # with which it were a definition
)


def is_extension(entry: dict[str, Any]) -> bool:
    """Whether an entry without `schema` is meant to extend an operator; `operator` may be misspelt."""
    if "schema" in entry:
        return False
    unknown = [name for name in entry if name not in OPERATOR_FIELDS]
    return "operator" in entry or any("operator" in near_names(name, OPERATOR_FIELDS)[:1] for name in unknown)


def read_extension(reader: OperatorReader, entry: dict[str, Any], index: int) -> ExtensionDecl | None:
    """The extension that *entry* is, *index* of the manifest's operators; None where it names no operator."""
    fields = reader.fields
    name = _parse(entry.get("operator"))
    owner = f"`{name}`" if name else f"operator {index + 1}"
    fields.check_names(entry, f"the extension of {owner}", EXTENSION_FIELDS, (), _OF_DEFINITIONS)
    text = fields.text(entry, "operator", f"`operator` of {owner}")
    name = _parse(text)
    if text is not None and name is None:
        _refuse_name(fields, entry, owner)
    kernels = reader.read_kernels(entry, owner) if "kernels" in entry else ()
    overrides = _read_overrides(fields, entry, owner) if "override" in entry else {}
    cases = read_cases(fields, entry, owner, None) if "cases" in entry else ()
    if "kernels" not in entry and "cases" not in entry:
        message = f"the extension of {owner} has neither `kernels` nor `cases`"
        fields.report("C10E105", message, fields.document.span(entry), help="add one of them")
    if name is None:
        return None
    kernels = tuple(replace(k, override=overrides.get(k.dispatch_key, "")) for k in kernels)
    return ExtensionDecl(name, kernels, cases, Node(fields.document, entry))


def _parse(text: object) -> OperatorName | None:
    with contextlib.suppress(SchemaError):
        return parse_name(text) if isinstance(text, str) else None
    return None


def _refuse_name(fields: Fields, entry: dict[str, Any], owner: str) -> None:
    has_more = "(" in entry["operator"]
    parts = "write a namespace, `::` and a base name; then, for an overload, `.` and its name"
    todo = "write the name alone: the schema stands where the operator is defined" if has_more else parts
    message = f"`operator` of {owner} must be the name of an operator, such as `c10::add.out`"
    fields.report("C10E203", message, fields.document.span(entry, "operator"), help=todo)


def _read_overrides(fields: Fields, entry: dict[str, Any], owner: str) -> dict[str, str]:
    """Why the kernels of a dispatch key come before those of other manifests, by key."""
    table = fields.mapping(entry, "override", f"`override` of {owner}")
    if table is None:
        return {}
    written = entry.get("kernels")
    keys = list(written) if isinstance(written, dict) else []
    reasons = {}
    for key in table:
        meant = key
        if key not in keys:
            message = f"`override` of {owner} names `{key}`, for which this entry has no kernels"
            todo = did_you_mean(key, keys) or "leave it out"
            fields.report("C10E309", message, fields.document.span(table, key, "key"), help=todo)
            meant = next(iter(near_names(key, keys)), key)
        reason = fields.line(table, key, f"reason to override `{key}` kernels of {owner}")
        reasons[meant] = (reason or "refused").strip()  # not empty: that it overrides is clear
    return reasons
