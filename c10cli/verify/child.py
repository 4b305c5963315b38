"""Child processes that take items of work one by one: what one item does to its process, the others survive.

The parent sends one JSON object on standard input; the child answers with
JSON lines on its original standard output: ``{"begins": item}``, then
``{"item": item, "result": …}``.  Whatever else is printed in the child goes to
standard error, so that it cannot be taken for an answer.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

__all__ = ["Ended", "run_items", "serve"]

Fields = Mapping[str, Any]

# For starting the interpreter and importing the kernel's libraries.
_START_UP_S = 120.0


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
    """Each of *items* with its result from ``python -m module``.

    An item that takes its process down, or takes longer than *timeout_s*,
    gets an `Ended`; a new process goes on with the next one.

    Args:
        job: what the child's `serve` hands on, as plain data.
        begins: called when an item begins.
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
                if "begins" in answer:
                    current, limit_s = answer["begins"], timeout_s
                    begins(current)
                    continue
                left.remove(answer["item"])
                current = left[0] if left else current
                yield answer["item"], answer["result"]


def serve(prepare: Callable[[Fields], Callable[[int], Fields]]) -> None:
    """Be the child: do each item of the job on standard input and answer.

    Args:
        prepare: takes the job and gives the function that does one item.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(**fields: object) -> None:
        answers.write(json.dumps(fields, allow_nan=False) + "\n")
        answers.flush()

    job = json.load(sys.stdin)
    do_item = prepare(job)
    for item in job["items"]:
        answer(begins=item)
        answer(item=item, result=do_item(item))


class _Child:
    """A child process, its answers, and its last words on standard error."""

    def __init__(self, module: str, job: Fields) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": _search_path()},
        )
        self._answers: queue.Queue[Fields | None] = queue.Queue()
        self._errors: list[str] = []
        self._timed_out = False
        readers = ((self._read_answers, self._process.stdout), (self._read_errors, self._process.stderr))
        self._threads = [
            threading.Thread(target=reader, args=(pipe,), daemon=True) for reader, pipe in readers
        ]
        for thread in self._threads:
            thread.start()
        self._send(json.dumps(job).encode())

    def _send(self, text: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None  # it was asked for
        try:
            with pipe:
                pipe.write(text)
        except BrokenPipeError:  # the process died at once; its end is found where answers are read
            pass

    def answer(self, limit_s: float) -> Fields | None:
        """The next answer; None where the process ended, or gave none in *limit_s* and was killed."""
        try:
            return self._answers.get(timeout=limit_s)
        except queue.Empty:
            self._timed_out = True
            self._process.kill()
            return None

    def cause_of_end(self, timeout_s: float) -> Ended:
        """Why there was no answer."""
        code = self._process.wait()
        for thread in self._threads:
            thread.join()
        if self._timed_out:
            return Ended(True, f"took longer than {timeout_s:g} s and was stopped")
        words = f"; its last words: {self._errors[-1]}" if self._errors else ""
        if code < 0:
            return Ended(False, f"the process was killed by {_signal_name(-code)}{words}")
        return Ended(False, f"the process ended with exit code {code}{words}")

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *exc: object) -> None:
        if exc[0] is not None:
            self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None  # both were asked for
            pipe.close()

    def _read_answers(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            try:
                self._answers.put(json.loads(line))
            except ValueError:  # cut short by the process's end
                break
        self._answers.put(None)

    def _read_errors(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            text = line.decode(errors="replace").strip()
            if text:
                self._errors = [*self._errors[-19:], text]


def _search_path() -> str:
    """PYTHONPATH for a child that finds the same c10cli and the same modules as this process."""
    package_root = str(Path(__file__).resolve().parents[2])
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join([*([given] if given else []), package_root])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
