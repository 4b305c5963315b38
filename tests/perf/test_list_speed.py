"""`c10 list` beside the bare import of the packages that it needs."""

import os
import random
import subprocess
import sys
import time
from statistics import median

from c10cli.bench.stats import paired_difference

OPERATORS = 1000
TURNS = 9

IMPORTS = "import click, yaml, rich.table"
LIST = "from c10cli.cli.main import main; main()"


def big_manifest(folder):
    entries = [
        f"""\
  - schema: "perf::op{i}(Tensor x, Tensor y) -> Tensor"
    kernels:
      CPU: kernels/op{i}.py:op_cpu
"""
        for i in range(OPERATORS)
    ]
    path = folder / "registry.yaml"
    path.write_text("version: 1\noperators:\n" + "".join(entries), encoding="utf-8")
    return path


def environment(folder):
    """With compiled modules kept, as they are for an installed package."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def run_ns(command, env):
    start = time.perf_counter_ns()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return time.perf_counter_ns() - start, done.stdout


def test_listing_a_thousand_operators_takes_less_than_twice_the_imports(benchmark, tmp_path, capsys):
    commands = {
        "imports": [sys.executable, "-c", IMPORTS],
        "list": [sys.executable, "-c", LIST, "--registry", str(big_manifest(tmp_path)), "list"],
    }
    env = environment(tmp_path)
    _, listed = run_ns(commands["list"], env)  # warms the file cache and the compiled modules up
    assert f"perf::op{OPERATORS - 1}" in listed
    run_ns(commands["imports"], env)
    order, times = random.Random(0), {name: [] for name in commands}
    for _ in range(TURNS):
        for name in order.sample(list(commands), len(commands)):
            times[name].append(run_ns(commands[name], env)[0])
    imports, listing = median(times["imports"]), median(times["list"])
    extra = paired_difference(times["list"], times["imports"]).value
    figures = {"imports_ms": imports / 1e6, "list_ms": listing / 1e6, "ratio": 1 + extra / imports}
    with capsys.disabled():
        sys.stdout.write("\n" + ", ".join(f"{name} {value:.2f}" for name, value in figures.items()) + "\n")
    benchmark.extra_info |= figures
    benchmark.pedantic(run_ns, args=(commands["list"], env), rounds=3)
    assert figures["ratio"] < 2
