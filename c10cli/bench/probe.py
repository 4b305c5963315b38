"""The child process that reads the machine's facts and measures its peak rates.

It is one of its own because the probes hold 128 MiB, which would count as the
memory of a case measured in the same process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from c10cli.bench.clock import SYSTEM_CLOCK, Clock
from c10cli.bench.environment import Peaks, read_environment
from c10cli.bench.sampling import steady_state
from c10cli.jobs.child import At, DoItem, serve

# In the caches of a core, around the size of the shared one, in memory.
_COPY_FOOTPRINTS: Final = (256 << 10, 8 << 20, 32 << 20, 128 << 20)
_MATMUL_SIZE: Final = 768
_PROBE_NS: Final = 50_000_000


def prepare(job: Mapping[str, Any]) -> DoItem:
    """The function that reads and measures; of what the job names under ``packages``, the versions too."""

    def read(_item: int, _at: At) -> Mapping[str, Any]:
        with steady_state():
            facts = read_environment(Path.cwd(), job["packages"])
            return asdict(replace(facts, peaks=measure_peaks(facts.cpus)))

    return read


def measure_peaks(threads: int) -> Peaks:
    """The peaks of this machine, by one thread or *threads*, each the best of two probes of about 50 ms."""
    # Two rounds, since a neighbour can keep a CPU busy for all of one probe.
    first, second = (
        Peaks(tuple((size, _measure_copy(size, threads)) for size in _COPY_FOOTPRINTS), _measure_matmul())
        for _ in range(2)
    )
    return first.best_of(second)


def _measure_copy(footprint_bytes: int, threads: int) -> float:
    """The better rate of one thread and of *threads*, each with a part of the array."""
    source = np.ones(footprint_bytes // 8, dtype=np.float32)
    target = np.zeros_like(source)
    alone = measure_rate(lambda: np.copyto(target, source), footprint_bytes)
    if threads == 1:
        return alone
    parts = np.array_split(target, threads), np.array_split(source, threads)
    with ThreadPoolExecutor(threads) as pool:  # a copy holds no lock of the interpreter
        together = measure_rate(lambda: list(pool.map(np.copyto, *parts)), footprint_bytes)
    return max(alone, together)


def _measure_matmul() -> float:
    left = np.random.default_rng(0).standard_normal((_MATMUL_SIZE, _MATMUL_SIZE), dtype=np.float32)
    out = np.empty_like(left)
    return measure_rate(lambda: np.matmul(left, left, out=out), 2.0 * _MATMUL_SIZE**3)


def measure_rate(function: Callable[[], object], work: float, clock: Clock = SYSTEM_CLOCK) -> float:
    """The best *work* per second of *function*, called for some 50 ms; the first call is not counted."""
    function()
    best = elapsed = 0
    begin = clock()
    while not best or elapsed < _PROBE_NS:
        start = clock()
        function()
        end = clock()
        best = min(best or end - start, max(1, end - start))
        elapsed = end - begin
    return work * 1e9 / best


if __name__ == "__main__":
    serve(prepare)
