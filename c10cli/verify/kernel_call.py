"""A checked call of a kernel, out of which nothing comes but its returns or a finding."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from c10cli.dispatch import checked
from c10cli.errors import KernelError
from c10cli.schema.model import FunctionSchema
from c10cli.verify.inputs import Arguments


def call_checked(
    schema: FunctionSchema, kernel: str, function: Callable[..., Any], arguments: Arguments
) -> tuple[Any, ...]:
    """As `c10cli.dispatch.checked.call_checked`; what the kernel raises is a finding as well.

    Args:
        kernel: its name, for messages.
        function: takes the schema's arguments.
        arguments: by name, in schema order, all of them.

    Raises:
        ArgumentError: C10E406, the tensors are on different keys.
        KernelError: C10E501, it raised; C10E502, C10E505, C10E506.
    """
    process = os.getpid()

    def told(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a kernel must not end the command
            raise as_kernel_error(schema, kernel, error, arguments) from error
        finally:
            end_copies_of(process)

    return checked.call_checked(schema, kernel, told, [arguments[a.name] for a in schema.arguments])


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
    told = checked.kernel_raised(schema, kernel, error, [arguments[a.name] for a in schema.arguments])
    raised = told.with_notes(f"raised at {_place(error)}")
    return KernelError(raised, operator=str(schema.name), kernel=kernel)


def _place(error: BaseException) -> str:
    """``file:line`` of the innermost frame of *error*."""
    traceback, place = error.__traceback__, "an unknown place"
    while traceback is not None:
        place = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
