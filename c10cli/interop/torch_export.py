"""The operators and kernels of a registry, registered with torch.

    export_to_torch(load_registry("registry.yaml"))
    torch.ops.c10.layer_norm(x)

A registration into torch lasts until the process ends: an operator object that
outlives its library takes the process down.
"""

from __future__ import annotations

import keyword
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from c10cli import __version__
from c10cli.arrays.devices import is_installed
from c10cli.describe import error_text
from c10cli.dispatch.names import matches_name
from c10cli.errors import Diagnostic, RegistrationError, ReportError, SchemaError
from c10cli.interop.torch_fake import is_functional, make_fake_kernel, refuse_gradient, why_no_fake
from c10cli.interop.torch_kernel import make_torch_kernel
from c10cli.manifest.declarations import OperatorDecl
from c10cli.manifest.discover import shipped_registry
from c10cli.manifest.link import LinkedOperator, Registry, Variant
from c10cli.schema.parser import parse_schema

# The dispatch keys whose kernels are exported, and the libraries whose arrays those can take.
EXPORTED_KEYS = {"CPU": ("", "numpy", "torch"), "CUDA": ("", "torch")}
_SHOWN_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class TorchExport:
    """The names of what was registered, now under ``torch.ops``, and the `torch.library.Library` objects."""

    operators: tuple[str, ...]
    libraries: tuple[Any, ...]


# Every export of this process, by its registry and what its operators were declared as: torch
# would take the operators away with their library.
_kept: dict[tuple[Path, tuple[str, ...]], TorchExport] = {}


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

    chosen = select_operators(registry, select)
    check_exportable([linked.decl for linked in chosen])
    known = registry.manifest.path.resolve(), tuple(text for linked in chosen for text in _declared(linked))
    if library is None and known in _kept:
        return _kept[known]
    taken = set(torch._C._dispatch_get_all_op_names())
    findings = [_torch_fault(linked.decl, library, taken) for linked in chosen]
    if any(findings):
        raise RegistrationError(*_first([found for found in findings if found]))
    libraries = {library.ns: library} if library is not None else {}
    _register_all(chosen, libraries)
    _kept[known] = TorchExport(tuple(str(o.decl.name) for o in chosen), tuple(libraries.values()))
    return _kept[known]


def _declared(linked: LinkedOperator) -> Iterable[str]:
    """What makes an operator of a registry file the same as the one registered from it before."""
    yield str(linked.decl.schema)
    for key, variants in exported_kernels(linked).items():
        yield from (f"{key} {v.kernel.entry_point.folder}/{v.kernel.entry_point}" for v in variants)


def select_operators(operators: Iterable[LinkedOperator], select: Sequence[str]) -> list[LinkedOperator]:
    """Those of *operators* that *select* names; all where it is empty."""
    return [linked for linked in operators if matches_name(str(linked.decl.name), select)]


def exported_kernels(linked: LinkedOperator) -> dict[str, list[Variant]]:
    """The variants of each dispatch key that torch can call: those for its own tensors before others."""
    found = {}
    for key, libraries in EXPORTED_KEYS.items():
        variants = [v for v in linked.variants.get(key, ()) if v.taken and v.kernel.arrays in libraries]
        variants.sort(key=lambda variant: variant.kernel.arrays != "torch")
        if variants:
            found[key] = variants
    return found


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
            fact = f"`{operator.name}` cannot be registered with torch: {error.diagnostics[0].message}"
            findings.append(replace(error.diagnostics[0], message=fact, span=operator.schema_span))
    if findings:
        raise SchemaError(*_first(findings))


def _torch_fault(operator: OperatorDecl, library: Any, taken: set[str]) -> Diagnostic | None:
    """Why torch, which has the operators *taken*, could not take *operator*."""
    import torch

    name = operator.name
    if library is not None and library.ns != name.namespace:
        fact = f"`{name}` cannot be defined in a library of namespace `{library.ns}`"
        return Diagnostic("C10E309", fact, operator.schema_span, help="leave `library` out")
    if str(name) in taken:
        return _taken(operator)
    try:
        read = str(torch._C.parse_schema(str(operator.schema)))
    except RuntimeError as error:
        return _refused(operator, error_text(error).strip().splitlines()[0])
    if _say_the_same(read, operator.schema.to_torch_string()):
        return None
    return _refused(operator, f"it reads the schema as `{read}`")


def _taken(operator: OperatorDecl) -> Diagnostic:
    """The finding that torch has an operator of that name, and who registered it if we did."""
    name, span = str(operator.name), operator.schema_span
    fact = f"`{name}` cannot be registered with torch, which has an operator of that name"
    for (path, _), exported in _kept.items():
        if name in exported.operators:
            note = f"c10cli registered it in this process, from `{path}`"
            todo = "register it once: what torch has, it keeps until the process ends"
            return Diagnostic("C10E301", fact, span, notes=(note,), help=todo)
    return Diagnostic("C10E301", fact, span, help="choose another namespace")


def _say_the_same(read: str, meant: str) -> bool:
    """Whether two schemas that torch printed are one; the order of alias sets is torch's hash order."""
    try:
        return read == meant or parse_schema(read, "torch") == parse_schema(meant, "torch")
    except SchemaError:  # torch prints some defaults so that nobody can read them
        return False


def _register_all(chosen: Sequence[LinkedOperator], libraries: dict[str, Any]) -> None:
    """Register *chosen*, in *libraries* or in new ones that are added there; all of it or nothing."""
    import torch

    new_library: Any = torch.library.Library
    made = []
    for linked in chosen:
        namespace = linked.decl.name.namespace
        try:
            if namespace not in libraries:
                libraries[namespace] = new_library(namespace, "FRAGMENT")
                made.append(libraries[namespace])
            _register(linked, libraries[namespace])
        except (RuntimeError, ValueError) as error:
            for own in made:
                own._destroy()
            refused = _refused(linked.decl, " ".join(error_text(error).split()))
            raise RegistrationError(refused, operator=str(linked.decl.name)) from error


def _register(linked: LinkedOperator, library: Any) -> None:
    import torch

    name = linked.decl.name
    # With the namespace spelt out, torch raises when the interpreter ends.
    plain, schema = (str(text).removeprefix(f"{name.namespace}::") for text in (name, linked.decl.schema))
    library.define(schema)
    for key, variants in exported_kernels(linked).items():
        library.impl(plain, make_torch_kernel(linked, variants), key)
    if not why_no_fake(linked.decl.schema, linked.decl.domain):
        torch.library.register_fake(str(name), make_fake_kernel(linked), lib=library)
    if is_functional(linked.decl.schema):
        torch.library.register_autograd(str(name), refuse_gradient(linked.decl.schema), lib=library)


def _first(findings: list[Diagnostic]) -> list[Diagnostic]:
    """*findings*, or of very many the first: a registry may hold all of torch."""
    left = len(findings) - _SHOWN_FINDINGS
    if left <= 0:
        return findings
    *shown, last = findings[:_SHOWN_FINDINGS]
    return [*shown, last.with_notes(f"the same holds for {left} more operators")]


def _refused(operator: OperatorDecl, reason: str) -> Diagnostic:
    return Diagnostic("C10E309", f"torch refuses `{operator.name}`: {reason}", operator.schema_span)


_MODULE = '''\
"""The operators of `{name}` under `torch.ops`, registered when this module is imported.

Written by `c10 export --to torch` of c10cli {version}; the registry is read at the import.
"""

from pathlib import Path

from c10cli import load_registry
from c10cli.interop.torch_export import export_to_torch
from c10cli.manifest.discover import shipped_registry

EXPORTED = export_to_torch(load_registry({registry}){select})
'''


def render_module(registry: Path, target: Path, select: Sequence[str] = ()) -> str:
    """The module for *target*, which finds *registry* relative to itself.

    The registry that c10cli ships is found wherever c10cli is installed.

    Raises:
        ReportError: C10E701, no relative path leads from the one to the other.
    """
    shipped = shipped_registry()
    if shipped is not None and shipped.samefile(registry):
        found, unused = "shipped_registry()", "from pathlib import Path\n\n"
    else:
        try:
            path = os.path.relpath(registry.resolve(), target.parent.resolve())
        except ValueError as error:  # another drive of Windows
            fact = f"no relative path leads from `{target}` to `{registry}`"
            todo = "write the module beside the registry"
            raise ReportError(Diagnostic("C10E701", fact, help=todo)) from error
        found = f"Path(__file__).resolve().parent / {PurePath(path).as_posix()!r}"
        unused = "from c10cli.manifest.discover import shipped_registry\n"
    chosen = f", select={list(select)!r}" if select else ""
    module = _MODULE.replace(unused, "")
    return module.format(name=registry.name, version=__version__, registry=found, select=chosen)


def module_name_fault(target: Path) -> str:
    """Why no `import` could mean the module in *target*, or the empty string."""
    name = target.stem
    if target.suffix != ".py" or not name.isidentifier() or keyword.iskeyword(name):
        return "is no name of a Python module"
    if is_installed(name) and not target.exists():  # else it may be the module itself that is found
        return f"would hide the installed `{name}`, or be hidden by it"
    return ""
