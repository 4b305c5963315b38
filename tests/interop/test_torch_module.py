import shutil

import pytest

from c10cli.interop.torch_module import module_name_fault, render_module
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


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("c10_ops.py", ""),
        ("match.py", ""),
        ("my-ops.py", "is no name of a Python module"),
        ("ops.txt", "is no name of a Python module"),
        ("class.py", "is no name of a Python module: `class` is a keyword"),
        ("json.py", "would hide the module `json` of Python"),
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
    import importlib, sys; sys.path.insert(0, ".")
    import my_ops
    first = my_ops.EXPORTED
    print(importlib.reload(my_ops).EXPORTED is first)
    """
    assert child(program) == "True\n"
