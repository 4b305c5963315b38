import importlib.util
import re
import textwrap
from pathlib import Path

import pytest

from c10cli import ManifestError, __version__
from c10cli.dispatch.names import matches_name
from c10cli.document.native_functions import read_native_functions
from c10cli.document.source import parse_document
from c10cli.interop import torch_import
from c10cli.interop.torch_import import (
    Imported,
    ImportedOperator,
    import_file,
    import_torch,
    keys_of,
    render_manifest,
)
from c10cli.manifest.link import link_manifest
from c10cli.manifest.load import load_manifest
from c10cli.schema.parser import parse_schema

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
    assert imported.left_out == {"no tensor argument to dispatch on": ["aten::empty.memory_format"]}
    assert imported.origin == "native_functions.yaml"
    assert imported.note.startswith("torch is not installed here, so nobody knows whether its kernels fit")


def test_without_binding_there_are_no_kernels(file):
    imported = import_file(file("native_functions.yaml", NATIVE), bind=False)
    assert imported.kernel_count == 0
    assert len(imported.operators) == 2


def test_executorchs_operators_come_without_kernels_and_it_is_said_why(file):
    schemas = file("native_functions.yaml", NATIVE)
    imported = import_file(file("functions.yaml", EXECUTORCH), schemas=schemas)
    assert keys(imported) == {"aten::add.out": (), "mine::twice.out": ()}
    reason = "only named, and native_functions.yaml has no schema of it"
    assert imported.left_out == {reason: ["aten::nothing.out"]}
    assert imported.note.startswith("its own kernels are C++ functions")


def test_bound_to_torch_only_torchs_own_operators_get_kernels(file, torch):
    schemas = file("native_functions.yaml", NATIVE)
    path = file("functions.yaml", EXECUTORCH)
    imported = import_file(path, keys=("CPU",), bind=True, schemas=schemas)
    assert keys(imported) == {"aten::add.out": ("CPU",), "mine::twice.out": ()}
    assert imported.note == ""


def test_select_limits_what_is_taken_and_what_is_left_out(file):
    schemas = file("native_functions.yaml", NATIVE)
    imported = import_file(file("functions.yaml", EXECUTORCH), ["mine::*"], schemas=schemas)
    assert keys(imported) == {"mine::twice.out": ()}
    assert imported.left_out == {}


def test_schemas_of_named_operators_come_from_the_installed_torch(file, torch):
    imported = import_file(file("functions.yaml", EXECUTORCH), bind=True)
    assert keys(imported)["aten::add.out"][0] == "CPU"
    assert imported.left_out == {"only named, and torch has no schema of it": ["aten::nothing.out"]}


def test_without_torch_and_without_schemas_named_operators_are_refused(file, monkeypatch):
    monkeypatch.setattr(torch_import, "is_installed", lambda package: False)
    with pytest.raises(ManifestError) as caught:
        import_file(file("functions.yaml", EXECUTORCH))
    assert caught.value.code == "C10E101"
    assert "no torch" in str(caught.value)


def test_schemas_are_not_looked_for_where_every_entry_has_its_own(file, monkeypatch):
    monkeypatch.setattr(torch_import, "Live", lambda: pytest.fail("torch was asked"))
    text = EXECUTORCH.partition("- func")[2]
    imported = import_file(file("functions.yaml", f"- func{text}"))
    assert keys(imported) == {"mine::twice.out": ()}


def test_torchs_own_file_says_what_torchs_dispatcher_says(torch):
    """Schemas, and the CPU keys of every operator, are those of the live torch; Python adds Meta kernels."""
    folder = Path(importlib.util.find_spec("torchgen").origin).parent
    path = folder / "packaged" / "ATen" / "native" / "native_functions.yaml"
    wanted = ("CPU", "SparseCPU")
    declared = {str(o.schema): o.keys for o in import_file(path, keys=wanted).operators}
    live = {str(o.schema): o.keys for o in import_torch(keys=wanted).operators}
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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("f(int x) -> Tensor", "no tensor argument to dispatch on"),
        ("f(Tensor x, ...) -> Tensor", "`...` among arguments or returns"),
        ("f(Tensor x) -> ...", "`...` among arguments or returns"),
        ("f(Tensr x) -> Tensor", "unknown type"),
        ("f(__torch__.torch.classes.c10d.Work x) -> Tensor", "no tensor argument to dispatch on"),
        ("f(Tensor x, int x) -> Tensor", "argument name used twice"),
        ("f", "no `->` and returns"),
    ],
)
def test_what_no_operator_can_have_is_left_out_with_the_reason(file, text, reason):
    imported = import_file(file("native_functions.yaml", f"- func: {text}\n"))
    assert (imported.operators, imported.left_out) == ((), {reason: ["aten::f"]})


def test_a_name_is_taken_once_and_the_most_frequent_reason_comes_first(file):
    text = "- func: g\n" + "- func: f(Tensor x) -> Tensor\n" * 3
    imported = import_file(file("native_functions.yaml", text))
    assert [str(o.schema) for o in imported.operators] == ["aten::f(Tensor x) -> Tensor"]
    assert list(imported.left_out.items()) == [
        ("given twice", ["aten::f", "aten::f"]),
        ("no `->` and returns", ["aten::g"]),
    ]


def test_operators_come_by_name_and_kernels_are_counted(file, monkeypatch):
    text = "- func: b::f(Tensor x) -> Tensor\n- func: a::g(Tensor x) -> Tensor\n"
    monkeypatch.setattr(torch_import, "is_installed", lambda package: False)
    imported = import_file(file("native_functions.yaml", text), keys=("CPU", "Meta"))
    assert [o.schema.name.namespace for o in imported.operators] == ["a", "b"]
    assert imported.kernel_count == 4


@pytest.mark.parametrize(
    ("schema", "entry_point"),
    [
        ("aten::add.Tensor(Tensor self) -> Tensor", "torch:ops.aten.add.Tensor"),
        ("aten::relu(Tensor self) -> Tensor", "torch:ops.aten.relu.default"),
    ],
)
def test_the_entry_point_is_the_overload_that_python_finds(schema, entry_point):
    assert ImportedOperator(parse_schema(schema)).entry_point == entry_point


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("add", True),
        ("aten::add", True),
        ("add.Tensor", True),
        ("aten::*", True),
        ("add.*", True),
        ("add*r", True),
        ("add?Tensor", True),
        ("sub", False),
        ("add*out", False),
        ("dd.*", False),
    ],
)
def test_a_pattern_is_a_part_of_the_name_or_with_marks_the_whole_name(pattern, matches):
    assert matches_name("aten::add.Tensor", ["no", pattern]) is matches


def test_without_a_pattern_every_name_is_wanted():
    assert matches_name("aten::anything", [])


SCHEMAS = [
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "aten::random_.from(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)",
    'aten::_test_string_default(Tensor dummy, str a="\\"\'\\\\", str b="\\"\'\\\\") -> Tensor',
    "aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0) -> Tensor",
    "aten::grad(Tensor[] outputs, Any x, Tensor?[]? grad_outputs=None) -> Tensor?[]",
    "aten::f(Tensor self, str text='# : {}[]é\\n') -> Tensor",
]


def imported(*operators):
    return Imported("torch 9", tuple(operators), {})


def load(tmp_path, text):
    path = tmp_path / "torch.yaml"
    path.write_text(text, encoding="utf-8")
    result = load_manifest(path)
    assert result.diagnostics == ()
    return result.manifest


@pytest.mark.parametrize("text", SCHEMAS)
def test_every_schema_comes_back_as_it_was(tmp_path, text):
    schema = parse_schema(text, "torch")
    manifest = load(tmp_path, render_manifest(imported(ImportedOperator(schema, ("CPU",)))))
    assert [operator.schema for operator in manifest.operators] == [schema]


def test_every_kernel_comes_back_and_takes_torchs_tensors(tmp_path):
    schema = parse_schema(SCHEMAS[1], "torch")
    manifest = load(tmp_path, render_manifest(imported(ImportedOperator(schema, ("CPU", "Meta")))))
    kernels = manifest.operators[0].kernels
    assert [k.dispatch_key for k in kernels] == ["CPU", "Meta"]
    assert {k.entry_point.text for k in kernels} == {"torch:ops.aten.random_.from"}
    assert {(k.arrays, k.requires) for k in kernels} == {("torch", ("torch",))}


def test_custom_classes_are_named_in_the_manifest(tmp_path):
    text = "c10d::f(Tensor x, __torch__.torch.classes.c10d.Work[] w) -> __torch__.torch.classes.ns.Other"
    schema = parse_schema(text, "torch", known_classes=["c10d.Work", "ns.Other"])
    rendered = render_manifest(imported(ImportedOperator(schema)))
    assert "classes: [c10d.Work, ns.Other]\n" in rendered
    assert load(tmp_path, rendered).operators[0].schema == schema


def test_without_kernels_nothing_is_said_of_torch(tmp_path):
    text = render_manifest(imported(ImportedOperator(parse_schema(SCHEMAS[0]))))
    assert "arrays" not in text
    assert load(tmp_path, text).operators[0].kernels == ()


def test_a_manifest_without_operators_is_one(tmp_path):
    assert load(tmp_path, render_manifest(imported())).operators == ()


def test_the_first_line_says_where_it_comes_from_and_no_more():
    first = render_manifest(imported(), ["aten::*", 'a"b']).splitlines()[0]
    limits = '--select "aten::*" --select "a\\"b"'
    assert first == f"# The operators of torch 9, by `c10 import {limits}` of c10cli {__version__}."
    assert not re.search(r"/(home|tmp|usr)", first)


def test_a_pattern_cannot_leave_the_comment(tmp_path):
    text = render_manifest(imported(), ["x\nowner: me"])
    assert load(tmp_path, text).operators == ()


@pytest.fixture(scope="module")
def everything(torch):
    return import_torch()


@pytest.fixture(scope="module")
def linked(everything, tmp_path_factory):
    path = tmp_path_factory.mktemp("all") / "torch.yaml"
    path.write_text(render_manifest(everything), encoding="utf-8")
    result = load_manifest(path)
    assert result.diagnostics == ()
    return link_manifest(result.manifest)


def test_thousands_of_operators_are_taken_and_load_without_findings(everything, linked):
    assert len(everything.operators) > 3000
    assert len(linked.operators) == len(everything.operators)
    assert [o.decl.schema for o in linked.operators.values()] == [o.schema for o in everything.operators]


def test_nothing_is_lost_without_a_reason(torch, everything):
    known = {
        f"{schema.name}.{schema.overload_name}".removesuffix(".")
        for schema in torch._C._jit_get_all_schemas()
    }
    taken = {str(operator.schema.name) for operator in everything.operators}
    left_out = {name for names in everything.left_out.values() for name in names}
    assert taken | left_out >= known
    assert not taken & left_out


def test_no_type_of_torchs_is_unknown(everything):
    # That one takes a PyObject, which torch's own parser does not read; it comes with its DTensor.
    assert {*everything.left_out.get("unknown type", ())} <= {"_dtensor::mesh_get_process_group"}


def test_a_key_is_an_operators_where_torch_has_something_to_call(everything):
    keys = {str(operator.schema.name): operator.keys for operator in everything.operators}
    assert keys["aten::add.Tensor"] == ("CPU", "CUDA", "SparseCPU", "Meta")
    assert "CPU" not in keys["aten::_coalesce"]  # of sparse tensors alone


def test_the_origin_is_the_version(torch, everything):
    assert everything.origin == f"torch {torch.__version__}"


def test_select_and_keys_limit_what_is_taken(torch):
    imported = import_torch(["aten::add.*"], ("Meta",))
    names = [str(operator.schema.name) for operator in imported.operators]
    assert names == ["aten::add.Scalar", "aten::add.Scalar_out", "aten::add.Tensor", "aten::add.out"]
    assert {operator.keys for operator in imported.operators} == {("Meta",)}
    assert {name.rpartition(".")[0] for names in imported.left_out.values() for name in names} == {
        "aten::add"
    }


def test_every_kernel_is_found_and_takes_the_arguments(linked):
    """A quick one per operator: each is imported and bound to its schema."""
    for operator in linked.operators.values():
        for candidates in operator.variants.values():
            assert callable(operator.bind(candidates[0].kernel).function)
            break


def call(linked, name, *args, **kwargs):
    return linked.find(name).handle.call(*args, **kwargs)


def test_operators_give_what_torch_gives(linked, torch):
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    cases = [
        (call(linked, "aten::add.Tensor", x, y), x + y),
        (call(linked, "aten::add.Tensor", x, y, alpha=2), x + 2 * y),
        (call(linked, "aten::cat", [x, y], 1), torch.cat([x, y], 1)),
        (call(linked, "aten::layer_norm", x, [4]), torch.nn.functional.layer_norm(x, [4])),
        (
            call(linked, "aten::layer_norm", x, [4], x[0], None, 1e-3),
            torch.layer_norm(x, [4], x[0], None, 1e-3),
        ),
        (call(linked, "aten::sum", x), x.sum()),
        (call(linked, "aten::sum", x, dtype=torch.float64), x.sum(dtype=torch.float64)),
        (call(linked, "aten::sum.dim_IntList", x, [0, 1]), x.sum([0, 1])),
        (call(linked, "aten::sum.dim_IntList", x, None, True), x.sum(None, True)),
    ]
    for result, expected in cases:
        torch.testing.assert_close(result, expected, rtol=0, atol=0)


def test_several_results_come_as_a_tuple(linked, torch):
    values, indices = call(linked, "aten::topk", torch.tensor([3.0, 1.0, 2.0]), 2)
    assert (values.tolist(), indices.tolist()) == ([3.0, 2.0], [0, 2])


def test_words_for_dtypes_and_formats_become_torchs_objects(linked, torch):
    x = torch.ones(2)
    assert call(linked, "aten::sum", x, dtype="float64").dtype is torch.float64
    assert call(linked, "aten::to.dtype", x, "float16").dtype is torch.float16
    assert call(linked, "aten::contiguous", x) is x or call(linked, "aten::contiguous", x).equal(x)
    assert call(linked, "aten::empty_like", x, layout="strided").layout is torch.strided


def test_an_argument_called_like_a_keyword_of_python_is_passed(linked, torch):
    x = torch.zeros(50)
    result = call(linked, "aten::random_.from", x, 3, 5)
    assert result is x
    assert set(x.tolist()) == {3.0, 4.0}


def test_sparse_and_meta_tensors_find_their_kernel(linked, torch):
    sparse = torch.eye(2).to_sparse()
    assert call(linked, "aten::add.Tensor", sparse, sparse).to_dense().tolist() == [[2, 0], [0, 2]]
    meta = torch.ones(2, 3, device="meta")
    assert call(linked, "aten::relu", meta).shape == (2, 3)


def test_without_torch_the_import_is_refused(monkeypatch):
    monkeypatch.setattr(torch_import, "is_installed", lambda package: False)
    with pytest.raises(ManifestError) as caught:
        import_torch()
    assert caught.value.code == "C10E101"
