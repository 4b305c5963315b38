import shutil

import pytest

from c10cli import RegistrationError, SchemaError, load_registry
from c10cli.interop import torch_export
from c10cli.interop.torch_export import (
    check_exportable,
    export_to_torch,
    exported_kernels,
    module_name_fault,
    render_module,
    select_operators,
)
from c10cli.manifest.discover import shipped_registry

# Shipped operator, arguments of the call under torch, what torch itself gives for them.
SHIPPED = """
from dataclasses import replace
from c10cli.interop.torch_export import exported_kernels
from c10cli.verify.inputs import case_points, make_arguments
from c10cli.verify.reference import check_kernel, expect

registry = load_registry(shipped_registry())
export_to_torch(registry)
called = 0
for linked in registry.operators.values():
    decl = linked.decl
    if "CPU" not in exported_kernels(linked):
        continue
    overload = getattr(getattr(torch.ops, decl.name.namespace), decl.name.base)
    assert str(overload.default._schema) == decl.schema.to_torch_string()
    point = next(iter(case_points(decl)))
    # As `c10 validate` judges a kernel, by the reference and for what it must not touch.
    kernel = replace(next(k for k in decl.kernels if k.dispatch_key == "CPU"), arrays="torch")
    found = check_kernel(decl, kernel, overload, expect(decl, point))
    assert not found, found
    called += 1
print(called, len(registry.operators))
"""


def test_every_shipped_operator_called_through_torch_gives_what_its_reference_gives(torch, child):
    called, known = map(int, child(SHIPPED).split())
    with_cpu = [
        o for o in load_registry(shipped_registry()).operators.values() if "CPU" in exported_kernels(o)
    ]
    assert (called, known) == (len(with_cpu), len(load_registry(shipped_registry()).operators))
    assert called >= 9


def test_shipped_operators_agree_with_torchs_own(torch, child):
    program = """
    from torch.nn import functional
    export_to_torch(load_registry(shipped_registry()))
    torch.manual_seed(0)
    x, y = torch.randn(5, 8), torch.randn(5, 8)
    c10 = torch.ops.c10
    for ours, theirs in [
        (c10.layer_norm(x)[0], functional.layer_norm(x, (8,))),
        (c10.softmax(x), x.softmax(-1)),
        (c10.softmax(x, dim=0), x.softmax(0)),
        (c10.add(x, y, alpha=2), torch.add(x, y, alpha=2)),
        (c10.cat([x, y]), torch.cat([x, y])),
        (c10.gelu(x), functional.gelu(x)),
        (c10.gelu(x, approximate="tanh"), functional.gelu(x, approximate="tanh")),
        (c10.matmul(x, y.T), x @ y.T),  # one that is not contiguous
        (c10.topk(x, 3)[1], x.topk(3)[1]),
    ]:
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    print("same")
    """
    assert child(program).splitlines()[-1] == "same"


DEMO = """\
- {schema: "t::f(Tensor x) -> Tensor", kernels: {CPU: "k.py:f", CUDA: "k.py:f", Meta: "k.py:f"}}
- {schema: "t::f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", kernels: {CPU: "k.py:f"}}
- {schema: "u::g(Tensor x) -> Tensor", kernels: {CPU: {kernel: "k.py:f", arrays: scipy}}}
"""


@pytest.fixture
def run(registry, child):
    def run(program, manifest=DEMO, *, ends=False):
        registry(manifest, "def f(x): return x + 1")
        return child(program, ends=ends).splitlines()

    return run


def test_cpu_and_cuda_kernels_are_registered(run):
    program = """
    exported = export_to_torch(load_registry("registry.yaml"))
    print(*exported.operators)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    print(*(has("t::f", key) for key in ("CPU", "CUDA", "Meta")), has("u::g", "CPU"))
    """
    assert run(program) == ["t::f t::f.out u::g", "True True False False"]


def test_the_registration_outlives_what_it_gave_and_the_interpreter_ends_well(run):
    program = """
    export_to_torch(load_registry("registry.yaml"))
    kept = torch.ops.t.f.default
    gc.collect()
    print(kept(torch.ones(1)).item(), torch.ops.t.f(torch.ones(1)).item())
    """
    assert run(program, ends=True) == ["2.0 2.0"]


def test_a_library_given_takes_the_operators_of_its_namespace(run):
    program = """
    registry, library = load_registry("registry.yaml"), torch.library.Library("t", "DEF")
    print(error(lambda: export_to_torch(registry, library)))
    exported = export_to_torch(registry, library, select=["t::*"])
    print(exported.libraries[0] is library, torch.ops.t.f(torch.ones(1)).item())
    """
    refused, done = run(program)
    assert "RegistrationError" in refused
    assert "`u::g` cannot be defined in a library of namespace `t`" in refused
    assert done == "True 2.0"


def test_an_operator_that_torch_has_is_refused_and_nothing_is_registered(run):
    program = """
    print(error(lambda: export_to_torch(load_registry("registry.yaml"))))
    print([name for name in torch._C._dispatch_get_all_op_names() if name.startswith("t::")])
    """
    own = '- {schema: "aten::relu(Tensor self) -> Tensor"}\n'
    lines = run(program, DEMO + own)
    assert "C10E301" in lines[0]
    assert "`aten::relu` cannot be registered with torch, which has an operator of that name" in lines[0]
    assert lines[-1] == "[]"


def test_a_second_export_of_the_same_operators_gives_the_first_ones_result(run):
    program = """
    first = export_to_torch(load_registry("registry.yaml"))
    print(export_to_torch(load_registry("registry.yaml")) is first)
    """
    assert run(program) == ["True"]


def test_a_second_export_of_a_changed_registry_is_refused_and_names_the_first(run):
    program = """
    from pathlib import Path
    from c10cli import RegistrationError
    export_to_torch(load_registry("registry.yaml"))
    path = Path("registry.yaml")
    path.write_text(path.read_text().replace("Tensor x", "Tensor y"))
    print(error(lambda: export_to_torch(load_registry(path))))
    try:
        export_to_torch(load_registry(path))
    except RegistrationError as refused:
        print(refused.diagnostics[0].notes)
    """
    lines = run(program)
    assert "C10E301" in lines[0]
    assert "`t::f` cannot be registered with torch" in lines[0]
    assert "c10cli registered it in this process, from `" in lines[-1]


def test_without_torch_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setattr(torch_export, "is_installed", lambda _package: False)
    with pytest.raises(RegistrationError, match="torch is not installed") as caught:
        export_to_torch(load_registry(shipped_registry()))
    assert caught.value.code == "C10E304"
    assert caught.value.diagnostics[0].help == "pip install torch"


def test_a_namespace_that_torch_keeps_is_refused_and_nothing_stays(run):
    program = """
    print(error(lambda: export_to_torch(load_registry("registry.yaml"))))
    print([name for name in torch._C._dispatch_get_all_op_names() if name.startswith("t::")])
    """
    lines = run(program, DEMO + '- {schema: "prim::mine(Tensor self) -> Tensor"}\n')
    assert "torch refuses `prim::mine`" in lines[0]
    assert lines[-1] == "[]"


def test_a_default_that_torch_spells_so_that_it_cannot_be_read_is_exported(run):
    program = """
    export_to_torch(load_registry("registry.yaml"))
    print(torch.ops.t.f.default._schema.arguments[1].default_value)
    """
    assert run(program, '- {schema: "t::f(Tensor x, int[] d=[1, 1]) -> Tensor"}\n') == ["[1, 1]"]


INEXPRESSIBLE = """\
- {schema: "t::fine(Tensor x) -> Tensor"}
- {schema: "t::inf(Tensor x, float y=inf) -> Tensor"}
- {schema: "t::nan(Tensor x, Scalar y=nan) -> Tensor"}
"""


def test_schemas_that_torch_cannot_express_are_all_refused_by_name_and_place(registry):
    operators = load_registry(registry(INEXPRESSIBLE)).manifest.operators
    with pytest.raises(SchemaError) as caught:
        check_exportable(operators)
    findings = caught.value.diagnostics
    assert [f.code for f in findings] == ["C10E205", "C10E205"]
    assert [f.span.line for f in findings] == [4, 5]
    assert findings[0].message.startswith("`t::inf` cannot be registered with torch: ")


def test_of_very_many_findings_the_first_are_shown(registry):
    manifest = "".join(f'- {{schema: "t::f{i}(Tensor x, float y=inf) -> Tensor"}}\n' for i in range(30))
    with pytest.raises(SchemaError) as caught:
        check_exportable(load_registry(registry(manifest)).manifest.operators)
    assert len(caught.value.diagnostics) == 20
    assert caught.value.diagnostics[-1].notes[-1] == "the same holds for 10 more operators"


def test_operators_are_selected_by_name(registry):
    operators = load_registry(registry(DEMO)).operators.values()
    assert [str(o.decl.name) for o in select_operators(operators, ["f.out", "u::*"])] == ["t::f.out", "u::g"]
    assert len(select_operators(operators, [])) == 3


MANIFEST = '- {schema: "t::f(Tensor x, int k=2) -> Tensor", kernels: {CPU: "k.py:f"}}\n'


def test_the_module_names_no_place_of_this_machine(registry, tmp_path):
    path = registry(MANIFEST)
    text = render_module(path, tmp_path / "deep" / "er" / "ops.py")
    assert "Path(__file__).resolve().parent / '../../registry.yaml'" in text
    assert str(tmp_path) not in text


def test_importing_it_registers_the_operators_wherever_it_is_imported_from(torch, registry, child, tmp_path):
    folder = tmp_path / "project"
    (folder / "python").mkdir(parents=True)
    path = registry(MANIFEST, "def f(x, k): return x * k")
    for name in ("registry.yaml", "k.py"):
        shutil.move(tmp_path / name, folder / name)
    target = folder / "python" / "my_ops.py"
    target.write_text(render_module(folder / path.name, target), encoding="utf-8")
    moved = tmp_path / "elsewhere"
    folder.rename(moved)
    program = """
    sys.path.insert(0, "elsewhere/python")
    import my_ops
    print(torch.ops.t.f(torch.ones(2)).tolist(), *my_ops.EXPORTED.operators)
    """
    assert child(program) == "[2.0, 2.0] t::f\n"


def test_the_shipped_registry_is_found_wherever_c10cli_is(tmp_path):
    text = render_module(shipped_registry(), tmp_path / "ops.py")
    assert "load_registry(shipped_registry())" in text
    assert "__file__" not in text


def test_what_is_selected_stands_in_the_module(registry, tmp_path):
    text = render_module(registry(MANIFEST), tmp_path / "ops.py", ["t::*", "it's"])
    assert """select=['t::*', "it's"]""" in text
    compile(text, "ops.py", "exec")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("c10_ops.py", ""),
        ("match.py", ""),
        ("my-ops.py", "is no name of a Python module"),
        ("ops.txt", "is no name of a Python module"),
        ("class.py", "is no name of a Python module"),
        ("json.py", "would hide the installed `json`, or be hidden by it"),
        ("click.py", "would hide the installed `click`, or be hidden by it"),
        ("c10cli.py", "would hide the installed `c10cli`, or be hidden by it"),
    ],
)
def test_a_module_needs_a_name_that_an_import_can_say_and_nothing_else_has(tmp_path, name, reason):
    assert module_name_fault(tmp_path / name) == reason


def test_a_module_on_the_path_may_be_written_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "c10_ops.py").touch()
    assert module_name_fault(tmp_path / "c10_ops.py") == ""
    assert "would hide the installed" in module_name_fault(tmp_path / "elsewhere" / "c10_ops.py")


def test_the_module_may_be_imported_again(torch, registry, child, tmp_path):
    target = tmp_path / "my_ops.py"
    target.write_text(
        render_module(registry(MANIFEST, "def f(x, k): return x * k"), target), encoding="utf-8"
    )
    program = """
    sys.path.insert(0, ".")
    import my_ops
    first = my_ops.EXPORTED
    print(importlib.reload(my_ops).EXPORTED is first)
    """
    assert child(program) == "True\n"
