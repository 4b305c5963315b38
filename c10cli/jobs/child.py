"""Items of work done in child processes, one each: one that dies, hangs or is killed costs only itself.

`run_items` starts a module as a process, which calls `serve`.  On Linux that
process is a warm one: it imports what all items share and forks for each of
them.  It is single-threaded and runs nothing of an array library, whose
threads would be missing in the children.  Elsewhere each item gets a process
that is started anew.

The job comes on standard input, as a line of JSON; the answers go to the
original standard output: ``{"begins": item, "process": …}``, ``{"at": …}``
and ``{"result": …}`` from the process that does the item, ``{"ended": …}``
from the warm one when that is over; or once, instead of any item,
``{"refused": …}``.  Whatever else is printed goes to a file.  The parent
limits the time, and keeps the standard input open: when it ends, the parent
is gone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final

from c10cli import errors
from c10cli.errors import Diagnostic
from c10cli.jobs.fork import FORKS, Answer, how_it_ended, in_fork, leave_after
from c10cli.jobs.processes import (
    adopt_orphans,
    end_marked,
    end_with_parent,
    held_bytes,
    kill_group,
    outlive_parent,
    unwound_by_signals,
    usual_memory_bytes,
)
from c10cli.manifest.declarations import KernelDecl

# For starting the interpreter and importing what items share.
_START_UP_S = 120.0
# For leaving, after the last answer or after the parent left.
_LEAVING_S = 2.0
# Libraries whose import starts nothing that a fork would lose.
_SAFE_TO_FORK: Final = ("scipy", "torch", "jax", "numba")

# In the environment of all that an item starts, unless that clears it.
_MARK: Final = "C10_ITEM"

# The child searches the parent's folders for modules: `-m` would put the
# current one first, where a `json.py` would shadow the standard library's.
_START = """\
import sys
module, sys.path[:] = sys.argv[1], sys.argv[2:]
del sys.argv[1:]
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def run_items(
    module: str,
    job: Mapping[str, Any],
    items: Iterable[int],
    *,
    timeout_s: float,
    memory_bytes: int | None = None,
    begins: Callable[[int], None] = lambda _item: None,
) -> Iterator[tuple[int, Answer]]:
    """Each of *items* with what *module* answers, done in a child process of its own.

    Args:
        job: what the child's `serve` hands on, as plain data.
        timeout_s: an item that takes longer is stopped.
        memory_bytes: an item that holds more is stopped, with what it started; None: `usual_memory_bytes`.
        begins: called when an item begins.

    Raises:
        C10Error: what *module* found wrong with the job as a whole.
    """
    left = list(items)
    while left:
        wanted = left.copy() if FORKS else left[:1]
        asked = {**job, "items": wanted, "forks": FORKS, "memory_bytes": memory_bytes or usual_memory_bytes()}
        with unwound_by_signals(), _Process(module, asked) as process:
            result, at = None, ""
            for answer in process.answers():
                if "refused" in answer:
                    family = getattr(errors, answer["family"])
                    raise family(*map(Diagnostic.from_dict, answer["refused"]))
                if "begins" in answer:
                    result, at = None, ""
                    process.limit(timeout_s, answer["process"])
                    begins(answer["begins"])
                at, result = answer.get("at", at), answer.get("result", result)
                if "ended" in answer and wanted:
                    left.remove(wanted[0])
                    process.limit(None)
                    yield wanted.pop(0), process.told(answer["ended"], result, at, timeout_s)
                    if not wanted:
                        break


class _Process:
    """A process that serves items, and its answers."""

    def __init__(self, module: str, job: Mapping[str, Any]) -> None:
        # A file, unlike a pipe, needs nobody who reads meanwhile.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        # What multiprocessing starts its children with.
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        # What a kernel writes where answers go has no token, and it does not see that in its environment.
        self._token, self._mark, self._forks = secrets.token_hex(8), secrets.token_hex(8), job["forks"]
        self._process = subprocess.Popen(
            [sys.executable, *flags, "-c", _START, module, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            start_new_session=True,  # so that what it starts can be ended with it
            env={**os.environ, _MARK: self._mark},
        )
        assert self._process.stdin is not None  # it was asked for
        self._timed_out = False
        self._item = self._process.pid  # the process that does the item, or else the one that is to begin
        self._limit(_START_UP_S, self._stop, self._process.pid)
        # Where the process died at once, its end is found where answers are read.
        with contextlib.suppress(BrokenPipeError):
            job = {**job, "token": self._token, "parent": os.getpid()}
            self._process.stdin.write(json.dumps(job).encode() + b"\n")
            self._process.stdin.flush()

    def limit(self, seconds: float | None, leader: int = 0) -> None:
        """Stop the process *leader* and what it started *seconds* from now; None: let it run."""
        self._timer.cancel()
        self._item = leader or self._process.pid
        if seconds is not None:
            self._timed_out = False
            self._limit(seconds, self._stop, leader)

    def _limit(self, seconds: float, stop: Callable[[int], None], leader: int) -> None:
        self._timer = threading.Timer(seconds, stop, [leader])
        self._timer.daemon = True
        self._timer.start()

    def _stop(self, leader: int) -> None:
        # One that ended may have left another one behind that keeps its pipe open.
        self._timed_out = self._process.poll() is None
        kill_group(leader)
        self._limit(_LEAVING_S, self._give_up, leader)

    def _give_up(self, leader: int) -> None:
        """End the warm process too, which an item may have stopped."""
        if self._item == leader:
            kill_group(self._process.pid)

    def told(self, ended: Mapping[str, Any], result: object, at: str, timeout_s: float) -> Answer:
        """What became of an item that *ended* so, perhaps after it gave *result*."""
        told = Answer(**{**ended, "left": tuple(ended["left"])})
        if not self._timed_out:
            return told.of(result, at)
        reason = f"took longer than {timeout_s:g} s and was stopped"
        return replace(told, status="timeout", reason=reason, at=at)

    def answers(self) -> Iterator[Mapping[str, Any]]:
        """The answers up to the process's end, which is the last one."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = None
            with contextlib.suppress(ValueError, RecursionError):  # of one that was cut short, or none
                answer = json.loads(line)
            if isinstance(answer, dict) and answer.pop("token", "") == self._token:
                yield answer
                if "result" in answer and not self._forks:
                    break  # what it left running may keep its pipe open
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVING_S)
        self._kill()
        ended = how_it_ended(self._process.wait(), self._said)
        yield {
            "ended": asdict(replace(ended, said="") if self._forks else ended)
        }  # else it is not the item's

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        """Let the process leave, which ends what it started, or end it."""
        self._timer.cancel()
        assert self._process.stdin is not None
        with self._said, self._process:
            with contextlib.suppress(BrokenPipeError):  # of a job that was never read
                self._process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVING_S)
            self._kill()

    def _kill(self) -> None:
        """End the process, and what it may have left behind."""
        kill_group(self._process.pid)
        if self._process.wait() < 0:
            kill_group(self._item)
            end_marked(self._mark)


def import_libraries(kernels: Iterable[KernelDecl]) -> None:
    """Import what *kernels* need and their children can share; what fails is for an item to tell."""
    named = {name for kernel in kernels for name in (*kernel.requires, kernel.arrays)}
    # NumPy's own parts, which it imports late, would be imported by every child.
    for name in ("numpy.ma", "numpy.random", *sorted(named.intersection(_SAFE_TO_FORK))):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


# Says what the item is at.
At = Callable[[str], None]
DoItem = Callable[[int, At], Mapping[str, Any]]
Tell = Callable[..., None]


def serve(prepare: Callable[[Mapping[str, Any]], DoItem]) -> None:
    """Be the process that `run_items` starts: do each item of the job on standard input and answer.

    Args:
        prepare: takes the job and gives the function that does one item.
    """
    warnings.filterwarnings("ignore", module=r"c10cli\b")  # ours are for nobody, nor errors if all are
    parent, answers, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    with os.fdopen(parent, closefd=False) as lines:
        job = json.loads(lines.readline())
    end_with_parent(job["parent"])
    tell = partial(_tell, answers, token=job.pop("token"))
    if not job["forks"]:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        do_item = prepare(job)
    except errors.C10Error as error:
        tell(refused=[d.as_dict() for d in error.diagnostics], family=type(error).__name__)
        return
    if not job["forks"]:
        leave_after(partial(_do, do_item, job["items"][0], tell))
    adopt_orphans()
    outlive_parent()  # whose end is seen, and what the item started is ended first
    gc.freeze()  # a collection in a child would copy every page that it looks at
    with tempfile.TemporaryFile() as said:
        for item in job["items"]:
            do = partial(_do, do_item, item, tell, job["memory_bytes"])
            ended = in_fork(do, said, job["memory_bytes"], parent)
            tell(ended=asdict(ended))


def _tell(answers: int, **fields: object) -> None:
    # On a line of its own, where one that was killed may have begun another.
    data = b"\n" + json.dumps(fields, allow_nan=False).encode() + b"\n"
    while data:
        data = data[os.write(answers, data) :]


def _end_with(parent: int) -> None:
    """Wait for the end of the parent's pipe, then leave, whatever is going on."""
    os.read(parent, 1)
    os._exit(1)


def _do(do_item: DoItem, item: int, tell: Tell, memory_bytes: int = 0) -> None:
    """Do *item* and answer; one that holds more than *memory_bytes* is watched, and stopped soon."""
    process = os.getpid()

    def at(what: str) -> None:
        while memory_bytes and held_bytes(process) > memory_bytes:
            time.sleep(1)  # what it is at next is not to be blamed
        tell(at=what)

    tell(begins=item, process=process)
    result = do_item(item, at)
    if os.getpid() == process:  # else a copy of it that a kernel made, and that came back from it
        tell(result=result)
