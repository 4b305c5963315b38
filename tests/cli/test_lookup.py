from __future__ import annotations

import pytest

from c10cli.arrays import devices
from c10cli.cli.call_words import CallOptions, CallWords
from c10cli.cli.lookup import explain_words
from c10cli.cli.shell_arguments import Tail
from c10cli.errors import ArgumentError, NoKernelError, RegistrationError, UnknownOperatorError
from c10cli.manifest.link import load_registry


@pytest.fixture
def explained(folder):
    """`explained(schema, kernels, *texts, **options)`: the explanation of a call of one operator."""
    (folder / "k.py").write_text("def f(x):\n    return x\n\ndef g(y):\n    return y\n")

    def explain(schema, kernels, *texts, **options):
        path = folder / "registry.yaml"
        path.write_text(
            f'version: 1\noperators:\n  - schema: "d::f{schema} -> Tensor"\n    kernels: {kernels}\n'
        )
        linked = load_registry(path).find("f")
        return explain_words(CallWords(linked, Tail(list(texts)), {}), CallOptions(**options))

    return explain


def reasons(explanation):
    return {(rows.key, row.name): (row.taken, row.reason) for rows in explanation.table for row in rows.rows}


def test_the_table_in_use_gives_the_reasons(explained):
    kernels = "{CPU: [{kernel: k.py:f, name: a, requires: [gone]}, {kernel: k.py:f, name: b}, k.py:f]}"
    explanation = explained("(Tensor x)", kernels, "[1]")
    assert reasons(explanation) == {
        ("CPU", "a"): (False, "needs `gone`, not installed"),
        ("CPU", "b"): (True, "the first of 3 whose needs are met"),
        ("CPU", "f"): (False, "`b` comes before it"),
    }
    assert explanation.here.serving.name == "b"
    assert (explanation.import_error, explanation.error) == (None, None)


def test_a_variant_that_lacks_a_package_is_taken_where_it_is_asked_for(explained):
    kernels = "{CPU: [{kernel: k.py:f, name: a, requires: [gone]}, {kernel: k.py:f, name: b}]}"
    explanation = explained("(Tensor x)", kernels, "[1]", variant="a")
    assert reasons(explanation)["CPU", "a"] == (True, "asked for with --variant")
    assert reasons(explanation)["CPU", "b"] == (False, "`a` is asked for with --variant")
    explanation = explained("(Tensor x)", kernels, "[1]", variant="b")
    assert reasons(explanation)["CPU", "a"] == (False, "needs `gone`, not installed")


def test_a_variant_that_there_is_not_is_refused(explained):
    with pytest.raises(UnknownOperatorError, match="no variant `nope`"):
        explained("(Tensor x)", "{CPU: k.py:f}", "[1]", variant="nope")


@pytest.mark.parametrize(
    ("schema", "texts", "source"),
    [
        ("(int n, Tensor x)", ["2", "[1]"], "`x`"),
        ("(Tensor? w, Tensor[] xs)", ["none", "[ones(1), ones(2)]"], "`xs[0]`"),
        ("(Tensor[] xs, Tensor y)", ["[ones(1)]", "[1]"], "`y`"),
        ("(Tensor?[] xs)", ["[None, ones(2)]"], "`xs[1]`"),
    ],
)
def test_the_argument_that_decides_is_named(explained, schema, texts, source):
    explanation = explained(schema, "{XLA: k.py:f}", *texts)
    assert (explanation.choice.source, explanation.choice.key) == (source, "CPU")
    assert isinstance(explanation.error, NoKernelError)
    assert explanation.here is None


def test_the_key_of_the_call_comes_first_and_the_others_say_why_not(explained):
    explanation = explained(
        "(Tensor x)", "{Meta: k.py:f, SparseCPU: {kernel: k.py:f, arrays: torch}, CPU: k.py:f}", "[1]"
    )
    assert [rows.key for rows in explanation.table] == ["CPU", "Meta", "SparseCPU"]
    cpu, meta, sparse = explanation.table
    assert (cpu.reason, meta.reason) == ("", "c10cli makes no Meta tensors")
    assert sparse.reason in ("`x` is on CPU", "package `torch` is not installed")


def test_a_kernel_that_does_not_fit_is_the_error_of_the_call(explained):
    explanation = explained("(Tensor x, *, int n=1)", "{CPU: k.py:g}", "[1]")
    assert isinstance(explanation.import_error, RegistrationError)
    assert explanation.error is explanation.import_error
    assert explanation.error.code == "C10E305"


def test_without_the_kernels_library_the_key_is_still_that_of_the_arrays(explained, monkeypatch):
    monkeypatch.setattr(devices, "is_installed", lambda package: package != "torch")
    devices._device_of.cache_clear()
    explanation = explained("(Tensor x)", "{CPU: {kernel: k.py:f, arrays: torch}}", "[1]")
    devices._device_of.cache_clear()
    assert (explanation.arguments[0].keys, explanation.choice.key) == (("CPU",), "CPU")
    assert explanation.here.reason == "package `torch` is not installed"
    assert explanation.error.code == "C10E607"


def test_an_empty_list_leaves_no_key(explained):
    explanation = explained("(Tensor[] xs)", "{CPU: k.py:f}", "[]")
    assert explanation.choice.key is None
    assert isinstance(explanation.error, ArgumentError)
    assert explanation.error.code == "C10E408"


def test_places_are_told_from_the_current_folder(explained):
    row = explained("(Tensor x)", "{CPU: k.py:f}", "[1]").here.serving
    assert (row.definition, row.package) == ("k.py:1", "")
    row = explained("(Tensor x)", "{CPU: 'no_such_package.sub:f'}").table[0].serving
    assert (row.definition, row.package) == ("", "no_such_package")
