"""The formats in which a run is reported: for each the file in the run's folder, and what renders it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from c10cli.bench.outcome import RunResult
from c10cli.files import write_atomic
from c10cli.report.markdown import render_markdown
from c10cli.report.pytest_benchmark import render_pytest_benchmark


def render_json(run: RunResult) -> str:
    """The run in our own layout, ``c10.bench/1``, with all of its samples."""
    return json.dumps(run.to_dict(), indent=1) + "\n"


REPORTS: Mapping[str, Callable[[RunResult], str]] = {
    "result.json": render_json,
    "pytest-benchmark.json": render_pytest_benchmark,
    "report.md": render_markdown,
}


def write_reports(run: RunResult, folder: Path) -> None:
    """Put every report of *run* into *folder*, each at once.

    Raises:
        ReportError: one cannot be written (C10E701).
    """
    for name, render in REPORTS.items():
        write_atomic(folder / name, render(run))
