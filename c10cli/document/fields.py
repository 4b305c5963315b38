"""Reading the fields of a mapping: types, unknown and missing names, repeated keys.

Every fault becomes a finding and the reading goes on; a value that YAML
already had to refuse is passed over in silence.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from c10cli.document.nodes import REFUSED, Document, Duplicate
from c10cli.document.scalars import describe
from c10cli.errors import Diagnostic, Span, did_you_mean, near_names

__all__ = ["Fields"]

Mapping = dict[str, Any]

# Control characters, line and paragraph breaks, marks that turn the direction, halves of characters.
_UNSEEN = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"


class Fields:
    """The reader of one document, with the findings so far.

    In every method *owner* is the mapping's name in messages, such as
    ```c10::relu```; a result of None means absent or refused.
    """

    __slots__ = ("_guessed", "document", "findings")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.findings = list(document.findings)
        self._guessed: list[tuple[Mapping, str]] = []  # fields that `read_as_meant` named

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        label: str = "",
        notes: tuple[str, ...] = (),
        help: str = "",
    ) -> None:
        """Add a finding."""
        self.findings.append(Diagnostic(code, message, span, label=label, notes=notes, help=help))

    def place(self, container: Any, key: str | int) -> Span:
        """Where a wrong value is shown: itself, or its key where nothing is written."""
        if isinstance(key, str) and container[key] is None:
            return self.document.span(container, key, "key")
        return self.document.span(container, key)

    def check_names(
        self,
        mapping: Mapping,
        owner: str,
        known: Collection[str],
        required: Collection[str] = (),
        elsewhere: Collection[tuple[str, str]] = (),
    ) -> None:
        """Report repeated, unknown and missing fields of *mapping*; misspelt ones are then read as meant.

        Args:
            elsewhere: fields of other mappings that are easily put here, each with where it belongs.
        """
        self.check_repeats(mapping, "field", owner)
        for name in [name for name in mapping if name not in known]:
            notes = tuple(where for field, where in elsewhere if field == name)
            self.unknown("C10E104", f"field `{name}` of {owner}", name, known, mapping, notes=notes)
            self.read_as_meant(mapping, name, known)
        for name in required:
            if name not in mapping:
                self.report("C10E105", f"field `{name}` of {owner} is missing", self.document.span(mapping))

    def read_as_meant(self, mapping: Mapping, name: str, known: Collection[str]) -> None:
        """Let the nearest of *known* stand for the unknown *name*, which is reported: one slip, one finding.

        Otherwise `sweeep` would also make every name of the sweep an unknown one.
        """
        meant = next(iter(near_names(name, known)), None)
        if meant is not None and meant not in mapping:
            mapping[meant] = mapping.pop(name)
            places = self.document.places[id(mapping)][1]
            places[meant] = places[name]
            self._guessed.append((mapping, meant))

    def check_repeats(self, mapping: Mapping, kind: str, owner: str) -> None:
        """Report the keys that *mapping* has more than once."""
        for duplicate in self.document.take_duplicates(mapping):
            self.repeated(duplicate, f"{kind} `{duplicate.key}` is given twice in {owner}")

    def repeated(self, duplicate: Duplicate, message: str) -> None:
        """Report one repeated key."""
        notes = (f"the first is at {duplicate.first}", "YAML would silently keep the last of the two")
        self.report("C10E103", message, duplicate.second, label="second one", notes=notes, help="remove one")

    def unknown(
        self,
        code: str,
        what: str,
        name: str,
        known: Collection[str],
        mapping: Mapping,
        *,
        notes: tuple[str, ...] = (),
        help: str = "",
    ) -> None:
        """Report the key *name* of *mapping*, which is none of *known*."""
        note = f"known here: {', '.join(f'`{field}`' for field in known)}"
        span = self.document.span(mapping, name, "key")
        help = help or did_you_mean(name, known)
        self.report(code, f"{what} is unknown", span, notes=(note, *notes), help=help)

    def read(self, container: Any, key: str | int, what: str, expected: str, *kinds: type) -> Any:
        """The value at *key* if it is of one of *kinds*; else a finding that *what* must be *expected*."""
        value = container.get(key, REFUSED) if type(container) is dict else container[key]
        if type(value) in kinds:
            return value
        if value is not REFUSED and not any(m is container and name == key for m, name in self._guessed):
            message = f"{what} must be {expected}, not {describe(value)}"
            self.report("C10E106", message, self.place(container, key))
        return None

    def mapping(self, container: Any, key: str | int, what: str) -> Mapping | None:
        """The mapping at *key*."""
        value: Mapping | None = self.read(container, key, what, "a mapping", dict)
        return value

    def items(self, container: Any, key: str | int, what: str) -> list[Any] | None:
        """The list at *key*."""
        value: list[Any] | None = self.read(container, key, what, "a list", list)
        return value

    def text(self, container: Any, key: str | int, what: str) -> str | None:
        """The string at *key*, which is not empty."""
        value: str | None = self.read(container, key, what, "a string", str)
        if value is not None and not value.strip():
            self.report("C10E106", f"{what} is empty", self.place(container, key))
            return None
        return value

    def line(self, container: Any, key: str | int, what: str) -> str | None:
        """The string at *key*, to be shown on one line: nothing in it moves the cursor or turns the text."""
        text = self.text(container, key, what)
        if text is None:
            return None
        text = text.removesuffix("\n")  # which YAML puts after a folded text
        found = re.search(_UNSEEN, text)
        if found is None:
            return text
        self._refuse(found[0], container, key, what)
        return None

    def name(self, container: Any, key: str | int, what: str) -> str | None:
        """The string at *key*, to be a part of ids such as ``op/CPU/name/case[n=4]``: one word.

        One of several words is reported, and serves to go on with.
        """
        text = self.text(container, key, what)
        if text is None:
            return None
        odd = next((c for c in text if c.isspace() or c == "/" or not c.isprintable()), "")
        if odd:
            self._refuse(odd, container, key, what)
        return text if text.isprintable() else None

    def _refuse(self, character: str, container: Any, key: str | int, what: str) -> None:
        shown = {" ": "a blank", "/": "`/`"}.get(character, f"U+{ord(character):04X}")
        todo = "leave it out" if shown.startswith("U+") else "write one word, such as `a_b` or `a-b`"
        self.report("C10E106", f"{what} has {shown} in it", self.place(container, key), help=todo)

    def flag(self, container: Mapping, key: str, what: str, default: bool) -> bool:
        """The boolean at *key*."""
        value = self.read(container, key, what, "`true` or `false`", bool)
        return default if value is None else bool(value)

    def texts(self, container: Mapping, key: str, what: str) -> tuple[str, ...] | None:
        """The list of strings at *key*, without those that are none."""
        values = self.items(container, key, what)
        if values is None:
            return None
        found = [self.text(values, i, f"item {i + 1} of {what}") for i in range(len(values))]
        return tuple(text for text in found if text is not None)
