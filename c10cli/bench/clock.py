"""The one place that reads a clock, and what that clock can resolve."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from statistics import median
from typing import Final

from c10cli.errors import BenchError, Diagnostic

# Nanoseconds since some fixed moment; never goes back.
Clock = Callable[[], int]

SYSTEM_CLOCK: Final[Clock] = time.perf_counter_ns


@dataclass(frozen=True, slots=True)
class ClockQuality:
    """What a clock can tell apart: the smallest and the usual step between two reads back to back."""

    resolution_ns: int
    overhead_ns: int


def measure_clock(clock: Clock = SYSTEM_CLOCK, reads: int = 1000) -> ClockQuality:
    """The quality of *clock*, from reads back to back.

    Raises:
        BenchError: the clock stands still (C10E602).
    """
    readings = [clock() for _ in range(reads + 1)]
    steps = [after - before for before, after in pairwise(readings)]
    smallest = min((step for step in steps if step > 0), default=0)
    if not smallest:
        help = "measure on a machine with a working high-resolution clock"
        raise BenchError(Diagnostic("C10E602", "the clock stands still", help=help))
    return ClockQuality(smallest, round(median(steps)))


def utc_now() -> datetime:
    """The date and time in UTC, to the second; for names and reports, never for timing."""
    return datetime.now(timezone.utc).replace(microsecond=0)
