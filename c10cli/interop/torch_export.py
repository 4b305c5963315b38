"""The operators and kernels of a registry, registered with torch.

    export_to_torch(load_registry("registry.yaml"))
    torch.ops.c10.layer_norm(x)

A registration into torch lasts until the process ends: an operator object that
outlives its library takes the process down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from c10cli.arrays.devices import is_installed
from c10cli.describe import error_text
from c10cli.errors import Diagnostic, RegistrationError, SchemaError
from c10cli.interop.imported import matches_name
from c10cli.interop.torch_kernel import make_torch_kernel
from c10cli.manifest.link import LinkedOperator, Registry, Variant
from c10cli.manifest.model import OperatorDecl
from c10cli.schema.parser import parse_schema

__all__ = [
    "EXPORTED_KEYS",
    "TorchExport",
    "check_exportable",
    "export_to_torch",
    "exported_kernels",
    "select_operators",
]

# The dispatch keys whose kernels are exported, and the libraries whose arrays those can take.
EXPORTED_KEYS = {"CPU": ("", "numpy", "torch"), "CUDA": ("", "torch")}


@dataclass(frozen=True, slots=True)
class TorchExport:
    """What was registered with torch.

    Args:
        operators: their names, all of them now under ``torch.ops``.
        kernels: per operator and dispatch key, the kernel's entry point.
        libraries: the `torch.library.Library` objects that hold them.
    """

    operators: tuple[str, ...]
    kernels: dict[tuple[str, str], str]
    libraries: tuple[Any, ...]


_SHOWN_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class _Kept:
    """One registration of the past, kept since torch would take the operators away with their library.

    Args:
        declared: per operator its schema and the entry points of its kernels.
    """

    registry: Path
    declared: dict[str, tuple[str, ...]]
    exported: TorchExport


_kept: list[_Kept] = []


def export_to_torch(registry: Registry, library: Any = None, *, select: Sequence[str] = ()) -> TorchExport:
    """Register the operators of *registry* with torch, and their CPU and CUDA kernels.

    A kernel is imported at its first call.  Nothing is registered where one
    operator cannot be.  The same operators of the same registry file are
    registered once: asked again, what was registered then is the result.

    Args:
        library: a `torch.library.Library` that may define operators, of the
            operators' namespace; None: one of our own for each namespace.
        select: parts of names, or patterns for whole ones; empty: all.

    Raises:
        SchemaError: C10E205 and others, schemas that torch cannot express, all of them.
        RegistrationError: C10E301, torch has such an operator; C10E304, there is
            no torch; C10E309, an operator is of another namespace than
            *library*, or torch refuses it.
    """
    if not is_installed("torch"):
        fact = f"the operators of `{registry.manifest.path}` cannot be registered: torch is not installed"
        raise RegistrationError(Diagnostic("C10E304", fact, help="pip install torch"))
    import torch

    chosen = select_operators(registry.operators.values(), select)
    check_exportable([linked.decl for linked in chosen])
    path, declared = registry.manifest.path.resolve(), {str(o.decl.name): _declared(o) for o in chosen}
    for kept in _kept:
        if library is None and (kept.registry, kept.declared) == (path, declared):
            return kept.exported
    taken = set(torch._C._dispatch_get_all_op_names())
    findings = [found for linked in chosen for found in _torch_faults(linked.decl, library, taken)]
    if findings:
        raise RegistrationError(*_first(findings))
    libraries = {library.ns: library} if library is not None else {}
    kernels = _register_all(chosen, libraries)
    exported = TorchExport(tuple(str(o.decl.name) for o in chosen), kernels, tuple(libraries.values()))
    _kept.append(_Kept(path, declared, exported))
    return exported


def _declared(linked: LinkedOperator) -> tuple[str, ...]:
    """What makes an operator of a registry file the same as the one registered from it before."""
    kernels = exported_kernels(linked).items()
    return (
        str(linked.decl.schema),
        *(f"{key} {c.kernel.entry_point.folder}/{c.kernel.entry_point}" for key, c in kernels),
    )


def select_operators(operators: Iterable[LinkedOperator], select: Sequence[str]) -> list[LinkedOperator]:
    """Those of *operators* that *select* names; all where it is empty."""
    return [o for o in operators if not select or any(matches_name(str(o.decl.name), p) for p in select)]


def exported_kernels(linked: LinkedOperator) -> dict[str, Variant]:
    """The kernel of each dispatch key that torch can call: the registered one, if it takes such arrays."""
    return {
        key: candidate
        for key, libraries in EXPORTED_KEYS.items()
        for candidate in linked.variants.get(key, ())
        if candidate.taken and candidate.kernel.arrays in libraries
    }


def check_exportable(operators: Sequence[OperatorDecl]) -> None:
    """Refuse what torch has no text for; asks no torch.

    Raises:
        SchemaError: with a finding for each such operator.
    """
    findings: list[Diagnostic] = []
    for operator in operators:
        try:
            operator.schema.to_torch_string()
        except SchemaError as error:
            findings += [_at(operator, found) for found in error.diagnostics]
    if findings:
        raise SchemaError(*_first(findings))


def _at(operator: OperatorDecl, found: Diagnostic) -> Diagnostic:
    message = f"`{operator.name}` cannot be registered with torch: {found.message}"
    return replace(found, message=message, span=operator.schema_span)


def _torch_faults(operator: OperatorDecl, library: Any, taken: set[str]) -> list[Diagnostic]:
    """Why torch, which has the operators *taken*, could not take *operator*."""
    import torch

    name = operator.name
    if library is not None and library.ns != name.namespace:
        fact = f"`{name}` cannot be defined in a library of namespace `{library.ns}`"
        return [Diagnostic("C10E309", fact, operator.schema_span, help="leave `library` out")]
    if str(name) in taken:
        return [_taken_by(operator)]
    try:
        read = str(torch._C.parse_schema(str(operator.schema)))
    except RuntimeError as error:
        return list(_refused(operator, error_text(error).strip().splitlines()[0]).diagnostics)
    if _say_the_same(read, operator.schema.to_torch_string()):
        return []
    return list(_refused(operator, f"it reads the schema as `{read}`").diagnostics)


def _taken_by(operator: OperatorDecl) -> Diagnostic:
    """The finding that torch has an operator of that name, and who registered it if we did."""
    name = str(operator.name)
    fact = f"`{name}` cannot be registered with torch, which has an operator of that name"
    kept = next((kept for kept in _kept if name in kept.declared), None)
    if kept is None:
        return Diagnostic("C10E301", fact, operator.schema_span, help="choose another namespace")
    note = f"c10cli registered it in this process, from `{kept.registry}`"
    todo = "register it once: what torch has, it keeps until the process ends"
    return Diagnostic("C10E301", fact, operator.schema_span, notes=(note,), help=todo)


def _say_the_same(read: str, meant: str) -> bool:
    """Whether two schemas that torch printed are one; the order of alias sets is torch's hash order."""
    if read == meant:
        return True
    try:
        return parse_schema(read, "torch") == parse_schema(meant, "torch")
    except SchemaError:  # torch prints some defaults so that nobody can read them
        return False


def _register_all(chosen: Sequence[LinkedOperator], libraries: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Register *chosen*, in *libraries* or in new ones that are added there; all of it or nothing."""
    import torch

    new_library: Any = torch.library.Library
    made = []
    kernels: dict[tuple[str, str], str] = {}
    for linked in chosen:
        namespace = linked.decl.name.namespace
        try:
            if namespace not in libraries:
                libraries[namespace] = new_library(namespace, "FRAGMENT")
                made.append(libraries[namespace])
            kernels |= _register(linked, libraries[namespace])
        except (RuntimeError, ValueError) as error:
            for own in made:
                own._destroy()
            raise _refused(linked.decl, " ".join(error_text(error).split())) from error
    return kernels


def _register(linked: LinkedOperator, library: Any) -> dict[tuple[str, str], str]:
    """Define one operator; the entry points of its kernels by name and dispatch key."""
    name = linked.decl.name
    # With the namespace spelt out, torch raises when the interpreter ends.
    plain, schema = (str(text).removeprefix(f"{name.namespace}::") for text in (name, linked.decl.schema))
    library.define(schema)
    kernels = exported_kernels(linked)
    for key, candidate in kernels.items():
        library.impl(plain, make_torch_kernel(linked, candidate), key)
    return {(str(name), key): candidate.kernel.entry_point.text for key, candidate in kernels.items()}


def _first(findings: list[Diagnostic]) -> list[Diagnostic]:
    """*findings*, or of very many the first: a registry may hold all of torch."""
    left = len(findings) - _SHOWN_FINDINGS
    if left <= 0:
        return findings
    shown = findings[:_SHOWN_FINDINGS]
    return [*shown[:-1], shown[-1].with_notes(f"the same holds for {left} more operators")]


def _refused(operator: OperatorDecl, reason: str) -> RegistrationError:
    fact = f"torch refuses `{operator.name}`: {reason}"
    return RegistrationError(Diagnostic("C10E309", fact, operator.schema_span), operator=str(operator.name))
