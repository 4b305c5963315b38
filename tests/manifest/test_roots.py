"""What a manifest names is in its folder, wherever links lead, or in one that it names under `roots`."""

from __future__ import annotations

import pytest

from c10cli.entry_points.importing import load_entry_point
from c10cli.errors import RegistrationError
from c10cli.manifest.checks import check_operator
from c10cli.manifest.load import load_manifest

OPERATOR = """\
  - schema: "d::f(Tensor x) -> Tensor"
    kernels: {CPU: {kernel: "k.py:g", cache: "k.py:f"}}
    reference: k.py:f
"""
FUNCTIONS = "def f(x=None):\n    return x\ndef g(x, cache=None):\n    return x\n"


@pytest.fixture
def tree(tmp_path):
    """``inner/``, with a manifest, in a folder; beside both a folder with what it may lead to."""
    for name in ("outer/inner", "beside"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "k.py").write_text(FUNCTIONS)
        (tmp_path / name / "more.yaml").write_text("version: 1\noperators: []\n")
    (tmp_path / "outer" / "more.yaml").write_text("version: 1\noperators: []\n")
    return tmp_path / "outer" / "inner"


def load(folder, head="", operators=OPERATOR, name="registry.yaml"):
    (folder / name).write_text(f"version: 1\n{head}operators:\n{operators}")
    return load_manifest(folder / name)


@pytest.mark.parametrize(
    ("include", "roots", "real"),
    [
        ("../more.yaml", None, "outer/more.yaml"),
        ("../../beside/more.yaml", "[..]", "beside/more.yaml"),
        ("link.yaml", None, "beside/more.yaml"),
        ("linked/more.yaml", "[..]", "beside/more.yaml"),
        ("../more.yaml", "[..]", ""),
        ("../../beside/more.yaml", "[../../beside]", ""),
        ("link.yaml", "[../..]", ""),
        ("linked/more.yaml", "[linked]", ""),
    ],
)
def test_an_include_that_leaves_the_folder_is_refused_unless_a_root_has_it(tree, include, roots, real):
    (tree / "link.yaml").symlink_to("../../beside/more.yaml")
    (tree / "linked").symlink_to("../../beside")
    result = load(tree, f"include: [{include}]\n" + (f"roots: {roots}\n" if roots else ""))
    place = tree.parents[1] / real
    fact = f"`{include}` in `include` leaves the folder of the manifest: it is `{place}`"
    assert [(d.code, d.message) for d in result.diagnostics] == ([("C10E106", fact)] if real else [])


@pytest.mark.parametrize("head", ["", "roots: [../../beside]\n"])
@pytest.mark.parametrize("link", ["k.py", "ops"])
def test_a_kernel_cache_or_reference_that_a_link_leads_out_is_refused_unless_a_root_has_it(tree, head, link):
    (tree / "k.py").unlink()
    (tree / link).symlink_to("../../beside" + ("" if link == "ops" else "/k.py"))
    text = OPERATOR.replace("k.py", f"{link}/k.py") if link == "ops" else OPERATOR
    operator = load(tree, head, text).manifest.operators[0]
    findings, _ = check_operator(operator)
    (kernel,) = operator.kernels
    if head:
        assert findings == []
        assert load_entry_point(kernel.entry_point)(3) == 3
        return
    assert findings.places == {
        str(entry.span) for entry in (kernel.entry_point, kernel.cache, operator.reference)
    }
    assert findings[0].code == "C10E109"
    assert f"leaves the folder of the manifest: it is `{tree.parents[1]}/beside/k.py`" in findings[0].message
    for entry in (kernel.entry_point, kernel.cache, operator.reference):
        with pytest.raises(RegistrationError, match="leaves the folder of the manifest") as caught:
            load_entry_point(entry)
        assert caught.value.code == "C10E109"


def test_a_module_beside_the_manifest_is_not_found_through_a_link_that_leads_out(tree):
    (tree / "c10_no_such_module.py").symlink_to("../../beside/k.py")
    text = OPERATOR.replace("k.py", "c10_no_such_module")
    (kernel,) = load(tree, operators=text).manifest.operators[0].kernels
    with pytest.raises(RegistrationError, match="No module named"):
        load_entry_point(kernel.entry_point)
    (kernel,) = load(tree, "roots: [../..]\n", text).manifest.operators[0].kernels
    assert load_entry_point(kernel.entry_point)(3) == 3


def test_an_included_manifest_may_use_what_the_one_that_includes_it_may(tree):
    (tree / "k.py").unlink()
    (tree / "k.py").symlink_to("../k.py")
    (tree.parent / "k.py").write_text(FUNCTIONS)
    load(tree, "include: [../more.yaml]\n")
    (tree.parent / "registry.yaml").write_text("version: 1\ninclude: [inner/registry.yaml]\n")
    result = load_manifest(tree.parent / "registry.yaml")
    assert result.diagnostics == ()
    assert check_operator(result.manifest.operators[0])[0] == []


def test_a_folder_that_is_a_link_itself_is_what_it_leads_to(tree):
    load(tree)
    (tree.parent / "link").symlink_to("inner")
    operator = load_manifest(tree.parent / "link" / "registry.yaml").manifest.operators[0]
    assert check_operator(operator)[0] == []


@pytest.mark.parametrize("root", ["/", "file:///tmp", "3", "3, ..", '""'])
def test_a_root_is_a_path_relative_to_the_manifest(tree, root):
    (finding,) = load(tree, f"roots: [{root}]\n").diagnostics
    assert (finding.code, finding.span.line) == ("C10E106", 2)
