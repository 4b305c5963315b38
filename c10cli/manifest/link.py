"""From a manifest to a dispatcher: which variants are registered, and why not the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from c10cli.arrays.devices import Device, device_of, is_installed
from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import load_library
from c10cli.dispatch import refusals
from c10cli.dispatch.conditions import bound
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.kernel import BoundKernel, KernelEntry, bind_kernel
from c10cli.dispatch.names import select_name
from c10cli.dispatch.operator import OperatorHandle
from c10cli.entry_points.importing import load_entry_point
from c10cli.errors import (
    Diagnostic,
    DispatchError,
    ManifestError,
    NoKernelError,
    RegistrationError,
    SchemaError,
    UnknownOperatorError,
    counted,
    did_you_mean,
)
from c10cli.manifest.declarations import KernelDecl, Manifest, OperatorDecl
from c10cli.manifest.entries import check_condition
from c10cli.manifest.load import require_manifest
from c10cli.schema.domain import Domain
from c10cli.schema.expression import parse_expression, part_of
from c10cli.schema.model import FunctionSchema, OperatorName


@dataclass(frozen=True, slots=True)
class ManifestKernel:
    """A kernel of a manifest, loaded when a call first needs it."""

    kernel: KernelDecl

    @property
    def name(self) -> str:
        """The entry point's text, which says where the kernel is."""
        return self.kernel.entry_point.text

    def load(self, schema: FunctionSchema) -> BoundKernel:
        """The kernel, checked against *schema*; imports its modules.

        Raises:
            RegistrationError: C10E304, C10E305, C10E310, at its place in the manifest.
        """
        kernel = self.kernel
        try:
            cache = load_entry_point(kernel.cache, has_requires=True) if kernel.cache else None
            function = load_entry_point(kernel.entry_point, has_requires=True)
            if kernel.arrays and callable(function) and not kernel.boxed:
                function = load_library(kernel.arrays).adapted(schema, function)
            return bind_kernel(schema, self.name, function, cache, boxed=kernel.boxed)
        except RegistrationError as error:
            placed = (d if d.span else replace(d, span=kernel.span) for d in error.diagnostics)
            raise RegistrationError(*placed, **error.facts) from error


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant of a key, whether it is the registered one, and why it is or is not.

    Args:
        reason: as it is shown, with the manifest's own for an override.
        missing: the packages that it needs and that are not installed.
    """

    kernel: KernelDecl
    taken: bool
    reason: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkedOperator:
    """An operator of a manifest, registered.

    Args:
        decl: where the operator is the dispatcher's own, with its schema and what manifests add.
        variants: per dispatch key its variants, best first.
    """

    decl: OperatorDecl
    handle: OperatorHandle
    variants: Mapping[str, tuple[Variant, ...]]

    def __repr__(self) -> str:
        return f"<LinkedOperator {self.decl.name}: {', '.join(self.variants) or 'no kernels'}>"

    def variant(self, dispatch_key: str, name: str) -> Variant:
        """The variant *name* of *dispatch_key*.

        Raises:
            UnknownOperatorError: C10E412, there is none; with those there are.
        """
        known = {variant.kernel.name: variant for variant in self.variants.get(dispatch_key, ())}
        if name in known:
            return known[name]
        listed = ", ".join(f"`{other}`" for other in known) or "none"
        fact = f"`{self.decl.name}` has no variant `{name}` for {dispatch_key}; there is {listed}"
        todo = did_you_mean(name, known) or f"see `c10 show {self.decl.name}`"
        raise UnknownOperatorError(Diagnostic("C10E412", fact, help=todo), variant=name)

    def device(self, dispatch_key: str) -> Device:
        """What this machine has for the tensors of the kernel that serves *dispatch_key*."""
        taken = next((v for v in self.variants.get(dispatch_key, ()) if v.taken), None)
        return taken.kernel.device if taken else device_of(dispatch_key)

    def why_not(self, kernel: KernelDecl, arguments: Mapping[str, Any]) -> str:
        """Why *kernel* does not take a call with *arguments*, all of them, by its condition; or nothing."""
        if not kernel.when:
            return ""
        bindings = bound(self.handle.domain or Domain(self.decl.schema), arguments)
        return bindings.why_not(parse_expression(kernel.when))

    def check_takes(self, kernel: KernelDecl, arguments: Mapping[str, Any]) -> None:
        """Refuse *arguments* that *kernel* does not take by its condition.

        Raises:
            NoKernelError: C10E413.
        """
        why = self.why_not(kernel, arguments)
        if why:
            fact = f"variant `{kernel.name}` of `{self.decl.name}` does not take such arguments: {why}"
            todo = "give arguments that it takes, or choose another variant"
            raise NoKernelError(Diagnostic("C10E413", fact, help=todo), operator=str(self.decl.name))

    def bind(self, kernel: KernelDecl) -> BoundKernel:
        """*kernel* of this operator, imported and checked against the schema.

        Raises:
            RegistrationError: C10E304, C10E305, C10E310, at its place in the manifest.
        """
        return ManifestKernel(kernel).load(self.decl.schema)


@dataclass(frozen=True, slots=True)
class Registry:
    """A manifest's operators in a dispatcher."""

    manifest: Manifest
    dispatcher: Dispatcher
    operators: Mapping[OperatorName, LinkedOperator]

    def __len__(self) -> int:
        return len(self.operators)

    def __iter__(self) -> Iterator[LinkedOperator]:
        return iter(self.operators.values())

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.find(name) is not None
        except DispatchError:
            return False

    def __repr__(self) -> str:
        return f"<Registry {self.manifest.path}: {counted(len(self), 'operator')}>"

    def find(self, name: str) -> LinkedOperator:
        """The operator that *name* means; namespace and overload may be left out where that is clear.

        Raises:
            UnknownOperatorError: C10E401.
            AmbiguousOverloadError: C10E402.
            ArgumentError: C10E405, no text.
            ManifestError: the operator has faults, and was left out.
        """
        if not isinstance(name, str):
            raise refusals.wrong_argument("find(...)", "the name of an operator", name)
        faults = self.manifest.faults
        try:
            found = select_name(name, [*self.operators, *(known for known in faults if known)])
        except UnknownOperatorError as error:  # the name of one with faults may be what could not be read
            raise UnknownOperatorError(*error.diagnostics, *faults.get(None, ()), **error.facts) from error
        if found in faults:
            raise ManifestError(*faults[found], path=self.manifest.path)
        return self.operators[found]

    __getitem__ = find

    def kernels(self) -> list[tuple[LinkedOperator, Variant]]:
        """Every kernel with its operator, registered or not, in the manifest's order."""
        return [(linked, v) for linked in self for variants in linked.variants.values() for v in variants]


def load_registry(
    path: str | Path, dispatcher: Dispatcher | None = None, *, partly: bool = False
) -> Registry:
    """The operators and kernels of the manifest at *path*, registered entirely or not at all.

    No kernel is imported: that happens at the first call that needs it.

    Args:
        dispatcher: None: a new one.  The manifest may extend the operators that it has.
        partly: leave out the operators with faults, where all faults are those of operators.

    Raises:
        ManifestError: the manifest has faults; all of them are in ``diagnostics``.
        ArgumentError: C10E405, *path* is none.
        RegistrationError: the dispatcher has an operator of the manifest
            already, or a kernel of one that the manifest extends.
    """
    if not isinstance(path, str | Path):
        raise refusals.wrong_argument("load_registry(...)", "the path of a manifest", path)
    operators = dispatcher.operators() if dispatcher is not None else []
    outside = {op.name: op.schema for op in operators}
    manifest = require_manifest(Path(path), outside=outside, partly=partly)
    return link_manifest(manifest, dispatcher)


def link_manifest(manifest: Manifest, dispatcher: Dispatcher | None = None) -> Registry:
    """The operators and kernels of *manifest*, registered; see `load_registry`."""
    dispatcher = Dispatcher() if dispatcher is None else dispatcher
    installed = lru_cache(maxsize=None)(is_installed)  # one answer per package and registry
    known = {op.name: op for op in dispatcher.operators()}
    with dispatcher.transaction():
        operators = {
            decl.name: _link_operator(decl, _handle(decl, dispatcher, known), installed)
            for decl in manifest.operators
        }
    return Registry(manifest, dispatcher, operators)


def _handle(
    decl: OperatorDecl, dispatcher: Dispatcher, known: Mapping[OperatorName, OperatorHandle]
) -> OperatorHandle:
    """The operator of *decl*, registered now, or the one of *known*, the dispatcher's own, that it extends.

    Raises:
        ManifestError: C10E303, it is not there, or no longer the one that the manifest was read for.
    """
    if not decl.is_outside:
        return dispatcher.register_schema(decl.schema, domain=decl.domain, site=str(decl.schema_span))
    op = known.get(decl.name)
    if op is None or op.schema != decl.schema:
        fact = f"the dispatcher has no operator `{decl.schema}`, which this entry extends"
        raise ManifestError(Diagnostic("C10E303", fact, decl.schema_span, help="register its schema first"))
    return op


def _link_operator(
    decl: OperatorDecl, handle: OperatorHandle, installed: Callable[[str], bool]
) -> LinkedOperator:
    variants = {}
    for key in decl.dispatch_keys:
        override = decl.is_outside and _overrides(decl, handle, key)
        variants[key] = resolve_variants(decl.variants(key), installed)
        taken = [variant.kernel for variant in variants[key] if variant.taken]
        for kernel in reversed(taken):  # of equals the last one is asked first
            _register(handle, kernel, override=override or kernel is not taken[-1])
    return LinkedOperator(decl, handle, variants)


def _overrides(decl: OperatorDecl, handle: OperatorHandle, key: str) -> bool:
    """Whether the kernels that manifests add for *key* come before one of the dispatcher's.

    Raises:
        RegistrationError: C10E302, the dispatcher has one, and a manifest does not say that it
            overrides it; C10E309, a manifest says so, and there is none to override.
    """
    lowest = decl.variants(key)[-1]  # those above it override others of the manifests
    present = handle.table().registrations.get(DispatchKey(key), ())
    if present and not lowest.override:
        entry = KernelEntry(DispatchKey(key), ManifestKernel(lowest), str(lowest.span))
        error = refusals.registered_twice(handle, present[-1], entry)
        help = f'leave it out, or say why it comes first: `override: {{{key}: "…"}}`'
        finding = replace(error.diagnostics[0], span=lowest.span, place="", help=help)
        raise RegistrationError(finding, **error.facts)
    if lowest.override and not present:
        fact = f"`override` of `{decl.name}` names `{key}`, for which nobody else has kernels"
        help = f"leave `{key}` out of `override`"
        raise RegistrationError(Diagnostic("C10E309", fact, lowest.key_span, help=help))
    return bool(present)


def _register(handle: OperatorHandle, kernel: KernelDecl, *, override: bool = False) -> None:
    source, key = ManifestKernel(kernel), kernel.dispatch_key
    try:
        handle.dispatcher.register_kernel(
            handle,
            key,
            source,
            arrays=kernel.libraries or "",
            when=kernel.when,
            override=override,
            site=str(kernel.span),
        )
    except SchemaError as error:  # of an operator of the dispatcher's, whose domain it has
        found = check_condition(kernel, f"`{handle.name}`", handle.schema, handle.domain)
        raise ManifestError(*found) from error


def resolve_variants(
    kernels: tuple[KernelDecl, ...], installed: Callable[[str], bool] = is_installed
) -> tuple[Variant, ...]:
    """Which of *kernels*, best first, are registered: those that are here and take what is left to them."""
    count = len(kernels)
    chosen: list[KernelDecl] = []
    variants: list[Variant] = []
    for kernel in kernels:
        missing = tuple(package for package in kernel.requires if not installed(package))
        before = next((other for other in chosen if covers(other, kernel)), None)
        if missing:
            reason = f"needs {', '.join(f'`{package}`' for package in missing)}, not installed"
        elif before is not None:
            reason = f"`{before.name}` comes before it"
        elif count == 1:
            reason = "the only variant"
        elif chosen:
            reason = f"takes what `{chosen[-1].name}` leaves"
        else:
            reason = f"the first of {count} whose needs are met" if variants else f"the best of {count}"
        taken = not missing and before is None
        chosen += [kernel] if taken else []
        if kernel.override:
            reason = f"{reason}; override: {kernel.override}"
        variants.append(Variant(kernel, taken, reason, missing))
    return tuple(variants)


def covers(kernel: KernelDecl, other: KernelDecl) -> bool:
    """Whether *kernel* takes every call that *other* takes."""
    if kernel.when and _spelled(kernel.when) != _spelled(other.when):
        return False
    mine, others = kernel.libraries, other.libraries
    return mine is None or (others is not None and others <= mine)


def _spelled(when: str) -> str:
    """A condition in one spelling; as it is where it has a fault, which is found elsewhere."""
    try:
        return part_of(parse_expression(when).tree).text
    except ManifestError:
        return when
