"""Work in a fork of this process: what became of it, what it said, what it left behind."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import secrets
import select
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any, Final, Literal, NoReturn

from c10cli.errors import C10Error, capped
from c10cli.jobs.processes import (
    adopt_orphans,
    can_fork,
    end_children,
    end_with_parent,
    held_bytes,
    kill_group,
    offer_memory,
    unwound_by_signals,
    usual_memory_bytes,
)

FORKS: Final = can_fork()
Hear = Callable[[str], None]
_exit = os._exit  # which a kernel may patch
# Between two looks at what an item holds and has said so far; its descendants take longer to find.
_LOOK_S = 0.05
_LOOKS_AT_ALL: Final = 20
# Of what an item says the end is kept, and the last words are told.
_KEPT_BYTES: Final = 16_384
_LONGEST_WORDS: Final = 300
_MOST_LEFT: Final = 4
# For ending others.
_LEAVING_S: Final = 2.0
# More than this is thrown away, so that one that never stops does not fill the disk.
_MOST_SAID_BYTES: Final = 2**24


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of some work.

    Args:
        result: what was made of it; None where its process ended before.
        status: empty where there is a result.
        reason: why there is none, in words.
        said: the end of what it, and what it started, printed.
        left: the commands that it left running outside of its group.
        at: what it was at last, in its own words.
    """

    result: Any = None
    status: Literal["", "crashed", "timeout", "out-of-memory"] = ""
    reason: str = ""
    said: str = ""
    left: tuple[str, ...] = ()
    at: str = ""

    def of(self, result: object, at: str = "") -> Answer:
        """That of a process which ended like this, after it gave *result*."""
        told = self if result is None else replace(self, status="", reason="")
        return replace(told, result=result, at=at)


def run_copy(
    do: Callable[[], Any], *, memory_bytes: int | None = None, hear: Hear = lambda _: None
) -> Answer:
    """What *do* gives, which must bear pickling, in a fork of this process; without forks, in this one.

    A process between this one and the fork ends what the fork started, whatever becomes of this one.

    Args:
        memory_bytes: as of `run_items`.
        hear: gets what the fork prints as it comes, in whole lines; called in the process between.

    Raises:
        C10Error: what *do* raised.
    """
    if not FORKS:
        return Answer(do())
    token = secrets.token_bytes(16)  # before which a kernel may have written what it likes
    here, gone = os.pipe()
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as told, unwound_by_signals():
        keeper = _fork()
        if keeper == 0:
            os.close(gone)
            limit = memory_bytes or usual_memory_bytes()
            leave_after(partial(_keep, do, said, told, token, limit, here, hear))
        os.close(here)
        try:
            os.waitid(os.P_PID, keeper, os.WEXITED | os.WNOWAIT)
        finally:
            os.close(gone)
            code = _end_keeper(keeper)
        answer: Answer = _read(told, token) or how_it_ended(code, said)
    if isinstance(answer.result, C10Error):
        raise answer.result
    return answer


def _keep(
    do: Callable[[], Any],
    said: IO[bytes],
    told: IO[bytes],
    token: bytes,
    memory_bytes: int,
    parent: int,
    hear: Hear,
) -> None:
    """Be the process between that of `run_copy` and the fork that does it."""
    adopt_orphans()
    with tempfile.TemporaryFile() as given:
        ended = in_fork(partial(_give, do, given, token), said, memory_bytes, parent, hear=hear)
        _write(told, token, ended.of(_read(given, token)))


def _end_keeper(keeper: int) -> int:
    """The exit code of *keeper*, which is given some time to end the others."""
    end = os.pidfd_open(keeper)
    select.select([end], [], [], _LEAVING_S)
    os.close(end)
    kill_group(keeper)
    return os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])


def _give(do: Callable[[], Any], given: IO[bytes], token: bytes) -> None:
    process = os.getpid()
    try:
        result: Any = do()
    except C10Error as error:
        result = _plain(error)
    if os.getpid() == process:  # else a copy that a kernel made, and that came back from it
        _write(given, token, result)


def _plain(error: C10Error) -> C10Error:
    """*error* without what another process may not have: a class of a kernel's file, and values of it."""
    kind = next(base for base in type(error).__mro__ if base.__module__ == C10Error.__module__)
    facts = {name: fact for name, fact in error.facts.items() if _is_shared(fact)}
    plain: C10Error = kind(*error.diagnostics, **facts)
    return plain


def _is_shared(fact: object) -> bool:
    """Whether *fact* is a value of Python's or c10cli's, and so are those in it."""
    kind = type(fact)
    if kind in (list, tuple):
        return all(map(_is_shared, fact))  # type: ignore[call-overload]
    return kind.__module__.partition(".")[0] in ("builtins", "c10cli") and not isinstance(fact, type)


def _write(file: IO[bytes], token: bytes, value: object) -> None:
    file.write(token + pickle.dumps(value))
    file.flush()


def _read(file: IO[bytes], token: bytes) -> Any:
    """What was written to *file* after *token*; None where nothing was."""
    file.seek(0)
    data = file.read().partition(token)[2]
    return pickle.loads(data) if data else None


def leave_after(do: Callable[[], None]) -> NoReturn:
    """*do*, then leave at once, whatever it left running."""
    code, _kept = 1, (sys.stdout, sys.stderr)  # which would close what they write to
    try:
        # Whatever they were: what a kernel prints is wanted, up to its last line.
        sys.stdout, sys.stderr = (
            open(number, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
            for number in (1, 2)
        )
        do()
        code = 0
    except SystemExit:  # which nobody waits for
        pass
    except BaseException as error:  # noqa: BLE001 - the process ends with this as its last words
        frame, line = [*traceback.walk_tb(error.__traceback__)][-1]
        what = traceback.format_exception_only(error)[-1].strip()
        with contextlib.suppress(Exception):  # whatever a kernel made of it
            sys.stderr.write(f"{what} (at {frame.f_code.co_filename}:{line})\n")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    _exit(code)


def in_fork(
    do: Callable[[], None],
    said: IO[bytes],
    memory_bytes: int,
    parent: int | None = None,
    *,
    hear: Hear = lambda _: None,
) -> Answer:
    """How a fork of this process ended that did *do*, within a limit of memory.

    Args:
        said: gets what it prints.
        parent: the descriptor of the parent's pipe, at whose end this process leaves.
        hear: see `run_copy`.
    """
    said.seek(0)
    said.truncate()
    here, child = os.getpid(), _fork()
    if child == 0:
        end_with_parent(here)
        offer_memory()
        if parent is not None:
            os.close(parent)
        # In the background, reading from a terminal would stop it for good.
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number in (1, 2):
            os.dup2(said.fileno(), number)
        leave_after(do)
    ear = _Ear(said, hear)
    try:
        too_much = _watch(child, ear, memory_bytes, parent)
    finally:
        kill_group(child)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        left = end_children(child)
        ear.listen(is_over=True)
    ended = replace(how_it_ended(code, said), left=capped([*dict.fromkeys(left)], _MOST_LEFT))
    return replace(ended, status="out-of-memory", reason=too_much) if too_much else ended


def _fork() -> int:
    """A fork that leads a group, so that what it starts can be ended with it; 0 in that one."""
    with warnings.catch_warnings():
        # From 3.12 on for threads that a library started, which are not ours to end.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    with contextlib.suppress(OSError):  # of one that has ended, or become another program
        os.setpgid(child, child)  # in both, whichever is first
    return child


def _watch(child: int, ear: _Ear, memory_bytes: int, parent: int | None) -> str:
    """Wait for the end of *child*; why it has to be ended where it holds too much."""
    end = os.pidfd_open(child)
    watched = [end] if parent is None else [end, parent]
    try:
        for look in itertools.count(1):
            ready = select.select(watched, [], [], _LOOK_S)[0]
            if parent in ready:  # it is gone
                sys.exit(1)
            if ready:
                break
            ear.listen()
            held = held_bytes(child, descendants=look % _LOOKS_AT_ALL == 0) if memory_bytes else 0
            if held > memory_bytes:
                return f"took {_gib(held)} of memory, more than {_gib(memory_bytes)}, and was stopped"
    finally:
        os.close(end)
    return ""


@dataclass
class _Ear:
    """Lets `hear` have what is said, as it comes."""

    said: IO[bytes]
    hear: Hear
    heard: int = 0

    def listen(self, *, is_over: bool = False) -> None:
        new = os.pread(self.said.fileno(), _MOST_SAID_BYTES, self.heard)
        new = new if is_over else new[: new.rfind(b"\n") + 1]
        self.heard += len(new)
        if new:
            self.hear(new.decode(errors="replace"))
        if not is_over and os.fstat(self.said.fileno()).st_blocks * 512 > _MOST_SAID_BYTES:
            self.said.truncate(0)
            os.pwrite(self.said.fileno(), b"(what was said before this is lost)\n", 0)


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"


def how_it_ended(code: int, said: IO[bytes]) -> Answer:
    """That of a process with exit code *code*, which may have answered before."""
    said.seek(max(0, said.seek(0, os.SEEK_END) - _KEPT_BYTES))
    text = said.read().lstrip(b"\0").decode(errors="replace")
    last = _last_words(text)
    how = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
    return Answer(None, "crashed", f"the process {how}" + (f"; its last words: {last}" if last else ""), text)


def _last_words(said: str) -> str:
    """The last line that says what happened; an error's notes and help come after that."""
    lines = [text for line in said.splitlines() if (text := line.strip())]
    telling = [line for line in lines if not line.startswith(("note:", "help:", "-->"))]
    return (telling or lines or [""])[-1][:_LONGEST_WORDS]


def _signal_name(number: int) -> str:
    name = {known.value: known.name for known in signal.Signals}.get(number, f"signal {number}")
    return f"{name}, which the system sends when memory runs out" if name == "SIGKILL" else name
