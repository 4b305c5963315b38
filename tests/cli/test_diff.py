from __future__ import annotations

import shutil
import subprocess

import pytest

from c10cli.interop import torch_import

OLD = """\
version: 1
operators:
  - schema: "d::f(Tensor x, int n=1) -> Tensor"
    kernels: {CPU: k.py:f, CUDA: k.py:g}
  - schema: "d::gone(Tensor x) -> Tensor"
  - schema: "d::same(Tensor x) -> Tensor"
"""
NEW = """\
version: 1
operators:
  - schema: "d::f(Tensor x, int n=2, *, int k=0) -> Tensor"
    kernels: {CPU: k.py:f}
    waive:
      - {breaks: kernel-removed CUDA, reason: nobody has one, until: 2999-12-31}
      - {breaks: argument-default, reason: too late, until: 2000-01-01}
      - {breaks: return-type, reason: never mind, until: 2999-12-31}
  - schema: "d::same(Tensor x) -> Tensor"
  - schema: "d::fresh(Tensor x) -> Tensor"
"""

SHOWN = """\
error[C10E210]: `d::f`, argument 1 `n`: the default of `n` is `2`, and was `1`
 --> new.yaml:3:29
  |
3 |   - schema: "d::f(Tensor x, int n=2, *, int k=0) -> Tensor"
  |                             ^^^^^^^ argument-default
  = note: was `int n=1` at old.yaml:3:29
  = note: not backward compatible, not forward compatible: calls that leave it out compute something else
  = note: its waiver expired on 2000-01-01, at new.yaml:7:18: too late
  = help: keep the default `1`

note[argument-added]: `d::f`, argument 2 `k`: `int k=0` is added
 --> new.yaml:3:41
  = note: old side: old.yaml:3:13
  = note: backward compatible, forward compatible: calls that do not pass `k` get its default

waived[kernel-removed]: `d::f`, the `CUDA` kernels: no kernel is left for `CUDA`
 --> new.yaml:3:13
  = note: was `CUDA` at old.yaml:4:28
  = note: not backward compatible, forward compatible: calls with tensors of `CUDA` find no kernel
  = note: waived until 2999-12-31, at new.yaml:6:18: nobody has one

note[operator-added]: `d::fresh` is added
 --> new.yaml:10:13
  = note: backward compatible, not forward compatible: nobody calls it yet, and the old side does not have it

error[C10E210]: `d::gone` is removed
 --> old.yaml:5:13
  |
5 |   - schema: "d::gone(Tensor x) -> Tensor"
  |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ operator-removed
  = note: not backward compatible, forward compatible: calls of it find no operator
  = help: keep it until its callers have moved to another

note[waiver]: `d::f`: the waiver of `return-type` matches no break; remove it
 --> new.yaml:8:18

2 changes that break callers, 1 waived, 2 compatible; 1 operator unchanged
"""


@pytest.fixture
def sides(folder):
    (folder / "old.yaml").write_text(OLD)
    (folder / "new.yaml").write_text(NEW)
    return folder


def manifest(*schemas):
    return "version: 1\noperators:\n" + "".join(f'  - schema: "{schema}"\n' for schema in schemas)


def test_every_change_is_shown_with_places_verdict_reason_and_what_to_do(c10, sides):
    ran = c10("diff", "old.yaml", "new.yaml")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out == SHOWN


def test_without_a_break_the_exit_code_is_0(c10, folder):
    (folder / "old.yaml").write_text(manifest("d::f(Tensor x) -> Tensor"))
    (folder / "new.yaml").write_text(manifest("d::f(Tensor x, *, int n=1) -> Tensor"))
    ran = c10("diff", "old.yaml", "new.yaml")
    assert ran.code == 0
    assert ran.out.endswith("\n1 compatible; 0 operators unchanged\n")
    ran = c10("diff", "new.yaml", "old.yaml")
    assert ran.code == 1
    assert ran.out.endswith("\n1 change that breaks callers; 0 operators unchanged\n")


def test_two_equal_sides_have_no_changes(c10, sides):
    ran = c10("diff", "old.yaml", "old.yaml")
    assert (ran.code, ran.out, ran.err) == (0, "no changes in 3 operators\n", "")


WAIVED = """\
version: 1
operators:
  - schema: "d::f(Tensor x, int n=1) -> Tensor"
    kernels: {CPU: k.py:f, CUDA: k.py:g, Meta: k.py:f}
  - schema: "d::same(Tensor x) -> Tensor"
waive:
  - {operator: "d::gone", breaks: operator-removed, reason: nobody calls it, until: 2999-12-31}
  - {operator: "d::same", breaks: operator-removed, reason: never mind, until: 2999-12-31}
"""
SHOWN_WAIVED = """\
note[kernel-added]: `d::f`, the `Meta` kernels: there is a kernel for `Meta` now
 --> new.yaml:4:42
  = note: old side: old.yaml:3:13
  = note: backward compatible, not forward compatible: \
calls with tensors of `Meta` found no kernel on the old side

waived[operator-removed]: `d::gone` is removed
 --> old.yaml:5:13
  = note: not backward compatible, forward compatible: calls of it find no operator
  = note: waived until 2999-12-31, at new.yaml:7:35: nobody calls it

note[waiver]: `d::same`: the waiver of `operator-removed d::same` matches no break; remove it
 --> new.yaml:8:35

1 waived, 1 compatible; 1 operator unchanged
"""


def test_a_removed_operator_is_waived_in_the_manifest_and_a_new_kernel_breaks_nobody(c10, sides):
    (sides / "new.yaml").write_text(WAIVED)
    ran = c10("diff", "old.yaml", "new.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == SHOWN_WAIVED
    (sides / "new.yaml").write_text(WAIVED.replace("2999-12-31", "2000-01-01"))
    ran = c10("diff", "old.yaml", "new.yaml")
    assert (ran.code, ran.err) == (1, "")
    assert "its waiver expired on 2000-01-01, at new.yaml:7:35: nobody calls it" in ran.out


def test_a_fault_in_a_waiver_of_the_manifest_is_told_beside_the_changes(c10, sides):
    (sides / "new.yaml").write_text(WAIVED.replace('operator: "d::gone", ', "").replace("until", "til", 1))
    ran = c10("diff", "old.yaml", "new.yaml")
    assert ran.code == 1
    assert "error[C10E210]: `d::gone` is removed" in ran.out
    assert [line for line in ran.err.splitlines() if line.startswith("error")] == [
        "error[C10E105]: field `operator` of waiver 1 of the manifest is missing",
        "error[C10E104]: field `til` of waiver 1 of the manifest is unknown",
    ]


def test_a_needed_out_argument_breaks_callers_and_says_what_torch_thinks(c10, folder):
    (folder / "old.yaml").write_text(manifest("d::f(Tensor x) -> Tensor"))
    (folder / "new.yaml").write_text(manifest("d::f(Tensor x, *, Tensor(a!) out) -> Tensor"))
    ran = c10("diff", "old.yaml", "new.yaml")
    assert ran.code == 1
    assert "not backward compatible, not forward compatible: calls do not pass `out`" in ran.out
    assert "torch counts what is added behind the other arguments of an out overload as compatible" in ran.out
    assert "= help: declare the new schema as another overload, and keep this one" in ran.out


def test_where_torch_calls_a_break_forward_compatible_the_reason_is_said(c10, folder):
    (folder / "old.yaml").write_text(manifest("d::f(Tensor x, int n) -> Tensor", "d::g(Tensor x) -> Tensor"))
    (folder / "new.yaml").write_text(manifest("d::f(Tensor x) -> Tensor", "d::g(Tensor x) -> Tensor[]"))
    ran = c10("diff", "old.yaml", "new.yaml")
    assert ran.code == 1
    assert (
        "torch reports such a change as forward compatible, but the old schema needs the argument" in ran.out
    )
    assert "torch does not look at returns here and calls every such change forward compatible" in ran.out


def test_json_has_both_places_and_the_waiver(c10, sides):
    ran = c10("diff", "old.yaml", "new.yaml", "--format", "json")
    assert (ran.code, ran.err) == (1, "")
    found = ran.json
    assert found["format"] == "c10.diff/1"
    assert (found["old"], found["new"], found["ok"]) == ("old.yaml", "new.yaml", False)
    assert found["counts"] == {
        "breaks": 2,
        "waived": 1,
        "changes": 5,
        "unchanged_operators": 1,
        "not_compared": 0,
    }
    assert found["diagnostics"] == []
    first, _, waived, fresh, gone = found["findings"]
    assert first == {
        "operator": "d::f",
        "what": "argument-default",
        "where": "argument 1 `n`",
        "message": "the default of `n` is `2`, and was `1`",
        "backward": False,
        "forward": False,
        "breaks": True,
        "why": "calls that leave it out compute something else",
        "todo": "keep the default `1`",
        "old": {"file": "old.yaml", "line": 3, "column": 29, "end_column": 36, "text": "int n=1"},
        "new": {"file": "new.yaml", "line": 3, "column": 29, "end_column": 36, "text": "int n=2"},
        "waiver": {"reason": "too late", "until": "2000-01-01", "holds": False},
    }
    assert waived["waiver"] == {"reason": "nobody has one", "until": "2999-12-31", "holds": True}
    assert (waived["backward"], waived["breaks"]) == (False, False)
    assert (fresh["old"], gone["new"], fresh["waiver"]) == (None, None, None)
    (unused,) = found["unused_waivers"]
    assert (unused["operator"], unused["breaks"], unused["subject"]) == ("d::f", "return-type", None)
    assert unused["place"]["line"] == 8


def test_github_gets_one_annotation_for_each_change(c10, sides):
    ran = c10("diff", "old.yaml", "new.yaml", "--format", "github")
    lines = ran.out.splitlines()
    assert [line.partition("::")[2].partition("::")[0] for line in lines] == [
        "error title=C10E210,file=new.yaml,line=3,col=29,endColumn=36",
        "notice title=argument-added,file=new.yaml,line=3,col=41,endColumn=48",
        "notice title=kernel-removed,file=new.yaml,line=3,col=13,endColumn=60",
        "notice title=operator-added,file=new.yaml,line=10,col=13,endColumn=43",
        "error title=C10E210",
        "warning title=waiver,file=new.yaml,line=8,col=18,endColumn=29",
    ]
    assert lines[0].endswith("%0Ahelp: keep the default `1`")
    assert ran.code == 1


@pytest.mark.parametrize("sides_given", [("nope.yaml", "new.yaml"), ("new.yaml", "nope:new.yaml")])
def test_a_side_that_cannot_be_read_ends_with_3(c10, sides, sides_given):
    ran = c10("diff", *sides_given)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error[C10E101]: ")


def test_what_can_be_compared_is_and_the_rest_is_named_and_ends_with_3(c10, folder):
    schemas = ["d::f(Tensor x) -> Tensor", "d::g(Tensor x) -> Tensor", "d::h(Tensor x) -> Tensor"]
    (folder / "old.yaml").write_text(manifest(*schemas))
    (folder / "bad.yaml").write_text(
        manifest(*(s.replace("-> Tensor", "-> Tensr") for s in schemas[:2]), schemas[2])
    )
    ran = c10("diff", "old.yaml", "bad.yaml")
    assert (ran.code, ran.out) == (3, "no changes in 1 operator; 2 not compared\n")
    assert ran.err.splitlines()[:2] == ["error[C10E204]: unknown type `Tensr`", " --> bad.yaml:3:32"]
    assert ran.err.count("error[") == 1
    assert "  = note: 2 operators not compared: `d::f`, `d::g`\n" in ran.err
    ran = c10("diff", "old.yaml", "bad.yaml", "--format", "json")
    assert (ran.code, ran.json["ok"], ran.json["counts"]["not_compared"]) == (3, False, 2)
    (found,) = ran.json["diagnostics"]
    assert (found["code"], found["line"], found["not_compared"]) == ("C10E204", 3, ["d::f", "d::g"])
    ran = c10("diff", "old.yaml", "bad.yaml", "--format", "github")
    assert (ran.code, ran.err) == (3, "")
    assert ran.out.startswith("::error title=C10E204,file=bad.yaml,line=3,col=32,endColumn=37::unknown type")


def test_a_break_beside_what_cannot_be_compared_ends_with_1(c10, folder):
    (folder / "old.yaml").write_text(manifest("d::f(Tensor x) -> Tensor", "d::g(Tensor x) -> Tensor"))
    (folder / "bad.yaml").write_text(manifest("d::f(Tensr x) -> Tensor", "d::g(Tensor x) -> ()"))
    ran = c10("diff", "old.yaml", "bad.yaml")
    assert ran.code == 1
    assert ran.out.endswith("1 change that breaks callers; 0 operators unchanged; 1 not compared\n")


def test_of_very_many_causes_a_hundred_are_told_and_the_others_counted(c10, folder):
    (folder / "old.yaml").write_text("".join(f"- func: f{i}(Tensor x) -> ()\n" for i in range(300)))
    (folder / "new.yaml").write_text("".join(f"- func: f{i}(Odd{i} x) -> ()\n" for i in range(300)))
    ran = c10("diff", "old.yaml", "new.yaml")
    assert (ran.code, ran.out) == (3, "no changes in 0 operators; 300 not compared\n")
    assert ran.err.count("error[") == 100
    assert "note: 200 more findings in `new.yaml`" in ran.err
    assert len(c10("diff", "old.yaml", "new.yaml", "--format", "json").json["diagnostics"]) == 300


def test_a_stale_case_hinders_no_comparison(c10, sides):
    case = "    cases: [{name: a, inputs: {gone: 1}}]\n"
    (sides / "stale.yaml").write_text(OLD + case)
    ran = c10("diff", "old.yaml", "stale.yaml")
    assert (ran.code, ran.out) == (0, "no changes in 3 operators\n")
    assert ran.err.startswith("error[C10E105]: argument `x` is missing in the inputs of case `a`")


@pytest.mark.parametrize("text", ["operators: [\n", "text\n", "3\n"])
def test_what_is_no_side_at_all_ends_with_3_and_an_annotation(c10, sides, text):
    (sides / "bad.yaml").write_text(text)
    assert c10("diff", "bad.yaml", "new.yaml").code == 3
    ran = c10("diff", "bad.yaml", "nope.yaml", "--format", "github")
    assert (ran.code, ran.err) == (3, "")
    assert [line.partition(" ")[0] for line in ran.out.splitlines()] == ["::error", "::error"]


def test_standard_input_is_one_of_the_sides(c10, sides):
    ran = c10("diff", "old.yaml", "-", stdin=(sides / "new.yaml").read_bytes())
    assert (ran.code, ran.out) == (1, SHOWN.replace("new.yaml", "<stdin>"))
    ran = c10("diff", "-", "-")
    assert (ran.code, "standard input can be one of the sides only" in ran.err) == (2, True)
    ran = c10("diff", "old.yaml", "-", "--format", "github", stdin=(sides / "new.yaml").read_bytes())
    assert "file=" not in ran.out


def test_the_installed_torch_is_a_side(c10, folder, torch):
    path = folder / "torch"  # a file of that name is `./torch`
    path.write_text("- func: relu(Tensor self) -> Tensor\n- func: numel(Tensor self, int n) -> int\n")
    ran = c10("diff", "./torch", "torch", "--format", "json")
    assert ran.code == 1
    breaks = [f for f in ran.json["findings"] if f["breaks"]]
    assert [(f["operator"], f["what"]) for f in breaks] == [("aten::numel", "argument-removed")]
    assert breaks[0]["new"]["file"] == f"<torch {torch.__version__}>"
    assert len(ran.json["findings"]) > 3000
    assert ran.json["counts"]["unchanged_operators"] == 1


def test_without_torch_it_is_no_side(c10, sides, monkeypatch):
    monkeypatch.setattr(torch_import, "is_installed", lambda package: False)
    ran = c10("diff", "old.yaml", "torch")
    assert (ran.code, ran.out) == (3, "")
    assert "there is no torch" in ran.err


@pytest.mark.parametrize("words", [[], ["one.yaml"], ["one.yaml", "two.yaml", "three.yaml"]])
def test_two_sides_must_be_given(c10, folder, words):
    assert c10("diff", *words).code == 2


def test_native_functions_are_compared_in_torchs_dialect(c10, folder):
    (folder / "old.yaml").write_text("- func: rand(int[] size, *, Tensor! out) -> Tensor\n")
    (folder / "new.yaml").write_text("- func: rand(SymInt[] size, *, Tensor! out) -> Tensor?\n")
    ran = c10("diff", "old.yaml", "new.yaml", "--format", "json")
    assert [(f["where"], f["what"], f["breaks"]) for f in ran.json["findings"]] == [
        ("argument 0 `size`", "argument-type", False),
        ("return 0", "return-type", True),
    ]


def test_a_revision_is_compared_with_the_working_tree(c10, sides, monkeypatch, needs_program):
    needs_program("git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(sides.parent))
    who = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q", "."], ["add", "old.yaml"], [*who, "commit", "-q", "-m", "m"]):
        subprocess.run(["git", *words], check=True, capture_output=True)
    shutil.move("new.yaml", "old.yaml")
    ran = c10("diff", "HEAD:old.yaml", "old.yaml")
    assert ran.code == 1
    assert ran.out == SHOWN.replace("old.yaml", "HEAD:old.yaml").replace("new.yaml", "old.yaml")
