import importlib
import inspect
import json
from pathlib import Path

from c10cli.bench.environment import read_environment
from c10cli.bench.outcome import RunResult
from c10cli.report import formats
from c10cli.report.formats import REPORTS, write_reports


def test_every_module_that_renders_a_run_is_in_the_table():
    names = [path.stem for path in Path(formats.__file__).parent.glob("*.py") if path.stem != "__init__"]
    found = set()
    for name in names:
        module = importlib.import_module(f"c10cli.report.{name}")
        for function in vars(module).values():
            if inspect.isfunction(function) and function.__module__ == module.__name__:
                takes = [p.annotation for p in inspect.signature(function).parameters.values()]
                if function.__name__.startswith("render_") and takes == ["RunResult"]:
                    found.add(function)
    assert found == set(REPORTS.values())


def test_the_version_of_c10cli_is_in_every_report(tmp_path):
    run = RunResult("run-1", "then", read_environment(tmp_path), c10cli="1.2.3")
    assert all("1.2.3" in render(run) for render in REPORTS.values())


def test_every_report_of_a_run_is_put_into_its_folder(tmp_path):
    run = RunResult("run-1", "then", read_environment(tmp_path))
    write_reports(run, tmp_path)
    written = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert written == {name: render(run) for name, render in REPORTS.items()}
    assert RunResult.from_dict(json.loads(written["result.json"])) == run
