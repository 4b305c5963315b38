"""From YAML text to a `Document`, on PyYAML as the source of events only.

PyYAML's own builder keeps the last of two equal keys silently, reads YAML 1.1
scalars (`no`, `017`, `12:30`) and forgets where a value stood.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, NoReturn

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
from c10cli.document.scalars import kind_name, resolve_scalar
from c10cli.errors import Diagnostic, ManifestError, Span

MAX_BYTES: Final = 16 * 2**20
MAX_DEPTH: Final = 50
MAX_VALUES: Final = 1_000_000
MAX_KEY: Final = 1_024  # characters, as in YAML's own rule for keys on one line
MAX_TEXT: Final = 100_000  # characters of one value
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


def load_document(path: Path, shown: str | None = None) -> Document:
    """The document in the file at *path*, which spans call *shown*; never raises for a fault of the file."""
    file = shown if shown is not None else str(path)
    try:
        # Opening a FIFO waits for somebody to write; a device may have no end.
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise OSError(None, "it is no regular file")
        with path.open("rb") as opened:
            return parse_document(opened.read(MAX_BYTES + 1), file)
    except (OSError, ValueError) as error:
        document = Document(file)
        document.findings.append(_unreadable(file, error))
        return document


def parse_document(text: str | bytes, file: str = "<manifest>") -> Document:
    """The one document in *text*; its faults are in ``findings``."""
    document = Document(file, text if isinstance(text, str) else "")
    try:
        if isinstance(text, bytes):
            document.text = _decoded(text, file)
        _check_blanks(document)
        loader, builder = _Loader(document.text), _Builder(document)
        try:
            document.value = builder.build(loader.get_event)
            document.has_anchors = bool(builder.anchors)
        except (ManifestError, yaml.YAMLError):
            builder.check_open()
            raise
        finally:
            loader.dispose()
    except ManifestError as stop:
        document.findings += stop.diagnostics
    except yaml.MarkedYAMLError as error:
        document.findings.append(_syntax_finding(document, error))
    except (yaml.reader.ReaderError, UnicodeEncodeError):
        document.findings.append(_unprintable_finding(document))
    return document


class _Frame:
    """A mapping or list that is being read: what is in it, keys and values in turn, and where."""

    __slots__ = ("count", "event", "places", "values")

    def __init__(self, event: Any, count: int) -> None:
        self.event = event
        self.count = count
        self.values: Any = []
        self.places: Any = []


class _Builder:
    """From events to values, one pass, no recursion."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.anchors: dict[str, Any] = {}
        self.sizes: dict[str, int] = {}
        self.aliased = 0
        self.stack: list[_Frame] = []

    def check_open(self) -> None:
        """Find what is wrong with the keys of mappings whose end is not read."""
        for frame in self.stack:
            if type(frame.event) is MappingStartEvent:
                self._mapping(frame)

    def build(self, get_event: Callable[[], Any]) -> object:
        """The value of the document; `REFUSED` for an empty text."""
        root = frame = _Frame(None, 0)
        self.stack = stack = [root]
        count = 0
        while True:
            event = get_event()
            kind = type(event)
            if (count := count + 1) > MAX_VALUES:
                self._stop(f"more than {MAX_VALUES:,} keys and values", event)
            if kind is ScalarEvent:
                value = self._scalar(event)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                stack.append(frame := self._open(event, count, len(stack)))
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                place, value = self._close(stack.pop(), event, count)
                frame = stack[-1]
                frame.values.append(value)
                frame.places.append(place)
                continue
            elif kind is AliasEvent:
                value = self._alias(event)
                count += self.sizes.get(event.anchor, 0)
            elif self._ends(event, root):
                return root.values[0] if root.values else REFUSED
            else:
                continue
            style = FLOW if kind is AliasEvent else PLAIN if event.implicit[0] else event.style
            start, end = event.start_mark, event.end_mark
            frame.values.append(value)
            frame.places.append((start.line, start.column, end.line, end.column, style))

    def _scalar(self, event: Any) -> Any:
        value = resolve_scalar(event.value) if event.implicit[0] else event.value
        if len(event.value) > MAX_TEXT and type(value) is str:
            value = self._refuse(
                _place(event), "C10E112", f"text of more than {MAX_TEXT:,} characters", "write less"
            )
        return value if event.tag is event.anchor is None else self._marked(event, value, 1)

    def _marked(self, event: Any, value: Any, size: int) -> Any:
        """*value* with its tag, which is refused, and its anchor, which is kept."""
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            value = self._refuse(_place(event), "C10E111", f"YAML tag `{tag}`", help="leave the tag out")
        if event.anchor is not None:
            self.anchors[event.anchor] = value
            self.sizes[event.anchor] = size
        return value

    def _open(self, event: Any, count: int, depth: int) -> _Frame:
        if depth > MAX_DEPTH:
            self._stop(f"more than {MAX_DEPTH} levels of nesting", event)
        if event.anchor is not None:
            self.anchors[event.anchor] = _OPEN
        return _Frame(event, count)

    def _close(self, frame: _Frame, end: Any, count: int) -> tuple[Place, Any]:
        event, value, places = frame.event, frame.values, frame.places
        if type(event) is MappingStartEvent:
            value, places = self._mapping(frame)
        place = _place(event, end)
        self.document.places[id(value)] = (place, places, value)
        return place, self._marked(event, value, count - frame.count)

    def _mapping(self, frame: _Frame) -> tuple[Any, Any]:
        """The mapping of a frame, and the places of its keys and values; of equal keys the first counts."""
        found: dict[str, Any] = {}
        places: dict[str, tuple[Place, Place]] = {}
        values, value_places = frame.values[1::2], frame.places[1::2]
        # The last one has no value where reading stopped.
        for key, place, value, value_place in zip_longest(
            frame.values[::2], frame.places[::2], values, value_places
        ):
            if type(key) is not str or (key == "<<" and place[4] == PLAIN):
                self._refuse_key(place, key)
            elif len(key) > MAX_KEY:
                self._refuse(place, "C10E112", f"key of more than {MAX_KEY:,} characters", "write less")
            elif key in found:
                index = len(self.document.findings)
                self._repeated(key, places[key][0], place)
                if len(self.document.findings) > index:
                    self.document.repeats.setdefault(id(found), []).append(index)
            else:
                found[key] = value
                places[key] = place, value_place
        return found, places

    def _repeated(self, key: str, first: Place, second: Place) -> None:
        fact, span = f"key `{key}` is given twice", self.document.span_of(second)
        first_at = f"the first is at {self.document.span_of(first)}"
        notes = (first_at, "YAML would silently keep the last of the two")
        found = Diagnostic("C10E103", fact, span, label="second one", notes=notes, help="remove one")
        self.document.findings.append(found)

    def _alias(self, event: Any) -> object:
        if event.anchor not in self.anchors:
            message = f"alias `*{event.anchor}` without an anchor `&{event.anchor}` before it"
            return self._refuse(_place(event), "C10E111", message, help="quote a text that begins with `*`")
        value = self.anchors[event.anchor]
        if value is _OPEN:
            return self._refuse(_place(event), "C10E111", f"anchor `&{event.anchor}` contains itself")
        self.aliased += self.sizes[event.anchor]
        if self.aliased > MAX_ALIASED:
            self._stop(f"aliases add more than {MAX_ALIASED:,} nodes", event, label="expanded here")
        return value

    def _ends(self, event: Any, root: _Frame) -> bool:
        is_second = type(event) is DocumentStartEvent and bool(root.values)
        if is_second:
            todo = "use a file for each manifest"
            self._refuse(_place(event), "C10E111", "second YAML document", help=todo)
        return is_second or type(event) is StreamEndEvent

    def _stop(self, message: str, event: Any, label: str = "") -> NoReturn:
        """End reading at a limit."""
        span = self.document.span_of(_place(event))
        raise ManifestError(Diagnostic("C10E112", message, span, label=label))

    def _refuse_key(self, place: Place, value: object) -> None:
        if value == "<<":
            self._refuse(place, "C10E111", "merge key `<<`", help="write the fields out")
        elif value is not REFUSED:
            span = self.document.span_of(place)
            text = (span.line_text or "")[span.column - 1 : span.end_column - 1]
            shown = f"`{text}`" if place[4] not in (BLOCK, FLOW) and text.strip(" :") else "of a mapping"
            message = f"key {shown} is {kind_name(value)}, not a string"
            self._refuse(place, "C10E106", message, help="quote it")

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


def _decoded(data: bytes, file: str) -> str:
    """The text that *data* is in UTF-8.

    Raises:
        ManifestError: C10E112, it is too much; C10E102, it is no UTF-8.
    """
    if len(data) > MAX_BYTES:
        message = f"manifest `{file}` is larger than {MAX_BYTES // 2**20} MiB"
        raise ManifestError(Diagnostic("C10E112", message, help="split it and use `include:`"))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        line = before + data[error.start :].split(b"\n")[0].decode("utf-8", "replace")
        message, span = (
            f"byte 0x{data[error.start]:02x} is not UTF-8 text",
            Document(file, line).span_at(len(before)),
        )
        raise ManifestError(Diagnostic("C10E102", message, span, help="save the file as UTF-8")) from error


def _check_blanks(document: Document) -> None:
    """Refuse a no-break space where YAML's blanks mean something: there it would be a part of a key or value.

    Raises:
        ManifestError: C10E102.
    """
    match = re.search(_NO_BREAK, document.text) if "\u00a0" in document.text else None
    if match:
        message = "no-break space (U+00A0), which is no blank to YAML"
        span = document.span_at(match.end() - 1)
        raise ManifestError(Diagnostic("C10E102", message, span, help="write an ordinary blank"))


# Among what begins a line, or behind its first key.
_NO_BREAK = re.compile(r"^[ \t-]*(?:\w+:[ \t]*)?\u00a0", re.MULTILINE)


def _unprintable_finding(document: Document) -> Diagnostic:
    match = re.search(_UNPRINTABLE, document.text)
    assert match is not None  # PyYAML's list of characters is the same
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
