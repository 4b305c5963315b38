"""A steady state for measuring, and what disturbs a measurement all the same."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def steady_state() -> Iterator[None]:
    """No cyclic garbage collection until the end of the block."""
    was_on = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_on:
            gc.enable()


def find_observers() -> tuple[str, ...]:
    """What watches every call here now, and slows it: tracers, profilers, monitoring tools."""
    hooks = {"tracer": sys.gettrace(), "profiler": sys.getprofile()}
    found = [name for name, hook in hooks.items() if hook is not None]
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
