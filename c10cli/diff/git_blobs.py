"""Files as git has them: through symbolic links, or why there is none."""

from __future__ import annotations

import os
import re
import subprocess
from typing import Final

from c10cli.errors import Diagnostic

__all__ = ["read_blob"]

Blob = tuple[bytes, Diagnostic | None]

_BLOB: Final = re.compile(rb"[0-9a-f]{40,64} blob (\d+)")
# What git answers for a link that it cannot follow: a word of these, and a length.
_LINK: Final = re.compile(rb"(dangling|loop|symlink) \d+")
_LEADS: Final = {
    b"dangling": "to nothing in git",
    b"loop": "in a circle",
    b"symlink": "out of the git repository",
}


def read_blob(name: str, written: str = "") -> Blob:
    """What git has as *name*, such as ``HEAD:a/b.yaml``, or the finding that it has nothing.

    Args:
        written: the name with its `..`, which behind a link to a folder lead elsewhere than in *name*.
    """
    message = f"`{name}` is no file that exists"
    if name.startswith("-"):  # an option, to git
        return b"", Diagnostic("C10E101", message)
    try:
        return _index_link(name) or _followed(name, written or name) or _shown(name, message)
    except (OSError, ValueError) as error:
        reason = "git is not installed" if isinstance(error, FileNotFoundError) else str(error)
        return b"", Diagnostic("C10E101", f"{message}, and {reason}")


def _index_link(name: str) -> Blob | None:
    """That *name* is a link in the index, such as ``:a/b.yaml``, where git follows none."""
    if not name.startswith(":"):
        return None
    path = name[1:]
    magic = "literal" if path.startswith(("./", "../")) else "top,literal"
    if not _git("ls-files", "--stage", "--", f":({magic}){path}").stdout.startswith(b"120000 "):
        return None
    message = f"`{name}` is a symbolic link, which is not followed in the index"
    return b"", Diagnostic("C10E101", message, help="name the file that it leads to, or a revision")


def _followed(name: str, written: str) -> Blob | None:
    """What is at the end of all links, or that they lead nowhere; None: ask in another way."""
    if "\n" in written:  # it would be two questions
        return None
    answer = _git("cat-file", "--batch", "--follow-symlinks", input=os.fsencode(written) + b"\n").stdout
    head, _, rest = answer.partition(b"\n")
    if found := _BLOB.fullmatch(head):
        return rest[: int(found[1])], None
    if found := _LINK.fullmatch(head):
        message = f"`{name}` is a symbolic link that leads {_LEADS[found[1]]}"
        return b"", Diagnostic("C10E101", message, help="commit the file itself in place of the link")
    return None


def _shown(name: str, message: str) -> Blob:
    """What git shows, or with *message* its own words for why it does not."""
    done = _git("show", name)
    if done.returncode == 0 and not done.stdout.startswith(b"tree "):
        return done.stdout, None
    said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it is a folder"]
    notes = tuple(line.removeprefix("hint: ") for line in said[1:])
    reason = said[0].removeprefix("fatal: ")
    return b"", Diagnostic("C10E101", f"{message}, nor one in git: {reason}", notes=notes)


def _git(*words: str, input: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(["git", *words], input=input, capture_output=True, check=False, env=environment)
