"""The source that a kernel is measured from: its files, and a digest of each."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from c10cli.entry_points.definitions import locate_source
from c10cli.entry_points.importing import KERNEL_PACKAGES
from c10cli.entry_points.parse import EntryPoint, parse_entry_point
from c10cli.errors import ManifestError

__all__ = ["Sources"]


class Sources:
    """Digests of kernels' sources, each as it was when it was first asked for.

    A file goes by its path from the manifest's folder, whatever the current
    one is; the entry point of an installed module by its text.  Of such a
    module, its file and its distribution's version are taken, as far as they
    can be told without importing it.

    Args:
        folder: the manifest's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))  # total, unlike resolve()
        self._digests: dict[str, str] = {}

    def loaded(self, entry_points: Iterable[EntryPoint]) -> dict[str, str]:
        """Of *entry_points*, and of every kernel file that this process has imported, helpers among them."""
        modules = [module for name, module in [*sys.modules.items()] if name.startswith(KERNEL_PACKAGES)]
        files = [file for module in modules if (file := getattr(module, "__file__", None))]
        names = [Path(os.path.relpath(os.path.realpath(file), self._folder)).as_posix() for file in files]
        names += [entry.text for entry in entry_points if entry.module is not None]
        return {name: self._digest(name) for name in sorted(names)}

    def changed(self, measured: Mapping[str, str]) -> list[str]:
        """Those of *measured*, what `loaded` gave once, that are gone or other ones now."""
        return [name for name, digest in measured.items() if not digest or self._digest(name) != digest]

    def _digest(self, name: str) -> str:
        """The digest of the source called *name*; empty where there is none."""
        if name not in self._digests:
            is_file = ":" not in name or "/" in name
            self._digests[name] = _of_file(self._folder / name) if is_file else self._of_module(name)
        return self._digests[name]

    def _of_module(self, text: str) -> str:
        try:
            entry_point = parse_entry_point(text, self._folder)
        except ManifestError:  # in a journal that somebody wrote
            return ""
        source, version = locate_source(entry_point), ""
        with suppress(metadata.PackageNotFoundError):  # its distribution may go by another name
            version = metadata.version(str(entry_point.module).partition(".")[0])
        return _hashed(f"{version}\n{_of_file(source) if isinstance(source, Path) else ''}".encode())


def _of_file(path: Path) -> str:
    try:
        return _hashed(path.read_bytes())
    except (OSError, ValueError):  # gone, or a name that no file can have
        return ""


def _hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
