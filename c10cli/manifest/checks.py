"""Everything about a manifest that can be judged without importing a kernel.

Entry points are looked up in the source, so that a CUDA kernel is checked on
a machine without a GPU; expressions of cases and costs are parsed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from inspect import Signature
from typing import Final

from c10cli.arrays.evaluate import evaluate
from c10cli.arrays.library import usual_libraries
from c10cli.dispatch.signature import (
    CREATOR_ADVICE,
    annotation_advice,
    by_position,
    mismatch,
    needed_by,
    other_defaults,
)
from c10cli.document.findings import MOST_FINDINGS, Findings, in_order
from c10cli.document.nodes import Node
from c10cli.entry_points.definitions import Definition, Missing, Unresolved, definition_of
from c10cli.entry_points.entry_point import EntryPoint
from c10cli.errors import ArgumentError, Diagnostic, ManifestError, Span, did_you_mean
from c10cli.manifest.cases import is_word
from c10cli.manifest.declarations import CaseDecl, OperatorDecl
from c10cli.manifest.link import covers
from c10cli.schema.dtypes import ARRAY_FUNCTIONS, COST_FUNCTIONS
from c10cli.schema.expression import Expression, find_unknown_names, makes_array, parse_expression
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.types import is_optional_tensor, is_tensor, is_tensor_list

_ARRAY: Final = type("a tensor", (), {})()  # what an expression would make, as messages describe it


# An entry point that only importing it can judge, and why.
Skipped = tuple[EntryPoint, str]


def check_operator(operator: OperatorDecl, *, near: bool = True) -> tuple[Findings, list[Skipped]]:
    """The findings of the static checks of *operator*, in order of position, and what was not checked.

    Those in the file that defines it come before those in files that extend it.

    Args:
        near: whether the first of them offer near names, which takes long.
    """
    checks = _Checks(operator, near)
    for kernel in operator.kernels:
        has_cache = kernel.cache is not None
        checks.function(kernel.entry_point, "kernel", has_cache=has_cache, boxed=kernel.boxed)
        if kernel.cache is not None:
            checks.cache(kernel.cache)
    if operator.reference is not None:
        checks.function(operator.reference, "reference")
    for entry, role in [*((maker, "maker") for maker in operator.makers), (operator.compare, "comparator")]:
        if entry is not None:
            checks.exists(entry, role)
    for key in operator.dispatch_keys:
        checks.findings.extend(check_variants(operator, key))
    checks.cost()
    for case in operator.cases:
        checks.case(case)
        checks.only(case)
    checks.findings[:] = in_order(checks.findings, [operator.node.document.file])
    return checks.findings, checks.skipped


def check_variants(operator: OperatorDecl, key: str) -> Iterator[Diagnostic]:
    """The variants of *key* that no call reaches, and calls that reach none, where all needs are met."""
    kernels = operator.variants(key)
    for at, kernel in enumerate(kernels):
        sure = [o for o in kernels[:at] if set(o.requires) <= set(kernel.requires) and covers(o, kernel)]
        if kernel.when and sure:
            fact = f"no call reaches `{key}` kernel `{kernel.name}` of `{operator.name}`"
            note = f"`{sure[0].name}`, before it, takes all that it takes"
            todo = "put it first, or take its condition away"
            yield Diagnostic("C10E311", fact, kernel.span, notes=(note,), help=todo)
    code = "C10E312" if operator.complete else "C10W352"
    usual, last = usual_libraries(key) or frozenset(), kernels[-1]
    libraries = {name for kernel in kernels for name in kernel.libraries or ()} | usual
    for library in sorted(libraries, reverse=True):  # those of no library last
        takers = [kernel for kernel in kernels if kernel.libraries is None or library in kernel.libraries]
        fact, arrays = "", f"{library} arrays" if library else "arrays of no library"
        if takers and all(kernel.when for kernel in takers):
            fact, last = f"take {arrays} under conditions alone", takers[-1]
        elif operator.complete and library in usual and library and not takers:
            fact = f"take no {arrays}"
        if fact:
            fact = f"the `{key}` kernels of `{operator.name}` {fact}"
            yield Diagnostic(code, fact, last.span, help="add a variant without `when` that takes them")
            break


@dataclass(frozen=True, slots=True)
class _Checks:
    """The checks of one operator's parts; what they find is added to the lists."""

    operator: OperatorDecl
    near: bool
    findings: Findings = field(default_factory=Findings)
    skipped: list[Skipped] = field(default_factory=list)

    def function(self, entry: EntryPoint, role: str, *, has_cache: bool = False, boxed: bool = False) -> None:
        """Compare a function, if its source shows it, with the schema."""
        definition = self._definition(entry, role)
        if definition is None:
            return
        schema, kind = self.operator.schema, definition.kind
        if kind in ("async function", "generator"):
            fact = f"is a{'n' * (kind[0] == 'a')} {kind}, which returns no result when called"
            self._report("C10E305", role, entry, definition, fact, help="make it a plain function")
        elif kind == "value":
            self._report("C10E310", role, entry, definition, "is a value, not a function")
        elif kind != "function" or definition.signature is None:
            self.skipped.append((entry, "its signature is known only when it is imported"))
        else:
            reason = mismatch(schema, definition.signature, has_cache=has_cache, boxed=boxed)
            if reason is not None:
                note, help = f"the schema is `{schema}`", annotation_advice(reason)
                self._report("C10E305", role, entry, definition, reason, note, help=help)
            elif entry.file is not None and not boxed:  # what another package has is as it is
                self._compare(role, entry, definition, definition.signature)

    def _compare(self, role: str, entry: EntryPoint, definition: Definition, signature: Signature) -> None:
        """What could be called as the schema says, but says another thing itself."""
        schema = self.operator.schema
        for name in by_position(schema, signature):
            fact = f"takes `{name}` by position, and the schema by keyword alone"
            help = f"put `*` before `{name}`"
            self._report("C10E305", role, entry, definition, fact, f"the schema is `{schema}`", help=help)
        for fact in other_defaults(schema, signature):
            help = "leave the default out: the schema's is passed at every call"
            self._report("C10W351", role, entry, definition, fact, help=help)

    def exists(self, entry: EntryPoint, role: str) -> None:
        """A function with arguments of its own."""
        definition = self._definition(entry, role)
        if definition is not None and definition.kind == "value":
            self._report("C10E310", role, entry, definition, "is a value, not a function")
        if definition is not None and definition.kind in ("async function", "generator"):
            fact = (
                f"is a{'n' * (definition.kind[0] == 'a')} {definition.kind}, which gives nothing when called"
            )
            self._report("C10E305", role, entry, definition, fact, help="make it a plain function")

    def cache(self, entry: EntryPoint) -> None:
        """A cache creator is called without arguments."""
        definition = self._definition(entry, "cache")
        if definition is None:
            return
        if definition.kind == "value":
            self._report("C10E310", "cache", entry, definition, "is a value, not a function or class")
        if definition.kind == "async function":
            fact = "is an async function, and caches are made by a call alone"
            self._report("C10E305", "cache", entry, definition, fact, help="name what makes the cache")
        needed = needed_by(definition.signature)
        if needed:
            fact = f"is created without arguments, but needs {needed}"
            self._report("C10E305", "cache", entry, definition, fact, help=CREATOR_ADVICE)

    def cost(self) -> None:
        """The expressions of what a call moves and does."""
        cost, domain = self.operator.cost, self.operator.domain
        names = [argument.name for argument in self.operator.schema.arguments]
        names += [axis.name for _, axis in domain.named_axes()] + [*domain.variables] if domain else []
        for key, text in (("bytes", cost.bytes), ("flops", cost.flops)):
            if text is not None:
                self._expression(text, self.operator.node.child("cost"), key, names, COST_FUNCTIONS)

    def case(self, case: CaseDecl) -> None:
        """The inputs: that they are understood, may fit their arguments, and use the whole sweep."""
        used: set[str] = set()
        is_understood = True
        by_name = {argument.name: argument for argument in self.operator.schema.arguments}
        for name, value in case.inputs.items():
            values = [value]
            argument = by_name.get(name)
            if isinstance(value, EntryPoint):  # which takes the names that it likes
                used |= set(case.names)
                continue
            if isinstance(value, str) and not (argument and is_word(argument, value, case.names)):
                node = case.node.child("inputs")
                expression = self._expression(value, node, name, case.names, ARRAY_FUNCTIONS)
                if expression is None:
                    is_understood = False
                    continue
                used |= expression.names
                values = _possible_values(expression, case)
            self._fit(case, name, values)
        used |= self._dims(case)
        for name in case.names:
            if is_understood and name not in used:
                span = self._place_of_name(case, name)
                field = "sweep" if name in case.sweep else "points"
                place = f"the {field} of case `{case.name}` of `{self.operator.name}`"
                message = f"`{name}` in {place} is used by no input"
                self.findings.append(Diagnostic("C10E110", message, span, help="use it or leave it out"))

    def _place_of_name(self, case: CaseDecl, name: str) -> Span:
        if name in case.sweep:
            return case.node.child("sweep").span(name, "key")
        return case.node.child("points").child(0).span(name, "key")

    def only(self, case: CaseDecl) -> None:
        """The keys and variants that a case is limited to: that there are such kernels."""
        kernels = self.operator.kernels
        for field_name, known in (
            ("keys", {kernel.dispatch_key for kernel in kernels}),
            ("variants", {kernel.name for kernel in kernels}),
        ):
            if case.node.value.get(field_name) == []:
                fact = f"`{field_name}` of case `{case.name}` of `{self.operator.name}` is an empty list"
                self.findings.append(
                    Diagnostic("C10E106", fact, case.node.span(field_name), help="leave it out")
                )
            for index, name in enumerate(getattr(case, field_name)):
                if name not in known:
                    what = f"`{field_name}` of case `{case.name}` of `{self.operator.name}`"
                    fact = f"{what} names `{name}`, which no kernel has"
                    span = case.node.child(field_name).span(index)
                    help = did_you_mean(name, known) or "leave it out"
                    self.findings.append(Diagnostic("C10E106", fact, span, help=help))

    def _dims(self, case: CaseDecl) -> set[str]:
        """Compare the dims of *case* with the domain; the names that they use."""
        used: set[str] = set()
        domain = self.operator.domain
        if case.dims is not None and domain is None:
            fact = f"case `{case.name}` of `{self.operator.name}` has dims, and the operator no domain"
            span = case.node.span("dims", "key")
            self.findings.append(
                Diagnostic("C10E104", fact, span, help="give `inputs`, or write its `domain:`")
            )
            return {*case.names}
        for name, value in (case.dims or {}).items():
            known = [axis.name for _, axis in domain.named_axes()] if domain else []
            node = case.node.child("dims")
            if name not in known:
                fact = f"dim `{name}` of case `{case.name}` of `{self.operator.name}` is none of its domain's"
                note = f"known here: {', '.join(f'`{other}`' for other in known) or 'none'}"
                help = did_you_mean(name, known) or "name dims of the operator's domain"
                finding = Diagnostic("C10E104", fact, node.span(name, "key"), notes=(note,), help=help)
                self.findings.append(finding)
            if isinstance(value, str):
                expression = self._expression(value, node, name, case.names, ())
                used |= expression.names if expression else set(case.names)
        return used

    def _fit(self, case: CaseDecl, name: str, values: Collection[object]) -> None:
        """Report the first of *values* that the argument *name* cannot have."""
        schema = self.operator.schema
        faults = (_misfit(schema, a, value) for a in schema.arguments if a.name == name for value in values)
        fault = next((fault for fault in faults if fault is not None), None)
        if fault is not None:
            span = case.node.child("inputs").span(name)
            self.findings.append(replace(fault, span=span, place="").with_notes(f"in case {case.name}"))

    def _expression(
        self, text: str, node: Node, key: str, names: Collection[str], functions: Collection[str]
    ) -> Expression | None:
        """The expression at *key* of *node*; None, and findings, where it is not understood."""
        try:
            expression = parse_expression(text)
        except ManifestError as error:
            self.findings.extend(node.placed(finding, key) for finding in error.diagnostics)
            return None
        unknown = find_unknown_names(expression, names, functions)
        self.findings.extend(node.placed(finding, key) for finding in unknown)
        return None if unknown else expression

    def _definition(self, entry: EntryPoint, role: str) -> Definition | None:
        """The definition behind *entry*; None where there is none, which is then reported."""
        found = definition_of(entry, near=self.near and self.findings.met < MOST_FINDINGS)
        if isinstance(found, Definition):
            return found
        if isinstance(found, Unresolved):
            self.skipped.append((entry, found.reason))
        if isinstance(found, Missing):
            message = f"{found.message} ({role} of `{self.operator.name}`)"
            self.findings.append(
                Diagnostic(found.code, message, entry.span, help=found.help, cause=entry.cause(found.message))
            )
        return None

    def _report(
        self,
        code: str,
        role: str,
        entry: EntryPoint,
        definition: Definition,
        fact: str,
        *notes: str,
        help: str = "",
    ) -> None:
        message = f"{role} `{entry.name}` of `{self.operator.name}` {fact}"
        where = f"`{entry.name}` is defined at {entry.file or definition.path}:{definition.line}"
        self.findings.append(Diagnostic(code, message, entry.span, notes=(where, *notes), help=help))


def _possible_values(expression: Expression, case: CaseDecl) -> list[object]:
    """What an input may be, as far as it can be told without making an array."""
    if makes_array(expression):
        return [_ARRAY]
    if expression.text.strip() in case.names:
        return list(case.names[expression.text.strip()])
    try:
        return [evaluate(expression, functions={})]
    except ManifestError:  # of a name, a function, a division by 0: evaluating it for the case tells
        return []


def _misfit(schema: FunctionSchema, argument: Argument, value: object) -> Diagnostic | None:
    """Why *value* does not fit *argument*; nested lists are arrays where one is wanted."""
    takes_tensor = is_tensor(argument.type) or is_optional_tensor(argument.type)
    if isinstance(value, list | tuple) and (takes_tensor or is_tensor_list(argument.type)):
        return None
    alone = replace(schema, arguments=(replace(argument, kwarg_only=True),))
    try:
        alone.bind((), {argument.name: value}, is_tensor=lambda given: given is _ARRAY)
    except ArgumentError as error:
        fault = replace(error.diagnostics[0], notes=(f"declared as `{schema}`",))
        if takes_tensor and type(value) in (int, float):
            return replace(fault, help=f"write `full((), {value})` for a tensor without dimensions")
        return fault
    return None
