"""From YAML text to a `Document`, on PyYAML as the source of events only.

PyYAML's own builder keeps the last of two equal keys silently, reads YAML 1.1
scalars (`no`, `017`, `12:30`) and forgets where a value stood.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from c10cli.document.nodes import BLOCK, FLOW, PLAIN, REFUSED, Document, Place
from c10cli.document.scalars import describe, resolve_scalar
from c10cli.errors import Diagnostic, Span

__all__ = ["load_document", "parse_document"]

MAX_BYTES: Final = 16 * 2**20
MAX_DEPTH: Final = 50
MAX_ALIASED: Final = 100_000  # nodes that aliases add, counted as if written out

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNPRINTABLE = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
# By a word of PyYAML's complaint.
_SYNTAX_HELP: Final = {
    "mapping values": "quote a text that has `: ` in it, as every schema should be",
    "'-' indicator": "start the items of one list in the same column",
    "expected key": "start the keys of one mapping in the same column, and quote schemas",
    "<block end>": "start the entries of one block in the same column, and quote schemas",
    "cannot start any token": "quote a text that begins with `@`, `%` or a backtick",
}
_OPEN: Final = object()  # the anchor of a container that is still being read
_UNKNOWN: Final = object()


class _Stop(Exception):
    """Nothing after this finding can be read."""

    def __init__(self, finding: Diagnostic) -> None:
        super().__init__(finding)
        self.finding = finding


def load_document(path: Path, shown: str | None = None) -> Document:
    """The document in the file at *path*, which spans call *shown*; never raises for a fault of the file."""
    document = Document(shown if shown is not None else str(path))
    try:
        # Opening a FIFO waits for somebody to write; a device may have no end.
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise OSError(None, "it is no regular file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        document.findings.append(_unreadable(document.file, error))
        return document
    return document_of(data, document.file)


def document_of(data: bytes, file: str) -> Document:
    """The document in *data*, as read from a file; never raises for a fault of it."""
    document = Document(file)
    if len(data) > MAX_BYTES:
        message = f"manifest `{file}` is larger than {MAX_BYTES // 2**20} MiB"
        document.findings.append(Diagnostic("C10E112", message, help="split it and use `include:`"))
        return document
    try:
        return parse_document(data.decode("utf-8-sig"), file)
    except UnicodeDecodeError as error:
        document.findings.append(_not_utf8(file, data, error))
        return document


def parse_document(text: str, file: str = "<manifest>") -> Document:
    """The one document in *text*; its faults are in ``findings``."""
    document = Document(file, text)
    try:
        document.value = _Builder(document).build()
    except _Stop as stop:
        document.findings.append(stop.finding)
    except yaml.MarkedYAMLError as error:
        document.findings.append(_syntax_finding(document, error))
    except (yaml.reader.ReaderError, UnicodeEncodeError):
        document.findings.append(_unprintable_finding(document))
    return document


class _Frame:
    """A container being built: where its values go and what stood where."""

    __slots__ = ("container", "count", "event", "places")

    container: Any
    places: Any

    def __init__(self, event: Any, count: int) -> None:
        self.event = event
        self.count = count

    def add(self, place: Place, value: Any) -> None:
        """Take the next finished value."""
        raise NotImplementedError


class _ListFrame(_Frame):
    __slots__ = ()

    def __init__(self, event: Any, count: int) -> None:
        super().__init__(event, count)
        self.container = []
        self.places = []

    def add(self, place: Place, value: Any) -> None:
        self.container.append(value)
        self.places.append(place)


class _MappingFrame(_Frame):
    __slots__ = ("builder", "key", "key_place")

    def __init__(self, event: Any, count: int, builder: _Builder) -> None:
        super().__init__(event, count)
        self.container = {}
        self.places = {}
        self.builder = builder
        self.key: Any = None
        self.key_place: Place | None = None

    def add(self, place: Place, value: Any) -> None:
        key_place = self.key_place
        if key_place is None:
            self.key_place = place
            is_usual = type(value) is str and (value != "<<" or place[4] != PLAIN)
            self.key = value if is_usual else self.builder.refuse_key(place, value)
            return
        self.key_place = None
        key = self.key
        if key is REFUSED:
            return
        if key in self.container:
            self.builder.repeat(self.container, key, self.places[key][0], key_place)
            return
        self.container[key] = value
        self.places[key] = (key_place, place)


class _Builder:
    """From events to values, one pass, no recursion."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.anchors: dict[str, Any] = {}
        self.sizes: dict[str, int] = {}
        self.aliased = 0

    def build(self) -> object:
        """The value of the document; `REFUSED` for an empty text."""
        loader = _Loader(self.document.text)
        try:
            return self._build(loader.get_event)
        finally:
            loader.dispose()

    def _build(self, get_event: Callable[[], Any]) -> object:
        root = _ListFrame(None, 0)
        frame: _Frame = root
        stack: list[_Frame] = []
        count = 0
        while True:
            event = get_event()
            kind = type(event)
            count += 1
            if kind is ScalarEvent:
                value = self._scalar(event)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                stack.append(frame)
                frame = self._open(event, count, len(stack))
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                place, value = self._close(frame, event, count)
                frame = stack.pop()
                frame.add(place, value)
                continue
            elif kind is AliasEvent:
                value = self._alias(event)
                count += self.sizes.get(event.anchor, 0)
            elif self._ends(event, root):
                return root.container[0] if root.container else REFUSED
            else:
                continue
            start, end = event.start_mark, event.end_mark
            style = FLOW if kind is AliasEvent else PLAIN if event.implicit[0] else event.style
            frame.add((start.line, start.column, end.line, end.column, style), value)

    def _scalar(self, event: Any) -> Any:
        value = event.value
        if event.implicit[0]:
            value = resolve_scalar(value)
        if event.tag is not None:
            value = self._refuse_tag(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = value
            self.sizes[event.anchor] = 1
        return value

    def _open(self, event: Any, count: int, depth: int) -> _Frame:
        if depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} levels of nesting"
            raise _Stop(Diagnostic("C10E112", message, self.document.span_of(_place(event))))
        if event.anchor is not None:
            self.anchors[event.anchor] = _OPEN
        is_mapping = type(event) is MappingStartEvent
        return _MappingFrame(event, count, self) if is_mapping else _ListFrame(event, count)

    def _close(self, frame: _Frame, end: Any, count: int) -> tuple[Place, object]:
        event, value = frame.event, frame.container
        place = _place(event, end)
        self.document.places[id(value)] = (place, frame.places, value)
        if event.tag is not None:
            value = self._refuse_tag(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = value
            self.sizes[event.anchor] = count - frame.count
        return place, value

    def _alias(self, event: Any) -> object:
        value = self.anchors.get(event.anchor, _UNKNOWN)
        if value is _UNKNOWN:
            message = f"alias `*{event.anchor}` without an anchor `&{event.anchor}` before it"
            return self._refuse(_place(event), "C10E111", message, help="quote a text that begins with `*`")
        if value is _OPEN:
            return self._refuse(_place(event), "C10E111", f"anchor `&{event.anchor}` contains itself")
        self.aliased += self.sizes[event.anchor]
        if self.aliased > MAX_ALIASED:
            message = f"aliases add more than {MAX_ALIASED:,} nodes"
            raise _Stop(
                Diagnostic("C10E112", message, self.document.span_of(_place(event)), label="expanded here")
            )
        return value

    def _ends(self, event: Any, root: _Frame) -> bool:
        if type(event) is StreamEndEvent:
            return True
        if type(event) is DocumentStartEvent and root.container:
            self._refuse(
                _place(event), "C10E111", "second YAML document", help="use a file for each manifest"
            )
            return True
        return False

    def _refuse_tag(self, event: Any) -> object:
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        return self._refuse(_place(event), "C10E111", f"YAML tag `{tag}`", help="leave the tag out")

    def refuse_key(self, place: Place, value: object) -> object:
        """Report a key that is no string, or a merge key."""
        if value == "<<":
            return self._refuse(place, "C10E111", "merge key `<<`", help="write the fields out")
        if value is not REFUSED:
            span = self.document.span_of(place)
            text = (span.line_text or "")[span.column - 1 : span.end_column - 1]
            shown = f"`{text}`" if place[4] not in (BLOCK, FLOW) and text.strip(" :") else "of a mapping"
            message = f"key {shown} is {describe(value)}, not a string"
            self._refuse(place, "C10E106", message, help="quote it")
        return REFUSED

    def repeat(self, container: object, key: str, first: Place, second: Place) -> None:
        """Note that *key* came again."""
        self.document.duplicates.setdefault(id(container), []).append((key, first, second))

    def _refuse(self, place: Place, code: str, message: str, help: str = "") -> object:
        note = ("a manifest uses plain YAML, anchors and aliases only",) if code == "C10E111" else ()
        span = self.document.span_of(place)
        self.document.findings.append(Diagnostic(code, message, span, notes=note, help=help))
        return REFUSED


def _place(event: Any, end: Any = None) -> Place:
    """Where an event stands; of a container in brackets, up to its *end* event."""
    is_block = isinstance(event, CollectionStartEvent) and not event.flow_style
    start, last = event.start_mark, (event if end is None or is_block else end).end_mark
    return start.line, start.column, last.line, last.column, BLOCK if is_block else FLOW


def _unreadable(file: str, error: OSError | ValueError) -> Diagnostic:
    """Why the file could not be read."""
    if isinstance(error, FileNotFoundError):
        return Diagnostic("C10E101", f"manifest `{file}` does not exist")
    if isinstance(error, IsADirectoryError):
        return Diagnostic("C10E101", f"`{file}` is a folder, not a manifest", help="name the file inside it")
    reason = getattr(error, "strerror", None) or str(error)
    return Diagnostic("C10E101", f"manifest `{file}` cannot be read: {reason}")


def _not_utf8(file: str, data: bytes, error: UnicodeDecodeError) -> Diagnostic:
    before = data[: error.start].decode("utf-8", "replace")
    document = Document(file, before + data[error.start :].split(b"\n")[0].decode("utf-8", "replace"))
    message = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
    return Diagnostic("C10E102", message, document.span_at(len(before)), help="save the file as UTF-8")


def _unprintable_finding(document: Document) -> Diagnostic:
    match = re.search(_UNPRINTABLE, document.text)
    if match is None:  # pragma: no cover - the two lists of characters are the same
        return Diagnostic("C10E102", f"`{document.file}` is not YAML: unreadable character")
    message = f"control character U+{ord(match.group()):04X}, which YAML does not allow"
    return Diagnostic("C10E102", message, document.span_at(match.start()))


def _syntax_finding(document: Document, error: yaml.MarkedYAMLError) -> Diagnostic:
    """What PyYAML found, at the place in the text, with what it was reading."""
    mark = error.problem_mark or error.context_mark
    span = _mark_span(document, mark)
    line = span.line_text or ""
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent:
        span = Span(span.file, span.line, indent.index("\t") + 1, len(indent) + 1, line)
        return Diagnostic("C10E102", "tab used for indentation", span, help="indent with spaces")
    problem = error.problem or "unexpected text"
    if "nesting depth" in problem:  # libyaml's own limit, met while it reads ahead of us
        return Diagnostic("C10E112", f"more than {MAX_DEPTH} levels of nesting", span)
    notes: tuple[str, ...] = ()
    if error.context and error.context_mark:
        notes = (f"{error.context} that began at {_mark_span(document, error.context_mark)}",)
    help = next((text for word, text in _SYNTAX_HELP.items() if word in problem), "")
    return Diagnostic("C10E102", f"not YAML: {problem}", span, notes=notes, help=help)


def _mark_span(document: Document, mark: Any) -> Span:
    """The place of a mark; one after the last line is moved to its end."""
    line = document.line(mark.line + 1)
    if line is not None and not (line == "" and mark.index >= len(document.text)):
        return Span(document.file, mark.line + 1, mark.column + 1, mark.column + 2, line)
    return document.span_at(len(document.text.rstrip()))
