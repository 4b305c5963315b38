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


def test_explain_names_the_candidates_of_both(c10, fast):
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
    base.write_text(BASE + "include: [../fast/registry.yaml]\n")
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
        "  = help: include the manifest that defines it\n"
    )


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
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    Path("fast").mkdir()
    Path("fast/scale.py").write_text("def scale_in_blocks(self, *, by):\n    return self * by\n")
    Path("mine.yaml").write_text(example)
    ran = c10("validate", "mine.yaml")
    assert (ran.code, ran.err) == (0, "")
    out = c10("show", "scale", "--registry", "mine.yaml").out
    assert "registered: best; override: half the time on long rows" in out
