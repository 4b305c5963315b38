"""One run of `c10`: its shared options, the registry, and how output is written to the standard streams.

A stream may be closed, full, without a reader, or without some characters.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from c10cli.describe import printable
from c10cli.errors import C10Error, Diagnostic, ManifestError, ReportError, capped, counted
from c10cli.manifest.discover import VARIABLE, find_registry

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from c10cli.manifest.declarations import DisabledManifest, Manifest
    from c10cli.manifest.link import Registry

# Of what a kernel printed.
_LONGEST_LINE = 1000


@dataclass
class Session:
    """The shared options of one run of `c10`, wherever on the command line they stood.

    Args:
        registry: the manifest's path; None: to be found.
        format: text, or what else the command offers.
        color: auto, always or never.
        is_quiet: whether nothing is said of the registry, while it is not yet known which one it is.
        usage: what is wrong with the command line, which has no code.
    """

    registry: str | None = None
    format: str = "text"
    color: str = "auto"
    is_quiet: bool = False
    usage: str = ""
    _shown: list[Diagnostic] = field(default_factory=list)
    _disabled: tuple[DisabledManifest, ...] | None = None  # of the manifest, once there is one
    _untold: tuple[DisabledManifest, ...] = ()
    _left_out: tuple[str, ...] = ()  # the operators with faults
    _wrote_json: bool = False
    _told_registry: bool = False

    def tell(self, text: str, *, is_drawn: bool = False) -> None:
        """Write a line to standard error; where that cannot be written, there is nowhere to say so."""
        with contextlib.suppress(C10Error):
            self._write(sys.stderr, text if is_drawn else printable(text))

    def tell_printed(self, who: str, text: str, *, most: int | None = 10) -> None:
        """Show what *who*, a kernel of an operator, printed: the last lines, at *most* so many."""
        lines = text.splitlines()
        shown = lines if most is None else lines[-most:]
        before = [f"  ({counted(len(lines) - len(shown), 'line')} before)"] if len(lines) > len(shown) else []
        self.tell("\n".join([f"{who} printed:", *before, *(f"  {line[:_LONGEST_LINE]}" for line in shown)]))

    def tell_registry(self) -> None:
        """Say, once, what is missing from the manifest, and in text which it is: if unnamed and not here."""
        if self.is_quiet:
            return
        is_named = self.registry or os.environ.get(VARIABLE)
        if not self._told_registry and self.format == "text" and not is_named:
            self._told_registry = True
            with contextlib.suppress(C10Error):  # where there is none, loading tells
                path = self.registry_path
                if len(path.parts) > 1:
                    self.tell(f"using {path}")
        untold, self._untold = self._untold, ()
        for disabled in untold:
            self.show_diagnostics(disabled.diagnostics)

    @property
    def registry_path(self) -> Path:
        """The manifest to work on.

        Raises:
            ManifestError: C10E101, there is none.
        """
        if self.registry == "":  # a variable of a script that is not set, not a wish for the usual one
            raise ManifestError(Diagnostic("C10E101", "the registry is given without a name"))
        return short_path(find_registry(self.registry, os.environ, _current_folder()))

    def manifest(self, *, partly: bool = False) -> Manifest:
        """The manifest, without fault.

        Args:
            partly: see `require_manifest`.

        Raises:
            ManifestError: with all faults.
        """
        from c10cli.manifest.load import require_manifest

        self.tell_registry()
        manifest = require_manifest(self.registry_path, partly=partly)
        names = [f"`{name}`" if name else "one without a name" for name in manifest.faults]
        self._left_out = capped(names, 8)
        # Their operators are missing from everything that follows; the rest is whole.
        self._disabled = self._untold = manifest.disabled
        self.tell_registry()
        return manifest

    def load(self, *, partly: bool = False) -> Registry:
        """The registry, its operators registered in a dispatcher; no kernel is imported.

        Args:
            partly: see `require_manifest`; what is asked of an operator that is left out tells its faults.

        Raises:
            ManifestError: with all faults.
        """
        from c10cli.manifest.link import link_manifest

        return link_manifest(self.manifest(partly=partly))

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
        width, colored = None if stream.isatty() else 400, self.colored(stream)
        return Console(
            file=stream, no_color=not colored, force_terminal=colored or None, width=width, highlight=False
        )

    @contextlib.contextmanager
    def progress(self, total: int | None = None) -> Iterator[Callable[[object], None]]:
        """A live line on standard error where that is a terminal; elsewhere nothing.

        A text that it is called with is shown as what is at work; anything else is a step that is done.
        """
        if not sys.stderr.isatty():
            yield lambda _event: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        # Without markup: `[n=4]` in a case's name is text.
        described = TextColumn("{task.description}", markup=False)
        columns = (BarColumn(), *([MofNCompleteColumn()] if total else []), TimeElapsedColumn(), described)
        with Progress(*columns, console=self.console(stderr=True), transient=True) as bar:
            task = bar.add_task("starting", total=total)

            def show(event: object) -> None:
                if isinstance(event, str):
                    bar.update(task, description=printable(event))
                else:
                    bar.advance(task)

            yield show

    def echo(self, text: str = "", *, is_drawn: bool = False) -> None:
        """Write a line to standard output.

        Args:
            is_drawn: whether it is a drawn diagnostic, whose texts are clean and whose colours stay.
        """
        self._write(sys.stdout, text if is_drawn else printable(text))

    def _write(self, stream: Any, text: str) -> None:
        with written(stream):
            click.echo(text, file=stream, color=self.colored(stream))

    def echo_view(self, view: RenderableType) -> None:
        """Write what `rich` draws to standard output."""
        console = self.console()
        with console.capture() as drawn:  # it would end the command where nobody reads
            console.print(view)
        self._write(sys.stdout, drawn.get().removesuffix("\n"))

    def echo_json(self, format_name: str, **fields: object) -> None:
        """Write one JSON object of the layout *format_name*, such as ``c10.list/1``.

        Where it comes from a registry, it names that, and those of its includes that are ``disabled``.
        """
        import json

        if self._disabled is not None:
            fields.setdefault("registry", str(self.registry_path))
            fields["disabled"] = [
                {
                    "path": str(disabled.path),
                    **picked(disabled.span, "file", "line"),
                    "diagnostics": [diagnostic.as_dict() for diagnostic in disabled.diagnostics],
                }
                for disabled in self._disabled
            ]
        self._wrote_json = True
        self._write(sys.stdout, json.dumps({"format": format_name, **fields}, indent=2, allow_nan=False))

    def show_diagnostics(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Write *diagnostics* to standard error."""
        from c10cli.report.diagnostics import render_diagnostics

        if diagnostics:
            self._shown += diagnostics
            self.tell(render_diagnostics(diagnostics, color=self.colored(sys.stderr)), is_drawn=True)

    def end_with_error(self) -> None:
        """Where a command of JSON wrote none, write what it ended with: the diagnostics shown."""
        found = [diagnostic.as_dict() for diagnostic in self._shown]
        if self.usage:
            found.append({**Diagnostic("C10E404", self.usage).as_dict(), "code": None, "help": None})
        if self.is_json and found and not self._wrote_json:
            self._disabled = None  # this layout is the same for every command
            with contextlib.suppress(C10Error):
                self.echo_json("c10.error/1", diagnostics=found)

    def tell_left_out(self) -> None:
        """Say which operators were left out, unless something else was shown: they may be why."""
        if self._left_out and not self._shown:
            self.tell(f"left out for their findings, see `c10 validate`: {', '.join(self._left_out)}")

    def name_page(self) -> None:
        """Say where the first code shown is explained, to a person: on a terminal, in text."""
        if self._shown and self.format == "text" and sys.stderr.isatty():
            self.tell(f"for more: c10 explain {self._shown[0].code}")


def picked(value: object, *names: str) -> dict[str, Any]:
    """The attributes *names* of *value*, for JSON."""
    return {name: getattr(value, name) for name in names}


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
    """Make all three usable: a closed one is replaced, none refuses a character it has no code for.

    In place of a closed one is one that is empty, and that cannot be written to.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # Python's sign for one that was closed when it started
            # The lowest number that is free, which is the one that was closed.
            descriptor = os.open(os.devnull, os.O_RDONLY)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))
        elif name != "stdin":
            getattr(sys, name).reconfigure(errors="backslashreplace")


def silence(stream: Any) -> None:
    """Send what *stream* still holds, and all that follows, to nowhere."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # a stream without a descriptor, or none
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def written(stream: Any) -> Iterator[None]:
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
