"""A run's folder and its journal: every finished case is on the disk at once.

The journal is a file of JSON lines, only ever appended to.  A process that
dies half-way leaves a broken line, the last; the next writer begins another,
and reading skips it.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from c10cli.bench.clock import utc_now
from c10cli.errors import BenchError, Diagnostic, ReportError

JOURNAL_NAME: Final = "journal.jsonl"
_LATEST_NAME: Final = "latest"
_TOO_LARGE: Final = 2.0**63


def append_record(folder: Path, record: Mapping[str, object]) -> None:
    """Add *record* to the journal in *folder* as one line, and wait until it is on the disk.

    Raises:
        ReportError: it cannot be written (C10E701).
    """
    path = folder / JOURNAL_NAME
    # ASCII, because a kernel's words may hold halves of surrogate pairs, which no UTF-8 can.
    line = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"
    try:
        with path.open("a+b", buffering=0) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
            cut_off = file.read() not in (b"", b"\n")
            rest = memoryview(b"\n" * cut_off + line.encode())
            while rest:  # a write may be cut short, by a signal for one
                rest = rest[os.write(file.fileno(), rest) :]
            os.fsync(file.fileno())
    except OSError as error:
        raise _cannot_write(path, error) from error


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let no other process write to the run in *folder* meanwhile; Windows has no such lock.

    Raises:
        ReportError: one does (C10E701).
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        fact, todo = f"another `c10 bench` is measuring run `{folder.name}`", "wait for its end"
        raise ReportError(Diagnostic("C10E701", fact, place=str(folder), help=todo)) from None
    except OSError:  # of a file system without locks
        pass
    try:
        yield
    finally:
        os.close(descriptor)


def read_journal(folder: Path) -> list[dict[str, Any]]:
    """The records of the journal in *folder*; an empty one for each line that cannot be read.

    Raises:
        BenchError: there is no journal (C10E603).
    """
    path = folder / JOURNAL_NAME
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        fact = f"cannot read {path.name}: {error.strerror}"
        raise BenchError(Diagnostic("C10E603", fact, place=str(path))) from error
    return [_parse_line(line) for line in lines if line.strip()]


def _parse_line(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=_finite, parse_float=_finite, parse_int=_finite)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _finite(text: str) -> int | float:
    """The number *text*, if any result of ours may be computed with it."""
    number = float(text)
    if not abs(number) < _TOO_LARGE:
        raise ValueError(text)
    return int(text) if text.lstrip("-").isdigit() else number


def make_run_folder(root: Path) -> Path:
    """A new folder ``YYYYmmdd-HHMMSS-<token>`` under *root*; never one that exists.

    Raises:
        ReportError: it cannot be made (C10E701).
    """
    folder = root / f"{utc_now():%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise _cannot_write(folder, error) from error
    return folder


def write_latest(folder: Path) -> None:
    """Make ``latest``, beside *folder*, a link to it, where the system has links."""
    pointer = folder.parent / _LATEST_NAME
    temporary = pointer.with_name(f".{pointer.name}.{secrets.token_hex(4)}")
    try:
        temporary.symlink_to(folder.name, target_is_directory=True)
        temporary.replace(pointer)
    except (OSError, NotImplementedError):
        temporary.unlink(missing_ok=True)


def find_run_folder(root: Path, name: str = _LATEST_NAME) -> Path:
    """The folder of a run: a path, the name of a folder in *root*, or ``latest``.

    Raises:
        BenchError: there is no such run (C10E603).
    """
    found = (path.parent for path in root.glob(f"*/{JOURNAL_NAME}"))
    known = sorted(folder.name for folder in found if not folder.is_symlink())
    if name == _LATEST_NAME and known:
        pointer = root / _LATEST_NAME
        name = str(pointer.readlink()) if pointer.is_symlink() else known[-1]
    for folder in (root / name, Path(name)):
        if os.path.isfile(folder / JOURNAL_NAME):  # noqa: PTH113 - total, whatever the name
            # Not the link: `latest` would be made one to itself.
            return folder.resolve() if folder.is_symlink() else folder
    notes = (f"the newest runs here are {', '.join(known[-3:])}",) if known else ()
    help = "name a folder that holds a journal.jsonl"
    raise BenchError(Diagnostic("C10E603", f"no run `{name}`", place=str(root), notes=notes, help=help))


def _cannot_write(path: Path, error: OSError) -> ReportError:
    reason = error.strerror or str(error)
    return ReportError(Diagnostic("C10E701", f"cannot write {path.name}: {reason}", place=str(path)))
