import ast
import inspect
import textwrap

import pytest

from c10cli.entry_points.definitions import read_module, signature_of


@pytest.fixture
def module(tmp_path):
    """A module from its source."""

    def read(source):
        path = tmp_path / "m.py"
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return read_module(path)

    return read


@pytest.mark.parametrize(
    "parameters",
    ["", "x", "x, y=1", "x, /, y", "x=1, /, y=2", "*args", "x, *, y", "x, *args, y=1, **kw", "*, y", "**kw"],
)
def test_the_signature_is_that_of_the_imported_function(parameters):
    source = f"def f({parameters}): pass"
    namespace = {}
    exec(source, namespace)
    real = inspect.signature(namespace["f"]).parameters.values()
    read = signature_of(ast.parse(source).body[0]).parameters.values()
    assert [(p.name, p.kind, p.default is p.empty) for p in read] == [
        (p.name, p.kind, p.default is p.empty) for p in real
    ]


def test_plain_annotations_are_names_and_longer_ones_are_left_out(module):
    found = module("def f(a: int, b: 'str', c: list[int], d) -> float: ...").find("f")
    annotations = [p.annotation for p in found.signature.parameters.values()]
    assert annotations == ["int", "str", inspect.Parameter.empty, inspect.Parameter.empty]
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
def test_the_kind_of_a_definition(module, source, kind):
    assert module(source).find("f").kind == kind


def test_a_name_nobody_defines_is_none(module):
    found = module("def f(): ...\nclass C:\n    def g(self): ...\nx: int\n")
    assert found.find("g") is None
    assert found.find("x") is None
    assert found.functions == ["f", "C"]


def test_names_inside_classes(module):
    found = module(
        "class C:\n    @staticmethod\n    def f(x): ...\n    @classmethod\n    def g(cls, y): ...\n"
    )
    assert list(found.find("C.f").signature.parameters) == ["x"]
    assert list(found.find("C.g").signature.parameters) == ["y"]
    assert found.find("C.inherited").kind == "unknown"


def test_a_class_is_called_through_its_constructor(module):
    found = module("class C:\n    def __init__(self, n): ...\nclass D(C): ...\n")
    assert list(found.find("C").signature.parameters) == ["n"]
    assert found.find("D").signature is None


def test_the_line_is_that_of_the_definition(module):
    assert module("\n\ndef f(): ...\n").find("f").line == 3


@pytest.mark.parametrize(
    "source", ["from a import *", "def __getattr__(n): ...", "globals()['f'] = 1", "exec(s)"]
)
def test_a_module_may_have_names_that_do_not_show(module, source):
    assert module(source).is_open
    assert not module("def f(): ...").is_open


def test_what_is_no_python_is_a_fault(module, tmp_path):
    assert module("def k(:\n").fault.startswith("is not Python: ")
    assert module("def k(:\n").fault.endswith("(line 1)")
    assert module("x = '\0'\n").fault
    assert read_module(tmp_path / "gone.py").fault.startswith("cannot be read: ")
    assert read_module(tmp_path).fault


def test_a_modules_own_warnings_stay_quiet(module):
    assert module("x = '\\d'\n").fault is None


def test_reading_runs_nothing(module):
    assert module("import sys\nsys.exit(3)\n").fault is None
