"""A call that is checked on the way in, on the way out, and for what it must not touch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from c10cli.dispatch import call_errors
from c10cli.dispatch.checked import MemoryWatch, check_keys, check_returns
from c10cli.errors import KernelError
from c10cli.schema import FunctionSchema
from c10cli.verify.inputs import Arguments
from c10cli.verify.memory import MEMORY


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
    watched, before = watch.begin(values)
    returns = check_returns(schema, kernel, _call(schema, kernel, function, arguments))
    watch.end(kernel, values, returns, watched, before)
    return returns


def _call(schema: FunctionSchema, kernel: str, function: Callable[..., Any], arguments: Arguments) -> Any:
    positional = [arguments[a.name] for a in schema.positional]
    keywords = {a.name: arguments[a.name] for a in schema.keyword_only}
    try:
        return function(*positional, **keywords)
    except KernelError:
        raise
    except (Exception, SystemExit) as error:  # a kernel must not end the command
        told = call_errors.kernel_raised(schema, kernel, error, arguments)
        raised = told.with_notes(f"raised at {_place(error)}")
        raise KernelError(raised, operator=str(schema.name), kernel=kernel) from error


def _place(error: BaseException) -> str:
    """``file:line`` of the innermost frame of *error*."""
    traceback, place = error.__traceback__, "an unknown place"
    while traceback is not None:
        place = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
