from __future__ import annotations

TEXT = """\
demo::double(Tensor x) -> Tensor
  Twice x.
  declared at registry.yaml:3:13

Arguments
  Tensor x

Returns
  Tensor

Dispatch table (the key comes from `x`)
  CPU
      odd  k.py:triple
        not registered: needs `no_such_package`, not installed
        needs no_such_package; declared at registry.yaml:7:20
        defined at k.py:7
    * plain  k.py:double
        registered: the first of 2 whose needs are met
        declared at registry.yaml:8:20
        defined at k.py:2: Twice *x*.
  CUDA  (no tensors here: no CUDA driver found)
    * gpu  k.py:double
        registered: the only variant
        declared at registry.yaml:9:22
        defined at k.py:2: Twice *x*.

Reference
  k.py:double
    defined at k.py:2: Twice *x*.
    float32: rtol 1e-06, atol 0

Cost
  bytes: 2 * nbytes(x)

Cases
  tiny: x=randn(n); n in [4, 8]; float32
  edge: x=zeros(0); float32, float64  (not timed)
"""

NO_DRIVER = "no CUDA driver found"


def without_driver(monkeypatch):
    from c10cli.arrays import devices

    monkeypatch.setattr(devices, "cuda_driver_reason", lambda: NO_DRIVER)
    devices._device_of.cache_clear()


def test_everything_declared_is_shown_with_reasons_and_places(c10, demo, monkeypatch):
    without_driver(monkeypatch)
    ran = c10("show", "demo::double")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == TEXT


def test_what_is_not_declared_is_said_to_be_missing(c10, folder):
    (folder / "registry.yaml").write_text(
        'version: 1\noperators:\n  - schema: "d::f(Tensor[] xs, Tensor? y=None, *, Tensor(a!) out) -> ()"\n'
    )
    assert c10("show", "f").out == (
        "d::f(Tensor[] xs, Tensor? y=None, *, Tensor(a!) out) -> ()\n"
        "  declared at registry.yaml:3:13\n"
        "\nArguments\n  Tensor[] xs\n  Tensor? y=None\n  Tensor(a!) out  (keyword-only, written)\n"
        "\nReturns\n  nothing\n"
        "\nDispatch table (the key comes from `out`)\n  no kernels\n"
        "\nReference\n  none\n"
        "\nCost\n  not given\n"
        "\nCases\n  none\n"
    )


def test_why_a_kernel_comes_before_those_of_another_manifest_is_part_of_its_reason(c10, demo):
    (demo.parent / "fast.yaml").write_text(
        "version: 1\ninclude: [registry.yaml]\noperators:\n  - operator: demo::double\n"
        "    kernels: {CPU: {kernel: k.py:triple, name: mine}}\n    override: {CPU: three is more}\n"
    )
    ran = c10("show", "double", "--registry", "fast.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert "  declared at registry.yaml:3:13\n" in ran.out
    assert (
        "    * mine  k.py:triple\n"
        "        registered: the best of 3; override: three is more\n"
        "        declared at fast.yaml:5:29\n"
    ) in ran.out
    assert "      plain  k.py:double\n        not registered: `mine` comes before it\n" in ran.out
    shown = c10("show", "double", "--registry", "fast.yaml", "--format", "json").json
    assert [(c["file"], c["reason"], c["override"]) for c in shown["table"][0]["variants"]] == [
        ("fast.yaml", "the best of 3; override: three is more", "three is more"),
        ("registry.yaml", "needs `no_such_package`, not installed", None),
        ("registry.yaml", "`mine` comes before it", None),
    ]


def test_no_kernel_is_imported_and_a_source_that_is_not_python_is_told(c10, demo):
    (demo.parent / "k.py").write_text("raise RuntimeError('imported'\n")
    ran = c10("show", "double")
    assert (ran.code, ran.err) == (0, "")
    assert "defined at" not in ran.out
    assert "cannot be used: `k.py` is not Python: '(' was never closed (line 1)" in ran.out


def test_a_kernel_that_is_not_there_is_told(c10, demo):
    demo.write_text(demo.read_text().replace("k.py:double, name: plain", "gone.py:double, name: plain"))
    (demo.parent / "k.py").write_text("def dubble(x):\n    return x\n")
    out = c10("show", "double").out
    assert "cannot be used: kernel file `gone.py` does not exist" in out
    assert "cannot be used: `k.py` has no `triple`" in out
    shown = c10("show", "double", "--format", "json").json
    assert [c["fault"] for c in shown["table"][0]["variants"]] == [
        "`k.py` has no `triple`",
        "kernel file `gone.py` does not exist",
    ]


def test_json_says_the_same(c10, demo, monkeypatch):
    without_driver(monkeypatch)
    shown = c10("show", "double", "--format", "json").json
    assert shown["format"] == "c10.show/1"
    assert (shown["name"], shown["line"], shown["summary"]) == ("demo::double", 3, "Twice x.")
    assert shown["arguments"] == [
        {"name": "x", "type": "Tensor", "default": None, "keyword_only": False, "mutable": False}
    ]
    assert shown["returns"] == [{"name": "", "type": "Tensor"}]
    cpu, cuda = shown["table"]
    assert [(c["name"], c["taken"]) for c in cpu["variants"]] == [("odd", False), ("plain", True)]
    assert cpu["variants"][1] == {
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
    }
    assert (cuda["device"], cuda["device_reason"]) == (False, NO_DRIVER)
    assert shown["cost"] == {"bytes": "2 * nbytes(x)", "flops": None}
    assert shown["tolerance"] == {"float32": {"rtol": 1e-6, "atol": 0.0}}
    assert [case["bench"] for case in shown["cases"]] == [True, False]


def test_namespace_may_be_left_out_and_a_wrong_name_gets_near_ones(c10, demo):
    assert c10("show", "add").out.startswith("demo::add(")
    ran = c10("show", "duble")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error[C10E401]: unknown operator `duble`\n  = help: did you mean `demo::double`?\n"


def test_an_ambiguous_overload_names_them(c10, folder):
    lines = [
        "version: 1",
        "operators:",
        '  - schema: "a::f.one(Tensor x) -> Tensor"',
        '  - schema: "a::f.two(Tensor x) -> Tensor"',
    ]
    (folder / "registry.yaml").write_text("\n".join(lines) + "\n")
    ran = c10("show", "f")
    assert ran.code == 2
    assert "error[C10E402]" in ran.err
    assert "a::f.one" in ran.err
    assert "a::f.two" in ran.err


def test_names_that_cannot_be_operators_are_unknown(c10, demo):
    for name in ("", "::", "a::b::c", "ü", "demo::double.nope", "--", " "):
        ran = c10("show", "--", name)
        assert ran.code == 2, name
        assert "error[C10E" in ran.err
