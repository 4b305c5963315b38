"""Everything about a manifest that can be judged without importing a kernel.

Entry points are looked up in the source, so that a CUDA kernel is checked on
a machine without a GPU; expressions of cases and costs are parsed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from inspect import Parameter

from c10cli.arrays.dtypes import ARRAY_FUNCTIONS, COST_FUNCTIONS
from c10cli.arrays.expression import find_unknown_names, parse_expression
from c10cli.dispatch.signature import mismatch
from c10cli.document.nodes import Node
from c10cli.entry_points.definitions import Definition, Missing, Unresolved, definition_of
from c10cli.entry_points.parse import EntryPoint
from c10cli.errors import Diagnostic, ManifestError, in_order
from c10cli.manifest.kinds import check_kinds
from c10cli.manifest.model import CaseDecl, KernelDecl, Manifest, OperatorDecl

__all__ = ["CheckResult", "Skipped", "check_manifest", "check_operator"]

_REQUIRED_KINDS = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Skipped:
    """An entry point that only importing it can judge, and why."""

    operator: str
    entry_point: EntryPoint
    reason: str


@dataclass(slots=True)
class CheckResult:
    """Findings, and what could not be checked; one per run, filled as it goes."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def check_manifest(manifest: Manifest) -> CheckResult:
    """The static checks of every operator, in the order of the manifest."""
    result = CheckResult()
    for operator in manifest.operators:
        check_operator(operator, result)
    return result


def check_operator(operator: OperatorDecl, result: CheckResult | None = None) -> CheckResult:
    """The static checks of one operator, added to *result*, in order of position.

    Those in the file that defines it come before those in files that extend it.
    """
    result = CheckResult() if result is None else result
    before = len(result.diagnostics)
    for kernel in operator.kernels:
        _check_kernel(operator, kernel, result)
        if kernel.cache is not None:
            _check_cache(operator, kernel.cache, result)
    if operator.reference is not None:
        _check_function(operator, operator.reference, "reference", result)
    _check_cost(operator, result)
    for case in operator.cases:
        _check_case(operator, case, result)
    found = result.diagnostics[before:]
    result.diagnostics[before:] = in_order(found, [operator.node.document.file])
    return result


def _check_kernel(operator: OperatorDecl, kernel: KernelDecl, result: CheckResult) -> None:
    has_cache = kernel.cache is not None
    _check_function(operator, kernel.entry_point, "kernel", result, has_cache=has_cache, boxed=kernel.boxed)


def _check_function(
    operator: OperatorDecl,
    entry_point: EntryPoint,
    kind: str,
    result: CheckResult,
    *,
    has_cache: bool = False,
    boxed: bool = False,
) -> None:
    """Compare the function of *entry_point*, if its source shows it, with the schema."""
    definition = _find_definition(operator, entry_point, kind, result)
    if definition is None:
        return
    name = f"{kind} `{entry_point.name}` of `{operator.name}`"
    if definition.kind in ("async function", "generator"):
        article = "an" if definition.kind == "async function" else "a"
        message = f"{name} is {article} {definition.kind}, which returns no result when called"
        _report(result, "C10E305", message, entry_point, definition, help="make it a plain function")
        return
    if definition.kind == "value":
        _report(result, "C10E310", f"{name} is a value, not a function", entry_point, definition)
        return
    if definition.kind != "function" or definition.signature is None:
        result.skipped.append(
            Skipped(str(operator.name), entry_point, "its signature is known only when it is imported")
        )
        return
    reason = mismatch(operator.schema, definition.signature, has_cache=has_cache, boxed=boxed)
    if reason is not None:
        note = f"the schema is `{operator.schema}`"
        _report(result, "C10E305", f"{name} {reason}", entry_point, definition, notes=(note,))


def _check_cache(operator: OperatorDecl, entry_point: EntryPoint, result: CheckResult) -> None:
    """A cache creator is called without arguments."""
    definition = _find_definition(operator, entry_point, "cache", result)
    if definition is None:
        return
    name = f"cache `{entry_point.name}` of `{operator.name}`"
    if definition.kind == "value":
        _report(result, "C10E310", f"{name} is a value, not a function or class", entry_point, definition)
    needed = [
        parameter.name
        for parameter in (definition.signature.parameters.values() if definition.signature else ())
        if parameter.default is Parameter.empty and parameter.kind in _REQUIRED_KINDS
    ]
    if needed:
        shown = ", ".join(f"`{name}`" for name in needed)
        message = f"{name} is created without arguments, but needs {shown}"
        _report(result, "C10E305", message, entry_point, definition)


def _find_definition(
    operator: OperatorDecl, entry_point: EntryPoint, kind: str, result: CheckResult
) -> Definition | None:
    """The definition behind *entry_point*; None where there is none, which is then reported."""
    found = definition_of(entry_point)
    if isinstance(found, Definition):
        return found
    if isinstance(found, Unresolved):
        result.skipped.append(Skipped(str(operator.name), entry_point, found.reason))
    if isinstance(found, Missing):
        message = f"{found.message} ({kind} of `{operator.name}`)"
        result.diagnostics.append(Diagnostic("C10E304", message, entry_point.span, help=found.help))
    return None


def _report(
    result: CheckResult,
    code: str,
    message: str,
    entry_point: EntryPoint,
    definition: Definition,
    *,
    notes: tuple[str, ...] = (),
    help: str = "",
) -> None:
    where = f"`{entry_point.name}` is defined at {entry_point.file or definition.path}:{definition.line}"
    finding = Diagnostic(code, message, entry_point.span, notes=(where, *notes), help=help)
    result.diagnostics.append(finding)


def _check_cost(operator: OperatorDecl, result: CheckResult) -> None:
    names = [argument.name for argument in operator.schema.arguments]
    for field_name in ("bytes", "flops"):
        text = getattr(operator.cost, field_name)
        if text is not None:
            node = operator.node.child("cost")
            _check_expression(text, node, field_name, names, COST_FUNCTIONS, result)


def _check_case(operator: OperatorDecl, case: CaseDecl, result: CheckResult) -> None:
    used: set[str] = set()
    texts = {name: value for name, value in case.inputs.items() if isinstance(value, str)}
    faulty = []
    for name, text in texts.items():
        node = case.node.child("inputs")
        names = _check_expression(text, node, name, case.sweep, ARRAY_FUNCTIONS, result)
        if names is None:
            faulty.append(name)
        used |= names or set()
    result.diagnostics += check_kinds(operator, case, leave_out=faulty)
    for name in case.sweep:
        if not faulty and name not in used:
            message = f"`{name}` in the sweep of case `{case.name}` of `{operator.name}` is used by no input"
            span = case.node.child("sweep").span(name, "key")
            result.diagnostics.append(Diagnostic("C10E110", message, span, help="use it or leave it out"))


def _check_expression(
    text: str, node: Node, key: str, names: Collection[str], functions: Collection[str], result: CheckResult
) -> frozenset[str] | None:
    """The free names of the expression at *key* of *node*; None, and findings, where it is faulty."""
    try:
        expression = parse_expression(text)
    except ManifestError as error:
        result.diagnostics += [node.placed(finding, key) for finding in error.diagnostics]
        return None
    findings = find_unknown_names(expression, names, functions)
    result.diagnostics += [node.placed(finding, key) for finding in findings]
    return None if findings else expression.names
