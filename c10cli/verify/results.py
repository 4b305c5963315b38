"""What results may not be: of another library, or the memory of one another or of an earlier call."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from c10cli.arrays.devices import LIBRARIES
from c10cli.arrays.memory import contents_of, share_memory
from c10cli.arrays.tensor_types import tensors_of
from c10cli.describe import describe
from c10cli.dispatch.checked import kernel_error, wrong_return
from c10cli.errors import KernelError
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.verify.inputs import Arguments

__all__ = ["Call", "KeptCall", "check_results"]


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a call by name, and its returns."""

    arguments: Arguments
    returns: tuple[Any, ...]


def check_results(
    schema: FunctionSchema, kernel: str, arguments: Arguments, returns: tuple[Any, ...]
) -> None:
    """Refuse results that are no tensors of the arguments' libraries, or that are one tensor given twice.

    Raises:
        KernelError: C10E502, C10E506.
    """
    _check_libraries(schema, kernel, arguments, returns)
    for i, j in itertools.combinations(range(len(returns)), 2):
        if _may_be_one(schema.returns[i], schema.returns[j]):
            continue
        if share_memory(returns[i], returns[j]):
            names = " and ".join(_named(schema, place) for place in (i, j))
            fact = f"{names} of kernel `{kernel}` of `{schema.name}` share memory"
            raise _error(schema, kernel, fact, "return a copy, so that writing to one leaves the other")


def _may_be_one(first: Argument, second: Argument) -> bool:
    """Whether the schema says that two returns may be the same memory."""
    return bool(first.alias and second.alias and first.alias.sets & second.alias.sets)


def _check_libraries(
    schema: FunctionSchema, kernel: str, arguments: Arguments, returns: tuple[Any, ...]
) -> None:
    given = {_library(tensor) for value in arguments.values() for tensor in tensors_of(value)} - {""}
    if "scipy" in given:  # its arrays are sparse; what is dense there is NumPy's
        given.add("numpy")
    for place, value in enumerate(returns):
        others = {_library(tensor) for tensor in tensors_of(value)} - given - {""}
        if given and others:
            other = others.pop()
            came = f"gave a {other} tensor ({describe(value)}) for return {place}"
            raise wrong_return(
                schema,
                kernel,
                f"{came}, where the arguments are of {' and '.join(sorted(given))}",
                f"return tensors of the arguments' library, or write `arrays: {other}` at the kernel",
            )


def _library(tensor: Any) -> str:
    """Which of `LIBRARIES` made *tensor*, also as a subclass; empty for any other."""
    roots = (base.__module__.partition(".")[0] for base in type(tensor).__mro__)
    known = ("cupy" if root == "cupyx" else root for root in roots)
    return next((root for root in known if root in LIBRARIES), "")


class KeptCall:
    """A call that is over, to see whether the next one leaves it alone.

    A kernel that gives out a buffer that it writes again is right at every
    call, and yet its caller finds the result changed.
    """

    def __init__(self, schema: FunctionSchema, kernel: str, call: Call) -> None:
        self._schema, self._kernel, self._call = schema, kernel, call
        self._arguments = _snapshots(call.arguments.values())
        self._returns = _snapshots(call.returns)

    def check(self, second: Call) -> None:
        """Refuse what *second* did to this call's arguments and results.

        Raises:
            KernelError: C10E505, C10E506.
        """
        schema, kernel, first = self._schema, self._kernel, self._call
        for name, before, after in zip(
            first.arguments, self._arguments, _snapshots(first.arguments.values()), strict=True
        ):
            if before != after:
                what = f"kernel `{kernel}` of `{schema.name}`"
                fact = f"a call of {what} changed argument `{name}` of the call before it"
                raise _error(schema, kernel, fact, "keep no argument from one call to the next", "C10E505")
        after_returns = _snapshots(first.returns)
        for place, (before, after) in enumerate(zip(self._returns, after_returns, strict=True)):
            shared = share_memory(first.returns[place], second.returns[place])
            if before != after or shared:
                what = f"{_named(schema, place)} of kernel `{kernel}` of `{schema.name}`"
                fact = f"{what} is the same memory in every call: the next call overwrites it"
                raise _error(schema, kernel, fact, "return a new array from every call")


def _snapshots(values: Any) -> tuple[Any, ...]:
    return tuple(map(contents_of, values))


def _named(schema: FunctionSchema, place: int) -> str:
    name = schema.returns[place].name
    return f"return `{name or place}`"


def _error(schema: FunctionSchema, kernel: str, fact: str, todo: str, code: str = "C10E506") -> KernelError:
    return kernel_error(schema, kernel, code, fact, todo)
