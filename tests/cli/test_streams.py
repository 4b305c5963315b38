from __future__ import annotations

import io
import os
import sys

import pytest

from c10cli.cli.session import prepare_streams, silence, stdout_to_stderr, written
from c10cli.errors import ReportError


class Failing(io.StringIO):
    """A stream that raises *error* when written to."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error


def test_a_closed_stream_swallows_and_gives_nothing(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    prepare_streams()
    try:
        assert sys.stdin.buffer.read() == b""
        assert sys.stdout.write("x") == 1
        assert not sys.stderr.isatty()
    finally:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            stream.close()


def test_characters_without_a_code_are_spelt_out(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    prepare_streams()
    sys.stdout.write("±…\n")
    sys.stdout.flush()
    assert raw.getvalue() == rb"\xb1\u2026" + b"\n"


def test_writing_goes_on_quietly_when_the_reader_has_gone(tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        for _ in range(2):
            with written(stream):
                stream.write("text\n")
                stream.flush()


def test_any_other_failure_to_write_is_told():
    stream = Failing(OSError(28, "No space left on device"))
    with pytest.raises(ReportError) as caught, written(stream):
        stream.write("x")
    assert str(caught.value) == "error[C10E701] the output cannot be written: No space left on device"


def test_silencing_a_stream_without_a_descriptor_does_nothing():
    silence(io.StringIO())
    silence(None)


def test_prints_from_python_and_from_below_it_go_to_standard_error(capfd):
    with stdout_to_stderr():
        sys.stdout.write("from Python\n")
        sys.stderr.flush()
        os.write(1, b"from below\n")
    sys.stdout.write("after\n")
    out, err = capfd.readouterr()
    assert (out, err) == ("after\n", "from Python\nfrom below\n")


def test_standard_output_comes_back_after_an_exception(capfd):
    with pytest.raises(ZeroDivisionError), stdout_to_stderr():
        raise ZeroDivisionError
    os.write(1, b"after\n")
    assert capfd.readouterr().out == "after\n"
