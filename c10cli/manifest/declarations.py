"""A manifest as frozen values: operators, their kernels, tolerances, costs and cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from c10cli.arrays.devices import Device, device_of
from c10cli.arrays.library import usual_libraries
from c10cli.document.nodes import Node
from c10cli.entry_points.entry_point import EntryPoint
from c10cli.errors import Diagnostic, Span
from c10cli.schema.domain import Domain
from c10cli.schema.model import FunctionSchema, OperatorName

PlainValue = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a result may be from the reference, relative to it and absolutely."""

    rtol: float
    atol: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Expressions for the bytes a call moves and the operations it does."""

    bytes: str | None = None
    flops: str | None = None


@dataclass(frozen=True, slots=True)
class CaseDecl:
    """Inputs to run an operator on.

    Args:
        sweep: names that the inputs' expressions may use, with the values each takes.
        inputs: by argument; a string is an expression, an entry point makes the value, anything else is it.
        dims: of the domain, from which the other arguments are made: a size, several, or an expression.
        points: values of more names, which are taken together; each with every one of the sweep.
        keys, variants: the kernels that run it; empty: all.
        bench: whether `c10 bench` times it.
    """

    name: str
    sweep: Mapping[str, tuple[PlainValue, ...]]
    dtypes: tuple[str, ...]
    inputs: Mapping[str, object]
    bench: bool
    node: Node = field(repr=False, compare=False)
    dims: Mapping[str, object] | None = None
    points: tuple[Mapping[str, PlainValue], ...] = ()
    keys: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()

    @property
    def names(self) -> Mapping[str, tuple[PlainValue, ...]]:
        """The names that the inputs' expressions may use, with all values that each takes."""
        named = dict.fromkeys(name for point in self.points for name in point)
        return {**self.sweep, **{name: tuple(point[name] for point in self.points) for name in named}}

    def is_for(self, kernel: KernelDecl) -> bool:
        """Whether *kernel* is one of those that run the case."""
        is_of_key = not self.keys or kernel.dispatch_key in self.keys
        return is_of_key and (not self.variants or kernel.name in self.variants)

    @property
    def span(self) -> Span:
        """The place of the case's entry."""
        return self.node.span()


@dataclass(frozen=True, slots=True)
class KernelDecl:
    """One variant: a kernel for one dispatch key of an operator.

    Args:
        name: the variant's; the function's own name unless the manifest gives one.
        requires: packages without which the variant is not taken.
        node: the mapping of the operator's kernels, by dispatch key.
        arrays: the library whose arrays it takes; empty: the dispatch key's own.
        when: the condition of the calls that it takes; empty: all.
        entry: its own mapping; None where it is an entry point alone.
        override: why it comes before the key's kernels of other manifests; empty: it does not.
    """

    dispatch_key: str
    entry_point: EntryPoint
    name: str
    requires: tuple[str, ...]
    cache: EntryPoint | None
    boxed: bool
    node: Node = field(repr=False, compare=False)
    arrays: str = ""
    override: str = ""
    when: str = ""
    entry: Node | None = field(default=None, repr=False, compare=False)

    @property
    def libraries(self) -> frozenset[str] | None:
        """The libraries whose arrays it takes, empty for those of no library; None: all."""
        return frozenset([self.arrays]) if self.arrays else usual_libraries(self.dispatch_key)

    @property
    def span(self) -> Span:
        """The place of the entry point's text."""
        return self.entry_point.span or self.key_span

    @property
    def device(self) -> Device:
        """What this machine has for the kernel's tensors."""
        return device_of(self.dispatch_key, self.arrays)

    @property
    def key_span(self) -> Span:
        """The place of the dispatch key."""
        return self.node.span(self.dispatch_key, "key")


@dataclass(frozen=True, slots=True)
class Waiver:
    """A break of callers that an operator's owners accept until a day.

    Args:
        breaks: the kind of change, as `c10 diff` names it.
        subject: the argument, return or dispatch key it is limited to; empty for all.
        until: the last day on which it holds.
    """

    breaks: str
    subject: str
    reason: str
    until: date
    node: Node = field(repr=False, compare=False)

    @property
    def span(self) -> Span:
        """The place of what it waives."""
        return self.node.span("breaks")


class Declared:
    """What one entry of a manifest says of an operator."""

    __slots__ = ()

    kernels: tuple[KernelDecl, ...]
    cases: tuple[CaseDecl, ...]
    node: Node

    @property
    def schema_span(self) -> Span:
        """The place of the schema's text, or of the operator's name where the entry extends it."""
        return self.node.span("schema" if "schema" in self.node.value else "operator")

    @property
    def dispatch_keys(self) -> tuple[str, ...]:
        """The dispatch keys that have a kernel, in the order of the file."""
        return tuple(dict.fromkeys(kernel.dispatch_key for kernel in self.kernels))

    def variants(self, dispatch_key: str) -> tuple[KernelDecl, ...]:
        """The variants for *dispatch_key*, best first."""
        return tuple(kernel for kernel in self.kernels if kernel.dispatch_key == dispatch_key)


@dataclass(frozen=True, slots=True)
class OperatorDecl(Declared):
    """One operator of a manifest, with what other manifests add to it.

    Args:
        node: the operator's entry; the first that extends it, where a dispatcher defines it.
        domain: which arguments it takes, and what it returns; None: nothing is said.
        upcast: the dtype that floating arguments reach the reference in; empty: their own.
        compare: what compares results with the reference's instead of the tolerance.
        complete: whether every call has to have a kernel, whatever the conditions of variants.
        is_outside: whether a dispatcher defines it, and manifests only extend it.
    """

    schema: FunctionSchema
    node: Node = field(repr=False, compare=False)
    summary: str = ""
    kernels: tuple[KernelDecl, ...] = ()
    reference: EntryPoint | None = None
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)
    cost: Cost = Cost()
    cases: tuple[CaseDecl, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    is_outside: bool = False
    domain: Domain | None = None
    complete: bool = False
    upcast: str = ""
    compare: EntryPoint | None = None

    @property
    def makers(self) -> Iterator[EntryPoint]:
        """What makes inputs of the cases."""
        for case in self.cases:
            yield from (value for value in case.inputs.values() if isinstance(value, EntryPoint))

    @property
    def span(self) -> Span:
        """The place of the operator's entry."""
        return self.node.span()

    @property
    def name(self) -> OperatorName:
        """The operator's name."""
        return self.schema.name


@dataclass(frozen=True, slots=True)
class ExtensionDecl(Declared):
    """Kernels and cases for an operator that another manifest, or a dispatcher, defines.

    Args:
        name: without a namespace where the manifest gives none, and so nobody's.
        cases: their inputs are not yet compared with the schema, which stands elsewhere.
    """

    name: OperatorName
    kernels: tuple[KernelDecl, ...]
    cases: tuple[CaseDecl, ...]
    node: Node = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class DisabledManifest:
    """An included manifest that failed, where it was included, and why."""

    path: Path
    span: Span
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a registry file declares: its own operators, then those of its includes.

    Args:
        removals: the waivers for operators that are gone; their subject is the name.
        faults: what is wrong with operators of the file itself, by name, None for names that
            cannot be told; empty where something is wrong with more than operators.
    """

    path: Path
    operators: tuple[OperatorDecl, ...]
    disabled: tuple[DisabledManifest, ...] = ()
    removals: tuple[Waiver, ...] = ()
    faults: Mapping[OperatorName | None, Sequence[Diagnostic]] = field(default_factory=dict)
