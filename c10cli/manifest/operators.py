"""The entries under `operators:` as values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from c10cli.arrays.dtypes import LIBRARIES
from c10cli.arrays.keys import DispatchKey
from c10cli.dispatch.calling import check_can_dispatch
from c10cli.document.fields import Fields
from c10cli.document.nodes import REFUSED, Document, Node
from c10cli.document.scalars import kind_name
from c10cli.entry_points.parse import EntryPoint, parse_entry_point
from c10cli.errors import Diagnostic, ManifestError, SchemaError, did_you_mean
from c10cli.manifest.cases import read_cases, read_tolerance
from c10cli.manifest.model import Cost, Defaults, KernelDecl, OperatorDecl
from c10cli.manifest.waivers import read_waivers
from c10cli.schema.model import Dialect, FunctionSchema
from c10cli.schema.parser import parse_schema

__all__ = ["OperatorReader", "check_schema", "read_defaults", "same_name"]

DEFINITION_FIELDS = (
    "schema",
    "summary",
    "kernels",
    "reference",
    "tolerance",
    "result_dtype",
    "cost",
    "cases",
    "waive",
)
EXTENSION_FIELDS = ("operator", "kernels", "cases", "override")
OPERATOR_FIELDS = (*DEFINITION_FIELDS, "operator", "override")
_OF_EXTENSIONS = (
    ("operator", "an entry has `schema`, which defines an operator, or `operator`, which extends one"),
    ("override", "`override` belongs to an entry with `operator`, which extends an operator"),
)
RESULT_DTYPES = ("argument", "any")
KERNEL_FIELDS = ("kernel", "requires", "cache", "boxed", "name", "arrays")
COST_FIELDS = ("bytes", "flops")

DIALECTS: tuple[Dialect, ...] = ("strict", "torch")

_NAME = re.compile(r"\s*([A-Za-z_][\w.]*::[A-Za-z_][\w.]*)")


_NO_DEFAULTS = Defaults()
_NO_COST = Cost()


def read_defaults(fields: Fields, root: dict[str, Any]) -> Defaults:
    """What the manifest *root* says for all of its operators."""
    dialect = _choice(fields, root, "dialect", "`dialect`", DIALECTS)
    arrays = _choice(fields, root, "arrays", "`arrays`", LIBRARIES)
    # Where the dialect is none, only that is found: torch's takes nearly all schemas.
    is_strict = dialect == "strict" or "dialect" not in root
    return Defaults("strict" if is_strict else "torch", arrays, _packages(fields, root, "`requires`"))


class OperatorReader:
    """Reads the operators of one document whose kernels are relative to *folder*."""

    __slots__ = ("_seldom", "defaults", "document", "fields", "folder", "keys", "unread")

    def __init__(self, fields: Fields, folder: Path, defaults: Defaults = _NO_DEFAULTS) -> None:
        self.fields = fields
        self.defaults = defaults
        self.document: Document = fields.document
        self.folder = folder
        self.keys = DispatchKey.known_names()
        self.unread: set[str] = set()  # the names of operators whose schema has a fault
        self._seldom: tuple[tuple[str, Callable[[dict[str, Any], str], Any]], ...] = (
            ("reference", self._reference),
            ("tolerance", partial(read_tolerance, fields)),
            ("result_dtype", self._result_dtype),
            ("cost", self._cost),
            ("waive", partial(read_waivers, fields)),
        )

    def read(self, entry: dict[str, Any], index: int) -> OperatorDecl | None:
        """The operator that *entry* defines, *index* of the manifest's; None where its schema has a fault."""
        owner = _owner(entry, index)
        self.fields.check_names(entry, owner, DEFINITION_FIELDS, ("schema",), _OF_EXTENSIONS)
        schema = self._schema(entry, owner)
        summary = self.fields.line(entry, "summary", f"`summary` of {owner}") if "summary" in entry else ""
        kernels = self.read_kernels(entry, owner) if "kernels" in entry else ()
        # Many fields are seldom there, and a manifest may have thousands of operators.
        found = {name: read(entry, owner) for name, read in self._seldom if name in entry}
        cases = read_cases(self.fields, entry, owner, schema) if "cases" in entry else ()
        if schema is None:
            self.unread.add(owner.strip("`"))
            return None
        return OperatorDecl(
            schema=schema,
            summary=summary or "",
            kernels=kernels,
            reference=found.get("reference"),
            tolerance=found.get("tolerance", {}),
            cost=found.get("cost", _NO_COST),
            cases=cases,
            node=Node(self.document, entry),
            waivers=found.get("waive", ()),
            result_dtype=found.get("result_dtype") or RESULT_DTYPES[0],
        )

    def _reference(self, entry: dict[str, Any], owner: str) -> EntryPoint | None:
        return self._entry_point(entry, "reference", f"`reference` of {owner}")

    def _result_dtype(self, entry: dict[str, Any], owner: str) -> str:
        return _choice(self.fields, entry, "result_dtype", f"`result_dtype` of {owner}", RESULT_DTYPES)

    def _schema(self, entry: dict[str, Any], owner: str) -> FunctionSchema | None:
        text = self.fields.text(entry, "schema", f"`schema` of {owner}")
        if text is None:
            return None
        try:
            schema = parse_schema(text, self.defaults.dialect, file=self.document.file)
        except SchemaError as error:
            self.fields.findings += [self._schema_finding(entry, owner, d) for d in error.diagnostics]
            return None
        fault = check_schema(schema)
        if fault is not None:
            self.fields.findings.append(replace(fault, span=self.document.span(entry, "schema")))
            return None
        return schema

    def _schema_finding(self, entry: dict[str, Any], owner: str, fault: Diagnostic) -> Diagnostic:
        """A finding in the schema's own text, moved to its place in the file."""
        message = fault.message
        if owner.startswith("`") and owner not in message:
            message = f"{message} in the schema of {owner}"
        found = replace(Node(self.document, entry).placed(fault, "schema"), message=message)
        if not self.document.is_plain(entry, "schema"):
            return found
        return found.with_notes(
            "the schema is not in quotes, and YAML gives `#`, `:` and `,` a meaning of their own"
        )

    def read_kernels(self, entry: dict[str, Any], owner: str) -> tuple[KernelDecl, ...]:
        """The kernels of an entry, by dispatch key and then best first."""
        kernels = self.fields.mapping(entry, "kernels", f"`kernels` of {owner}")
        if kernels is None:
            return ()
        node = Node(self.document, kernels)
        found: list[KernelDecl] = []
        for key in kernels:
            if key not in self.keys:
                what = f"dispatch key `{key}` of {owner}"
                help = "give each key a kernel of its own" if "," in key else ""
                self.fields.unknown("C10E108", what, key, self.keys, kernels, help=help)
            found += self._candidates(node, key, owner)
        return tuple(found)

    def _candidates(self, kernels: Node, key: str, owner: str) -> list[KernelDecl]:
        """The variants of one dispatch key, best first."""
        value = kernels.value[key]
        if type(value) is not list:
            variant = self._variant(kernels.value, key, key, 0, kernels, owner)
            return [variant] if variant else []
        if not value:
            message = f"list of `{key}` kernels of {owner} is empty"
            self.fields.report("C10E106", message, kernels.span(key))
        found: list[KernelDecl] = []
        for rank in range(len(value)):
            variant = self._variant(value, rank, key, rank, kernels, owner)
            if variant is None:
                continue
            first = next((other for other in found if other.name == variant.name), None)
            if first is not None:
                self.fields.findings.append(same_name(variant, first, owner))
            found.append(variant)
        return found

    def _variant(
        self, container: Any, at: Any, key: str, rank: int, kernels: Node, owner: str
    ) -> KernelDecl | None:
        """The kernel written at *at* of *container*: an entry point or a mapping with one."""
        value, what = container[at], f"`{key}` kernel of {owner}"
        if type(value) is str:
            entry_point = self._entry_point(container, at, what)
            options: dict[str, Any] | None = {}
        elif type(value) is dict:
            self.fields.check_names(value, f"the {what}", KERNEL_FIELDS, required=("kernel",))
            entry_point = self._entry_point(value, "kernel", f"`kernel` of the {what}")
            options = self._options(value, what)
        else:
            if value is not REFUSED:
                message = f"{what} must be an entry point or a mapping with one, not {kind_name(value)}"
                self.fields.report("C10E106", message, self.fields.place(container, at))
            return None
        if entry_point is None or options is None:
            return None
        return KernelDecl(
            dispatch_key=key,
            entry_point=entry_point,
            name=options.get("name") or entry_point.name,
            requires=tuple(dict.fromkeys((*self.defaults.requires, *options.get("requires", ())))),
            cache=options.get("cache"),
            boxed=options.get("boxed", False),
            rank=rank,
            node=kernels,
            arrays=options.get("arrays") or self.defaults.arrays,
        )

    def _options(self, value: dict[str, Any], what: str) -> dict[str, Any] | None:
        """The fields of a kernel beside its entry point; None if they leave open how it is called."""
        requires = _packages(self.fields, value, f"`requires` of the {what}")
        arrays = _choice(self.fields, value, "arrays", f"`arrays` of the {what}", LIBRARIES)
        cache = self._entry_point(value, "cache", f"`cache` of the {what}")
        boxed = self.fields.flag(value, "boxed", f"`boxed` of the {what}", default=False)
        name = self.fields.name(value, "name", f"`name` of the {what}")
        if ("cache" in value and cache is None) or value.get("boxed", False) is not boxed:
            return None
        return {"name": name, "requires": requires, "cache": cache, "boxed": boxed, "arrays": arrays}

    def _entry_point(self, container: Any, key: Any, what: str) -> EntryPoint | None:
        text = self.fields.text(container, key, what)
        if text is None:
            return None
        try:
            return parse_entry_point(text, self.folder, self.document.span(container, key))
        except ManifestError as error:
            self.fields.findings += error.diagnostics
            return None

    def _cost(self, entry: dict[str, Any], owner: str) -> Cost:
        cost = self.fields.mapping(entry, "cost", f"`cost` of {owner}")
        if cost is None:
            return Cost()
        self.fields.check_names(cost, f"the cost of {owner}", COST_FIELDS)
        found = {}
        for name in COST_FIELDS:
            what = f"`{name}` in the cost of {owner}"
            value = self.fields.read(cost, name, what, "an expression", str, int, float)
            found[name] = None if value is None else str(value)
        return Cost(**found)


def same_name(variant: KernelDecl, first: KernelDecl, owner: str) -> Diagnostic:
    """The finding for *variant*, which is called as *first* is."""
    return Diagnostic(
        "C10E302",
        f"two `{variant.dispatch_key}` kernels of {owner} are called `{variant.name}`",
        variant.span,
        notes=(f"the first is at {first.span}",),
        help="give one of them a `name:` of its own",
    )


def _owner(entry: dict[str, Any], index: int) -> str:
    """What to call an operator in messages, its schema read or not."""
    schema = entry.get("schema")
    match = _NAME.match(schema) if type(schema) is str else None
    return f"`{match[1]}`" if match else f"operator {index + 1}"


def _choice(fields: Fields, container: dict[str, Any], key: str, what: str, known: tuple[str, ...]) -> str:
    """The one of *known* at *key*; empty where there is none."""
    text = fields.text(container, key, what) if key in container else None
    if text is None or text in known:
        return text or ""
    listed = ", ".join(f"`{name}`" for name in known)
    place = fields.document.span(container, key)
    fields.report(
        "C10E106", f"{what} must be one of {listed}, not `{text}`", place, help=did_you_mean(text, known)
    )
    return ""


def _packages(fields: Fields, container: dict[str, Any], what: str) -> tuple[str, ...]:
    """The import names under `requires`."""
    packages = fields.texts(container, "requires", what) or ()
    for index, package in enumerate(packages):
        if not all(part.isidentifier() for part in package.split(".")):
            message = f"`{package}` in {what} is no import name"
            fields.report("C10E106", message, fields.document.span(container["requires"], index))
    return packages


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
