"""A benchmark run in pytest-benchmark's JSON, for the tools that read that.

`pytest-benchmark compare`, Bencher and github-action-benchmark do.  Times
become seconds here.  ``ops`` is one over the median, our headline, where
pytest-benchmark itself takes the mean.  It knows no failed benchmark, so the
cases without a time are listed in a block of our own, ``c10``.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict

from c10cli.bench.environment import Environment
from c10cli.bench.outcome import FORMAT, CaseResult, RunResult
from c10cli.bench.sampling import Samples
from c10cli.bench.stats import quartiles


def render_pytest_benchmark(run: RunResult) -> str:
    """The JSON text of *run* as the object that pytest-benchmark stores."""
    data = {
        "machine_info": _machine_info(run.environment),
        "commit_info": _commit_info(run.environment),
        "benchmarks": [_benchmark(case, run) for case in run.cases if case.samples],
        "datetime": run.created,
        "version": "5.3.1",  # of pytest-benchmark, whose layout this is
        "c10": {
            "format": FORMAT,
            "c10cli": run.c10cli,
            "run_id": run.run_id,
            "cases": [{"id": case.id, "status": case.status, "reason": case.reason} for case in run.cases],
            "skipped": [asdict(item) for item in run.skipped],
        },
    }
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _machine_info(environment: Environment) -> dict[str, object]:
    return {
        "node": environment.cpu_model,  # where pytest-benchmark writes the host's name
        "processor": environment.machine,
        "machine": environment.machine,
        "python_implementation": environment.implementation,
        "python_implementation_version": environment.python,
        "python_version": environment.python,
        "release": environment.release,
        "system": environment.system,
        "cpu": {
            "brand_raw": environment.cpu_model,
            "count": environment.cores,
            "arch_string_raw": environment.machine,
        },
    }


def _commit_info(environment: Environment) -> dict[str, object]:
    commit = environment.commit
    return {
        "id": commit.id if commit else "unversioned",
        "time": commit.time if commit else None,
        "author_time": commit.time if commit else None,
        "dirty": bool(commit and commit.dirty),
        "project": "c10cli",
        "branch": commit.branch if commit else "(unknown)",
    }


def _benchmark(case: CaseResult, run: RunResult) -> dict[str, object]:
    assert case.samples is not None, "only cases with a time become benchmarks"
    extra = {
        "status": case.status,
        "shapes": case.shapes,
        "bytes": case.bytes,
        "flops": case.flops,
        "peak_percent": case.peak_percent(run.environment.peaks),
        "max_rss_bytes": case.max_rss_bytes,
        **case.derived(),
    }
    return {
        "group": case.operator,
        "name": case.id,
        "fullname": case.id,
        "params": {
            "dispatch_key": case.dispatch_key,
            "variant": case.variant,
            "case": case.case,
            "dtype": case.dtype,
            **case.point,
        },
        "param": case.id.partition("/")[2],
        "extra_info": {name: value for name, value in extra.items() if value is not None},
        "options": {"disable_gc": True, "timer": "perf_counter_ns", "warmup": case.samples.warm_up},
        "stats": _stats(case.samples),
    }


def _stats(samples: Samples) -> dict[str, object]:
    """The statistics that pytest-benchmark would compute, but for ``ops``."""
    times_s = [time_ns / 1e9 for time_ns in samples.per_call_ns]
    data = sorted(times_s)
    mean, median = statistics.fmean(data), statistics.median(data)
    stddev = statistics.stdev(data) if len(data) > 1 else 0.0
    first, third = quartiles(data)
    reach = 1.5 * (third - first)
    inside = [time_s for time_s in data if first - reach <= time_s <= third + reach]
    far = sum(abs(time_s - mean) > stddev for time_s in data)
    outliers = len(data) - len(inside)
    return {
        "min": data[0],
        "max": data[-1],
        "mean": mean,
        "stddev": stddev,
        "rounds": len(data),
        "median": median,
        "iqr": third - first,
        "q1": first,
        "q3": third,
        "iqr_outliers": outliers,
        "stddev_outliers": far,
        "outliers": f"{far};{outliers}",
        "ld15iqr": inside[0],
        "hd15iqr": inside[-1],
        "ops": 1 / median if median else 0.0,
        "total": sum(data),
        "data": times_s,
        "iterations": samples.iterations,
    }
