import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from c10cli.interop import torch_import
from c10cli.manifest.load import load_manifest

NATIVE = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: add.out
- func: relu(Tensor self) -> Tensor
  dispatch: {"CPU, CUDA": relu}
- func: empty.memory_format(SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor
"""


@pytest.fixture
def native(folder):
    path = folder / "native_functions.yaml"
    path.write_text(NATIVE, encoding="utf-8")
    return path


def loaded(path):
    result = load_manifest(path)
    assert result.diagnostics == ()
    return {str(operator.name): operator.dispatch_keys for operator in result.manifest.operators}


def test_a_file_becomes_a_manifest_and_the_numbers_are_said(c10, native, folder, torch):
    ran = c10("import", "--from", native, "--save", "out.yaml")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "out.yaml: 2 operators of native_functions.yaml, 5 kernels of torch",
        "  left out  1: no tensor argument to dispatch on (aten::empty.memory_format)",
    ]
    assert ran.err == ""
    assert loaded(folder / "out.yaml") == {
        "aten::add.Tensor": ("CPU", "CUDA", "Meta"),
        "aten::relu": ("CPU", "CUDA"),
    }


def test_without_save_standard_output_is_the_manifest_and_nothing_else(c10, native, folder, torch):
    ran = c10("import", "--from", native, "--select", "relu", "--key", "CPU")
    (folder / "out.yaml").write_text(ran.out, encoding="utf-8")
    assert loaded(folder / "out.yaml") == {"aten::relu": ("CPU",)}
    assert ran.err == "1 operator of native_functions.yaml, 1 kernel of torch\n"


def test_json_has_every_name_left_out(c10, native, torch):
    ran = c10("import", "--from", native, "--save", "out.yaml", "--format", "json")
    assert ran.json == {
        "format": "c10.import/1",
        "origin": "native_functions.yaml",
        "file": "out.yaml",
        "operators": 2,
        "kernels": 5,
        "note": None,
        "left_out": {"no tensor argument to dispatch on": ["aten::empty.memory_format"]},
        "not_bound": {},
        "diagnostics": [],
    }


def test_without_binding_there_are_no_kernels(c10, native, folder):
    ran = c10("import", "--from", native, "--bind", "none", "--save", "out.yaml")
    assert "2 operators of native_functions.yaml, no kernels" in ran.out
    assert set(loaded(folder / "out.yaml").values()) == {()}


def test_executorchs_kernels_are_said_to_be_left_out(c10, native, folder):
    (folder / "functions.yaml").write_text("- op: relu\n  kernels: []\n")
    ran = c10("import", "--from", "functions.yaml", "--schemas", native, "--save", "out.yaml")
    assert ran.out.splitlines()[1].startswith("  its own kernels are C++ functions; `--bind torch`")
    assert loaded(folder / "out.yaml") == {"aten::relu": ()}
    c10("import", "--from", "functions.yaml", "--schemas", native, "--bind", "torch", "--save", "out.yaml")
    assert loaded(folder / "out.yaml") == {"aten::relu": ("CPU", "CUDA")}


UNFIT = """\
- func: sub.Tensor(Tensor other, Tensor self, *, Scalar alpha=1) -> Tensor
- func: relu(Tensor self) -> Tensor
- func: nosuch(Tensor self) -> Tensor
"""


def test_what_torch_declares_otherwise_or_does_not_have_stays_unbound(c10, folder, torch):
    (folder / "bad.yaml").write_text(UNFIT)
    ran = c10("import", "--from", "bad.yaml", "--key", "CPU", "--save", "out.yaml")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "out.yaml: 3 operators of bad.yaml, 1 kernel of torch",
        f"  not bound  1: torch {torch.__version__} has another schema of it (aten::sub.Tensor)",
        f"  not bound  1: torch {torch.__version__} has no such operator (aten::nosuch)",
    ]
    assert ran.err.splitlines()[:2] == [
        "error[C10E305]: torch's `aten::sub.Tensor` does not fit the schema of `aten::sub.Tensor`: "
        "it takes `self` where the schema has `other`",
        " --> bad.yaml:1:9",
    ]
    assert loaded(folder / "out.yaml") == {"aten::sub.Tensor": (), "aten::relu": ("CPU",), "aten::nosuch": ()}
    ran = c10("import", "--from", "bad.yaml", "--save", "out.yaml", "--format", "json")
    assert [found["code"] for found in ran.json["diagnostics"]] == ["C10E305"]
    assert list(ran.json["not_bound"].values()) == [["aten::sub.Tensor"], ["aten::nosuch"]]
    assert c10("import", "--from", "bad.yaml", "--bind", "none", "--save", "out.yaml").code == 0


def test_a_manifest_that_binds_torchs_kernel_to_another_schema_gives_no_wrong_sign(c10, folder, torch):
    (folder / "registry.yaml").write_text(
        "version: 1\ndialect: torch\narrays: torch\noperators:\n"
        '  - schema: "aten::sub.Tensor(Tensor other, Tensor self, *, Scalar alpha=1) -> Tensor"\n'
        "    kernels: {CPU: torch:ops.aten.sub.Tensor}\n"
    )
    ran = c10("call", "aten::sub.Tensor", "[5]", "[3]")
    assert (ran.code, ran.out) == (1, "")
    assert "it takes `self` where the schema has `other`" in ran.err
    assert " --> registry.yaml:6:20" in ran.err


def test_standard_input_is_a_source(c10, folder, torch):
    ran = c10("import", "--from", "-", "--select", "relu", "--save", "out.yaml", stdin=UNFIT.encode())
    assert (ran.code, list(loaded(folder / "out.yaml"))) == (0, ["aten::relu"])


def test_where_nothing_is_taken_nothing_is_written(c10, native, folder):
    ran = c10("import", "--from", native, "--select", "nothing", "--save", "out.yaml")
    assert ran.code == 4
    assert "no operator of native_functions.yaml is taken" in ran.err
    assert not (folder / "out.yaml").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--from", "none.yaml"], 3, "`none.yaml` does not exist"),
        (["--from", "bad.yaml"], 1, "entry 1 has neither a text `func` nor a text `op`"),
        (["--from", "native_functions.yaml", "--key", "cpu"], 2, "'cpu' is not one of 'CPU', 'CUDA'"),
        (["--from", "native_functions.yaml", "--format", "json"], 2, "add --save FILE"),
        (["--from", "torch", "--schemas", "x.yaml"], 2, "--schemas is for files"),
        (["--from", "native_functions.yaml", "--save", "no/such/out.yaml"], 3, "cannot write out.yaml"),
        ([], 2, "Missing option '--from'"),
    ],
)
def test_what_cannot_be_is_said_without_a_traceback(c10, native, folder, words, code, message):
    (folder / "bad.yaml").write_text("- 5\n")
    ran = c10("import", *words)
    assert ran.code == code
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_without_torch_there_is_nothing_to_import_from(c10, monkeypatch):
    monkeypatch.setattr(torch_import, "is_installed", lambda package: False)
    ran = c10("import", "--from", "torch")
    assert (ran.code, ran.out) == (3, "")
    assert "error[C10E101]: there is no torch to import from" in ran.err


@pytest.fixture(scope="module")
def whole(torch, tmp_path_factory):
    """The manifest of all of torch."""
    from c10cli.cli.main import run

    path = tmp_path_factory.mktemp("whole") / "torch.yaml"
    assert run(["import", "--from", "torch", "--save", str(path)]) == 0
    return path


def test_all_of_torch_is_listed_without_importing_it(whole):
    program = textwrap.dedent(
        """\
        import sys
        from c10cli.cli.main import run
        code = run(sys.argv[1:])
        assert not {"torch", "numpy"} & set(sys.modules), sorted(sys.modules)
        sys.exit(code)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--registry", str(whole), "list"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 3000
    assert "aten::add.Tensor" in done.stdout


def test_the_operators_with_torchs_own_classes_are_among_them(whole):
    operators = {str(o.name): o for o in load_manifest(whole).manifest.operators}
    assert "CPU" in operators["c10d::allreduce_"].dispatch_keys
    assert "classes: [" in whole.read_text()


def test_an_operator_out_of_all_of_torch_is_called(c10, whole):
    ran = c10("--registry", whole, "call", "aten::add.Tensor", "ones(2)", "ones(2)")
    assert (ran.code, ran.out, ran.err) == (0, "float32[2]\n[2., 2.]\n", "")


@pytest.fixture(scope="module")
def some(torch, tmp_path_factory):
    """A manifest of some of torch, which is loaded in no time."""
    from c10cli.cli.main import run

    bases = ("add", "cat", "topk", "layer_norm", "sum", "allclose", "chunk", "relu")
    select = [word for base in bases for word in ("--select", f"aten::{base}*")]
    path = tmp_path_factory.mktemp("some") / "torch.yaml"
    assert run(["import", "--from", "torch", *select, "--save", str(path)]) == 0
    return path


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["aten::add.Tensor", "ones(2)", "ones(2)", "--key", "SparseCPU"], ["float32[2]", "[2., 2.]"]),
        (["aten::cat", "[[1, 2], [3]]"], ["float32[3]", "[1., 2., 3.]"]),
        (["aten::topk", "[3, 1, 2]", "2"], ["values: float32[2]", "[3., 2.]", "indices: int64[2]", "[0, 2]"]),
        (["aten::layer_norm", "[[1, 1]]", "[2]"], ["float32[1, 2]", "[[0., 0.]]"]),
        (["aten::sum", "ones(3)", "--dtype", "float64"], ["float64[]", "3."]),
        (["aten::sum.dim_IntList", "ones(2, 3)", "1"], ["float32[2]", "[3., 3.]"]),
        (["aten::allclose", "ones(2)", "ones(2)"], ["True"]),
        (["aten::chunk", "[1, 2]", "2"], ["[0]: float32[1]", "[1.]", "[1]: float32[1]", "[2.]"]),
    ],
)
def test_operators_of_torch_are_called_from_the_shell(c10, some, words, printed):
    ran = c10("--registry", some, "call", *words)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == printed


def test_torchs_refusal_is_a_finding_and_no_traceback(c10, some):
    ran = c10("--registry", some, "call", "aten::add.Tensor", "ones(2)", "ones(3)")
    assert ran.code != 0
    assert "raised RuntimeError: The size of tensor a (2) must match" in ran.err
    assert "Traceback" not in ran.err


def test_a_result_of_torch_is_saved(c10, some, folder):
    assert c10("--registry", some, "call", "aten::relu", "[-1, 2]", "--save", "y.npy").code == 0
    assert np.load(folder / "y.npy").tolist() == [0, 2]


def test_an_operator_of_torch_is_shown(c10, some):
    ran = c10("--registry", some, "show", "aten::add.Tensor")
    assert ran.code == 0
    assert "torch:ops.aten.add.Tensor" in ran.out


def test_a_benchmark_without_cases_is_refused_clearly(c10, some):
    ran = c10("--registry", some, "bench")
    assert ran.code == 4
    assert "error[C10E601]: the registry has no cases" in ran.err


def test_a_manifest_of_torch_is_valid_and_its_cases_are_compared_with_a_reference(c10, folder, torch):
    assert (
        c10("import", "--from", "torch", "--select", "aten::relu", "--key", "CPU", "--save", "t.yaml").code
        == 0
    )
    path = folder / "t.yaml"
    case = """\
    reference: k.py:relu
    cases:
      - {name: tiny, dtypes: [float32], inputs: {self: "randn(4)"}}
"""
    text = path.read_text().splitlines(keepends=True)
    first = next(i for i, line in enumerate(text) if "aten::relu(" in line)
    path.write_text("".join([*text[: first + 2], case, *text[first + 2 :]]))
    (folder / "k.py").write_text("def relu(self): return self.clip(0)\n")
    ran = c10("validate", path)
    assert (ran.code, ran.err) == (0, "")
    assert "1 kernel run, 1 call compared with the reference" in ran.out
    ran = c10(
        "--registry", path, "bench", "--time", "0.01", "--output", folder / "reports", "--format", "json"
    )
    assert ran.code == 0
    assert [case["status"] for case in ran.json["run"]["cases"]] == ["ok"]


def test_each_variant_gets_the_arrays_that_it_takes(c10, folder, torch):
    (folder / "k.py").write_text("def kind(x): return type(x).__module__\n")
    (folder / "registry.yaml").write_text(
        """\
version: 1
operators:
  - schema: "t::kind(Tensor x) -> str"
    kernels:
      CPU: [{kernel: k.py:kind, name: usual}, {kernel: k.py:kind, name: other, arrays: torch}]
"""
    )
    assert c10("call", "t::kind", "ones(2)").out == "'numpy'\n"
    assert c10("call", "--variant", "other", "t::kind", "ones(2)").out == "'torch'\n"
    assert c10("call", "--variant", "other", "--key", "CPU", "t::kind", "ones(2)").out == "'torch'\n"


def test_a_manifest_that_was_imported_is_written_again_and_no_other_without_force(c10, native, demo, folder):
    words = ("import", "--from", native, "--save")
    assert [c10(*words, "out.yaml").code, c10(*words, "out.yaml").code] == [0, 0]
    (folder / "out.yaml").write_text((folder / "out.yaml").read_text().replace("relu", "my_relu"))
    ran = c10(*words, "out.yaml")
    assert (ran.code, "`out.yaml` was not written by c10 import, or was edited since" in ran.err) == (2, True)
    assert "my_relu" in (folder / "out.yaml").read_text()
    before = demo.read_text()
    ran = c10(*words, demo.name)
    assert ran.code == 2
    assert "`registry.yaml` was not written by c10 import" in ran.err
    assert demo.read_text() == before
    assert c10(*words, demo.name, "--force").code == 0
