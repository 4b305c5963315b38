"""Work in a fork of this process."""

import os
import signal
import subprocess
import sys
import time

import pytest

from c10cli import BenchError
from c10cli.errors import Diagnostic
from c10cli.jobs import fork
from c10cli.jobs.fork import Answer, run_copy

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.fixture(autouse=True)
def _adopts_no_orphans(monkeypatch):
    """That of the tests is to stay as it is."""
    monkeypatch.setattr(fork, "adopt_orphans", lambda: None)


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


def test_other_children_of_this_process_are_left_alone():
    with subprocess.Popen(SLEEP) as other:
        assert run_copy(lambda: 1).result == 1
        assert other.poll() is None
        other.kill()


def test_what_it_prints_is_heard_as_it_comes():
    heard = []

    def do():
        sys.stdout.write("first\nnot ")
        time.sleep(0.3)
        sys.stdout.write("second")

    run_copy(do, hear=heard.append)
    assert heard == ["first\n", "not second"]


def test_without_forks_it_is_done_here(monkeypatch):
    monkeypatch.setattr(fork, "FORKS", False)
    assert run_copy(os.getpid) == Answer(os.getpid())


def test_an_interrupt_here_ends_it(tmp_path, monkeypatch):
    def watch(child, *_):
        (tmp_path / "pid").write_text(str(child), encoding="ascii")
        raise KeyboardInterrupt

    monkeypatch.setattr(fork, "_watch", watch)
    with pytest.raises(KeyboardInterrupt):
        run_copy(lambda: subprocess.run(SLEEP, check=True))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text(encoding="ascii")), 0)
