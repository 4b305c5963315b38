"""Child processes that take items of work one by one.

An item that ends its process leaves the others to a new one.  Until then they
share it, and with it whatever they change there; what is to be the same for
each, the module that does them puts back (see `Surroundings`).

The parent sends one line of JSON on standard input; the child answers with
JSON lines on its original standard output: ``{"begins": item}``, then
``{"item": item, "result": …}``; or once, instead of any item, ``{"refused": …}``,
the findings of a job that cannot be done.  Whatever else is printed in the child goes to
standard error, so that it cannot be taken for an answer.  The parent keeps
the child's standard input open: when it ends, the parent is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

from c10cli import errors
from c10cli.errors import C10Error, Diagnostic

__all__ = ["Ended", "run_items", "serve"]

Fields = Mapping[str, Any]

# For starting the interpreter and importing the kernel's libraries.
_START_UP_S = 120.0
# For leaving, after the last answer; a thread that a kernel left behind may never.
_LEAVING_S = 2.0

# Of what a child says on standard error, the last lines are kept.
_KEPT_LINES: Final = 20
_LONGEST_LINE: Final = 1000
_LONGEST_WORDS: Final = 300

# The child searches the parent's folders for modules: `-m` would put the
# current one first, where a `json.py` would shadow the standard library's.
_START = """\
import sys
module, sys.path[:] = sys.argv[1], sys.argv[2:]
del sys.argv[1:]
import runpy
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """Why the process ended instead of answering."""

    timed_out: bool
    reason: str


def run_items(
    module: str,
    job: Fields,
    items: Iterable[int],
    *,
    timeout_s: float,
    begins: Callable[[int], None] = lambda _item: None,
) -> Iterator[tuple[int, Fields | Ended]]:
    """Each of *items* with its result from *module*, run as a child process.

    An item that takes its process down, or takes longer than *timeout_s*,
    gets an `Ended`; a new process goes on with the next one.

    Args:
        job: what the child's `serve` hands on, as plain data.
        begins: called when an item begins.

    Raises:
        C10Error: what *module* found wrong with the job as a whole.
    """
    left = list(items)
    while left:
        with _Child(module, {**job, "items": left}) as child:
            current, limit_s = left[0], _START_UP_S + timeout_s
            while left:
                answer = child.answer(limit_s)
                if answer is None:
                    left.remove(current)
                    yield current, child.cause_of_end(timeout_s)
                    break
                if "refused" in answer:
                    raise _refusal(answer)
                item = answer.get("begins", answer.get("item"))
                if item not in left:  # whatever wrote it, nobody asked for it
                    continue
                if "begins" in answer:
                    current, limit_s = item, timeout_s
                    begins(current)
                    continue
                left.remove(item)
                current = left[0] if left else current
                yield item, answer["result"]


def _refusal(answer: Fields) -> C10Error:
    """The error that the child's `prepare` raised."""
    family = getattr(errors, str(answer.get("family")), C10Error)
    error: C10Error = family(*map(Diagnostic.from_dict, answer["refused"]))
    return error


def serve(prepare: Callable[[Fields], Callable[[int], Fields]]) -> None:
    """Be the child: do each item of the job on standard input and answer.

    Args:
        prepare: takes the job and gives the function that does one item.
    """
    parent, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)

    asked = os.getpid()

    def answer(**fields: object) -> None:
        if os.getpid() != asked:  # a copy of this process that a kernel made, and that came back from it
            os._exit(1)
        answers.write(json.dumps(fields, allow_nan=False) + "\n")
        answers.flush()

    job = json.loads(parent.readline())
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        do_item = prepare(job)
    except C10Error as error:
        answer(refused=[d.as_dict() for d in error.diagnostics], family=type(error).__name__)
        return
    for item in job["items"]:
        answer(begins=item)
        answer(item=item, result=do_item(item))


def _end_with(parent: IO[str]) -> None:
    """Wait for the end of the parent's pipe, then leave, whatever is going on."""
    parent.read()
    os._exit(1)


class _Child:
    """A child process, its answers, and its last words on standard error."""

    def __init__(self, module: str, job: Fields) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *_interpreter_flags(), "-c", _START, module, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that what a kernel starts can be ended with it
        )
        self._answers: queue.Queue[Fields | None] = queue.Queue()
        self._errors: deque[str] = deque(maxlen=_KEPT_LINES)
        self._timed_out = self._ended = False
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None  # all three were asked for
        assert stdout is not None
        assert stderr is not None
        self._job = stdin
        self._readers = [
            (threading.Thread(target=reader, args=(pipe,), daemon=True), pipe)
            for reader, pipe in ((self._read_answers, stdout), (self._read_errors, stderr))
        ]
        for thread, _ in self._readers:
            thread.start()
        # Where the process died at once, its end is found where answers are read.
        with contextlib.suppress(BrokenPipeError):
            stdin.write(json.dumps(job).encode() + b"\n")
            stdin.flush()

    def answer(self, limit_s: float) -> Fields | None:
        """The next answer; None where the process ended, or gave none in *limit_s* and was killed."""
        try:
            return self._answers.get(timeout=limit_s)
        except queue.Empty:
            # A process that ended can leave another one behind that keeps its pipe open.
            self._timed_out = self._process.poll() is None
            return None

    def cause_of_end(self, timeout_s: float) -> Ended:
        """Why there was no answer."""
        self._end(0.0 if self._timed_out else _LEAVING_S)
        code = self._process.returncode
        if self._timed_out:
            return Ended(True, f"took longer than {timeout_s:g} s and was stopped")
        words = f"; its last words: {_last_words(self._errors)}" if self._errors else ""
        if code < 0:
            return Ended(False, f"the process was killed by {_signal_name(-code)}{words}")
        return Ended(False, f"the process ended with exit code {code}{words}")

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._end(_LEAVING_S if kind is None else 0.0)

    def _end(self, patience_s: float) -> None:
        """Wait *patience_s* for the process to leave, then end it and all it started."""
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_s)
        _kill_group(self._process)
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):  # of a job that was never read
            self._job.close()
        for thread, pipe in self._readers:
            thread.join(_LEAVING_S)
            if not thread.is_alive():  # else a process that left the group still holds the other end
                pipe.close()

    def _read_answers(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            try:
                answer = json.loads(line)
            except ValueError:  # cut short by the process's end
                break
            if isinstance(answer, dict):
                self._answers.put(answer)
        self._answers.put(None)

    def _read_errors(self, pipe: IO[bytes]) -> None:
        begun = False
        while piece := pipe.readline(_LONGEST_LINE):  # a line without end would fill the memory
            text = piece.decode(errors="replace").strip()
            if text and not begun:
                self._errors.append(text)
            begun = not piece.endswith(b"\n")


def _last_words(lines: Sequence[str]) -> str:
    """The last line that says what happened; an error's notes and help come after that."""
    said = (line for line in reversed(lines) if not line.startswith(("note:", "help:", "-->")))
    return next(said, lines[-1])[:_LONGEST_WORDS]


def _interpreter_flags() -> list[str]:
    """The options of this interpreter that change what a program does in it."""
    flags = sys.flags
    letters = {
        "I": flags.isolated,
        "E": flags.ignore_environment and not flags.isolated,
        "s": flags.no_user_site and not flags.isolated,
        "S": flags.no_site,
        "B": flags.dont_write_bytecode,
        "b": flags.bytes_warning,
        "O": flags.optimize,
    }
    options = [f"-{letter * int(times)}" for letter, times in letters.items() if times]
    for warning in sys.warnoptions:
        options += ["-W", warning]
    for name, value in sys._xoptions.items():
        options += ["-X", name if value is True else f"{name}={value}"]
    return options


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End *process* and the processes that it started and left running."""
    if sys.platform == "win32":
        process.kill()
        return
    # macOS says PermissionError where only a zombie is left.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name}, which the system sends when memory runs out" if name == "SIGKILL" else name
