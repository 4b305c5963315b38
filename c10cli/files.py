"""Writing a file whole or not at all, without harm to what is no file; asking git about files."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from c10cli.errors import Diagnostic, ReportError

if TYPE_CHECKING:
    import subprocess


# A repository may be somebody else's: nothing that it names is run, nothing is fetched or locked.
_GIT = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "log.showSignature=false")
_GIT_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}


def git(*arguments: str, timeout_s: float | None = None) -> subprocess.CompletedProcess[bytes]:
    """What git says, run without what a repository can name but filters.

    Raises:
        OSError: there is no git; ValueError: it cannot be asked that.
        subprocess.TimeoutExpired: it took too long.
    """
    import subprocess  # which few commands need

    words = ["git", *_GIT, *arguments]
    environment = {**os.environ, **_GIT_ENVIRONMENT}
    return subprocess.run(words, capture_output=True, check=False, env=environment, timeout=timeout_s)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Put *content*, text as UTF-8, into *path* at once: a reader sees the old file or the new one.

    A link stays one, and a file that is there keeps its mode.  What is there
    and no regular file, such as a device or a FIFO, is written to as it is.

    Raises:
        ReportError: it cannot be written (C10E701).
    """
    # A name of the file system that is not UTF-8 may be quoted in a text.
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        if is_stream(path):
            _write_stream(path, data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        reason = getattr(error, "strerror", None) or str(error)
        raise ReportError(
            Diagnostic("C10E701", f"cannot write {path.name}: {reason}", place=str(path))
        ) from error


def is_stream(path: Path) -> bool:
    """Whether *path* is a device, a FIFO or alike, or is what standard output or error goes to."""
    try:
        found = path.stat()
    except (OSError, ValueError):  # whatever is wrong with it, writing will tell
        return False
    is_file = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return not is_file or _descriptor_of(found) is not None


def _descriptor_of(found: os.stat_result) -> int | None:
    """The standard stream that already writes to it: opened again, one would write over the other."""
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(found, os.fstat(descriptor)):
                return descriptor
    return None


def _write_stream(path: Path, data: bytes) -> None:
    descriptor = _descriptor_of(path.stat())
    for stream in (sys.stdout, sys.stderr) if descriptor is not None else ():
        stream.flush()
    opened = path.open("wb") if descriptor is None else os.fdopen(descriptor, "wb", closefd=False)
    with opened as file:
        file.write(data)


def _replace(path: Path, data: bytes) -> None:
    """Write beside *path*, under a name that is never too long, then take its place."""
    if path.is_symlink():  # and so one of a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    if mode is not None and not os.access(path, os.W_OK):  # replacing it would need the folder's leave alone
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    temporary = path.with_name(f".c10-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            if mode is not None:
                temporary.chmod(mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):  # gone, as it should be; or what went wrong is told already
            temporary.unlink()
