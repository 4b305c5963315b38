from __future__ import annotations

import io
import shutil
import sys

import pytest

from c10cli.cli.main import run

MANY = """\
version: 1
operators:
  - schema: "demo::scale.out(Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)"
    kernels: {CPU: k.py:f, CUDA: k.py:f}
  - schema: "demo::scale(Tensor x, float by=2.0) -> Tensor"
    summary: Scaled.
    kernels: {CPU: [{kernel: k.py:f, name: fast, requires: [numba]}, {kernel: k.py:g}]}
  - schema: "other::add(Tensor x) -> Tensor"
"""


@pytest.fixture
def many(folder):
    path = folder / "registry.yaml"
    path.write_text(MANY)
    return path


def test_operators_are_listed_by_name_in_columns(c10, many):
    ran = c10("list")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "demo::scale      CPU       (Tensor x, float by=2.0) -> Tensor\n"
        "demo::scale.out  CPU CUDA  (Tensor x, float by, *, Tensor(a!) out) -> Tensor(a!)\n"
        "other::add       -         (Tensor x) -> Tensor\n"
    )


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("scale", ["demo::scale", "demo::scale.out"]),
        ("demo::", ["demo::scale", "demo::scale.out"]),
        ("scale*", ["demo::scale", "demo::scale.out"]),
        ("*.out", ["demo::scale.out"]),
        ("a??", ["other::add"]),
        ("other::*", ["other::add"]),
        ("", ["demo::scale", "demo::scale.out", "other::add"]),
    ],
)
def test_a_pattern_keeps_what_it_is_part_of_or_matches_whole(c10, many, pattern, shown):
    ran = c10("list", pattern)
    assert [line.split()[0] for line in ran.out.splitlines()] == shown


def test_json_has_every_kernel_with_its_place(c10, many):
    ran = c10("list", "scale", "--format", "json")
    assert ran.json["format"] == "c10.list/1"
    assert ran.json["registry"] == "registry.yaml"
    first, second = ran.json["operators"]
    at = {"file": "registry.yaml", "line": 7}
    assert first == {
        "name": "demo::scale",
        "namespace": "demo",
        "base": "scale",
        "overload": "",
        "schema": "demo::scale(Tensor x, float by=2.0) -> Tensor",
        "summary": "Scaled.",
        "keys": ["CPU"],
        "kernels": [
            {"key": "CPU", "name": "fast", "kernel": "k.py:f", "requires": ["numba"], **at},
            {"key": "CPU", "name": "g", "kernel": "k.py:g", "requires": [], **at},
        ],
        "file": "registry.yaml",
        "line": 5,
    }
    assert (second["overload"], second["keys"]) == ("out", ["CPU", "CUDA"])


@pytest.mark.parametrize(
    ("pattern", "todo"), [("sclae", "did you mean `scale`?"), ("zz", "`c10 list` shows all")]
)
def test_no_match_is_nothing_done_and_offers_a_near_name(c10, many, pattern, todo):
    ran = c10("list", pattern)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == f"error[C10E401]: no operator matches `{pattern}`\n  = help: {todo}\n"


def test_no_match_is_an_empty_list_in_json(c10, many):
    ran = c10("list", "zz", "--format", "json")
    assert (ran.code, ran.json["operators"]) == (4, [])


def test_an_empty_registry_is_listed_whole(c10, folder):
    (folder / "registry.yaml").write_text("version: 1\noperators: []\n")
    ran = c10("list")
    assert (ran.code, ran.out, ran.err) == (0, "", "registry.yaml has no operators\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_are_cut_at_a_terminals_edge_and_nowhere_else(many, monkeypatch):
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: type("Size", (), {"columns": 40}))
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    assert run(["list", "--color", "never"]) == 0
    assert screen.getvalue().splitlines()[1] == "demo::scale.out  CPU CUDA  (Tensor x, f…"
