"""Workflow commands of GitHub Actions, which show a finding beside the changed line."""

from __future__ import annotations

import os
from typing import Literal

from c10cli.describe import printable
from c10cli.errors import Span

_IN_TEXT = (("%", "%25"), ("\n", "%0A"))
_IN_PLACE = (*_IN_TEXT, (":", "%3A"), (",", "%2C"))


def annotation(
    severity: Literal["error", "warning", "notice"], title: str, text: str, span: Span | None
) -> str:
    """One annotation; a place ``REV:path`` in git becomes that of the path."""
    place = ""
    if span is not None and not span.file.startswith("<"):  # which is no file
        file = _escaped(_path(span.file), _IN_PLACE)
        place = f",file={file},line={span.line},col={span.column},endColumn={span.end_column}"
    return f"::{severity} title={_escaped(title, _IN_PLACE)}{place}::{_escaped(text, _IN_TEXT)}"


def _path(file: str) -> str:
    _, colon, path = file.partition(":")
    name = path if colon and not os.path.exists(file) else file  # noqa: PTH110 - total, whatever the text
    return os.path.normpath(name)


def _escaped(text: str, codes: tuple[tuple[str, str], ...]) -> str:
    text = printable(text)
    for character, code in codes:
        text = text.replace(character, code)
    return text
