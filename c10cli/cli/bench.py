"""`c10 bench`: measure every kernel of a registry and write a report."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from c10cli.cli.session import Session
from c10cli.cli.session import command as c10_command

if TYPE_CHECKING:
    from c10cli.bench.plan import Plan
    from c10cli.bench.result import RunResult
    from c10cli.bench.run import Progress

# What a report folder holds.
_NATIVE, _INTERCHANGE, _MARKDOWN = "result.json", "pytest-benchmark.json", "report.md"


@c10_command("bench")
@click.argument("select", nargs=-1)
@click.option(
    "--time", "time_s", type=float, default=0.3, show_default=True, help="Seconds to sample a case."
)
@click.option(
    "--timeout", "timeout_s", type=float, default=60.0, show_default=True, help="Seconds a case may take."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random inputs and orders.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reports"),
    show_default=True,
    help="Where the run's folder is made.",
)
@click.option("--resume", metavar="RUN", help="Go on with a run that was cut short: its folder, or `latest`.")
def command(
    session: Session, select: tuple[str, ...], output: Path, resume: str | None, **options: Any
) -> int:
    """Measure the dispatcher and every kernel on the declared cases.

    SELECT keeps the cases whose id contains it (`softmax`, `CPU/numba`,
    `float16`); with `*` or `?` it is a pattern for the whole id.  Every case
    is checked against the reference before and after it is timed.
    """
    from c10cli.bench.journal import Journal, find_run_folder, make_run_folder, read_journal, write_latest
    from c10cli.bench.plan import make_plan
    from c10cli.bench.result import RunResult
    from c10cli.bench.run import Options, run_plan, start_run

    registry = session.load()
    path = registry.manifest.path
    settings = Options(**options)
    if resume:
        folder = find_run_folder(output, resume)
        earlier = RunResult.from_records(read_journal(folder))
        plan = make_plan(registry, select, done=[case.id for case in earlier.cases if case.status == "ok"])
        run = earlier
    else:
        plan = make_plan(registry, select)
        folder = make_run_folder(output)
        run = start_run(folder, plan, settings, shlex.join(["c10", *sys.argv[1:]]), path)
    with Journal(folder) as journal, _progress(session, plan) as progress:
        run = run_plan(run, plan, path, settings, journal, progress)
        run = replace(run, exit_status=_exit_status(run))
        journal.append({"kind": "end", "exit_status": run.exit_status, "load_after": list(run.load_after)})
    _write_reports(folder, run)
    write_latest(folder)
    _show(session, folder, run)
    return run.exit_status or 0


def _exit_status(run: RunResult) -> int:
    """1 where a case is not right, 4 where none was measured."""
    if any(case.status != "ok" for case in run.cases):
        return 1
    return 0 if run.cases else 4


@contextlib.contextmanager
def _progress(session: Session, plan: Plan) -> Iterator[Progress]:
    """A live line on standard error where that is a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _event: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=session.console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=plan.case_count)

        def show(event: Any) -> None:
            if isinstance(event, str):
                bar.update(task, description=event)
            else:
                bar.advance(task)

        yield show


def _write_reports(folder: Path, run: RunResult) -> None:
    import json

    from c10cli.bench.journal import write_atomic
    from c10cli.report.markdown import render_markdown
    from c10cli.report.pytest_benchmark import render_pytest_benchmark

    write_atomic(folder / _NATIVE, json.dumps(run.to_dict(), indent=1) + "\n")
    write_atomic(folder / _INTERCHANGE, render_pytest_benchmark(run))
    write_atomic(folder / _MARKDOWN, render_markdown(run))


def _show(session: Session, folder: Path, run: RunResult) -> None:
    from c10cli.bench.quality import check_run

    if session.is_json:
        warnings = [warning.as_dict() for warning in check_run(run)]
        session.echo_json("c10.bench/1", folder=str(folder), warnings=warnings, run=run.to_dict())
        return
    from c10cli.report.tables import make_bench_view

    console = session.console()
    console.print(make_bench_view(run, min(console.width, 140)))
    session.echo(f"\nreport: {folder / _MARKDOWN}")
