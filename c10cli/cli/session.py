"""One run of `c10`: its shared options, the registry, and how output is written to the standard streams.

A stream may be closed, full, without a reader, or without some characters.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from c10cli.errors import C10Error, Diagnostic, ManifestError, ReportError
from c10cli.manifest.discover import VARIABLE, find_registry

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from c10cli.manifest.declarations import DisabledManifest, Manifest
    from c10cli.manifest.link import Registry


@dataclass
class Session:
    """The shared options of one run of `c10`, wherever on the command line they stood.

    Args:
        registry: the manifest's path; None: to be found.
        format: text, or what else the command offers.
        color: auto, always or never.
        is_quiet: whether nothing goes to standard error, as while a shell completes words.
    """

    registry: str | None = None
    format: str = "text"
    color: str = "auto"
    is_quiet: bool = False
    _shown: list[Diagnostic] = field(default_factory=list)
    _disabled: tuple[DisabledManifest, ...] | None = None  # of the manifest, once there is one
    _wrote_json: bool = False
    _told_registry: bool = False

    def tell_registry(self) -> None:
        """Say which manifest it is where that was neither named nor is in this folder; in text, once."""
        is_named = self.registry or os.environ.get(VARIABLE)
        if self._told_registry or self.is_quiet or self.format != "text" or is_named:
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
        return short_path(find_registry(self.registry, os.environ, _current_folder()))

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
        if not text or self.is_quiet:
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
    folder = _current_folder()
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # removed under us: what is named, or shipped, is still there
        return Path(os.devnull)


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
