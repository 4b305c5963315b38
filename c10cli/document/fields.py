"""Reading the fields of a mapping: types, unknown and missing names.

Every fault becomes a finding and the reading goes on; a value that YAML
already had to refuse is passed over in silence.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from c10cli.document.findings import MOST_FINDINGS, Findings
from c10cli.document.nodes import REFUSED, Document
from c10cli.document.scalars import kind_name
from c10cli.errors import Diagnostic, Span, capped, did_you_mean, near_names

Mapping = dict[str, Any]
Names = Collection[str]
Texts = tuple[str, ...]

# Control characters, line and paragraph breaks, marks that turn the direction, halves of characters.
_UNSEEN = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"


class Fields:
    """The reader of one document, with the findings so far.

    In every method *owner* is the mapping's name in messages, such as
    ```c10::relu```; a result of None means absent or refused.
    """

    __slots__ = ("document", "findings")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.findings = Findings(document.findings)

    def report(
        self, code: str, message: str, span: Span, *, label: str = "", notes: Texts = (), help: str = ""
    ) -> None:
        """Add a finding."""
        self.findings.append(Diagnostic(code, message, span, label=label, notes=notes, help=help))

    def place(self, container: Any, key: str | int) -> Span:
        """Where a wrong value is shown: itself, or its key where nothing is written."""
        if isinstance(key, str) and container[key] is None:
            return self.document.span(container, key, "key")
        return self.document.span(container, key)

    def check_names(self, mapping: Mapping, owner: str, known: Names, required: Names = ()) -> None:
        """Report unknown and missing fields of *mapping*; one that is misspelt is not missing as well."""
        self._say_whose(mapping, owner)
        given = set(mapping)
        for name in [name for name in mapping if name not in known]:
            self.unknown("C10E104", f"field `{name}` of {owner}", name, known, mapping)
            given.update(self.nearest(name, known))
        for name in required:
            if name not in given:
                self.report("C10E105", f"field `{name}` of {owner} is missing", self.document.span(mapping))

    def nearest(self, name: str, known: Names) -> list[str]:
        """The one of *known* that *name* may be meant for; after many findings none: it takes long."""
        return near_names(name, known)[:1] if self.findings.met < MOST_FINDINGS else []

    def did_you_mean(self, name: str, known: Names) -> str:
        """A help line that offers near names, or the empty string, which it is after many findings."""
        return did_you_mean(name, known) if self.findings.met < MOST_FINDINGS else ""

    def _say_whose(self, mapping: Mapping | None, owner: str) -> None:
        """Say in the findings of repeated keys of *mapping* that they are *owner*'s."""
        for index in self.document.repeats.get(id(mapping), ()):
            found = self.document.findings[index]
            self.findings[index] = replace(found, message=f"{found.message} in {owner}")

    def unknown(self, code: str, what: str, name: str, known: Names, table: Mapping, help: str = "") -> None:
        """Report the key *name* of *table*, which is none of *known*."""
        note = f"known here: {', '.join(capped([f'`{field}`' for field in known], 40))}"
        span = self.document.span(table, name, "key")
        help = help or self.did_you_mean(name, known)
        self.report(code, f"{what} is unknown", span, notes=(note,), help=help)

    def read(self, container: Any, key: str | int, what: str, expected: str, *kinds: type) -> Any:
        """The value at *key* if it is of one of *kinds*; else a finding that *what* must be *expected*."""
        value = container.get(key, REFUSED) if type(container) is dict else container[key]
        if type(value) in kinds:
            return value
        if value is not REFUSED:
            message = f"{what} must be {expected}, not {kind_name(value)}"
            self.report("C10E106", message, self.place(container, key))
        return None

    def mapping(self, container: Any, key: str | int, what: str) -> Mapping | None:
        """The mapping at *key*."""
        value: Mapping | None = self.read(container, key, what, "a mapping", dict)
        self._say_whose(value, what)
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
        return None if self._has(_UNSEEN, text, container, key, what) else text

    def name(self, container: Any, key: str | int, what: str) -> str | None:
        """The string at *key*, to be a part of ids such as ``op/CPU/name/case[n=4]``: one word.

        One of several words is reported, and serves to go on with.
        """
        text = self.text(container, key, what)
        if text is None:
            return None
        self._has(rf"[\s/]|{_UNSEEN}", text, container, key, what)
        return text if text.isprintable() else None

    def _has(self, pattern: str, text: str, container: Any, key: str | int, what: str) -> bool:
        """Whether *text* has a character that it must not have, which is then reported."""
        found = re.search(pattern, text)
        if found is None:
            return False
        shown = {" ": "a blank", "/": "`/`"}.get(found[0], f"U+{ord(found[0]):04X}")
        todo = "leave it out" if shown.startswith("U+") else "write one word, such as `a_b` or `a-b`"
        self.report("C10E106", f"{what} has {shown} in it", self.place(container, key), help=todo)
        return True

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
