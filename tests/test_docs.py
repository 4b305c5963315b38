"""README, .ci/run and the command say the same."""

from __future__ import annotations

import re
from pathlib import Path

from click import Context

from c10cli.arrays.library import LIBRARIES
from c10cli.cli.main import group, run
from c10cli.manifest import cases, entries, load
from c10cli.manifest.load import require_manifest
from c10cli.schema.dtypes import ARRAY_FUNCTIONS, COST_FUNCTIONS
from c10cli.verify.difference import tolerance_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table whose first column is headed so."""
    table = README.partition(f"\n| {heading} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]


def test_readme_names_every_command_and_no_other():
    named = set(re.findall(r"^\| `c10 (\w+)", README, flags=re.MULTILINE))
    assert named == set(group.list_commands(Context(group)))


def test_every_module_with_a_command_has_its_row():
    modules = [path for path in (ROOT / "c10cli/cli").glob("*.py") if "\n@c10_command(" in path.read_text()]
    assert {path.stem.rstrip("_") for path in modules} == set(group.list_commands(Context(group)))


def test_the_readme_names_every_array_library():
    (row,) = (cells for cells in rows("field") if cells[0] == "`arrays`")
    assert set(re.findall(r"`(\w+)`", row[2])) == set(LIBRARIES)


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


def test_the_readmes_python_session_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    session = re.search(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert session
    namespace: dict[str, object] = {}
    exec(session[1], namespace)
    assert namespace["registry"]


def test_the_readmes_registry_can_be_pasted_and_is_found_right(tmp_path, monkeypatch, capsys, needs):
    needs("numba")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("C10_REGISTRY", raising=False)
    files = re.findall(r"^```(?:yaml|python) (\S+)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    for name, text in files:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    assert run(["validate"]) == 0, capsys.readouterr()
    assert "2 kernels run, 4 calls compared with the reference" in capsys.readouterr().out
    registry = Path("registry.yaml")
    twice = registry.read_text().replace(
        "    reference:", "      CPU: kernels/scale.py:scale\n    reference:"
    )
    registry.write_text(twice)
    assert run(["validate"]) == 1
    shown = re.search(r"^error\[C10E103\].*?(?=^```)", README, flags=re.MULTILINE | re.DOTALL)
    assert shown
    assert capsys.readouterr().err.startswith(shown[0])


def test_the_readme_has_every_field_of_a_manifest_and_no_other():
    named: dict[str, set[str]] = {}
    for field, owners, _ in rows("field"):
        for owner in owners.split(", "):
            named.setdefault(owner, set()).add(field.strip("`"))
    assert named == {
        "manifest": set(load.MANIFEST_FIELDS),
        "operator": set(entries.OPERATOR_FIELDS),
        "kernel": set(entries.KERNEL_FIELDS),
        "case": set(cases.CASE_FIELDS),
    }


def test_the_readme_has_the_functions_of_expressions():
    named = [name for cells in rows("function") for name in re.findall(r"`(\w+)\(", cells[0])]
    assert set(named) == set(ARRAY_FUNCTIONS)
    costs = README.partition("\nCosts have ")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)\(", costs)) == set(COST_FUNCTIONS)


def test_the_readme_has_the_default_tolerances(tmp_path):
    path = tmp_path / "registry.yaml"
    path.write_text('version: 1\noperators:\n  - schema: "d::f(Tensor x) -> Tensor"\n')
    (operator,) = require_manifest(path).operators
    stated = {dtype.strip("`"): (float(rtol), float(atol)) for dtype, rtol, atol in rows("dtype")}
    assert "float32" in stated
    for dtype, bounds in stated.items():
        default = tolerance_of(operator, dtype)
        assert (default.rtol, default.atol) == bounds
