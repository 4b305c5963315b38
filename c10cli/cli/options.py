"""What the commands share on the command line: how one is made, its options, and their types."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from c10cli.cli.session import Session
from c10cli.errors import C10Error, DispatchError

Function = TypeVar("Function", bound=Callable[..., Any])

FILE: Any = click.Path(path_type=Path, dir_okay=False)
SEED = click.IntRange(min=0)


def seconds(text: str | float) -> float:
    """A time limit that a word of the command line means: above 0, at most a day."""
    with contextlib.suppress(ValueError):
        if 0 < float(text) <= 86_400:  # which nan is not
            return float(text)
    raise click.BadParameter(f"{text} is not a number of seconds above 0, of a day at most")


def _size(text: str | int) -> int:
    """A limit of memory that a word of the command line means: 500M, 4G."""
    found = re.fullmatch(r"(\d{1,12}(?:\.\d+)?)([KMGT]?)(?:i?B)?", str(text), re.IGNORECASE)
    size = int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " ")) if found else 0
    if not size:
        raise click.BadParameter(f"{text} is not a size above 0, such as 500M or 4G")
    return size


memory_option = click.option(
    "--memory",
    "memory_bytes",
    type=_size,
    metavar="SIZE",
    help="What a kernel may hold, on Linux: 500M, 4G.  [default: three quarters of the machine's]",
)


def command(
    name: str, *, formats: tuple[str, ...] = ("text", "json"), **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """A `c10` command with the shared options; the function gets the session first."""

    make: Callable[[Any], click.Command] = click.command(name, **settings)
    return lambda function: make(click.pass_obj(shared_options(function, formats)))


def shared_options(function: Function, formats: tuple[str, ...] | None = None) -> Function:
    """Add --registry, --format and --color, which are taken before or after the command's name."""
    kind = click.Choice(formats) if formats else click.STRING
    colors = click.Choice(["auto", "always", "never"])
    shown = f"How to print: {' or '.join(formats or ('text', 'json'))}."
    function = click.option("--color", type=colors, help="When to colour.", **_stored("color"))(function)
    function = click.option("--format", type=kind, help=shown, **_stored("format"))(function)
    help = "The manifest to work on."
    return click.option("--registry", metavar="FILE", help=help, **_stored("registry"))(function)


def _stored(field: str) -> dict[str, Any]:
    """Arguments of an option whose value goes into the session."""

    def store(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
        session, known = ctx.ensure_object(Session), getattr(parameter.type, "choices", ())
        if value is not None:
            setattr(session, field, value)
        elif known and getattr(session, field) not in known:  # the group takes what some commands have
            raise click.UsageError(f"--{field} {getattr(session, field)} is not one of {', '.join(known)}")

    # Eager: known before another option is refused, and so how to tell that.
    return {"callback": store, "expose_value": False, "default": None, "is_eager": True}


def value_given(words: Sequence[str], option: str) -> str | None:
    """The value of *option* among *words*, before a `--`; None where it has none."""
    ours = words[: words.index("--")] if "--" in words else words
    values = [word.partition("=")[2] for word in ours if word.startswith(f"{option}=")]
    values += [value for word, value in itertools.pairwise(ours) if word == option]
    return values[-1] if values else None


def key_name(text: str) -> str:
    """The name of the dispatch key that a word of the command line means.

    Raises:
        DispatchError: C10E108.
    """
    from c10cli.arrays.keys import DispatchKey, unknown_key  # which `c10 list` does not need

    if text not in DispatchKey.known_names():
        raise DispatchError(unknown_key(text, "name one of these"), dispatch_key=text)
    return text


def complete_operator(ctx: click.Context, _parameter: click.Parameter | None, incomplete: str) -> list[str]:
    """The operators' names that begin so, with and without namespace, for completion in a shell."""
    from c10cli.manifest.load import require_manifest

    try:
        manifest = require_manifest(ctx.ensure_object(Session).registry_path, partly=True)
    except C10Error:  # a shell's prompt is no place to tell it
        return []
    full = [str(operator.name) for operator in manifest.operators]
    names = {*full, *(name.partition("::")[2] for name in full)}
    return sorted(name for name in names if name.startswith(incomplete))


force_option = click.option(
    "--force", is_flag=True, help="Write over a file that c10 did not write, or that was edited."
)


def sealed(text: str, mark: str) -> str:
    """*text* with a last line by which `check_overwrite` sees whether it was edited."""
    import hashlib  # which few commands need

    digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
    return f"{text}# {mark} wrote this: {digest}\n"


def check_overwrite(path: Path, mark: str, *, force: bool) -> None:
    """Refuse to write over a file of somebody else's, or with somebody's edits.

    Args:
        mark: the command, as in the last line of the files that it wrote.

    Raises:
        click.UsageError: the file at *path* is not as the command wrote it.
    """
    if force or not path.is_file():
        return
    text = ""
    with contextlib.suppress(OSError):  # one that may not be read is told later
        text = path.read_bytes().decode("utf-8", "replace")
    body = text.removesuffix("\n").rpartition("\n")[0]
    if text and text != sealed(f"{body}\n", mark):
        what = f"`{path}` was not written by {mark}, or was edited since"
        raise click.UsageError(f"{what}; name another file, or add --force")
