"""What an import finds: operators with kernels of torch, and what had to be left out."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, field

from c10cli.errors import CODES, SchemaError
from c10cli.manifest.operators import check_schema
from c10cli.schema.model import FunctionSchema, OperatorName
from c10cli.schema.parser import parse_schema

__all__ = ["Collector", "Imported", "ImportedOperator", "LeftOut", "matches_name"]


@dataclass(frozen=True, slots=True)
class ImportedOperator:
    """One operator, and the dispatch keys for which torch has a kernel of it."""

    schema: FunctionSchema
    keys: tuple[str, ...] = ()

    @property
    def entry_point(self) -> str:
        """Where Python finds torch's operator."""
        name = self.schema.name
        return f"torch:ops.{name.namespace}.{name.base}.{name.overload or 'default'}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An operator that no manifest can hold, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The operators of *origin*, such as ``torch 2.13.0``, by name.

    Args:
        note: what else there is to say about all of them.
    """

    origin: str
    operators: tuple[ImportedOperator, ...]
    left_out: tuple[LeftOut, ...]
    note: str = ""

    @property
    def kernel_count(self) -> int:
        """How many kernels there are, over all dispatch keys."""
        return sum(len(operator.keys) for operator in self.operators)

    def reasons(self) -> dict[str, list[str]]:
        """The names left out, by reason, the most frequent first."""
        found: dict[str, list[str]] = {}
        for left_out in self.left_out:
            found.setdefault(left_out.reason, []).append(left_out.name)
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))


@dataclass(slots=True)
class Collector:
    """Takes schemas one by one; those that cannot be are left out, with the reason.

    Args:
        select: parts of names, or patterns for whole ones, to keep; empty: all.
    """

    select: Sequence[str] = ()
    _operators: dict[OperatorName, ImportedOperator] = field(default_factory=dict)
    _left_out: list[LeftOut] = field(default_factory=list)

    def wants(self, name: str) -> bool:
        """Whether *name* is selected."""
        return not self.select or any(matches_name(name, pattern) for pattern in self.select)

    def parse(self, name: str, text: str) -> FunctionSchema | None:
        """The schema in *text*, if an operator can have it."""
        try:
            schema = parse_schema(text, "torch")
        except SchemaError as error:
            self.leave_out(name, CODES[error.code])
            return None
        fault = check_schema(schema)
        if fault is None and schema.name not in self._operators:
            return schema
        unending = schema.is_vararg or schema.is_varret
        reason = (
            "`...` among arguments or returns" if unending else CODES[fault.code] if fault else "given twice"
        )
        self.leave_out(name, reason)
        return None

    def add(self, schema: FunctionSchema, keys: Sequence[str]) -> None:
        """Take an operator with a kernel for each of *keys*."""
        self._operators[schema.name] = ImportedOperator(schema, tuple(keys))

    def leave_out(self, name: str, reason: str) -> None:
        """Note that *name* is not taken."""
        self._left_out.append(LeftOut(name, reason))

    def imported(self, origin: str, note: str = "") -> Imported:
        """All that was taken and left out."""
        by_name = sorted(self._operators.values(), key=lambda operator: str(operator.schema.name))
        return Imported(origin, tuple(by_name), tuple(self._left_out), note)


def matches_name(name: str, pattern: str) -> bool:
    """Whether *pattern* is a part of *name*, or, with `*`, `?` or `[`, a pattern for all of it."""
    if any(mark in pattern for mark in "*?["):
        return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name.partition("::")[2], pattern)
    return pattern in name
