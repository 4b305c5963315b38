"""Items of work done in child processes, one each: one that dies, hangs or is killed costs only itself.

`run_items` starts a module as a process, which calls `serve`.  On Linux that
process is a warm one: it imports what all items share and forks for each of
them.  It is single-threaded and runs nothing of an array library, whose
threads would be missing in the children.  Elsewhere each item gets a process
that is started anew.

The job comes on standard input, as a line of JSON; the answers go to the
original standard output: ``{"begins": item, "process": …}`` and ``{"item":
item, "result": …}`` from the process that does it, ``{"item": item, "ended":
…}`` from the warm one when that is over; or once, instead of any item,
``{"refused": …}``.  Whatever else is printed goes to standard error.  The
parent limits the time, and keeps the standard input open: when it ends, the
parent is gone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Final, NoReturn

from c10cli import errors
from c10cli.errors import Diagnostic
from c10cli.manifest.declarations import KernelDecl

# For starting the interpreter and importing what items share.
_START_UP_S = 120.0
# For leaving, after the last answer or after the parent left.
_LEAVING_S = 2.0
# Between two looks at what an item has said so far.
_LOOK_S = 0.2
# Of what an item says on standard error, the end is kept, and the last words are told.
_KEPT_BYTES: Final = 16_384
_LONGEST_WORDS: Final = 300
# More than this is thrown away, so that one that never stops does not fill the disk.
_MOST_SAID_BYTES: Final = 2**24
# Libraries whose import starts nothing that a fork would lose.
_SAFE_TO_FORK: Final = ("scipy", "torch", "jax", "numba")

# The child searches the parent's folders for modules: `-m` would put the
# current one first, where a `json.py` would shadow the standard library's.
_START = """\
import sys
module, sys.path[:] = sys.argv[1], sys.argv[2:]
del sys.argv[1:]
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def _can_fork() -> bool:
    """Whether this is Linux, where libraries bear a fork and its end can be waited for beside pipes."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


_FORKS = _can_fork()


@dataclass(frozen=True, slots=True)
class Ended:
    """Why the process ended instead of answering."""

    timed_out: bool
    reason: str


def run_items(
    module: str,
    job: Mapping[str, Any],
    items: Iterable[int],
    *,
    timeout_s: float,
    begins: Callable[[int], None] = lambda _item: None,
) -> Iterator[tuple[int, Mapping[str, Any] | Ended]]:
    """Each of *items* with its result from *module*, done in a child process of its own.

    An item that takes its process down, or takes longer than *timeout_s*, gets an `Ended`.

    Args:
        job: what the child's `serve` hands on, as plain data.
        begins: called when an item begins.

    Raises:
        C10Error: what *module* found wrong with the job as a whole.
    """
    left = list(items)
    while left:
        wanted = left.copy() if _FORKS else left[:1]
        with _Process(module, {**job, "items": wanted, "forks": _FORKS}) as process:
            for answer in process.answers():
                if "refused" in answer:
                    family = getattr(errors, answer["family"])
                    raise family(*map(Diagnostic.from_dict, answer["refused"]))
                if "begins" in answer:
                    process.limit(timeout_s, answer["process"])
                    begins(answer["begins"])
                elif answer.get("item", wanted[0]) == wanted[0]:  # else the end of one that has answered
                    item = wanted.pop(0)
                    left.remove(item)
                    process.limit(None)
                    if "result" in answer:
                        yield item, answer["result"]
                    elif process.timed_out:
                        yield item, Ended(True, f"took longer than {timeout_s:g} s and was stopped")
                    else:
                        yield item, Ended(False, f"the process {answer['ended']}")
                    if not wanted:
                        break


class _Process:
    """A process that serves items, and its answers."""

    def __init__(self, module: str, job: Mapping[str, Any]) -> None:
        # A file, unlike a pipe, needs nobody who reads meanwhile.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        # What multiprocessing starts its children with.
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        self._process = subprocess.Popen(
            [sys.executable, *flags, "-c", _START, module, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,  # so that what it starts can be ended with it
        )
        assert self._process.stdin is not None  # it was asked for
        self.timed_out = False
        # What a kernel writes where answers go has none.
        self._token = secrets.token_hex(8)
        self._item = self._process.pid  # the process that does the item, or else the one that is to begin
        self._timer = threading.Timer(_START_UP_S, self._stop, [self._process.pid])
        self._timer.start()
        # Where the process died at once, its end is found where answers are read.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({**job, "token": self._token}).encode() + b"\n")
            self._process.stdin.flush()

    def limit(self, seconds: float | None, leader: int = 0) -> None:
        """Stop the process *leader* and what it started *seconds* from now; None: let it run."""
        self._timer.cancel()
        if seconds is not None:
            self.timed_out, self._item = False, leader
            self._timer = threading.Timer(seconds, self._stop, [leader])
            self._timer.start()

    def _stop(self, leader: int) -> None:
        # One that ended may have left another one behind that keeps its pipe open.
        self.timed_out = self._process.poll() is None
        _kill_group(leader)

    def answers(self) -> Iterator[Mapping[str, Any]]:
        """The answers up to the process's end, which is the last one."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with contextlib.suppress(ValueError, RecursionError):  # of one that was cut short, or none
                answer = json.loads(line)
                if isinstance(answer, dict) and answer.get("token") == self._token:
                    yield answer
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVING_S)
        self._kill()
        yield {"ended": _how_it_ended(self._process.wait(), self._said)}

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        """Let the process leave, which ends what it started, or end it."""
        self.limit(None)
        assert self._process.stdin is not None
        with self._said, self._process:
            with contextlib.suppress(BrokenPipeError):  # of a job that was never read
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVING_S)
            self._kill()

    def _kill(self) -> None:
        """End the process, and the item that it may have left behind."""
        _kill_group(self._process.pid)
        if self._process.poll() is not None and self._process.returncode < 0:
            _kill_group(self._item)


def import_libraries(kernels: Iterable[KernelDecl]) -> None:
    """Import what *kernels* need and their children can share; what fails is for an item to tell."""
    named = {name for kernel in kernels for name in (*kernel.requires, kernel.arrays)}
    # NumPy's own parts, which it imports late, would be imported by every child.
    for name in ("numpy.ma", "numpy.random", *sorted(named.intersection(_SAFE_TO_FORK))):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


DoItem = Callable[[int], Mapping[str, Any]]
Tell = Callable[..., None]


def serve(prepare: Callable[[Mapping[str, Any]], DoItem]) -> None:
    """Be the process that `run_items` starts: do each item of the job on standard input and answer.

    Args:
        prepare: takes the job and gives the function that does one item.
    """
    parent, answers, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    with os.fdopen(parent, closefd=False) as lines:
        job = json.loads(lines.readline())
    tell = partial(_tell, answers, token=job.pop("token"))
    if not job["forks"]:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        do_item = prepare(job)
    except errors.C10Error as error:
        tell(refused=[d.as_dict() for d in error.diagnostics], family=type(error).__name__)
        return
    if not job["forks"]:
        _do(do_item, job["items"][0], tell)
    gc.freeze()  # a collection in a child would copy every page that it looks at
    with tempfile.TemporaryFile() as said:
        for item in job["items"]:
            _do_in_child(do_item, item, parent, tell, said)


def _tell(answers: int, **fields: object) -> None:
    # On a line of its own, where one that was killed may have begun another.
    data = b"\n" + json.dumps(fields, allow_nan=False).encode() + b"\n"
    while data:
        data = data[os.write(answers, data) :]


def _end_with(parent: int) -> None:
    """Wait for the end of the parent's pipe, then leave, whatever is going on."""
    os.read(parent, 1)
    os._exit(1)


def _do(do_item: DoItem, item: int, tell: Tell) -> NoReturn:
    """Do *item*, answer, and leave at once, whatever it left running."""
    process = os.getpid()
    try:
        tell(begins=item, process=process)
        result = do_item(item)
        if os.getpid() == process:  # else a copy of it that a kernel made, and that came back from it
            tell(item=item, result=result)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the process ends with this as its last words
        traceback.print_exc()
        os._exit(1)


def _do_in_child(do_item: DoItem, item: int, parent: int, tell: Tell, said: IO[bytes]) -> None:
    """Do *item* in a fork of this process, which answers, and tell how that one ended."""
    said.seek(0)
    said.truncate()
    with warnings.catch_warnings():
        # From 3.12 on for threads that a library started, which are not ours to end.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    os.setpgid(child, child)  # in both, whichever comes first: so that what it starts can be ended with it
    if child == 0:
        os.close(parent)
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        _do(do_item, item, tell)
    end = os.pidfd_open(child)
    while not (ready := select.select([parent, end], [], [], _LOOK_S)[0]):
        if os.fstat(said.fileno()).st_blocks * 512 > _MOST_SAID_BYTES:
            said.truncate(0)
    _kill_group(child)
    if parent in ready:  # it is gone
        os._exit(1)
    os.close(end)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    tell(item=item, ended=_how_it_ended(code, said))


def _how_it_ended(code: int, said: IO[bytes]) -> str:
    """In words, of a process with exit code *code*, and its last words."""
    said.seek(max(0, said.seek(0, os.SEEK_END) - _KEPT_BYTES))
    last = _last_words(said.read())
    how = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
    return how + (f"; its last words: {last}" if last else "")


def _last_words(said: bytes) -> str:
    """The last line that says what happened; an error's notes and help come after that."""
    lines = [text for line in said.decode(errors="replace").splitlines() if (text := line.strip())]
    telling = [line for line in lines if not line.startswith(("note:", "help:", "-->"))]
    return (telling or lines or [""])[-1][:_LONGEST_WORDS]


def _signal_name(number: int) -> str:
    name = {known.value: known.name for known in signal.Signals}.get(number, f"signal {number}")
    return f"{name}, which the system sends when memory runs out" if name == "SIGKILL" else name


def _kill_group(leader: int) -> None:
    """End the process *leader*, which may have left its group, and those that it started and left running."""
    if sys.platform == "win32":
        ends = ((os.kill, signal.SIGTERM),)
    else:
        ends = ((os.killpg, signal.SIGKILL), (os.kill, signal.SIGKILL))
    for end, number in ends:
        # macOS says PermissionError where only a zombie is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(leader, number)
