"""A checked call of a kernel, out of which nothing comes but its returns or a finding.

Its results are tensors of the arguments' library, and no memory of one another
or of an earlier call.
"""

from __future__ import annotations

import dis
import itertools
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any

from c10cli.arrays.library import TABLE, library_of, load_library
from c10cli.arrays.memory import contents_of, share_memory
from c10cli.arrays.tensor_types import tensors_of
from c10cli.describe import describe
from c10cli.dispatch import checked
from c10cli.dispatch.checked import announced, kernel_error, wrong_return
from c10cli.errors import KernelError
from c10cli.schema.domain import Domain
from c10cli.schema.model import FunctionSchema
from c10cli.verify.inputs import Arguments

# The arguments of a call by name, and its returns.
Call = tuple[Arguments, tuple[Any, ...]]


def call_checked(
    schema: FunctionSchema,
    kernel: str,
    function: Callable[..., Any],
    arguments: Arguments,
    domain: Domain | None = None,
) -> tuple[Any, ...]:
    """As `c10cli.dispatch.checked.call_checked`; what the kernel raises is a finding as well.

    Args:
        kernel: its name, for messages.
        function: takes the schema's arguments.
        arguments: by name, in schema order, all of them.

    Raises:
        ArgumentError: C10E405, an argument is outside the domain; C10E406, the tensors are on different keys.
        KernelError: C10E501, it raised; C10E502, C10E503, C10E505, C10E506.
    """
    process, modules = os.getpid(), dict(sys.modules)

    def told(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
            _check_modules(schema, kernel, modules)
            return result
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a kernel must not end the command
            raise as_kernel_error(schema, kernel, error, arguments) from error
        finally:
            end_copies_of(process)

    values = [arguments[a.name] for a in schema.arguments]
    return checked.call_checked(schema, kernel, told, values, domain=domain)


def _check_modules(schema: FunctionSchema, kernel: str, before: Mapping[str, Any]) -> None:
    """Refuse that a kernel unloads what the next checks need; it is put back, to tell that."""
    lost = [name for name in ("c10cli", *TABLE) if name in before and name not in sys.modules]
    if lost:
        sys.modules.update({**before, **sys.modules})
        fact = f"kernel `{kernel}` of `{schema.name}` removed {', '.join(lost)} from `sys.modules`"
        raise kernel_error(schema, kernel, "C10E501", fact, "leave the modules of others where they are")


def end_copies_of(process: int) -> None:
    """End this process if it is not *process* but a copy: a kernel forked, and came back in both.

    Two of them would go on with the caller's work, and after the next call four.
    """
    if os.getpid() != process:
        os._exit(1)


def as_kernel_error(
    schema: FunctionSchema, kernel: str, error: BaseException, arguments: Arguments
) -> KernelError:
    """What *kernel* raised as a finding that names it: C10E501, or what c10cli itself found at its call."""
    if isinstance(error, KernelError) and error.facts.get("operator") == str(schema.name):
        # Of its boxed form or its returns; one that a kernel met elsewhere is what it raised.
        who = f"kernel `{kernel}` of"
        named = [replace(d, message=d.message.replace("a kernel of", who, 1)) for d in error.diagnostics]
        named = [
            d if f"`{kernel}`" in d.message else d.with_notes(f"the kernel is `{kernel}`") for d in named
        ]
        return KernelError(*named, **{**error.facts, "kernel": kernel})
    told = checked.kernel_raised(schema, kernel, error, [arguments[a.name] for a in schema.arguments])
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    raised = told.with_notes(f"raised at {frame.f_code.co_filename}:{line}")
    refuses = isinstance(error, _REFUSALS) or _is_refusal_of_torch(error, arguments)
    return KernelError(raised, operator=str(schema.name), kernel=kernel, refuses_arguments=refuses)


# What kernels raise for arguments that they cannot take.
_REFUSALS = (ValueError, TypeError, IndexError)


def _is_refusal_of_torch(error: BaseException, arguments: Arguments) -> bool:
    """Whether it is the plain RuntimeError of torch's own checks, and not one that Python code raises."""
    libraries = {library_of(tensor) for value in arguments.values() for tensor in tensors_of(value)}
    if type(error) is not RuntimeError or "torch" not in libraries:
        return False
    *_, last = _entries(error.__traceback__)
    return last.tb_frame.f_code.co_code[last.tb_lasti] != dis.opmap["RAISE_VARARGS"]


def _entries(entry: TracebackType | None) -> Iterator[TracebackType]:
    while entry is not None:
        yield entry
        entry = entry.tb_next


def check_results(
    schema: FunctionSchema, kernel: str, arguments: Arguments, returns: tuple[Any, ...]
) -> None:
    """Refuse results that are no tensors of the arguments' libraries, or that are one tensor given twice.

    Raises:
        KernelError: C10E502, C10E506.
    """
    _check_libraries(schema, kernel, arguments, returns)
    for i, j in itertools.combinations(range(len(returns)), 2):
        if not announced(schema.returns[i], schema.returns[j]) and share_memory(returns[i], returns[j]):
            names = " and ".join(_named(schema, place) for place in (i, j))
            fact = f"{names} of kernel `{kernel}` of `{schema.name}` share memory"
            raise kernel_error(
                schema, kernel, "C10E506", fact, "return a copy, so that writing to one leaves the other"
            )


def _check_libraries(
    schema: FunctionSchema, kernel: str, arguments: Arguments, returns: tuple[Any, ...]
) -> None:
    given = {library_of(tensor) for value in arguments.values() for tensor in tensors_of(value)} - {""}
    given.update(*(load_library(name).companions for name in given))
    for place, value in enumerate(returns):
        others = {library_of(tensor) for tensor in tensors_of(value)} - given - {""}
        if given and others:
            other = others.pop()
            came = f"gave a {other} tensor ({describe(value)}) for return {place}"
            raise wrong_return(
                schema,
                kernel,
                f"{came}, where the arguments are of {' and '.join(sorted(given))}",
                f"return tensors of the arguments' library, or write `arrays: {other}` at the kernel",
            )


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
            raise kernel_error(schema, kernel, "C10E505", fact, "keep no argument from one call to the next")
    for place, (was, now) in enumerate(zip(before[1], after[1], strict=True)):
        if was != now or share_memory(first[1][place], second[1][place]):
            fact = f"{_named(schema, place)} of {what} is the same memory in every call"
            fact += ": the next call overwrites it"
            raise kernel_error(schema, kernel, "C10E506", fact, "return a new array from every call")


def _named(schema: FunctionSchema, place: int) -> str:
    name = schema.returns[place].name
    return f"return `{name or place}`"
