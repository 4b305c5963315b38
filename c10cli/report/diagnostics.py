"""Diagnostics as text: the finding, its line with a caret, notes and help.

Rendering is total: a place outside its line, control characters or half a
character never raise, since that would hide the finding itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Final

from c10cli.describe import JOINERS, printable
from c10cli.errors import Diagnostic, Span

MAX_WIDTH: Final = 100  # of the shown piece of a line
_TAB: Final = "    "
_CUT: Final = "..."

_STYLES: Final = {"error": "1;31", "warning": "1;33", "frame": "1;34", "help": "1;36", "bold": "1"}

# Gives a text in one of the styles, or as it is.
_Paint = Callable[[str, str], str]


def render_diagnostics(diagnostics: Iterable[Diagnostic], *, color: bool = False) -> str:
    """All of *diagnostics*, with an empty line between them; no line break at the end."""
    return "\n\n".join(render_diagnostic(diagnostic, color=color) for diagnostic in diagnostics)


def render_diagnostic(diagnostic: Diagnostic, *, color: bool = False) -> str:
    """One finding; *color* adds ANSI colours, which only repeat what the text says."""
    paint = _painted if color else lambda _style, text: text
    head = paint(diagnostic.severity, f"{diagnostic.severity}[{diagnostic.code}]")
    lines = [head + paint("bold", f": {_clean(diagnostic.message)}")]
    span = diagnostic.span
    gutter = len(str(span.line)) if span else 1
    where = str(span) if span else diagnostic.place
    if where:
        lines.append(f"{' ' * gutter}{paint('frame', '-->')} {_clean(where)}")
    if span and span.line_text is not None:
        lines += _snippet(diagnostic, span, gutter, paint)
    if span and diagnostic.place:
        lines.append(_remark("in", diagnostic.place, gutter, paint))
    lines += [_remark("note", note, gutter, paint) for note in diagnostic.notes]
    if diagnostic.advice:
        lines.append(_remark("help", diagnostic.advice, gutter, paint))
    return "\n".join(lines)


def _painted(style: str, text: str) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def _snippet(diagnostic: Diagnostic, span: Span, gutter: int, paint: _Paint) -> list[str]:
    """The line and, below it, the caret with its label."""
    shown, before, width = _window(span)
    bar = paint("frame", "|")
    caret = "^" * width + (f" {_clean(diagnostic.label)}" if diagnostic.label else "")
    return [
        f"{' ' * gutter} {bar}",
        f"{paint('frame', str(span.line))} {bar} {shown}".rstrip(),
        f"{' ' * gutter} {bar} {' ' * before}{paint(diagnostic.severity, caret)}",
    ]


def _remark(kind: str, text: str, gutter: int, paint: _Paint) -> str:
    """A note or help; further lines are set under its first."""
    first, *rest = printable(text).split("\n")
    word = paint("help" if kind == "help" else "bold", kind)
    head = f"{' ' * gutter} {paint('frame', '=')} {word}: "
    indent = " " * (gutter + len(f" = {kind}: "))
    return "\n".join([head + first, *(indent + line for line in rest)])


def _window(span: Span) -> tuple[str, int, int]:
    """The piece of the line to show, the columns before the caret in it, and the caret's width."""
    span = span.excerpt()
    cells = [_cell(character) for character in (span.line_text or "").rstrip("\r\n")]
    start = min(max(span.column - span.line_column, 0), len(cells))
    end = min(max(span.end_column - span.line_column, start), len(cells))
    first, last = _window_bounds([width for _, width in cells], start, end)
    head = _CUT if first > 0 else ""
    tail = _CUT if last < len(cells) else ""
    shown = head + "".join(text for text, _ in cells[first:last]) + tail
    before = len(head) + sum(width for _, width in cells[first:start])
    return shown, before, max(sum(width for _, width in cells[start : min(end, last)]), 1)


def _window_bounds(widths: list[int], start: int, end: int) -> tuple[int, int]:
    """The first and last cell of a window of MAX_WIDTH columns with the caret in its middle, or near it."""
    first, last, shown = 0, len(widths), sum(widths)
    while shown > MAX_WIDTH:
        if first < start and start - first > last - end:
            shown -= widths[first]
            first += 1
        else:
            last -= 1
            shown -= widths[last]
    return first, last


def _cell(character: str) -> tuple[str, int]:
    """What is shown for a character, and how many columns that takes."""
    if character == "\t":
        return _TAB, len(_TAB)
    text = _clean(character)
    if text != character:
        return text, len(text)
    if character in JOINERS or unicodedata.category(character) in ("Mn", "Me"):
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _clean(text: str) -> str:
    """*text* on one line, whatever is in it."""
    return printable(text).replace("\n", "\\n")
