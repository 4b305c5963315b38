"""The child process that reads the machine's facts and measures its peak rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy  # noqa: F401 - so that its version is among the facts

from c10cli.bench.environment import measure_peaks, read_environment
from c10cli.bench.steady import steady_state
from c10cli.verify.child import Fields, serve


def prepare(_job: Fields) -> Callable[[int], Fields]:
    """The function that reads and measures."""

    def read(_item: int) -> Fields:
        with steady_state():
            return asdict(replace(read_environment(Path.cwd()), peaks=measure_peaks()))

    return read


if __name__ == "__main__":
    serve(prepare)
