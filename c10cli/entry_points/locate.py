"""The source file behind an entry point, found without importing anything."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from c10cli.entry_points.entry_point import EntryPoint
from c10cli.errors import did_you_mean

__all__ = ["Missing", "Unresolved", "locate_source"]


@dataclass(frozen=True, slots=True)
class Missing:
    """The file is surely not there."""

    message: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Only importing would tell."""

    reason: str


def locate_source(entry_point: EntryPoint) -> Path | Missing | Unresolved:
    """The file that holds the function of *entry_point*."""
    path = entry_point.path
    try:
        if path is None:
            return _locate_module(str(entry_point.module), entry_point)
        return path if path.is_file() else _missing(path, entry_point)
    except OSError as error:  # a name too long, a folder that may not be looked into
        reason = f"cannot be looked up: {error.strerror}"
        if path is None:
            return Unresolved(f"module `{entry_point.module}` {reason}")
        return Missing(f"kernel file `{entry_point.file}` {reason}")


def _missing(path: Path, entry_point: EntryPoint) -> Missing:
    if path.is_dir():
        return Missing(f"kernel file `{entry_point.file}` is a folder")
    if path.exists():  # reading a FIFO would wait
        return Missing(f"kernel file `{entry_point.file}` is no regular file")
    beside = [entry.name for entry in path.parent.glob("*.py")]
    todo = did_you_mean(path.name, beside) or "create it, or correct the path"
    return Missing(f"kernel file `{entry_point.file}` does not exist", todo)


def _locate_module(module: str, entry_point: EntryPoint) -> Path | Unresolved:
    top, *rest = module.split(".")
    try:
        spec = importlib.util.find_spec(top)  # of a top-level name: this imports nothing
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return entry_point.module_beside or Unresolved(f"package `{top}` is not installed")
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    for name in rest[:-1]:
        folders = [folder / name for folder in folders if (folder / name).is_dir()]
    if not rest:
        return _python_file(spec.origin, module)
    candidates = [
        path for folder in folders for path in (folder / f"{rest[-1]}.py", folder / rest[-1] / "__init__.py")
    ]
    found = next((path for path in candidates if path.is_file()), None)
    return found or Unresolved(f"module `{module}` has no Python file")


def _python_file(origin: str | None, module: str) -> Path | Unresolved:
    if origin is not None and origin.endswith(tuple(importlib.machinery.SOURCE_SUFFIXES)):
        return Path(origin)
    return Unresolved(f"module `{module}` has no Python file")
