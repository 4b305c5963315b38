"""README, .ci/run and the command say the same."""

from __future__ import annotations

import re
from pathlib import Path

from click import Context

from c10cli.cli.main import group

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_names_every_command_and_no_other():
    named = set(re.findall(r"^\| `c10 (\w+)", README, flags=re.MULTILINE))
    assert named == set(group.list_commands(Context(group)))


def test_every_option_named_in_the_readme_exists():
    commands = [group.get_command(Context(group), name) for name in group.list_commands(Context(group))]
    known = {option for command in commands if command for p in command.params for option in p.opts}
    known |= {"--name"}  # stands for an argument's name in `c10 call`
    in_table = [row for row in README.splitlines() if row.startswith("| `c10 ")]
    assert set(re.findall(r"`(--[a-z-]+)", " ".join(in_table))) <= known


def test_ci_runs_exactly_the_test_command_of_the_readme():
    pattern = re.search(r"grep -m 1 -E '(.*)' README.md", (ROOT / ".ci/run").read_text(encoding="utf-8"))
    assert pattern
    found = [line for line in README.splitlines() if re.search(pattern[1], line)]
    assert len(found) == 1
    assert f"```sh\n{found[0]}\n```" in README


def test_readme_shows_the_tree_as_it_is():
    layers = re.findall(r"^  (\w+)(?:/|\.py) ", README, flags=re.MULTILINE)
    assert [layer for layer in layers if (ROOT / "c10cli" / layer).is_dir()] == [
        "schema",
        "dispatch",
        "arrays",
        "manifest",
        "verify",
        "bench",
        "report",
        "interop",
        "cli",
    ]


def test_the_readmes_python_session_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    session = re.search(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert session
    namespace: dict[str, object] = {}
    exec(session[1], namespace)
    assert namespace["registry"]
