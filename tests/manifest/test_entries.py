import textwrap

import pytest

from c10cli.manifest.load import load_manifest

FULL = """\
version: 1
operators:
  - schema: "c10::layer_norm(Tensor input, int axis=-1, float epsilon=1e-05) -> (Tensor output, Tensor mean)"
    summary: Normalise the trailing axes.
    kernels:
      CPU: kernels/layer_norm.py:layer_norm_cpu
      CUDA:
        - kernel: kernels/layer_norm_cuda.py:layer_norm_cuda
          requires: [cupy, cuda.core]
          cache: kernels/layer_norm_cuda.py:Workspace
          name: cupy
        - pack.mod:layer_norm
      Meta: {kernel: "kernels/meta.py:layer_norm", boxed: true}
    reference: kernels/reference/layer_norm.py:layer_norm
    cost: {bytes: "2 * nbytes(input)", flops: 0}
"""

FAILING = 'version: 1\noperators:\n  - schema: "c10::f(Tensr x) -> Tensor"\n'


def load(folder, text):
    path = folder / "registry.yaml"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return load_manifest(path)


def operator_with(folder, fields):
    """The findings of a manifest with one operator that has *fields*, as code, line, column and message."""
    body = textwrap.indent(textwrap.dedent(fields), "    ")
    text = f'version: 1\noperators:\n  - schema: "c10::f(Tensor x, int n=1) -> Tensor"\n{body}'
    result = load(folder, text)
    return [(f.code, f.span.line, f.span.column, f.message) for f in result.diagnostics], result.manifest


def schema_findings(folder, schema):
    return load(folder, f"version: 1\noperators:\n  - schema: {schema}\n").diagnostics


def test_every_field_is_read(tmp_path):
    result = load(tmp_path, FULL)
    assert result.diagnostics == ()
    (operator,) = result.manifest.operators
    assert operator.summary == "Normalise the trailing axes."
    assert operator.dispatch_keys == ("CPU", "CUDA", "Meta")
    assert operator.reference.text == "kernels/reference/layer_norm.py:layer_norm"
    assert (operator.cost.bytes, operator.cost.flops) == ("2 * nbytes(input)", "0")
    cpu, cupy, pack, meta = operator.kernels
    assert (cpu.name, cpu.requires, cpu.cache, cpu.boxed) == ("layer_norm_cpu", (), None, False)
    assert (cupy.name, cupy.requires) == ("cupy", ("cupy", "cuda.core"))
    assert cupy.cache.attribute == "Workspace"
    assert (pack.name, pack.entry_point.module) == ("layer_norm", "pack.mod")
    assert meta.boxed
    assert operator.variants("CUDA") == (cupy, pack)
    assert operator.variants("XLA") == ()


def test_places_are_kept(tmp_path):
    (operator,) = load(tmp_path, FULL).manifest.operators
    place = tmp_path / "registry.yaml"
    assert str(operator.span) == f"{place}:3:5"
    assert str(operator.schema_span) == f"{place}:3:13"
    assert str(operator.kernels[1].span) == f"{place}:8:19"
    assert str(operator.kernels[2].span) == f"{place}:12:11"
    assert str(operator.kernels[2].key_span) == f"{place}:7:7"


def test_kernels_may_be_left_out(tmp_path):
    findings, manifest = operator_with(tmp_path, "summary: x\n")
    assert findings == []
    assert manifest.operators[0].kernels == ()


def test_the_place_of_a_schemas_fault_is_in_the_file(tmp_path):
    (finding,) = schema_findings(tmp_path, '"c10::relu(Tensor self) -> Tensr"')
    span = finding.span
    assert finding.code == "C10E204"
    assert "in the schema of `c10::relu`" in finding.message
    assert (span.line, span.column, span.line_text[span.column - 1 : span.end_column - 1]) == (3, 40, "Tensr")


@pytest.mark.parametrize(
    ("quoted", "shown"),
    [
        ("'c10::f(Tensor x, str v=\"it''s\") -> Tensr'", "Tensr"),
        ('"c10::f(Tensor x, str v=\\"a\\\\nb\\") -> Tensr"', "Tensr"),
        ("c10::f(Tensor x) -> Tensr", "Tensr"),
        (">\n      c10::f(Tensor x)\n      -> Tensr", ">"),
    ],
)
def test_quotes_and_escapes_before_the_fault_are_counted(tmp_path, quoted, shown):
    (finding,) = schema_findings(tmp_path, quoted)
    span = finding.span
    assert (span.line, span.line_text[span.column - 1 : span.end_column - 1]) == (3, shown)


@pytest.mark.parametrize(("quote", "noted"), [("", True), ("'", False)])
def test_a_failing_schema_without_quotes_is_told_so(tmp_path, quote, noted):
    (finding,) = schema_findings(tmp_path, f"{quote}c10::f(Tensor x) -> Tensor extra words{quote} # note")
    assert any("not in quotes" in note for note in finding.notes) == noted


@pytest.mark.parametrize("arguments", ["int x, int y", "", "str s, float[] f", "Tensor[][] x"])
def test_a_schema_without_a_tensor_is_refused(tmp_path, arguments):
    findings = schema_findings(tmp_path, f'"demo::f({arguments}) -> int"')
    assert "C10E209" in [f.code for f in findings]
    assert all("demo::f" in f.message for f in findings)
    assert len(findings) == 1


@pytest.mark.parametrize(
    "argument", ["Tensor x", "Tensor[] x", "Tensor? x", "Tensor?[] x", "Tensor(a!) x", "int n, Tensor x"]
)
def test_a_schema_with_any_tensor_is_taken(tmp_path, argument):
    assert schema_findings(tmp_path, f'"demo::f({argument}) -> ()"') == ()


@pytest.mark.parametrize(
    ("fields", "code", "line", "column", "words"),
    [
        ("kernels: a:f\n", "C10E106", 4, 14, "`kernels` of `c10::f` must be a mapping, not a string"),
        ("kernels:\n", "C10E106", 4, 5, "`kernels` of `c10::f` must be a mapping, not null"),
        ("kernels:\n  CPU:\n", "C10E106", 5, 7, "must be an entry point or a mapping with one, not null"),
        ("kernels: {CPU: 1}\n", "C10E106", 4, 20, "not an integer"),
        ("kernels: {CPU: []}\n", "C10E106", 4, 20, "list of `CPU` kernels of `c10::f` is empty"),
        ("kernels: {CPU: [[a:f]]}\n", "C10E106", 4, 21, "not a list"),
        (
            "kernels:\n  CPU:\n    kernel:\n",
            "C10E106",
            6,
            9,
            "`kernel` of the `CPU` kernel of `c10::f` must be a string",
        ),
        (
            "kernels: {CPU: {boxed: true}}\n",
            "C10E105",
            4,
            20,
            "field `kernel` of the `CPU` kernel of `c10::f` is missing",
        ),
        ("kernels: {CPU: ''}\n", "C10E106", 4, 20, "is empty"),
        ("kernels: {CPU: yes}\n", "C10E109", 4, 20, "entry point `yes` has no `:`"),
        ("kernels: {cuda: a:f}\n", "C10E108", 4, 15, "dispatch key `cuda` of `c10::f` is unknown"),
        ("kernels: {no: a:f}\n", "C10E108", 4, 15, "dispatch key `no` of `c10::f` is unknown"),
        ("kernels: {'CPU, CUDA': a:f}\n", "C10E108", 4, 15, "dispatch key `CPU, CUDA`"),
        ("kernels: {CPU: {kernel: a:f, key: CUDA}}\n", "C10E104", 4, 34, "field `key` of the `CPU` kernel"),
        (
            "kernels: {CPU: {kernel: a:f, boxed: 'yes'}}\n",
            "C10E106",
            4,
            41,
            "must be `true` or `false`, not a string",
        ),
        (
            "kernels: {CPU: {kernel: a:f, requires: numpy}}\n",
            "C10E106",
            4,
            44,
            "must be a list, not a string",
        ),
        ("kernels: {CPU: {kernel: a:f, requires: [a-b]}}\n", "C10E106", 4, 45, "`a-b` in `requires`"),
        ("kernels: {CPU: {kernel: a:f, requires: [1]}}\n", "C10E106", 4, 45, "item 1 of `requires`"),
        ("kernels: {CPU: {kernel: a:f, cache: a}}\n", "C10E109", 4, 41, "entry point `a` has no `:`"),
        ("kernels: {CPU: {kernel: a:f, name: 1}}\n", "C10E106", 4, 40, "`name` of the `CPU` kernel"),
        ("kernels: {CPU: [a:f, b:f]}\n", "C10E302", 4, 26, "two `CPU` kernels of `c10::f` are called `f`"),
        ("kernels: {CPU: {kernel: a:f, kernel: b:f}}\n", "C10E103", 4, 34, "key `kernel` is given twice"),
        ("reference: 3\n", "C10E106", 4, 16, "`reference` of `c10::f` must be a string, not an integer"),
        ("reference: a\n", "C10E109", 4, 16, "has no `:`"),
        ("summary: [x]\n", "C10E106", 4, 14, "`summary` of `c10::f` must be a string, not a list"),
        ("cost: 5\n", "C10E106", 4, 11, "`cost` of `c10::f` must be a mapping"),
        ("cost: {byte: x}\n", "C10E104", 4, 12, "field `byte` of the cost of `c10::f` is unknown"),
        ("cost: {bytes: [1]}\n", "C10E106", 4, 19, "must be an expression, not a list"),
        ("kernel: a:f\n", "C10E104", 4, 5, "field `kernel` of `c10::f` is unknown"),
        ("schema: x\n", "C10E103", 4, 5, "key `schema` is given twice in `c10::f`"),
    ],
)
def test_each_fault_is_one_finding_at_its_place(tmp_path, fields, code, line, column, words):
    findings, _ = operator_with(tmp_path, fields)
    assert [finding[:3] for finding in findings] == [(code, line, column)]
    assert words in findings[0][3]


def test_variants_of_one_name_need_another(tmp_path):
    findings, _ = operator_with(tmp_path, "kernels: {CPU: [a:f, {kernel: b:f, name: g}], CUDA: a:f}\n")
    assert findings == []


def test_a_kernel_that_cannot_be_read_leaves_the_others(tmp_path):
    _, manifest = operator_with(tmp_path, "kernels: {CPU: [1, {kernel: a:f, boxed: 1}, b:g]}\n")
    assert [kernel.name for kernel in manifest.operators[0].kernels] == ["g"]


def test_an_operator_whose_schema_fails_is_still_looked_through(tmp_path):
    text = FAILING + "    kernel: {}\n    kernels: {cpu: a}\n"
    result = load(tmp_path, text)
    assert [f.code for f in result.diagnostics] == ["C10E204", "C10E104", "C10E108", "C10E109"]
    assert result.manifest.operators == ()


@pytest.mark.parametrize(
    ("schema", "words"),
    [("1", "`schema` of operator 1 must be a string, not an integer"), ("''", "is empty"), ("", "not null")],
)
def test_a_schema_is_text(tmp_path, schema, words):
    (finding,) = schema_findings(tmp_path, schema)
    assert finding.code == "C10E106"
    assert words in finding.message


TORCH = """\
version: 1
dialect: torch
arrays: torch
requires: [torch]
operators:
  - schema: "aten::random_.from(Tensor(a!) self, int from, t[] x, *, bool f=1) -> Tensor(a!)"
    kernels:
      CPU: torch:ops.aten.random_.from
      CUDA: {kernel: k.py:f, arrays: cupy, requires: [cupy, torch]}
"""


def load_text(tmp_path, text):
    path = tmp_path / "registry.yaml"
    path.write_text(text)
    return load_manifest(path)


def test_what_is_said_at_the_top_holds_for_every_operator_that_says_nothing_else(tmp_path):
    result = load_text(tmp_path, TORCH)
    assert result.diagnostics == ()
    cpu, cuda = result.manifest.operators[0].kernels
    assert (cpu.arrays, cpu.requires) == ("torch", ("torch",))
    assert (cpu.entry_point.module, cpu.entry_point.attribute) == ("torch", "ops.aten.random_.from")
    assert (cuda.arrays, cuda.requires) == ("cupy", ("torch", "cupy"))


def test_without_a_dialect_a_schema_is_read_strictly(tmp_path):
    for text in (TORCH.replace("dialect: torch\n", ""), TORCH.replace("dialect: torch", "dialect: strict")):
        (finding,) = load_text(tmp_path, text).diagnostics
        assert (finding.code, finding.span.column) == ("C10E204", 60)


@pytest.mark.parametrize(
    ("old", "new", "code", "position", "message"),
    [
        (
            "dialect: torch",
            "dialect: c",
            "C10E106",
            (2, 10),
            "`dialect` must be one of `strict`, `torch`, not `c`",
        ),
        ("dialect: torch", "dialect: 1", "C10E106", (2, 10), "`dialect` must be a string"),
        (
            "arrays: torch",
            "arrays: tourch",
            "C10E106",
            (3, 9),
            "`arrays` must be one of `numpy`, `torch`, `cupy`",
        ),
        (
            "arrays: cupy",
            "arrays: cups",
            "C10E106",
            (9, 38),
            "`arrays` of the `CUDA` kernel of `aten::random_.from`",
        ),
        ("requires: [torch]", "requires: [a-b]", "C10E106", (4, 12), "`a-b` in `requires` is no import name"),
        (
            "requires: [torch]",
            "requires: torch",
            "C10E106",
            (4, 11),
            "`requires` must be a list, not a string",
        ),
        ("arrays: torch", "arrays: null", "C10E106", (3, 1), "`arrays` must be a string"),
    ],
)
def test_faults_in_what_is_said_at_the_top_are_found_at_their_place(
    tmp_path, old, new, code, position, message
):
    (finding,) = load_text(tmp_path, TORCH.replace(old, new, 1)).diagnostics
    assert finding.code == code
    assert (finding.span.line, finding.span.column) == position
    assert finding.message.startswith(message)


@pytest.mark.parametrize(
    ("schema", "code", "message"),
    [
        ("aten::f(Tensor x, ...) -> Tensor", "C10E209", "has `...`"),
        ("aten::f(Tensor x) -> ...", "C10E209", "has `...`"),
        ("f(Tensor x) -> Tensor", "C10E203", "the operator name `f` has no namespace"),
        ("aten::f(Tensor x, int x) -> Tensor", "C10E206", "an argument name of `aten::f` is used twice"),
        ("aten::f(int x) -> Tensor", "C10E209", "no tensor argument"),
    ],
)
def test_what_torch_can_read_and_no_operator_can_have_is_refused(tmp_path, schema, code, message):
    text = f'version: 1\ndialect: torch\noperators:\n  - schema: "{schema}"\n'
    (finding,) = load_text(tmp_path, text).diagnostics
    assert (finding.code, finding.span.line, finding.span.column) == (code, 4, 13)
    assert message in finding.message


def test_an_included_manifest_has_its_own_dialect(tmp_path):
    (tmp_path / "torch.yaml").write_text(TORCH)
    result = load_text(tmp_path, "version: 1\ninclude: [torch.yaml]\n")
    assert result.diagnostics == ()
    assert [str(o.name) for o in result.manifest.operators] == ["aten::random_.from"]


@pytest.mark.parametrize(
    ("fields", "column", "message"),
    [
        ('summary: "two\\nlines"\n', 14, "`summary` of `c10::f` has U+000A in it"),
        (
            "kernels: {CPU: {kernel: k.py:f, name: a b}}\n",
            43,
            "`name` of the `CPU` kernel of `c10::f` has a blank in it",
        ),
    ],
)
def test_names_and_summaries_are_of_one_line(tmp_path, fields, column, message):
    findings, _ = operator_with(tmp_path, fields)
    assert findings == [("C10E106", 4, column, message)]


CLASSES = """\
version: 1
classes: [c10d.Work]
operators:
  - schema: "d::f(Tensor x, __torch__.torch.classes.c10d.Work w) -> Tensor"
  - schema: "d::g(Tensor x, __torch__.torch.classes.c10d.Other w) -> Tensor"
"""


def test_schemas_may_use_the_custom_classes_that_the_manifest_names(tmp_path):
    result = load(tmp_path, CLASSES)
    assert [str(operator.name) for operator in result.manifest.operators] == ["d::f"]
    (found,) = result.diagnostics
    assert (found.code, found.span.line) == ("C10E204", 5)
    assert "custom class `c10d.Other` is not registered" in found.message
    assert found.help == "name it under `classes:` of the manifest, or in known_classes"
    assert load(tmp_path, CLASSES.replace("Work]", "Work, c10d.Other]")).diagnostics == ()


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ("c10d.Work", "`classes` must be a list, not a string"),
        ("[c10d.Work, c10d::Other]", "`c10d::Other` in `classes` is no custom class such as `c10d.Work`"),
    ],
)
def test_what_is_no_name_of_a_class_is_found(tmp_path, classes, message):
    found, *_ = load(tmp_path, CLASSES.replace("[c10d.Work]", classes)).diagnostics
    assert (found.code, found.span.line, found.message) == ("C10E106", 2, message)
