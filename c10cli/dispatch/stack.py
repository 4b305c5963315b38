"""The stack that boxed kernels work on: a plain list, its top last."""

from __future__ import annotations

from typing import Any

Stack = list[Any]


def push(stack: Stack, *values: object) -> None:
    """Put *values* on top, the last one uppermost."""
    stack.extend(values)


def pop(stack: Stack) -> Any:
    """The top value, taken off."""
    return stack.pop()


def drop(stack: Stack, count: int) -> None:
    """Take the top *count* values off."""
    if count:
        del stack[-count:]


def peek(stack: Stack, index: int, count: int) -> Any:
    """Value *index*, from 0, of the top *count* values; the stack stays as it is."""
    return stack[index - count]


def last(stack: Stack, count: int) -> list[Any]:
    """The top *count* values, as a new list; the stack stays as it is."""
    return stack[-count:] if count else []
