"""Standard streams as they may be met: closed, full, without a reader, without some characters."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from c10cli.errors import Diagnostic, ReportError

__all__ = ["prepare_streams", "silence", "stdout_to_stderr", "written"]


def prepare_streams() -> None:
    """Make all three usable: a closed one is replaced, none refuses a character it has no code for."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream: Any = getattr(sys, name)
        if stream is None:  # Python's sign for one that was closed when it started
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - to the end
        elif mode == "w":
            stream.reconfigure(errors="backslashreplace")


def silence(stream: TextIO | None) -> None:
    """Send what *stream* still holds, and all that follows, to nowhere."""
    if stream is None:
        return
    with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def written(stream: TextIO | None) -> Iterator[None]:
    """Around writing to *stream*: where its reader has gone, the command goes on to its exit code.

    Raises:
        ReportError: C10E701, it cannot be written otherwise, such as to a full disk.
    """
    try:
        yield
    except BrokenPipeError:
        silence(stream)
    except OSError as error:
        silence(stream)
        fact = f"the output cannot be written: {error.strerror or error}"
        raise ReportError(Diagnostic("C10E701", fact)) from error


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """What is printed meanwhile, by Python or by a library below it, goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
