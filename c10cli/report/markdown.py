"""A benchmark run as a Markdown page that a person reads and passes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from c10cli.bench.environment import Environment, Peaks
from c10cli.bench.ladder import RUNGS, STEPS, ladder_steps
from c10cli.bench.outcome import CaseResult, RunResult
from c10cli.bench.quality import check_run
from c10cli.describe import printable
from c10cli.report.tables import (
    Column,
    case_columns,
    failed_lines,
    group_by_operator,
    headline,
    skipped_lines,
)
from c10cli.report.units import render_difference, render_ns, render_rate


def render_markdown(run: RunResult) -> str:
    """The report of *run*: headline, warnings, machine, tables, ladder, what is missing, how to repeat it."""
    sections = (
        [
            f"# Benchmark {run.run_id}",
            f"{headline(run)}. Begun {run.created}{run.c10cli and f' with c10cli {run.c10cli}'}.",
        ],
        _section("Warnings", _warning_lines(run)),
        _section("Without a time", _items(failed_lines(run.cases))),
        _section("Skipped", _items(skipped_lines(run.skipped))),
        _section("Machine", _machine_lines(run.environment)),
        ["## Results", _READING, *_result_tables(run)],
        _section("What a call costs, step by step", _ladder_table(run.cases)),
        _section("How to repeat it", _repeat_lines(run)),
    )
    return printable("\n\n".join(block for section in sections for block in section)) + "\n"


_READING = (
    "`time` is the median of a call, `±` half its 95 % confidence interval, `noise` the spread of the "
    "samples; `of peak` is the time that the machine's measured peak rates would need, relative to it; "
    "`dispatcher` is what the dispatcher adds to a call, with `<` where that is lost in the noise."
)


def _section(title: str, blocks: list[str]) -> list[str]:
    return [f"## {title}", *blocks] if blocks else []


def _items(lines: Iterable[str]) -> list[str]:
    items = [f"- {_escaped(line)}" for line in lines]
    return ["\n".join(items)] if items else []


def _warning_lines(run: RunResult) -> list[str]:
    lines = []
    for warning in check_run(run):
        lines.append(f"- **{warning.code}** {_escaped(warning.message)}")
        lines += [f"  - {_escaped(note)}" for note in warning.notes]
        lines.append(f"  - what to do: {_escaped(warning.help)}")
    return ["\n".join(lines)] if lines else []


def _machine_lines(environment: Environment) -> list[str]:
    commit, clock, peaks = environment.commit, environment.clock, environment.peaks
    facts = {
        "CPU": f"{environment.cpu_model}, {environment.cpus} of {environment.cores} CPUs usable",
        "system": f"{environment.system} {environment.release} ({environment.machine})",
        "Python": f"{environment.implementation} {environment.python}",
        "packages": ", ".join(f"{name} {version}" for name, version in environment.packages.items()),
        "variables": ", ".join(f"{name}={value}" for name, value in environment.variables.items()),
        "governor": environment.governor,
        "turbo": environment.turbo,
        "load before": " ".join(f"{load:.2f}" for load in environment.load),
        "commit": commit and f"{commit.id[:12]} on {commit.branch}{', changed since' * commit.dirty}",
        "clock": clock and f"reads {clock.overhead_ns} ns apart, steps of {clock.resolution_ns} ns",
        "peaks": peaks and _peaks_text(peaks),
    }
    return _items(f"{name}: {value}" for name, value in facts.items() if value)


def _peaks_text(peaks: Peaks) -> str:
    rates = [rate for _, rate in peaks.copies]
    return (
        f"copy {render_rate(rates[-1], 'B')} in memory, {render_rate(max(rates), 'B')} in the caches; "
        f"float32 product {render_rate(peaks.matmul_flops_per_s, 'FLOP')}"
    )


def _result_tables(run: RunResult) -> Iterator[str]:
    for operator, cases in group_by_operator(run.cases):
        yield f"### {operator}"
        yield _table(case_columns(cases, run))


def _ladder_table(cases: Iterable[CaseResult]) -> list[str]:
    measured = [case for case in cases if case.ladder]
    if not measured:
        return []
    steps = [ladder_steps(case.ladder) for case in measured]
    columns = [Column("case", tuple(case.id for case in measured), number=False)]
    columns += [Column(rung, tuple(_rung_text(case, rung) for case in measured)) for rung in RUNGS]
    for step, (upper, lower) in STEPS.items():
        cells = (render_difference(found[step]) if step in found else "-" for found in steps)
        columns.append(Column(f"{upper} - {lower}", tuple(cells)))
    return [
        "`null` is an empty function with the operator's arguments, `direct` the kernel without the "
        "dispatcher, `lookup` the choice of the kernel alone, `dispatch` a dispatched kernel that does "
        "nothing, `call` the real call. Differences are medians of pairs taken in turn; "
        "`dispatch - null` is what the dispatcher costs.",
        _table(columns),
    ]


def _rung_text(case: CaseResult, rung: str) -> str:
    return render_ns(median(case.ladder[rung].per_call_ns)) if rung in case.ladder else "-"


def _table(columns: Sequence[Column]) -> str:
    rules = ["---:" if column.number else "---" for column in columns]
    rows = zip(*(map(_escaped, column.cells) for column in columns), strict=True)
    lines = [[column.header for column in columns], rules, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    """*text* so that Markdown shows it as it is, on one line."""
    for sign in "\\`*_[]<|":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())


def _repeat_lines(run: RunResult) -> list[str]:
    command, commit = run.plan.get("command"), run.environment.commit
    checkout = f"git checkout {commit.id}\n" if commit else ""
    return [f"```\n{checkout}{command}\n```"] if command else []
