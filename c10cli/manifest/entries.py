"""The entries under `operators:` as values: definitions of operators, and extensions of those of others."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import LIBRARIES
from c10cli.dispatch.calling import check_can_dispatch
from c10cli.document.fields import Fields
from c10cli.document.nodes import REFUSED, Node
from c10cli.document.scalars import kind_name
from c10cli.entry_points.entry_point import EntryPoint, parse_entry_point
from c10cli.errors import Diagnostic, ManifestError, SchemaError, near_names
from c10cli.manifest.cases import read_cases, read_tolerance
from c10cli.manifest.declarations import Cost, ExtensionDecl, KernelDecl, OperatorDecl
from c10cli.manifest.waivers import read_waivers
from c10cli.schema.domain import Domain
from c10cli.schema.model import Dialect, FunctionSchema, OperatorName
from c10cli.schema.parser import parse_name, parse_schema

DEFINITION_FIELDS = (
    "schema",
    "summary",
    "domain",
    "complete",
    "kernels",
    "reference",
    "compare",
    "tolerance",
    "cost",
    "cases",
    "waive",
)
EXTENSION_FIELDS = ("operator", "kernels", "cases", "override")
OPERATOR_FIELDS = (*DEFINITION_FIELDS, "operator", "override")
KERNEL_FIELDS = ("kernel", "requires", "cache", "boxed", "name", "arrays", "when")
COST_FIELDS = ("bytes", "flops")
REFERENCE_FIELDS = ("kernel", "upcast")
# Fields that manifests had, and what to write instead.
_REPLACED = {
    "result_dtype": "leave `argument` out; for `any` write `domain: {returns: any}`, of several a list"
}
DIALECTS = ("strict", "torch")
_NO_COST = Cost()

_NAME = re.compile(r"\s*([A-Za-z_][\w.]*::[A-Za-z_][\w.]*)")


class OperatorReader:
    """Reads the operators of the manifest *root*, whose kernels are relative to *folder* and in *roots*."""

    def __init__(self, fields: Fields, root: dict[str, Any], folder: Path, roots: tuple[Path, ...]) -> None:
        self.fields, self.document, self.folder, self.roots = fields, fields.document, folder, roots
        self.keys = DispatchKey.known_names()
        self.unread: set[str] = set()  # the names of operators whose schema has a fault
        # Where the dialect is none, only that is found: torch's takes nearly all schemas.
        dialect = _choice(fields, root, "dialect", "`dialect`", DIALECTS)
        self.dialect: Dialect = "strict" if dialect == "strict" or "dialect" not in root else "torch"
        self.classes = _names(fields, root, "classes", "`classes`", "custom class such as `c10d.Work`")
        self.arrays = _choice(fields, root, "arrays", "`arrays`", LIBRARIES)
        self.requires = tuple(dict.fromkeys(_names(fields, root, "requires", "`requires`", "import name")))

    def read(self, entry: dict[str, Any], index: int) -> OperatorDecl | None:
        """The operator that *entry* defines, *index* of the manifest's; None where its schema has a fault."""
        fields, owner = self.fields, _owner(entry, index)
        gone = _REPLACED.keys() & entry.keys()
        for name in gone:
            span = fields.document.span(entry, name, "key")
            fields.report("C10E104", f"field `{name}` of {owner} is gone", span, help=_REPLACED[name])
        fields.check_names(entry, owner, (*DEFINITION_FIELDS, *gone), ("schema",))
        schema = self._schema(entry, owner)
        # Only what is there is read: most of thousands of operators have few of these.
        summary = (fields.line(entry, "summary", f"`summary` of {owner}") or "") if "summary" in entry else ""
        domain = self._domain(entry, owner, schema) if "domain" in entry else None
        kernels = self._kernels(entry, owner) if "kernels" in entry else ()
        reference, upcast = self._reference(entry, owner) if "reference" in entry else (None, "")
        compare = self._entry_point(entry, "compare", f"`compare` of {owner}") if "compare" in entry else None
        tolerance = read_tolerance(fields, entry, owner) if "tolerance" in entry else {}
        cost = self._cost(entry, owner) if "cost" in entry else _NO_COST
        cases = read_cases(fields, entry, owner, schema, self._entry_point) if "cases" in entry else ()
        waivers = read_waivers(fields, entry, owner) if "waive" in entry else ()
        if schema is None:
            self.unread.add(owner.strip("`"))
            return None
        if domain is not None or "domain" not in entry:  # else it has faults
            for kernel in kernels:
                fields.findings += check_condition(kernel, owner, schema, domain)
        is_complete = fields.flag(entry, "complete", f"`complete` of {owner}", default=False)
        return OperatorDecl(
            schema,
            Node(self.document, entry),
            summary,
            kernels,
            reference,
            tolerance,
            cost,
            cases,
            waivers,
            domain=domain,
            complete=is_complete,
            upcast=upcast,
            compare=compare,
        )

    def read_extension(self, entry: dict[str, Any], index: int) -> ExtensionDecl | None:
        """The extension that *entry* is, *index* of the manifest's; None where it names no operator."""
        fields, name = self.fields, _parse(entry.get("operator"))
        owner = f"`{name}`" if name else f"operator {index + 1}"
        fields.check_names(entry, f"the extension of {owner}", EXTENSION_FIELDS)
        text = fields.text(entry, "operator", f"`operator` of {owner}")
        if text is not None and name is None:
            message = f"`operator` of {owner} must be the name of an operator, such as `c10::add.out`"
            todo = (
                "write a namespace, `::` and a base name; then, for an overload, `.` and its name; no schema"
            )
            fields.report("C10E203", message, fields.document.span(entry, "operator"), help=todo)
        kernels = self._kernels(entry, owner) if "kernels" in entry else ()
        if "override" in entry:
            reasons = self._overrides(entry, owner)
            kernels = tuple(replace(k, override=reasons.get(k.dispatch_key, "")) for k in kernels)
        cases = read_cases(fields, entry, owner, None, self._entry_point) if "cases" in entry else ()
        if "kernels" not in entry and "cases" not in entry:
            message = f"the extension of {owner} has neither `kernels` nor `cases`"
            fields.report("C10E105", message, fields.document.span(entry), help="add one of them")
        return ExtensionDecl(name, kernels, cases, Node(fields.document, entry)) if name else None

    def _overrides(self, entry: dict[str, Any], owner: str) -> dict[str, str]:
        """Why the kernels of a dispatch key come before those of other manifests, by key."""
        fields = self.fields
        table = fields.mapping(entry, "override", f"`override` of {owner}") or {}
        keys = list(entry["kernels"]) if isinstance(entry.get("kernels"), dict) else []
        reasons = {}
        for key in table:
            meant = key
            if key not in keys:
                message = f"`override` of {owner} names `{key}`, for which this entry has no kernels"
                todo = fields.did_you_mean(key, keys) or "leave it out"
                fields.report("C10E309", message, fields.document.span(table, key, "key"), help=todo)
                meant = next(iter(near_names(key, keys)), key)
            reason = fields.line(table, key, f"reason to override `{key}` kernels of {owner}")
            reasons[meant] = (reason or "refused").strip()  # not empty: that it overrides is clear
        return reasons

    def _schema(self, entry: dict[str, Any], owner: str) -> FunctionSchema | None:
        text = self.fields.text(entry, "schema", f"`schema` of {owner}")
        if text is None:
            return None
        node = Node(self.document, entry)
        try:
            schema = parse_schema(text, self.dialect, file=self.document.file, known_classes=self.classes)
        except SchemaError as error:
            for fault in error.diagnostics:
                if owner.startswith("`") and owner not in fault.message:
                    fault = replace(fault, message=f"{fault.message} in the schema of {owner}")
                if self.document.is_plain(entry, "schema"):
                    why = (
                        "the schema is not in quotes, and YAML gives `#`, `:` and `,` a meaning of their own"
                    )
                    fault = fault.with_notes(why)
                self.fields.findings.append(node.placed(fault, "schema"))
            return None
        refusal = check_schema(schema)
        if refusal is not None:
            self.fields.findings.append(replace(refusal, span=node.span("schema")))
        return schema if refusal is None else None

    def _domain(self, entry: dict[str, Any], owner: str, schema: FunctionSchema | None) -> Domain | None:
        table = self.fields.mapping(entry, "domain", f"`domain` of {owner}")
        if table is None or schema is None:
            return None
        from c10cli.schema.domain_parser import read_domain  # which many manifests need not

        domain, faults = read_domain({k: v for k, v in table.items() if v is not REFUSED}, schema)
        node = Node(self.document, table)
        for fault in faults:
            finding, (key, item) = fault.finding, fault.path
            if fault.part == "key":
                placed = replace(finding, span=node.span(key, "key"))
            else:
                placed = node.placed(finding, key) if item is None else node.child(key).placed(finding, item)
            self.fields.findings.append(
                replace(placed, message=f"{placed.message}, in the domain of {owner}")
            )
        return domain

    def _kernels(self, entry: dict[str, Any], owner: str) -> tuple[KernelDecl, ...]:
        """The kernels of an entry, by dispatch key and then best first."""
        kernels = self.fields.mapping(entry, "kernels", f"`kernels` of {owner}") or {}
        node = Node(self.document, kernels)
        found: list[KernelDecl] = []
        for key, value in kernels.items():
            if key not in self.keys:
                what = f"dispatch key `{key}` of {owner}"
                help = "give each key a kernel of its own" if "," in key else ""
                self.fields.unknown("C10E108", what, key, self.keys, kernels, help=help)
            if value == []:
                self.fields.report("C10E106", f"list of `{key}` kernels of {owner} is empty", node.span(key))
            places = [(value, at) for at in range(len(value))] if type(value) is list else [(kernels, key)]
            names: dict[str, KernelDecl] = {}
            for container, at in places:
                variant = self._variant(container, at, key, node, owner)
                if variant is not None:
                    found.append(variant)
                    if names.setdefault(variant.name, variant) is not variant:
                        self.fields.findings.append(same_name(variant, names[variant.name], owner))
        return tuple(found)

    def _variant(self, container: Any, at: Any, key: str, kernels: Node, owner: str) -> KernelDecl | None:
        """The kernel written at *at* of *container*: an entry point or a mapping with one."""
        fields, value, what = self.fields, container[at], f"`{key}` kernel of {owner}"
        if type(value) is str:
            entry_point = self._entry_point(container, at, what)
            if entry_point is None:
                return None
            name, requires = entry_point.name, self.requires
            return KernelDecl(key, entry_point, name, requires, None, False, kernels, self.arrays)
        if type(value) is not dict:
            if value is not REFUSED:
                message = f"{what} must be an entry point or a mapping with one, not {kind_name(value)}"
                fields.report("C10E106", message, fields.place(container, at))
            return None
        fields.check_names(value, f"the {what}", KERNEL_FIELDS, required=("kernel",))
        entry_point = self._entry_point(value, "kernel", f"`kernel` of the {what}")
        packages = _names(fields, value, "requires", f"`requires` of the {what}", "import name")
        arrays = _choice(fields, value, "arrays", f"`arrays` of the {what}", LIBRARIES) or self.arrays
        cache = self._entry_point(value, "cache", f"`cache` of the {what}")
        boxed = fields.flag(value, "boxed", f"`boxed` of the {what}", default=False)
        given = fields.name(value, "name", f"`name` of the {what}")
        when = fields.text(value, "when", f"`when` of the {what}") or ""
        # Without these it is open how the function is called.
        if (
            entry_point is None
            or ("cache" in value and cache is None)
            or value.get("boxed", False) is not boxed
        ):
            return None
        name, requires = given or entry_point.name, tuple(dict.fromkeys((*self.requires, *packages)))
        own = Node(self.document, value)
        return KernelDecl(
            key, entry_point, name, requires, cache, boxed, kernels, arrays, when=when, entry=own
        )

    def _entry_point(self, container: Any, key: Any, what: str) -> EntryPoint | None:
        text = self.fields.text(container, key, what)
        if text is None:
            return None
        try:
            return parse_entry_point(text, self.folder, self.document.span(container, key), self.roots)
        except ManifestError as error:
            self.fields.findings += error.diagnostics
            return None

    def _reference(self, entry: dict[str, Any], owner: str) -> tuple[EntryPoint | None, str]:
        """The reference of an operator, and the dtype that it computes in where it is given one."""
        fields, what = self.fields, f"`reference` of {owner}"
        if type(entry["reference"]) is not dict:
            return self._entry_point(entry, "reference", what), ""
        table = entry["reference"]
        fields.check_names(table, f"the {what}", REFERENCE_FIELDS, required=("kernel",))
        upcast = _choice(fields, table, "upcast", f"`upcast` of the {what}", ("float32", "float64"))
        return self._entry_point(table, "kernel", f"`kernel` of the {what}"), upcast

    def _cost(self, entry: dict[str, Any], owner: str) -> Cost:
        cost = self.fields.mapping(entry, "cost", f"`cost` of {owner}") or {}
        self.fields.check_names(cost, f"the cost of {owner}", COST_FIELDS)
        found = {}
        for name in COST_FIELDS:
            what = f"`{name}` in the cost of {owner}"
            value = self.fields.read(cost, name, what, "an expression", str, int, float)
            found[name] = None if value is None else str(value)
        return Cost(**found)


def check_condition(
    kernel: KernelDecl, owner: str, schema: FunctionSchema, domain: Domain | None
) -> list[Diagnostic]:
    """What is not understood of the condition of *kernel*."""
    if not kernel.when or kernel.entry is None:
        return []
    from c10cli.schema.domain_parser import parse_condition  # which many manifests need not

    try:
        parse_condition(kernel.when, schema, domain)
    except SchemaError as error:
        what = f"`when` of `{kernel.name}` of {owner}"
        placed = [kernel.entry.placed(finding, "when") for finding in error.diagnostics]
        return [replace(finding, message=f"{finding.message}, in {what}") for finding in placed]
    return []


def same_name(variant: KernelDecl, first: KernelDecl, owner: str) -> Diagnostic:
    """The finding for *variant*, which is called as *first* is."""
    return Diagnostic(
        "C10E302",
        f"two `{variant.dispatch_key}` kernels of {owner} are called `{variant.name}`",
        variant.span,
        notes=(f"the first is at {first.span}",),
        help="give one of them a `name:` of its own",
    )


def is_extension(entry: dict[str, Any]) -> bool:
    """Whether an entry without `schema` is meant to extend an operator; `operator` may be misspelt."""
    if "schema" in entry or "operator" in entry:
        return "schema" not in entry
    return any(near_names(name, OPERATOR_FIELDS)[:1] == ["operator"] for name in entry)


def _parse(text: object) -> OperatorName | None:
    with contextlib.suppress(SchemaError):
        return parse_name(text) if isinstance(text, str) else None
    return None


def name_of(entry: dict[str, Any]) -> OperatorName | None:
    """The name of the operator that *entry* defines or extends, its schema read or not; None for none."""
    match = _name_in(entry.get("schema"))
    return _parse(match[1] if match else entry.get("operator"))


def _name_in(schema: object) -> re.Match[str] | None:
    return _NAME.match(schema) if type(schema) is str else None


def _owner(entry: dict[str, Any], index: int) -> str:
    """What to call an operator in messages, its schema read or not."""
    match = _name_in(entry.get("schema"))
    return f"`{match[1][:200]}`" if match else f"operator {index + 1}"


def _choice(fields: Fields, container: dict[str, Any], key: str, what: str, known: Collection[str]) -> str:
    """The one of *known* at *key*; empty where there is none."""
    text = fields.text(container, key, what) if key in container else None
    if text is None or text in known:
        return text or ""
    listed = ", ".join(f"`{name}`" for name in known)
    place = fields.document.span(container, key)
    fields.report(
        "C10E106",
        f"{what} must be one of {listed}, not `{text}`",
        place,
        help=fields.did_you_mean(text, known),
    )
    return ""


def _names(fields: Fields, container: dict[str, Any], key: str, what: str, kind: str) -> tuple[str, ...]:
    """The names at *key*, words with dots between them, each of a *kind*."""
    names = fields.texts(container, key, what) or ()
    for index, name in enumerate(names):
        if not all(part.isidentifier() for part in name.split(".")):
            message = f"`{name}` in {what} is no {kind}"
            fields.report("C10E106", message, fields.document.span(container[key], index))
    return names


def check_schema(schema: FunctionSchema) -> Diagnostic | None:
    """Why no operator can have *schema*; the torch dialect reads more than can be called."""
    fault, name = check_can_dispatch(schema), schema.name
    if fault is not None:
        return fault
    if not name.namespace:
        return Diagnostic(
            "C10E203", f"the operator name `{name}` has no namespace", help=f"write `aten::{name}`"
        )
    if len({argument.name for argument in schema.arguments}) < len(schema.arguments):
        return Diagnostic("C10E206", f"an argument name of `{name}` is used twice", help="rename one")
    return None
