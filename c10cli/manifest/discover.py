"""Which registry file is meant when none, or only a hint, is given."""

from __future__ import annotations

import os
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
        ManifestError: C10E101: none is named, and none is there.
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
    found = next(nearest, None) or shipped_registry()
    if found is not None:
        return found
    message = f"no {FILE_NAME} in `{cwd}` or above it, and none is shipped"
    raise ManifestError(Diagnostic("C10E101", message, help=f"name one with `--registry` or {VARIABLE}"))


def shipped_registry(package: Path = _PACKAGE) -> Path | None:
    """The registry that comes with c10cli: in the wheel, or at the root of a source checkout."""
    for path in (package / "_shipped" / FILE_NAME, package.parent / FILE_NAME):
        if path.is_file():
            return path
    return None
