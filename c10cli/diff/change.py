"""A change between two schemas, as a value with its verdict and reasons."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One change between two schemas of an operator.

    Args:
        what: the kind, one of `c10cli.schema.model.CHANGE_KINDS`.
        where: what has changed, such as ``argument 1 `alpha```.
        backward: whether calls written for the old schema go on to work.
        forward: whether calls written for the new schema work with the old one.
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
    old_span: tuple[int, int] | None = None
    new_span: tuple[int, int] | None = None
