"""The pieces of a domain's text: what stands between commas and brackets, by place."""

from __future__ import annotations

from collections.abc import Iterator

_OPEN, _CLOSED = "([{", ")]}"


def split(text: str, start: int, end: int, separator: str) -> list[tuple[int, int]]:
    """The pieces of *text* between the *separator*s outside of brackets and quotes, without margins."""
    pieces, begin = [], start
    for at, depth in _depths(text, start, end):
        if depth == 0 and text[at] == separator:
            pieces.append((begin, at))
            begin = at + 1
    return [_trimmed(text, *piece) for piece in (*pieces, (begin, end))]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    return left, max(left, start + len(piece.rstrip()))


def find(text: str, start: int, end: int, character: str) -> int:
    """The first *character* outside of brackets; -1 where there is none."""
    return next((at for at, depth in _depths(text, start, end) if depth == 0 and text[at] == character), -1)


def closing(text: str, opened: int, end: int) -> int:
    """Where the bracket at *opened* is closed; -1 where it is not."""
    return next((at for at, depth in _depths(text, opened + 1, end) if depth < 0), -1)


def _depths(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The characters outside of quotes, by place, each with the depth of brackets that it stands in."""
    depth, quoted = 0, ""
    for at in range(start, end):
        character = text[at]
        if quoted:
            quoted = "" if character == quoted else quoted
            continue
        depth -= character in _CLOSED
        if character in "'\"":
            quoted = character
        yield at, depth
        depth += character in _OPEN
