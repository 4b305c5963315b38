"""The timed body: a generated function that calls a kernel many times and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from keyword import iskeyword
from typing import Any, Final

from c10cli.bench.clock import SYSTEM_CLOCK, Clock

# Calls a body `iterations` times and gives the elapsed nanoseconds.
Round = Callable[[int], int]

# Calls per loop step: the loop itself then costs less than 1 ns a call.
UNROLLED: Final = 16


@dataclass(frozen=True, slots=True)
class Body:
    """What is timed: a function and the arguments of its call."""

    function: Callable[..., object]
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)
    wait: Callable[[object], object] | None = None  # for a result that comes before it is computed


_TIMED = """\
def timed(iterations, {parameters}):
    blocks, rest = divmod(iterations, {unrolled})
    start = clock()
    for _ in repeat(None, blocks):
{block}
    for _ in repeat(None, rest):
        {call}
    return clock() - start
"""

_TIMED_FRESH = """\
def timed(iterations, {parameters}):
    total = 0
    for _ in repeat(None, iterations):
        [{values}] = renew()
        start = clock()
        {call}
        total += clock() - start
    return total
"""


def make_round(body: Body, clock: Clock = SYSTEM_CLOCK) -> Round:
    """A generated function that times a number of calls of *body*.

    Arguments are its locals and the call is written out with literal
    keywords, sixteen times per loop step: passing them through ``*args``
    would cost as much as a dispatcher's lookup.
    """
    call, values = _written_call(body)
    block = "\n".join([f"        {call}"] * UNROLLED)
    return _build(_TIMED, body, clock, values, call=call, block=block, unrolled=UNROLLED)


def make_fresh_round(body: Body, renew: Callable[[], Sequence[object]], clock: Clock = SYSTEM_CLOCK) -> Round:
    """A generated function that times single calls, each with new arguments.

    For bodies that change their arguments.  Every call carries one clock
    read (see `ClockQuality.overhead_ns`).

    Args:
        renew: gives the values of ``body.args``, then of ``body.kwargs`` in
            their order; called outside the timed stretch.
    """
    call, values = _written_call(body)
    return _build(_TIMED_FRESH, body, clock, {"renew": renew}, call=call, values=", ".join(values))


def _written_call(body: Body) -> tuple[str, dict[str, object]]:
    """The text of the call, and the values of the names in it."""
    values: dict[str, object] = {f"a{i}": value for i, value in enumerate(body.args)}
    written = list(values)
    for i, (name, value) in enumerate(body.kwargs.items()):
        values[f"k{i}"] = value
        # A schema may name an argument `lambda`, which Python can only pass in a dict.
        plain = name.isidentifier() and not iskeyword(name)
        written.append(f"{name}=k{i}" if plain else f"**{{{name!r}: k{i}}}")
    call = f"function({', '.join(written)})"
    return call if body.wait is None else f"wait({call})", values


def _build(template: str, body: Body, clock: Clock, more: dict[str, object], **pieces: object) -> Round:
    names = {"function": body.function, "wait": body.wait, "clock": clock, "repeat": repeat, **more}
    parameters = ", ".join(f"{name}={name}" for name in names)
    namespace: dict[str, Any] = {**names}
    exec(template.format(parameters=parameters, **pieces), namespace)
    timed: Round = namespace["timed"]
    return timed
