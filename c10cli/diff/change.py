"""A change between two schemas, as a value with its verdict and reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Offsets = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One change between two schemas of an operator.

    Args:
        what: the kind of change, one of `c10cli.schema.differences.CHANGE_KINDS`.
        where: what has changed, such as ``argument 1 `alpha```.
        message: the change in words.
        backward: whether calls written for the old schema go on to work.
        forward: whether calls written for the new schema work with the old one.
        why: the reason of the verdict.
        todo: what to do instead, where callers break.
        subject: the argument's or return's name; empty where it has none.
        old_span: its place in the text of the old schema.
        new_span: its place in the text of the new schema.
    """

    what: str
    where: str
    message: str
    backward: bool
    forward: bool
    why: str
    todo: str = ""
    subject: str = ""
    old_span: Offsets | None = None
    new_span: Offsets | None = None


def is_backward_compatible(changes: Iterable[SchemaChange]) -> bool:
    """Whether no change breaks calls written for the old schema."""
    return all(change.backward for change in changes)


def is_forward_compatible(changes: Iterable[SchemaChange]) -> bool:
    """Whether calls written for the new schema work with the old one."""
    return all(change.forward for change in changes)
