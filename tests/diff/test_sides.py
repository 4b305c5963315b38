import io
import subprocess

import pytest

from c10cli.diff.sides import read_side
from c10cli.errors import ManifestError

MANIFEST = """\
version: 1
include: [../more.yaml]
operators:
  - schema: "d::f(Tensor x) -> Tensor"
    kernels: {CPU: k.py:f, CUDA: [k.py:g, k.py:h]}
roots: [..]
"""
MORE = 'version: 1\noperators:\n  - schema: "m::g(Tensor x) -> Tensor"\n'
NATIVE = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  dispatch:
    CPU: add
- func: custom::f(Tensor(a!) self, int? x=None) -> Tensor(a!)
"""


def git(*words):
    subprocess.run(["git", *words], check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "registry.yaml").write_text(MANIFEST)
    (tmp_path / "more.yaml").write_text(MORE)
    return tmp_path


@pytest.fixture
def repository_of(monkeypatch, needs_program):
    """`repository_of(folder)`, the current one: a git repository with all of its files committed."""
    needs_program("git")

    def commit(folder):
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder.parent))
        git("init", "-q", ".")
        git("add", "-A")
        identity = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")
        git(*identity, "commit", "-q", "-m", "m")

    return commit


@pytest.fixture
def repository(folder, repository_of):
    """The folder as a git repository whose files were committed and then emptied."""
    (folder / "bad.yaml").write_bytes(b"version: \xff\n")
    repository_of(folder)
    for path in (folder / "sub" / "registry.yaml", folder / "more.yaml"):
        path.write_text("")
    return folder


def fault(text):
    with pytest.raises(ManifestError) as raised:
        read_side(text)
    return raised.value.diagnostics[0]


def test_the_kernels_that_an_extension_adds_are_the_operators(folder):
    (folder / "more.yaml").write_text(
        "version: 1\noperators:\n  - operator: d::f\n"
        "    kernels: {Meta: k.py:m, CPU: k.py:mine}\n    override: {CPU: faster}\n"
    )
    f = read_side("sub/registry.yaml").operators["d::f"]
    assert {key: str(span) for key, span in f.kernels.items()} == {
        "CPU": "sub/../more.yaml:4:29",
        "CUDA": "sub/registry.yaml:5:28",
        "Meta": "sub/../more.yaml:4:15",
    }
    assert str(f.span()) == "sub/registry.yaml:4:13"


def test_an_extension_of_nothing_is_an_operator_of_which_no_more_is_known(folder):
    (folder / "more.yaml").write_text(
        "version: 1\noperators:\n  - {operator: d::g, kernels: {CPU: k.py:m}}\n"
    )
    side = read_side("sub/registry.yaml")
    assert side.operators["d::g"].fault.code == "C10E303"
    assert (side.operators["d::g"].schema, side.hidden) == (None, None)
    assert (side.operators["d::f"].fault, len(side.faults)) == (None, 1)


def test_a_manifest_has_its_operators_and_those_it_includes(folder):
    side = read_side("sub/registry.yaml")
    assert list(side.operators) == ["d::f", "m::g"]
    f = side.operators["d::f"]
    assert {key: str(span) for key, span in f.kernels.items()} == {
        "CPU": "sub/registry.yaml:5:15",
        "CUDA": "sub/registry.yaml:5:28",
    }
    assert str(f.span()) == "sub/registry.yaml:4:13"
    assert str(f.span(f.schema.arguments[0].span)) == "sub/registry.yaml:4:19"


def test_native_functions_are_torchs_schemas_in_namespace_aten(folder):
    (folder / "native.yaml").write_text(NATIVE)
    side = read_side("native.yaml")
    assert list(side.operators) == ["aten::add.Tensor", "custom::f"]
    add, custom = side.operators.values()
    assert str(add.span(add.schema.arguments[2].span)) == "native.yaml:1:50"
    assert str(custom.span(custom.schema.arguments[1].span)) == "native.yaml:4:36"
    assert add.kernels is None


@pytest.mark.parametrize(
    ("text", "code", "place", "message"),
    [
        ("- func: f(Tensr x) -> Tensor\n", "C10E204", "native.yaml:1:11", "unknown type `Tensr`"),
        (
            "- func: f(Tensor x) -> ()\n- func: f(int x) -> ()\n",
            "C10E301",
            "native.yaml:2:9",
            "operator `aten::f` is defined twice",
        ),
    ],
)
def test_a_fault_of_an_operator_leaves_the_others(folder, text, code, place, message):
    (folder / "native.yaml").write_text(f"{text}- func: g(Tensor x) -> Tensor\n")
    f, g = read_side("native.yaml").operators.values()
    assert (f.fault.code, str(f.fault.span), f.fault.message) == (code, place, message)
    assert (str(g.schema), g.fault) == ("aten::g(Tensor x) -> Tensor", None)


@pytest.mark.parametrize(
    ("text", "code", "place", "message"),
    [
        ("- 3\n", "C10E106", "native.yaml:1:3", "entry 1 has neither a text `func` nor a text `op`"),
        ("- func: f() -> ()\n  func: g() -> ()\n", "C10E103", "native.yaml:2:3", "key `func` is given twice"),
    ],
)
def test_what_is_no_list_of_operators_is_no_side(folder, text, code, place, message):
    (folder / "native.yaml").write_text(text)
    found = fault("native.yaml")
    assert (found.code, str(found.span), found.message) == (code, place, message)


@pytest.mark.parametrize("text", ["- op: f\n", "- func: aten::f\n  namespace: edge\n  inherits: aten::f\n"])
def test_what_executorch_only_names_has_no_schema(folder, text):
    (folder / "functions.yaml").write_text(text)
    f = read_side("functions.yaml").operators["aten::f"]
    assert (f.schema, f.fault, f.span().line) == (None, None, 1)


def test_a_fault_of_an_included_file_leaves_what_the_others_say(folder):
    (folder / "more.yaml").write_text(
        'version: 1\noperators:\n  - schema: "m::g(Tensr x) -> Tensor"\n  - schema: "m::h(Tensor x) -> ()"\n'
    )
    side = read_side("sub/registry.yaml")
    assert {name: o.fault and o.fault.message for name, o in side.operators.items()} == {
        "d::f": None,
        "m::g": "unknown type `Tensr`",
        "m::h": "unknown type `Tensr`",  # the file is disabled
    }
    assert side.hidden is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("include: [../more.yaml]", "include: [../more.yaml, ../gone.yaml]"),
        ("include: [../more.yaml]", "include: [/etc/hosts, ../more.yaml]"),
        ("include: [../more.yaml]", "include: ../more.yaml"),
        ('  - schema: "d::f', '  - 5\n  - schema: "d::f'),
        ('  - schema: "d::f', '  - summary: s\n  - schema: "d::f'),
    ],
)
def test_what_cannot_be_seen_at_all_is_hidden(folder, old, new):
    path = folder / "sub" / "registry.yaml"
    path.write_text(MANIFEST.replace(old, new))
    side = read_side("sub/registry.yaml")
    assert side.hidden in side.faults
    assert side.operators["d::f"].fault is None


def test_a_faulty_kernel_or_case_takes_no_key_away(folder):
    path = folder / "sub" / "registry.yaml"
    path.write_text(MANIFEST.replace("CUDA: [k.py:g, k.py:h]}", "CUDA: {kernel: 3}}\n    cases: [{nam: x}]"))
    side = read_side("sub/registry.yaml")
    assert side.faults
    assert {key: str(span) for key, span in side.operators["d::f"].kernels.items()} == {
        "CPU": "sub/registry.yaml:5:15",
        "CUDA": "sub/registry.yaml:5:28",
    }
    assert (side.operators["d::f"].fault, side.hidden) == (None, None)


def test_standard_input_is_a_side(folder, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MANIFEST.replace("../", "").encode())))
    side = read_side("-")
    assert list(side.operators) == ["d::f", "m::g"]
    assert str(side.operators["d::f"].span()) == "<stdin>:4:13"


def test_a_missing_file_cannot_be_read(folder):
    found = fault("nowhere.yaml")
    assert (found.code, found.message) == ("C10E101", "manifest `nowhere.yaml` does not exist")
    assert found.help == "name a file, `-`, or `REV:path` with the path from the top of the git repository"


def test_a_revision_is_read_from_git_with_its_includes(repository):
    side = read_side("HEAD:sub/registry.yaml")
    assert list(side.operators) == ["d::f", "m::g"]
    assert str(side.operators["d::f"].span()) == "HEAD:sub/registry.yaml:4:13"
    assert str(side.operators["m::g"].span()) == "HEAD:more.yaml:3:13"


def test_a_path_with_a_dot_counts_from_this_folder(repository, monkeypatch):
    monkeypatch.chdir(repository / "sub")
    side = read_side("HEAD:./registry.yaml")
    assert str(side.operators["d::f"].span()) == "HEAD:./registry.yaml:4:13"
    assert str(side.operators["m::g"].span()) == "HEAD:../more.yaml:3:13"


def test_a_file_whose_name_has_a_colon_wins_over_a_revision(repository):
    (repository / "HEAD:more.yaml").write_text('version: 1\noperators:\n  - schema: "x::y(Tensor x) -> ()"\n')
    assert list(read_side("HEAD:more.yaml").operators) == ["x::y"]


def test_a_link_that_is_committed_is_named_as_one(folder, repository_of):
    (folder / "sub" / "link.yaml").symlink_to("../more.yaml")
    repository_of(folder)
    found = fault("HEAD:sub/link.yaml")
    assert (found.code, found.message) == (
        "C10E101",
        "`HEAD:sub/link.yaml` is no manifest, but the text `../more.yaml`",
    )
    assert found.help == "name the file itself, where this is a symbolic link: none is followed in git"


def test_the_index_is_read_too(repository):
    assert list(read_side(":more.yaml").operators) == ["m::g"]


def test_an_include_that_git_does_not_have_says_what_to_do_about_it(folder, repository_of):
    (folder / "sub" / "registry.yaml").write_text(MANIFEST.replace("more", "gone"))
    repository_of(folder)
    side = read_side("HEAD:sub/registry.yaml")
    (found,) = side.faults
    assert side.hidden is found
    assert (found.code, str(found.span)) == ("C10E101", "HEAD:sub/registry.yaml:2:11")
    assert found.help == "write the path of a manifest that is there, from the folder of this one"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nope:more.yaml", "invalid object name 'nope'."),
        ("HEAD:nope.yaml", "path 'nope.yaml' does not exist in 'HEAD'"),
        ("HEAD:sub", "it is a folder"),
    ],
)
def test_what_git_does_not_have_cannot_be_read(repository, text, reason):
    found = fault(text)
    assert found.code == "C10E101"
    assert found.message == f"`{text}` is no file that exists, nor one in git: {reason}"
    assert found.help


def test_a_name_is_never_an_option_of_git(repository):
    assert fault("--output=pwned:x").message.startswith("`--output=pwned:x` is no file that exists, nor one")
    assert not (repository / "pwned:x").exists()


def test_a_committed_file_that_is_no_text_is_named(repository):
    found = fault("HEAD:bad.yaml")
    assert (found.code, found.message) == ("C10E102", "byte 0xff is not UTF-8 text")
    assert str(found.span) == "HEAD:bad.yaml:1:10"


def test_without_git_a_revision_cannot_be_read(folder, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    assert fault("HEAD:more.yaml").message == (
        "`HEAD:more.yaml` is no file that exists, and git is not installed"
    )
