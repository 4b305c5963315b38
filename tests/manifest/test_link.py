import sys
from pathlib import Path

import numpy as np
import pytest

from c10cli import (
    ArgumentError,
    Dispatcher,
    ManifestError,
    RegistrationError,
    UnknownOperatorError,
    load_registry,
)
from c10cli.manifest.link import link_manifest, resolve_variants
from c10cli.manifest.load import require_manifest

KERNELS = """\
def fast(x): return "fast"
def plain(x): return "plain"
def misfit(x, y): return x
def with_cache(x, cache):
    cache.append(x)
    return len(cache)
def boxed(stack, cache):
    stack[-1:] = ["boxed"]
VALUE = 3
"""


@pytest.fixture
def write(tmp_path):
    """A registry of operators with one argument, from their kernels by name."""

    def write(name="registry.yaml", **kernels):
        (tmp_path / "k.py").write_text(KERNELS, encoding="utf-8")
        lines = ["version: 1", "operators:"]
        for operator, value in kernels.items():
            lines += [f'  - schema: "t::{operator}(Tensor x) -> Tensor"', f"    kernels: {value}"]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
        return tmp_path / name

    return write


X = np.ones(1)
BEST = (
    "{CPU: [{kernel: k.py:fast, requires: [no_such_package, numpy, no_such_other]},"
    " k.py:plain, {kernel: k.py:fast, name: third}]}"
)


def test_the_first_variant_whose_needs_are_met_is_registered_and_all_have_reasons(write):
    linked = load_registry(write(f=BEST)).find("f")
    assert linked.handle.call(X) == "plain"
    assert [(v.kernel.name, v.taken, v.reason, v.missing) for v in linked.variants["CPU"]] == [
        (
            "fast",
            False,
            "needs `no_such_package`, `no_such_other`, not installed",
            ("no_such_package", "no_such_other"),
        ),
        ("plain", True, "the first of 3 whose needs are met", ()),
        ("third", False, "`plain` comes before it", ()),
    ]


def test_an_only_variant_is_taken_as_such(write):
    linked = load_registry(write(f="{CPU: k.py:plain, CUDA: k.py:fast}")).find("t::f")
    assert [v.reason for variants in linked.variants.values() for v in variants] == ["the only variant"] * 2
    assert list(linked.variants) == ["CPU", "CUDA"]


def test_a_key_without_a_variant_whose_needs_are_met_has_no_kernel(write):
    registry = load_registry(write(f="{CPU: {kernel: k.py:fast, requires: [no_such_package]}}"))
    assert registry.find("f").handle.keys() == ()
    assert registry.find("f").variants["CPU"][0].taken is False


def test_packages_are_looked_up_once_per_registry(write):
    asked = []

    def installed(package):
        asked.append(package)
        return package == "numpy"

    decl = require_manifest(write(f=BEST)).operators[0]
    assert [v.taken for v in resolve_variants(decl.variants("CPU"), installed)] == [False, True, False]
    assert asked == ["no_such_package", "numpy", "no_such_other"]


def test_no_kernel_is_imported_until_a_call_needs_it(write, tmp_path):
    path = write(f="{CPU: k.py:plain}", g="{CPU: bad.py:f}")
    (tmp_path / "bad.py").write_text("raise ValueError('imported')", encoding="utf-8")
    before = set(sys.modules)
    registry = load_registry(path)
    assert not [name for name in set(sys.modules) - before if "registry" in name]
    assert registry.find("f").handle.call(X) == "plain"
    assert [name for name in set(sys.modules) - before if name.endswith(".k")]
    with pytest.raises(RegistrationError, match="imported"):
        registry.find("g").handle.call(X)


def test_caches_and_boxed_kernels_are_linked_as_such(write):
    registry = load_registry(
        write(
            f="{CPU: {kernel: k.py:with_cache, cache: 'builtins:list'}}",
            g="{CPU: {kernel: k.py:boxed, boxed: true}}",
        )
    )
    kernel = registry.find("f").handle.lookup(X)
    assert [kernel(X), kernel(X)] == [1, 2]
    assert registry.find("g").handle.call(X) == "boxed"


def test_operators_are_registered_in_the_dispatcher_that_is_given(write):
    dispatcher = Dispatcher()
    registry = load_registry(write(f="{CPU: k.py:plain}"), dispatcher)
    assert registry.dispatcher is dispatcher
    assert dispatcher.find("t::f") is registry.find("f").handle
    assert load_registry(write(f="{CPU: k.py:plain}")).dispatcher is not dispatcher


def test_a_second_load_into_the_same_dispatcher_is_refused_and_changes_nothing(write):
    dispatcher = Dispatcher()
    load_registry(write(f="{CPU: k.py:plain}"), dispatcher)
    dump = [op.dump() for op in dispatcher.operators()]
    other = write("other.yaml", a="{CPU: k.py:fast}", f="{CPU: k.py:fast}", z="{CPU: k.py:fast}")
    with pytest.raises(RegistrationError) as caught:
        load_registry(other, dispatcher)
    assert caught.value.code == "C10E301"
    assert "other.yaml:5:13" in str(caught.value.diagnostics[0].notes)
    assert [op.dump() for op in dispatcher.operators()] == dump
    assert dispatcher.find("f").call(X) == "plain"


def test_a_faulty_manifest_registers_nothing(write):
    dispatcher = Dispatcher()
    with pytest.raises(ManifestError) as caught:
        load_registry(write(f="{CPU: k.py:plain}", g="{CPU: 3, CUDA: 4}"), dispatcher)
    assert len(caught.value.diagnostics) == 2
    assert dispatcher.operators() == []


def test_registrations_say_their_place_in_the_manifest(write):
    linked = load_registry(write(f="{CPU: k.py:plain}")).find("f")
    assert "registry.yaml:4:20" in linked.handle.dump()


def test_a_variant_that_is_not_registered_can_be_bound(write):
    linked = load_registry(write(f=BEST)).find("f")
    assert linked.bind(linked.variant("CPU", "fast").kernel).function(X) == "fast"


def test_an_unknown_variant_is_refused_with_those_there_are(write):
    linked = load_registry(write(f=BEST)).find("f")
    with pytest.raises(UnknownOperatorError) as caught:
        linked.variant("CPU", "plane")
    assert caught.value.code == "C10E412"
    assert caught.value.diagnostics[0].message == (
        "`t::f` has no variant `plane` for CPU; there is `fast`, `plain`, `third`"
    )
    assert caught.value.diagnostics[0].help == "did you mean `plain`?"
    with pytest.raises(UnknownOperatorError, match="there is none"):
        linked.variant("CUDA", "plain")


@pytest.mark.parametrize(
    ("kernel", "code"),
    [
        ("k.py:misfit", "C10E305"),
        ("k.py:VALUE", "C10E310"),
        ("k.py:nowhere", "C10E304"),
        ("{kernel: k.py:with_cache, cache: k.py:VALUE}", "C10E310"),
        ("{kernel: k.py:with_cache, cache: k.py:nowhere}", "C10E304"),
    ],
)
def test_a_kernel_that_does_not_bind_is_found_at_its_place(write, kernel, code):
    linked = load_registry(write(f=f"{{CPU: {kernel}}}")).find("f")
    with pytest.raises(RegistrationError) as caught:
        linked.bind(linked.variants["CPU"][0].kernel)
    (finding,) = caught.value.diagnostics
    assert finding.code == code
    assert finding.span.line_text.strip() == f"kernels: {{CPU: {kernel}}}"


def test_kernels_are_listed_in_the_order_of_the_manifest(write):
    registry = load_registry(write(g=BEST, f="{CUDA: k.py:fast, CPU: k.py:plain}"))
    listed = [(str(o.decl.name), v.kernel.dispatch_key, v.kernel.name) for o, v in registry.kernels()]
    assert listed == [
        ("t::g", "CPU", "fast"),
        ("t::g", "CPU", "plain"),
        ("t::g", "CPU", "third"),
        ("t::f", "CUDA", "fast"),
        ("t::f", "CPU", "plain"),
    ]


def test_an_operator_is_found_by_its_short_name_or_refused_with_near_names(write):
    registry = load_registry(write(softmax="{CPU: k.py:plain}"))
    assert str(registry.find("softmax").decl.name) == "t::softmax"
    with pytest.raises(UnknownOperatorError) as caught:
        registry.find("sofmax")
    assert caught.value.code == "C10E401"
    assert "softmax" in caught.value.diagnostics[0].help


@pytest.mark.parametrize("wrong", [None, 3, b"registry.yaml"])
def test_what_is_no_name_and_no_path_is_refused_as_that(write, wrong):
    registry = load_registry(write(f="{}"))
    for refuse, taken in ((registry.find, "name of an operator"), (load_registry, "path of a manifest")):
        with pytest.raises(ArgumentError, match=f"takes the {taken}, not ") as caught:
            refuse(wrong)
        assert caught.value.code == "C10E405"


def test_a_registry_is_a_collection_of_its_operators(write):
    registry = load_registry(write(f="{CPU: k.py:plain}", g="{}"))
    assert len(registry) == 2
    assert [str(linked.decl.name) for linked in registry] == ["t::f", "t::g"]
    assert registry["f"] is registry.find("t::f")
    assert "f" in registry
    assert "t::g" in registry
    assert "h" not in registry
    assert 3 not in registry
    assert repr(registry) == f"<Registry {registry.manifest.path}: 2 operators>"
    assert repr(registry["f"]) == "<LinkedOperator t::f: CPU>"
    with pytest.raises(UnknownOperatorError):
        registry["h"]


def test_a_manifest_without_operators_is_an_empty_registry(tmp_path):
    (tmp_path / "registry.yaml").write_text("version: 1\noperators: []\n", encoding="utf-8")
    registry = link_manifest(require_manifest(tmp_path / "registry.yaml"))
    assert registry.kernels() == []
    assert registry.dispatcher.operators() == []


@pytest.mark.parametrize(
    ("kernel", "code"), [("k.py:misfit", "C10E305"), ("k.py:VALUE", "C10E310"), ("k.py:gone", "C10E304")]
)
def test_a_kernel_that_the_first_call_refuses_has_its_place_in_the_manifest(write, kernel, code):
    registry = load_registry(write(f=f"{{CPU: {kernel}}}"))
    for use in (registry.find("f").handle.call, registry.find("f").handle.lookup):
        with pytest.raises(RegistrationError) as caught:
            use(X)
        assert caught.value.code == code
        assert str(caught.value.diagnostics[0].span).endswith("registry.yaml:4:20")


def test_the_variants_that_are_taken_are_those_in_the_table_in_use():
    registry = load_registry(Path(__file__).parents[2] / "registry.yaml")
    for linked in registry.operators.values():
        taken = {key: [v.kernel for v in vs if v.taken] for key, vs in linked.variants.items()}
        entries = linked.handle.table().registrations.items()
        served = {key.name: [entry.source.kernel for entry in reversed(serving)] for key, serving in entries}
        assert {key: kernels for key, kernels in taken.items() if kernels} == served
