"""What several files say of one operator, and what of it cannot all hold."""

from itertools import permutations

import pytest

from c10cli.document.source import parse_document
from c10cli.manifest.load import load_manifest

BASE = """\
version: 1
operators:
  - schema: "t::f(Tensor x, int n=1) -> Tensor"
    kernels:
      Meta: k.py:meta
      CPU: [k.py:first, {kernel: k.py:second, requires: [numba]}]
    cases: [{name: small, inputs: {x: "randn(3)"}}]
"""
OVERRIDE = '    override: {CPU: "faster"}\n'


def extension(name, kernels, more=""):
    return (
        f'version: 1\noperators:\n  - operator: "t::f"\n    kernels: {kernels.replace("NAME", name)}\n{more}'
    )


@pytest.fixture
def load():
    """The manifest that includes those given by name, in their order, with a root that may say more."""

    def load(more="", base=BASE, **texts):
        texts = {f"{name}.yaml": text for name, text in {"base": base, **texts}.items()}
        root = f"version: 1\ninclude: [{', '.join(texts)}]\n{more}"
        texts["root.yaml"] = root
        return load_manifest("root.yaml", read=lambda path: parse_document(texts[path.name], str(path)))

    return load


def faults(result):
    """The findings by file: code, line and column."""
    found = {}
    for d in result.diagnostics:
        found.setdefault(d.span.file, []).append((d.code, d.span.line, d.span.column))
    return found


def names(result, key):
    (operator,) = result.manifest.operators
    return [kernel.name for kernel in operator.variants(key)]


def test_the_keys_of_the_definition_come_first_and_an_override_first_of_its_key(load):
    result = load(
        more=extension("root", "{CUDA: r.py:c, CPU: [r.py:a, r.py:b]}", OVERRIDE).partition("\n")[2]
    )
    assert result.diagnostics == ()
    (operator,) = result.manifest.operators
    assert [(k.dispatch_key, k.name, k.override) for k in operator.kernels] == [
        ("Meta", "meta", ""),
        ("CPU", "a", "faster"),
        ("CPU", "b", "faster"),
        ("CPU", "first", ""),
        ("CPU", "second", ""),
        ("CUDA", "c", ""),
    ]
    assert (str(operator.schema_span), operator.reference) == ("base.yaml:3:13", None)


def test_cases_are_added(load):
    ours = extension("a", "{}", '    cases: [{name: mine, inputs: {x: "randn(1)", n: 2}}]\n')
    result = load(a=ours)
    assert result.diagnostics == ()
    assert [case.name for case in result.manifest.operators[0].cases] == ["small", "mine"]


def test_a_key_that_the_definition_has_is_not_replaced_without_a_word(load):
    result = load(a=extension("a", "{CPU: a.py:fast}"))
    (finding,) = result.diagnostics
    assert (finding.code, str(finding.span)) == ("C10E302", "a.yaml:4:15")
    assert finding.message == "`t::f` has `CPU` kernels from another manifest too"
    assert finding.notes == ("`first` is given at base.yaml:6:13", "included at root.yaml:2:22")
    assert (
        finding.help
        == 'leave these out, or say beside `operator` why they come first: `override: {CPU: "…"}`'
    )
    assert names(result, "CPU") == ["first", "second"]


def test_in_the_root_file_it_is_a_finding_of_its_own(load):
    result = load(more=extension("", "{CPU: a.py:fast}").partition("\n")[2])
    assert [(d.code, str(d.span)) for d in result.own] == [("C10E302", "root.yaml:5:15")]
    assert result.manifest.disabled == ()


def test_of_two_that_add_the_same_key_neither_does(load):
    result = load(a=extension("a", "{CUDA: a.py:NAME}"), b=extension("b", "{CUDA: b.py:NAME}"))
    assert faults(result) == {"a.yaml": [("C10E302", 4, 15)], "b.yaml": [("C10E302", 4, 15)]}
    a, b = result.diagnostics
    assert a.notes[0] == "`b` is given at b.yaml:4:21"
    assert b.notes[0] == "`a` is given at a.yaml:4:21"
    assert result.manifest.operators[0].dispatch_keys == ("Meta", "CPU")


def including(text, *names):
    """The manifest *text*, which includes those called *names*."""
    include = ", ".join(f"{name}.yaml" for name in names)
    return text.replace("version: 1", f"version: 1\ninclude: [{include}]")


def in_root(kernels, more=""):
    return extension("root", kernels, more).partition("\n")[2]


CUDA = "{CUDA: k.py:NAME}"
NEWER = '    override: {CUDA: "newer"}\n'
SAME = '    cases: [{name: same, inputs: {x: "randn(1)"}}]\n'


def test_of_two_that_add_the_same_key_the_one_that_includes_the_other_is_at_fault(load):
    result = load(more=in_root(CUDA), a=extension("a", CUDA))
    assert faults(result) == {"root.yaml": [("C10E302", 5, 15)]}
    (finding,) = result.own
    assert finding.message == "`t::f` has `CUDA` kernels from another manifest too"
    assert finding.notes == ("`a` is given at a.yaml:4:21",)
    assert (
        finding.help
        == 'leave these out, or say beside `operator` why they come first: `override: {CUDA: "…"}`'
    )
    assert result.manifest.disabled == ()


@pytest.mark.parametrize("through", ["base", "middle"])
def test_an_include_that_adds_what_one_of_its_own_includes_adds_is_disabled(load, through):
    """Also where it includes that one through a third, and wherever else that one is included."""
    files = {
        "a": including(extension("a", CUDA), "b" if through == "base" else "middle"),
        "b": including(extension("b", CUDA), "base"),
        "middle": including("version: 1\n", "b"),
    }
    for order in permutations(files):
        result = load(**{name: files[name] for name in order})
        assert faults(result) == {"a.yaml": [("C10E302", 5, 15)]}
        assert names(result, "CUDA") == ["b"]


def test_a_file_that_two_include_is_not_at_fault_for_either(load):
    result = load(
        a=including(extension("a", CUDA), "c"), b=including(extension("b", CUDA), "c"), c=extension("c", CUDA)
    )
    assert set(faults(result)) == {"a.yaml", "b.yaml"}
    assert names(result, "CUDA") == ["c"]


def test_the_definition_has_the_better_right_also_over_what_includes_or_is_included(load):
    result = load(base=including(BASE, "a"), a=extension("a", "{CPU: a.py:NAME}"))
    assert faults(result) == {"a.yaml": [("C10E302", 4, 15)]}
    root = "operators:\n" + BASE.partition("operators:\n")[2]
    result = load(base="version: 1\noperators: []\n", more=root, a=extension("a", "{CPU: a.py:NAME}"))
    assert faults(result) == {"a.yaml": [("C10E302", 4, 15)]}
    assert result.own == ()


def test_of_two_cases_of_one_name_the_one_of_the_file_that_includes_the_other_is_refused(load):
    result = load(a=including(extension("a", "{}", SAME), "b"), b=extension("b", "{}", SAME))
    assert faults(result) == {"a.yaml": [("C10E103", 6, 13)]}
    result = load(more=in_root("{}", SAME), b=extension("b", "{}", SAME))
    assert faults(result) == {"root.yaml": [("C10E103", 6, 13)]}


def test_an_override_of_an_included_override_comes_before_it(load):
    """Variants are stacked, that of the outermost file first, in whatever order they are included."""
    files = {
        "a": including(extension("a", "{CPU: k.py:NAME}", OVERRIDE), "middle"),
        "middle": including("version: 1\n", "b"),
        "b": including(extension("b", "{CPU: k.py:NAME}", OVERRIDE), "c"),
        "c": extension("c", "{CPU: k.py:NAME}", OVERRIDE),
    }
    for order in permutations(files):
        result = load(more=in_root("{CPU: k.py:NAME}", OVERRIDE), **{name: files[name] for name in order})
        assert result.diagnostics == ()
        (operator,) = result.manifest.operators
        assert [(k.name, k.override) for k in operator.variants("CPU")] == [
            ("root", "faster"),
            ("a", "faster"),
            ("b", "faster"),
            ("c", "faster"),
            ("first", ""),
            ("second", ""),
        ]


def test_an_override_does_not_settle_which_of_two_others_comes_first(load):
    kernels = "{CPU: k.py:NAME}"
    result = load(
        more=in_root(kernels, OVERRIDE),
        a=extension("a", kernels, OVERRIDE),
        b=extension("b", kernels, OVERRIDE),
    )
    assert set(faults(result)) == {"a.yaml", "b.yaml"}
    assert names(result, "CPU") == ["root", "first", "second"]


def test_who_includes_an_override_gives_a_reason_too(load):
    result = load(more=in_root("{CPU: k.py:NAME}"), a=extension("a", "{CPU: k.py:NAME}", OVERRIDE))
    assert faults(result) == {"root.yaml": [("C10E302", 5, 15)]}


NOTHING = (
    "`override` of `t::f` names `CUDA`, for which neither its definition nor an included manifest has kernels"
)


def test_kernels_of_the_file_that_includes_it_cannot_be_what_an_override_means(load):
    result = load(more=in_root(CUDA), a=extension("a", CUDA, NEWER))
    assert faults(result) == {"root.yaml": [("C10E302", 5, 15)], "a.yaml": [("C10E309", 5, 16)]}
    assert result.diagnostics[1].message == NOTHING


def test_two_overrides_of_one_key_are_both_refused(load):
    kernels = "{CPU: k.py:NAME}"
    result = load(a=extension("a", kernels, OVERRIDE), b=extension("b", kernels, OVERRIDE))
    assert faults(result) == {"a.yaml": [("C10E302", 4, 15)], "b.yaml": [("C10E302", 4, 15)]}
    finding = result.diagnostics[0]
    assert finding.message == "`t::f` has `CPU` kernels from another manifest too"
    assert finding.notes[:2] == ("`first` is given at base.yaml:6:13", "`b` is given at b.yaml:4:20")
    assert finding.help == (
        "leave these out, or let one manifest include the other, and say beside `operator` "
        'why they come first: `override: {CPU: "…"}`'
    )
    assert names(result, "CPU") == ["first", "second"]


def test_a_note_names_at_most_three_of_many(load):
    many = {name: extension(name, "{CUDA: k.py:NAME}") for name in "abcdefg"}
    finding = load(**many).diagnostics[0]
    assert finding.notes[:4] == (
        "`b` is given at b.yaml:4:21",
        "`c` is given at c.yaml:4:21",
        "`d` is given at d.yaml:4:21",
        "and 3 more",
    )


def test_what_another_extension_adds_can_be_overridden_by_who_includes_it(load):
    b = extension("b", CUDA)
    result = load(a=including(extension("a", CUDA, NEWER), "b"), b=b)
    assert result.diagnostics == ()
    assert names(result, "CUDA") == ["a", "b"]
    result = load(a=extension("a", CUDA, NEWER), b=b)
    assert set(faults(result)) == {"a.yaml", "b.yaml"}


def test_an_override_of_nothing_is_a_finding(load):
    result = load(a=extension("a", "{CUDA: a.py:NAME}", '    override: {CUDA: "newer"}\n'))
    (finding,) = result.diagnostics
    assert (finding.code, str(finding.span)) == ("C10E309", "a.yaml:5:16")
    assert finding.message == NOTHING
    assert finding.help == "leave `CUDA` out of `override`"


def test_an_override_of_what_a_disabled_manifest_may_add_is_no_fault(load):
    broken = extension("b", "{CUDA: 3}")
    result = load(a=including(extension("a", CUDA, NEWER), "b"), b=broken)
    assert faults(result) == {"b.yaml": [("C10E106", 4, 21)]}
    assert names(result, "CUDA") == ["a"]


def test_variants_of_stacked_overrides_have_different_names(load):
    kernels = "{CPU: [k.py:NAME, k.py:same]}"
    result = load(a=including(extension("a", kernels, OVERRIDE), "b"), b=extension("b", kernels, OVERRIDE))
    (finding,) = result.diagnostics
    assert (finding.code, str(finding.span)) == ("C10E302", "a.yaml:5:29")
    assert finding.message == "two `CPU` kernels of `t::f` are called `same`"
    assert finding.notes[0] == "the first is at b.yaml:4:29"


def test_variants_of_one_key_have_different_names(load):
    result = load(a=extension("a", "{CPU: [a.py:other, a.py:second]}", OVERRIDE))
    (finding,) = result.diagnostics
    assert (finding.code, str(finding.span)) == ("C10E302", "a.yaml:4:33")
    assert finding.message == "two `CPU` kernels of `t::f` are called `second`"
    assert finding.notes[0] == "the first is at base.yaml:6:34"
    assert finding.help == "give one of them a `name:` of its own"


def test_a_case_of_the_definitions_name_is_refused(load):
    result = load(a=extension("a", "{}", '    cases: [{name: small, inputs: {x: "randn(1)"}}]\n'))
    (finding,) = result.diagnostics
    assert (finding.code, str(finding.span)) == ("C10E103", "a.yaml:5:13")
    assert finding.message == "case `small` of `t::f` is given twice"
    assert finding.notes[0] == "the other is at base.yaml:7:13"


def test_of_two_cases_of_one_name_that_are_added_neither_is(load):
    case = '    cases: [{name: same, inputs: {x: "randn(1)"}}]\n'
    result = load(a=extension("a", "{}", case), b=extension("b", "{}", case))
    assert faults(result) == {"a.yaml": [("C10E103", 5, 13)], "b.yaml": [("C10E103", 5, 13)]}
    assert [case.name for case in result.manifest.operators[0].cases] == ["small"]


def test_the_inputs_of_an_added_case_are_compared_with_the_schema(load):
    cases = (
        '    cases: [{name: a, inputs: {y: 1, m: 2}}, {name: b, inputs: {xx: "randn(1)", x: "randn(1)"}}]\n'
    )
    findings = load(a=extension("a", "{}", cases)).diagnostics
    assert [(d.code, d.span.column, d.message) for d in findings] == [
        ("C10E105", 23, "argument `x` is missing in the inputs of case `a` of `t::f`"),
        ("C10E104", 32, "argument `y` in the inputs of case `a` of `t::f` is unknown"),
        ("C10E104", 38, "argument `m` in the inputs of case `a` of `t::f` is unknown"),
        ("C10E104", 65, "argument `xx` in the inputs of case `b` of `t::f` is unknown"),
    ]


@pytest.mark.parametrize("inputs", ["", ", inputs: ", ", inputs: [1]", ", inputs: !x {}"])
def test_inputs_that_are_none_are_one_finding(load, inputs):
    result = load(a=extension("a", "{}", f"    cases: [{{name: a{inputs}}}]\n"))
    assert len(result.diagnostics) == 1


def test_all_that_is_wrong_with_an_extension_is_found_in_one_run(load):
    cases = '    cases: [{name: small, inputs: {z: "randn(1)", x: "randn(1)"}}]\n    override: {Meta: "x"}\n'
    result = load(a=extension("a", "{CPU: a.py:first, Meta: a.py:meta}", cases))
    assert faults(result) == {
        "a.yaml": [("C10E302", 4, 15), ("C10E302", 4, 38), ("C10E103", 5, 13), ("C10E104", 5, 36)]
    }
