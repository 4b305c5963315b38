"""A YAML document as plain values, and where each of them stands in its file.

A place is kept as five small values in a side table, and turned into a span
when one is asked for, which is seldom.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from c10cli.document.findings import Findings
from c10cli.errors import Diagnostic, Span

Key = str | int
Part = Literal["value", "key"]
# Line and column where it starts and ends, from 0, and the style: a quotation mark, `|`, `>`,
# PLAIN, FLOW (in brackets) or BLOCK.  A bare tuple: there is one for every word of the file.
Place = tuple[int, int, int, int, str]
PLAIN: Final = ""
FLOW: Final = "["
BLOCK: Final = "-"

# What YAML 1.1, and so PyYAML's line count, breaks at.
_LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
# One match per character of the value, so that offsets inside it find their columns.
_PIECES = {PLAIN: ".", "'": "''|.", '"': r"\\(?:x..|u.{4}|U.{8}|.)|."}


REFUSED: Final = object()  # what stands where a value was refused; its fault is reported already


class Document:
    """One YAML document: its value, its findings and the place of everything in it.

    ``value`` is `REFUSED` where nothing could be built.
    """

    __slots__ = ("_lines", "file", "findings", "has_anchors", "places", "repeats", "text", "value")

    def __init__(self, file: str, text: str = "") -> None:
        self.file = file
        self.text = text
        self.value: object = REFUSED
        self.has_anchors = False  # and so things that count in several places
        self.findings = Findings()
        # By id of the container: its place, the places of its entries, and itself, which
        # keeps the id from being used again.
        self.places: dict[int, tuple[Place, Any, object]] = {}
        # By id of a mapping, which of the findings are of its repeated keys.
        self.repeats: dict[int, list[int]] = {}
        self._lines: list[str] = []

    def span(self, container: object, key: Key | None = None, part: Part = "value") -> Span:
        """The place of *key* in *container*, of its value, or of the whole *container*."""
        if key is None:
            return self.span_of(self.places[id(container)][0])
        place = self.places[id(container)][1][key]
        if isinstance(key, int):
            return self.span_of(place)
        return self.span_of(place[0] if part == "key" else place[1])

    def is_plain(self, container: object, key: str) -> bool:
        """Whether the value at *key* is a scalar without quotes."""
        return bool(self.places[id(container)][1][key][1][4] == PLAIN)

    def line(self, number: int) -> str | None:
        """Line *number*, from 1, without its break."""
        if not self._lines:
            self._lines = _LINE_BREAK.split(self.text)
        return self._lines[number - 1] if 0 < number <= len(self._lines) else None

    def span_at(self, index: int) -> Span:
        """The place of the character at *index* of the text."""
        before = _LINE_BREAK.split(self.text[:index])
        column = len(before[-1]) + 1
        return Span(self.file, len(before), column, column + 1, self.line(len(before)))

    def span_of(self, place: Place) -> Span:
        """The span of *place*; of what has several lines, up to the end of its first line."""
        line, column, end_line, end_column, style = place
        line_text = self.line(line + 1)
        if end_line != line or style == BLOCK:
            end_column = len((line_text or "").rstrip())
        return Span(self.file, line + 1, column + 1, max(end_column, column + 1) + 1, line_text)

    def columns(self, place: Place, value: object) -> list[int]:
        """The column of every character of a string on one line, and of its end."""
        line, column, end_line, end_column, style = place
        if type(value) is not str or line != end_line or style not in _PIECES:
            return []
        if style == PLAIN:  # an anchor may stand before it
            return list(range(end_column - len(value) + 1, end_column + 2))
        text = self.line(line + 1) or ""
        begin = text.find(style, column) + 1
        columns = [begin + 1 + m.start() for m in re.finditer(_PIECES[style], text[begin : end_column - 1])]
        return [*columns, end_column] if len(columns) == len(value) else []


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A mapping or list of a document, for later questions about its places."""

    document: Document
    value: Any

    def span(self, key: Key | None = None, part: Part = "value") -> Span:
        """The place of *key*, of its value, or of the node."""
        return self.document.span(self.value, key, part)

    def span_within(self, key: Key, start: int, end: int) -> Span:
        """The place of characters *start* to *end* of the string at *key*.

        Where the text cannot be followed (a folded scalar), the whole value.
        """
        whole, entry = self.span(key), self.document.places[id(self.value)][1][key]
        columns = self.document.columns(entry if isinstance(key, int) else entry[1], self.value[key])
        if not columns:
            return whole
        first = columns[min(max(start, 0), len(columns) - 1)]
        last = columns[min(max(end, start), len(columns) - 1)]
        return Span(whole.file, whole.line, first, max(last, first + 1), whole.line_text)

    def child(self, key: Key) -> Node:
        """The node at *key*."""
        return Node(self.document, self.value[key])

    def placed(self, finding: Diagnostic, key: Key, shift: int = 0) -> Diagnostic:
        """*finding* in the text at *key*, moved to its place in the file.

        Args:
            shift: how many characters stand before that text where the finding counts.
        """
        span, text = finding.span, self.value[key]
        if span is None or type(text) is not str:  # a list that became one expression
            return replace(finding, span=self.span(key))
        before = sum(len(line) + 1 for line in text.split("\n")[: span.line - 1]) - 1 - shift
        start, end = max(before + span.column, 0), max(before + span.end_column, 0)
        return replace(finding, span=self.span_within(key, start, end))
