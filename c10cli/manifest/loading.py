"""The objects behind entry points: kernel files loaded by path, installed modules by name."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from c10cli.arrays.devices import is_installed
from c10cli.errors import C10Error, Diagnostic, RegistrationError, did_you_mean
from c10cli.manifest.entry_point import EntryPoint

__all__ = ["load_entry_point"]


def load_entry_point(entry_point: EntryPoint) -> Any:
    """The object that *entry_point* names; its module is imported.

    Raises:
        RegistrationError: C10E304, there is no such file, module or name, or
            the import failed.
    """
    module = _import(entry_point)
    value: Any = module
    for part in entry_point.attribute.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            where = f"`{entry_point.file or entry_point.module}`"
            near = did_you_mean(part, [name for name in dir(value) if not name.startswith("__")])
            raise _not_found(entry_point, f"{where} has no `{entry_point.attribute}`", near) from None
    return value


def _import(entry_point: EntryPoint) -> ModuleType:
    """The module of *entry_point*; whatever its import raises becomes an error that names it."""
    place = entry_point.file or entry_point.module
    path = entry_point.path
    if path is not None and not path.is_file():
        raise _not_found(entry_point, f"kernel file `{place}` does not exist", "")
    try:
        if path is not None:
            return _import_file(path, entry_point.folder)
        return _import_module(entry_point)
    except C10Error as error:
        # The module registered something that c10cli refused: that is the finding.
        note = f"while importing `{place}`"
        placed = [replace(d, span=d.span or entry_point.span).with_notes(note) for d in error.diagnostics]
        raise RegistrationError(*placed, entry_point=entry_point.text) from error
    except (Exception, SystemExit) as error:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        fact = f"`{place}` cannot be imported: {text.splitlines()[0]}"
        missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        todo = (
            f"install `{missing}`, or list it under `requires:`" if missing else "make the module importable"
        )
        raise _not_found(entry_point, fact, todo) from error


def _import_module(entry_point: EntryPoint) -> ModuleType:
    """The installed module, or, where its package is not installed, the file beside the manifest."""
    module = str(entry_point.module)
    beside = entry_point.module_beside
    if beside is not None and not is_installed(module.partition(".")[0]):
        return _import_file(beside, entry_point.folder)
    return importlib.import_module(module)


def _import_file(path: Path, folder: Path) -> ModuleType:
    """The module in *path*, under a package of its own for *folder*.

    Relative imports reach the files beside it; nothing in *folder* shadows
    what is installed, since the folder is on no search path.
    """
    root = _root_package(folder.resolve())
    parts = path.relative_to(folder).with_suffix("").parts
    if all(part.isidentifier() for part in parts):
        return importlib.import_module(".".join((root, *parts)))
    # A file whose name no import statement could say: loaded alone.
    name = f"{root}._{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _root_package(folder: Path) -> str:
    name = f"_c10_registry_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        package = ModuleType(name, f"Kernels below {folder}.")
        package.__path__ = [str(folder)]
        sys.modules.setdefault(name, package)
    return name


def _not_found(entry_point: EntryPoint, fact: str, todo: str) -> RegistrationError:
    return RegistrationError(
        Diagnostic("C10E304", fact, entry_point.span, place=str(entry_point), help=todo),
        entry_point=entry_point.text,
    )
