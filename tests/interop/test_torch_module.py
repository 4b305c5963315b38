import shutil

from c10cli.interop.torch_module import render_module
from c10cli.manifest.discover import shipped_registry

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
    import sys; sys.path.insert(0, "elsewhere/python")
    import my_ops, torch
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
