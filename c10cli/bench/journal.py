"""A run's folder and its journal: every finished case is on the disk at once.

The journal is a file of JSON lines, only ever appended to.  A process that
dies half-way leaves at most one broken line, the last; reading skips it and
the next writer removes it.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Final

from c10cli.bench.clock import utc_now
from c10cli.errors import BenchError, Diagnostic, ReportError
from c10cli.files import write_atomic

__all__ = [
    "JOURNAL_NAME",
    "Journal",
    "Record",
    "find_run_folder",
    "make_root",
    "make_run_folder",
    "read_journal",
    "remove_unbegun",
    "write_latest",
]

JOURNAL_NAME: Final = "journal.jsonl"
_LATEST_NAME: Final = "latest"

Record = Mapping[str, object]


class Journal:
    """An open journal; `append` returns when the record is on the disk.

    Opening an existing file continues it, after removing what a killed
    writer left of its last line.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL_NAME
        try:
            _mend(self.path)
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def append(self, record: Record) -> None:
        """Add *record* as one line and wait until it is on the disk."""
        # ASCII, because a kernel's words may hold halves of surrogate pairs, which no UTF-8 can.
        line = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n"
        rest = memoryview(line.encode())
        try:
            while rest:  # a write may be cut short, by a signal for one
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise _cannot_write(self.path, error) from error

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _mend(path: Path) -> None:
    """Make the journal end with a whole line."""
    if not path.exists():
        return
    text = path.read_bytes()
    whole, newline, tail = text.rpartition(b"\n")
    if not tail:
        return
    with path.open("r+b") as file:
        if _parse_line(tail) is None:
            file.truncate(len(whole) + len(newline))
        else:  # only the line's end was lost
            file.seek(0, os.SEEK_END)
            file.write(b"\n")


def read_journal(folder: Path) -> list[dict[str, object]]:
    """The records of the journal in *folder*, without a last line that was cut off.

    Raises:
        BenchError: there is no journal, or a line before the last is no
            record (C10E603).
    """
    path = folder / JOURNAL_NAME
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise _cannot_read(path, f"{error.strerror}") from error
    records = []
    for number, line in enumerate(lines, start=1):
        record = _parse_line(line)
        if record is not None:
            records.append(record)
        elif line.strip() and number < len(lines):
            raise _cannot_read(path, f"line {number} is not a JSON object")
    return records


def _parse_line(line: bytes) -> dict[str, object] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def make_root(root: Path) -> None:
    """Make *root*, the folder of the runs' folders, if it is not there; nothing is put into it.

    Raises:
        ReportError: it cannot be made, or nothing can be put into it (C10E701).
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        if not os.access(root, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(root))
    except OSError as error:
        raise _cannot_write(root, error) from error


def remove_unbegun(folder: Path) -> bool:
    """Remove the folder of a run whose journal has no record, if it is one; whether it was."""
    journal = folder / JOURNAL_NAME
    try:
        if journal.exists() and b"\n" in journal.read_bytes():
            return False
        journal.unlink(missing_ok=True)
        folder.rmdir()
    except OSError:  # then it stays: what ended the run is to be told, and not this
        return False
    return True


def make_run_folder(
    root: Path, now: datetime | None = None, token: Callable[[], str] = lambda: secrets.token_hex(2)
) -> Path:
    """A new folder ``YYYYmmdd-HHMMSS-<token>`` under *root*; never one that exists.

    Raises:
        ReportError: it cannot be made (C10E701).
    """
    stamp = f"{now or utc_now():%Y%m%d-%H%M%S}"
    while True:
        folder = root / f"{stamp}-{token()}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if root.exists() and not root.is_dir():
                raise _cannot_write(folder, NotADirectoryError(0, "its parent is a file")) from None
            continue
        except OSError as error:
            raise _cannot_write(folder, error) from error
        return folder


def write_latest(folder: Path) -> None:
    """Make ``latest``, beside *folder*, a link to it; a text with its name where there are no links."""
    pointer = folder.parent / _LATEST_NAME
    temporary = pointer.with_name(f".{pointer.name}.{secrets.token_hex(4)}")
    try:
        temporary.symlink_to(folder.name, target_is_directory=True)
        temporary.replace(pointer)
    except (OSError, NotImplementedError):
        temporary.unlink(missing_ok=True)
        write_atomic(pointer, folder.name + "\n")


def find_run_folder(root: Path, name: str = _LATEST_NAME) -> Path:
    """The folder of a run: a path, the name of a folder in *root*, or ``latest``.

    Raises:
        BenchError: there is no such run (C10E603).
    """
    pointer = root / _LATEST_NAME
    if name == _LATEST_NAME and pointer.is_symlink():
        name = str(pointer.readlink())
    elif name == _LATEST_NAME and pointer.is_file():
        name = pointer.read_text(encoding="utf-8", errors="backslashreplace").strip()
    for folder in (root / name, Path(name)):
        if _has_journal(folder):
            return folder
    found = (path.parent for path in root.glob(f"*/{JOURNAL_NAME}"))
    known = sorted(folder.name for folder in found if not folder.is_symlink())
    raise BenchError(
        Diagnostic(
            "C10E603",
            f"no run `{name}`",
            place=str(root),
            notes=(f"the newest runs here are {', '.join(known[-3:])}",) if known else (),
            help="name a folder that holds a journal.jsonl",
        )
    )


def _has_journal(folder: Path) -> bool:
    try:
        return (folder / JOURNAL_NAME).is_file()
    except (OSError, ValueError):  # a name too long, or with a null character
        return False


def _cannot_write(path: Path, error: OSError) -> ReportError:
    reason = error.strerror or str(error)
    return ReportError(Diagnostic("C10E701", f"cannot write {path.name}: {reason}", place=str(path)))


def _cannot_read(path: Path, reason: str) -> BenchError:
    return BenchError(Diagnostic("C10E603", f"cannot read {path.name}: {reason}", place=str(path)))
