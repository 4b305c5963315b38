import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest

from c10cli import BenchError, ManifestError, load_registry
from c10cli.bench import run as module
from c10cli.bench.environment import read_environment
from c10cli.bench.journal import JOURNAL_NAME, find_run_folder, make_run_folder, read_journal
from c10cli.bench.outcome import CaseResult, RunResult
from c10cli.bench.plan import make_plan
from c10cli.bench.run import check_unchanged, run_plan, start_run
from c10cli.jobs.fingerprint import fingerprint
from c10cli.jobs.fork import Answer

KERNELS = """\
import ctypes, os, subprocess, sys, threading, time
import numpy as np
calls = []
def right(x):
    return x + 1
def prints(x):
    print("loud")
    os.write(1, b"louder")
    return x + 1
def forks(x):
    os.fork()
    return x + 1
def complains(x):
    if not calls:
        calls.append(1)
        code = "import sys; sys.stderr.write('line\\\\n' * 20000)"
        subprocess.run([sys.executable, "-c", code], check=True)
    return x + 1
def not_a_number(x):
    return x * np.nan
def raises(x):
    raise ValueError("no such block")
def raises_later(x):
    calls.append(1)
    if len(calls) > 20:
        raise ValueError("worn out")
    return x + 1
def allocates(x):
    return np.empty(1 << 50)
def sleeps(x):
    time.sleep(60)
def exits(x):
    os._exit(3)
def segfaults(x):
    ctypes.string_at(0)
def reference(x):
    return x + 1
"""
STATUSES = {
    "right": "ok",
    "sleeps": "timeout",
    "exits": "crashed",
    "segfaults": "crashed",
    "raises": "crashed",
    "raises_later": "crashed",
    "allocates": "out-of-memory",
    "not_a_number": "wrong",
    "prints": "ok",
    "complains": "ok",
    "forks": "ok",
}
CASES = "[{name: a, inputs: {x: 'ones(2)'}}, {name: b, inputs: {x: 'ones(3)'}}]"
QUICK = {"time_s": 0.001, "timeout_s": 2.0, "seed": 0}


def write_registry(folder, names, cases=CASES):
    (folder / "k.py").write_text(KERNELS, encoding="utf-8")
    path = folder / "registry.yaml"
    path.write_text(
        'version: 1\noperators:\n  - schema: "t::f(Tensor x) -> Tensor"\n    reference: k.py:reference\n'
        f"    kernels:\n      CPU: [{', '.join(f'k.py:{name}' for name in names)}]\n"
        "      XLA: {kernel: k.py:right, name: far}\n"
        f"    cases: {cases}\n",
        encoding="utf-8",
    )
    return path


@pytest.fixture(autouse=True, scope="module")
def _no_probe():
    """Peaks are measured by the tests of the environment; here they would only take time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_environment", lambda _packages=(): read_environment(module.Path.cwd()))
        yield


def measure(path, folder, select=(), earlier=None, events=None):
    """A run as the command makes it below *folder*; resumed from *earlier* in it, where given."""
    done = [case.id for case in earlier.cases if case.status == "ok"] if earlier else []
    plan = make_plan(load_registry(path), select, done=done)
    run = earlier
    if run is None:
        folder = make_run_folder(folder)
        run = start_run(folder.name, plan, command="c10 bench", **QUICK)
    return run_plan(run, plan, folder, (events if events is not None else []).append)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """One run over kernels that fail in every way: the registry, its folder, the run, its events."""
    root = tmp_path_factory.mktemp("faulty")
    path, reports, events = write_registry(root, STATUSES), root / "reports", []
    # One case is enough of most of them; one shows that the next case is still measured.
    select = ["/a/", "exits/b/"]
    run = measure(path, reports, select, events=events)
    return path, reports / run.run_id, run, events


@pytest.mark.parametrize("name", STATUSES)
def test_each_kernel_has_the_status_of_what_it_does(faulty, name):
    cases = [case for case in faulty[2].cases if case.variant == name]
    assert {case.status for case in cases} == {STATUSES[name]}
    assert all(bool(case.samples) is (case.status == "ok") for case in cases)


def test_every_case_is_reached_in_order_and_told_as_it_begins_and_ends(faulty):
    _, _, run, events = faulty
    ids = [f"t::f/CPU/{name}/a/float32" for name in STATUSES]
    ids.insert(ids.index("t::f/CPU/exits/a/float32") + 1, "t::f/CPU/exits/b/float32")
    assert [case.id for case in run.cases] == ids
    assert [event for event in events if isinstance(event, str)] == ids
    assert [event for event in events if isinstance(event, CaseResult)] == list(run.cases)


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("sleeps", "C10E606", "took longer than 2 s and was stopped"),
        ("exits", "C10E606", "the process ended with exit code 3"),
        ("segfaults", "C10E606", "the process was killed by SIGSEGV"),
        ("raises", "C10E501", "raised ValueError: no such block"),
        ("raises_later", "C10E501", "kernel `raises_later` of `t::f` raised ValueError: worn out"),
        ("not_a_number", "C10E504", "it is nan where the reference gives 2.0"),
    ],
)
def test_a_case_without_a_time_says_why(faulty, name, code, reason):
    case = next(case for case in faulty[2].cases if case.variant == name)
    assert case.code == code
    assert reason in case.reason


def test_the_journal_holds_the_run(faulty):
    _, folder, run, _ = faulty
    read = RunResult.from_records(read_journal(folder))
    assert read.cases == run.cases
    assert read.skipped == run.skipped
    assert [s.variant for s in read.skipped] == ["far"]


def test_the_start_says_what_was_asked_for(faulty):
    path, folder, run, _ = faulty
    assert run.run_id == folder.name
    assert run.plan == {
        "time_s": 0.001,
        "timeout_s": 2.0,
        "seed": 0,
        "command": "c10 bench",
        "registry": str(path),
        "files": fingerprint(load_registry(path).manifest),
        "cases": 12,
    }
    assert run.created.endswith("+00:00")


def test_a_run_is_the_latest_from_its_start(faulty):
    _, folder, _, _ = faulty
    assert find_run_folder(folder.parent) == folder


def test_going_on_measures_only_what_is_not_right_yet_and_what_was_asked_for(faulty):
    path, folder, run, _ = faulty
    events = []
    earlier = RunResult.from_records(read_journal(folder))
    resumed = measure(path, folder, ["right", "segfaults/a", "raises/"], earlier, events)
    assert [event for event in events if isinstance(event, str)] == [
        "t::f/CPU/right/b/float32",
        "t::f/CPU/segfaults/a/float32",
        "t::f/CPU/raises/a/float32",
        "t::f/CPU/raises/b/float32",
    ]
    new = {"t::f/CPU/right/b/float32", "t::f/CPU/raises/b/float32"}
    assert {case.id for case in resumed.cases} == {case.id for case in run.cases} | new
    assert resumed.cases[0] == run.cases[0]
    assert RunResult.from_records(read_journal(folder)).cases == resumed.cases


def test_the_machine_is_read_in_a_process_of_its_own():
    environment = read_environment(module.Path.cwd())
    asked = []

    def run_items(name, job, items, **options):
        asked.append((name, job))
        yield 0, Answer(json.loads(json.dumps(asdict(replace(environment, cpu_model="probed")))))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "run_items", run_items)
        assert _environment().cpu_model == "probed"
        assert asked == [("c10cli.bench.probe", {"packages": []})]
        patch.setattr(module, "run_items", lambda *_, **__: iter([(0, Answer(None, "timeout", "too slow"))]))
        assert _environment().peaks is None


_environment = module._environment


def test_a_run_is_gone_on_with_only_while_all_it_measures_is_the_same(tmp_path):
    path = write_registry(tmp_path, ["right"])
    run = start_run("run-1", make_plan(load_registry(path)))
    check_unchanged(run, load_registry(path).manifest)
    (tmp_path / "helper.py").write_text("", encoding="utf-8")
    (tmp_path / "k.py").write_text(f"{KERNELS}# edited\n", encoding="utf-8")
    with pytest.raises(BenchError) as caught:
        check_unchanged(run, load_registry(path).manifest)
    (finding,) = caught.value.diagnostics
    assert finding.code == "C10E604"
    assert finding.message == "`k.py` was changed and `helper.py` was added since run `run-1` began"
    assert finding.help == "begin a new run"


def test_a_run_that_does_not_say_what_it_measured_is_not_gone_on_with(tmp_path):
    registry = load_registry(write_registry(tmp_path, ["right"]))
    run = RunResult("run-1", "then", read_environment(tmp_path))
    with pytest.raises(BenchError, match="run `run-1` does not say what it measured"):
        check_unchanged(run, registry.manifest)


def test_a_manifest_that_is_edited_during_the_run_ends_it_with_one_error(tmp_path):
    path = write_registry(tmp_path, ["right", "raises"])
    plan = make_plan(load_registry(path))
    folder = make_run_folder(tmp_path / "reports")
    run = start_run(folder.name, plan, **QUICK)

    def edit(event):
        if isinstance(event, CaseResult) and event.variant == "right":
            write_registry(tmp_path, ["raises", "right"])

    with pytest.raises(ManifestError) as caught:
        run_plan(run, plan, folder, edit)
    assert caught.value.code == "C10E101"
    assert {record["variant"] for record in case_records(folder)} == {"right"}


# Long enough that a kill finds the run half-way.
SLOWER = "[{name: grow, sweep: {n: [1, 2, 3, 4, 5, 6]}, inputs: {x: 'ones(n)'}}]"


@pytest.fixture
def command(tmp_path):
    path = write_registry(tmp_path, ["right"], SLOWER)
    arguments = ["--registry", path, "--output", tmp_path / "reports", "--time", "0.3"]
    return [sys.executable, "-m", "c10cli", "bench", *map(str, arguments)]


def case_records(folder):
    return [record for record in read_journal(folder) if record["kind"] == "case"]


def test_a_run_that_is_killed_half_way_is_completed_by_going_on(tmp_path, command):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    quiet = {"env": environment, "stdout": subprocess.DEVNULL, "cwd": tmp_path}
    killed = subprocess.Popen(command, **quiet)
    try:
        _wait_for_cases(tmp_path / "reports", 2)
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    (journal,) = (tmp_path / "reports").glob(f"2*/{JOURNAL_NAME}")
    before = case_records(journal.parent)
    assert 2 <= len(before) < 6
    assert subprocess.run([*command, "--resume", "latest"], check=False, **quiet).returncode == 0
    after = case_records(journal.parent)
    assert after[: len(before)] == before
    ids = [record["id"] for record in after]
    assert ids == [f"t::f/CPU/right/grow[n={n}]/float32" for n in range(1, 7)]  # each of them once
    result = RunResult.from_dict(json.loads((journal.parent / "result.json").read_text(encoding="utf-8")))
    assert [case.id for case in result.cases] == ids
    assert result.exit_status == 0
    assert sorted(path.name for path in (tmp_path / "reports").iterdir()) == [journal.parent.name, "latest"]


def _wait_for_cases(reports, count):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for journal in reports.glob(f"*/{JOURNAL_NAME}"):
            if journal.read_bytes().count(b'"kind":"case"') >= count:
                return
        time.sleep(0.02)
    pytest.fail("no case was measured within a minute")
