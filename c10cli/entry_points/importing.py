"""The objects behind entry points: kernel files loaded by path, installed modules by name."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from c10cli.arrays.devices import is_installed
from c10cli.describe import error_text
from c10cli.entry_points.definitions import Missing, locate_source
from c10cli.entry_points.entry_point import EntryPoint
from c10cli.errors import C10Error, Diagnostic, RegistrationError, did_you_mean

# The packages of manifests' folders are called so; messages leave that out.
KERNEL_PACKAGES = "_c10_registry_"
_PRIVATE = re.compile(rf"{KERNEL_PACKAGES}\w+\.")


def load_entry_point(entry_point: EntryPoint, *, has_requires: bool = False) -> Any:
    """The object that *entry_point* names; its module is imported.

    Args:
        has_requires: whether the manifest may say of it what it needs.

    Raises:
        RegistrationError: C10E304, there is no such file, module or name, or
            the import failed; any code, for what the module itself registers
            and c10cli refuses.
    """
    if entry_point.file is not None and isinstance(place := locate_source(entry_point), Missing):
        raise _not_found(entry_point, place.message, place.help, code=place.code)
    owner: Any = None
    part = ""
    try:
        value: Any = _import(entry_point)
        for part in entry_point.attribute.split("."):
            owner, value = value, getattr(value, part, _ABSENT)
            if value is _ABSENT:
                break
    except C10Error as error:  # the module registered something that c10cli refuses: that is the finding
        note = f"while importing `{entry_point.holder}`"
        placed = [replace(d, span=d.span or entry_point.span).with_notes(note) for d in error.diagnostics]
        raise RegistrationError(*placed, entry_point=entry_point.text) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a module raises, it must not end the command
        reason, todo, absent = _why_not_imported(error, entry_point.path)
        todo += ", or list it under `requires:`" if absent and has_requires else ""
        fact = f"`{entry_point.holder}` cannot be imported: {reason}"
        raise _not_found(entry_point, fact, todo, absent) from error
    if value is _ABSENT:
        near = did_you_mean(part, [name for name in dir(owner) if not name.startswith("__")])
        raise _not_found(entry_point, f"`{entry_point.holder}` has no `{entry_point.attribute}`", near)
    return value


_ABSENT = object()


def _import(entry_point: EntryPoint) -> ModuleType:
    """The module of *entry_point*; what is not installed may lie beside the manifest."""
    path, module = entry_point.path, str(entry_point.module)
    if path is None and not is_installed(module):
        path = entry_point.module_beside
    return importlib.import_module(module) if path is None else _import_file(path, entry_point.folder)


def _import_file(path: Path, folder: Path) -> ModuleType:
    """The module in *path*, under a package of its own for *folder*.

    Relative imports reach the files beside it; nothing in *folder* shadows
    what is installed, since the folder is on no search path.
    """
    *parents, stem = path.relative_to(folder).with_suffix("").parts
    if any("." in parent for parent in parents):  # no import could name it, so it is a root itself
        parents, folder = [], path.parent
    package = ".".join((_root_package(folder.resolve()), *parents))
    # A dot would split the name; a slash is in no file's name.
    name = package if parents and stem == "__init__" else f"{package}.{stem.replace('.', '/')}"
    _kernel_files.paths[name] = path.resolve()
    if _kernel_files not in sys.meta_path:
        sys.meta_path.insert(0, _kernel_files)
    return importlib.import_module(name)


class _KernelFiles(MetaPathFinder):
    """Finds the files of entry points under the names that `_import_file` gives them.

    Left to itself, the import system finds no file with a dot in its name,
    and takes a package ``add/`` or a compiled ``add.so`` for ``add.py``.
    """

    def __init__(self) -> None:
        self.paths: dict[str, Path] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where the module *fullname* is, if it is one of these."""
        file = self.paths.get(fullname)
        return spec_from_file_location(fullname, file) if file is not None else None


_kernel_files = _KernelFiles()


def _root_package(folder: Path) -> str:
    name = f"{KERNEL_PACKAGES}{hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]}"
    if name not in sys.modules:
        package = ModuleType(name, f"Kernels below {folder}.")
        package.__path__ = [str(folder)]
        sys.modules.setdefault(name, package)
    return name


def _why_not_imported(error: BaseException, path: Path | None) -> tuple[str, str, str]:
    """The reason; what to do about it; the cause wherever it is imported: what is not installed."""
    missing = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
    if missing.startswith(KERNEL_PACKAGES):
        file = f"{'/'.join(missing.split('.')[1:])}.py"
        return f"there is no `{file}`", "add the file, or correct the import", ""
    text = _PRIVATE.sub("", error_text(error))
    reason = f"{type(error).__name__}: {text}".splitlines()[0].removesuffix(": ")
    if missing and path is not None and path.with_name(f"{missing}.py").is_file():
        return reason, f"write `from . import {missing}`: the folder of a kernel is on no search path", ""
    if missing:
        return reason, f"install `{missing}`", missing
    return reason, "make the module importable", ""


def _not_found(
    entry_point: EntryPoint, fact: str, todo: str = "", cause: str = "", code: str = "C10E304"
) -> RegistrationError:
    place = "" if entry_point.span else str(entry_point)  # the line shown has it
    cause = cause or entry_point.cause(fact)
    finding = Diagnostic(code, fact, entry_point.span, place=place, help=todo, cause=cause)
    return RegistrationError(finding, entry_point=entry_point.text)
