import importlib.util
import textwrap
from pathlib import Path

import pytest

from c10cli import ManifestError
from c10cli.document.native_functions import read_native_functions
from c10cli.document.source import parse_document
from c10cli.interop import file_import, torch_import
from c10cli.interop.file_import import import_file, keys_of

ALL = ("CPU", "CUDA", "HIP", "SparseCPU", "XLA", "Meta")

NATIVE = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: add.out
- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch: {CPU: add_out}
- func: empty.memory_format(SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor
  dispatch: {CPU: empty}
"""
EXECUTORCH = """\
- op: add.out
  kernels:
    - arg_meta: null
      kernel_name: torch::executor::add_out
- op: nothing.out
- func: mine::twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
  kernels:
    - arg_meta: null
      kernel_name: mine::twice_out
"""


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return write


def keys(imported):
    return {str(o.schema.name): o.keys for o in imported.operators}


def test_native_functions_get_the_kernels_of_torch_without_torch(file, monkeypatch):
    monkeypatch.setattr(torch_import, "is_installed", lambda package: False)
    imported = import_file(file("native_functions.yaml", NATIVE), keys=("CPU", "Meta"))
    assert keys(imported) == {"aten::add.Tensor": ("CPU", "Meta"), "aten::add.out": ("CPU", "Meta")}
    assert imported.reasons() == {"no tensor argument to dispatch on": ["aten::empty.memory_format"]}
    assert (imported.origin, imported.note) == ("native_functions.yaml", "")


def test_without_binding_there_are_no_kernels(file):
    imported = import_file(file("native_functions.yaml", NATIVE), bind=False)
    assert imported.kernel_count == 0
    assert len(imported.operators) == 2


def test_executorchs_operators_come_without_kernels_and_it_is_said_why(file):
    schemas = file("native_functions.yaml", NATIVE)
    imported = import_file(file("functions.yaml", EXECUTORCH), schemas=schemas)
    assert keys(imported) == {"aten::add.out": (), "mine::twice.out": ()}
    reason = "only named, and native_functions.yaml has no schema of it"
    assert imported.reasons() == {reason: ["aten::nothing.out"]}
    assert imported.note.startswith("its own kernels are C++ functions")


def test_bound_to_torch_only_torchs_own_operators_get_kernels(file):
    schemas = file("native_functions.yaml", NATIVE)
    path = file("functions.yaml", EXECUTORCH)
    imported = import_file(path, keys=("CPU",), bind=True, schemas=schemas)
    assert keys(imported) == {"aten::add.out": ("CPU",), "mine::twice.out": ()}
    assert imported.note == ""


def test_select_limits_what_is_taken_and_what_is_left_out(file):
    schemas = file("native_functions.yaml", NATIVE)
    imported = import_file(file("functions.yaml", EXECUTORCH), ["mine::*"], schemas=schemas)
    assert keys(imported) == {"mine::twice.out": ()}
    assert imported.left_out == ()


def test_schemas_of_named_operators_come_from_the_installed_torch(file, torch):
    imported = import_file(file("functions.yaml", EXECUTORCH), bind=True)
    assert keys(imported)["aten::add.out"][0] == "CPU"
    assert imported.reasons() == {"only named, and torch has no schema of it": ["aten::nothing.out"]}


def test_without_torch_and_without_schemas_named_operators_are_refused(file, monkeypatch):
    monkeypatch.setattr(torch_import, "is_installed", lambda package: False)
    with pytest.raises(ManifestError) as caught:
        import_file(file("functions.yaml", EXECUTORCH))
    assert caught.value.code == "C10E101"
    assert "no torch" in str(caught.value)


def test_schemas_are_not_looked_for_where_every_entry_has_its_own(file, monkeypatch):
    monkeypatch.setattr(file_import, "import_torch", lambda **_: pytest.fail("torch was asked"))
    text = EXECUTORCH.partition("- func")[2]
    imported = import_file(file("functions.yaml", f"- func{text}"))
    assert keys(imported) == {"mine::twice.out": ()}


def test_torchs_own_file_says_what_torchs_dispatcher_says(torch):
    """Schemas, and the CPU keys of every operator, are those of the live torch; Python adds Meta kernels."""
    folder = Path(importlib.util.find_spec("torchgen").origin).parent
    path = folder / "packaged" / "ATen" / "native" / "native_functions.yaml"
    wanted = ("CPU", "SparseCPU")
    declared = {str(o.schema): o.keys for o in import_file(path, keys=wanted).operators}
    live = {str(o.schema): o.keys for o in torch_import.import_torch(keys=wanted).operators}
    assert len(declared) > 2500
    assert {text: live.get(text) for text in declared} == declared


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ("variants: function", ALL),  # composite, unless something else is said
        ("dispatch: {CompositeExplicitAutograd: f}", ALL),
        ("dispatch: {CPU: f, CompositeImplicitAutograd: g}", ALL),
        ("dispatch: {CPU: f}", ("CPU",)),
        ("dispatch: {'CPU, CUDA': f}", ("CPU", "CUDA", "HIP")),
        ("dispatch: {SparseCPU: f, NestedTensorCPU: g}", ("SparseCPU",)),
        ("dispatch: {}", ()),
        ("structured: True\n  dispatch: {CPU: f}", ("CPU", "Meta")),
        ("structured_delegate: f.out", ("CPU", "CUDA", "HIP", "Meta")),
        (
            "structured_delegate: f.out\n  dispatch: {SparseCPU: f}",
            ("CPU", "CUDA", "HIP", "SparseCPU", "Meta"),
        ),
        ("dispatch: {CompositeExplicitAutogradNonFunctional: f}", ("CPU", "CUDA", "HIP", "Meta")),
        (
            "structured: True\n  ufunc_inner_loop: {Generic: f}\n  dispatch: {SparseCPU: f}",
            ("CPU", "CUDA", "HIP", "SparseCPU", "Meta"),
        ),
    ],
)
def test_the_keys_are_those_that_the_dispatch_section_means(fields, keys):
    (function,) = read_native_functions(parse_document(f"- func: f(Tensor x) -> Tensor\n  {fields}\n"))
    assert keys_of(function, ALL) == keys


def test_only_wanted_keys_are_given():
    (function,) = read_native_functions(parse_document("- func: f(Tensor x) -> Tensor\n"))
    assert keys_of(function, ("CUDA",)) == ("CUDA",)
