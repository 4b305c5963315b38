"""What all commands share: the options, the registry, and how output is written."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from c10cli.cli.streams import written
from c10cli.errors import C10Error, Diagnostic, DispatchError, ManifestError
from c10cli.manifest.discover import VARIABLE, find_registry

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from c10cli.manifest.link import Registry
    from c10cli.manifest.model import DisabledManifest, Manifest

FormatFunction = TypeVar("FormatFunction", bound=Callable[..., Any])


@dataclass
class Session:
    """The shared options of one run of `c10`, wherever on the command line they stood.

    Args:
        registry: the manifest's path; None: to be found.
        format: text, or what else the command offers.
        color: auto, always or never.
    """

    registry: str | None = None
    format: str = "text"
    color: str = "auto"
    _shown: list[Diagnostic] = field(default_factory=list)
    _disabled: tuple[DisabledManifest, ...] | None = None  # of the manifest, once there is one
    _wrote_json: bool = False
    _told_registry: bool = False

    def tell_registry(self) -> None:
        """Say which manifest it is where that was neither named nor is in this folder; in text, once."""
        if self._told_registry or self.format != "text" or self.registry or os.environ.get(VARIABLE):
            return
        self._told_registry = True
        with contextlib.suppress(C10Error), written(sys.stderr):  # where there is none, loading tells
            path = self.registry_path
            if len(path.parts) > 1:
                click.echo(f"using {path}", err=True)

    @property
    def registry_path(self) -> Path:
        """The manifest to work on.

        Raises:
            ManifestError: C10E101, there is none.
        """
        if self.registry == "":  # a variable of a script that is not set, not a wish for the usual one
            raise ManifestError(Diagnostic("C10E101", "the registry is given without a name"))
        try:
            cwd = Path.cwd()
        except FileNotFoundError:  # removed under us: what is named, or shipped, is still there
            return find_registry(self.registry, os.environ, Path(os.devnull))
        return short_path(find_registry(self.registry, os.environ, cwd))

    def manifest(self, *, quietly: bool = False) -> Manifest:
        """The manifest, without fault.

        Args:
            quietly: do not `tell_registry`.

        Raises:
            ManifestError: with all faults.
        """
        from c10cli.manifest.load import require_manifest

        if not quietly:
            self.tell_registry()
        manifest = require_manifest(self.registry_path)
        self._disabled = manifest.disabled
        for disabled in manifest.disabled:
            # Its operators are missing from everything that follows; the rest is whole.
            self.show_diagnostics(disabled.diagnostics)
        return manifest

    def load(self, *, quietly: bool = False) -> Registry:
        """The registry, its operators registered in a dispatcher; no kernel is imported.

        Args:
            quietly: do not `tell_registry`.

        Raises:
            ManifestError: with all faults.
        """
        from c10cli.manifest.link import link_manifest

        return link_manifest(self.manifest(quietly=quietly))

    @property
    def is_json(self) -> bool:
        """Whether standard output carries one JSON object and nothing else."""
        return self.format == "json"

    def colored(self, stream: Any) -> bool:
        """Whether to colour what goes to *stream*; NO_COLOR and FORCE_COLOR are heard for `auto`."""
        if self.color != "auto":
            return self.color == "always"
        if os.environ.get("NO_COLOR"):
            return False
        return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()

    def console(self, *, stderr: bool = False) -> Console:
        """A rich console under this session's colour choice; off a terminal it never wraps."""
        from rich.console import Console

        stream = sys.stderr if stderr else sys.stdout
        colored = self.colored(stream)
        return Console(
            file=stream,
            no_color=not colored,
            force_terminal=True if colored and not stream.isatty() else None,
            width=None if stream.isatty() else 400,
            highlight=False,
        )

    def echo(self, text: str = "") -> None:
        """Write a line to standard output."""
        with written(sys.stdout):
            click.echo(text, color=self.colored(sys.stdout))

    def echo_view(self, view: RenderableType) -> None:
        """Write what `rich` draws to standard output."""
        with written(sys.stdout):
            self.console().print(view)

    def echo_json(self, format_name: str, **fields: object) -> None:
        """Write one JSON object of the layout *format_name*, such as ``c10.list/1``.

        Where it comes from a registry, it has ``disabled`` too: the includes that are missing from it.
        """
        if self._disabled is not None:
            fields["disabled"] = [_disabled_dict(disabled) for disabled in self._disabled]
        self._write_json(format_name, fields)

    def _write_json(self, format_name: str, fields: dict[str, object]) -> None:
        import json

        self._wrote_json = True
        with written(sys.stdout):
            click.echo(json.dumps({"format": format_name, **fields}, indent=2, allow_nan=False))

    def show_diagnostics(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Write *diagnostics* to standard error."""
        from c10cli.report.diagnostics import render_diagnostics

        shown = list(diagnostics)
        text = render_diagnostics(shown, color=self.colored(sys.stderr))
        if not text:
            return
        self._shown += shown
        # Where standard error cannot be written, there is nowhere to say so.
        with contextlib.suppress(C10Error), written(sys.stderr):
            click.echo(text, err=True, color=self.colored(sys.stderr))

    def name_page(self) -> None:
        """Say where the first code shown is explained, to a person: on a terminal, in text."""
        if self._shown and self.format == "text" and sys.stderr.isatty():
            with contextlib.suppress(C10Error), written(sys.stderr):
                click.echo(f"for more: c10 explain {self._shown[0].code}", err=True)

    def echo_errors(self, usage: str = "") -> None:
        """Where a command of JSON wrote none, write what it ended with: the diagnostics shown.

        Args:
            usage: what is wrong with the command line, which has no code.
        """
        found = [diagnostic.as_dict() for diagnostic in self._shown]
        if usage:
            found.append({**Diagnostic("C10E404", usage).as_dict(), "code": None, "help": None})
        if self.is_json and found and not self._wrote_json:
            with contextlib.suppress(C10Error):
                self._write_json("c10.error/1", {"diagnostics": found})


def _disabled_dict(disabled: DisabledManifest) -> dict[str, object]:
    """The file that is not read, where it is included, and why not."""
    return {
        "path": str(disabled.path),
        "file": disabled.span.file,
        "line": disabled.span.line,
        "diagnostics": [diagnostic.as_dict() for diagnostic in disabled.diagnostics],
    }


def short_path(path: Path) -> Path:
    """*path* from the current folder, where it is below that, for messages."""
    try:
        cwd = Path.cwd()
    except FileNotFoundError:  # removed under us
        return path
    return path.relative_to(cwd) if path.is_relative_to(cwd) else path


SEED = click.IntRange(min=0)
_COLORS = click.Choice(["auto", "always", "never"])


def key_name(text: str) -> str:
    """The name of the dispatch key that a word of the command line means.

    Raises:
        DispatchError: C10E108.
    """
    from c10cli.arrays.keys import DispatchKey, unknown_key  # which `c10 list` does not need

    if text not in DispatchKey.known_names():
        raise DispatchError(unknown_key(text, "name one of these"), dispatch_key=text)
    return text


def shared_options(function: FormatFunction, formats: tuple[str, ...] | None = None) -> FormatFunction:
    """Add --registry, --format and --color, which are taken before or after the command's name."""
    kind = click.Choice(formats) if formats else click.STRING
    shown = f"How to print: {' or '.join(formats or ('text', 'json'))}."
    options = (
        click.option("--registry", metavar="FILE", help="The manifest to work on.", **_stored("registry")),
        click.option("--format", type=kind, help=shown, **_stored("format")),
        click.option("--color", type=_COLORS, help="When to colour.", **_stored("color")),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _stored(field: str) -> dict[str, Any]:
    """Arguments of an option whose value goes into the session."""

    def store(ctx: click.Context, _parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            setattr(ctx.ensure_object(Session), field, value)

    # Eager: known before another option is refused, and so how to tell that.
    return {"callback": store, "expose_value": False, "default": None, "is_eager": True}


def complete_operator(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The operators' names that begin so, with and without namespace, for completion in a shell."""
    from c10cli.manifest.load import require_manifest

    try:
        manifest = require_manifest(ctx.ensure_object(Session).registry_path)
    except C10Error:  # a shell's prompt is no place to tell it
        return []
    full = [str(operator.name) for operator in manifest.operators]
    names = {*full, *(name.partition("::")[2] for name in full)}
    return sorted(name for name in names if name.startswith(incomplete))


class _Seconds(click.FloatRange):
    """A time limit: above 0, at most a day."""

    def __init__(self) -> None:
        super().__init__(min=0, max=86_400, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):  # which no comparison refuses
            self.fail(f"{value} is not a number of seconds", param, ctx)
        return seconds


SECONDS = _Seconds()


def command(
    name: str, *, formats: tuple[str, ...] = ("text", "json"), **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """A `c10` command with the shared options; the function gets the session first."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        def checked(session: Session, *args: Any, **kwargs: Any) -> Any:
            if session.format not in formats:
                raise click.UsageError(f"--format {session.format} is not one of {', '.join(formats)}")
            return function(session, *args, **kwargs)

        checked.__name__, checked.__doc__ = function.__name__, function.__doc__
        checked.__dict__.update(function.__dict__)  # the options that decorators left there
        settings.setdefault("context_settings", {}).setdefault("help_option_names", ["-h", "--help"])
        make: Callable[[Any], click.Command] = click.command(name, **settings)
        return make(click.pass_obj(shared_options(checked, formats)))

    return decorate
