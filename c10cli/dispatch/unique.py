"""Objects that stand for one thing in one process, and so have no copies."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

Self = TypeVar("Self")


class Unique:
    """A copy of it is itself, and it is not pickled: a second one would not hear of changes to the first."""

    __slots__ = ()

    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} cannot be pickled, because it belongs to this process;"
            " send the operator's name, and find(...) it in the other one"
        )
