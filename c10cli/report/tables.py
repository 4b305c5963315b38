"""The table of a benchmark run, for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from c10cli.bench.outcome import CaseResult, RunResult, Skipped
from c10cli.bench.quality import check_run
from c10cli.describe import printable
from c10cli.errors import counted
from c10cli.report.units import render_difference, render_ns, render_number, render_percent

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

_GAP: Final = 2
_NONE: Final = "-"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table of cases; numbers line up on the right.

    Args:
        rank: which column goes first where the width is short: the highest; 0 stays.
    """

    header: str
    cells: tuple[str, ...]
    number: bool = True
    rank: int = 0


def headline(run: RunResult) -> str:
    """What was measured and how it ended, in one line."""
    operators = len({case.operator for case in run.cases})
    parts = [f"{counted(len(run.cases), 'case')} of {counted(operators, 'operator')}"]
    statuses = [status_text(case) for case in run.cases]
    parts += [f"{statuses.count(status)} {status}" for status in dict.fromkeys(statuses)]
    if run.skipped:
        parts.append(f"{counted(len(run.skipped), 'kernel')} skipped")
    return ", ".join(parts)


def group_by_operator(cases: Iterable[CaseResult]) -> list[tuple[str, list[CaseResult]]]:
    """The cases of each operator, in the order of the operators' first cases."""
    found: dict[str, list[CaseResult]] = {}
    for case in cases:
        found.setdefault(case.operator, []).append(case)
    return list(found.items())


def case_columns(cases: Sequence[CaseResult], run: RunResult) -> list[Column]:
    """Every column of a table of *cases*, at its full width."""
    peaks = run.environment.peaks

    def column(
        header: str, value_of: Callable[[CaseResult], Any], render: Callable[[Any], str] = str, rank: int = 0
    ) -> Column:
        values = [value_of(case) for case in cases]
        cells = tuple(_NONE if value in (None, "") else printable(render(value)) for value in values)
        return Column(header, cells, render is not str, rank)

    return [
        column("case", _case_text),
        column("kernel", lambda case: f"{case.dispatch_key}/{case.variant}"),
        column("dtype", lambda case: case.dtype),
        column("shapes", lambda case: case.shapes, rank=7),
        column("time", lambda case: case.median_ns, render_ns),
        column("±", lambda case: case.uncertainty_percent, render_percent, rank=3),
        column("noise", lambda case: case.noise_percent, render_percent, rank=4),
        column("GB/s", lambda case: case.gb_per_s, render_number, rank=6),
        column("GFLOP/s", lambda case: case.gflop_per_s, render_number, rank=5),
        column("of peak", lambda case: case.peak_percent(peaks), render_percent, rank=2),
        column("dispatcher", lambda case: case.dispatcher, render_difference, rank=1),
        column("status", status_text),
    ]


def status_text(case: CaseResult) -> str:
    """The status of *case*; of one whose operator has no reference, which nothing was compared with, that."""
    is_unchecked = case.status == "ok" and str(case.checks.get("against", "")).startswith("none")
    return "unchecked" if is_unchecked else case.status


def _case_text(case: CaseResult) -> str:
    return " ".join([case.case, *(f"{name}={value}" for name, value in case.point.items())])


def skipped_lines(skipped: Iterable[Skipped]) -> list[str]:
    """One line per key and reason, with the operators it concerns."""

    def cause(item: Skipped) -> tuple[str, str, str]:
        return item.dispatch_key, item.variant, item.reason

    return [
        f"{key}/{variant}: {reason} ({', '.join(item.operator for item in items)})"
        for (key, variant, reason), items in groupby(sorted(skipped, key=cause), key=cause)
    ]


def failed_lines(cases: Iterable[CaseResult]) -> list[str]:
    """One line per case without a time: which, its status, why."""
    return [
        f"{case.id}: {case.status}"
        + (f" - {case.reason}" if case.reason else "")
        + (f" [{case.code}]" if case.code else "")
        for case in cases
        if case.status != "ok"
    ]


def make_bench_view(run: RunResult, width: int) -> Group:
    """The run as something that a `rich` console prints: table, failures, skipped kernels, warnings."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(headline(run), style="bold"), Text()]
    if run.cases:
        parts.append(_make_table(run, width))
    warnings = [
        line
        for warning in check_run(run)
        for line in (warning.concise(), *(f"  {note}" for note in warning.notes))
    ]
    sections = {
        "without a time": failed_lines(run.cases),
        "skipped": skipped_lines(run.skipped),
        "warnings": warnings,
    }
    for title, lines in sections.items():
        if lines:
            parts += [Text(), Text(title, style="bold"), *(Text(f"  {printable(line)}") for line in lines)]
    return Group(*parts)


def _make_table(run: RunResult, width: int) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    groups = group_by_operator(run.cases)
    ordered = [case for _, cases in groups for case in cases]
    columns = _fitting(case_columns(ordered, run), [operator for operator, _ in groups], width)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    for i, column in enumerate(columns):
        # Only the first column may wrap: a number cut in two is worse than a long table.
        table.add_column(
            Text(column.header), justify="right" if column.number else "left", no_wrap=i > 0, overflow="fold"
        )
    cells = iter(zip(*(column.cells for column in columns), strict=True))
    for i, (operator, cases) in enumerate(groups):
        if i:
            table.add_section()
        table.add_row(Text(operator, style="bold"))
        for _ in cases:
            first, *others = (Text(cell) for cell in next(cells))
            table.add_row(Text("  ") + first, *others)
    return table


def _fitting(columns: list[Column], operators: Sequence[str], width: int) -> list[Column]:
    """*columns* without empty ones, and without those of the highest ranks until they fit into *width*."""
    kept = [column for column in columns if not column.rank or set(column.cells) != {_NONE}]
    indent = 2
    while True:
        first, *others = (max(map(len, (column.header, *column.cells))) for column in kept)
        needed = max(indent + first, *map(len, operators)) + sum(_GAP + width for width in others)
        least = max(kept, key=lambda column: column.rank)
        if needed <= width or not least.rank:
            return kept
        kept.remove(least)
