from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from c10cli import __version__
from c10cli.cli import main as main_module
from c10cli.cli.main import exit_code_of, run
from c10cli.errors import (
    BenchError,
    C10Error,
    Diagnostic,
    DispatchError,
    InternalError,
    KernelError,
    ManifestError,
    NoKernelError,
    RegistrationError,
    ReportError,
)

ROOT = Path(__file__).parents[2]

HELP = """\
Usage: c10 [OPTIONS] COMMAND [ARGS]...

  A registry of operators and kernels: see it, call it, check it, measure it.

  The registry is the manifest given with --registry, or else C10_REGISTRY, or
  registry.yaml in this folder or above it, or the one that c10cli ships.

  Exit codes: 0 done, 1 findings, 2 wrong use, 3 could not, 4 nothing to do,
  70 a bug in c10cli, 130 interrupted.  With --format json a command that ends
  with an error and has no result writes {"format": "c10.error/1"}.
"""


def test_help_says_what_it_is_for_and_names_the_commands(c10):
    ran = c10("--help")
    assert ran.code == 0
    assert ran.out.startswith(HELP)
    listed = ran.out.partition("Commands:\n")[2]
    assert [
        line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "
    ] == list(main_module._COMMANDS)


@pytest.mark.parametrize("command", main_module._COMMANDS)
def test_every_command_has_help_under_both_names(c10, command):
    long, short = c10(command, "--help"), c10(command, "-h")
    assert (long.code, long.err) == (0, "")
    assert long.out == short.out
    for option in ("--registry", "--format", "--color"):
        assert option in long.out


def test_version_is_the_packages(c10):
    assert c10("--version").out == f"c10, version {__version__}\n"


def test_unknown_command_is_wrong_use_and_offers_a_near_name(c10):
    ran = c10("lst")
    assert ran.code == 2
    assert ran.err.endswith("Error: no such command `lst`; did you mean `list`?\n")


@pytest.mark.parametrize(
    "words", [["list", "--bogus"], ["list", "a", "b"], ["show"], ["call"], ["list", "--format"]]
)
def test_what_click_refuses_is_wrong_use(c10, words):
    ran = c10(*words)
    assert ran.code == 2
    assert "Error: " in ran.err
    assert ran.out == ""


def error(family: type[C10Error], code: str, **facts: object) -> C10Error:
    return family(Diagnostic(code, "a fact"), **facts)


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (error(ManifestError, "C10E102"), 1),
        (error(ManifestError, "C10E101"), 3),
        (error(RegistrationError, "C10E305"), 1),
        (error(RegistrationError, "C10E304"), 3),
        (error(DispatchError, "C10E108"), 2),
        (error(DispatchError, "C10E401"), 2),
        (error(NoKernelError, "C10E403"), 3),
        (error(DispatchError, "C10E411"), 3),
        (error(DispatchError, "C10E607"), 3),
        (error(KernelError, "C10E501", refuses_arguments=True), 2),
        (error(KernelError, "C10E501", refuses_arguments=False), 1),
        (error(KernelError, "C10E505"), 1),
        (error(BenchError, "C10E601"), 4),
        (error(BenchError, "C10E603"), 3),
        (error(BenchError, "C10E604"), 2),
        (error(ReportError, "C10E701"), 3),
    ],
    ids=lambda value: value.code if isinstance(value, C10Error) else str(value),
)
def test_errors_have_their_exit_codes(raised, code):
    assert exit_code_of(raised) == code


def fail_with(monkeypatch: pytest.MonkeyPatch, raised: BaseException) -> None:
    def fail(**_: object) -> None:
        raise raised

    monkeypatch.setattr(main_module.group, "main", fail)


def test_a_broken_invariant_is_a_bug_of_ours_and_asks_for_a_report(monkeypatch, capsys):
    fail_with(monkeypatch, InternalError("the table lost an entry"))
    assert run([]) == 70
    assert capsys.readouterr().err == (
        "error[C10E901]: the table lost an entry\n"
        "  = help: this is a bug in c10cli; report it with the command\n"
    )


def test_an_unforeseen_exception_is_a_bug_of_ours_with_its_traceback(monkeypatch, capsys):
    fail_with(monkeypatch, ZeroDivisionError("division by zero"))
    assert run([]) == 70
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("error[C10E901]: a bug in c10cli: ZeroDivisionError\n")


def test_interruption_has_an_exit_code_of_its_own(monkeypatch, capsys):
    fail_with(monkeypatch, KeyboardInterrupt())
    assert run([]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_file_that_fails_somewhere_below_is_no_bug(monkeypatch, capsys):
    fail_with(monkeypatch, PermissionError(13, "Permission denied", "/some/file"))
    assert run([]) == 3
    assert capsys.readouterr().err == (
        "error[C10E701]: `/some/file` cannot be read or written: Permission denied\n"
    )


def imported_by(word: str) -> list[str]:
    """Which heavy packages `c10 word` imports, with success."""
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from c10cli.cli.main import run; "
        f"assert run([{word!r}]) == 0; "
        "heavy = {'click', 'numpy', 'rich', 'yaml', 'numba', 'torch', 'pytest'}; "
        "print(*sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stderr.split()


def test_help_imports_click_alone(folder):
    """What a command needs is imported when it runs."""
    assert imported_by("--help") == ["click"]


def test_list_imports_no_array_library_and_no_kernel(demo):
    (demo.parent / "k.py").write_text("raise RuntimeError('imported')\n")
    assert imported_by("list") == ["click", "yaml"]


@pytest.mark.parametrize("words", [["list"], ["validate"], ["bench", "--time", "0.02", "n=4"]])
def test_files_in_the_current_folder_shadow_no_module(demo, c10_process, words):
    for name in ("json", "click", "numpy"):
        (demo.parent / f"{name}.py").write_text("raise RuntimeError('shadowed')\n")
    ran = c10_process(*words)
    assert (ran.code, ran.err) == (0, "")


def test_modules_in_the_current_folder_are_found_all_the_same(demo, c10_process):
    demo.write_text(demo.read_text().replace("k.py:add", "k:add"))
    assert c10_process("call", "add", "[1]", "[2]").out == "float32[1]\n[3.]\n"


@pytest.mark.parametrize(
    "words", [["list", "--format", "json"], ["--help"], ["bench", "n=4", "--time", "0.01"]]
)
def test_a_reader_that_leaves_is_no_error(demo, start_c10, words):
    reading, writing = os.pipe()
    os.close(reading)
    with start_c10(*words, stdout=writing) as process:
        os.close(writing)
        assert process.communicate(timeout=30)[1] == ""
    assert process.returncode == 0


def test_a_reader_that_leaves_does_not_hide_findings(demo, start_c10):
    demo.write_text(demo.read_text().replace("k.py:add", "k.py:ad"))
    reading, writing = os.pipe()
    os.close(reading)
    with start_c10("validate", "--static", stdout=writing) as process:
        os.close(writing)
        assert "C10E304" in process.communicate(timeout=30)[1]
    assert process.returncode == 1


def test_a_full_disk_is_told_without_a_traceback(demo, c10_process):
    with Path("/dev/full").open("w") as full:
        ran = c10_process("list", stdout=full)
    assert ran.code == 3
    assert ran.err == "error[C10E701]: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("words", "exit_code", "code"),
    [
        (["show", "nope"], 2, "C10E401"),
        (["call", "double", "@gone.npy"], 3, "C10E411"),
        (["explain", "nope"], 2, "C10E401"),
        (["call", "nope", "[1]"], 2, "C10E401"),
        (["bench", "nope"], 4, "C10E601"),
        (["diff", "gone.yaml", "registry.yaml"], 3, "C10E101"),
        (["list", "--registry", "gone.yaml"], 3, "C10E101"),
        (["export", "--to", "torch", "--save", "ops.py", "--select", "nope"], 4, "C10E401"),
    ],
)
def test_with_json_an_error_is_one_object_on_standard_output(c10, demo, words, exit_code, code):
    ran = c10(*words, "--format", "json")
    assert ran.code == exit_code
    assert ran.json["format"] == "c10.error/1"
    assert [finding["code"] for finding in ran.json["diagnostics"]] == [code]
    assert f"error[{code}]" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ["--format", "json", "lst"],
        ["list", "--bogus", "--format=json"],
        ["--format", "json", "show"],
        ["bench", "--time", "x", "--format", "json"],
    ],
)
def test_with_json_wrong_use_is_one_too_without_a_code(c10, demo, words):
    ran = c10(*words)
    assert ran.code == 2
    (finding,) = ran.json["diagnostics"]
    assert finding["code"] is None
    assert finding["message"] in ran.err
    assert finding.keys() == Diagnostic("C10E901", "x").as_dict().keys()


def test_with_json_a_result_is_not_followed_by_an_error(c10, demo):
    ran = c10("list", "nope", "--format", "json")
    assert (ran.code, ran.json["format"]) == (4, "c10.list/1")


def test_with_json_a_bug_of_ours_is_one_too(monkeypatch, capsys):
    def fail(**settings: Any) -> None:
        settings["obj"].format = "json"
        raise InternalError("the table lost an entry")

    monkeypatch.setattr(main_module.group, "main", fail)
    assert run([]) == 70
    assert '"code": "C10E901"' in capsys.readouterr().out


def test_what_nanobind_made_is_collected_and_so_not_told_at_the_end(demo, c10_process):
    pytest.importorskip("triton", reason="the one package here whose nanobind tells of what is left")
    (demo.parent / "k.py").write_text("import triton\ndef double(x):\n    return x * 2\n")
    ran = c10_process("call", "double", "ones(2)", "--in-process")
    assert (ran.code, ran.err) == (0, "")
