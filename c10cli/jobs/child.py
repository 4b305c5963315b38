"""Items of work done in child processes, one each: one that dies, hangs or is killed costs only itself.

`run_items` starts a module as a process, which calls `serve`.  On Linux that
process is a warm one: it imports what all items share and forks for each of
them.  It is single-threaded and runs nothing of an array library, whose
threads would be missing in the children.  Elsewhere each item gets a process
that is started anew.

The parent sends the job on standard input, as one line of JSON, and is
answered on the original standard output: ``{"begins": item}``, then
``{"item": item, "result": …}`` or ``{"item": item, "ended": …}``; or once,
instead of any item, ``{"refused": …}``, the findings of a job that cannot be
done.  Whatever else is printed goes to standard error, so that it cannot be
taken for an answer.  The parent keeps the standard input open: when it ends,
the parent is gone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import IO, Any, Final, NoReturn

from c10cli import errors
from c10cli.errors import C10Error, Diagnostic
from c10cli.manifest.declarations import KernelDecl

# For starting the interpreter and importing what items share.
_START_UP_S = 120.0
# For leaving, after the last answer or after the parent left.
_LEAVING_S = 2.0

# Of what an item says on standard error, the end is kept, and the last words are told.
_KEPT_BYTES: Final = 16_384
_LONGEST_WORDS: Final = 300

# What pipes hold by default: of a process that ended no more is left to read.
_PIPE_BYTES: Final = 65_536

# Libraries whose import starts nothing that a fork would lose: that they run only in children is enough.
_SAFE_TO_FORK: Final = ("numpy", "scipy", "torch", "jax", "numba")

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
        request = {"job": {**job, "items": wanted}, "timeout_s": timeout_s if _FORKS else None}
        with _Process(module, request) as process:
            process.limit(_START_UP_S + timeout_s)
            for answer in process.answers():
                if "refused" in answer:
                    raise _refusal(answer)
                if "begins" in answer:
                    process.limit(None if _FORKS else timeout_s)  # a warm process sees to that itself
                    begins(answer["begins"])
                    continue
                wanted.remove(answer["item"])
                left.remove(answer["item"])
                yield answer["item"], Ended(**answer["ended"]) if "ended" in answer else answer["result"]
            if wanted:
                left.remove(wanted[0])
                yield wanted[0], process.cause_of_end(timeout_s)


def _refusal(answer: Mapping[str, Any]) -> C10Error:
    """The error that the child's `prepare` raised."""
    family = getattr(errors, str(answer.get("family")), C10Error)
    error: C10Error = family(*map(Diagnostic.from_dict, answer["refused"]))
    return error


class _Process:
    """A process that serves items, and its answers."""

    def __init__(self, module: str, request: Mapping[str, Any]) -> None:
        # On standard error; a file, unlike a pipe, needs nobody who reads meanwhile.
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
        assert self._process.stdin is not None  # both were asked for
        assert self._process.stdout is not None
        self._job, self._answers = self._process.stdin, self._process.stdout
        self._timer: threading.Timer | None = None
        self._timed_out = False
        # Where the process died at once, its end is found where answers are read.
        with contextlib.suppress(BrokenPipeError):
            self._job.write(json.dumps(request).encode() + b"\n")
            self._job.flush()

    def limit(self, seconds: float | None) -> None:
        """Stop the process *seconds* from now; None: let it run."""
        if self._timer is not None:
            self._timer.cancel()
        if seconds is not None:
            self._timer = threading.Timer(seconds, self._stop)
            self._timer.daemon = True
            self._timer.start()

    def _stop(self) -> None:
        # One that ended may have left another one behind that keeps its pipe open.
        self._timed_out = self._process.poll() is None
        _kill_group(self._process.pid)

    def answers(self) -> Iterator[Mapping[str, Any]]:
        """The answers up to the process's end."""
        for line in self._answers:
            try:
                answer = json.loads(line)
            except ValueError:  # cut short by the process's end
                return
            yield answer

    def cause_of_end(self, timeout_s: float) -> Ended:
        """Why there is no further answer."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVING_S)
        _kill_group(self._process.pid)
        self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - _KEPT_BYTES))
        return _ended(self._process.wait(), self._said.read(), timeout_s if self._timed_out else None)

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        """Let the process leave, which ends what it started, or end it."""
        self.limit(None)
        with contextlib.suppress(BrokenPipeError):  # of a job that was never read
            self._job.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVING_S)
        _kill_group(self._process.pid)
        self._process.wait()
        self._answers.close()
        self._said.close()


def import_libraries(kernels: Iterable[KernelDecl]) -> None:
    """Import what *kernels* need and their children can share; what fails is for an item to tell."""
    named = {name for kernel in kernels for name in (*kernel.requires, kernel.arrays)}
    for name in sorted(named.intersection(_SAFE_TO_FORK)):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def serve(prepare: Callable[[Mapping[str, Any]], Callable[[int], Mapping[str, Any]]]) -> None:
    """Be the process that `run_items` starts: do each item of the job on standard input and answer.

    Args:
        prepare: takes the job and gives the function that does one item.
    """
    parent, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    request = json.loads(parent.readline())
    job, timeout_s = request["job"], request["timeout_s"]
    if timeout_s is None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        do_item = prepare(job)
    except C10Error as error:
        _tell(answers, refused=[d.as_dict() for d in error.diagnostics], family=type(error).__name__)
        return
    gc.freeze()  # a collection in a child would copy every page that it looks at
    for item in job["items"]:
        _tell(answers, begins=item)
        if timeout_s is None:
            _do(do_item, item, answers)
        _do_in_child(do_item, item, timeout_s, parent, answers)


def _tell(answers: IO[str], **fields: object) -> None:
    answers.write(json.dumps(fields) + "\n")
    answers.flush()


def _end_with(parent: IO[str]) -> None:
    """Wait for the end of the parent's pipe, then leave, whatever is going on."""
    parent.read()
    os._exit(1)


def _do(do_item: Callable[[int], Mapping[str, Any]], item: int, answers: IO[str]) -> NoReturn:
    """Do *item*, answer, and leave at once, whatever it left running."""
    process = os.getpid()
    try:
        answer = json.dumps({"item": item, "result": do_item(item)}, allow_nan=False)
    except BaseException:  # noqa: BLE001 - the process ends with this as its last words
        traceback.print_exc()
        os._exit(1)
    if os.getpid() == process:  # else a copy of it that a kernel made, and that came back from it
        answers.write(answer + "\n")
        answers.flush()
    os._exit(0)


def _do_in_child(
    do_item: Callable[[int], Mapping[str, Any]],
    item: int,
    timeout_s: float,
    parent: IO[str],
    answers: IO[str],
) -> None:
    """Do *item* in a fork of this process, and pass on its answer or tell how it ended."""
    result, its_result = os.pipe()
    errors, its_errors = os.pipe()
    with warnings.catch_warnings():
        # From 3.12 on for threads that a library started, which are not ours to end.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    os.setpgid(child, child)  # in both, whichever comes first: so that what it starts can be ended with it
    if child == 0:
        parent.close()
        answers.close()
        os.dup2(its_errors, 1)
        os.dup2(its_errors, 2)
        _do(do_item, item, os.fdopen(its_result, "w", encoding="utf-8"))
    os.close(its_result)
    os.close(its_errors)
    said, timed_out = _listen(child, result, errors, time.monotonic() + timeout_s, parent)
    _kill_group(child)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for pipe in said:
        os.close(pipe)
    if said[result].endswith(b"\n"):
        answers.write(said[result].decode())
        answers.flush()
    else:
        ended = _ended(code, said[errors], timeout_s if timed_out else None)
        _tell(answers, item=item, ended=asdict(ended))


def _listen(
    child: int, result: int, errors: int, deadline: float, parent: IO[str]
) -> tuple[dict[int, bytes], bool]:
    """What *child* says on its pipes up to its end, and whether the deadline came first."""
    said = {result: b"", errors: b""}
    is_alive, timed_out = os.pidfd_open(child), False
    # Pipes do not end with it where a process that it started holds the other end.
    watched: list[Any] = [parent, is_alive, result, errors]
    ready: list[Any] = []
    while is_alive not in ready and not timed_out:
        ready = select.select(watched, [], [], max(0.0, deadline - time.monotonic()))[0]
        if parent in ready:  # it is gone
            _kill_group(child)
            os._exit(1)
        timed_out = time.monotonic() >= deadline  # also where it never stops writing
        for pipe in said.keys() & ready:
            piece = os.read(pipe, _PIPE_BYTES)
            said[pipe] += piece
            if not piece:
                watched.remove(pipe)
        said[errors] = said[errors][-_KEPT_BYTES:]
    os.close(is_alive)
    for pipe in select.select(list(said), [], [], 0)[0]:
        said[pipe] += os.read(pipe, _PIPE_BYTES)
    return said, timed_out


def _ended(code: int, said: bytes, timeout_s: float | None) -> Ended:
    """Why a process with exit code *code* did not answer; *timeout_s* where it was too short."""
    if timeout_s is not None:
        return Ended(True, f"took longer than {timeout_s:g} s and was stopped")
    last = _last_words(said)
    words = f"; its last words: {last}" if last else ""
    if code < 0:
        return Ended(False, f"the process was killed by {_signal_name(-code)}{words}")
    return Ended(False, f"the process ended with exit code {code}{words}")


def _last_words(said: bytes) -> str:
    """The last line that says what happened; an error's notes and help come after that."""
    lines = [text for line in said.decode(errors="replace").splitlines() if (text := line.strip())]
    telling = [line for line in lines if not line.startswith(("note:", "help:", "-->"))]
    return (telling or lines or [""])[-1][:_LONGEST_WORDS]


def _kill_group(leader: int) -> None:
    """End the process *leader* and those that it started and left running."""
    if sys.platform == "win32":
        with contextlib.suppress(OSError):
            os.kill(leader, signal.SIGTERM)
        return
    # macOS says PermissionError where only a zombie is left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name}, which the system sends when memory runs out" if name == "SIGKILL" else name
