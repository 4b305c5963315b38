import sys
import textwrap
from typing import NamedTuple

import pytest

from c10cli.manifest.checks import check_operator
from c10cli.manifest.load import require_manifest

KERNELS = """\
def add(x, y=1):
    return x
def other_name(a, b): ...
def one(x): ...
def three(x, y, z): ...
def keyword_only(x, *, y): ...
def any(*args, **kwargs): ...
def cached(x, y, cache): ...
async def waits(x, y): ...
def yields(x, y):
    yield x
def boxed(stack, cache): ...
@unknown
def decorated(x): ...
class Workspace: ...
class Sized:
    def __init__(self, size): ...
def make(): ...
async def awaited(): ...
NUMBER = 3
"""


class Checked(NamedTuple):
    diagnostics: list
    skipped: list


@pytest.fixture
def check(tmp_path):
    """The static checks of one operator with *fields* under it."""
    (tmp_path / "k.py").write_text(KERNELS, encoding="utf-8")
    (tmp_path / "broken.py").write_text("def k(:\n", encoding="utf-8")
    (tmp_path / "open.py").write_text("from os import *\n", encoding="utf-8")

    def run(fields, schema="c10::f(Tensor x, int y=1) -> Tensor"):
        path = tmp_path / "registry.yaml"
        body = textwrap.indent(textwrap.dedent(fields), "    ")
        path.write_text(f'version: 1\noperators:\n  - schema: "{schema}"\n{body}', encoding="utf-8")
        (operator,) = require_manifest(path).operators
        return Checked(*check_operator(operator))

    return run


def test_kernels_that_fit(check):
    result = check(
        """\
        kernels:
          CPU: [k.py:add, k.py:any]
          CUDA: {kernel: k.py:cached, cache: k.py:Workspace}
          XLA: {kernel: k.py:cached, cache: k.py:make, name: made}
          Meta: {kernel: k.py:boxed, boxed: true}
        reference: k.py:add
        """
    )
    assert result.diagnostics == result.skipped == []


@pytest.mark.parametrize(
    ("kernel", "code", "words"),
    [
        ("gone.py:f", "C10E304", "kernel file `gone.py` does not exist (kernel of `c10::f`)"),
        ("k.py:ad", "C10E304", "`k.py` has no `ad` (kernel of `c10::f`)"),
        ("broken.py:k", "C10E304", "`broken.py` is not Python: "),
        ("k.py:one", "C10E305", "kernel `one` of `c10::f` takes 1 argument"),
        ("k.py:three", "C10E305", "kernel `three` of `c10::f` takes 3 arguments"),
        ("k.py:other_name", "C10E305", "kernel `other_name` of `c10::f` calls argument 0 `a`"),
        (
            "k.py:keyword_only",
            "C10E305",
            "kernel `keyword_only` of `c10::f` takes (x, *, y), which cannot be",
        ),
        ("k.py:waits", "C10E305", "kernel `waits` of `c10::f` is an async function"),
        ("k.py:yields", "C10E305", "kernel `yields` of `c10::f` is a generator"),
        ("k.py:NUMBER", "C10E310", "kernel `NUMBER` of `c10::f` is a value, not a function"),
        ("{kernel: k.py:add, cache: k.py:Workspace}", "C10E305", "cache"),
        (
            "{kernel: k.py:cached, cache: k.py:Sized}",
            "C10E305",
            "is created without arguments, but needs `size`",
        ),
        ("{kernel: k.py:cached, cache: k.py:awaited}", "C10E305", "cache `awaited` of `c10::f` is an async"),
        ("{kernel: k.py:cached, cache: k.py:NUMBER}", "C10E310", "cache `NUMBER` of `c10::f` is a value"),
        (
            "{kernel: k.py:cached, cache: k.py:Wrkspace}",
            "C10E304",
            "`k.py` has no `Wrkspace` (cache of `c10::f`)",
        ),
    ],
)
def test_kernels_that_do_not(check, kernel, code, words):
    result = check(f"kernels:\n  CPU: {kernel}\n")
    (finding,) = result.diagnostics
    assert finding.code == code
    assert words in finding.message
    assert finding.span.line == 5


KEYWORD = "c10::f(Tensor x, *, float y=2.0, int[2] n=1) -> Tensor"


def test_a_keyword_only_argument_that_is_taken_by_position_is_found(check, tmp_path):
    (tmp_path / "own.py").write_text("def f(x, y, *, n): ...\ndef g(x, *, n, y): ...\n")
    (finding,) = check("kernels: {CPU: [own.py:f, own.py:g]}\n", KEYWORD).diagnostics
    assert (finding.code, finding.help) == ("C10E305", "put `*` before `y`")
    assert finding.message == "kernel `f` of `c10::f` takes `y` by position, and the schema by keyword alone"


@pytest.mark.parametrize(
    ("kernel", "differs"),
    [
        ("def f(x, *, y=3, n): ...", "has `y=3`, and the schema `float y=2.0`"),
        ("def f(x, *, y=2.0, n=[1, 2]): ...", "has `n=(1, 2)`, and the schema `int[2] n=1`"),
        ("def f(x, *, y=None, n=1): ...", "has `y=None`, and the schema `float y=2.0`"),
        ("def f(x, *, y='2', n=(1, 1)): ...", "has `y='2'`, and the schema `float y=2.0`"),
        ("def f(x=None, *, y=2, n=[1, 1]): ...", ""),
        ("def f(x, *, y=TWO, n=[[1], [1]]): ...", ""),
        ("def f(x, *, n=1, **more): ...", ""),
    ],
)
def test_a_default_different_from_the_schemas_is_a_warning(check, tmp_path, kernel, differs):
    (tmp_path / "own.py").write_text(kernel)
    found = [
        (d.code, d.severity, d.message) for d in check("kernels: {CPU: own.py:f}\n", KEYWORD).diagnostics
    ]
    assert found == [("C10W351", "warning", f"kernel `f` of `c10::f` {differs}")] * bool(differs)


def test_how_a_function_of_another_package_could_be_called_otherwise_is_not_judged(
    check, tmp_path, monkeypatch
):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "c10_test_theirs.py").write_text("def f(x, y=3, n=None): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert check("kernels: {CPU: c10_test_theirs:f}\n", KEYWORD) == ([], [])


@pytest.mark.parametrize(
    ("kernel", "fact"),
    [
        ("def f(x, y: list[int]): ...", "annotates `y` as list[int], and the schema says int"),
        ("def f(x, y: 'str'): ...", "annotates `y` as str, and the schema says int"),
        ("def f(x, y) -> None: ...", "is annotated to return None, and the schema returns Tensor"),
        (
            "def f(x, y) -> 'tuple[Tensor, int]': ...",
            "is annotated to return tuple[Tensor, int], and the schema returns Tensor",
        ),
    ],
)
def test_annotations_are_judged_in_the_source(check, tmp_path, kernel, fact):
    (tmp_path / "own.py").write_text(kernel)
    (finding,) = check("kernels: {CPU: own.py:f}\n").diagnostics
    assert (finding.code, finding.message) == ("C10E305", f"kernel `f` of `c10::f` {fact}")
    assert finding.help.startswith("correct the annotation")


def test_the_help_for_a_creator_that_needs_arguments_is_its_own(check):
    (finding,) = check("kernels: {CPU: {kernel: k.py:cached, cache: k.py:Sized}}\n").diagnostics
    assert finding.help == "give them defaults, or name a function that makes the cache and takes nothing"


def test_a_mismatch_names_kernel_operator_place_and_schema(check, tmp_path):
    (finding,) = check("kernels: {CPU: k.py:one}\n").diagnostics
    assert "`one`" in finding.message
    assert "`c10::f`" in finding.message
    assert finding.notes == (
        "`one` is defined at k.py:4",
        "the schema is `c10::f(Tensor x, int y=1) -> Tensor`",
    )
    assert (finding.span.column, finding.span.end_column) == (20, 28)


def test_a_missing_function_has_near_names(check):
    (finding,) = check("kernels: {CPU: k.py:ad}\n").diagnostics
    assert finding.help == "did you mean `add`?"


def test_a_boxed_kernel_takes_a_stack_and_a_cache(check):
    (finding,) = check("kernels: {CPU: {kernel: k.py:one, boxed: true}}\n").diagnostics
    assert finding.code == "C10E305"
    assert "stack" in finding.message


def test_the_reference_is_checked_too(check):
    (finding,) = check("reference: k.py:one\n").diagnostics
    assert finding.message.startswith("reference `one` of `c10::f` takes 1 argument")


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        ("k.py:decorated", "its signature is known only when it is imported"),
        ("k.py:Workspace", "its signature is known only when it is imported"),
        ("open.py:path", "`open.py` may define `path` only when it is imported"),
        ("c10_no_such_package:f", "package `c10_no_such_package` is not installed"),
    ],
)
def test_what_only_importing_tells_is_skipped_with_its_reason(check, kernel, reason):
    result = check(f"kernels: {{CPU: '{kernel}'}}\n")
    assert result.diagnostics == []
    ((entry_point, why),) = result.skipped
    assert (entry_point.text, why) == (kernel, reason)


def test_nothing_is_imported(check, tmp_path):
    (tmp_path / "k.py").write_text("import sys\nsys.exit(3)\ndef add(x, y): ...\n", encoding="utf-8")
    before = set(sys.modules)
    assert check("kernels: {CPU: k.py:add}\n").diagnostics == []
    assert set(sys.modules) == before


def test_names_in_installed_packages(check, tmp_path, monkeypatch):
    package = tmp_path / "site" / "c10_test_names"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("def add(x, y): ...\n")
    monkeypatch.syspath_prepend(str(package.parent))
    assert check("kernels: {CPU: c10_test_names:add}\n").diagnostics == []
    ((_, reason),) = check("kernels: {CPU: c10_test_names:inner.add}\n").skipped
    assert reason == "`c10_test_names` may define `inner` only when it is imported"
    (finding,) = check("kernels: {CPU: c10_test_names:ad}\n").diagnostics
    assert finding.message == "`c10_test_names` has no `ad` (kernel of `c10::f`)"


CASE = "cases: [{name: a, sweep: {n: [1]}, inputs: {x: %s}}]\n"


@pytest.mark.parametrize(
    ("fields", "columns", "words"),
    [
        (CASE % "randn(n).T", (52, 62), "`randn(n).T` is not part"),
        (CASE % "'ramdn(n)'", (53, 58), "unknown function `ramdn`"),
        (CASE % "'randn(m, n)'", (59, 60), "unknown name `m`"),
        (CASE % "nbytes(n)", (52, 58), "unknown function `nbytes`"),
        (CASE % "[n, m]", (52, 58), "unknown name `m`"),
        (CASE % "ones(2", (56, 57), "is not an expression"),
        (CASE % "ones(2)", (31, 32), "`n` in the sweep of case `a` of `c10::f` is used by no input"),
        ("cost: {bytes: nbytes(z)}\n", (26, 27), "unknown name `z`"),
        ("cost: {flops: 'randn(2)'}\n", (20, 25), "unknown function `randn`"),
    ],
)
def test_expressions_are_checked_at_their_place(check, fields, columns, words):
    (finding,) = check(fields).diagnostics
    assert finding.code == "C10E110"
    assert words in finding.message
    assert finding.span.line == 4
    assert (finding.span.column, finding.span.end_column) == columns


def test_expressions_that_are_understood(check):
    fields = CASE % "randn(2 * n)" + 'cost: {bytes: "2 * nbytes(x) + dim(x, 0)", flops: size(x) * y}\n'
    assert check(fields).diagnostics == []


def test_findings_of_an_operator_are_in_order_of_position(check):
    result = check("cost: {bytes: z}\nreference: k.py:one\nkernels: {CPU: k.py:one}\n")
    assert [finding.span.line for finding in result.diagnostics] == [4, 5, 6]


def test_the_findings_of_the_file_that_defines_come_before_those_of_one_that_extends(check, tmp_path):
    (tmp_path / "base.yaml").write_text(
        'version: 1\noperators: [{schema: "c10::f(Tensor x, int y=1) -> Tensor",\n\n\n\n'
        "    reference: k.py:three, cases: [{name: a, inputs: {x: 'gone(1)'}}]}]\n"
    )
    path = tmp_path / "registry.yaml"
    path.write_text(
        "version: 1\ninclude: [base.yaml]\noperators:\n  - operator: c10::f\n"
        "    kernels: {CPU: k.py:one, CUDA: k.py:gone}\n"
        "    cases: [{name: b, inputs: {x: 'gone(2)'}}]\n"
    )
    found = [
        (d.code, d.span.file.rpartition("/")[2], d.span.line)
        for d in check_operator(require_manifest(path).operators[0])[0]
    ]
    assert found == [
        ("C10E305", "base.yaml", 6),
        ("C10E110", "base.yaml", 6),
        ("C10E305", "registry.yaml", 5),
        ("C10E304", "registry.yaml", 5),
        ("C10E110", "registry.yaml", 6),
    ]
