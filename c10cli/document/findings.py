"""The findings of files: one for each cause, in order of position, as many as a reader can use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from c10cli.errors import Diagnostic, capped, counted

MOST_FINDINGS: Final = 100  # of one file that are told


class Findings(list[Diagnostic]):
    """Findings as they are met, one for each cause.

    Those beyond `MOST_FINDINGS` of a file and severity are counted.
    """

    def __init__(self, found: Iterable[Diagnostic] = ()) -> None:
        super().__init__()
        self.met = 0  # with those that have the same cause
        self._kept: Counter[tuple[str, str]] = Counter()
        self._left_out: Counter[str] = Counter()
        self._places: dict[object, dict[str, None]] = {}  # of each cause
        self.extend(found)

    def append(self, finding: Diagnostic) -> None:
        """Add *finding*, or count it."""
        cause, file = _cause(finding), _file(finding)
        kind = (file, finding.severity)  # so that no warning takes an error's place
        self.met += 1
        if cause in self._places:
            self._places[cause][str(finding.span)] = None
        elif self._kept[kind] < MOST_FINDINGS:
            self._kept[kind] += 1
            self._places[cause] = {str(finding.span): None}
            super().append(finding)
        else:
            self._left_out[file] += 1

    def extend(self, found: Iterable[Diagnostic]) -> None:
        """Add or count all of *found*, and what it has counted."""
        for finding in found:
            self.append(finding)
        if isinstance(found, Findings):
            self._left_out += found._left_out
            for cause in self._places.keys() & found._places.keys():
                self._places[cause].update(found._places[cause])

    def __iadd__(self, found: Iterable[Diagnostic]) -> Findings:  # type: ignore[override,misc]
        self.extend(found)
        return self

    @property
    def total(self) -> int:
        """How many there are, with those that are only counted."""
        return len(self) + sum(self._left_out.values())

    @property
    def places(self) -> set[str]:
        """Where something is wrong."""
        wrong = [finding for finding in self if finding.severity == "error"]
        return {place for finding in wrong for place in self._places[_cause(finding)]}

    def told(self, files: Iterable[str] = ()) -> list[Diagnostic]:
        """The findings `in_order`, with notes of how many more there are: of a cause, in a file."""
        found = in_order(self, files)
        last = {_file(finding): index for index, finding in enumerate(found)}
        for index, finding in enumerate(found):
            others = list(self._places.get(_cause(finding), ()))[1:]
            if others:
                note = f"the same at {counted(len(others), 'more place')}: {', '.join(capped(others, 4))}"
                found[index] = finding.with_notes(note)
        for file, count in self._left_out.items():
            note = f"{counted(count, 'more finding')} in `{file}`"
            found[last[file]] = found[last[file]].with_notes(note)
        return found


def _cause(finding: Diagnostic) -> object:
    return finding.cause or (finding.code, finding.message, str(finding.span))


def _file(finding: Diagnostic) -> str:
    return finding.span.file if finding.span else ""


def in_order(findings: Iterable[Diagnostic], files: Iterable[str] = ()) -> list[Diagnostic]:
    """*findings* by position.

    Args:
        files: their order, others come after them as they are met, and last what has no position.
    """
    found, rank = list(findings), {file: index for index, file in enumerate(files)}
    for finding in found:
        if finding.span:
            rank.setdefault(finding.span.file, len(rank))
    return sorted(
        found, key=lambda f: (rank[f.span.file], f.span.line, f.span.column) if f.span else (len(rank), 0, 0)
    )
