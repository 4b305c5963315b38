from __future__ import annotations

import functools
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from c10cli import __version__
from c10cli.arrays import devices
from c10cli.bench import run as run_module
from c10cli.bench.environment import Environment, read_environment
from c10cli.bench.journal import locked
from c10cli.cli.main import run
from c10cli.manifest.discover import shipped_registry

FAST = ("--time", "0.02")

HEADER = ["case", "kernel", "dtype", "shapes", "time", "±", "noise", "GB/s", "dispatcher", "status"]


@pytest.fixture(autouse=True)
def no_driver(monkeypatch):
    monkeypatch.setattr(devices, "cuda_driver_reason", lambda: "no CUDA driver found")
    devices._device_of.cache_clear()


@functools.cache
def environment() -> Environment:
    return read_environment(Path.cwd())


@pytest.fixture
def bench(c10, demo, monkeypatch):
    """`bench(*words)`: `c10 bench` over the demo; the machine's peaks, which take long, are measured once."""
    monkeypatch.setattr(run_module, "_environment", lambda _packages=(): environment())
    return lambda *words: c10("bench", *FAST, *words)


def run_folders(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "reports").iterdir() if path.is_dir() and not path.is_symlink())


def records(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


def cases(folder: Path) -> list[dict[str, object]]:
    return [record for record in records(folder) if record["kind"] == "case"]


def test_a_run_is_shown_and_kept(bench, folder):
    ran = bench()
    assert (ran.code, ran.err) == (0, "")
    lines = [line.rstrip() for line in ran.out.splitlines()]
    assert lines[0] == "2 cases of 1 operator, 2 ok, 2 kernels skipped"
    assert lines[2].split() == HEADER
    assert lines[4] == "demo::double"
    for line, size in zip(lines[5:7], (4, 8), strict=True):
        assert re.match(
            rf"  tiny n={size}\s+CPU/plain\s+float32\s+float32\[{size}\]\s+[\d.]+ (ns|µs)\s", line
        )
        assert line.endswith("ok")
    assert "  CPU/odd: needs `no_such_package`, not installed (demo::double)" in lines
    assert "  CUDA/gpu: no CUDA driver found (demo::double)" in lines
    (kept,) = run_folders(folder)
    assert lines[-1] == f"report: reports/{kept.name}/report.md"
    assert sorted(path.name for path in kept.iterdir()) == [
        "journal.jsonl",
        "pytest-benchmark.json",
        "report.md",
        "result.json",
    ]
    assert (folder / "reports/latest").resolve() == kept.resolve()
    assert [record["kind"] for record in records(kept)] == ["run", "case", "case", "end"]
    names = [
        entry["name"] for entry in json.loads((kept / "pytest-benchmark.json").read_text())["benchmarks"]
    ]
    assert names == [f"demo::double/CPU/plain/tiny[n={size}]/float32" for size in (4, 8)]
    assert "demo::double" in (kept / "report.md").read_text()


def test_json_is_the_run_that_was_kept(bench, folder):
    ran = bench("n=4", "--format", "json")
    assert ran.code == 0
    assert (ran.json["format"], ran.json["folder"]) == (
        "c10.bench/1",
        f"reports/{run_folders(folder)[0].name}",
    )
    assert ran.json["run"] == json.loads((run_folders(folder)[0] / "result.json").read_text())
    (case,) = ran.json["run"]["cases"]
    assert (case["id"], case["status"]) == ("demo::double/CPU/plain/tiny[n=4]/float32", "ok")
    versions = {record["c10cli"] for record in records(run_folders(folder)[0]) if record["kind"] != "case"}
    assert versions == {ran.json["run"]["c10cli"]} == {__version__}


def test_what_a_kernel_prints_is_shown_once_with_its_name(bench, folder):
    source = folder / "k.py"
    source.write_text(source.read_text().replace("def ", "print('loud')\ndef ", 1))
    ran = bench()
    assert (ran.code, ran.err) == (0, "kernel `plain` of `demo::double` printed:\n  loud\n")
    assert {case["printed"] for case in cases(run_folders(folder)[0])} == {"loud\n"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_names_the_case_as_it_is(bench, folder, monkeypatch):
    screen = Terminal()
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", screen)
    assert run(["bench", *FAST, "n=4"]) == 0
    assert "demo::double/CPU/plain/tiny[n=4]/float32" in screen.getvalue()


def test_a_wrong_kernel_is_a_finding_and_gets_no_time(bench, demo):
    demo.write_text(demo.read_text().replace("name: odd, requires: [no_such_package]", "name: odd"))
    ran = bench("odd")
    assert ran.code == 1
    assert "2 cases of 1 operator, 2 wrong" in ran.out
    rows = [line for line in ran.out.splitlines() if line.startswith("  tiny")]
    assert [row.split() for row in rows] == [
        ["tiny", f"n={size}", "CPU/odd", "float32", f"float32[{size}]", "-", "wrong"] for size in (4, 8)
    ]
    assert "  demo::double/CPU/odd/tiny[n=4]/float32: wrong - " in ran.out
    assert "[C10E504]" in ran.out


def test_nothing_selected_is_nothing_done_with_a_near_name(bench, folder):
    ran = bench("plian")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == (
        "error[C10E601]: no case matches `plian`\n"
        "  = note: a case is called `demo::double/CPU/odd/tiny[n=4]/float32`\n"
        "  = note: a case is called `demo::double/CPU/odd/tiny[n=8]/float32`\n"
        "  = help: did you mean `plain`?\n"
    )
    assert not (folder / "reports").exists()


def test_a_selection_that_is_all_skipped_is_nothing_done(bench):
    ran = bench("CUDA")
    assert ran.code == 4
    assert "CUDA/gpu: no CUDA driver found (demo::double)" in ran.out


def test_a_registry_without_cases_is_nothing_done(c10, folder):
    (folder / "registry.yaml").write_text("version: 1\noperators: []\n")
    ran = c10("bench")
    assert (ran.code, ran.out) == (4, "")
    assert "error[C10E601]: the registry has no cases" in ran.err


@pytest.mark.parametrize(
    ("output", "code"), [("registry.yaml/reports", 3), ("/proc/reports", 3), ("k.py", 2)]
)
def test_a_folder_that_cannot_be_made_stops_before_anything_is_measured(c10, demo, monkeypatch, output, code):
    monkeypatch.setattr(run_module, "run_items", None)  # in whose children all is measured
    ran = c10("bench", "--output", output)
    assert (ran.code, ran.out) == (code, "")
    assert "Traceback" not in ran.err


def cut_short(folder: Path) -> None:
    """Take the last case and the end away from the journal, as if the run had been killed."""
    journal = folder / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-2]))


def test_a_run_cut_short_is_gone_on_with_as_it_began(bench, c10, folder):
    bench("--seed", "5", "plain")
    (kept,) = run_folders(folder)
    cut_short(kept)
    first = cases(kept)
    ran = c10("bench", "--resume", "latest")
    assert ran.code == 0
    assert "2 cases of 1 operator, 2 ok" in ran.out
    assert run_folders(folder) == [kept]
    result = json.loads((kept / "result.json").read_text())
    assert result["exit_status"] == 0
    assert [case["id"] for case in result["cases"]] == [
        f"demo::double/CPU/plain/tiny[n={size}]/float32" for size in (4, 8)
    ]
    assert result["cases"][0] == {name: value for name, value in first[0].items() if name != "kind"}
    assert [result["plan"][name] for name in ("seed", "time_s", "select")] == [5, 0.02, ["plain"]]


def test_a_finished_run_is_only_shown_again(bench, c10, folder):
    first = bench("n=4")
    again = c10("bench", "--resume", run_folders(folder)[0].name)
    assert (again.code, again.out) == (0, first.out)
    assert again.err.startswith("nothing is left to measure in ")


def test_a_resumed_run_takes_no_other_options_and_no_other_selection(bench, c10):
    bench("n=4")
    assert c10("bench", "--resume", "latest", "--time", "3").code == 2
    ran = c10("bench", "--resume", "latest", "n=8")
    assert ran.code == 2
    assert "a resumed run keeps the SELECT it began with" in ran.err


def test_a_selection_that_names_nothing_is_told_beside_one_that_does(bench):
    ran = bench("n=4", "nowhere")
    assert (ran.code, ran.out) == (4, "")
    assert "no case matches `nowhere`" in ran.err


def test_a_run_of_another_registry_is_not_gone_on_with(bench, c10, demo):
    bench("n=4")
    other = demo.parent / "other.yaml"
    other.write_text(demo.read_text())
    ran = c10("bench", "--resume", "latest", "--registry", other)
    assert ran.code == 2
    assert "error[C10E604]" in ran.err
    assert "`registry.yaml` was removed" in ran.err


def test_a_run_whose_registry_was_changed_is_not_gone_on_with(bench, c10, folder, demo):
    bench("plain")
    cut_short(run_folders(folder)[0])
    demo.write_text(demo.read_text().replace("n: [4, 8]", "n: [4, 8, 16]"))
    ran = c10("bench", "--resume", "latest")
    assert ran.code == 2
    assert "error[C10E604]" in ran.err
    assert "`registry.yaml` was changed since run" in ran.err


def test_a_run_whose_kernels_were_changed_is_not_gone_on_with(bench, c10, folder, demo):
    bench("plain")
    kernels = folder / "k.py"
    kernels.write_text(kernels.read_text() + "# edited\n")
    ran = c10("bench", "--resume", "latest")
    assert (ran.code, ran.out) == (2, "")
    assert "error[C10E604]: `k.py` was changed since run `" in ran.err
    assert "= help: begin a new run" in ran.err


def test_a_changed_include_is_named_and_not_the_registry(bench, c10, folder, demo):
    more = folder / "more.yaml"
    more.write_text('version: 1\noperators:\n  - schema: "demo::more(Tensor x) -> Tensor"\n')
    demo.write_text(demo.read_text().replace("version: 1\n", "version: 1\ninclude: [more.yaml]\n"))
    bench("plain")
    more.write_text(more.read_text() + "# edited\n")
    ran = c10("bench", "--resume", "latest")
    assert ran.code == 2
    assert "error[C10E604]: `more.yaml` was changed since run `" in ran.err
    assert "`registry.yaml`" not in ran.err


def test_a_run_is_gone_on_with_from_another_folder(bench, c10, folder, monkeypatch):
    bench("plain")
    cut_short(run_folders(folder)[0])
    (folder / "kernels").mkdir()
    monkeypatch.chdir(folder / "kernels")
    ran = c10("bench", "--registry", "../registry.yaml", "--output", "../reports", "--resume", "latest")
    assert (ran.code, ran.err) == (0, "")
    assert "2 cases of 1 operator, 2 ok" in ran.out


@pytest.mark.parametrize("place", ["the machine is read", "the first record is written"])
def test_an_interruption_before_anything_is_measured_leaves_no_folder(bench, c10, folder, monkeypatch, place):
    bench("n=4")
    (first,) = run_folders(folder)

    def interrupt(*_args: object) -> None:
        raise KeyboardInterrupt

    if place == "the machine is read":
        monkeypatch.setattr(run_module, "_environment", interrupt)
    else:
        monkeypatch.setattr(run_module, "append_record", interrupt)
    ran = bench("n=4")
    assert (ran.code, ran.out) == (130, "")
    assert "--resume" not in ran.err
    assert run_folders(folder) == [first]
    assert (folder / "reports/latest").resolve() == first.resolve()


def test_a_run_that_is_interrupted_says_how_to_go_on_with_its_registry(bench, folder, demo, monkeypatch):
    demo.rename(folder / "my ops.yaml")

    def interrupt(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "_run_batch", interrupt)
    ran = bench("--registry", "my ops.yaml")
    (kept,) = run_folders(folder)
    assert f"go on with `c10 bench --registry 'my ops.yaml' --resume reports/{kept.name}`" in ran.err


def test_an_unknown_run_names_those_there_are(bench, c10, folder):
    assert "no run `nope`" in c10("bench", "--resume", "nope").err
    bench("n=4")
    ran = c10("bench", "--resume", "nope")
    assert ran.code == 3
    assert f"the newest runs here are {run_folders(folder)[0].name}" in ran.err


SLOW_KERNELS = """
import pathlib, time

def first(x):
    return x * 2

def slow(x):
    pathlib.Path("began").touch()
    time.sleep(100)
"""

SLOW_REGISTRY = """\
version: 1
operators:
  - schema: "demo::double(Tensor x) -> Tensor"
    kernels: {CPU: [k.py:first, k.py:slow]}
    cases: [{name: tiny, dtypes: [float32], inputs: {x: "ones(4)"}}]
"""


@pytest.mark.parametrize("to", ["parent", "group"])
def test_interruption_keeps_what_was_measured_and_leaves_no_process(start_c10, folder, to):
    (folder / "k.py").write_text(SLOW_KERNELS)
    (folder / "registry.yaml").write_text(SLOW_REGISTRY)
    with start_c10("bench", *FAST, start_new_session=True) as process:
        wait_for(folder / "began", process)
        (os.kill if to == "parent" else os.killpg)(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=20)
    (kept,) = run_folders(folder)
    assert (process.returncode, out) == (130, "")
    assert f"go on with `c10 bench --resume reports/{kept.name}`" in err
    assert err.endswith("interrupted\n")
    assert "Traceback" not in err
    assert [case["id"] for case in cases(kept)] == ["demo::double/CPU/first/tiny/float32"]
    assert (folder / "reports/latest").resolve() == kept.resolve()
    left = subprocess.run(["ps", "-o", "pid=", "-s", str(process.pid)], capture_output=True, text=True)
    assert left.stdout.strip() == ""


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until the kernel has begun; a process that ends instead fails the test."""
    for _ in range(600):
        if path.exists():
            return
        assert process.poll() is None
        time.sleep(0.05)
    raise AssertionError("the kernel did not begin within 30 s")


def test_an_empty_name_of_a_run_is_not_taken_for_a_new_one(bench, folder):
    ran = bench("--resume", "")
    assert (ran.code, ran.out) == (2, "")
    assert "--resume is given without a run" in ran.err
    assert not (folder / "reports").exists()


def test_a_pointer_that_is_no_text_is_no_traceback(bench, folder):
    (folder / "reports").mkdir()
    (folder / "reports" / "latest").write_bytes(b"\xff\0")
    ran = bench("--resume", "latest")
    assert ran.code == 3
    assert "error[C10E603]" in ran.err
    assert "Traceback" not in ran.err


def test_a_run_that_does_not_say_how_it_was_measured_is_not_gone_on_with(bench, c10, folder):
    bench("n=4")
    journal = run_folders(folder)[0] / "journal.jsonl"
    begun, *others = records(journal.parent)
    del begun["plan"]["seed"]
    journal.write_text("".join(f"{json.dumps(record)}\n" for record in (begun, *others[:-1])))
    ran = c10("bench", "--resume", "latest")
    assert (ran.code, ran.err.partition(":")[0]) == (3, "error[C10E603]")


def test_a_case_that_cannot_be_read_again_is_measured_again_with_a_warning(bench, c10, folder):
    bench("n=4")
    journal = run_folders(folder)[0] / "journal.jsonl"
    kept = records(journal.parent)
    kept[1]["ladder"]["call"]["samples_ns"] = []
    journal.write_text("".join(f"{json.dumps(record)}\n" for record in kept))
    ran = c10("bench", "--resume", "latest")
    assert (ran.code, ran.err) == (0, "")
    assert "warning[C10W655] 1 line of the journal could not be read" in ran.out
    assert records(journal.parent)[-2]["id"] == kept[1]["id"]


def test_two_do_not_go_on_with_one_run(bench, c10, folder):
    bench("n=4")
    with locked(run_folders(folder)[0]):
        ran = c10("bench", "--resume", "latest")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error[C10E701]: another `c10 bench` is measuring run `")


def test_a_shape_outside_of_the_registry_is_measured_and_gone_on_with(c10_process, folder):
    shipped = ("--registry", str(shipped_registry()))
    words = ("bench", "softmax/CPU/numpy", *shipped, "--dims", "n=7,33", "--time", "0.01", "--output", "r")
    ran = c10_process(*words)
    assert (ran.code, "dims n=7x33" in ran.out) == (0, True), ran.err
    again = c10_process("bench", *shipped, "--resume", "latest", "--output", "r")
    assert (again.code, "dims n=7x33" in again.out) == (0, True), again.err
    other = c10_process("bench", *shipped, "--resume", "latest", "--dims", "n=8", "--output", "r")
    assert (other.code, "keeps the --dims it began with" in other.err) == (2, True)


def test_dtypes_of_made_arguments_need_dims_and_have_to_be_known(c10):
    assert "no --dims is given" in c10("bench", "--dtype", "float16").err
    assert "did you mean `float16`" in c10("bench", "--dims", "n=1", "--dtype", "flot16").err
