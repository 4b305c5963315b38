"""The arrow of the layers: every module imports only from earlier ones, and no two import each other."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "c10cli"
LAYERS = (
    "errors",
    "describe",
    "files",
    "schema",
    "document",
    "arrays",
    "dispatch",
    "entry_points",
    "manifest",
    "diff",
    "jobs",
    "verify",
    "bench",
    "report",
    "interop",
    "cli",
)
# Above all layers: the package that exports them, and the plugin that joins them to pytest.
ON_TOP = ("__init__", "__main__", "pytest_plugin")
HEAVY = {"numpy", "click", "rich", "yaml"}

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_shipped" not in path.parts)
KERNELS = sorted((ROOT / "kernels").rglob("*.py"))
# What a string must look like to name a module, or something in it: `c10cli.cli.list:command`.
MODULE_NAME = re.compile(r"c10cli(\.\w+)+(?=:|$)")


def names_of(paths):
    return [str(path.relative_to(ROOT)) for path in paths]


def imported_modules(path):
    """The absolute names of all that *path* imports: inside functions, for types, and named in strings."""
    package = (*path.relative_to(ROOT).parent.parts,)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else [])))
            # What follows `import` may be a module, too.
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = MODULE_NAME.match(node.value)
            if found:
                yield found[0]


def layer_of(dotted):
    """The layer that a name such as ``c10cli.schema.parser`` belongs to; None outside the package.

    A public name, such as ``c10cli.Dispatcher``, stands for itself: it is above all layers.
    """
    root, _, rest = dotted.partition(".")
    layer = rest.partition(".")[0]
    return layer if root == "c10cli" and layer not in ("", "__version__", "ops") else None


def own_layer(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=names_of(MODULES))
def test_a_module_imports_no_later_layer(path):
    own = own_layer(path)
    if own in ON_TOP:
        return
    assert own in LAYERS, f"{own} has no place in the order of the layers"
    allowed = LAYERS[: LAYERS.index(own) + 1]
    later = {name for name in imported_modules(path) if layer_of(name) and layer_of(name) not in allowed}
    assert not later


def test_the_check_sees_imports_of_every_form(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "c10cli" / "schema" / "x.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import c10cli.cli.main\nfrom c10cli import bench\nfrom . import parser\n"
        "from c10cli import Dispatcher\ndef f():\n    from ..report import tables\n"
        "HOME = 'c10cli.verify.gate:validate'\n"
    )
    layers = {layer_of(name) for name in imported_modules(path)}
    assert layers == {"cli", "bench", "schema", "Dispatcher", "report", "verify"}


def dotted(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports_of(paths):
    """By module of the package, the modules of it that it imports; what the package exports is above all."""
    known = {dotted(path) for path in paths} - {"c10cli"}
    graph = {}
    for path in paths:
        named = imported_modules(path)
        graph[dotted(path)] = {n if n in known else n.rpartition(".")[0] for n in named} & known
    graph.pop("c10cli", None)
    return graph


def circles(graph):
    """The sets of modules that import each other, directly or through others."""

    def reached(module):
        found, waiting = set(), [module]
        while waiting:
            for other in graph[waiting.pop()] - found:
                found.add(other)
                waiting.append(other)
        return found

    reach = {module: reached(module) for module in graph}
    return {frozenset(o for o in reach[m] if m in reach[o]) for m in graph if m in reach[m]}


def test_no_two_modules_import_each_other():
    assert circles(imports_of(MODULES)) == set()


def test_a_circle_is_found_however_long_it_is():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": set(), "f": {"f"}}
    assert circles(graph) == {frozenset("abc"), frozenset("f")}


def test_no_two_modules_have_names_that_can_be_mixed_up():
    """A command's module in cli/ may be called like the command."""
    names = [(path.stem, path) for path in MODULES if path.stem not in ("__init__", "__main__")]
    inner = [(stem, path) for stem, path in names if own_layer(path) != "cli"]
    twice = [(a, str(one), str(other)) for a, one in inner for b, other in names if one != other and a == b]
    stems = {stem for stem, _ in inner}
    endings = ("s", "es", "er", "ed", "ing", "ion")
    alike = [
        (stem, root + ending)
        for stem in stems
        for root in (stem, stem.removesuffix("e"))
        for ending in endings
        if root + ending in stems
    ]
    assert not twice
    assert not alike


def test_the_readme_shows_the_layers_in_their_order():
    shown = re.findall(r"^  (\w+)(?:/|\.py) ", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(shown) == LAYERS


def test_contributing_shows_the_layers_in_their_order_and_files_and_tests_that_are_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = text.partition("```text\n")[2].partition("```")[0]
    assert tuple(reversed(re.findall(r"^(\w+)(?: |$)", picture, re.MULTILINE))) == LAYERS
    for name in re.findall(
        r"`((?:c10cli|tests|kernels)/[\w./]*|[\w-]+\.(?:py|yaml|md|toml))(?:::\w+)*`", text
    ):
        assert "NAME" in name or (ROOT / name).exists(), name
    for file, test in re.findall(r"`(tests/[\w./]+\.py)::(\w+)`", text):
        assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), test


def test_errors_imports_nothing_of_the_package():
    assert not [name for name in imported_modules(PACKAGE / "errors.py") if name.startswith("c10cli")]


@pytest.mark.parametrize("path", MODULES, ids=names_of(MODULES))
def test_schema_and_dispatch_name_no_heavy_package(path):
    if own_layer(path) in ("errors", "schema", "dispatch"):
        assert not {name.partition(".")[0] for name in imported_modules(path)} & HEAVY


@pytest.mark.parametrize("path", KERNELS, ids=names_of(KERNELS))
def test_kernels_do_not_know_c10cli(path):
    assert not [name for name in imported_modules(path) if name.partition(".")[0] == "c10cli"]


def modules_after(code):
    """The modules imported by a new interpreter that ran *code*, which may end in SystemExit."""
    program = f"""
import json, sys
try:
    {code}
except SystemExit as stop:
    assert not stop.code, stop.code
finally:
    sys.stderr.write("\\n" + json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(json.loads(done.stderr.splitlines()[-1])), done.stdout


def run_command(*argv):
    return modules_after(f"from c10cli.cli.main import main; main({list(argv)!r})")


def test_importing_the_dispatcher_imports_no_heavy_package():
    modules, _ = modules_after("import c10cli.dispatch")
    assert not modules & HEAVY


def test_help_imports_click_alone():
    modules, printed = run_command("--help")
    assert "Commands:" in printed
    assert not modules & {"numpy", "yaml", "rich", "pytest", "numba", "torch", "importlib.metadata"}


@pytest.fixture
def registry(tmp_path):
    """A manifest whose kernel fails when it is imported."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "twice.py").write_text(
        "raise RuntimeError('imported')\ndef twice_cpu(x):\n    return x\n"
    )
    path = tmp_path / "registry.yaml"
    path.write_text(
        'version: 1\noperators:\n  - schema: "demo::twice(Tensor x) -> Tensor"\n'
        "    kernels:\n      CPU: kernels/twice.py:twice_cpu\n"
    )
    return path


def test_list_imports_no_kernel_and_no_numpy(registry):
    modules, printed = run_command("--registry", str(registry), "list")
    assert "demo::twice" in printed
    assert not {name for name in modules if name.startswith("_c10_registry_")}
    assert not modules & {"numpy", "numba", "torch", "scipy"}
