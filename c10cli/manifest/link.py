"""From a manifest to a dispatcher: which variants are registered, and why not the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from c10cli.arrays.devices import Device, device_of, is_installed
from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.torch_words import with_torch_objects
from c10cli.dispatch.dispatcher import Dispatcher, OperatorHandle, with_package
from c10cli.dispatch.kernel import BoundKernel, bind_kernel
from c10cli.dispatch.names import select_name
from c10cli.entry_points.importing import load_entry_point
from c10cli.errors import (
    C10Error,
    Diagnostic,
    DispatchError,
    ManifestError,
    RegistrationError,
    Span,
    UnknownOperatorError,
    counted,
    did_you_mean,
)
from c10cli.manifest.load import require_manifest
from c10cli.manifest.model import KernelDecl, Manifest, OperatorDecl
from c10cli.schema.model import FunctionSchema, OperatorName

__all__ = ["LinkedOperator", "Registry", "Variant", "link_manifest", "load_registry"]


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
            cache = load_entry_point(kernel.cache) if kernel.cache else None
            function = load_entry_point(kernel.entry_point)
            if kernel.arrays == "torch" and callable(function) and not kernel.boxed:
                function = with_torch_objects(schema, function)
            return bind_kernel(schema, self.name, function, cache, boxed=kernel.boxed)
        except RegistrationError as error:
            raise _placed(error, kernel) from error


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

    def variant(self, dispatch_key: str, name: str) -> Variant:
        """The variant *name* of *dispatch_key*.

        Raises:
            UnknownOperatorError: C10E412, there is none; with those there are.
        """
        known = {v.kernel.name: v for v in self.variants.get(dispatch_key, ())}
        if name in known:
            return known[name]
        listed = ", ".join(f"`{k}`" for k in known) or "none"
        fact = f"`{self.decl.name}` has no variant `{name}` for {dispatch_key}; there is {listed}"
        todo = f"see `c10 show {self.decl.name}`"
        raise UnknownOperatorError(
            Diagnostic("C10E412", fact, help=did_you_mean(name, known) or todo), variant=name
        )

    def device(self, dispatch_key: str) -> Device:
        """What this machine has for the tensors of the kernel that serves *dispatch_key*."""
        taken = next((v for v in self.variants.get(dispatch_key, ()) if v.taken), None)
        return taken.kernel.device if taken else device_of(dispatch_key)

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

    def __getitem__(self, name: str) -> LinkedOperator:
        return self.find(name)

    def __repr__(self) -> str:
        return f"<Registry {self.manifest.path}: {counted(len(self), 'operator')}>"

    def find(self, name: str) -> LinkedOperator:
        """The operator that *name* means; namespace and overload may be left out where that is clear.

        Raises:
            UnknownOperatorError: C10E401.
            AmbiguousOverloadError: C10E402.
        """
        return self.operators[select_name(name, list(self.operators))]

    def kernels(self) -> list[tuple[LinkedOperator, Variant]]:
        """Every kernel with its operator, registered or not, in the manifest's order."""
        return [
            (linked, variant)
            for linked in self.operators.values()
            for variants in linked.variants.values()
            for variant in variants
        ]


def load_registry(path: str | Path, dispatcher: Dispatcher | None = None) -> Registry:
    """The operators and kernels of the manifest at *path*, registered entirely or not at all.

    No kernel is imported: that happens at the first call that needs it.

    Args:
        dispatcher: None: a new one.  The manifest may extend the operators that it has.

    Raises:
        ManifestError: the manifest has faults; all of them are in ``diagnostics``.
        RegistrationError: the dispatcher has an operator of the manifest
            already, or a kernel of one that the manifest extends.
    """

    def schemas() -> Mapping[OperatorName, FunctionSchema]:
        return {op.name: op.schema for op in dispatcher.operators()} if dispatcher is not None else {}

    return link_manifest(require_manifest(Path(path), outside=schemas), dispatcher)


def link_manifest(manifest: Manifest, dispatcher: Dispatcher | None = None) -> Registry:
    """The operators and kernels of *manifest*, registered; see `load_registry`."""
    dispatcher = Dispatcher() if dispatcher is None else dispatcher
    installed = lru_cache(maxsize=None)(is_installed)  # one answer per package and registry
    with dispatcher.transaction():
        known = _outside_operators(manifest, dispatcher)
        operators = {
            decl.name: _link_operator(
                decl, known[decl.name] if decl.is_outside else _define(decl, dispatcher), installed
            )
            for decl in manifest.operators
        }
    return Registry(manifest, dispatcher, operators)


def _define(decl: OperatorDecl, dispatcher: Dispatcher) -> OperatorHandle:
    return dispatcher.register_schema(decl.schema, site=_site(decl.schema_span))


def _site(span: Span) -> str:
    try:
        folder = os.path.dirname(os.path.abspath(span.file))  # noqa: PTH100, PTH120 - total, and quick
    except OSError:  # a relative path, and the current folder is gone
        folder = ""
    return with_package(str(span), _package_of(folder))


@lru_cache(maxsize=256)
def _package_of(folder: str) -> str:
    """The Python package that the absolute path *folder* is of; empty where it is of none."""
    package, path = "", Path(os.path.realpath(folder))  # total, unlike resolve()
    while folder and os.path.exists(path / "__init__.py"):  # noqa: PTH110 - total, whatever the text
        package, path = path.name, path.parent
    return package


def _outside_operators(manifest: Manifest, dispatcher: Dispatcher) -> dict[OperatorName, OperatorHandle]:
    """The dispatcher's operators that *manifest* extends.

    Raises:
        ManifestError: C10E303, one is not there, or no longer the one that the manifest was read for.
    """
    extended = [decl for decl in manifest.operators if decl.is_outside]
    known = {op.name: op for op in dispatcher.operators()} if extended else {}
    for decl in extended:
        if decl.name not in known or known[decl.name].schema != decl.schema:
            fact = f"the dispatcher has no operator `{decl.schema}`, which this entry extends"
            help = "register its schema first"
            raise ManifestError(Diagnostic("C10E303", fact, decl.schema_span, help=help))
    return known


def _link_operator(
    decl: OperatorDecl, handle: OperatorHandle, installed: Callable[[str], bool]
) -> LinkedOperator:
    variants = {}
    for key in decl.dispatch_keys:
        override = decl.is_outside and _overrides(decl, handle, key)
        variants[key] = resolve_variants(decl.variants(key), installed)
        for variant in variants[key]:
            if variant.taken:
                _register(handle, variant.kernel, override=override)
    return LinkedOperator(decl, handle, variants)


def _overrides(decl: OperatorDecl, handle: OperatorHandle, key: str) -> bool:
    """Whether the kernels that manifests add for *key* come before one of the dispatcher's.

    Raises:
        RegistrationError: C10E302, the dispatcher has one, and a manifest does not say that it
            overrides it; C10E309, a manifest says so, and there is none to override.
    """
    kernels = decl.variants(key)
    adding = [kernel for kernel in kernels if not kernel.override]
    is_occupied = DispatchKey(key) in handle.table().registrations
    if is_occupied and adding:
        _register(handle, adding[0])  # which is refused, whatever is installed here
    if not is_occupied and not adding:
        fact = f"`override` of `{decl.name}` names `{key}`, for which nobody else has kernels"
        help = f"leave `{key}` out of `override`"
        raise RegistrationError(Diagnostic("C10E309", fact, kernels[-1].key_span, help=help))
    return is_occupied


def _register(handle: OperatorHandle, kernel: KernelDecl, *, override: bool = False) -> None:
    source, key = ManifestKernel(kernel), kernel.dispatch_key
    try:
        handle.dispatcher.register_kernel(handle, key, source, override=override, site=_site(kernel.span))
    except RegistrationError as error:
        if error.code != "C10E302":
            raise
        todo = f'leave it out, or say why it comes first: `override: {{{key}: "…"}}`'
        raise RegistrationError(
            *(replace(d, span=kernel.span, place="", help=todo) for d in error.diagnostics), **error.facts
        ) from error


def resolve_variants(
    kernels: tuple[KernelDecl, ...], installed: Callable[[str], bool] = is_installed
) -> tuple[Variant, ...]:
    """Which of *kernels*, best first, is registered: the first one whose needs are met."""
    chosen: KernelDecl | None = None
    variants = []
    for kernel in kernels:
        missing = tuple(package for package in kernel.requires if not installed(package))
        if missing:
            reason = f"needs {', '.join(f'`{package}`' for package in missing)}, not installed"
        elif chosen is not None:
            reason = f"`{chosen.name}` comes before it"
        elif len(kernels) == 1:
            reason = "the only variant"
        else:
            count = len(kernels)
            reason = f"the first of {count} whose needs are met" if kernel.rank else f"the best of {count}"
        taken = chosen is None and not missing
        if taken:
            chosen = kernel
        if kernel.override:
            reason = f"{reason}; override: {kernel.override}"
        variants.append(Variant(kernel, taken, reason, missing))
    return tuple(variants)


def _placed(error: C10Error, kernel: KernelDecl) -> RegistrationError:
    """*error* at the kernel's place in the manifest, where it has none of its own."""
    diagnostics = [d if d.span else replace(d, span=kernel.span) for d in error.diagnostics]
    return RegistrationError(*diagnostics, **error.facts)
