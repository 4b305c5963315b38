from __future__ import annotations

import sys

import pytest

from c10cli.arrays import devices
from c10cli.cli.explain import read_page
from c10cli.errors import CODES

TEXT = """\
demo::double(Tensor x) -> Tensor
  declared at registry.yaml:3:13

Arguments
  x  float32[4, 8] on CPU

Dispatch key: CPU
  from `x`, the first argument of type Tensor

Kernel: plain  k.py:double
  taken: the first of 2 whose needs are met
  declared at registry.yaml:8:20
  defined at k.py:2: Twice *x*.
  imported, and fits the schema

Other variants for CPU
  odd  k.py:triple: needs `no_such_package`, not installed

Other keys
  CUDA: no CUDA driver found; `gpu` would serve it
"""

TABLE = """\
demo::double(Tensor x) -> Tensor
  declared at registry.yaml:3:13

Dispatch key: that of the tensors given
  from `x`, the first argument of type Tensor

CPU  served by plain
    odd  k.py:triple: needs `no_such_package`, not installed
  * plain  k.py:double: the first of 2 whose needs are met

CUDA  served by gpu  (no tensors here: no CUDA driver found)
  * gpu  k.py:double: the only variant
"""


@pytest.fixture(autouse=True)
def _no_driver(monkeypatch):
    monkeypatch.setattr(devices, "cuda_driver_reason", lambda: "no CUDA driver found")
    devices._device_of.cache_clear()


@pytest.fixture
def explain(c10, demo):
    """`explain(*words)`: `c10 explain` over the demo registry."""
    return lambda *words: c10("explain", *words)


@pytest.fixture
def declare(folder):
    """`declare(lines, kernels)`: a registry of other operators in the current folder."""

    def write(operators: str, kernels: str = "def f(x):\n    return x + 1\n") -> None:
        (folder / "registry.yaml").write_text(f"version: 1\noperators:\n{operators}")
        (folder / "k.py").write_text(kernels)

    return write


def test_a_call_is_explained_from_its_arguments_to_its_kernel(explain):
    ran = explain("double", "randn(4, 8)")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == TEXT


def test_without_arguments_every_key_is_explained_and_nothing_imported(explain, folder):
    (folder / "k.py").write_text((folder / "k.py").read_text() + "\nraise RuntimeError('imported')\n")
    ran = explain("double")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == TABLE


def test_the_kernel_is_not_run(c10, declare):
    declare(
        '  - schema: "d::f(Tensor x) -> Tensor"\n    kernels: {CPU: k.py:f}\n',
        "def f(x):\n    raise RuntimeError('run')\n",
    )
    ran = c10("explain", "f", "[1]")
    assert (ran.code, ran.err) == (0, "")
    assert "\n  taken: the only variant\n" in ran.out


def test_what_a_module_prints_when_imported_does_not_spoil_the_output(c10, declare):
    declare(
        '  - schema: "d::f(Tensor x) -> Tensor"\n    kernels: {CPU: k.py:f}\n',
        "print('noise')\n\ndef f(x):\n    return x\n",
    )
    ran = c10("explain", "f", "[1]", "--format", "json")
    assert ran.json["kernel"]["importable"] is True
    assert "noise" in ran.err


def test_defaults_lists_and_other_values_are_shown(c10, declare):
    declare(
        '  - schema: "d::f(Tensor[] xs, Tensor? w=None, *, int n=3) -> Tensor"\n    kernels: {CPU: k.py:f}\n',
        "def f(xs, w, *, n):\n    return xs[0]\n",
    )
    out = c10("explain", "f", "[ones(2), zeros(3)]").out
    assert (
        "  xs  list of 2: float32[2], float32[3] on CPU\n  w   None (default)\n  n   int 3 (default)\n" in out
    )
    assert (
        "\n  from `xs[0]`, the first tensor of the lists and optionals, since no argument is a plain Tensor\n"
        in out
    )
    assert "\n  from `w`, the first tensor of the lists" in c10("explain", "f", "[]", "[1]").out


def test_best_and_later_variants_have_their_reasons(c10, declare):
    declare(
        '  - schema: "d::f(Tensor x) -> Tensor"\n'
        "    kernels: {CPU: [{kernel: k.py:f, name: one}, {kernel: k.py:f, name: two}]}\n"
    )
    out = c10("explain", "f", "[1]").out
    assert "Kernel: one  k.py:f\n  taken: the best of 2\n" in out
    assert "Other variants for CPU\n  two  k.py:f: `one` comes before it\n" in out
    out = c10("explain", "f", "[1]", "--variant", "two").out
    assert "Kernel: two  k.py:f\n  taken: asked for with --variant\n" in out
    assert "Other variants for CPU\n  one  k.py:f: `two` is asked for with --variant\n" in out


def test_an_installed_function_is_shown_with_its_package(c10, declare):
    declare('  - schema: "d::f(Tensor x) -> Tensor"\n    kernels: {CPU: "json.decoder:JSONDecoder"}\n')
    ran = c10("explain", "f", "[1]")
    assert "\n  of package `json`; declared at registry.yaml:" in ran.out
    assert "/json/decoder.py:" in ran.out
    assert ran.code == 1  # it is no kernel for this schema
    assert "error[C10E305]" in ran.err


def test_where_no_kernel_serves_the_same_is_said_and_the_error_comes_last(c10, declare):
    declare(
        '  - schema: "d::f(Tensor x) -> Tensor"\n'
        "    kernels: {CPU: {kernel: k.py:f, requires: [no_such_package]}, XLA: k.py:f}\n"
    )
    ran = c10("explain", "f", "[1]")
    assert ran.code == 3
    assert "\nNo kernel serves CPU\n\nVariants for CPU\n  f  k.py:f: needs `no_such_package`" in ran.out
    assert "\nOther keys\n  XLA: c10cli makes no XLA tensors; `f` would serve it\n" in ran.out
    assert ran.err.startswith("error[C10E403]: no kernel of `d::f` for dispatch key CPU[1]; registered: XLA")
    assert "`f` for CPU: needs `no_such_package`, not installed" in ran.err


def test_a_key_that_nothing_is_declared_for_is_told_apart(c10, declare):
    declare(
        '  - schema: "d::f(Tensor x) -> Tensor"\n    kernels: {XLA: {kernel: k.py:f, requires: [gone]}}\n'
    )
    ran = c10("explain", "f", "[1]")
    assert ran.code == 3
    assert "\nNo kernel is declared for CPU\n" in ran.out
    assert "XLA: c10cli makes no XLA tensors, and nothing would serve it: `f` needs `gone`" in ran.out


def test_a_kernel_that_cannot_be_imported_is_told_as_such(c10, declare):
    declare('  - schema: "d::f(Tensor x) -> Tensor"\n    kernels: {CPU: gone.py:f}\n')
    ran = c10("explain", "f", "[1]")
    assert ran.code == 3
    assert "\n  cannot be used: kernel file `gone.py` does not exist\n" in ran.out
    assert "error[C10E304]" in ran.err


def test_a_device_that_is_not_here_is_explained_all_the_same(explain):
    ran = explain("double", "[1]", "--key", "CUDA")
    assert ran.code == 3
    assert "\n  x  float32[1] on CUDA\n" in ran.out
    assert "Kernel: gpu  k.py:double\n  taken: the only variant\n" in ran.out
    assert "\n  cannot be called here: no CUDA driver found\n" in ran.out
    assert "\nOther keys\n  CPU: `x` is on CUDA; `plain` would serve it\n" in ran.out
    assert ran.err.startswith("error[C10E607]: no CUDA tensor can be made here: no CUDA driver found\n")


def test_a_key_can_be_asked_for_without_arguments(explain):
    ran = explain("double", "--device", "cuda")
    assert (ran.code, ran.err) == (0, "")
    assert "Dispatch key: CUDA\n  from --device, as no arguments are given\n" in ran.out
    assert "Kernel: gpu  k.py:double\n" in ran.out
    assert "\nOther keys\n  CPU: CUDA is asked for; `plain` would serve it\n" in ran.out
    out = explain("double", "--variant", "plain").out
    assert "Dispatch key: CPU\n  from the default, as no arguments are given\n" in out
    assert "Kernel: plain  k.py:double\n" in out
    ran = explain("double", "--key", "XLA")
    assert ran.code == 3
    assert "error[C10E403]" in ran.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["duoble", "[1]"], "C10E401"),
        (["double", "[1]", "[2]"], "C10E404"),
        (["double", "--y", "1"], "C10E404"),
        (["double", "randn(4"], "C10E410"),
        (["double", "[1]", "--variant", "plian"], "C10E412"),
        (["double", "[1]", "--key", "CUDAA"], "C10E108"),
    ],
)
def test_what_call_refuses_is_refused_in_the_same_way(explain, c10, words, code):
    ran, called = explain(*words), c10("call", *words)
    assert (ran.code, ran.out, ran.err) == (2, "", called.err)
    assert f"error[{code}]" in ran.err


def test_a_call_without_a_tensor_is_explained_as_far_as_it_goes(c10, declare):
    declare('  - schema: "d::f(Tensor[] xs) -> Tensor"\n    kernels: {CPU: k.py:f}\n')
    ran = c10("explain", "f", "[]")
    assert ran.code == 2
    assert "\n  xs  list of 0\n\nDispatch key: none\n" in ran.out
    assert "\nCPU  served by f\n" in ran.out
    assert "error[C10E408]" in ran.err


def test_an_operator_without_kernels_says_so(c10, declare):
    declare('  - schema: "d::f(Tensor x) -> Tensor"\n')
    ran = c10("explain", "f")
    assert ran.code == 0
    assert ran.out.endswith("\n\nNo kernels\n")


def test_json_says_the_same(explain):
    shown = explain("double", "randn(4, 8)", "--format", "json").json
    assert shown["format"] == "c10.explain/1"
    assert (shown["name"], shown["schema"]) == ("demo::double", "demo::double(Tensor x) -> Tensor")
    assert shown["arguments"] == [{"name": "x", "value": "float32[4, 8]", "keys": ["CPU"], "default": False}]
    assert (shown["key"], shown["key_from"]) == ("CPU", "x")
    assert shown["kernel"] == {
        "name": "plain",
        "kernel": "k.py:double",
        "taken": True,
        "reason": "the first of 2 whose needs are met",
        "override": None,
        "requires": [],
        "arrays": None,
        "when": None,
        "cache": None,
        "boxed": False,
        "package": None,
        "file": "registry.yaml",
        "line": 8,
        "column": 20,
        "source": "k.py",
        "source_line": 2,
        "doc": "Twice *x*.",
        "fault": None,
        "importable": True,
    }
    cpu, cuda = shown["table"]
    assert (cpu["key"], cpu["serves"], cpu["reason"]) == ("CPU", "plain", None)
    assert [c["reason"] for c in cpu["variants"]] == [
        "needs `no_such_package`, not installed",
        "the first of 2 whose needs are met",
    ]
    assert (cuda["key"], cuda["serves"], cuda["reason"]) == ("CUDA", "gpu", "no CUDA driver found")
    assert shown["error"] is None


@pytest.fixture
def explained(c10, declare):
    """`explained(schema, kernels, *words)`: what JSON says of a call of an operator with such kernels."""

    def explain(schema, kernels, *words):
        declare(
            f'  - schema: "d::f{schema} -> Tensor"\n    kernels: {kernels}\n',
            "def f(x):\n    return x\n\ndef g(y):\n    return y\n",
        )
        return c10("explain", "f", *words, "--format", "json").json

    return explain


def reasons(shown):
    table = shown["table"]
    return {(k["key"], v["name"]): (v["taken"], v["reason"]) for k in table for v in k["variants"]}


def test_the_table_in_use_gives_the_reasons(explained):
    kernels = "{CPU: [{kernel: k.py:f, name: a, requires: [gone]}, {kernel: k.py:f, name: b}, k.py:f]}"
    shown = explained("(Tensor x)", kernels, "[1]")
    assert reasons(shown) == {
        ("CPU", "a"): (False, "needs `gone`, not installed"),
        ("CPU", "b"): (True, "the first of 3 whose needs are met"),
        ("CPU", "f"): (False, "`b` comes before it"),
    }
    assert (shown["kernel"]["name"], shown["kernel"]["importable"], shown["error"]) == ("b", True, None)


def test_a_variant_that_lacks_a_package_is_taken_where_it_is_asked_for(explained):
    kernels = "{CPU: [{kernel: k.py:f, name: a, requires: [gone]}, {kernel: k.py:f, name: b}]}"
    shown = explained("(Tensor x)", kernels, "[1]", "--variant", "a")
    assert reasons(shown) == {
        ("CPU", "a"): (True, "asked for with --variant"),
        ("CPU", "b"): (False, "`a` is asked for with --variant"),
    }
    shown = explained("(Tensor x)", kernels, "[1]", "--variant", "b")
    assert reasons(shown)["CPU", "a"] == (False, "needs `gone`, not installed")


@pytest.mark.parametrize(
    ("schema", "texts", "source"),
    [
        ("(int n, Tensor x)", ["2", "[1]"], "x"),
        ("(Tensor? w, Tensor[] xs)", ["none", "[ones(1), ones(2)]"], "xs[0]"),
        ("(Tensor[] xs, Tensor y)", ["[ones(1)]", "[1]"], "y"),
        ("(Tensor?[] xs)", ["[None, ones(2)]"], "xs[1]"),
    ],
)
def test_the_argument_that_decides_is_named(explained, schema, texts, source):
    shown = explained(schema, "{XLA: k.py:f}", *texts)
    assert (shown["key_from"], shown["key"], shown["kernel"]) == (source, "CPU", None)
    assert shown["error"]["code"] == "C10E403"


def test_the_key_of_the_call_comes_first_and_the_others_say_why_not(explained):
    kernels = "{Meta: k.py:f, SparseCPU: {kernel: k.py:f, arrays: torch}, CPU: k.py:f}"
    cpu, meta, sparse = explained("(Tensor x)", kernels, "[1]")["table"]
    assert (cpu["key"], meta["key"], sparse["key"]) == ("CPU", "Meta", "SparseCPU")
    assert (cpu["reason"], meta["reason"]) == (None, "c10cli makes no Meta tensors")
    assert sparse["reason"] in ("`x` is on CPU", "package `torch` is not installed")


def test_a_kernel_that_does_not_fit_is_the_error_of_the_call(explained):
    shown = explained("(Tensor x, *, int n=1)", "{CPU: k.py:g}", "[1]")
    assert (shown["kernel"]["importable"], shown["error"]["code"]) == (False, "C10E305")


def test_without_the_kernels_library_the_key_is_still_that_of_the_arrays(explained, monkeypatch):
    monkeypatch.setattr(devices, "is_installed", lambda package: package != "torch")
    devices._device_of.cache_clear()
    shown = explained("(Tensor x)", "{CPU: {kernel: k.py:f, arrays: torch}}", "[1]")
    devices._device_of.cache_clear()
    assert (shown["arguments"][0]["keys"], shown["key"]) == (["CPU"], "CPU")
    assert shown["table"][0]["reason"] == "package `torch` is not installed"
    assert shown["error"]["code"] == "C10E607"


def test_a_function_of_a_package_that_is_not_installed_has_no_definition(explained):
    ((entry,)) = explained("(Tensor x)", "{CPU: 'no_such_package.sub:f'}")["table"]
    (variant,) = entry["variants"]
    assert (variant["source"], variant["package"]) == (None, "no_such_package")


def test_json_without_arguments_or_kernel(explain):
    shown = explain("double", "--format", "json").json
    assert (shown["arguments"], shown["key"], shown["kernel"]) == (None, None, None)
    ran = explain("double", "[1]", "--key", "XLA", "--format", "json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "C10E607")


@pytest.mark.parametrize("spelling", ["C10E204", "c10e204", "E204", "e204", "204"])
def test_a_code_may_be_typed_shorter(c10, folder, spelling):
    ran = c10("explain", spelling)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == read_page("C10E204") + "\n"
    assert c10("--explain", spelling).out == ran.out


def test_a_warning_is_found_by_its_number_alone(c10, folder):
    assert c10("explain", "651").out.startswith("# C10W651: ")


def test_a_page_needs_no_registry(c10, folder):
    (folder / "registry.yaml").write_text("[")
    assert c10("explain", "C10E102").code == 0
    assert c10("--explain", "C10E102").code == 0


def test_a_page_as_json(c10, folder):
    shown = c10("explain", "C10E204", "--format", "json").json
    assert shown == {
        "format": "c10.code/1",
        "code": "C10E204",
        "title": CODES["C10E204"],
        "page": read_page("C10E204"),
    }


def test_a_code_takes_no_arguments(c10, folder):
    ran = c10("explain", "C10E204", "[1]")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.endswith("Error: Got unexpected extra argument ([1])\n")


@pytest.mark.parametrize("words", [["explain", "C10E240"], ["--explain", "e240"], ["explain", "240"]])
def test_an_unknown_code_is_wrong_use_and_offers_near_ones(c10, folder, words):
    ran = c10(*words)
    assert (ran.code, ran.out) == (2, "")
    assert f"Error: no such code `{words[1]}`; did you mean `C10E" in ran.err


def test_an_operator_called_like_a_code_is_found_by_its_whole_name(c10, declare):
    declare('  - schema: "d::e204(Tensor x) -> Tensor"\n    kernels: {CPU: k.py:f}\n')
    assert c10("explain", "d::e204").out.startswith("d::e204(Tensor x) -> Tensor\n")
    assert c10("explain", "e204").out.startswith("# C10E204")


def test_on_a_terminal_the_first_codes_page_is_named_once_and_last(c10, demo, monkeypatch):
    demo.write_text(demo.read_text().replace("summary", "sumary").replace("Tensor y,", "Tensr y,"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ran = c10("list", "--color", "never")
    assert ran.err.count("error[") == 2
    assert ran.err.count("for more:") == 1
    assert ran.err.endswith("\nfor more: c10 explain C10E104\n")
    assert "for more" not in c10("list", "--format", "json").err


def test_in_a_pipe_no_page_is_named(c10, demo):
    assert "for more" not in c10("show", "duble").err


def test_where_nothing_was_wrong_no_page_is_named(c10, demo, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert c10("list").err == ""
