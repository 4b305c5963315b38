"""A manifest that extends another's operators, through every command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"

KERNELS = '''
def plain(x, y):
    return x + y


def fast(x, y):
    """The same, faster."""
    return y + x


def wrong(x, y):
    return x - y
'''
BASE = """\
version: 1
operators:
  - schema: "demo::add(Tensor x, Tensor y) -> Tensor"
    kernels: {CPU: k.py:plain}
    reference: k.py:plain
    tolerance: {float32: {rtol: 1.0e-6, atol: 0.0}}
    cases: [{name: small, inputs: {x: "randn(4)", y: "randn(4)"}}]
"""
FAST = """\
version: 1
include: [../base/registry.yaml]
operators:
  - operator: "demo::add"
    kernels:
      CUDA: {kernel: k.py:fast, requires: [no_such_package]}
      CPU: k.py:fast
    override: {CPU: twice as fast}
    cases: [{name: mine, inputs: {x: "randn(3)", y: "randn(3)"}}]
roots: [..]
"""


@pytest.fixture
def fast(folder):
    """A manifest in ``fast/`` that extends the one in ``base/``, each with its own kernels."""
    for name, text in (("base", BASE), ("fast", FAST)):
        (folder / name).mkdir()
        (folder / name / "k.py").write_text(KERNELS)
        (folder / name / "registry.yaml").write_text(text)
    return folder / "fast" / "registry.yaml"


def test_list_shows_the_keys_of_all(c10, fast):
    ran = c10("list", "--registry", "fast/registry.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "demo::add  CPU CUDA  (Tensor x, Tensor y) -> Tensor\n"


def test_validate_runs_every_kernel_on_every_case(c10, fast):
    ran = c10("validate", "fast/registry.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "1 operator, 3 kernels" in ran.out
    assert "2 kernels run, 4 calls compared with the reference" in ran.out


def test_validate_finds_a_wrong_kernel_at_its_place(c10, fast):
    fast.write_text(FAST.replace("CPU: k.py:fast", "CPU: k.py:wrong"))
    ran = c10("validate", "fast/registry.yaml")
    assert ran.code == 1
    assert "kernel `wrong` of `demo::add` differs from the reference" in ran.err
    assert "--> fast/registry.yaml:7:12" in ran.err


def test_call_takes_the_override_and_knows_the_others_as_variants(c10, fast):
    fast.write_text(FAST.replace("CPU: k.py:fast", "CPU: k.py:wrong"))
    words = ("--registry", "fast/registry.yaml", "call", "add", "ones(2)", "ones(2)")
    assert c10(*words).out == "float32[2]\n[0., 0.]\n"
    assert "2., 2." in c10(*words, "--variant", "plain").out


def test_explain_names_the_variants_of_both(c10, fast):
    out = c10("--registry", "fast/registry.yaml", "explain", "add", "ones(2)", "ones(2)").out
    assert "Kernel: fast  k.py:fast" in out
    assert "taken: the best of 2; override: twice as fast" in out
    assert "plain  k.py:plain: `fast` comes before it" in out


def test_bench_measures_the_cases_of_both(c10, fast):
    words = ("bench", "--registry", "fast/registry.yaml", "--time", "0.01", "--format", "json")
    ran = c10(*words)
    assert ran.code == 0, ran.err
    assert sorted(case["id"] for case in ran.json["run"]["cases"]) == [
        "demo::add/CPU/fast/mine/float32",
        "demo::add/CPU/fast/small/float32",
        "demo::add/CPU/plain/mine/float32",
        "demo::add/CPU/plain/small/float32",
    ]


def test_diff_compares_the_operators_as_extended(c10, fast):
    ran = c10("diff", "base/registry.yaml", "fast/registry.yaml")
    assert ran.code == 0
    assert ran.out.startswith(
        "note[kernel-added]: `demo::add`, the `CUDA` kernels: there is a kernel for `CUDA` now\n"
        " --> fast/registry.yaml:6:7\n"
    )
    back = c10("diff", "fast/registry.yaml", "base/registry.yaml")
    assert back.code == 1
    assert "no kernel is left for `CUDA`" in back.out


def test_export_writes_a_module_for_the_operators_as_extended(c10, fast):
    ran = c10("export", "--to", "torch", "--registry", "fast/registry.yaml", "--save", "ops_of_demo.py")
    assert (ran.code, ran.err) == (0, "")
    assert "'fast/registry.yaml'" in Path("ops_of_demo.py").read_text()


def test_the_including_file_may_be_the_one_that_defines(c10, fast):
    base = fast.parents[1] / "base" / "registry.yaml"
    base.write_text(BASE + "include: [../fast/registry.yaml]\nroots: [..]\n")
    fast.write_text(FAST.replace("include: [../base/registry.yaml]\n", ""))
    ran = c10("validate", "base/registry.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "2 kernels run, 4 calls compared with the reference" in ran.out


def test_a_manifest_that_extends_what_nobody_defines_is_refused(c10, fast):
    fast.write_text(FAST.replace("include: [../base/registry.yaml]\n", ""))
    ran = c10("list", "--registry", "fast/registry.yaml")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "error[C10E303]: operator `demo::add`, which this entry extends, is defined by no manifest\n"
        " --> fast/registry.yaml:3:15\n"
        "  |\n"
        '3 |   - operator: "demo::add"\n'
        "  |               ^^^^^^^^^^^\n"
        "  = help: include the manifest that defines it, or name the one that includes this\n"
    )


LISTING = [
    ["list"],
    ["show", "add"],
    ["call", "add", "ones(2)", "ones(2)"],
    ["explain", "add"],
    ["bench"],
    ["export", "--to", "torch", "--save", "ops_of_demo.py"],
]
MINE = """\
version: 1
include: [{}]
operators:
  - {{operator: "demo::add", kernels: {{CUDA: k.py:plain}}}}
"""


@pytest.fixture
def mine(fast):
    """`mine("a.yaml")`: a manifest ``mine.yaml`` that includes it and extends the operator too."""

    def mine(include):
        path = fast.parents[1] / "mine.yaml"
        path.write_text(MINE.format(include))
        return path

    return mine


@pytest.mark.parametrize("words", LISTING)
def test_who_includes_an_extension_gives_the_reason_to_come_before_it(c10, mine, words):
    """Otherwise what is included would be silently left out, though it was there first."""
    ran = c10(*words, "--registry", mine("base/registry.yaml, fast/registry.yaml"))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error[C10E302]: `demo::add` has `CUDA` kernels from another manifest too\n")
    assert "mine.yaml:4:39" in ran.err
    assert ran.err.count("error[") == 1


@pytest.mark.parametrize("words", [*LISTING, ["validate"]])
@pytest.mark.parametrize(
    ("include", "fault", "code"),
    [
        ("gone.yaml", "error[C10E101]: manifest `gone.yaml` does not exist", 3),
        ("bad.yaml", "error[C10E102]: not YAML", 1),
        ("base/registry.yaml", "error[C10E104]: field `kernel` of `demo::add` is unknown", 1),
    ],
)
def test_a_fault_of_an_include_is_shown_with_what_follows_from_it(
    c10, fast, mine, words, include, fault, code
):
    Path("bad.yaml").write_text("a: [\n")
    Path("base/registry.yaml").write_text(BASE.replace("kernels:", "kernel:"))
    words = [*words, mine(include)] if words == ["validate"] else [*words, "--registry", mine(include)]
    ran = c10(*words)
    assert ran.code == code
    assert ran.err.startswith(fault)
    cause, _, derived = ran.err.partition("error[C10E303]: operator `demo::add`")
    assert "included at" in cause
    assert f"  = help: correct `{include}`\n" in derived


def test_what_is_overridden_can_be_overridden_by_who_includes_it(c10, mine):
    path = mine("fast/registry.yaml")
    path.write_text(path.read_text().replace("CUDA: k.py:plain}", "CPU: k.py:wrong}, override: {CPU: newer}"))
    Path("k.py").write_text(KERNELS)
    ran = c10("explain", "add", "ones(2)", "ones(2)", "--registry", path)
    assert (ran.code, ran.err) == (0, "")
    assert "taken: the best of 3; override: newer" in ran.out
    assert "fast  k.py:fast: `wrong` comes before it; override: twice as fast" in ran.out
    assert "plain  k.py:plain: `wrong` comes before it\n" in ran.out
    assert c10("call", "add", "ones(2)", "ones(2)", "--registry", path).out == "float32[2]\n[0., 0.]\n"


@pytest.mark.parametrize("words", LISTING[:4] + LISTING[5:])
def test_json_has_the_includes_that_are_left_out(c10, fast, words):
    root = fast.parents[1] / "registry.yaml"
    root.write_text("version: 1\ninclude: [base/registry.yaml]\n")
    assert c10(*words, "--format", "json").json["disabled"] == []
    fast.write_text(FAST.replace("demo::add", "demo::ad"))
    root.write_text("version: 1\ninclude:\n  - base/registry.yaml\n  - fast/registry.yaml\n  - gone.yaml\n")
    ran = c10(*words, "--format", "json", *(["--force"] if "export" in words else []))
    assert ran.code == 0
    gone, extension = ran.json["disabled"]
    assert (gone["path"], gone["file"], gone["line"]) == ("gone.yaml", "registry.yaml", 5)
    (fault,) = gone["diagnostics"]
    assert (fault["code"], fault["message"]) == ("C10E101", "manifest `gone.yaml` does not exist")
    assert (extension["path"], extension["line"]) == ("fast/registry.yaml", 4)
    (fault,) = extension["diagnostics"]
    assert (fault["code"], fault["file"], fault["line"]) == ("C10E303", "fast/registry.yaml", 4)


def test_the_json_of_a_run_has_the_includes_that_are_left_out(c10, fast):
    root = fast.parents[1] / "registry.yaml"
    root.write_text("version: 1\ninclude: [base/registry.yaml, gone.yaml]\n")
    ran = c10("bench", "--time", "0.01", "--format", "json")
    assert ran.code == 0, ran.err
    assert [entry["path"] for entry in ran.json["disabled"]] == ["gone.yaml"]


def test_json_of_an_error_or_without_a_registry_has_no_list_of_its_own_for_them(c10, fast):
    root = fast.parents[1] / "registry.yaml"
    root.write_text("version: 1\ninclude: [base/registry.yaml, gone.yaml]\n")
    error = c10("show", "nope", "--format", "json").json
    assert list(error) == ["format", "diagnostics"]
    assert [d["code"] for d in error["diagnostics"]] == ["C10E101", "C10E401"]
    assert "disabled" not in c10("explain", "C10E101", "--format", "json").json


def test_a_broken_extension_leaves_the_rest_usable(c10, fast):
    root = fast.parents[1] / "registry.yaml"
    fast.write_text(FAST.replace("demo::add", "demo::ad"))
    root.write_text("version: 1\ninclude: [base/registry.yaml, fast/registry.yaml]\n")
    ran = c10("call", "add", "ones(2)", "ones(2)")
    assert ran.code == 0
    assert "2., 2." in ran.out
    assert "error[C10E303]: operator `demo::ad`" in ran.err
    assert "= note: included at registry.yaml:2:31" in ran.err
    assert "= help: did you mean `demo::add`?" in ran.err
    assert c10("validate").code == 1


def test_the_readmes_example_extends_the_readmes_registry(c10, folder):
    text = README.read_text(encoding="utf-8")
    for name, content in re.findall(r"^```(?:yaml|python) (\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content)
    ran = c10("validate", "site.yaml")
    assert (ran.code, ran.err) == (0, "")
    out = c10("show", "scale", "--registry", "site.yaml").out
    assert "registered: the best of 3; override: numba takes seconds to start" in out
    assert "`plain` comes before it" in out
