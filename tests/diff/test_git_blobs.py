import subprocess

import pytest

from c10cli.diff.git_blobs import read_blob

IDENTITY = ("-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false")


def git(*words):
    subprocess.run(["git", *words], check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path, monkeypatch, needs_program):
    """A git repository with links of every kind in it; below it the current folder, ``top/``."""
    needs_program("git")
    folder = tmp_path / "top"
    (folder / "a" / "b").mkdir(parents=True)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(folder)
    (folder / "file").write_text("top")
    (folder / "a" / "file").write_text("in a")
    (folder / "a" / "b" / "file").write_text("in b")
    links = {"link": "a/b/file", "chain": "link", "to_b": "a/b", "one": "two", "two": "one"}
    for name, target in (links | {"gone": "nowhere", "out": "../../x", "root": "/x"}).items():
        (folder / name).symlink_to(target)
    git("init", "-q", ".")
    git("add", "-A")
    git(*IDENTITY, "commit", "-q", "-m", "m")
    return folder


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("HEAD:file", b"top"),
        ("HEAD:link", b"in b"),
        ("HEAD:chain", b"in b"),
        ("HEAD:to_b/file", b"in b"),
        ("HEAD:./link", b"in b"),
        (":file", b"top"),
    ],
)
def test_links_are_followed_to_the_end(folder, name, text):
    assert read_blob(name) == (text, None)


def test_what_is_above_a_folder_is_what_is_above_the_end_of_its_link(folder):
    assert read_blob("HEAD:file", "HEAD:to_b/../file") == (b"in a", None)


@pytest.mark.parametrize(
    ("name", "leads"),
    [
        ("one", "in a circle"),
        ("gone", "to nothing in git"),
        ("out", "out of the git repository"),
        ("root", "out of the git repository"),
    ],
)
def test_a_link_that_cannot_be_followed_says_where_it_leads(folder, name, leads):
    data, fault = read_blob(f"HEAD:{name}")
    assert (data, fault.code) == (b"", "C10E101")
    assert fault.message == f"`HEAD:{name}` is a symbolic link that leads {leads}"
    assert fault.help == "commit the file itself in place of the link"


@pytest.mark.parametrize("name", [":link", ":./link", ":to_b"])
def test_a_link_in_the_index_is_named_as_one(folder, name):
    _, fault = read_blob(name)
    assert fault.message == f"`{name}` is a symbolic link, which is not followed in the index"
    assert fault.help == "name the file that it leads to, or a revision"


@pytest.mark.parametrize("name", ["HEAD:two\nlines", "HEAD:no blob 5", "HEAD:file/x", "no:file", ":no"])
def test_what_is_not_there_is_told_in_gits_own_words(folder, name):
    data, fault = read_blob(name)
    assert (data, fault.code) == (b"", "C10E101")
    assert fault.message.startswith(f"`{name}` is no file that exists, nor one in git: ")


def test_a_name_of_two_lines_is_read_too(folder):
    (folder / "two\nlines").write_text("found")
    git("add", "-A")
    git(*IDENTITY, "commit", "-q", "-m", "m")
    assert read_blob("HEAD:two\nlines") == (b"found", None)
