"""Manifests that extend the operators of the dispatcher they are loaded into."""

import numpy as np
import pytest

from c10cli import Dispatcher, ManifestError, RegistrationError, load_registry
from c10cli.arrays.keys import DispatchKey
from c10cli.manifest.link import link_manifest
from c10cli.manifest.load import require_manifest

KERNELS = """\
def fast(x): return "fast"
def plain(x): return "plain"
def misfit(x, y): return x
"""


X = np.ones(1)


def dump(dispatcher):
    return [op.dump() for op in dispatcher.operators()]


@pytest.fixture
def extend(tmp_path):
    """A manifest that extends `t::f` and defines `t::own`."""

    def extend(kernels, more="", name="extend.yaml", operator="t::f"):
        (tmp_path / "k.py").write_text(KERNELS, encoding="utf-8")
        path = tmp_path / name
        path.write_text(
            f'version: 1\noperators:\n  - schema: "t::{path.stem}(Tensor x) -> Tensor"\n'
            f"  - operator: {operator}\n    kernels: {kernels}\n{more}",
            encoding="utf-8",
        )
        return path

    return extend


@pytest.fixture
def dispatcher():
    """A dispatcher with `t::f` and a CPU kernel of it, registered in Python."""
    dispatcher = Dispatcher()
    dispatcher.register_kernel(dispatcher.register_schema("t::f(Tensor x) -> Tensor"), "CPU", lambda x: "own")
    return dispatcher


FASTER = "    override: {CPU: faster}\n"


def test_an_operator_of_the_dispatcher_gets_a_kernel_for_a_new_key(extend, dispatcher):
    registry = load_registry(extend("{CUDA: k.py:plain}"), dispatcher)
    linked = registry.find("f")
    assert linked.handle is dispatcher.find("t::f")
    assert (str(linked.decl.schema), linked.decl.reference) == ("t::f(Tensor x) -> Tensor", None)
    assert linked.handle.keys() == (DispatchKey("CPU"), DispatchKey("CUDA"))
    assert linked.handle.call(X) == "own"
    assert linked.handle.lookup_key("CUDA")(X) == "plain"
    assert [(str(o.decl.name), v.kernel.name) for o, v in registry.kernels()] == [("t::f", "plain")]
    assert [str(name) for name in registry.operators] == ["t::extend", "t::f"]


def test_an_override_comes_before_the_dispatchers_kernel_and_gives_way_to_it_again(extend, dispatcher):
    linked = load_registry(extend("{CPU: k.py:fast}", FASTER), dispatcher).find("f")
    assert linked.handle.call(X) == "fast"
    (variant,) = linked.variants["CPU"]
    assert variant.reason == "the only variant; override: faster"
    dispatcher.deregister_kernel("t::f", "CPU")
    assert linked.handle.call(X) == "own"


def test_an_override_whose_needs_are_not_met_leaves_the_dispatchers_kernel(extend, dispatcher):
    kernel = "{CPU: {kernel: k.py:fast, requires: [no_such_package]}}"
    linked = load_registry(extend(kernel, FASTER), dispatcher).find("f")
    assert linked.handle.call(X) == "own"
    (variant,) = linked.variants["CPU"]
    assert variant.reason == "needs `no_such_package`, not installed; override: faster"


@pytest.mark.parametrize(
    "kernel",
    [
        "k.py:fast",
        "{kernel: k.py:fast, requires: [no_such_package]}",
        "{kernel: k.py:fast, arrays: torch}",
        "{kernel: k.py:fast, when: rank(x) == 1}",
        "[{kernel: k.py:plain, when: rank(x) == 1}, {kernel: k.py:fast, arrays: torch}]",
    ],
)
def test_a_key_that_the_dispatcher_has_a_kernel_for_is_refused_and_nothing_changes(
    extend, dispatcher, kernel
):
    before = dump(dispatcher)
    with pytest.raises(RegistrationError) as caught:
        load_registry(extend(f"{{CUDA: k.py:plain, CPU: {kernel}}}"), dispatcher)
    assert caught.value.code == "C10E302"
    (finding,) = caught.value.diagnostics
    assert str(finding.span).rpartition("/")[2].startswith("extend.yaml:5:")
    assert finding.message.startswith("`t::f` has a kernel for dispatch key CPU[1] already")
    assert finding.help == 'leave it out, or say why it comes first: `override: {CPU: "…"}`'
    assert dump(dispatcher) == before


def test_an_override_comes_before_the_dispatchers_kernels_with_conditions(extend, dispatcher):
    dispatcher.register_kernel("t::f", "CPU", lambda x: "own, short", when="size(x) == 1")
    assert dispatcher.find("t::f").call(X) == "own, short"
    load_registry(extend("{CPU: k.py:fast}", FASTER), dispatcher)
    assert dispatcher.find("t::f").call(X) == "fast"


def test_a_condition_over_what_the_dispatchers_operator_has_not_is_found_at_its_column(extend, dispatcher):
    before = dump(dispatcher)
    with pytest.raises(ManifestError) as caught:
        load_registry(extend("{CPU: {kernel: k.py:fast, when: rows == 1}}", FASTER), dispatcher)
    (finding,) = caught.value.diagnostics
    assert (finding.code, str(finding.span).rpartition("/")[2]) == ("C10E211", "extend.yaml:5:46")
    assert dump(dispatcher) == before


def test_an_override_of_nothing_is_refused_and_nothing_changes(extend, dispatcher):
    before = dump(dispatcher)
    override = "    override: {CUDA: newer}\n"
    with pytest.raises(RegistrationError) as caught:
        load_registry(extend("{CUDA: k.py:fast}", override), dispatcher)
    assert caught.value.code == "C10E309"
    assert str(caught.value.diagnostics[0].span).endswith("extend.yaml:5:15")
    assert dump(dispatcher) == before


def test_a_manifest_overrides_what_an_included_one_adds_to_the_dispatchers_operator(extend, dispatcher):
    path = extend("{CUDA: k.py:fast}", "    override: {CUDA: newer}\ninclude: [b.yaml]\n", "a.yaml")
    extend("{CUDA: k.py:plain}", name="b.yaml")
    linked = load_registry(path, dispatcher).find("f")
    assert [v.kernel.name for v in linked.variants["CUDA"]] == ["fast", "plain"]
    assert linked.handle.lookup_key("CUDA")(X) == "fast"


def test_overrides_of_the_dispatchers_kernel_are_stacked_and_the_innermost_needs_one_to_override(
    extend, dispatcher
):
    inner = extend("{CPU: k.py:plain}", FASTER, "inner.yaml")
    outer = extend("{CPU: k.py:fast}", FASTER, "outer.yaml")
    outer.write_text(f"include: [inner.yaml]\n{outer.read_text()}")
    linked = load_registry(outer, dispatcher).find("f")
    assert [v.kernel.name for v in linked.variants["CPU"]] == ["fast", "plain"]
    assert linked.handle.call(X) == "fast"
    mine = Dispatcher()
    mine.register_schema("t::f(Tensor x) -> Tensor")
    with pytest.raises(RegistrationError) as caught:
        load_registry(outer, mine)
    assert caught.value.code == "C10E309"
    assert str(caught.value.diagnostics[0].span).startswith(str(inner))


def test_what_a_manifest_adds_without_override_may_not_hide_behind_one_that_has_it(extend, dispatcher):
    path = extend("{CPU: k.py:fast}", f"{FASTER}include: [b.yaml]\n", "a.yaml")
    extend("{CPU: k.py:plain}", name="b.yaml")
    with pytest.raises(RegistrationError) as caught:
        load_registry(path, dispatcher)
    assert caught.value.code == "C10E302"
    assert "b.yaml:5:20" in str(caught.value.diagnostics[0].span)


def test_an_operator_of_a_registry_loaded_before_is_extended(extend, tmp_path):
    dispatcher, base = Dispatcher(), tmp_path / "base.yaml"
    kernels = "{CPU: k.py:plain}"
    base.write_text(f'version: 1\noperators: [{{schema: "t::f(Tensor x) -> Tensor", kernels: {kernels}}}]\n')
    first = load_registry(base, dispatcher).find("f")
    second = load_registry(extend("{CUDA: k.py:fast}"), dispatcher).find("f")
    assert first.handle is second.handle
    assert list(first.variants) == ["CPU"]
    assert list(second.variants) == ["CUDA"]
    assert second.handle.call(X) == "plain"


def test_an_operator_that_nobody_has_is_told_with_near_names_and_nothing_is_registered(extend, dispatcher):
    before = dump(dispatcher)
    with pytest.raises(ManifestError) as caught:
        load_registry(extend("{CPU: k.py:fast}", operator="t::ff"), dispatcher)
    (finding,) = caught.value.diagnostics
    assert finding.code == "C10E303"
    assert finding.message.endswith("is defined by neither a manifest nor the dispatcher")
    assert finding.help == "did you mean `t::f`?"
    assert dump(dispatcher) == before
    with pytest.raises(ManifestError, match="is defined by no manifest"):
        load_registry(extend("{CPU: k.py:fast}"))


@pytest.mark.parametrize("schemas", [[], ["t::f(Tensor x, int n=1) -> Tensor"]])
def test_an_operator_that_is_no_longer_the_one_the_manifest_was_read_for_is_refused(
    extend, dispatcher, schemas
):
    outside = {op.name: op.schema for op in dispatcher.operators()}
    manifest = require_manifest(extend("{CUDA: k.py:plain}"), outside=outside)
    other = Dispatcher()
    for schema in schemas:
        other.register_schema(schema)
    before = dump(other)
    with pytest.raises(ManifestError) as caught:
        link_manifest(manifest, other)
    assert caught.value.code == "C10E303"
    assert caught.value.diagnostics[0].message == (
        "the dispatcher has no operator `t::f(Tensor x) -> Tensor`, which this entry extends"
    )
    assert dump(other) == before
    assert link_manifest(manifest, dispatcher).find("f").handle is dispatcher.find("f")


def test_cases_are_compared_with_the_dispatchers_schema(extend, dispatcher):
    cases = "    cases: [{name: a, inputs: {y: 1, x: 'randn(1)'}}]\n"
    with pytest.raises(ManifestError, match="argument `y` in the inputs of case `a` of `t::f` is unknown"):
        load_registry(extend("{}", cases), dispatcher)
    linked = load_registry(extend("{}", cases.replace("y: 1, ", "")), dispatcher).find("f")
    assert [case.name for case in linked.decl.cases] == ["a"]


def test_a_kernel_that_does_not_fit_the_dispatchers_schema_has_its_place_in_the_manifest(extend, dispatcher):
    linked = load_registry(extend("{CPU: k.py:misfit}", FASTER), dispatcher).find("f")
    with pytest.raises(RegistrationError) as caught:
        linked.handle.call(X)
    assert caught.value.code == "C10E305"
    assert str(caught.value.diagnostics[0].span).endswith("extend.yaml:5:20")
