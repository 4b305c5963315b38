"""`c10 bench`: measure every kernel of a registry and write a report."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from c10cli.cli.options import SEED, command as c10_command, memory_option, seconds
from c10cli.cli.session import Session
from c10cli.errors import BenchError, Diagnostic, did_you_mean
from c10cli.schema.dtypes import DTYPES

if TYPE_CHECKING:
    from c10cli.bench.outcome import RunResult
    from c10cli.bench.plan import Plan
    from c10cli.manifest.link import Registry


@c10_command("bench")
@click.argument("select", nargs=-1)
@click.option(
    "--time", "time_s", type=seconds, default=0.3, show_default=True, help="Seconds to sample a case."
)
@click.option(
    "--timeout", "timeout_s", type=seconds, default=60.0, show_default=True, help="Seconds a case may take."
)
@memory_option
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the random inputs and orders.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reports"),
    show_default=True,
    help="Where the run's folder is made.",
)
@click.option(
    "--dims",
    multiple=True,
    metavar="NAME=SIZE,…",
    help="Measure on arguments made from the domain, such as n=4,8, instead of the declared cases.",
)
@click.option("--dtype", "dtypes", multiple=True, help="Of such arguments; float32 where none is given.")
@click.option("--resume", metavar="RUN", help="Go on with a run that was cut short: its folder, or `latest`.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    session: Session,
    select: tuple[str, ...],
    output: Path,
    resume: str | None,
    memory_bytes: int | None,
    dims: tuple[str, ...],
    dtypes: tuple[str, ...],
    **options: Any,
) -> int:
    """Measure the dispatcher and every kernel on the declared cases.

    SELECT keeps the cases whose id contains it (`softmax`, `CPU/numba`,
    `float16`); with `*` or `?` it is a pattern for the whole id; of several,
    one is enough.  Every case is checked against the reference before and
    after it is timed.

    \b
    c10 bench softmax CPU/numba --time 1
    c10 bench softmax --dims n=4096,1000 --dims n=7,33 --dtype float16
    """
    from c10cli.bench.journal import find_run_folder, make_run_folder, read_journal
    from c10cli.bench.outcome import RunResult
    from c10cli.bench.run import check_unchanged, end_run, run_plan, start_run
    from c10cli.report.formats import write_reports

    if resume == "":  # a variable of a script that is not set, not a wish for a new run
        raise click.UsageError("--resume is given without a run; name its folder, or `latest`")
    options |= _made(dims, dtypes)
    registry = session.load(partly=True)
    run = None
    if resume:
        folder = _owned(ctx, find_run_folder(output, resume))
        run = RunResult.from_records(read_journal(folder))
        check_unchanged(run, registry.manifest)
        _refuse_others(ctx, run, select, options)
        select, options = tuple(run.plan.get("select", ())), {**run.plan, **options}
    plan = _plan(registry, run, select, options)
    if run and not plan.cases:
        session.tell(f"nothing is left to measure in {folder}")
    else:
        folder = folder if run else _owned(ctx, make_run_folder(output))
        with _kept(session, folder), session.progress(len(plan.cases)) as progress:
            asked = {"command": shlex.join(["c10", *sys.argv[1:]]), "select": list(select), **options}
            run = run or start_run(folder.name, plan, **asked)
            run = run_plan(run, plan, folder, progress, memory_bytes)
            run = end_run(run, _exit_status(run), folder)
    write_reports(run, folder)
    _show(session, folder, run)
    return run.exit_status or 0


def _plan(
    registry: Registry, run: RunResult | None, select: tuple[str, ...], options: dict[str, Any]
) -> Plan:
    """The plan for what *run* has not measured yet."""
    from c10cli.bench.plan import MadeCases, make_plan

    made = MadeCases(options["dims"], options["dtypes"]) if "dims" in options else None
    done = {case.id for case in run.cases if case.samples} if run else ()
    return make_plan(registry, select, done=done, made=made)


def _made(dims: tuple[str, ...], dtypes: tuple[str, ...]) -> dict[str, list[str]]:
    """What of a run's options says that its cases are made of *dims*."""
    if dtypes and not dims:
        raise click.UsageError("--dtype is of the arguments that --dims makes, and no --dims is given")
    unknown = [dtype for dtype in dtypes if dtype not in DTYPES]
    if unknown:
        todo = did_you_mean(unknown[0], DTYPES) or "give one such as float16"
        raise click.UsageError(f"unknown dtype `{unknown[0]}`; {todo}")
    return {"dims": [*dims], "dtypes": [*(dtypes or ("float32",))]} if dims else {}


def _owned(ctx: click.Context, folder: Path) -> Path:
    """*folder*, in which no other command measures until this one ends."""
    from c10cli.bench.journal import locked

    ctx.with_resource(locked(folder))
    return folder


def _refuse_others(
    ctx: click.Context, run: RunResult, select: tuple[str, ...], options: dict[str, Any]
) -> None:
    """Refuse a selection or options that are not those of *run*, which all its cases are measured with.

    Raises:
        click.UsageError: the command line gives such.
        BenchError: C10E603, the run does not say what it was begun with.
    """
    if not options.keys() - {"dims", "dtypes"} <= run.plan.keys():
        fact = f"run `{run.run_id}` does not say how it was measured"
        raise BenchError(Diagnostic("C10E603", fact, help="begin a new run"))
    given = click.core.ParameterSource.COMMANDLINE
    others = [
        f"--{name.removesuffix('_s')}"
        for name, value in options.items()
        if value != run.plan.get(name) and ctx.get_parameter_source(name) is given
    ]
    others += ["SELECT"] if select and list(select) != run.plan.get("select") else []
    if others:
        todo = "leave it out, or begin a new run"
        raise click.UsageError(f"a resumed run keeps the {others[0]} it began with; {todo}")


def _exit_status(run: RunResult) -> int:
    """1 where a case is not right, 4 where none was measured.

    That this machine turned out to make no tensors of a key is no fault, as it is none of a kernel
    that is skipped for want of a device.
    """
    here = [case for case in run.cases if (case.status, case.code) != ("skipped", "C10E607")]
    if any(case.status != "ok" for case in here):
        return 1
    return 0 if here else 4


@contextlib.contextmanager
def _kept(session: Session, folder: Path) -> Iterator[None]:
    """Where the run is interrupted, say what is kept of it; where that is nothing, leave no folder."""
    try:
        yield
    except BaseException as error:
        with contextlib.suppress(OSError):  # unless it is empty
            folder.rmdir()
        if isinstance(error, KeyboardInterrupt | SystemExit) and folder.exists():
            named = ["--registry", session.registry] if session.registry else []
            words = ["c10", "bench", *named, "--resume", str(folder)]
            session.tell(f"\nmeasured cases are kept; go on with `{shlex.join(words)}`")
        raise


def _show(session: Session, folder: Path, run: RunResult) -> None:
    from c10cli.bench.quality import check_run

    printed = {
        f"kernel `{case.variant}` of `{case.operator}`": case.printed for case in run.cases if case.printed
    }
    for kernel, text in printed.items():
        session.tell_printed(kernel, text)
    if session.is_json:
        warnings = [warning.as_dict() for warning in check_run(run)]
        session.echo_json("c10.bench/1", folder=str(folder), warnings=warnings, run=run.to_dict())
        return
    from c10cli.report.tables import make_bench_view

    # Off a terminal nothing is left out; on one, wide lines are hard to follow.
    width = session.console().width
    session.echo_view(make_bench_view(run, min(width, 160) if sys.stdout.isatty() else width))
    session.echo(f"\nreport: {folder / 'report.md'}")
