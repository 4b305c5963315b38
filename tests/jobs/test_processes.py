"""How processes end, what they leave behind, and how much they hold."""

import mmap
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from c10cli.jobs import processes
from c10cli.jobs.processes import end_marked, held_bytes, unwound_by_signals, usual_memory_bytes

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def in_python(script):
    """What *script* prints in an interpreter of its own, where it may end all of its children."""
    code = "import os, subprocess, sys, time\nfrom c10cli.jobs.processes import *\n" + textwrap.dedent(script)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_what_its_descendants_left_behind_is_ended_and_named():
    printed = in_python(
        """\
        adopt_orphans()
        code = "import subprocess, sys; subprocess.Popen(['sleep', '60'], start_new_session=True, env={})"
        group = os.getpid() + 1_000_000
        subprocess.run([sys.executable, "-c", code], check=True)
        print(end_children(group))
        """
    )
    assert printed == "['sleep 60']\n"


def test_children_of_the_group_are_ended_and_not_told():
    printed = in_python(
        """\
        child = subprocess.Popen(["sleep", "61"])
        print(end_children(os.getpgid(0)), os.path.exists(f"/proc/{child.pid}"))
        """
    )
    assert printed == "[] False\n"


def test_a_copy_of_the_process_is_told_as_that():
    printed = in_python(
        """\
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
        time.sleep(0.5)
        print(end_children(os.getpgid(0)))
        """
    )
    assert printed == "['a copy of itself']\n"


def test_a_mark_in_the_environment_finds_a_process_wherever_it_went():
    environment = {**os.environ, "C10_ITEM": "of-a-test"}
    with subprocess.Popen(SLEEP, env=environment, start_new_session=True) as process:
        end_marked("of-a-test")
        assert process.wait() == -signal.SIGKILL


def test_memory_held_is_that_which_was_written_and_files_are_not_counted(tmp_path):
    before = held_bytes(os.getpid())
    (tmp_path / "large").write_bytes(bytes(50_000_000))
    with (
        (tmp_path / "large").open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped,
        mmap.mmap(-1, 1 << 30),  # which is only reserved
    ):
        assert not any(mapped[::4096])
        assert held_bytes(os.getpid()) - before < 25_000_000
    held = b"x" * 50_000_000
    assert held_bytes(os.getpid()) - before > 45_000_000
    del held


def test_memory_that_forks_share_is_counted_once():
    printed = in_python(
        """\
        held = b"x" * 100_000_000
        forks = [os.fork() or (time.sleep(60), os._exit(0)) for _ in range(3)]
        time.sleep(0.5)
        print(80_000_000 < held_bytes(os.getpid(), descendants=True) < 250_000_000)
        end_children(0)
        """
    )
    assert printed == "True\n"


def test_the_usual_limit_is_three_quarters_of_the_machine_or_of_its_container(monkeypatch, tmp_path):
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(processes, "_CGROUP_LIMITS", ())
    assert usual_memory_bytes() == machine * 3 // 4
    limits = {"none": "max\n", "small": "400000000\n"}
    for name, text in limits.items():
        (tmp_path / name).write_text(text, encoding="ascii")
    monkeypatch.setattr(processes, "_CGROUP_LIMITS", [str(tmp_path / name) for name in (*limits, "absent")])
    assert usual_memory_bytes() == 300_000_000


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_that_ends_the_process_unwinds_it(name):
    number = getattr(signal, name)

    def end():
        os.kill(os.getpid(), number)
        signal.pause()

    with pytest.raises(SystemExit) as caught, unwound_by_signals():
        end()
    assert caught.value.code == 128 + number
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_signal_that_somebody_handles_or_ignores_stays_theirs():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with unwound_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
