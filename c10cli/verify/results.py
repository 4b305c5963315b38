"""What results may not be: of another library, or the memory of one another or of an earlier call."""

from __future__ import annotations

import itertools
from typing import Any

from c10cli.arrays.devices import LIBRARIES
from c10cli.arrays.memory import contents_of, share_memory
from c10cli.arrays.tensor_types import tensors_of
from c10cli.describe import describe
from c10cli.dispatch.checked import kernel_error, wrong_return
from c10cli.errors import KernelError
from c10cli.schema.model import FunctionSchema
from c10cli.verify.inputs import Arguments

# The arguments of a call by name, and its returns.
Call = tuple[Arguments, tuple[Any, ...]]


def check_results(
    schema: FunctionSchema, kernel: str, arguments: Arguments, returns: tuple[Any, ...]
) -> None:
    """Refuse results that are no tensors of the arguments' libraries, or that are one tensor given twice.

    Raises:
        KernelError: C10E502, C10E506.
    """
    _check_libraries(schema, kernel, arguments, returns)
    for i, j in itertools.combinations(range(len(returns)), 2):
        one, other = schema.returns[i].alias, schema.returns[j].alias
        may_be_one = one and other and one.sets & other.sets
        if not may_be_one and share_memory(returns[i], returns[j]):
            names = " and ".join(_named(schema, place) for place in (i, j))
            fact = f"{names} of kernel `{kernel}` of `{schema.name}` share memory"
            raise _error(schema, kernel, fact, "return a copy, so that writing to one leaves the other")


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


def contents_of_call(call: Call) -> tuple[list[Any], list[Any]]:
    """What the arguments and the returns of *call* hold now."""
    arguments, returns = call
    return contents_of([*arguments.values()]), contents_of([*returns])


def check_left_alone(
    schema: FunctionSchema, kernel: str, first: Call, before: tuple[list[Any], list[Any]], second: Call
) -> None:
    """Refuse what *second*, the next call, did to arguments and returns of the *first* one.

    A kernel that gives out a buffer that it writes again is right at every
    call, and yet its caller finds the result changed.

    Args:
        before: `contents_of_call` of the first, when it was over.

    Raises:
        KernelError: C10E505, C10E506.
    """
    what, after = f"kernel `{kernel}` of `{schema.name}`", contents_of_call(first)
    for name, was, now in zip(first[0], before[0], after[0], strict=True):
        if was != now:
            fact = f"a call of {what} changed argument `{name}` of the call before it"
            raise _error(schema, kernel, fact, "keep no argument from one call to the next", "C10E505")
    for place, (was, now) in enumerate(zip(before[1], after[1], strict=True)):
        if was != now or share_memory(first[1][place], second[1][place]):
            same = f"{_named(schema, place)} of {what} is the same memory in every call"
            raise _error(
                schema, kernel, f"{same}: the next call overwrites it", "return a new array from every call"
            )


def _named(schema: FunctionSchema, place: int) -> str:
    name = schema.returns[place].name
    return f"return `{name or place}`"


def _error(schema: FunctionSchema, kernel: str, fact: str, todo: str, code: str = "C10E506") -> KernelError:
    return kernel_error(schema, kernel, code, fact, todo)
