"""A steady state for measuring: no garbage collection, one CPU, nobody watching."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["SteadyState", "find_observers", "involuntary_switches", "steady_state"]


@dataclass(frozen=True, slots=True)
class SteadyState:
    """What was arranged for the time of a measurement.

    Args:
        cpu: the CPU that this thread was bound to; None if it was not.
        gc_off: whether the cyclic garbage collector was switched off.
        observers: what else watches every call here and slows it: a tracer,
            a profiler, a monitoring tool.  A kernel may set one later; see
            `find_observers`.
    """

    cpu: int | None
    gc_off: bool
    observers: tuple[str, ...]


@contextmanager
def steady_state(*, cpu: int | None = None, gc_off: bool = True) -> Iterator[SteadyState]:
    """No garbage collection, and this thread on one CPU, until the end of the block.

    Threads started inside stay on that CPU as well: give none to a kernel
    that runs in parallel.

    Args:
        cpu: the CPU to stay on; None, or a system that cannot, leaves it open.
    """
    gc_was_on = gc.isenabled()
    gc.collect()
    if gc_off:
        gc.freeze()
        gc.disable()
    allowed = _bind_thread({cpu}) if cpu is not None else None
    try:
        yield SteadyState(cpu if allowed else None, gc_off, find_observers())
    finally:
        if allowed:
            _bind_thread(allowed)
        if gc_off:
            gc.unfreeze()
        if gc_was_on:
            gc.enable()


def _bind_thread(cpus: set[int]) -> set[int] | None:
    """Keep this thread on *cpus*; the ones it had before, or None if the system refuses."""
    if sys.platform != "linux":
        return None
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
    except OSError:
        return None
    return before


def find_observers() -> tuple[str, ...]:
    """What watches every call here now: tracers, profilers, monitoring tools."""
    found = [
        name
        for name, hook in (("tracer", sys.gettrace()), ("profiler", sys.getprofile()))
        if hook is not None
    ]
    monitoring = getattr(sys, "monitoring", None)  # Python 3.12
    if monitoring is not None:
        tools = [monitoring.get_tool(number) for number in range(6)]
        found += [f"monitoring tool {tool}" for tool in tools if tool is not None]
    return tuple(found)


def involuntary_switches() -> int:
    """How often the scheduler took the CPU from this thread; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    who = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    return resource.getrusage(who).ru_nivcsw
