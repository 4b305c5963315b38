"""The child process that reads the machine's facts and measures its peak rates."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy  # noqa: F401 - so that its version is among the facts

from c10cli.bench.environment import measure_peaks, read_environment
from c10cli.bench.steady import steady_state
from c10cli.jobs.child import Fields, serve


def prepare(job: Fields) -> Callable[[int], Fields]:
    """The function that reads and measures.

    The job names under ``packages`` those whose versions are facts of the run
    though only the kernels' own processes import them.
    """

    def read(_item: int) -> Fields:
        with steady_state():
            facts = replace(read_environment(Path.cwd()), peaks=measure_peaks())
        return asdict(replace(facts, packages={**_versions(job["packages"]), **facts.packages}))

    return read


def _versions(packages: Iterable[str]) -> dict[str, str]:
    found = {}
    for package in packages:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


if __name__ == "__main__":
    serve(prepare)
