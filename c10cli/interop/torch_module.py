"""The source of a Python module that registers a registry with torch when it is imported."""

from __future__ import annotations

import importlib.util
import keyword
import os
import sys
from collections.abc import Sequence
from pathlib import Path, PurePath

from c10cli import __version__
from c10cli.errors import Diagnostic, ReportError
from c10cli.manifest.discover import shipped_registry

__all__ = ["module_name_fault", "render_module"]

_MODULE = '''\
"""The operators of `{name}` under `torch.ops`, registered when this module is imported.

Written by `c10 export --to torch` of c10cli {version}; the registry is read at the import.
"""

{imports}

EXPORTED = export_to_torch(load_registry({registry}){select})
'''
_BESIDE = """\
from pathlib import Path

from c10cli import load_registry
from c10cli.interop.torch_export import export_to_torch"""
_SHIPPED = """\
from c10cli import load_registry
from c10cli.interop.torch_export import export_to_torch
from c10cli.manifest.discover import shipped_registry"""


def module_name_fault(target: Path) -> str:
    """Why no `import` could mean the module in *target*, or the empty string."""
    name = target.stem
    if target.suffix != ".py" or not name.isidentifier():
        return "is no name of a Python module"
    if keyword.iskeyword(name):
        return f"is no name of a Python module: `{name}` is a keyword"
    if name in sys.stdlib_module_names:
        return f"would hide the module `{name}` of Python"
    return f"would hide the installed `{name}`, or be hidden by it" if _is_elsewhere(name, target) else ""


def _is_elsewhere(name: str, target: Path) -> bool:
    """Whether an `import` of *name* finds something elsewhere than beside *target*."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a module without a spec is one all the same
        return name in sys.modules
    # A folder without `__init__.py`, which has no origin, gives way to a module.
    if spec is None or spec.origin is None:
        return False
    return Path(spec.origin).parent.resolve() != target.parent.resolve()


def render_module(registry: Path, target: Path, select: Sequence[str] = ()) -> str:
    """The module for *target*, which finds *registry* relative to itself.

    The registry that c10cli ships is found wherever c10cli is installed.

    Raises:
        ReportError: C10E701, no relative path leads from the one to the other.
    """
    chosen = f", select={list(select)!r}" if select else ""
    shipped = shipped_registry()
    if shipped is not None and shipped.samefile(registry):
        return _MODULE.format(
            name=registry.name,
            version=__version__,
            imports=_SHIPPED,
            registry="shipped_registry()",
            select=chosen,
        )
    try:
        path = os.path.relpath(registry.resolve(), target.parent.resolve())
    except ValueError as error:  # another drive of Windows
        fact = f"no relative path leads from `{target}` to `{registry}`"
        raise ReportError(Diagnostic("C10E701", fact, help="write the module beside the registry")) from error
    found = f"Path(__file__).resolve().parent / {PurePath(path).as_posix()!r}"
    return _MODULE.format(
        name=registry.name, version=__version__, imports=_BESIDE, registry=found, select=chosen
    )
