"""Files are written whole or not at all; devices, FIFOs, links and modes stay what they are."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from c10cli import files
from c10cli.bench.environment import read_commit
from c10cli.diff.sides import read_side
from c10cli.errors import ManifestError, ReportError
from c10cli.files import is_stream, write_atomic


def test_an_atomic_write_replaces_the_file_and_leaves_no_other(tmp_path):
    path = tmp_path / "report.md"
    write_atomic(path, "old\n")
    write_atomic(path, "new µ\n")
    assert path.read_bytes() == "new µ\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_atomic_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.md"
    write_atomic(path, "old")

    def fail(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ReportError) as caught:
        write_atomic(path, "new")
    assert caught.value.code == "C10E701"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link_to_the_file_that_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "report.md", tmp_path / "report.md"
    link.symlink_to(target)
    for text in ("new", "newer"):  # at first the link leads to nothing
        write_atomic(link, text)
        assert link.is_symlink()
        assert target.read_text() == text


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(ReportError) as caught:
        write_atomic(tmp_path / "a", "new")
    assert caught.value.code == "C10E701"
    assert (tmp_path / "a").is_symlink()


def test_the_mode_of_a_file_is_kept(tmp_path):
    path = tmp_path / "report.md"
    path.write_text("old")
    path.chmod(0o640)
    write_atomic(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "report.md"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # whoever runs the tests may be allowed everything
    with pytest.raises(ReportError, match="Permission denied"):
        write_atomic(path, "new")
    assert path.read_text() == "old"


def test_a_fifo_is_written_to_and_stays(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    assert is_stream(path)
    write_atomic(path, b"x" * 300_000)  # more than a pipe takes at once
    reader.join()
    assert read == [b"x" * 300_000]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_device_is_written_to_and_stays():
    write_atomic(Path("/dev/null"), "text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_device_reached_by_a_link_is_not_replaced(tmp_path):
    link = tmp_path / "full"
    link.symlink_to("/dev/full")
    with pytest.raises(ReportError, match="No space left on device"):
        write_atomic(link, "text")
    assert stat.S_ISCHR(link.stat().st_mode)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ReportError) as caught:
        write_atomic(tmp_path, "text")
    assert caught.value.code == "C10E701"


def test_standard_output_that_goes_to_a_file_is_written_in_order(tmp_path):
    code = (
        "import sys; from pathlib import Path; from c10cli.files import write_atomic\n"
        "print('before'); write_atomic(Path('/dev/stdout'), 'between\\n'); print('after')"
    )
    out = tmp_path / "out.txt"
    with out.open("wb") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert out.read_text() == "before\nbetween\nafter\n"


@pytest.mark.parametrize("name", ["n" * 300, "null\0", "missing/report.md"])
def test_a_name_that_cannot_be_is_refused_as_such(tmp_path, name):
    with pytest.raises(ReportError) as caught:
        write_atomic(tmp_path / name, "text")
    assert caught.value.code == "C10E701"
    assert list(tmp_path.iterdir()) == []


def test_the_longest_name_that_can_be_is_written(tmp_path):
    path = tmp_path / ("n" * 255)
    write_atomic(path, "text")
    assert path.read_text() == "text"


def test_text_with_a_name_that_is_not_utf8_is_written(tmp_path):
    path = tmp_path / "report.md"
    write_atomic(path, f"of {os.fsdecode(b'caf' + bytes([0xE9]))}")
    assert path.read_bytes() == b"of caf\\udce9"


@pytest.fixture
def hostile(tmp_path, monkeypatch, needs_program):
    """A repository whose configuration names a program wherever git would run one; it leaves a mark."""
    needs_program("git")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    mark, program = tmp_path / "mark", tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 $@ >> {mark}\ncat 2> /dev/null < /dev/null\n")
    program.chmod(0o755)

    def run(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], check=True, capture_output=True)

    run("init", "-q", ".")
    Path("m.yaml").write_text("version: 1\noperators: []\n")
    Path(".gitattributes").write_text("*.yaml diff=d filter=f\n")
    run("add", "m.yaml", ".gitattributes")
    run("commit", "-q", "-m", "first")
    names = ["core.fsmonitor", "diff.external", "diff.d.textconv", "diff.d.command", "gpg.program"]
    for name in [
        *names,
        "filter.f.clean",
        "filter.f.smudge",
        "filter.f.process",
        "core.pager",
        "core.editor",
    ]:
        run("config", name, str(program))
    for name in ("log.showSignature", "filter.f.required"):
        run("config", name, "true")
    for hook in ("post-index-change", "reference-transaction", "post-checkout"):
        (tmp_path / ".git" / "hooks" / hook).write_text(program.read_text())
        (tmp_path / ".git" / "hooks" / hook).chmod(0o755)
    Path("m.yaml").write_text("version: 1\noperators: []\n")  # so that git has to look into it
    mark.unlink(missing_ok=True)
    return mark


def test_nothing_that_a_repository_names_is_run(hostile):
    assert read_commit(Path.cwd()).dirty is False
    assert read_side("HEAD:m.yaml").operators == {}
    for name in (":/first", "HEAD:", "HEAD:./"):
        with pytest.raises(ManifestError):
            read_side(name)
    assert not hostile.exists(), hostile.read_text()
    Path("m.yaml").write_text("version: 1\n")
    assert read_commit(Path.cwd()).dirty is True
    assert not hostile.exists(), hostile.read_text()


def test_git_locks_and_fetches_nothing(monkeypatch, tmp_path):
    (tmp_path / "git").write_text(
        "#!/bin/sh\necho $GIT_OPTIONAL_LOCKS $GIT_NO_LAZY_FETCH $GIT_ALLOW_PROTOCOL\n"
    )
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert files.git("status").stdout == b"0 1 none\n"
