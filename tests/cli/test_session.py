from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from c10cli.cli.main import group
from c10cli.cli.session import Session
from c10cli.manifest.discover import shipped_registry

ROOT = Path(__file__).parents[2]
RED = "\x1b[1;31m"


def names(ran) -> list[str]:
    assert ran.code == 0, ran.err
    return [operator["name"] for operator in ran.json["operators"]]


@pytest.fixture
def other(demo: Path) -> Path:
    """A second registry, in a folder beside."""
    folder = demo.parent / "other"
    folder.mkdir()
    path = folder / "registry.yaml"
    path.write_text('version: 1\noperators:\n  - schema: "other::f(Tensor x) -> Tensor"\n')
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("--registry", "{}", "--format", "json", "list"),
        ("list", "--registry", "{}", "--format", "json"),
        ("--format=json", "list", "--registry={}"),
    ],
)
def test_options_are_taken_before_and_after_the_commands_name(c10, other, words):
    assert names(c10(*(word.format(other) for word in words))) == ["other::f"]


def test_an_option_after_the_command_wins_over_the_one_before(c10, other, demo):
    assert names(c10("--registry", demo, "list", "--registry", other, "--format", "json")) == ["other::f"]


def test_a_format_that_the_command_lacks_is_wrong_use_in_both_places(c10, demo):
    before, after = c10("--format", "github", "list"), c10("list", "--format", "github")
    assert (before.code, after.code) == (2, 2)
    assert "--format github is not one of text, json" in before.err
    assert "'github' is not one of 'text', 'json'" in after.err


def test_the_variable_names_the_registry_and_the_option_wins(c10, other, demo, monkeypatch):
    monkeypatch.setenv("C10_REGISTRY", str(other))
    assert names(c10("list", "--format", "json")) == ["other::f"]
    assert "demo::add" in names(c10("list", "--format", "json", "--registry", demo))


def test_a_registry_above_the_current_folder_is_found(c10, demo, monkeypatch):
    below = demo.parent / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    ran = c10("call", "double", "ones(1)")
    assert (ran.code, ran.out) == (0, "float32[1]\n[2.]\n")
    assert ran.err == f"using {demo}\n"


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["show", "double"],
        ["call", "double", "[1]"],
        ["explain", "double"],
        ["validate", "--static"],
    ],
)
def test_a_registry_that_was_neither_named_nor_is_here_is_told_once(c10, demo, monkeypatch, words):
    assert c10(*words).err == ""
    below = demo.parent / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert c10(*words).err == f"using {demo}\n"
    assert c10(*words, "--registry", "../registry.yaml").err == ""
    assert c10(*words, "--format", "json").err == ""
    monkeypatch.setenv("C10_REGISTRY", "../registry.yaml")
    assert c10(*words).err == ""


def test_the_shipped_registry_is_the_last_resort(c10):
    assert "c10::layer_norm" in names(c10("list", "--format", "json"))


@pytest.mark.parametrize(
    ("given", "fact"),
    [
        ("nope.yaml", "manifest `nope.yaml` does not exist"),
        (".", "`.` is a folder, not a manifest"),
        ("ünknown/ŕ.yaml", "manifest `ünknown/ŕ.yaml` does not exist"),
    ],
)
def test_a_registry_that_cannot_be_read_is_could_not(c10, given, fact):
    for words in (["list"], ["show", "x"], ["call", "x"], ["validate"], ["bench"]):
        ran = c10(*words, "--registry", given)
        assert ran.code == 3
        assert f"error[C10E101]: {fact}" in ran.err


def test_an_empty_name_is_not_taken_for_none(c10, demo):
    ran = c10("list", "--registry", "")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error[C10E101]: the registry is given without a name\n")


@pytest.mark.parametrize(
    ("command", "begun", "offered"),
    [
        ("show", "", ["add", "demo::add", "demo::double", "double"]),
        ("call", "do", ["double"]),
        ("list", "demo::a", ["demo::add"]),
        ("call", "zz", []),
    ],
)
def test_a_shell_completes_operators(demo, command, begun, offered):
    completion = ShellComplete(group, {}, "c10", "_C10_COMPLETE")
    assert [item.value for item in completion.get_completions([command], begun)] == offered


def test_completion_does_not_tell_which_registry(demo, capsys, monkeypatch):
    (demo.parent / "below").mkdir()
    monkeypatch.chdir(demo.parent / "below")
    assert ShellComplete(group, {}, "c10", "_C10_COMPLETE").get_completions(["show"], "demo::a")
    assert capsys.readouterr() == ("", "")


def test_completion_is_silent_about_a_broken_registry(demo, capsys):
    demo.write_text("[")
    assert ShellComplete(group, {}, "c10", "_C10_COMPLETE").get_completions(["show"], "a") == []
    assert capsys.readouterr() == ("", "")


def test_a_variable_that_names_nothing_is_could_not(c10, monkeypatch):
    monkeypatch.setenv("C10_REGISTRY", "gone.yaml")
    ran = c10("list")
    assert ran.code == 3
    assert ran.err == (
        "error[C10E101]: registry `gone.yaml`, named by C10_REGISTRY, does not exist\n"
        "  = help: correct or unset C10_REGISTRY\n"
    )


def test_a_broken_manifest_is_a_finding_for_every_command(c10, folder):
    (folder / "registry.yaml").write_text("version: 1\noperators: [\n")
    for words in (["list"], ["show", "x"], ["call", "x"], ["validate"], ["bench"]):
        ran = c10(*words)
        assert ran.code == 1
        assert "error[C10E102]" in ran.err
        assert "registry.yaml:" in ran.err


def test_a_link_to_a_registry_is_followed(c10, demo):
    link = demo.parent / "link.yaml"
    link.symlink_to(demo)
    assert "demo::add" in names(c10("list", "--format", "json", "--registry", link))


def test_unicode_folders_and_files_work(c10, demo):
    folder = demo.parent / "Prüfung 中文"
    folder.mkdir()
    demo.rename(folder / "registry.yaml")
    (demo.parent / "k.py").rename(folder / "k.py")
    ran = c10("call", "--registry", folder / "registry.yaml", "double", "ones(1)")
    assert (ran.code, ran.out) == (0, "float32[1]\n[2.]\n")


def test_a_removed_current_folder_leaves_what_is_named(demo, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    program = (
        "import os, sys; root, gone, demo = sys.argv[1:]; sys.path.insert(0, root); "
        "os.chdir(gone); os.rmdir(gone); from c10cli.cli.main import run; "
        "sys.exit(run(['list', '--registry', demo]) or run(['list']))"
    )
    words = [sys.executable, "-c", program, ROOT, gone, demo]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == f"using {shipped_registry()}\n"
    assert done.stdout.startswith("demo::add ")
    assert "c10::layer_norm" in done.stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("choice", "variables", "stream", "colored"),
    [
        ("auto", {}, io.StringIO(), False),
        ("auto", {}, Terminal(), True),
        ("auto", {"NO_COLOR": "1"}, Terminal(), False),
        ("auto", {"NO_COLOR": ""}, Terminal(), True),
        ("auto", {"FORCE_COLOR": "1"}, io.StringIO(), True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, Terminal(), False),
        ("always", {"NO_COLOR": "1"}, io.StringIO(), True),
        ("never", {"FORCE_COLOR": "1"}, Terminal(), False),
    ],
)
def test_colour_is_decided_by_option_then_variables_then_terminal(
    folder, monkeypatch, choice, variables, stream, colored
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Session(color=choice).colored(stream) is colored


def test_colour_reaches_diagnostics_and_never_json(c10, demo):
    assert c10("--color", "always", "list", "zzz").err.startswith(RED)
    assert c10("list", "zzz").err.startswith("error[C10E401]")
    assert "\x1b" not in c10("--color", "always", "list", "--format", "json").out


def test_rich_obeys_the_same_choice(folder, monkeypatch):
    for color, escaped in (("always", True), ("never", False)):
        out = io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        from rich.text import Text

        Session(color=color).echo_view(Text("word", style="bold red"))
        assert ("\x1b[" in out.getvalue()) is escaped


@pytest.mark.parametrize("seconds", ["nan", "0", "-1", "inf", "1e9", "x"])
def test_seconds_are_positive_and_at_most_a_day(c10, demo, seconds):
    ran = c10("bench", "--time", seconds)
    assert ran.code == 2
    assert "Invalid value for '--time'" in ran.err


@pytest.mark.parametrize("words", [["call", "double", "ones(1)"], ["validate"], ["bench"]])
def test_a_seed_is_not_negative(c10, demo, words):
    ran = c10(*words, "--seed", "-1")
    assert ran.code == 2
    assert "Invalid value for '--seed'" in ran.err


def test_output_without_utf8_spells_other_characters_out(demo, c10_process):
    demo.write_text(demo.read_text().replace("Twice x.", "Zweimal größer …"), encoding="utf-8")
    ran = c10_process("show", "double", env={"PYTHONIOENCODING": "koi8-r"})
    assert (ran.code, ran.err) == (0, "")
    assert r"Zweimal gr\xf6\xdfer \u2026" in ran.out
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    ran = c10_process("show", "double", env=plain)
    assert (ran.code, ran.err) == (0, "")
    assert "Zweimal gr" in ran.out


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_closed_standard_stream_is_no_traceback(demo, c10_process, number):
    words = {0: ["call", "double", "-"], 1: ["list"], 2: ["list", "zzz"]}[number]
    ran = c10_process(*words, preexec_fn=lambda: os.close(number))
    assert ran.code == {0: 3, 1: 3, 2: 4}[number]
    assert "Traceback" not in ran.err


def test_data_name_the_registry_that_was_used(c10, folder):
    Path("registry.yaml").write_text('version: 1\noperators:\n  - schema: "d::f(Tensor x) -> Tensor"\n')
    Path("other.yaml").write_text(Path("registry.yaml").read_text())
    for words in (["list"], ["show", "f"], ["explain", "f"]):
        assert c10(*words, "--format", "json").json["registry"] == "registry.yaml"
        assert c10(*words, "--format", "json", "--registry", "other.yaml").json["registry"] == "other.yaml"
