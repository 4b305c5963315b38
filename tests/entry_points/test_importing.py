import os
import sys
import textwrap

import pytest

from c10cli import RegistrationError, Span
from c10cli.entry_points.entry_point import parse_entry_point
from c10cli.entry_points.importing import load_entry_point

SPAN = Span("registry.yaml", 3, 7, 20)


def put(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")


def load(folder, text):
    return load_entry_point(parse_entry_point(text, folder, SPAN))


def finding(folder, text):
    with pytest.raises(RegistrationError) as caught:
        load(folder, text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span == SPAN
    assert caught.value.entry_point == text
    return diagnostic


def test_a_function_of_a_file(tmp_path):
    put(tmp_path, "kernels/k.py", "def f(x): return x + 1")
    assert load(tmp_path, "kernels/k.py:f")(1) == 2


def test_a_file_is_run_once(tmp_path):
    put(tmp_path, "k.py", "def f(): pass\ndef g(): return f")
    assert load(tmp_path, "k.py:g")() is load(tmp_path, "k.py:f")


def test_the_folder_of_a_manifest_is_on_no_search_path(tmp_path):
    before = list(sys.path)
    put(tmp_path, "k.py", "def f(): pass")
    load(tmp_path, "k.py:f")
    assert sys.path == before
    assert "k" not in sys.modules


@pytest.mark.parametrize(
    "statement",
    ["from ._help import VALUE", "from .. import top; VALUE = top.VALUE", "from .sub.deep import VALUE"],
)
def test_relative_imports_reach_the_files_beside(tmp_path, statement):
    put(tmp_path, "kernels/_help.py", "VALUE = 7")
    put(tmp_path, "top.py", "VALUE = 7")
    put(tmp_path, "kernels/sub/deep.py", "from .._help import VALUE")
    put(tmp_path, "kernels/k.py", f"{statement}\ndef f(): return VALUE")
    assert load(tmp_path, "kernels/k.py:f")() == 7


def test_a_file_and_a_relative_import_of_it_are_one_module(tmp_path):
    put(tmp_path, "kernels/base.py", "STATE = []\ndef f(): return STATE")
    put(tmp_path, "kernels/k.py", "from .base import STATE\ndef f(): return STATE")
    assert load(tmp_path, "kernels/k.py:f")() is load(tmp_path, "kernels/base.py:f")()


def test_a_module_beside_the_manifest_does_not_shadow_the_standard_library(tmp_path):
    put(tmp_path, "json.py", "VALUE = 'mine'\ndef f(): return VALUE")
    put(tmp_path, "k.py", "import json\nfrom .json import VALUE\ndef f(): return json.dumps([VALUE])")
    assert load(tmp_path, "k.py:f")() == '["mine"]'
    assert load(tmp_path, "json.py:f")() == "mine"


@pytest.mark.parametrize(
    "name", ["my-kernel.py", "2d.py", "class.py", "v1.2.py", "my.kernel.old.py", "a b.py"]
)
@pytest.mark.parametrize("folder", ["", "kernels/", "old-kernels/", "v1.0/"])
def test_file_names_that_no_import_could_say(tmp_path, folder, name):
    put(tmp_path, f"{folder}_help.py", "VALUE = 7")
    put(tmp_path, f"{folder}{name}", "from ._help import VALUE\ndef f(): return VALUE")
    function = load(tmp_path, f"{folder}{name}:f")
    assert function() == 7
    assert load(tmp_path, f"{folder}{name}:f") is function


def test_names_that_differ_in_a_dot_only_are_two_files(tmp_path):
    for name in ("a.b", "a-b", "a_b"):
        put(tmp_path, f"{name}.py", f"def f(): return {name!r}")
    assert [load(tmp_path, f"{name}.py:f")() for name in ("a.b", "a-b", "a_b")] == ["a.b", "a-b", "a_b"]


def test_a_folder_of_the_same_name_does_not_stand_in_for_a_file(tmp_path):
    put(tmp_path, "add/__init__.py", "def f(): return 'folder'")
    put(tmp_path, "add.py", "def f(): return 'file'")
    assert load(tmp_path, "add.py:f")() == "file"


def test_the_file_of_a_package_is_the_package(tmp_path):
    put(tmp_path, "kernels/__init__.py", "STATE = []\ndef f(): return STATE")
    put(tmp_path, "kernels/k.py", "from . import STATE\ndef f(): return STATE")
    assert load(tmp_path, "kernels/__init__.py:f")() is load(tmp_path, "kernels/k.py:f")()


def test_the_same_file_name_in_two_manifests_is_two_modules(tmp_path):
    for name in ("one", "two"):
        put(tmp_path / name, "kernels/_help.py", f"VALUE = {name!r}")
        put(tmp_path / name, "kernels/k.py", "from ._help import VALUE\ndef f(): return VALUE")
    assert [load(tmp_path / name, "kernels/k.py:f")() for name in ("one", "two")] == ["one", "two"]


def test_two_ways_to_a_folder_are_one_module(tmp_path, monkeypatch):
    put(tmp_path / "m", "k.py", "def f(): pass")
    (tmp_path / "link").symlink_to(tmp_path / "m")
    monkeypatch.chdir(tmp_path / "m")
    here = type(tmp_path)()
    assert load(here, "k.py:f") is load(tmp_path / "m", "k.py:f") is load(tmp_path / "link", "k.py:f")


def test_an_installed_module_with_a_dotted_name(tmp_path):
    import os.path

    assert load(tmp_path, "os.path:join") is os.path.join
    assert load(tmp_path, "os:path.join") is os.path.join


def test_an_installed_module_comes_before_a_file_beside_the_manifest(tmp_path):
    put(tmp_path, "json.py", "def dumps(): pass")
    assert load(tmp_path, "json:dumps").__module__ == "json"


def test_a_module_that_is_not_installed_may_lie_beside_the_manifest(tmp_path):
    put(tmp_path, "my_kernels/cpu.py", "def f(): return 5")
    assert load(tmp_path, "my_kernels.cpu:f")() == 5


def test_an_attribute_inside_a_class(tmp_path):
    put(tmp_path, "k.py", "class K:\n    @staticmethod\n    def f(): return 3")
    assert load(tmp_path, "k.py:K.f")() == 3


def test_a_missing_attribute_is_found_with_near_names(tmp_path):
    put(tmp_path, "k.py", "def softmax(): pass\nclass K:\n    def f(): pass")
    found = finding(tmp_path, "k.py:softmx")
    assert (found.code, found.message) == ("C10E304", "`k.py` has no `softmx`")
    assert found.help == "did you mean `softmax`?"
    assert finding(tmp_path, "k.py:K.g.h").message == "`k.py` has no `K.g.h`"
    assert finding(tmp_path, "os.path:jion").help == "did you mean `join`?"


def test_a_missing_file(tmp_path):
    found = finding(tmp_path, "kernels/none.py:f")
    assert (found.code, found.message) == ("C10E304", "kernel file `kernels/none.py` does not exist")


def test_a_file_name_that_the_system_refuses(tmp_path):
    found = finding(tmp_path, f"{'k' * 300}.py:f")
    assert found.code == "C10E304"
    assert "name too long" in found.message


@pytest.mark.parametrize(
    ("source", "reason", "help"),
    [
        ("raise ValueError('first\\nsecond')", "ValueError: first", "make the module importable"),
        ("raise RuntimeError", "RuntimeError", "make the module importable"),
        ("import sys; sys.exit(3)", "SystemExit: 3", "make the module importable"),
        ("1 +", "SyntaxError: invalid syntax (k.py, line 1)", "make the module importable"),
        (
            "import no_such_package.part",
            "ModuleNotFoundError: No module named 'no_such_package'",
            "install `no_such_package`",
        ),
        (
            "import _help",
            "ModuleNotFoundError: No module named '_help'",
            "write `from . import _help`: the folder of a kernel is on no search path",
        ),
        ("from ._none import x", "there is no `kernels/_none.py`", "add the file, or correct the import"),
        ("from ._help import none", "ImportError: cannot import name 'none' from 'kernels._help'", None),
    ],
)
def test_a_module_that_cannot_be_imported_says_why(tmp_path, source, reason, help):
    put(tmp_path, "kernels/_help.py", "")
    put(tmp_path, "kernels/k.py", source)
    found = finding(tmp_path, "kernels/k.py:f")
    assert found.code == "C10E304"
    assert found.message.startswith(f"`kernels/k.py` cannot be imported: {reason}")
    assert help in (None, found.help)
    assert "_c10_registry_" not in found.message


def test_a_module_that_failed_is_tried_again(tmp_path):
    put(tmp_path, "k.py", "raise ValueError")
    finding(tmp_path, "k.py:f")
    put(tmp_path, "k.py", "def f(): return 'mended and longer'")
    assert load(tmp_path, "k.py:f")() == "mended and longer"


def test_an_attribute_that_raises_is_an_import_that_failed(tmp_path):
    put(tmp_path, "k.py", "def __getattr__(name):\n    import no_such_package")
    assert "No module named 'no_such_package'" in finding(tmp_path, "k.py:f").message


def test_an_interrupt_is_let_through(tmp_path):
    put(tmp_path, "k.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load(tmp_path, "k.py:f")


def test_what_a_module_registers_and_is_refused_is_the_finding_at_the_manifests_place(tmp_path):
    put(
        tmp_path,
        "k.py",
        """\
        from c10cli import Dispatcher
        dispatcher = Dispatcher()
        op = dispatcher.register_schema("t::f(Tensor x) -> Tensor")
        dispatcher.register_kernel(op, "CPU", lambda x: x)
        dispatcher.deregister_schema(op)
        """,
    )
    found = finding(tmp_path, "k.py:f")
    assert found.code == "C10E307"
    assert found.message == (
        "the schema of `t::f` cannot be deregistered while kernels are registered for CPU[1]"
    )
    assert found.notes[-1] == "while importing `k.py`"


def test_a_refusal_that_has_a_place_keeps_it(tmp_path):
    put(tmp_path, "k.py", "from c10cli import parse_schema\nparse_schema('t::f(Tensr x) -> Tensor')")
    with pytest.raises(RegistrationError) as caught:
        load(tmp_path, "k.py:f")
    assert (caught.value.code, caught.value.diagnostics[0].span.file) == ("C10E204", "<schema>")


def test_a_fifo_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "k.py")
    assert finding(tmp_path, "k.py:f").message == "kernel file `k.py` is no regular file"


def test_a_folder_whose_name_is_not_utf8_is_one(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    put(folder, "k.py", "def f(): return 1")
    assert load(folder, "k.py:f")() == 1


def test_the_entry_point_is_shown_once(tmp_path):
    assert finding(tmp_path, "gone.py:f").place == ""
    with pytest.raises(RegistrationError) as caught:
        load_entry_point(parse_entry_point("gone.py:f", tmp_path))
    assert caught.value.diagnostics[0].place == "gone.py:f"
