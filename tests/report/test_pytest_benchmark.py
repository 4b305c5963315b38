import csv
import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest

from c10cli.bench.environment import Commit, Environment
from c10cli.bench.outcome import CaseResult, RunResult, Skipped
from c10cli.bench.sampling import Samples
from c10cli.report.pytest_benchmark import render_pytest_benchmark

ENVIRONMENT = Environment(
    "3.11.7",
    "CPython",
    "Linux",
    "6.1",
    "x86_64",
    "Some CPU",
    4,
    2,
    commit=Commit("ab" * 20, "2025-01-01T00:00:00+00:00", "main", False),
)


def case_of(operator, variant, base_ns, **changes):
    chunks = tuple(16 * base_ns + 37 * ((i * 7) % 11) for i in range(25))
    case = CaseResult(
        operator,
        "CPU",
        variant,
        "small",
        {"rows": 4, "cols": 8},
        "float32",
        "ok",
        shapes="float32[4, 8], float32[4, 8]",
        ladder={"call": Samples(16, chunks, warm_up=9)},
        bytes=384.0,
    )
    return replace(case, **changes)


def run_of(scale=1):
    cases = (
        case_of("c10::add", "numpy", 1000 * scale),
        case_of("c10::add", "numba", 400 * scale),
        case_of("c10::mul", "numpy", 900, status="wrong", ladder={}, reason="result differs"),
    )
    skipped = (Skipped("c10::add", "CUDA", "triton", "no CUDA device"),)
    return RunResult("r", "2025-01-02T12:00:05+00:00", ENVIRONMENT, cases=cases, skipped=skipped)


def pytest_benchmark_data(run):
    return json.loads(render_pytest_benchmark(run))


def compare(folder, *options):
    for name, scale in (("a", 1), ("b", 2)):
        (folder / f"{name}.json").write_text(render_pytest_benchmark(run_of(scale)))
    command = [sys.executable, "-m", "pytest_benchmark", "compare", "a.json", "b.json", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)


def test_pytest_benchmark_compares_two_of_our_files(tmp_path):
    done = compare(
        tmp_path, "--csv=out.csv", "--columns=min,max,mean,stddev,median,iqr,outliers,ops,rounds,iterations"
    )
    assert "Failed to load" not in done.stdout + done.stderr
    assert "benchmark 'c10::add': 4 tests" in done.stdout
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    medians = sorted(float(row["median"]) for row in rows)
    expected = sorted(
        benchmark["stats"]["median"]
        for scale in (1, 2)
        for benchmark in pytest_benchmark_data(run_of(scale))["benchmarks"]
    )
    assert medians == pytest.approx(expected)


@pytest.mark.parametrize("grouping", ["fullname", "fullfunc", "param", "param:variant", "name"])
def test_pytest_benchmark_groups_them(tmp_path, grouping):
    assert "tests" in compare(tmp_path, f"--group-by={grouping}").stdout


def test_pytest_benchmark_shows_the_change_between_them(tmp_path):
    out = compare(tmp_path, "--between=median,ops").stdout
    assert "c10::add/CPU/numpy/small[rows=4,cols=8]/float32" in out
    assert "N/A" not in out


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 24, 25])
def test_the_statistics_are_those_of_pytest_benchmark_but_for_ops(count):
    from pytest_benchmark import stats as stats_module

    chunks = case_of("c10::add", "numpy", 1000).samples.samples_ns[:count]
    chunks = (*chunks[:-1], chunks[-1] * (3 if count > 4 else 1))  # an outlier
    case = case_of("c10::add", "numpy", 0, ladder={"call": Samples(16, chunks)})
    (benchmark,) = pytest_benchmark_data(replace(run_of(), cases=(case,)))["benchmarks"]
    theirs = stats_module.Stats()
    for time_ns in case.samples.per_call_ns:
        theirs.update(time_ns / 1e9)
    ours = benchmark["stats"]
    for field in theirs.fields:
        if field == "outliers":
            assert ours[field] == theirs.outliers
        elif field != "ops":
            assert ours[field] == pytest.approx(getattr(theirs, field)), field
    assert ours["ops"] == pytest.approx(1 / theirs.median)


def test_what_bencher_and_github_action_benchmark_read_is_there_and_finite():
    data = pytest_benchmark_data(run_of())
    for benchmark in data["benchmarks"]:
        assert benchmark["fullname"]
        for field in ("mean", "stddev", "median", "iqr", "ops", "rounds"):
            assert math.isfinite(benchmark["stats"][field])
    assert {"id", "time", "dirty", "branch"} <= set(data["commit_info"])
    assert data["machine_info"]["cpu"]["brand_raw"] == "Some CPU"
    assert data["datetime"] == "2025-01-02T12:00:05+00:00"
    assert data["version"]


def test_times_are_seconds_per_call():
    (benchmark, _) = pytest_benchmark_data(run_of())["benchmarks"]
    assert benchmark["stats"]["min"] == pytest.approx(1e-6)
    assert benchmark["stats"]["iterations"] == 16
    assert len(benchmark["stats"]["data"]) == benchmark["stats"]["rounds"] == 25


def test_a_case_without_a_time_is_no_benchmark_but_is_not_forgotten():
    data = pytest_benchmark_data(run_of())
    assert "c10::mul" not in {benchmark["group"] for benchmark in data["benchmarks"]}
    assert {case["id"]: case["status"] for case in data["c10"]["cases"]}[
        "c10::mul/CPU/numpy/small[rows=4,cols=8]/float32"
    ] == "wrong"
    assert data["c10"]["skipped"][0]["reason"] == "no CUDA device"


def test_a_run_outside_a_repository_is_unversioned():
    run = replace(run_of(), environment=replace(ENVIRONMENT, commit=None))
    assert pytest_benchmark_data(run)["commit_info"]["id"] == "unversioned"
