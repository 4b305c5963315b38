import os
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import pytest

from c10cli import BenchError
from c10cli.jobs import child
from c10cli.jobs.child import import_libraries, run_items

WORKER = """\
import os, signal, subprocess, sys, time
from c10cli.errors import BenchError, Diagnostic
from c10cli.jobs.child import serve

def prepare(job):
    if job.get("refuses"):
        raise BenchError(Diagnostic("C10E604", "not this job"))
    if job.get("fails"):
        raise RuntimeError("no job for me")
    def do(item, at):
        action = job["actions"][item]
        if action == "path":
            return {"path": sys.path, "argv": sys.argv[1:]}
        if action == "pid":
            return {"pid": os.getpid()}
        if action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "exit":
            print("goodbye", file=sys.stderr)
            os._exit(7)
        if action == "fork":
            if os.fork() == 0:
                time.sleep(60)
            os._exit(0)
        if action == "fork and return":
            if os.fork() == 0:
                return {"value": "of the copy"}
            time.sleep(0.3)
            return {"value": "of the original"}
        if action == "flags":
            return {"flags": [sys.flags.optimize, sys.warnoptions, sys._xoptions]}
        if action == "floods":
            for _ in range(200):
                os.write(2, b"x" * 100_000)
            os.write(2, b"\\nthe end\\nnote: a note\\nhelp: some help\\n")
            os._exit(1)
        if action == "writes":
            while True:
                os.write(2, b"x" * 1000)
        if action == "fills":
            for _ in range(50):
                os.write(2, b"x" * 1_000_000)
            while os.fstat(2).st_blocks * 512 > 20_000_000:
                time.sleep(0.05)
            return {"value": "kept small"}
        if action == "forges":
            for descriptor in range(3, 64):
                try:
                    os.write(descriptor, b'junk\\n[]\\n{"refused": []}\\n{"item": 0, "result": {}}\\n')
                except OSError:
                    pass
            return {"value": "honest"}
        if action == "leaves its group":
            os.setpgid(0, os.getpgid(os.getppid()))
            time.sleep(60)
        if action == "kills its parent":
            with open(job["file"], "w") as file:
                file.write(str(os.getpid()))
            os.kill(os.getppid(), signal.SIGKILL)
            os.closerange(0, 256)
            time.sleep(60)
        if action == "large":
            return {"value": "x" * 300_000}
        if action == "closes":
            os.close(1)
            os.close(2)
        if action == "changes":
            job["changed"] = job.get("changed", 0) + 1
            return {"value": job["changed"]}
        if action == "surrogate":
            return {"value": "\\udc80"}
        if action == "spawn":
            command = [sys.executable, "-c", "import time; time.sleep(60)"]
            with open(job["file"], "w") as file:
                file.write(str(subprocess.Popen(command).pid))
            time.sleep(60)
        if action == "nan":
            return {"value": float("nan")}
        if action == "sleep":
            time.sleep(60)
        if action == "says":
            at("its work")
            print("loud")
            if job["dies"]:
                os._exit(0)
        if action == "stops its parent":
            os.kill(os.getppid(), signal.SIGSTOP)
        if action == "leaves":
            subprocess.Popen(["sleep", "60"], start_new_session=True, env={})
        if action == "leaves, kills its parent":
            with open(job["file"], "w") as file:
                file.write(str(subprocess.Popen(["sleep", "60"], start_new_session=True).pid))
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        if action == "holds":
            at("making it")
            held = b"x" * job["size"]
            at("what comes next")
            time.sleep(60)
        if action == "lets another hold":
            code = "held = b'x' * 500_000_000; import time; time.sleep(60)"
            subprocess.run([sys.executable, "-c", code])
        if action in ("waits", "holds the lock"):
            with open(job["file"], "w") as file:
                file.write(str(os.getpid()))
            time.sleep(60) if action == "waits" else sum(range(10**13))
        if action == "touch":
            time.sleep(1.0)
            open(job["file"], "w").close()
        return {"value": item * 10}
    return do

if __name__ == "__main__":
    serve(prepare)
"""


@pytest.fixture(params=["forked", "started anew"])
def answers(request, tmp_path, monkeypatch):
    """The answers for items, one for each of *actions*, in children made in one of the two ways."""
    (tmp_path / "worker_of_a_test.py").write_text(WORKER, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert child.FORKS
    monkeypatch.setattr(child, "FORKS", request.param == "forked")

    def answers(*actions, timeout_s=20.0, begins=lambda _item: None, memory_bytes=None, **job):
        limits = {"timeout_s": timeout_s, "memory_bytes": memory_bytes, "begins": begins}
        return dict(run_items("worker_of_a_test", {"actions": actions, **job}, range(len(actions)), **limits))

    return answers


@pytest.fixture
def run(answers):
    """As `answers`: what was made of each item, or why nothing was."""

    def run(*actions, **options):
        return {
            item: (answer.status, answer.reason) if answer.result is None else answer.result
            for item, answer in answers(*actions, **options).items()
        }

    return run


def test_each_item_in_turn_is_answered_by_a_process_of_its_own(run):
    begun = []
    results = run("pid", "ten", "pid", begins=begun.append)
    assert begun == [0, 1, 2]
    assert results[1] == {"value": 10}
    assert results[0] != results[2]


def test_what_an_item_changes_in_its_process_the_next_one_does_not_see(run):
    assert run("changes", "changes") == {0: {"value": 1}, 1: {"value": 1}}


def test_no_items_start_no_process(run, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    assert run() == {}


def test_an_item_that_ends_its_process_leaves_the_others_alone(run):
    results = run("pid", "exit", "pid", "kill", "ten")
    assert results[1] == ("crashed", "the process ended with exit code 7; its last words: goodbye")
    assert results[3] == (
        "crashed",
        "the process was killed by SIGKILL, which the system sends when memory runs out",
    )
    assert results[4] == {"value": 40}


def test_an_item_that_takes_too_long_is_stopped(run):
    assert run("sleep", "ten", "exit", timeout_s=1.0) == {
        0: ("timeout", "took longer than 1 s and was stopped"),
        1: {"value": 10},
        2: ("crashed", "the process ended with exit code 7; its last words: goodbye"),
    }


def test_a_process_that_leaves_another_one_behind_did_end(run):
    results = run("fork", "ten", timeout_s=1.0)
    # From 3.12 on Python warns of a fork in a process with threads: its last words.
    assert results[0][0] == "crashed"
    assert results[0][1].partition(";")[0] == "the process ended with exit code 0"
    assert results[1] == {"value": 10}


def test_what_an_item_printed_and_what_it_was_at_is_told(answers):
    answered, died = answers("says", dies=False)[0], answers("says", dies=True)[0]
    assert (answered.result, answered.status, answered.at, answered.said) == (
        *({"value": 0}, ""),
        *("its work", "loud\n"),
    )
    assert (died.result, died.status, died.at, died.said) == (None, "crashed", "its work", "loud\n")


def test_an_item_that_stops_the_process_it_was_forked_from_is_at_fault(run):
    if not child.FORKS:
        pytest.skip("one that is started anew has this process for its parent")
    results = run("stops its parent", "ten", timeout_s=1.0)
    assert results == {0: ("timeout", "took longer than 1 s and was stopped"), 1: {"value": 10}}


def test_what_an_item_left_running_in_a_session_of_its_own_is_ended_and_told(answers):
    if not child.FORKS:
        pytest.skip("only the process that forks adopts what its children leave behind")
    left, other = answers("leaves", "ten").values()
    assert (left.result, left.left) == ({"value": 0}, ("sleep 60",))
    assert (other.result, other.left) == ({"value": 10}, ())


def test_what_an_item_left_is_ended_though_it_killed_the_process_it_was_forked_from(run, tmp_path):
    if not child.FORKS:
        pytest.skip("one that is started anew has this process for its parent")
    run("leaves, kills its parent", "ten", file=str(tmp_path / "pid"))
    assert _has_ended(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("action", ["holds", "lets another hold"])
def test_an_item_that_holds_too_much_memory_is_stopped(run, action):
    if not child.FORKS:
        pytest.skip("only the process that forks looks at what its children hold")
    results = run(action, "ten", memory_bytes=300_000_000, size=500_000_000)
    assert results[0][0] == "out-of-memory"
    assert results[0][1].endswith("GiB of memory, more than 0.28 GiB, and was stopped")
    assert results[1] == {"value": 10}


def test_what_took_the_memory_is_named_and_not_what_came_next(answers):
    if not child.FORKS:
        pytest.skip("only the process that forks looks at what its children hold")
    (answer,) = answers("holds", memory_bytes=80_000_000, size=80_000_000).values()
    assert answer.at == "making it"


def test_what_an_item_started_ends_with_its_process(run, tmp_path):
    results = run("spawn", "ten", timeout_s=1.0, file=str(tmp_path / "pid"))
    assert results[0][0] == "timeout"
    assert results[1] == {"value": 10}
    assert _has_ended(int((tmp_path / "pid").read_text()))


def test_a_copy_of_the_process_that_a_kernel_made_gives_no_answer(run):
    results = run("fork and return", "ten")
    assert results == {0: {"value": "of the original"}, 1: {"value": 10}}


def test_a_flood_without_lines_is_cut_and_the_last_words_are_no_notes(run):
    results = run("floods", "ten")
    assert results[0] == ("crashed", "the process ended with exit code 1; its last words: the end")


def test_an_item_that_never_stops_writing_is_stopped(run):
    assert run("writes", timeout_s=1.0)[0][0] == "timeout"


def test_what_a_forked_item_says_without_end_does_not_fill_the_disk(run):
    if not child.FORKS:
        pytest.skip("only the process that forks looks at what its children have said")
    assert run("fills", timeout_s=60) == {0: {"value": "kept small"}}


def test_what_a_kernel_writes_where_answers_go_is_no_answer(run):
    assert run("forges", "ten") == {0: {"value": "honest"}, 1: {"value": 10}}


def test_an_item_that_leaves_its_group_is_stopped_too(run):
    if not child.FORKS:
        pytest.skip("one that is started anew leads a session, and cannot leave its group")
    results = run("leaves its group", "ten", timeout_s=1.0)
    assert results[0][0] == "timeout"
    assert results[1] == {"value": 10}


def test_an_item_that_kills_the_process_it_was_forked_from_is_not_left_behind(run, tmp_path):
    if not child.FORKS:
        pytest.skip("one that is started anew has this process for its parent")
    results = run("kills its parent", "ten", file=str(tmp_path / "pid"))
    assert results[0][1].startswith("the process was killed by SIGKILL")
    assert results[1] == {"value": 10}
    assert _has_ended(int((tmp_path / "pid").read_text()))


def test_an_answer_larger_than_a_pipe_comes_through(run):
    assert run("large", "ten") == {0: {"value": "x" * 300_000}, 1: {"value": 10}}


def test_an_item_that_closes_what_it_writes_to_is_answered(run):
    assert run("closes", "ten") == {0: {"value": 0}, 1: {"value": 10}}


def test_half_a_surrogate_pair_comes_through(run):
    assert run("surrogate")[0] == {"value": "\udc80"}


def test_a_job_that_is_refused_is_one_error_for_all_items(run):
    with pytest.raises(BenchError) as caught:
        run("ten", "ten", refuses=True)
    assert [d.message for d in caught.value.diagnostics] == ["not this job"]


def test_the_options_of_the_interpreter_reach_the_child(tmp_path):
    (tmp_path / "worker_of_a_test.py").write_text(WORKER, encoding="utf-8")
    script = (
        "from c10cli.jobs.child import run_items\n"
        "job = {'actions': ['flags']}\n"
        "print([a.result for _, a in run_items('worker_of_a_test', job, [0], timeout_s=60.0)])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-OO", "-W", "ignore::ImportWarning", "-X", "utf8", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "{'flags': [2, ['ignore::ImportWarning'], {'utf8': True}]}" in done.stdout


def test_a_result_that_is_no_json_ends_the_process(run):
    results = run("nan", "ten")
    assert "Out of range float values are not JSON compliant" in results[0][1]
    assert results[1] == {"value": 10}


def test_a_process_that_does_not_begin_fails_each_item_in_turn(run):
    results = run("ten", "ten", fails=True)
    assert [reason for _, reason in results.values()] == [
        "the process ended with exit code 1; its last words: RuntimeError: no job for me"
    ] * 2


def test_the_child_searches_the_folders_of_the_parent_and_no_other(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (result,) = run("path").values()
    assert result == {"path": sys.path, "argv": []}


def test_leaving_the_loop_early_ends_the_process(run, tmp_path):
    job = {"actions": ["ten", "touch"], "file": str(tmp_path / "touched")}
    items = run_items("worker_of_a_test", job, [0, 1], timeout_s=20.0)
    next(items)
    items.close()
    time.sleep(1.5)
    assert not (tmp_path / "touched").exists()


def test_only_libraries_that_bear_a_fork_are_imported_before_it_and_none_has_to_be_there(monkeypatch):
    asked = []

    def import_module(name):
        asked.append(name)
        raise ImportError

    monkeypatch.setattr(child.importlib, "import_module", import_module)
    import_libraries([SimpleNamespace(requires=("torch", "no_such_package"), arrays="jax")])
    assert asked == ["numpy.ma", "numpy.random", "jax", "torch"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("action", ["waits", "holds the lock"])
def test_a_killed_parent_takes_its_child_with_it(run, tmp_path, action, number):
    script = textwrap.dedent(
        """\
        import sys
        from c10cli.jobs import child
        child.FORKS = sys.argv[3] == "True"
        job = {"actions": [sys.argv[1]], "file": sys.argv[2]}
        list(child.run_items("worker_of_a_test", job, [0], timeout_s=100.0))
        """
    )
    environment, file = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, tmp_path / "pid"
    command = [sys.executable, "-c", script, action, str(file), str(child.FORKS)]
    with subprocess.Popen(command, env=environment) as parent:
        item = _written_pid(file)
        parent.send_signal(number)
    assert parent.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    assert _has_ended(item)


def _written_pid(file):
    """What an item writes to *file*, within some seconds."""
    for _ in range(400):
        if file.exists() and file.read_text():
            return int(file.read_text())
        time.sleep(0.05)
    raise AssertionError("the item did not begin")


def _has_ended(pid):
    """Whether the process ends within some seconds."""
    for _ in range(200):
        if not _is_running(pid):
            return True
        time.sleep(0.05)
    return False


def _is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123 - may vanish between the two steps
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
