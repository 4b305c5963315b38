"""Files that a command is asked to write, when such a file is already there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["check_overwrite", "force_option"]

Function = TypeVar("Function", bound=Callable[..., Any])

# The comment at the top of what c10 writes is shorter.
_HEAD_BYTES = 4096


def force_option(function: Function) -> Function:
    """Add --force."""
    help = "Write over a file that c10 did not write."
    decorate: Callable[[Function], Function] = click.option("--force", is_flag=True, help=help)
    return decorate(function)


def check_overwrite(path: Path, mark: str, *, force: bool) -> None:
    """Refuse to write over a file of somebody else's.

    Args:
        mark: what the first lines of those files say that the command wrote.

    Raises:
        click.UsageError: the file at *path* does not say it.
    """
    if force or not path.is_file():
        return
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:  # what may not be read is nothing that we wrote
        head = b""
    if head and mark.encode() not in head:
        raise click.UsageError(f"`{path}` was not written by {mark}; name another file, or add --force")
