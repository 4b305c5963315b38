"""Processes and the system: how they end with their parent, what they leave behind, how much they hold.

Linux can do all of it.  Elsewhere a process group is ended by its leader's
id, and that is all: what left its group stays, and memory has no limit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
# What a system says that limits a container: cgroups of version 2 and 1.
_CGROUP_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_HELD: Final = ("RssAnon:", "RssShmem:", "VmSwap:")
_HELD_ALONE: Final = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
_LONGEST_COMMAND: Final = 80
IS_LINUX: Final = sys.platform == "linux"


def can_fork() -> bool:
    """Whether this is Linux, where libraries bear a fork and its end can be waited for beside pipes."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def _prctl(option: int, value: int) -> None:
    if IS_LINUX:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def end_with_parent(parent: int) -> None:
    """Be killed when the thread that started this process ends; now, where the process *parent* has.

    The system does it, whoever holds the interpreter's lock.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL if IS_LINUX else 0)
    if IS_LINUX and os.getppid() != parent:
        os._exit(1)


def outlive_parent() -> None:
    """Undo `end_with_parent`, to end others first."""
    _prctl(_PR_SET_PDEATHSIG, 0)


def offer_memory() -> None:
    """Be the first that the system ends when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def adopt_orphans() -> None:
    """Become the parent of what descendants of this process leave behind."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


@contextlib.contextmanager
def unwound_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP, where they would end this process at once, unwind it first."""
    names = ("SIGTERM", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    usual = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]

    process = os.getpid()

    def leave(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one is not kept waiting
        if os.getpid() != process:  # a fork, in which it is as it was before
            os.kill(os.getpid(), number)
        sys.exit(128 + number)

    for number in usual:
        signal.signal(number, leave)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # a generator may be closed by another thread
            for number in usual:
                signal.signal(number, signal.SIG_DFL)


def kill_group(leader: int) -> None:
    """End the process *leader*, which may have left its group, and those that it started and left running."""
    if sys.platform == "win32":
        ends = ((os.kill, signal.SIGTERM),)
    else:
        ends = ((os.killpg, signal.SIGKILL), (os.kill, signal.SIGKILL))
    for end, number in ends:
        # macOS says PermissionError where only a zombie is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(leader, number)


@dataclass(frozen=True, slots=True)
class _Process:
    """A line of the system's table of processes."""

    pid: int
    parent: int
    group: int
    is_zombie: bool


def _processes() -> Iterator[_Process]:
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # one that has ended meanwhile
            # Its name, in parentheses, may hold anything.
            state, parent, group = file.read_bytes().rpartition(b")")[2].split()[:3]
            yield _Process(int(file.parent.name), int(parent), int(group), state == b"Z")


def end_children(group: int) -> list[str]:
    """End all children of this process, and theirs, which become its own.

    Gives the commands of those that were running, and not in *group*.
    """
    running = []
    while _has_children():
        children = [process for process in _processes() if process.parent == os.getpid()]
        running += [_command(p.pid) for p in children if not p.is_zombie and p.group != group]
        for child in children:
            kill_group(child.pid)
            os.waitpid(child.pid, 0)
    return running


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _command(pid: int) -> str:
    words, own = (_read_bytes(f"/proc/{process}/cmdline") for process in (pid, "self"))
    text = words.replace(b"\0", b" ").decode(errors="replace").strip()
    return "a copy of itself" if words == own else text[:_LONGEST_COMMAND]


def end_marked(mark: str) -> None:
    """End every process that has *mark* in the environment that it was started with."""
    for file in Path("/proc").glob("[0-9]*/environ"):
        if mark.encode() in _read_bytes(str(file)):
            kill_group(int(file.parent.name))


def held_bytes(pid: int, *, descendants: bool = False) -> int:
    """The memory that the process *pid* holds, that of files not counted.

    Args:
        descendants: whether that of its own is added, and of orphans that this process has adopted.
    """
    family, before = {pid}, 0
    processes = [*_processes()] if descendants else []
    while len(family) > before:
        before = len(family)
        heads = {*family, os.getpid()}
        family.update(process.pid for process in processes if process.parent in heads)
    if len(family) == 1:
        return _sum(f"/proc/{pid}/status", _HELD)
    # Forks share most of what they hold; to see that takes the system longer.
    return sum(_sum(f"/proc/{member}/smaps_rollup", _HELD_ALONE) for member in family)


def _sum(path: str, names: tuple[str, ...]) -> int:
    """The sum of the lines of *path* that begin with *names*, which count kilobytes."""
    lines = _read_bytes(path).decode(errors="replace").splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(names))


def usual_memory_bytes() -> int:
    """Three quarters of the memory of this machine, or container; 0 where the system does not say."""
    if not IS_LINUX:
        return 0
    sizes = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    sizes += [int(text) for path in _CGROUP_LIMITS if (text := _read_bytes(path).strip()).isdigit()]
    return min(sizes) * 3 // 4


def _read_bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
