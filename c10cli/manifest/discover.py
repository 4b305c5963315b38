"""Which registry file is meant when none, or only a hint, is given."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from c10cli.errors import Diagnostic, ManifestError

FILE_NAME: Final = "registry.yaml"
VARIABLE: Final = "C10_REGISTRY"

_PACKAGE: Final = Path(__file__).resolve().parents[1]


def find_registry(option: str | None, environ: Mapping[str, str], cwd: Path) -> Path:
    """The registry file: *option*, `C10_REGISTRY`, `registry.yaml` from *cwd* upwards, or the shipped one.

    A file that is named is taken as it is; whether it can be read is found
    out by reading it.

    Raises:
        ManifestError: C10E101: none is named, and none is there, or the one
            that is there may be somebody else's.
    """
    if option:
        return Path(option)
    named = environ.get(VARIABLE)
    if named:
        path = Path(named)
        if not path.exists():
            message = f"registry `{named}`, named by {VARIABLE}, does not exist"
            raise ManifestError(Diagnostic("C10E101", message, help=f"correct or unset {VARIABLE}"))
        return path
    # Not `Path.is_file`, which fails where a folder above may not be looked into.
    nearest = (path for folder in (cwd, *cwd.parents) if os.path.isfile(path := folder / FILE_NAME))  # noqa: PTH113
    nearby = next(nearest, None)
    if nearby is not None:
        _check_trusted(nearby)
    found = nearby or shipped_registry()
    if found is not None:
        return found
    message = f"no {FILE_NAME} in `{cwd}` or above it, and none is shipped"
    raise ManifestError(Diagnostic("C10E101", message, help=f"name one with `--registry` or {VARIABLE}"))


def _check_trusted(path: Path) -> None:
    """Refuse the registry at *path*, which nobody named, if others may have written it: it names what is run.

    As git does with a repository: its owner has to be the user, or root. What
    a group may write is trusted, as there; what anyone may write is not.

    Raises:
        ManifestError: C10E101.
    """
    if not hasattr(os, "geteuid"):  # Windows, where owners are no numbers
        return
    fault = next(filter(None, map(_distrust, dict.fromkeys((path, Path(os.path.realpath(path)))))), "")
    if fault:
        message = f"registry `{path}` is not used unasked, because {fault}"
        raise ManifestError(
            Diagnostic("C10E101", message, help=f"use it with `--registry {path}`, if you trust it")
        )


def _distrust(path: Path) -> str:
    """Why the file or link at *path* may be somebody else's."""
    user, (file, folder) = os.geteuid(), (path.lstat(), path.parent.stat())
    if file.st_uid not in (0, user):
        return f"it belongs to user {file.st_uid}, not to you"
    if file.st_mode & stat.S_IWOTH and not stat.S_ISLNK(file.st_mode):
        return "anyone may write it"
    is_shared = folder.st_mode & stat.S_IWOTH or folder.st_uid not in (0, user)
    return f"others may write its folder `{path.parent}`" if is_shared and file.st_uid != user else ""


def shipped_registry(package: Path = _PACKAGE) -> Path | None:
    """The registry that comes with c10cli: in the wheel, or at the root of a source checkout."""
    for path in (package / "_shipped" / FILE_NAME, package.parent / FILE_NAME):
        if path.is_file():
            return path
    return None
