from __future__ import annotations

import io
import os
import sys
from pathlib import Path

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


def test_a_closed_stream_gives_nothing_and_cannot_be_written_to(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    prepare_streams()
    try:
        assert sys.stdin.buffer.read() == b""
        assert not sys.stderr.isatty()
        for stream in (sys.stdout, sys.stderr):
            with pytest.raises(ReportError), written(stream):
                stream.buffer.raw.write(b"x")
    finally:
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            stream.close()


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["show", "double", "--format", "json"],
        ["call", "double", "[1]"],
        ["call", "double", "[1]", "--save", "-"],
        ["call", "double", "--help"],
        ["explain", "double"],
        ["explain", "C10E403"],
        ["validate", "--static"],
        ["validate", "--static", "--format", "json"],
        ["validate", "--format", "github"],
        ["bench", "n=4", "--time", "0.01"],
        ["diff", "registry.yaml", "registry.yaml"],
        ["export", "--to", "torch", "--save", "demo_ops.py"],
        ["import", "--from", "native_functions.yaml"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_where_standard_output_is_closed_every_command_could_not(demo, c10_process, words):
    (demo.parent / "native_functions.yaml").write_text("- func: relu(Tensor self) -> Tensor\n")
    ran = c10_process(*words, stdout=None, preexec_fn=lambda: os.close(1))
    assert (ran.code, "error[C10E701]: " in ran.err) == (3, True)


def test_with_all_streams_closed_a_command_could_not(demo, c10_process):
    closed = {"stdout": None, "stderr": None, "preexec_fn": lambda: os.closerange(0, 3)}
    assert c10_process("call", "double", "[1]", "--save", "-", **closed).code == 3


def test_what_is_to_be_saved_is_saved_where_nothing_can_be_printed(demo, c10_process):
    ran = c10_process("call", "double", "[1]", "--save", "y.npy", stdout=None, preexec_fn=lambda: os.close(1))
    assert ran.code == 3
    assert (demo.parent / "y.npy").is_file()


@pytest.mark.parametrize("words", [["lst"], ["list", "--bogus"], ["show", "nope"]], ids=" ".join)
def test_where_standard_error_cannot_be_written_the_exit_code_still_tells(demo, c10_process, words):
    assert c10_process(*words, stderr=None, preexec_fn=lambda: os.close(2)).code == 2
    with Path("/dev/full").open("w") as full:
        assert c10_process(*words, stderr=full).code == 2


@pytest.mark.parametrize(
    "words",
    [["call", "double", "randn(2) / 0"], ["validate"], ["bench", "n=4", "--time", "0.01"]],
    ids=" ".join,
)
def test_no_warning_of_ours_is_seen_and_none_is_an_error(demo, c10_process, words):
    demo.write_text(demo.read_text().replace('x: "randn(n)"', 'x: "randn(n) / 0"'))
    for setting in ("default", "error"):
        ran = c10_process(*words, env={"PYTHONWARNINGS": setting})
        assert (ran.code, ran.err) == (0, "")


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
