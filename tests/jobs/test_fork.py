"""Work in a fork of this process."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from c10cli import BenchError
from c10cli.errors import Diagnostic
from c10cli.jobs import fork
from c10cli.jobs.fork import Answer, run_copy

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_what_it_gives_comes_back_and_what_it_prints_is_told():
    def do():
        sys.stdout.write("loud\n")
        os.write(2, b"louder\n")
        return {"process": os.getpid(), "data": b"\xff"}

    answer = run_copy(do)
    assert answer.result["process"] != os.getpid()
    assert answer == Answer({**answer.result, "data": b"\xff"}, said="loud\nlouder\n")


def test_what_is_printed_without_an_end_of_line_is_told_as_well():
    assert run_copy(lambda: sys.stdout.write("no end")) == Answer(6, said="no end")


def test_an_error_of_ours_is_raised_here():
    def do():
        raise BenchError(Diagnostic("C10E604", "not this"))

    with pytest.raises(BenchError, match="not this"):
        run_copy(do)


def test_an_error_with_facts_of_a_kernels_file_is_raised_here_without_them():
    def do():
        class Own(BenchError):
            pass

        facts = {"operator": "t::f", "keys": ["CPU"], "tensor_type": Own, "values": [Own()]}
        raise Own(Diagnostic("C10E604", "not this"), **facts)

    with pytest.raises(BenchError, match="not this") as caught:
        run_copy(do)
    assert caught.value.facts == {"operator": "t::f", "keys": ["CPU"]}


def test_one_that_dies_is_told_with_its_last_words():
    def do():
        sys.stdout.write("almost done\n")
        os.kill(os.getpid(), signal.SIGSEGV)

    answer = run_copy(do)
    assert (answer.result, answer.status) == (None, "crashed")
    assert answer.reason == "the process was killed by SIGSEGV; its last words: almost done"


def test_sigterm_ends_it_as_it_ends_any_process():
    answer = run_copy(lambda: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(30)))
    assert answer.reason == "the process was killed by SIGTERM"


def test_what_is_written_where_the_result_goes_is_no_result():
    ours = {path.name for path in Path("/proc/self/fd").iterdir()}

    def junk():
        for path in Path("/proc/self/fd").iterdir():
            if path.name not in ours:
                with contextlib.suppress(OSError):
                    os.write(int(path.name), b"junk\n")

    assert run_copy(lambda: [junk(), "honest"]).result == [None, "honest"]
    assert run_copy(lambda: (junk(), os._exit(0))).status == "crashed"


def test_a_copy_of_it_that_comes_back_gives_nothing():
    def do():
        if os.fork():
            time.sleep(0.2)
            return "the original"
        return "the copy"

    assert run_copy(do).result == "the original"


def test_one_that_takes_too_much_memory_is_stopped():
    def do():
        held = b"x" * 500_000_000
        time.sleep(30)
        return len(held)

    answer = run_copy(do, memory_bytes=300_000_000)
    assert (answer.result, answer.status) == (None, "out-of-memory")
    assert answer.reason.endswith(" of memory, more than 0.28 GiB, and was stopped")


def test_memory_of_what_it_left_in_a_session_of_its_own_counts_as_well():
    def do():
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                held = b"x" * 500_000_000
                time.sleep(30)
                os.write(2, held[:1])
            os._exit(0)
        time.sleep(30)

    answer = run_copy(do, memory_bytes=300_000_000)
    assert (answer.result, answer.status) == (None, "out-of-memory")


def test_other_children_of_this_process_are_left_alone():
    with subprocess.Popen(SLEEP) as other:
        assert run_copy(lambda: 1).result == 1
        assert other.poll() is None
        other.kill()


def test_what_it_prints_is_heard_as_it_comes(tmp_path):
    def hear(text):
        with (tmp_path / "heard").open("a") as file:
            file.write(f"{text!r} ")

    def do():
        sys.stdout.write("first\nnot ")
        time.sleep(0.3)
        sys.stdout.write("second")

    run_copy(do, hear=hear)
    assert (tmp_path / "heard").read_text() == r"'first\n' 'not second' "


def test_without_forks_it_is_done_here(monkeypatch):
    monkeypatch.setattr(fork, "FORKS", False)
    assert run_copy(os.getpid) == Answer(os.getpid())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_ends_this_process_ends_it_and_what_it_started(tmp_path, number):
    script = (
        "import os, subprocess, sys\n"
        "from c10cli.jobs.fork import run_copy\n"
        "def do():\n"
        "    other = subprocess.Popen(['sleep', '60'], start_new_session=True)\n"
        "    print(os.getpid(), other.pid)\n"
        "    sum(range(10**13))\n"
        "def hear(text):\n"
        "    os.write(1, text.encode())\n"
        "run_copy(do, hear=hear)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", script], env=environment, text=True, **pipes) as process:
        pids = process.stdout.readline().split()
        process.send_signal(number)
        process.stdout.read()  # up to the end of the last one that holds it
    assert len(pids) == 2
    assert not any(Path("/proc", pid).exists() for pid in pids)


def test_a_fork_that_kills_or_stops_its_parent_is_told():
    answer = run_copy(lambda: (os.kill(os.getppid(), signal.SIGKILL), time.sleep(60)))
    assert answer.reason == ("the process was killed by SIGKILL, which the system sends when memory runs out")
