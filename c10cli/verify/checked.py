"""A call that is checked on the way in, on the way out, and for what it must not touch."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from c10cli.arrays.memory import MEMORY
from c10cli.dispatch import call_errors
from c10cli.dispatch.checked import check_keys
from c10cli.dispatch.returns import check_returns
from c10cli.dispatch.watch import MemoryWatch
from c10cli.errors import KernelError
from c10cli.schema.model import FunctionSchema
from c10cli.verify.inputs import Arguments


def call_checked(
    schema: FunctionSchema, kernel: str, function: Callable[..., Any], arguments: Arguments
) -> tuple[Any, ...]:
    """The returns of *function* for *arguments*, always as a tuple, after all checks.

    Args:
        kernel: its name, for messages.
        function: takes the schema's arguments.
        arguments: by name, in schema order, all of them.

    Raises:
        ArgumentError: C10E406, the tensors are on different keys.
        KernelError: C10E501, it raised; C10E502, returns that the schema does
            not have; C10E505, it changed an argument; C10E506, a result shares
            memory with an argument without saying so.
    """
    values = [arguments[a.name] for a in schema.arguments]
    check_keys(schema, values)
    watch = MemoryWatch(schema, MEMORY)
    before = watch.contents(values)
    returns = check_returns(schema, kernel, _call(schema, kernel, function, arguments))
    watch.check(kernel, values, returns, before)
    return returns


def _call(schema: FunctionSchema, kernel: str, function: Callable[..., Any], arguments: Arguments) -> Any:
    positional = [arguments[a.name] for a in schema.positional]
    keywords = {a.name: arguments[a.name] for a in schema.keyword_only}
    process = os.getpid()
    try:
        return function(*positional, **keywords)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a kernel must not end the command
        raise as_kernel_error(schema, kernel, error, arguments) from error
    finally:
        end_copies_of(process)


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
        named = [
            d if f"`{kernel}`" in d.message else d.with_notes(f"the kernel is `{kernel}`")
            for d in error.diagnostics
        ]
        return KernelError(*named, **{**error.facts, "kernel": kernel})
    told = call_errors.kernel_raised(schema, kernel, error, arguments)
    raised = told.with_notes(f"raised at {_place(error)}")
    return KernelError(raised, operator=str(schema.name), kernel=kernel)


def _place(error: BaseException) -> str:
    """``file:line`` of the innermost frame of *error*."""
    traceback, place = error.__traceback__, "an unknown place"
    while traceback is not None:
        place = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
