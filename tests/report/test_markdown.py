from dataclasses import replace

from c10cli.bench.clock import ClockQuality
from c10cli.bench.environment import Commit, Environment, Peaks
from c10cli.bench.outcome import CaseResult, RunResult, Skipped
from c10cli.bench.sampling import Samples
from c10cli.report.markdown import render_markdown

ENVIRONMENT = Environment(
    "3.11.7",
    "CPython",
    "Linux",
    "6.1",
    "x86_64",
    "Some CPU",
    4,
    2,
    load=(0.5, 0.25, 0.125),
    packages={"numpy": "2.1.0"},
    variables={"OMP_NUM_THREADS": "1"},
    commit=Commit("0123456789abcdef" * 2 + "01234567", "2025-01-01T00:00:00Z", "main", True),
    clock=ClockQuality(1, 60),
    peaks=Peaks(((100_000, 80e9), (100_000_000, 20e9)), 300e9),
)
EVEN = {"null": 40, "direct": 500, "lookup": 90, "dispatch": 101, "call": 570}
TIMED = CaseResult(
    "c10::layer_norm",
    "CPU",
    "numpy",
    "small",
    {"rows": 4},
    "float32",
    "ok",
    shapes="float32[4, 8]",
    ladder={rung: Samples(10, (10 * time,) * 20) for rung, time in EVEN.items()},
    bytes=570.0,
    flops=285.0,
)
WRONG = replace(
    TIMED, variant="numba", status="wrong", ladder={}, code="C10E504", reason="max | 3\nof 9 differ"
)
RUN = RunResult(
    "20250102-120005-aa",
    "2025-01-02T12:00:05+00:00",
    ENVIRONMENT,
    {"command": "c10 bench layer_norm"},
    (TIMED, WRONG),
    (Skipped("c10::layer_norm", "CUDA", "triton", "no CUDA device"),),
    exit_status=1,
)

WHOLE = r"""# Benchmark 20250102-120005-aa

2 cases of 1 operator, 1 ok, 1 wrong, 1 kernel skipped. Begun 2025-01-02T12:00:05+00:00.

## Without a time

- c10::layer\_norm/CPU/numba/small\[rows=4\]/float32: wrong - max \| 3 of 9 differ \[C10E504\]

## Skipped

- CUDA/triton: no CUDA device (c10::layer\_norm)

## Machine

- CPU: Some CPU, 2 of 4 CPUs usable
- system: Linux 6.1 (x86\_64)
- Python: CPython 3.11.7
- packages: numpy 2.1.0
- variables: OMP\_NUM\_THREADS=1
- load before: 0.50 0.25 0.12
- commit: 0123456789ab on main, changed since
- clock: reads 60 ns apart, steps of 1 ns
- peaks: copy 20.0 GB/s in memory, 80.0 GB/s in the caches; float32 product 300 GFLOP/s

## Results

"""

TABLE = r"""### c10::layer_norm

| case | kernel | dtype | shapes | time | ± | noise | GB/s | GFLOP/s | of peak | dispatcher | status |
| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
| small rows=4 | CPU/numpy | float32 | float32\[4, 8\] | 570 ns | 0.0 % | 0.0 % | 1.00 | 0.500 | 1.2 % | 61.0 ns | ok |
| small rows=4 | CPU/numba | float32 | float32\[4, 8\] | - | - | - | - | - | - | - | wrong |
"""  # noqa: E501 - a row of a Markdown table is one line

LADDER = r"""
| case | null | direct | lookup | dispatch | call | direct - null | lookup - null | dispatch - null | call - direct |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| c10::layer\_norm/CPU/numpy/small\[rows=4\]/float32 | 40.0 ns | 500 ns | 90.0 ns | 101 ns | 570 ns | 460 ns | 50.0 ns | 61.0 ns | 70.0 ns |
"""  # noqa: E501 - a row of a Markdown table is one line

REPEAT = """## How to repeat it

```
git checkout 0123456789abcdef0123456789abcdef01234567
c10 bench layer_norm
```
"""


def test_the_page_begins_with_what_came_out_and_where():
    assert render_markdown(RUN).startswith(WHOLE)


def test_each_operator_has_a_table_with_all_columns():
    assert TABLE in render_markdown(RUN)


def test_the_ladder_shows_every_rung_and_the_differences():
    assert LADDER in render_markdown(RUN)


def test_the_page_ends_with_how_to_repeat_the_run():
    assert render_markdown(RUN).endswith(REPEAT)


def test_warnings_stand_before_the_figures_with_what_to_do():
    noisy = replace(TIMED, ladder={"call": Samples(10, (5000, 6500) * 10)})
    page = render_markdown(replace(RUN, cases=(noisy,)))
    assert "- **C10W651** noise, or the ± of the time, over 10 % in 1 of 1 cases\n  - c10::layer" in page
    assert "\n  - what to do: measure again" in page
    assert page.index("## Warnings") < page.index("## Results")


def test_sections_without_content_are_left_out():
    bare = replace(RUN, cases=(replace(TIMED, ladder={}),), skipped=(), plan={})
    page = render_markdown(bare)
    for title in ("Warnings", "Without a time", "Skipped", "What a call costs", "How to repeat"):
        assert f"## {title}" not in page


def test_facts_that_could_not_be_read_are_left_out():
    page = render_markdown(
        replace(RUN, environment=replace(ENVIRONMENT, commit=None, peaks=None, clock=None))
    )
    for fact in ("governor", "turbo", "commit:", "peaks:", "clock:"):
        assert f"- {fact}" not in page


def test_a_rung_that_was_not_measured_is_a_dash():
    short = replace(TIMED, ladder={"null": TIMED.ladder["null"], "direct": TIMED.ladder["direct"]})
    assert "| 40.0 ns | 500 ns | - | - | - | 460 ns | - | - | - |" in render_markdown(
        replace(RUN, cases=(short,))
    )


def test_every_table_row_has_as_many_cells_as_its_header():
    tables = [block.splitlines() for block in render_markdown(RUN).split("\n\n") if block.startswith("|")]
    assert len(tables) == 2
    for header, *rows in tables:
        assert {row.replace("\\|", "").count("|") for row in rows} == {header.count("|")}
