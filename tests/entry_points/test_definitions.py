import inspect
import os
import sys
import textwrap
import types

import pytest

from c10cli.entry_points.definitions import Definition, Missing, Unresolved, definition_of, locate_source
from c10cli.entry_points.entry_point import parse_entry_point


@pytest.fixture
def define(tmp_path):
    """`define(text)`: the definition behind an entry point; after `define(text, source)`, that of a file."""

    def define(text, source=None):
        if source is not None:
            (tmp_path / text.partition(":")[0]).write_text(textwrap.dedent(source), encoding="utf-8")
        return definition_of(parse_entry_point(text, tmp_path))

    return define


@pytest.mark.parametrize(
    "parameters",
    ["", "x", "x, y=1", "x, /, y", "x=1, /, y=2", "*args", "x, *, y", "x, *args, y=1, **kw", "*, y", "**kw"],
)
def test_the_signature_is_that_of_the_imported_function(define, parameters):
    source = f"def f({parameters}): pass"
    namespace = {}
    exec(source, namespace)
    real = inspect.signature(namespace["f"]).parameters.values()
    read = define("m.py:f", source).signature.parameters.values()
    assert [(p.name, p.kind, p.default is p.empty) for p in read] == [
        (p.name, p.kind, p.default is p.empty) for p in real
    ]


def test_defaults_are_the_values_of_literals(define):
    found = define("m.py:f", "def f(a, b=-1, *, c=[1, 'x'], d=None, e=N, g=[[]], h={}): ...")
    defaults = [p.default for p in found.signature.parameters.values()]
    assert defaults == [inspect.Parameter.empty, -1, (1, "x"), None, ..., ..., ...]


def test_annotations_are_text(define):
    found = define("m.py:f", "def f(a: int, b: 'str', c: list[ 'int'], d) -> float: ...")
    annotations = [p.annotation for p in found.signature.parameters.values()]
    assert annotations == ["int", "str", "list['int']", inspect.Parameter.empty]
    assert found.signature.return_annotation == "float"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("def f(x): return x", "function"),
        ("async def f(x): return x", "async function"),
        ("def f(x):\n    for y in x:\n        yield y", "generator"),
        ("def f(x):\n    def g():\n        yield 1\n    return g", "function"),
        ("class f: ...", "class"),
        ("f = 3", "value"),
        ("f: str = 'x'", "value"),
        ("f = [1]", "value"),
        ("f = make()", "unknown"),
        ("f, g = 1, 2", "unknown"),
        ("f = lambda x: x", "unknown"),
        ("import f", "unknown"),
        ("import a.b as f", "unknown"),
        ("from a import b as f", "unknown"),
        ("@wrapped\ndef f(x): ...", "unknown"),
        ("@numba.njit(cache=True)\ndef f(x): ...", "function"),
        ("@functools.lru_cache\ndef f(x): ...", "function"),
        ("if True:\n    def f(x): ...", "function"),
        ("try:\n    from a import f\nexcept ImportError:\n    def f(x): ...", "unknown"),
        ("try:\n    def f(x): ...\nexcept E:\n    def f(x): ...", "function"),
        ("if a:\n    def f(x): ...\nelse:\n    def f(y): ...", "unknown"),
        ("if a:\n    f = None\ndef f(x): ...", "function"),
        ("with a:\n    def f(x): ...", "function"),
        ("for a in b:\n    def f(x): ...", "function"),
        ("def g(x): ...\nf = g", "function"),
        ("f = g", "unknown"),
        ("g = f\nf = g", "unknown"),
    ],
)
def test_the_kind_of_a_definition(define, source, kind):
    assert define("m.py:f", source).kind == kind


def test_a_name_that_nobody_defines_is_missing(define):
    source = "def f(): ...\nclass C:\n    def g(self): ...\nx: int\n"
    assert define("m.py:g", source) == Missing("`m.py` has no `g`")
    assert define("m.py:x", source) == Missing("`m.py` has no `x`")


def test_names_inside_classes(define):
    source = "class C:\n    @staticmethod\n    def f(x): ...\n    @classmethod\n    def g(cls, y): ...\n"
    assert list(define("m.py:C.f", source).signature.parameters) == ["x"]
    assert list(define("m.py:C.g").signature.parameters) == ["y"]
    assert define("m.py:C.inherited").kind == "unknown"


def test_an_attribute_of_a_function_is_not_the_function(define):
    assert define("m.py:f.other", "def f(x): ...\n").kind == "unknown"


def test_a_class_is_called_through_its_constructor(define):
    source = "class C:\n    def __init__(self, n): ...\nclass D(C): ...\n"
    assert list(define("m.py:C", source).signature.parameters) == ["n"]
    assert define("m.py:D").signature is None


@pytest.mark.parametrize(
    "source", ["from a import *", "def __getattr__(n): ...", "globals()['f'] = 1", "exec(s)"]
)
def test_a_module_may_have_names_that_do_not_show(define, source):
    reason = "`m.py` may define `f` only when it is imported"
    assert define("m.py:f", source) == Unresolved(reason)


def test_what_is_no_python_says_so(define):
    assert define("m.py:f", "def k(:\n") == Missing("`m.py` is not Python: invalid syntax (line 1)")
    assert "null bytes" in define("m.py:f", "x = '\0'\n").message


def test_a_modules_own_warnings_stay_quiet_and_reading_runs_nothing(define):
    assert define("m.py:x", "import sys\nx = '\\d'\nsys.exit(3)\n").kind == "value"


def test_the_definition_behind_an_entry_point_has_its_file_and_line(tmp_path, define):
    (tmp_path / "k.py").write_text("\ndef relu(x):\n    'Positive part.'\n")
    found = define("k.py:relu")
    assert isinstance(found, Definition)
    assert (found.path, found.line, found.kind, found.summary) == (
        tmp_path / "k.py",
        2,
        "function",
        "Positive part.",
    )


def test_a_name_that_the_file_lacks_has_near_names(tmp_path, define):
    (tmp_path / "k.py").write_text("def relu(x): ...\n")
    assert define("k.py:rleu") == Missing("`k.py` has no `rleu`", "did you mean `relu`?")


def test_a_file_that_changed_is_read_again(tmp_path, define):
    (tmp_path / "k.py").write_text("def f(x): ...\n")
    assert define("k.py:f").line == 1
    (tmp_path / "k.py").write_text("\ndef f(x): ...\n")
    assert define("k.py:f").line == 2


@pytest.fixture
def locate(tmp_path):
    return lambda text: locate_source(parse_entry_point(text, tmp_path))


def test_a_file_that_is_there(tmp_path, locate):
    (tmp_path / "relu.py").touch()
    assert locate("relu.py:f") == tmp_path / "relu.py"


def test_a_file_that_is_not_there_has_near_names(tmp_path, locate):
    (tmp_path / "relu.py").touch()
    assert locate("rleu.py:f") == Missing("kernel file `rleu.py` does not exist", "did you mean `relu.py`?")
    missing = Missing("kernel file `gone/relu.py` does not exist", "create it, or correct the path")
    assert locate("gone/relu.py:f") == missing


def test_a_folder_is_no_file(tmp_path, locate):
    (tmp_path / "relu.py").mkdir()
    assert locate("relu.py:f") == Missing("kernel file `relu.py` is a folder")


def test_a_fifo_is_no_kernel_file(tmp_path, locate):
    os.mkfifo(tmp_path / "relu.py")
    assert locate("relu.py:f") == Missing("kernel file `relu.py` is no regular file")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package on the path that must not be imported."""
    place = tmp_path / "site"
    folder = place / "c10_test_package" / "sub"
    folder.mkdir(parents=True)
    for path in (folder.parent / "__init__.py", folder / "__init__.py", folder / "mod.py"):
        path.write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(place))
    return folder.parent


def test_modules_are_found_without_importing_them(package, locate):
    assert locate("c10_test_package:f") == package / "__init__.py"
    assert locate("c10_test_package.sub:f") == package / "sub" / "__init__.py"
    assert locate("c10_test_package.sub.mod:f") == package / "sub" / "mod.py"
    assert "c10_test_package" not in sys.modules


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("c10_no_such_package:f", "package `c10_no_such_package` is not installed"),
        ("c10_no_such_package.sub:f", "package `c10_no_such_package` is not installed"),
        ("c10_test_package.gone:f", "module `c10_test_package.gone` has no Python file"),
        ("c10_test_package.gone.mod:f", "module `c10_test_package.gone.mod` has no Python file"),
        ("sys:exit", "module `sys` has no Python file"),
        ("c10_without_spec:f", "package `c10_without_spec` is not installed"),
    ],
)
def test_what_only_importing_would_tell(package, locate, text, reason, monkeypatch):
    monkeypatch.setitem(sys.modules, "c10_without_spec", types.SimpleNamespace(__spec__=None))
    assert locate(text).reason.startswith(reason)


def test_a_module_beside_the_manifest_serves_where_none_is_installed(tmp_path, locate):
    (tmp_path / "c10_beside.py").touch()
    (tmp_path / "json.py").touch()
    assert locate("c10_beside:f") == tmp_path / "c10_beside.py"
    assert locate("json:f") != tmp_path / "json.py"


def test_a_name_too_long_for_the_file_system(locate):
    name = "x" * 300
    assert locate(f"{name}.py:f").message.startswith(f"kernel file `{name}.py` cannot be looked up: ")
