"""The timed bodies of the ladder's rungs, for one kernel and one set of arguments."""

from __future__ import annotations

import os
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

from c10cli.arrays.devices import device_of, synchronizer, waiter
from c10cli.bench.body import Body, Round, make_fresh_round, make_round
from c10cli.bench.clock import SYSTEM_CLOCK
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.kernel import BoundKernel, BoxedKernel
from c10cli.dispatch.operator import OperatorHandle
from c10cli.schema.model import FunctionSchema
from c10cli.verify.inputs import Arguments, copy_tensors
from c10cli.verify.kernel_call import end_copies_of


def make_operator(schema: FunctionSchema, bound: BoundKernel, dispatch_key: str) -> OperatorHandle:
    """An operator in a dispatcher of its own, whose one kernel is *bound*."""
    operator = Dispatcher().register_schema(schema)
    function = BoxedKernel(bound.function) if bound.boxed else bound.function
    operator.dispatcher.register_kernel(operator, dispatch_key, function, bound.cache_creator)
    return operator


def make_rounds(
    real: OperatorHandle, bound: BoundKernel, dispatch_key: str, arguments: Arguments, library: str = ""
) -> dict[str, Round]:
    """A timed body for every rung: null, direct, lookup, dispatch, call.

    All are called in one form, with every argument of the schema: positional
    ones by position, keyword-only ones by keyword.  Where the operator writes
    its arguments, the rungs that run the kernel get fresh copies each time;
    where the device works on after a call returns, they wait for it at the
    end of each sample; where the CPU does, for the result of each call.

    Args:
        real: what `make_operator` made for *bound*.
        library: whose tensors the arguments are; empty: the usual ones of the key.
    """
    schema = real.schema
    args = tuple(arguments[a.name] for a in schema.positional)
    kwargs = {a.name: arguments[a.name] for a in schema.keyword_only}
    idle, null = Dispatcher().register_schema(schema), _null_function(schema)
    idle.dispatcher.register_kernel(idle, dispatch_key, null)
    direct, device = bound.caller(real.calling), device_of(dispatch_key, library)

    def renew() -> list[object]:
        return [*copy_tensors(arguments).values()]

    def runs_kernel(function: Callable[..., Any]) -> Round:
        body = Body(function, args, kwargs, waiter(device))
        timed = make_fresh_round(body, renew) if schema.is_mutable else make_round(body)
        return _whole(timed, synchronizer(device))

    return {
        "null": make_round(Body(null, args, kwargs)),
        "direct": runs_kernel(direct),
        "lookup": make_round(Body(real.lookup, args, kwargs)),
        "dispatch": make_round(Body(idle.call, args, kwargs)),
        "call": runs_kernel(real.call),
    }


def _null_function(schema: FunctionSchema) -> Callable[..., Any]:
    """A function with the schema's arguments that gives as many returns and does nothing else."""
    positional = [argument.name for argument in schema.positional]
    keywords = [argument.name for argument in schema.keyword_only]
    plain = not any(map(iskeyword, positional + keywords))
    names = [*positional, *(["*", *keywords] if keywords else [])] if plain else ["*args", "**kwargs"]
    result = None if len(schema.returns) < 2 else (None,) * len(schema.returns)
    null: Callable[..., Any] = eval(f"lambda {', '.join(names)}: {result}")
    return null


def _whole(timed: Round, wait: Callable[[], object] | None) -> Round:
    """*timed* until the device is done; copies of this process that a kernel made and came back in end."""
    process = os.getpid()

    def sample(iterations: int) -> int:
        start = SYSTEM_CLOCK()
        elapsed = timed(iterations)
        if wait is not None:
            wait()
            elapsed = SYSTEM_CLOCK() - start
        end_copies_of(process)
        return elapsed

    return sample
