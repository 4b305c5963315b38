"""Several files as one manifest: who defines, who extends, and who is left out for a fault."""

from itertools import permutations

import pytest

from c10cli.document.source import parse_document
from c10cli.manifest.load import load_manifest

DEFINE_F = '  - {schema: "t::f(Tensor x) -> Tensor", kernels: {CPU: k.py:base}}\n'
DEFINE_G = '  - {schema: "t::g(Tensor x) -> Tensor", kernels: {CPU: k.py:base}}\n'
FAULTY_F = '  - {schema: "t::f(Tensr x) -> Tensor"}\n'
ADD_CUDA = "  - {operator: t::f, kernels: {CUDA: k.py:cuda}}\n"
FASTER = '  - {operator: t::f, kernels: {CPU: k.py:fast}, override: {CPU: "faster"}}\n'


def manifest(operators="", *include):
    included = f"include: [{', '.join(f'{name}.yaml' for name in include)}]\n" if include else ""
    return f"version: 1\n{included}operators:{chr(10) + operators if operators else ' []'}\n"


@pytest.fixture
def load():
    """The manifest `root` of those that are given by name."""
    return load_texts


def load_texts(outside=None, **texts):
    def read(path):
        return parse_document(texts[path.stem], str(path))

    return load_manifest("root.yaml", read=read, outside=outside)


def kernels(result):
    """The names of each operator's kernels by dispatch key, best first."""
    return {
        str(o.name): {key: [k.name for k in o.variants(key)] for key in o.dispatch_keys}
        for o in result.manifest.operators
    }


def faults(result):
    return sorted((d.span.file, d.code) for d in result.diagnostics)


WHOLE = {"t::f": {"CPU": ["base"], "CUDA": ["cuda"]}}


@pytest.mark.parametrize(
    "texts",
    [
        {"root": manifest(DEFINE_F, "a"), "a": manifest(ADD_CUDA)},
        {"root": manifest(ADD_CUDA, "a"), "a": manifest(DEFINE_F)},
        {"root": manifest("", "a", "b"), "a": manifest(DEFINE_F), "b": manifest(ADD_CUDA)},
        {"root": manifest("", "a", "b"), "a": manifest(ADD_CUDA), "b": manifest(DEFINE_F)},
        {
            "root": manifest("", "a", "b"),
            "a": manifest("", "c"),
            "b": manifest(ADD_CUDA),
            "c": manifest(DEFINE_F),
        },
        {
            "root": manifest("", "a", "b"),
            "a": manifest("", "c"),
            "b": manifest(DEFINE_F),
            "c": manifest(ADD_CUDA),
        },
        {"root": manifest("", "a"), "a": manifest(ADD_CUDA, "b"), "b": manifest(DEFINE_F)},
    ],
)
def test_the_definition_is_found_wherever_it_is(load, texts):
    result = load(**texts)
    assert result.diagnostics == ()
    assert kernels(result) == WHOLE


def test_operators_stay_in_the_order_of_their_definitions(load):
    result = load(root=manifest(ADD_CUDA + DEFINE_G, "a", "b"), a=manifest(FASTER), b=manifest(DEFINE_F))
    assert list(kernels(result)) == ["t::g", "t::f"]
    assert kernels(result)["t::f"] == {"CPU": ["fast", "base"], "CUDA": ["cuda"]}


def test_an_operator_that_nobody_defines_is_a_finding_of_the_root_file(load):
    result = load(root=manifest(ADD_CUDA + DEFINE_G.replace("g(", "softmax(")))
    (finding,) = result.own
    assert (finding.code, str(finding.span)) == ("C10E303", "root.yaml:3:16")
    assert finding.message == "operator `t::f`, which this entry extends, is defined by no manifest"
    assert finding.notes == ()
    assert finding.help == "include the manifest that defines it, or name the one that includes this"
    assert kernels(result) == {"t::softmax": {"CPU": ["base"]}}


def test_an_include_that_extends_nothing_disables_itself_alone(load):
    result = load(
        root=manifest(DEFINE_G, "a", "b"), a=manifest(ADD_CUDA), b=manifest(DEFINE_G.replace("g(", "h("))
    )
    assert result.own == ()
    (disabled,) = result.manifest.disabled
    assert (disabled.path.name, str(disabled.span)) == ("a.yaml", "root.yaml:2:11")
    assert disabled.diagnostics == result.diagnostics
    assert result.diagnostics[0].notes == ("included at root.yaml:2:11",)
    assert list(kernels(result)) == ["t::g", "t::h"]


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("u::f", "did you mean `t::f`?"),
        ("t::f.oout", "did you mean `t::f.out` or `t::f`?"),
        ("t::layernorm", "did you mean `t::layer_norm`?"),
        ("layernorm", "did you mean `t::layer_norm`?"),
        ("t::softmax", "include the manifest that defines it, or name the one that includes this"),
    ],
)
def test_near_names_are_offered(load, name, help):
    known = "".join(DEFINE_F.replace("t::f", other) for other in ("t::f", "t::f.out", "t::layer_norm"))
    (finding,) = load(root=manifest(ADD_CUDA.replace("t::f", name), "a"), a=manifest(known)).own
    assert finding.code == "C10E303"
    assert finding.help == help


def test_of_very_many_the_first_have_near_names(load):
    many = "".join(ADD_CUDA.replace("t::f", f"t::f{i}") for i in range(30))
    findings = load(root=manifest(many, "a"), a=manifest(DEFINE_F)).own
    assert [f.help == "did you mean `t::f`?" for f in findings] == [True] * 20 + [False] * 10


def test_a_definition_with_a_fault_is_named_where_it_is_missed(load):
    result = load(root=manifest("", "a", "b"), a=manifest(ADD_CUDA), b=manifest(FAULTY_F))
    assert faults(result) == [("a.yaml", "C10E303"), ("b.yaml", "C10E204")]
    _, finding = result.diagnostics
    assert finding.notes[0] == "`b.yaml`, which is disabled, defines it"
    assert finding.help == "correct `b.yaml`"


def test_a_definition_in_a_manifest_that_is_disabled_is_named(load):
    result = load(root=manifest(ADD_CUDA, "a"), a=manifest("  - 3\n" + DEFINE_F))
    assert faults(result) == [("a.yaml", "C10E106"), ("root.yaml", "C10E303")]
    (finding,) = result.own
    assert finding.notes == ("`a.yaml`, which is disabled, defines it",)
    assert finding.help == "correct `a.yaml`"


def test_a_manifest_that_may_define_it_is_named(load):
    result = load(root=manifest(ADD_CUDA, "a"), a="- not\n- one\n")
    assert result.own[0].notes == ("`a.yaml`, which is disabled, may define it",)
    assert result.own[0].help == "correct `a.yaml`"


def test_what_is_disabled_and_may_define_it_is_corrected_before_a_near_name_is_tried(load):
    known = manifest(DEFINE_F.replace("t::f", "t::ff"))
    texts = {"a": "- not\n", "b": known, "c": "- not\n"}
    result = load(root=manifest(ADD_CUDA, "b", "a", "c"), **texts)
    assert result.own[0].help == "correct `a.yaml` and `c.yaml`"


@pytest.mark.parametrize(
    "files",
    [
        {"a": "- not\n"},
        {"a": "a: [\n"},
        {"a": manifest("", "root"), "b": manifest(DEFINE_G)},
        {"a": manifest("  - 3\n" + DEFINE_F)},
        {"a": manifest(DEFINE_F + ADD_CUDA.replace("t::f", "t::g"))},
    ],
)
def test_a_cause_in_an_include_comes_before_what_follows_from_it_in_the_root_file(load, files):
    result = load(root=manifest(ADD_CUDA, "a"), **files)
    (own,) = result.own
    assert own.code == "C10E303"
    assert own.help == "correct `a.yaml`"
    cause, last = result.diagnostics
    assert (cause.span.file, last) == ("a.yaml", own)
    assert result.manifest.disabled[0].diagnostics == (cause,)


def test_what_does_not_follow_from_includes_comes_before_theirs(load):
    result = load(root=manifest("  - 4\n" + DEFINE_F, "a"), a=manifest("  - 3\n"))
    assert [d.span.file for d in result.diagnostics] == ["root.yaml", "a.yaml"]


def test_disabled_manifests_come_in_the_order_of_cause_and_consequence(load):
    texts = {
        "a": manifest("  - {operator: t::g, kernels: {CUDA: k.py:cuda}}\n"),
        "b": manifest(ADD_CUDA + DEFINE_G),
        "c": manifest("  - 3\n" + DEFINE_F),
    }
    result = load(root=manifest("", *texts), **texts)
    assert [entry.path.name for entry in result.manifest.disabled] == ["c.yaml", "b.yaml", "a.yaml"]
    assert [d.span.file for d in result.diagnostics] == ["c.yaml", "b.yaml", "a.yaml"]


def test_one_slip_in_the_root_file_is_one_finding(load):
    assert faults(load(root=manifest(FAULTY_F, "a"), a=manifest(ADD_CUDA))) == [("root.yaml", "C10E204")]


def test_what_is_disabled_may_leave_others_without_their_operator(load):
    texts = {
        "a": manifest("  - 3\n" + DEFINE_F),
        "b": manifest(ADD_CUDA + DEFINE_G),
        "c": manifest("  - {operator: t::g, kernels: {CUDA: k.py:cuda}}\n"),
        "d": manifest(DEFINE_F.replace("t::f", "t::h")),
    }
    for order in permutations(texts):
        result = load(root=manifest("", *order), **texts)
        assert faults(result) == [("a.yaml", "C10E106"), ("b.yaml", "C10E303"), ("c.yaml", "C10E303")]
        assert list(kernels(result)) == ["t::h"]


def test_everything_that_is_wrong_with_a_disabled_file_is_found_in_one_run(load):
    a = manifest("  - 3\n" + DEFINE_G + ADD_CUDA.replace("t::f", "t::h") + FASTER.replace("CPU", "Meta"))
    result = load(root=manifest(DEFINE_F + DEFINE_G, "a"), a=a)
    assert [(d.code, d.span.line) for d in result.diagnostics] == [
        ("C10E106", 3),
        ("C10E301", 4),
        ("C10E303", 5),
        ("C10E309", 6),
    ]


def test_a_file_that_is_disabled_takes_part_in_nothing(load):
    texts = {"a": manifest("  - 3\n" + ADD_CUDA + DEFINE_G), "b": manifest(ADD_CUDA + DEFINE_G)}
    for order in permutations(texts):
        result = load(root=manifest(DEFINE_F, *order), **texts)
        assert {d.span.file for d in result.diagnostics} == {"a.yaml"}
        assert kernels(result) == WHOLE | {"t::g": {"CPU": ["base"]}}


def test_what_a_disabled_file_includes_stays(load):
    result = load(root=manifest(ADD_CUDA, "a"), a=manifest("  - 3\n", "b"), b=manifest(DEFINE_F))
    assert faults(result) == [("a.yaml", "C10E106")]
    assert kernels(result) == WHOLE


def test_the_operators_of_a_file_that_contradicts_another_are_missed_where_they_are_extended(load):
    texts = {
        "a": manifest(DEFINE_G + ADD_CUDA.replace("CUDA:", "CPU:")),
        "b": manifest(ADD_CUDA.replace("f,", "g,")),
    }
    result = load(root=manifest(DEFINE_F, *texts), **texts)
    assert faults(result) == [("a.yaml", "C10E302"), ("b.yaml", "C10E303")]
    assert result.diagnostics[1].help == "correct `a.yaml`"
    assert kernels(result) == {"t::f": {"CPU": ["base"]}}


def test_a_second_definition_disables_the_file_that_it_is_in(load):
    texts = {"a": manifest(DEFINE_G, "b"), "b": manifest(DEFINE_F)}
    result = load(root=manifest(DEFINE_F, "a"), **texts)
    (finding,) = result.diagnostics
    assert (finding.code, str(finding.span)) == ("C10E301", "b.yaml:3:14")
    assert finding.notes[0] == "the first is at root.yaml:4:14"
    assert list(kernels(result)) == ["t::f", "t::g"]


def test_an_operator_from_outside_is_extended(load):
    schemas = {o.name: o.schema for o in load(root=manifest(DEFINE_F)).manifest.operators}
    texts = {"a": manifest(ADD_CUDA), "b": manifest(FASTER)}
    for order in permutations(texts):
        result = load(root=manifest(DEFINE_G, *order), outside=schemas, **texts)
        assert result.diagnostics == ()
        _, operator = result.manifest.operators
        assert operator.is_outside
        assert operator.schema == next(iter(schemas.values()))
        assert kernels(result)["t::f"] == {"CPU": ["fast"], "CUDA": ["cuda"]}
        assert str(operator.schema_span) == f"{order[0]}.yaml:3:16"


def test_near_names_are_those_from_outside_too(load):
    schemas = {o.name: o.schema for o in load(root=manifest(DEFINE_F)).manifest.operators}
    (finding,) = load(root=manifest(ADD_CUDA.replace("t::f", "t::ff")), outside=schemas).own
    assert finding.message == (
        "operator `t::ff`, which this entry extends, is defined by neither a manifest nor the dispatcher"
    )
    assert finding.help == "did you mean `t::f`?"
