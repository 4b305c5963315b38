"""From a manifest to a dispatcher: which candidates are registered, and why not the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from c10cli.arrays.devices import is_installed
from c10cli.arrays.torch_words import with_torch_objects
from c10cli.dispatch import Dispatcher, OperatorHandle
from c10cli.dispatch.kernel import BoundKernel, CacheCreator, KernelFunction, bind_kernel
from c10cli.dispatch.names import select_name
from c10cli.errors import C10Error, Diagnostic, RegistrationError, UnknownOperatorError, did_you_mean
from c10cli.manifest.load import require_manifest
from c10cli.manifest.loading import load_entry_point
from c10cli.manifest.model import KernelDecl, Manifest, OperatorDecl
from c10cli.schema import FunctionSchema, OperatorName

__all__ = ["Candidate", "LinkedOperator", "Registry", "link_manifest", "load_registry"]


@dataclass(frozen=True, slots=True)
class ManifestKernel:
    """A kernel of a manifest, loaded when a call first needs it."""

    kernel: KernelDecl
    schema: FunctionSchema

    @property
    def name(self) -> str:
        """The entry point's text, which says where the kernel is."""
        return self.kernel.entry_point.text

    def load(self) -> tuple[KernelFunction, CacheCreator | None, bool]:
        """The function, its cache creator and whether it is boxed; imports their modules.

        Raises:
            RegistrationError: C10E304, C10E305, C10E310, at its place in the manifest.
        """
        try:
            loaded = self._load()
            bind_kernel(self.schema, _Loaded(self.name, loaded))  # here, where the place is known
        except RegistrationError as error:
            raise _placed(error, self.kernel) from error
        return loaded

    def _load(self) -> tuple[KernelFunction, CacheCreator | None, bool]:
        cache = load_entry_point(self.kernel.cache) if self.kernel.cache else None
        function = load_entry_point(self.kernel.entry_point)
        if self.kernel.arrays == "torch" and callable(function) and not self.kernel.boxed:
            function = with_torch_objects(self.schema, function)
        return function, cache, self.kernel.boxed


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A kernel of a manifest whose modules are imported."""

    name: str
    kernel: tuple[KernelFunction, CacheCreator | None, bool]

    def load(self) -> tuple[KernelFunction, CacheCreator | None, bool]:
        """The kernel."""
        return self.kernel


@dataclass(frozen=True, slots=True)
class Candidate:
    """One variant of a key, whether it is the registered one, and the reason."""

    kernel: KernelDecl
    taken: bool
    reason: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkedOperator:
    """An operator of a manifest, registered.

    Args:
        candidates: per dispatch key its variants, best first.
    """

    decl: OperatorDecl
    handle: OperatorHandle
    candidates: Mapping[str, tuple[Candidate, ...]]

    def variant(self, dispatch_key: str, name: str) -> Candidate:
        """The variant *name* of *dispatch_key*.

        Raises:
            UnknownOperatorError: C10E412, there is none; with those there are.
        """
        known = {c.kernel.name: c for c in self.candidates.get(dispatch_key, ())}
        if name in known:
            return known[name]
        listed = ", ".join(f"`{k}`" for k in known) or "none"
        fact = f"`{self.decl.name}` has no variant `{name}` for {dispatch_key}; there is {listed}"
        todo = f"see `c10 show {self.decl.name}`"
        raise UnknownOperatorError(
            Diagnostic("C10E412", fact, help=did_you_mean(name, known) or todo), variant=name
        )

    def bind(self, kernel: KernelDecl) -> BoundKernel:
        """*kernel* of this operator, imported and checked against the schema.

        Raises:
            RegistrationError: C10E304, C10E305, C10E310, at its place in the manifest.
        """
        return bind_kernel(self.decl.schema, ManifestKernel(kernel, self.decl.schema))


@dataclass(frozen=True, slots=True)
class Registry:
    """A manifest's operators in a dispatcher."""

    manifest: Manifest
    dispatcher: Dispatcher
    operators: Mapping[OperatorName, LinkedOperator]

    def find(self, name: str) -> LinkedOperator:
        """The operator that *name* means; namespace and overload may be left out where that is clear.

        Raises:
            UnknownOperatorError: C10E401.
            AmbiguousOverloadError: C10E402.
        """
        return self.operators[select_name(name, list(self.operators))]

    def kernels(self) -> list[tuple[LinkedOperator, Candidate]]:
        """Every kernel with its operator, registered or not, in the manifest's order."""
        return [
            (linked, candidate)
            for linked in self.operators.values()
            for candidates in linked.candidates.values()
            for candidate in candidates
        ]


def load_registry(path: str | Path, dispatcher: Dispatcher | None = None) -> Registry:
    """The operators and kernels of the manifest at *path*, registered entirely or not at all.

    No kernel is imported: that happens at the first call that needs it.

    Args:
        dispatcher: None: a new one.

    Raises:
        ManifestError: the manifest has faults; all of them are in ``diagnostics``.
        RegistrationError: the dispatcher has an operator of the manifest already.
    """
    return link_manifest(require_manifest(Path(path)), dispatcher)


def link_manifest(manifest: Manifest, dispatcher: Dispatcher | None = None) -> Registry:
    """The operators and kernels of *manifest*, registered; see `load_registry`."""
    dispatcher = Dispatcher() if dispatcher is None else dispatcher
    installed = lru_cache(maxsize=None)(is_installed)  # one answer per package and registry
    with dispatcher.transaction():
        operators = {decl.name: _link_operator(decl, dispatcher, installed) for decl in manifest.operators}
    return Registry(manifest, dispatcher, operators)


def _link_operator(
    decl: OperatorDecl, dispatcher: Dispatcher, installed: Callable[[str], bool]
) -> LinkedOperator:
    handle = dispatcher.register_schema(decl.schema, site=str(decl.schema_span))
    candidates = {}
    for key in decl.dispatch_keys:
        candidates[key] = resolve_candidates(decl.candidates(key), installed)
        for candidate in candidates[key]:
            if candidate.taken:
                kernel = candidate.kernel
                source = ManifestKernel(kernel, decl.schema)
                dispatcher.register_kernel(handle, key, source, site=str(kernel.span))
    return LinkedOperator(decl, handle, candidates)


def resolve_candidates(
    kernels: tuple[KernelDecl, ...], installed: Callable[[str], bool] = is_installed
) -> tuple[Candidate, ...]:
    """Which of *kernels*, best first, is registered: the first one whose needs are met."""
    chosen: KernelDecl | None = None
    candidates = []
    for kernel in kernels:
        missing = tuple(package for package in kernel.requires if not installed(package))
        if missing:
            packages = ", ".join(f"`{package}`" for package in missing)
            candidates.append(Candidate(kernel, False, f"needs {packages}, not installed", missing))
        elif chosen is None:
            chosen = kernel
            candidates.append(Candidate(kernel, True, "first whose needs are met" if kernel.rank else "best"))
        else:
            candidates.append(Candidate(kernel, False, f"`{chosen.name}` comes before it"))
    return tuple(candidates)


def _placed(error: C10Error, kernel: KernelDecl) -> RegistrationError:
    """*error* at the kernel's place in the manifest, where it has none of its own."""
    diagnostics = [d if d.span else replace(d, span=kernel.span) for d in error.diagnostics]
    return RegistrationError(*diagnostics, **error.facts)
