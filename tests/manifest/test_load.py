import difflib
import gc
import textwrap

import pytest

from c10cli.errors import ManifestError
from c10cli.manifest.load import load_manifest, require_manifest

RELU = """\
version: 1
operators:
  - schema: "c10::relu(Tensor self) -> Tensor"
    kernels: {CPU: kernels/relu.py:relu_cpu}
"""
MANY_FAULTS = """\
version: 2
owner: somebody
operators:
  - schema: "c10::relu(Tensor self) -> Tensr"
    kernels:
      CPU: kernels/relu.py:relu
      CPU: kernels/relu.py:relu_fast
      Cuda: kernels/relu.py:relu_cuda
  - schema: "c10::gelu(Tensor self) -> Tensor"
    kernels: {CPU: ../gelu.py:gelu}
    sumary: Smooth.
    tolerance: {float32: {rtol: 1e-5}}
  - summary: nothing
  - schema: "c10::gelu(Tensor self, int n) -> Tensor"
    cases: none
"""


def write(folder, text, name="registry.yaml"):
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def found(result):
    """The findings as code and place, without the folder."""
    return [(f.code, f.span.line, f.span.column) for f in result.diagnostics]


def test_a_manifest_without_faults(tmp_path):
    result = load_manifest(write(tmp_path, RELU))
    assert result.diagnostics == ()
    (operator,) = result.manifest.operators
    assert str(operator.name) == "c10::relu"
    assert operator.kernels[0].entry_point.path == tmp_path / "kernels" / "relu.py"


def test_eleven_faults_are_reported_in_one_run_in_order_of_position(tmp_path):
    result = load_manifest(write(tmp_path, MANY_FAULTS))
    assert (
        found(result)
        == [
            ("C10E107", 1, 10),
            ("C10E104", 2, 1),
            ("C10E204", 4, 40),
            ("C10E103", 7, 7),
            ("C10E108", 8, 7),
            ("C10E109", 10, 20),
            ("C10E104", 11, 5),
            ("C10E105", 12, 26),
            ("C10E105", 13, 5),
            ("C10E301", 14, 13),
            ("C10E106", 15, 12),
        ][: len(found(result))]
    )
    assert len(result.diagnostics) == 11
    assert [f.message for f in result.diagnostics] == [
        "manifest version must be the integer 1, not the integer 2",
        "field `owner` of the manifest is unknown",
        "unknown type `Tensr` in the schema of `c10::relu`",
        "key `CPU` is given twice in `kernels` of `c10::relu`",
        "dispatch key `Cuda` of `c10::relu` is unknown",
        "entry point `../gelu.py:gelu` leaves the folder of the manifest",
        "field `sumary` of `c10::gelu` is unknown",
        "field `atol` of the `float32` tolerance of `c10::gelu` is missing",
        "field `schema` of operator 3 is missing",
        "operator `c10::gelu` is defined twice",
        "`cases` of `c10::gelu` must be a list, not a string",
    ]


def test_near_names_are_offered(tmp_path):
    helps = {f.code: f.help for f in load_manifest(write(tmp_path, MANY_FAULTS)).diagnostics}
    assert helps["C10E108"] == "did you mean `CUDA`?"
    assert helps["C10E104"] == "did you mean `summary`?"


def test_what_can_be_read_is_there_despite_the_faults(tmp_path):
    manifest = load_manifest(write(tmp_path, MANY_FAULTS)).manifest
    assert [str(operator.name) for operator in manifest.operators] == ["c10::gelu"]


def test_a_repeated_dispatch_key_names_both_places(tmp_path):
    path = write(tmp_path, MANY_FAULTS)
    finding = next(f for f in load_manifest(path).diagnostics if f.code == "C10E103")
    assert finding.notes == (f"the first is at {path}:6:7", "YAML would silently keep the last of the two")
    assert finding.label == "second one"


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "C10E106", "must be a mapping with `version` and `operators`, but is empty"),
        ("~\n", "C10E106", "but is empty"),
        ("just words\n", "C10E106", "but is a string"),
        ("- 1\n", "C10E106", "but is a list"),
        ("version: 1\n", "C10E105", "field `operators` of the manifest is missing"),
        ("operators: []\n", "C10E105", "field `version` of the manifest is missing"),
        ("version: 1\noperators:\n", "C10E106", "`operators` must be a list, not null"),
        ("version: 1\noperators: {a: 1}\n", "C10E106", "`operators` must be a list, not a mapping"),
        ("version: 1\noperators: [x]\n", "C10E106", "operator 1 must be a mapping, not a string"),
        ("version: '1'\noperators: []\n", "C10E107", "not a string"),
        ("version: 1.0\noperators: []\n", "C10E107", "not a float"),
        ("version: true\noperators: []\n", "C10E107", "not the boolean `true`"),
        ("version: 3\noperators: []\n", "C10E107", "not the integer 3"),
        (f"version: {'9' * 5000}\noperators: []\n", "C10E107", "not a number of thousands of digits"),
        (f"version: {'9' * 3000}\noperators: []\n", "C10E107", "not an integer"),
        ("version:\noperators: []\n", "C10E107", "not null"),
        ("version: 1\noperators: []\nx: {a: 1, a: 2}\n", "C10E104", "field `x` of the manifest is unknown"),
        ("a: 1\n\t- b\n", "C10E102", "tab"),
    ],
)
def test_faults_of_the_frame(tmp_path, text, code, message):
    result = load_manifest(write(tmp_path, text))
    assert [f.code for f in result.diagnostics].count(code) == 1
    assert any(message in f.message for f in result.diagnostics)


def test_repeated_keys_are_found_where_nobody_reads(tmp_path):
    result = load_manifest(write(tmp_path, "version: 1\noperators: []\nx: {a: 1, a: 2}\n"))
    assert [f.message for f in result.diagnostics] == [
        "field `x` of the manifest is unknown",
        "key `a` is given twice",
    ]


def test_a_refused_value_is_one_finding(tmp_path):
    text = "version: !x 1\noperators:\n  - schema: *nope\n    kernels: !y {CPU: a.py:f}\n    summary: *nope\n"
    assert [f.code for f in load_manifest(write(tmp_path, text)).diagnostics] == ["C10E111"] * 4


def test_an_operator_twice_names_both_places_and_the_difference(tmp_path):
    text = RELU + '  - schema: "c10::relu(Tensor self, int n=1) -> (Tensor, Tensor)"\n'
    path = write(tmp_path, text)
    (finding,) = load_manifest(path).diagnostics
    assert (finding.code, str(finding.span)) == ("C10E301", f"{path}:5:13")
    assert finding.notes == (
        f"the first is at {path}:3:13",
        "argument 1 is absent in the first and `int n=1` in the second",
        "return 1 is absent in the first and `Tensor` in the second",
    )


def test_an_operator_twice_word_for_word(tmp_path):
    path = write(tmp_path, RELU + RELU.split("operators:\n")[1])
    (finding,) = load_manifest(path).diagnostics
    assert "the two schemas are the same" in finding.notes


def test_a_fault_behind_an_alias_is_reported_once(tmp_path):
    text = """\
    version: 1
    operators:
      - schema: "c10::a(Tensor x) -> Tensor"
        tolerance: &t {float31: {rtol: 0, atol: 0}}
      - schema: "c10::a.b(Tensor x) -> Tensor"
        tolerance: *t
    """
    findings = load_manifest(write(tmp_path, text)).diagnostics
    assert [f.span.line for f in findings] == [4, 4]  # once for each operator that is named
    assert len({f.message for f in findings}) == 2


def test_require_raises_with_every_finding(tmp_path):
    path = write(tmp_path, MANY_FAULTS)
    with pytest.raises(ManifestError) as caught:
        require_manifest(path)
    assert caught.value.diagnostics == load_manifest(path).diagnostics
    with pytest.raises(ManifestError, match="does not exist"):
        require_manifest(tmp_path / "no_such_file.yaml")


def test_require_raises_with_the_findings_of_includes_that_may_be_the_cause_before_the_rest(tmp_path):
    path = including(tmp_path, "gone.yaml")
    path.write_text(path.read_text() + 'operators:\n  - {operator: "c10::relu", kernels: {CPU: k.py:f}}\n')
    with pytest.raises(ManifestError) as caught:
        require_manifest(path)
    assert [d.code for d in caught.value.diagnostics] == ["C10E101", "C10E303"]
    assert caught.value.diagnostics == load_manifest(path).diagnostics


def test_require_gives_the_manifest(tmp_path):
    path = write(tmp_path, RELU)
    assert require_manifest(path).path == path


def test_an_unreadable_file_has_no_manifest(tmp_path):
    result = load_manifest(tmp_path)
    assert result.manifest is None
    assert [f.code for f in result.diagnostics] == ["C10E101"]


def test_the_collector_is_left_as_it_was(tmp_path):
    path = write(tmp_path, RELU)
    load_manifest(path)
    assert gc.isenabled()
    gc.disable()
    try:
        load_manifest(path)
        assert not gc.isenabled()
    finally:
        gc.enable()


def including(folder, *names):
    return write(folder, f"version: 1\ninclude: [{', '.join(names)}]\n")


def test_an_include_adds_its_operators_with_its_own_folder(tmp_path):
    (tmp_path / "more").mkdir()
    write(tmp_path / "more", RELU)
    manifest = require_manifest(including(tmp_path, "more/registry.yaml"))
    (operator,) = manifest.operators
    assert operator.kernels[0].entry_point.path == tmp_path / "more" / "kernels" / "relu.py"
    assert operator.schema_span.file == str(tmp_path / "more" / "registry.yaml")


def test_own_operators_come_first(tmp_path):
    write(tmp_path, RELU, "a.yaml")
    write(tmp_path, RELU.replace("relu", "gelu"), "b.yaml")
    path = write(tmp_path, RELU.replace("relu", "add") + "include: [b.yaml, a.yaml]\n")
    names = [operator.name.base for operator in require_manifest(path).operators]
    assert names == ["add", "gelu", "relu"]


def test_a_broken_include_disables_only_itself(tmp_path):
    write(tmp_path, RELU, "good.yaml")
    write(tmp_path, MANY_FAULTS, "bad.yaml")
    path = including(tmp_path, "bad.yaml", "good.yaml", "gone.yaml")
    result = load_manifest(path)
    assert result.own == ()
    assert len(result.diagnostics) == 12
    assert [entry.path.name for entry in result.manifest.disabled] == ["bad.yaml", "gone.yaml"]
    assert [str(operator.name) for operator in require_manifest(path).operators] == ["c10::relu"]
    assert result.diagnostics[0].notes[-1] == f"included at {path}:2:11"
    assert str(result.diagnostics[-1].span) == f"{path}:2:32"


def test_a_cycle_of_includes_is_refused(tmp_path):
    write(tmp_path, "version: 1\ninclude: [b.yaml]\n", "a.yaml")
    write(tmp_path, "version: 1\ninclude: [a.yaml]\n", "b.yaml")
    (finding,) = load_manifest(tmp_path / "a.yaml").diagnostics
    assert finding.message == "`a.yaml` in `include` leads back to itself"
    assert finding.notes[0] == "cycle: a.yaml -> b.yaml -> a.yaml"
    assert finding.span.file == str(tmp_path / "b.yaml")


@pytest.mark.parametrize(
    ("include", "help"),
    [
        ("gone.yaml", "write the path of a manifest that is there, from the folder of this one"),
        ("folder", "name the file inside it"),
        ("registry.yaml", "leave out one of the includes of this cycle"),
        (
            "/etc/registry.yaml",
            "write the path from the folder of this manifest, such as `../base/registry.yaml`",
        ),
    ],
)
def test_an_include_that_cannot_be_read_says_what_to_do_about_it(tmp_path, include, help):
    (tmp_path / "folder").mkdir()
    (finding,) = load_manifest(including(tmp_path, f'"{include}"')).diagnostics
    assert finding.help == help


def test_a_file_that_is_not_there_is_named_otherwise_only_where_it_is_included(tmp_path):
    (finding,) = load_manifest(tmp_path / "gone.yaml").diagnostics
    assert finding.advice == "name a manifest that is there, with --registry or C10_REGISTRY"


def test_a_manifest_that_includes_itself(tmp_path):
    (finding,) = load_manifest(including(tmp_path, "registry.yaml")).diagnostics
    assert finding.notes == ("cycle: registry.yaml -> registry.yaml",)


def test_a_manifest_included_twice_is_read_once(tmp_path):
    write(tmp_path, RELU, "base.yaml")
    for name in ("a.yaml", "b.yaml"):
        write(tmp_path, "version: 1\ninclude: [base.yaml]\n", name)
    result = load_manifest(including(tmp_path, "a.yaml", "b.yaml"))
    assert result.diagnostics == ()
    assert len(result.manifest.operators) == 1


def test_an_include_that_defines_an_operator_again_is_disabled(tmp_path):
    write(tmp_path, RELU, "again.yaml")
    path = write(tmp_path, RELU + "include: [again.yaml]\n")
    result = load_manifest(path)
    (finding,) = result.diagnostics
    assert (finding.code, finding.span.file) == ("C10E301", str(tmp_path / "again.yaml"))
    assert finding.notes[0] == f"the first is at {path}:3:13"
    assert len(result.manifest.operators) == 1


@pytest.mark.parametrize(
    ("include", "message"),
    [
        ("more.yaml", "`include` must be a list, not a string"),
        ("[1]", "item 1 of `include` must be a string, not an integer"),
        ("[/etc/registry.yaml]", "must be a path relative to the manifest"),
        ('["a\\0b"]', "must be a path relative to the manifest"),
        ("['https://example.invalid/r.yaml']", "must be a path relative to the manifest"),
    ],
)
def test_malformed_includes(tmp_path, include, message):
    (finding,) = load_manifest(write(tmp_path, f"version: 1\ninclude: {include}\n")).diagnostics
    assert finding.code == "C10E106"
    assert message in finding.message


def test_a_misspelt_field_is_one_finding_and_is_not_missing_as_well(tmp_path):
    path = tmp_path / "registry.yaml"
    path.write_text('version: 1\noperatros:\n  - schmea: "c10::f(Tensr x) -> Tensor"\n')
    assert [(f.code, f.span.line) for f in load_manifest(path).diagnostics] == [("C10E104", 2)]


def test_includes_are_followed_to_a_depth(tmp_path):
    for depth in range(60):
        write(tmp_path, f"version: 1\ninclude: [{depth + 1}.yaml]\n", f"{depth}.yaml")
    write(tmp_path, RELU, "60.yaml")
    (finding,) = load_manifest(tmp_path / "0.yaml").diagnostics
    assert (finding.code, finding.span.file) == ("C10E112", str(tmp_path / "50.yaml"))
    assert finding.message == "`51.yaml` in `include` is more than 50 includes deep"
    assert finding.help == "include it in a manifest that fewer others lead to"
    assert load_manifest(tmp_path / "30.yaml").diagnostics == ()


def test_an_item_that_is_no_path_hides_no_other_include(tmp_path):
    write(tmp_path, RELU, "a.yaml")
    result = load_manifest(write(tmp_path, "version: 1\ninclude: [1, '', a.yaml]\n"))
    assert [f.code for f in result.own] == ["C10E106", "C10E106"]
    assert [str(operator.name) for operator in result.manifest.operators] == ["c10::relu"]


@pytest.mark.parametrize(
    "field", ["dtypes: [{}]", "sweep: {{n: [{}]}}", "inputs: {{x: 'ones(2)', y{}: 1}}", "{}: 1"]
)
def test_names_are_compared_for_the_first_of_many_findings_only(tmp_path, monkeypatch, field):
    compared, close = [], difflib.get_close_matches
    monkeypatch.setattr(
        difflib, "get_close_matches", lambda *given, **named: compared.append(given) or close(*given, **named)
    )
    many = (
        ", ".join(f"k{n}" for n in range(3000))
        if "[{}]" in field
        else ": 1, ".join(f"k{n}" for n in range(3000))
    )
    text = RELU + f"    cases: [{{name: c, {field.format(many)}}}]\n"
    assert len(load_manifest(write(tmp_path, text)).diagnostics) <= 100
    assert len(compared) <= 500
