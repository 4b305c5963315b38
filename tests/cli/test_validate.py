from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from c10cli.arrays import devices
from c10cli.cli import options
from c10cli.cli.session import Session

ROOT = Path(__file__).parents[2]

FAULTY = """\
version: 1
operators:
  - schema: "d::twice(Tensor x) -> Tensor"
    kernels:
      CPU: k.py:one
      CPU: k.py:one
  - schema: "d::none(int x) -> int"
  - schema: "d::typo(Tensr x) -> Tensor"
  - schema: "d::field(Tensor x) -> Tensor"
    kernel:
      CPU: k.py:one
  - schema: "d::key(Tensor x) -> Tensor"
    kernels:
      CUPU: k.py:one
  - schema: "d::file(Tensor x) -> Tensor"
    kernels:
      CPU: gone.py:one
  - schema: "d::function(Tensor x) -> Tensor"
    kernels:
      CPU: k.py:onne
  - schema: "d::signature(Tensor x) -> Tensor"
    kernels:
      CPU: k.py:two
  - schema: "d::case(Tensor x) -> Tensor"
    kernels:
      CPU: k.py:one
    cases:
      - name: bad
        dtypes: [float32]
        inputs: {x: "randn(rows)"}
  - schema: "d::twice(Tensor x, int n) -> Tensor"
  - schema: "d::default(Tensor x, int n=1.5) -> Tensor"
"""

PLANTED = [
    ("C10E103", 6, 7, "key `CPU` is given twice"),
    ("C10E209", 7, 13, "no tensor argument"),
    ("C10E204", 8, 22, "unknown type `Tensr`"),
    ("C10E104", 10, 5, "field `kernel` of `d::field` is unknown"),
    ("C10E108", 14, 7, "dispatch key `CUPU` of `d::key` is unknown"),
    ("C10E304", 17, 12, "gone.py"),
    ("C10E304", 20, 12, "onne"),
    ("C10E305", 23, 12, "takes 2 arguments, and the schema has 1"),
    ("C10E110", 30, 28, "unknown name `rows`"),
    ("C10E301", 31, 13, "d::twice"),
    ("C10E205", 32, 41, "default"),
]


@pytest.fixture
def faulty(folder):
    (folder / "k.py").write_text("def one(x):\n    return x + 1\n\n\ndef two(x, y):\n    return x\n")
    path = folder / "registry.yaml"
    path.write_text(FAULTY)
    return path


@pytest.fixture
def no_driver(monkeypatch):
    monkeypatch.setattr(devices, "cuda_driver_reason", lambda: "no CUDA driver found")
    devices._device_of.cache_clear()


def test_a_good_registry_says_what_was_checked_and_what_was_not(c10, demo, no_driver):
    ran = c10("validate")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "registry.yaml: 2 operators, 4 kernels\n"
        "  sources  4 kernels checked, nothing imported\n"
        "  binding  3 kernels imported and bound to the schema\n"
        "  results  1 kernel run, 4 calls compared with the reference\n"
        "  skipped  binding of demo::double CPU odd: needs `no_such_package`, not installed\n"
        "  skipped  run of demo::double CUDA gpu: no CUDA driver found\n"
        "  skipped  run of demo::add CPU add: the operator has no cases\n"
        "no findings\n"
    )


def test_json_says_the_same(c10, demo, no_driver):
    ran = c10("validate", "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "format": "c10.validate/1",
        "registry": "registry.yaml",
        "ok": True,
        "counts": {"operators": 2, "kernels": 4, "static": 4, "bound": 3, "run": 1, "cases": 4},
        "left_out": "",
        "diagnostics": [],
        "skipped": [
            {
                "operator": "demo::double",
                "dispatch_key": "CPU",
                "variant": "odd",
                "stage": "bind",
                "reason": "needs `no_such_package`, not installed",
            },
            {
                "operator": "demo::double",
                "dispatch_key": "CUDA",
                "variant": "gpu",
                "stage": "run",
                "reason": "no CUDA driver found",
            },
            {
                "operator": "demo::add",
                "dispatch_key": "CPU",
                "variant": "add",
                "stage": "run",
                "reason": "the operator has no cases",
            },
        ],
        "printed": [],
    }


def test_static_imports_nothing_and_says_so(c10, demo):
    (demo.parent / "k.py").write_text(
        (demo.parent / "k.py").read_text() + "\nraise RuntimeError('imported')\n"
    )
    ran = c10("validate", "--static")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "registry.yaml: 2 operators, 4 kernels\n"
        "  sources  4 kernels checked, nothing imported\n"
        "  binding  0 kernels imported and bound to the schema\n"
        "  results  0 kernels run, 0 calls compared with the reference\n"
        "  skipped  binding and run of all kernels: not asked for (--static)\n"
        "no findings\n"
    )
    assert c10("validate", "--no-run").code == 1


def test_no_run_binds_and_stops_there(c10, demo):
    ran = c10("validate", "--no-run")
    assert ran.code == 0
    assert "  binding  3 kernels imported and bound to the schema\n" in ran.out
    assert "  results  0 kernels run, 0 calls compared with the reference\n" in ran.out
    assert "not asked for" in ran.out


def test_the_manifest_may_be_an_argument_or_an_option(c10, demo, monkeypatch):
    monkeypatch.chdir(ROOT)
    for words in (["validate", demo], ["--registry", demo, "validate"], ["validate", "--registry", demo]):
        assert c10(*words, "--static").out.startswith(f"{demo}: 2 operators, 4 kernels\n")


@pytest.mark.parametrize("stage", [[], ["--static"], ["--no-run"]])
def test_a_required_key_that_was_not_run_is_a_finding_in_every_stage(c10, demo, no_driver, stage):
    ran = c10("validate", *stage, "--require", "CUDA")
    assert ran.code == 1
    assert "error[C10E607]: kernels for required dispatch key `CUDA` were not run here" in ran.err


def test_a_required_key_is_a_known_one(c10, demo):
    ran = c10("validate", "--require", "CUDDA")
    assert (ran.code, ran.out) == (2, "")
    assert "error[C10E108]: unknown dispatch key `CUDDA`" in ran.err


def test_planted_faults_are_all_told_with_line_and_column(c10, faulty):
    ran = c10("validate", "--format", "json")
    assert ran.code == 1
    found = [(d["code"], d["line"], d["column"]) for d in ran.json["diagnostics"]]
    assert found == [planted[:3] for planted in PLANTED]
    for diagnostic, (*_, mention) in zip(ran.json["diagnostics"], PLANTED, strict=True):
        assert mention in diagnostic["message"]
    assert ran.json["ok"] is False


def test_planted_faults_are_told_as_text_on_standard_error(c10, faulty):
    ran = c10("validate")
    assert ran.code == 1
    for code, line, column, _ in PLANTED:
        assert f"error[{code}]" in ran.err
        assert f"--> registry.yaml:{line}:{column}\n" in ran.err
    assert "did you mean `kernels`?" in ran.err
    assert "did you mean `one`?" in ran.err
    assert ran.out.endswith(f"{len(PLANTED)} findings\n")


def test_planted_faults_are_told_as_annotations(c10, faulty):
    ran = c10("validate", "--format", "github")
    assert (ran.code, ran.err) == (1, "")
    *lines, skipped = ran.out.splitlines()
    assert skipped == "::notice title=skipped::binding and run of all kernels: the manifest has findings"
    assert len(lines) == len(PLANTED)
    for line, (code, row, column, mention) in zip(lines, PLANTED, strict=True):
        assert line.startswith(f"::error title={code},file=registry.yaml,line={row},col={column},endColumn=")
        assert mention in line


def test_a_wrong_result_is_found_at_the_kernels_place(c10, demo):
    demo.write_text(demo.read_text().replace("name: odd, requires: [no_such_package]", "name: odd"))
    ran = c10("validate", "--format", "json")
    assert ran.code == 1
    assert {d["code"] for d in ran.json["diagnostics"]} == {"C10E504"}
    assert {(d["line"], d["column"]) for d in ran.json["diagnostics"]} == {(7, 20)}


def test_what_a_kernel_prints_is_shown_with_its_name_up_to_its_last_lines(c10, folder):
    Path("k.py").write_text(
        "def f(x):\n    print('\\n'.join(map(str, range(20))), '\\x1b[31m' + 'x' * 2000)\n    return x * 2\n"
    )
    Path("registry.yaml").write_text(
        'version: 1\noperators:\n  - schema: "t::f(Tensor x) -> Tensor"\n    kernels: {CPU: k.py:f}\n'
        "    cases: [{name: a, dtypes: [float32], inputs: {x: 'ones(2)'}}]\n"
    )
    ran = c10("validate")
    head, before, *lines = ran.err.splitlines()
    assert (ran.code, head, before) == (0, "kernel `f` of `t::f` printed:", "  (30 lines before)")
    assert [line[2:] for line in lines[:-1]] == [str(n) for n in range(10, 19)]
    assert lines[-1].startswith("  19 \\x1b[31mxxx")
    assert len(lines[-1]) < 1100
    (printed,) = c10("validate", "--format", "json").json["printed"]
    assert (printed["operator"], printed["variant"], printed["text"][:4]) == ("t::f", "f", "0\n1\n")


@pytest.mark.parametrize("size", ["0", "-1", "a lot", "4X", "", "nan", "1e9", "4 G"])
def test_a_size_that_is_none_is_wrong_use(c10, demo, size):
    ran = c10("validate", "--memory", size)
    assert (ran.code, ran.out) == (2, "")
    assert f"{size} is not a size above 0, such as 500M or 4G" in ran.err


@pytest.mark.parametrize(
    ("text", "size"), [("500M", 500 << 20), ("4g", 4 << 30), ("1.5GiB", 3 << 29), ("100", 100), ("2KB", 2048)]
)
def test_a_size_is_bytes_or_has_a_unit(text, size):
    assert options._size(text) == size


def test_an_annotation_has_the_case_and_its_shapes_and_skips_are_notices(c10, demo):
    demo.write_text(demo.read_text().replace("name: odd, requires: [no_such_package]", "name: odd"))
    ran = c10("validate", "--format", "github")
    wrong, gpu, no_cases = ran.out.splitlines()
    assert "::error title=C10E504,file=registry.yaml,line=7,col=20," in wrong
    assert "%0Ain case tiny[n=4]/float32 of demo::double%0Athe arguments are `x`: float32[4]%0A" in wrong
    assert "%0Ahelp: correct the kernel" in wrong
    assert gpu.startswith("::notice title=skipped::run of demo::double CUDA gpu: ")
    assert no_cases == "::notice title=skipped::run of demo::add CPU add: the operator has no cases"


def test_a_warning_keeps_no_kernel_from_its_run(c10, folder):
    Path("k.py").write_text("def f(x, *, by=3.0):\n    return x * by\n")
    Path("registry.yaml").write_text(
        'version: 1\noperators:\n  - schema: "t::f(Tensor x, *, float by=2.0) -> Tensor"\n'
        "    kernels: {CPU: k.py:f}\n    reference: k.py:f\n"
        "    cases: [{name: a, dtypes: [float32], inputs: {x: 'ones(2)'}}]\n"
    )
    ran = c10("validate", "--format", "json")
    assert (ran.code, ran.json["ok"], ran.json["counts"]["run"]) == (0, True, 1)
    assert {(d["code"], d["severity"]) for d in ran.json["diagnostics"]} == {("C10W351", "warning")}


def test_a_kernel_that_takes_its_process_down_spares_the_others(c10, demo):
    kernels = demo.parent / "k.py"
    kernels.write_text(kernels.read_text() + "\ndef dies(x):\n    import os\n    os._exit(7)\n")
    demo.write_text(
        demo.read_text().replace("k.py:triple, name: odd, requires: [no_such_package]", "k.py:dies")
    )
    ran = c10("validate")
    assert ran.code == 1
    assert "kernel `dies` of `demo::double` ended its process" in ran.err
    assert "  results  1 kernel run" in ran.out


def test_a_manifest_that_is_not_there_has_nothing_to_count(c10, folder):
    ran = c10("validate", "gone.yaml")
    assert (ran.code, ran.out) == (3, "1 finding\n")
    assert ran.err.startswith("error[C10E101]: manifest `gone.yaml` does not exist\n  = help: ")
    ran = c10("validate", "gone.yaml", "--format", "json")
    assert (ran.code, ran.json["ok"]) == (3, False)


def test_of_an_empty_registry_nothing_was_checked(c10, folder):
    (folder / "registry.yaml").write_text("version: 1\noperators: []\n")
    ran = c10("validate")
    assert (ran.code, ran.err) == (4, "")
    assert ran.out.startswith("registry.yaml: 0 operators, 0 kernels\n")
    assert ran.out.endswith("no operators, so nothing was checked\n")


NOTHING = {
    "no cases": ("CPU: k.py:same", [], []),
    "no device": ("CUDA: k.py:same", [], ["cases: [{name: a, inputs: {x: randn(2)}}]"]),
    "nothing to bind": ("CPU: {kernel: k.py:same, requires: [no_such_package]}", ["--no-run"], []),
}


@pytest.mark.parametrize(("kernel", "option", "more"), NOTHING.values(), ids=NOTHING)
def test_where_nothing_asked_for_was_done_the_exit_code_says_so(
    c10, folder, monkeypatch, kernel, option, more
):
    monkeypatch.setattr(devices, "cuda_driver_reason", lambda: "no CUDA driver found")
    monkeypatch.setattr(devices, "_device_of", devices._device_of.__wrapped__)
    (folder / "k.py").write_text("def same(x):\n    return x.copy()\n")
    fields = ['schema: "d::same(Tensor x) -> Tensor"', f"kernels: {{{kernel}}}", *more]
    (folder / "registry.yaml").write_text("version: 1\noperators:\n  - " + "\n    ".join(fields) + "\n")
    ran = c10("validate", *option)
    what = "bound" if option else "run"
    assert (ran.code, ran.err) == (4, "")
    assert ran.out.endswith(f"no kernel was {what}, so nothing was checked\n")
    annotations = c10("validate", *option, "--format", "github").out.splitlines()
    assert annotations[-1] == f"::error title=nothing was checked::no kernel was {what}"
    ran = c10("validate", "--static")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "no findings")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_names_the_kernel_as_it_is_on_a_terminal_only(monkeypatch):
    screen, pipe = Terminal(), io.StringIO()
    for stream in (screen, pipe):
        monkeypatch.setattr(sys, "stderr", stream)
        with Session().progress() as begins:
            begins("demo::double CPU a[b]")
    assert "demo::double CPU a[b]" in screen.getvalue()
    assert pipe.getvalue() == ""


def test_the_shipped_registry_binds(c10):
    ran = c10("validate", ROOT / "registry.yaml", "--no-run", "--format", "json")
    assert (ran.code, ran.json["diagnostics"]) == (0, [])
    assert ran.json["counts"]["static"] == ran.json["counts"]["kernels"]


def manifest_of(count, kernel):
    lines = [
        f'  - {{schema: "d::f{n}(Tensor x) -> Tensor", kernels: {{CPU: {kernel.format(n=n)}}}}}'
        for n in range(count)
    ]
    return "\n".join(["version: 1", "operators:", *lines, ""])


@pytest.mark.parametrize("options", [(), ("--static",)])
def test_a_file_that_is_not_there_is_one_finding_for_all_that_name_it(c10, folder, options):
    Path("registry.yaml").write_text(manifest_of(71, "gone.py:f{n}"))
    (found,) = c10("validate", *options, "--format", "json").json["diagnostics"]
    assert found["message"] == "kernel file `gone.py` does not exist (kernel of `d::f0`)"
    places = "registry.yaml:4:58, registry.yaml:5:58, registry.yaml:6:58"
    assert found["notes"] == [f"the same at 70 more places: {places}, and 67 more"]
    shown = c10("validate", *options)
    assert (shown.err.count("error["), shown.out.splitlines()[-1]) == (1, "1 finding")


def test_a_module_that_is_not_installed_is_one_finding_for_all_files_that_import_it(c10, folder):
    for n in range(45):
        Path(f"k{n}.py").write_text("import no_such_module\ndef f(x):\n    return x\n")
    Path("registry.yaml").write_text(manifest_of(45, "k{n}.py:f"))
    (found,) = c10("validate", "--format", "json").json["diagnostics"]
    assert "No module named 'no_such_module'" in found["message"]
    assert found["notes"][0].startswith("the same at 44 more places: ")


def test_of_thousands_of_findings_a_hundred_are_told_and_the_others_counted(c10, folder):
    Path("registry.yaml").write_text(f"version: 1\noperators: [{','.join('1' * 8000)}]\n")
    ran = c10("validate")
    assert ran.err.count("error[C10E106]") == 100
    assert "= note: 7900 more findings in `registry.yaml`" in ran.err
    assert ran.out == "8000 findings\n"
    assert max(map(len, ran.err.splitlines())) < 120
    assert len(c10("validate", "--format", "json").out) < 120_000
