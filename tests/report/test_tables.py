import io
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from c10cli.bench.environment import Environment, Peaks
from c10cli.bench.outcome import CaseResult, RunResult, Skipped
from c10cli.bench.sampling import Samples
from c10cli.report.tables import case_columns, headline, make_bench_view, skipped_lines

ENVIRONMENT = Environment(
    "3.11.7", "CPython", "Linux", "6", "x86_64", "Some CPU", 4, 2, peaks=Peaks(((0, 40e9),), 100e9)
)


def samples_of(per_call_ns):
    return Samples(100, tuple(round(100 * per_call_ns * (1 + 0.01 * (i % 3))) for i in range(21)))


def case_of(operator="c10::add", variant="numpy", time_ns=1000.0, **changes):
    ladder = {"null": samples_of(40), "dispatch": samples_of(100), "call": samples_of(time_ns)}
    case = CaseResult(
        operator,
        "CPU",
        variant,
        "small",
        {"rows": 4, "cols": 8},
        "float32",
        "ok",
        shapes="float32[4, 8], float32[4, 8]",
        ladder=ladder,
        bytes=10_000.0,
        flops=5_000.0,
    )
    return replace(case, **changes)


WRONG = case_of(
    variant="numba", status="wrong", ladder={}, code="C10E504", reason="result differs from the reference"
)
SKIPPED = (
    Skipped("c10::add", "CUDA", "triton", "no CUDA device"),
    Skipped("c10::mul", "CPU", "numba", "numba is not installed"),
    Skipped("c10::relu", "CUDA", "triton", "no CUDA device"),
)
RUN = RunResult(
    "20250102-120005-aa",
    "2025-01-02T12:00:05+00:00",
    ENVIRONMENT,
    cases=(case_of(), WRONG, case_of("c10::softmax", time_ns=25_000.0)),
    skipped=SKIPPED,
)

WIDE = """\
3 cases of 2 operators, 2 ok, 1 wrong, 3 kernels skipped

case                   kernel     dtype       time      ±  noise   GB/s  GFLOP/s  of peak  dispatcher  status
─────────────────────────────────────────────────────────────────────────────────────────────────────────────
c10::add
  small rows=4 cols=8  CPU/numpy  float32  1.01 µs  1.0 %  1.5 %   9.90     4.95   24.8 %     60.6 ns  ok
  small rows=4 cols=8  CPU/numba  float32        -      -      -      -        -        -           -  wrong

c10::softmax
  small rows=4 cols=8  CPU/numpy  float32  25.2 µs  1.0 %  1.5 %  0.396    0.198    1.0 %     60.6 ns  ok

without a time
  c10::add/CPU/numba/small[rows=4,cols=8]/float32: wrong - result differs from the reference [C10E504]

skipped
  CPU/numba: numba is not installed (c10::mul)
  CUDA/triton: no CUDA device (c10::add, c10::relu)
"""


def render_bench(run, width=100):
    """The run as plain text of at most *width* columns."""
    text = io.StringIO()
    Console(file=text, width=width, color_system=None, legacy_windows=False).print(
        make_bench_view(run, width)
    )
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def test_the_whole_view():
    assert render_bench(RUN, 120) == WIDE


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_no_line_is_wider_than_asked(width):
    assert max(len(line) for line in render_bench(RUN, width).splitlines()) <= width


def test_a_narrow_table_loses_columns_but_never_time_and_status():
    text = render_bench(RUN, 80)
    header = text.splitlines()[2].split()
    assert header[:4] == ["case", "kernel", "dtype", "time"]
    assert header[-1] == "status"
    assert "GB/s" not in header
    assert "shapes" not in header


def test_a_wide_one_shows_shapes():
    assert "float32[4, 8], float32[4, 8]" in render_bench(RUN, 160)


def test_columns_that_are_empty_everywhere_are_left_out():
    plain = replace(RUN, cases=(case_of(bytes=None, flops=None, ladder={}),))
    header = render_bench(plain, 160).splitlines()[2]
    assert "GB/s" not in header
    assert "of peak" not in header
    assert "dispatcher" not in header


def test_a_long_operator_name_is_not_cut_off():
    name = "c10::scaled_dot_product_attention_with_a_very_long_name"
    text = render_bench(replace(RUN, cases=(case_of(name),)), 80)
    first = [line.split("  ")[0].strip() for line in text.splitlines()[4:7]]
    assert name in "".join(first)


@pytest.mark.parametrize("width", range(95, 130))
@pytest.mark.parametrize("name", ["c10::add", "c10::scaled_dot_product_attention_with_a_long_name.out"])
def test_columns_give_way_to_a_long_operator_name_which_stays_on_one_line(name, width):
    run = replace(RUN, cases=(case_of(name),), skipped=())
    lines = render_bench(run, width).splitlines()
    assert (len(lines), lines[4]) == (6, name)
    assert max(map(len, lines)) <= width
    assert render_bench(run, max(map(len, lines))).splitlines() == lines  # no more gave way than had to
    assert "1.01 µs" in lines[5]


def test_cases_of_an_operator_stand_together():
    cases = (case_of("c10::b"), case_of("c10::a"), case_of("c10::b", variant="numba"))
    lines = render_bench(replace(RUN, cases=cases), 120).splitlines()
    assert [line for line in lines if line.startswith("c10::")] == ["c10::b", "c10::a"]


def test_brackets_are_text_and_not_markup():
    case = case_of(status="crashed", ladder={}, reason="exit [red]9[/red]")
    assert "exit [red]9[/red]" in render_bench(replace(RUN, cases=(case,)), 200)


def test_warnings_are_listed_with_their_code():
    noisy = case_of(ladder={"call": Samples(1, (100, 130) * 10)})
    text = render_bench(replace(RUN, cases=(noisy,)), 120)
    assert "warning[C10W651] noise, or the ± of the time, over 10 % in 1 of 1 cases" in text


def test_a_run_without_cases_says_what_was_skipped():
    text = render_bench(replace(RUN, cases=()), 80)
    assert text.startswith("0 cases of 0 operators, 3 kernels skipped\n\n\nskipped\n")


def test_the_headline_counts_in_the_singular_too():
    assert headline(replace(RUN, cases=(WRONG,), skipped=SKIPPED[:1])) == (
        "1 case of 1 operator, 1 wrong, 1 kernel skipped"
    )


def test_equal_reasons_are_one_line():
    assert skipped_lines(SKIPPED)[1] == "CUDA/triton: no CUDA device (c10::add, c10::relu)"


def test_an_unresolved_dispatcher_cost_is_a_bound():
    wild = Samples(1, (900, 1500, 400, 1100, 2000, 100, 1200, 800, 1000))
    case = case_of(ladder={"null": wild, "dispatch": Samples(1, wild.samples_ns[::-1])})
    (dispatcher,) = (c for c in case_columns([case], RUN) if c.header == "dispatcher")
    assert dispatcher.cells[0].startswith("<")


def test_importing_the_module_loads_neither_rich_nor_numpy():
    probe = "import sys, c10cli.report.tables, c10cli.report.markdown, c10cli.report.pytest_benchmark as p; "
    probe += "print(sorted({'rich', 'numpy', 'pytest', 'click'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
