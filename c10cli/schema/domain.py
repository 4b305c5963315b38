"""Which arguments an operator takes, and what it returns for them, as values that print as the text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from c10cli.schema.dtypes import CONSTANTS, DTYPE_CLASSES, DTYPES, WORDS
from c10cli.schema.expression import Expression
from c10cli.schema.model import FunctionSchema

# The names that mean something in every domain.
DOMAIN_WORDS: Final[Mapping[str, object]] = {
    **CONSTANTS,
    **WORDS,
    **{dtype: dtype for dtype in DTYPES},
    **{name: dtypes for name, dtypes in DTYPE_CLASSES.items() if name not in DTYPES},
}


@dataclass(frozen=True, slots=True)
class Axis:
    """One of the dims of a tensor: a name, a number, an expression; starred, any number of axes.

    Args:
        name: the dim that it gives a size to; empty where its size is computed.
        broadcasts: whether the tensor may have 1 for it, or, starred, fewer axes (``#``).
    """

    expression: Expression
    name: str = ""
    starred: bool = False
    broadcasts: bool = False

    def __str__(self) -> str:
        return f"{'#' * self.broadcasts}{'*' * self.starred}{self.expression.text}"


@dataclass(frozen=True, slots=True)
class ValueDomain:
    """What one argument or return may be.

    Args:
        dtypes: the dtypes, classes or dtype variable of a tensor, of a return one expression;
            empty for what is no tensor.
        axes: of its shape; None: it may have any.
        each: whether it is a list of such tensors.
        condition: holds for the value, or all elements of a tensor, ``_``.
    """

    dtypes: tuple[Expression, ...] = ()
    axes: tuple[Axis, ...] | None = None
    each: bool = False
    condition: Expression | None = None

    @property
    def of_elements(self) -> bool:
        """Whether the condition is one of the elements of a tensor."""
        return bool(self.dtypes) and self.condition is not None

    def __str__(self) -> str:
        shape = "" if self.axes is None else f"[{', '.join(map(str, self.axes))}]"
        if self.each:
            shape = f"{shape or '[...]'} each"
        blank = " " if len(self.dtypes) > 1 and shape else ""
        tensor = f"{' | '.join(dtype.text for dtype in self.dtypes)}{blank}{shape}"
        return ", ".join([part for part in (tensor, self.condition and self.condition.text) if part])


@dataclass(frozen=True, slots=True)
class Domain:
    """Which arguments an operator takes, and what it returns.

    Args:
        variables: the dtype variables, and the words for what each may be.
        arguments: by name; one that is not there may be anything its type allows.
        where: conditions between arguments.
        returns: one for each return; empty where nothing is said of them.
    """

    schema: FunctionSchema = field(repr=False)
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    arguments: Mapping[str, ValueDomain] = field(default_factory=dict)
    where: tuple[Expression, ...] = ()
    returns: tuple[ValueDomain, ...] = ()

    def as_entry(self) -> dict[str, str | list[str]]:
        """The domain as a manifest has it."""
        entry: dict[str, str | list[str]] = {
            name: " | ".join(words) for name, words in self.variables.items()
        }
        for name, argument in self.arguments.items():
            entry[key_of(name)] = str(argument)
        if self.where:
            entry["where"] = [condition.text for condition in self.where]
        if self.returns:
            returns = [str(value) for value in self.returns]
            entry["returns"] = returns if len(returns) > 1 else returns[0]
        return entry

    def dtypes_of(self, value: ValueDomain) -> tuple[str, ...]:
        """The dtypes that the tensor *value*, of an argument, may have, whatever others have."""
        words = [word for d in value.dtypes for word in self.variables.get(d.text, (d.text,))]
        return tuple(dict.fromkeys(name for word in words for name in DTYPE_CLASSES.get(word, (word,))))

    def named_axes(self) -> Iterator[tuple[str, Axis]]:
        """The axes that give a name its size, each with its argument."""
        for name, argument in self.arguments.items():
            yield from ((name, axis) for axis in argument.axes or () if axis.name)


def key_of(argument: str) -> str:
    """How a domain names *argument*, since ``where`` and ``returns`` mean something there."""
    return f"{argument}_" if argument in ("where", "returns") else argument
