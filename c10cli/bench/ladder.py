"""The ladder: what a call costs, step by step from an empty function to the real kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from c10cli.bench.sampling import Samples
from c10cli.bench.stats import Difference, paired_difference

# From the bottom: an empty function with the operator's arguments; the kernel
# called directly; the dispatcher choosing a kernel without calling it; the
# dispatcher calling a kernel that does nothing; the real call.
RUNGS: Final = ("null", "direct", "lookup", "dispatch", "call")

# Step -> the rungs it is the difference of.  `dispatcher` is what the
# dispatcher costs: both of its rungs end in a kernel that does nothing, so a
# slow kernel's noise does not drown it, as it does `through` for large inputs.
STEPS: Final[Mapping[str, tuple[str, str]]] = {
    "kernel": ("direct", "null"),
    "lookup": ("lookup", "null"),
    "dispatcher": ("dispatch", "null"),
    "through": ("call", "direct"),
}


def ladder_steps(ladder: Mapping[str, Samples]) -> dict[str, Difference]:
    """The `STEPS` of a measured ladder, in nanoseconds per call, pair by pair.

    A step whose rungs were not measured is left out.
    """
    return {
        step: paired_difference(ladder[upper].per_call_ns, ladder[lower].per_call_ns)
        for step, (upper, lower) in STEPS.items()
        if upper in ladder and lower in ladder
    }
