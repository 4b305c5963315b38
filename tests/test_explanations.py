"""The pages of the codes: one for each, and what their examples show is true.

A page's fenced blocks carry after the language which side they are of, `bad`
or `good`, or neither where both need them, and the name of a file where they
are one.  A yaml block without a name is `registry.yaml`.  What is run is the
side's console block, line by line; or else its python blocks without a name;
or else `registry.yaml` is validated.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from c10cli.cli.explain import read_page
from c10cli.cli.main import run
from c10cli.errors import CODES, C10Error
from c10cli.jobs.fingerprint import fingerprint
from c10cli.manifest.link import load_registry
from c10cli.verify.gate import validate
from c10cli.verify.kernel_job import prepare

PAGES = Path(__file__).parents[1] / "c10cli" / "explanations"

# What no example can show on every machine, and why.
WITHOUT_EXAMPLE = {
    "C10E901": "a bug of c10cli",
    "C10W651": "needs a noisy machine",
    "C10W652": "needs a slow first sample",
    "C10W653": "needs a case too slow for its time",
    "C10W654": "needs load from elsewhere",
    "C10W655": "takes a damaged journal",
}
NO_EXAMPLE = "There is no example to run:"


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the side it is of, and the file it is, if any."""

    language: str
    side: str
    file: str
    text: str


def page(code: str) -> str:
    return read_page(code)


def blocks(text: str) -> list[Block]:
    found = []
    for info, body in re.findall(r"^```([^\n]+)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        language, *words = info.split()
        side = next((word for word in words if word in ("bad", "good")), "")
        file = next((word for word in words if "." in word), "registry.yaml" if language == "yaml" else "")
        found.append(Block(language, side, file, body))
    return found


@pytest.fixture
def show(tmp_path, monkeypatch, capsys):
    """`show(code, side)`: the codes that one side of a page's example gives."""
    monkeypatch.chdir(tmp_path)
    for name in ("C10_REGISTRY", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def codes(code: str, side: str) -> set[str]:
        own = [block for block in blocks(page(code)) if block.side in (side, "")]
        for block in own:
            if block.file:
                Path(block.file).write_text(block.text, encoding="utf-8")
        for block in own:
            if block.language == "console":
                return codes_of_commands(block.text, capsys)
        program = "".join(b.text for b in own if b.language == "python" and not b.file)
        if program:
            return codes_of_python(program)
        assert Path("registry.yaml").exists(), f"nothing to run for the {side} side of {code}"
        return codes_of_registry(tmp_path / "registry.yaml")

    return codes


def codes_of_commands(text, capsys):
    *commands, last = re.findall(r"^\$ c10 (.*)$", text, flags=re.MULTILINE)
    expected = re.search(r"^# exits with (\d+)$", text, flags=re.MULTILINE)
    for command in commands:
        assert run(shlex.split(command)) == 0, command
    capsys.readouterr()
    assert run(shlex.split(last)) == (int(expected[1]) if expected else 0), capsys.readouterr()
    captured = capsys.readouterr()
    # Errors alone: a busy machine may add a warning of noise to any measurement.
    return set(re.findall(r"\[(C10E\d{3})\]", captured.out + captured.err))


def codes_of_python(text):
    try:
        exec(compile(text, "<example>", "exec"), {"__name__": "example"})
    except C10Error as error:
        return {diagnostic.code for diagnostic in error.diagnostics}
    return set()


def codes_of_registry(path):
    """What `c10 validate` finds, without its child processes."""
    static = validate(path, static=True)
    if static.diagnostics:
        return {diagnostic.code for diagnostic in static.diagnostics}
    registry = load_registry(path)
    places, before = range(len(registry.kernels())), fingerprint(registry.manifest)
    job = {"registry": str(path), "fingerprint": before, "seed": 0, "items": places}
    check = prepare({**job, "not_run": [""] * len(places)})
    answers = [check(place, lambda _at: None) for place in places]
    return {finding["code"] for answer in answers for finding in answer["findings"]}


def test_every_code_has_a_page_and_every_page_a_code():
    assert sorted(path.name for path in PAGES.iterdir()) == sorted(f"{code}.md" for code in CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_page_is_shown_under_its_codes_title_and_is_short(code):
    lines = page(code).splitlines()
    assert lines[:2] == [f"# {code}: {CODES[code]}", ""]
    assert max(map(len, lines)) <= 100
    assert 5 <= len(lines) <= 60


@pytest.mark.parametrize("code", CODES)
def test_a_page_tells_what_to_do(code):
    assert "\nWhat to do: " in page(code)


@pytest.mark.parametrize("code", sorted(set(CODES) - set(WITHOUT_EXAMPLE)))
def test_the_bad_example_gives_exactly_the_code(show, code):
    assert show(code, "bad") == {code}


@pytest.mark.parametrize("code", sorted(set(CODES) - set(WITHOUT_EXAMPLE)))
def test_the_good_example_gives_none(show, code):
    assert {block.side for block in blocks(page(code))} >= {"good"}
    assert show(code, "good") == set()


@pytest.mark.parametrize("code", WITHOUT_EXAMPLE)
def test_a_page_without_an_example_says_why(code):
    assert NO_EXAMPLE in page(code)
    assert blocks(page(code)) == []
