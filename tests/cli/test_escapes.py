"""Texts of others, on their way out: what a terminal would obey is spelt out, wherever it comes from."""

from __future__ import annotations

import json

import pytest

EVIL = "\x1b[2J\x9b\x07\x7f\u202e\u2066\u2028\u200b"
SPELT = "\\x1b[2J\\x9b\\x07\\x7f\\u202e\\u2066\\u2028\\u200b"


def repr_of(text: str) -> str:
    """*text* as a string of an expression, as it is."""
    return f"'{text}'"


KERNELS = f'''
def sane(x, mode):
    """Give *x* back{EVIL}."""
    return x.copy()


def raising(x, mode):
    raise RuntimeError({EVIL!r})


def reference(x, mode):
    return x.copy()
'''

REGISTRY = f"""\
version: 1
operators:
  - schema: "demo::same(Tensor x, str mode='m') -> Tensor"
    kernels:
      CPU:
        - {{kernel: k.py:sane, name: sane}}
        - {{kernel: k.py:raising, name: raising}}
    reference: k.py:reference
    cost: {{bytes: "nbytes(x)"}}
    cases:
      - name: tiny
        inputs: {{x: "randn(4)", mode: {json.dumps(repr_of(EVIL))}}}
"""


@pytest.fixture
def evil(folder, monkeypatch):
    """A registry whose every text is hostile, in a folder that is so too."""
    inner = folder / f"in{EVIL}"
    inner.mkdir()
    (inner / "k.py").write_text(KERNELS, encoding="utf-8")
    (inner / "registry.yaml").write_text(REGISTRY, encoding="utf-8")
    monkeypatch.chdir(inner)
    return inner


def assert_clean(*texts: str) -> None:
    for text in texts:
        for line in text.split("\n"):
            assert line.isprintable(), repr(line)


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["show", "same"],
        ["explain", "same"],
        ["explain", "same", "[1]"],
        ["call", "same", "[1]"],
        ["call", "same", "--help"],
        ["call", "same", "[1]", "--variant", "raising"],
        ["call", "same", EVIL],
        ["call", "same", f"@{EVIL}.npy"],
        ["call", "same", "[1]", "--save", f"{EVIL}/x.npy"],
        ["call", "same", "[1]", "--save", f"{EVIL}"],
        ["call", "same", f"--{EVIL}"],
        ["call", EVIL],
        ["call", "same", "[1]", "--key", EVIL],
        ["call", "same", "[1]", "--variant", EVIL],
        ["call", "same", "[1]", "--dtype", EVIL],
        ["call", "same", "[1]", "--seed", EVIL],
        ["validate"],
        ["validate", EVIL],
        ["validate", "--format", "github"],
        ["bench", EVIL],
        ["bench", "--resume", EVIL],
        ["bench", "--time", EVIL],
        ["diff", EVIL, "registry.yaml"],
        ["import", "--from", EVIL],
        ["export", "--to", "torch", "--save", f"{EVIL}.py"],
        ["export", "--to", "torch", "--save", "ops.py", "--select", EVIL],
        [EVIL],
        ["list", f"--{EVIL}"],
        ["--explain", EVIL],
        ["list", "--registry", EVIL],
        ["list", "--format", EVIL],
    ],
    ids=lambda words: " ".join(words).replace(EVIL, "EVIL"),
)
def test_no_command_passes_an_escape_on(c10, evil, words):
    ran = c10(*words)
    assert_clean(ran.out, ran.err)


def test_the_escapes_are_spelt_and_not_left_out(c10, evil):
    shown = c10("show", "same").out
    assert f"mode='{SPELT}'" in shown
    assert f"Give *x* back{SPELT}." in shown
    assert f"RuntimeError: {SPELT[:5]}" in c10("call", "same", "[1]", "--variant", "raising").err
    assert SPELT[7:] in c10(EVIL).err  # click leaves out the rest itself
    assert f"RuntimeError: {SPELT[:30]}" in c10("validate", "--format", "github").out


def test_json_has_them_whole_and_is_ascii(c10, evil):
    ran = c10("--format", "json", "show", "same")
    assert ran.out.isascii()
    assert ran.json["cases"][0]["inputs"]["mode"] == f"'{EVIL}'"
    assert EVIL in c10("--format", "json", EVIL).json["diagnostics"][0]["message"]


def test_the_registry_and_the_report_that_are_named_are_spelt_too(c10, evil, monkeypatch):
    below = evil / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    ran = c10("bench", "--time", "0.01", "--output", evil / "runs")
    assert_clean(ran.out, ran.err)
    assert "using " in ran.err
    assert f"{SPELT}/runs" in ran.out
    report = evil / "runs" / "latest" / "report.md"
    text = report.read_text(encoding="utf-8")
    assert_clean(text)
    assert r"RuntimeError: \x1b\[2J\x9b" in text


def test_half_a_character_can_be_written_anywhere(c10, demo):
    ran = c10("call", "double", "\udcff\ud800", "--variant", "\udcff")
    assert_clean(ran.out, ran.err)
    assert "\\udcff" in ran.err
