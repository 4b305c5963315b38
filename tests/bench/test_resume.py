import os
from dataclasses import replace
from pathlib import Path

import pytest

from c10cli import BenchError, load_registry
from c10cli.bench.environment import read_environment
from c10cli.bench.plan import make_plan
from c10cli.bench.result import CaseResult, RunResult
from c10cli.bench.resume import check_same_registry, earlier_cases
from c10cli.bench.sources import Sources
from c10cli.jobs.fingerprint import file_digests

TOP = 'version: 1\ninclude: [ops/more.yaml]\noperators:\n  - schema: "t::f(Tensor x) -> Tensor"\n'
MORE = """\
version: 1
operators:
  - schema: "t::g(Tensor x) -> Tensor"
    kernels: {CPU: [k.py:g, k.py:h], XLA: k.py:far}
    cases: [{name: a, inputs: {x: "ones(1)"}}]
"""
FILES = {"top.yaml": TOP, "ops/more.yaml": MORE, "ops/k.py": "def g(x):\n    return x\n", "ops/h.py": "1\n"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The current folder, with a manifest that includes another one, and kernels."""
    (tmp_path / "ops").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def begun(project):
    """``begun(*cases)``: a run of the manifest, begun in its folder."""
    manifest = load_registry("top.yaml").manifest
    plan = {
        "registry": "top.yaml",
        "registry_path": os.path.realpath("top.yaml"),
        "files": file_digests(manifest),
    }
    return lambda *cases: RunResult("run-1", "then", read_environment(project), plan, cases)


def refused(run, path="top.yaml"):
    with pytest.raises(BenchError) as caught:
        check_same_registry(run, load_registry(path).manifest)
    assert caught.value.code == "C10E604"
    return caught.value.diagnostics[0]


def edit(path):
    path.write_text(path.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")


def test_the_same_registry_is_gone_on_with_from_any_folder(begun, project, monkeypatch):
    for folder, path in ((".", "top.yaml"), ("ops", "../top.yaml"), ("/", project / "top.yaml")):
        monkeypatch.chdir(project / folder)
        check_same_registry(begun(), load_registry(path).manifest)


def test_a_registry_that_was_moved_with_all_its_files_is_the_same(begun, project, monkeypatch):
    run = begun()
    project.rename(project.with_name("elsewhere"))
    monkeypatch.chdir(project.with_name("elsewhere"))
    check_same_registry(run, load_registry("top.yaml").manifest)


@pytest.mark.parametrize("place", ["same folder", "below", "beside"])
def test_another_registry_is_refused_with_a_path_that_works_from_here(begun, project, monkeypatch, place):
    run = begun()
    folder = {"same folder": project, "below": project / "ops", "beside": project / "other"}[place]
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    (folder / "other.yaml").write_text("version: 1\noperators: []\n", encoding="utf-8")
    told = refused(run, "other.yaml")
    path = told.help.removeprefix("go on with --registry ")
    assert Path(path).samefile(project / "top.yaml")
    assert told.message == f"run `run-1` measured `{path}`, not `other.yaml`"
    check_same_registry(run, load_registry(path).manifest)


@pytest.mark.parametrize(
    ("name", "shown"), [("top.yaml", "../top.yaml"), ("ops/more.yaml", "../ops/more.yaml")]
)
def test_the_file_that_was_changed_is_named_as_seen_from_here(begun, project, monkeypatch, name, shown):
    run = begun()
    edit(project / name)
    assert refused(run).message == f"`{name}` was changed since run `run-1` began"
    (project / "kernels").mkdir()
    monkeypatch.chdir(project / "kernels")
    assert refused(run, "../top.yaml").message == f"`{shown}` was changed since run `run-1` began"


def test_files_that_were_changed_added_and_removed_are_all_named(begun, project):
    run = begun()
    (project / "ops/more.yaml").rename(project / "ops/new.yaml")
    (project / "top.yaml").write_text(TOP.replace("more", "new"), encoding="utf-8")
    told = refused(run).message
    assert told.startswith(
        "`top.yaml` was changed and `ops/new.yaml` was added and `ops/more.yaml` was removed"
    )


def test_an_included_file_that_is_broken_now_was_changed_not_removed(begun, project):
    run = begun()
    (project / "ops/more.yaml").write_text("version: 1\noperators: 7\n", encoding="utf-8")
    assert refused(run).message == "`ops/more.yaml` was changed since run `run-1` began"


def test_a_run_of_an_older_version_names_no_files_and_no_path(begun, project):
    run = replace(begun(), plan={"registry": "top.yaml", "digest": "of an older kind"})
    edit(project / "ops/more.yaml")
    check_same_registry(run, load_registry("top.yaml").manifest)


@pytest.fixture
def case(project):
    """``case(variant, *files)``: a right case, measured from *files* as they are."""
    sources = Sources(project)

    def case(variant, *files, key="CPU", status="ok"):
        measured = {name: sources._digest(name) for name in files}
        return CaseResult("t::g", key, variant, "a", {}, "float32", status, sources=measured)

    return case


def ids(*variants, key="CPU"):
    return {f"t::g/{key}/{variant}/a/float32" for variant in variants}


def looked_at(run):
    """The cases of *run*, and the plan that leaves out those that hold."""
    registry = load_registry("top.yaml")
    earlier = earlier_cases(run, registry.manifest)
    return earlier, make_plan(registry, done=earlier.done)


def test_right_cases_whose_sources_are_as_they_were_are_done(begun, case):
    run = begun(case("g", "ops/k.py"), case("h", "ops/k.py", status="wrong"))
    earlier, plan = looked_at(run)
    assert earlier.done == ids("g")
    assert earlier.told(plan) == []
    assert earlier.without_lost(run, plan) is run


def test_cases_whose_sources_were_changed_are_measured_again_and_the_files_are_named(begun, case, project):
    run = begun(case("g", "ops/k.py", "ops/h.py"), case("h", "ops/k.py"))
    edit(project / "ops/h.py")
    earlier, plan = looked_at(run)
    assert earlier.done == ids("h")
    assert earlier.told(plan) == ["1 case is measured again: `ops/h.py` was changed since"]
    edit(project / "ops/k.py")
    earlier, plan = looked_at(run)
    assert plan.case_ids() == ids("g", "h")
    assert earlier.told(plan) == ["2 cases are measured again: `ops/h.py` and `ops/k.py` were changed since"]
    assert earlier.without_lost(run, plan) == run


def test_cases_that_do_not_say_what_they_measured_are_measured_again(begun, case):
    earlier, plan = looked_at(begun(case("g"), case("h", "ops/k.py")))
    assert earlier.done == ids("h")
    assert earlier.told(plan) == [
        "1 case is measured again: the run does not say what their kernels' sources were"
    ]


def test_a_stale_case_that_cannot_be_measured_here_is_left_out(begun, case, project):
    run = begun(case("g", "ops/h.py"), case("far", "ops/k.py", key="XLA"))
    edit(project / "ops/k.py")
    earlier, plan = looked_at(run)
    assert earlier.told(plan) == [
        "1 case is left out, which cannot be measured here: `ops/k.py` was changed since"
    ]
    assert {kept.id for kept in earlier.without_lost(run, plan).cases} == ids("g")
