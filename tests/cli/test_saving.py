import click
import pytest

from c10cli.cli.options import check_overwrite, sealed

OURS = sealed("version: 1\n", "c10 import").encode()


@pytest.mark.parametrize("content", [None, b"", OURS])
def test_what_is_not_there_is_empty_or_ours_may_be_written(tmp_path, content):
    path = tmp_path / "out.yaml"
    if content is not None:
        path.write_bytes(content)
    check_overwrite(path, "c10 import", force=False)


@pytest.mark.parametrize("content", [b"precious", b"x" * 5000 + b"c10 import", b"\xff", b"#\n" + OURS])
def test_anything_else_needs_force(tmp_path, content):
    path = tmp_path / "out.yaml"
    path.write_bytes(content)
    with pytest.raises(click.UsageError, match="was not written by c10 import"):
        check_overwrite(path, "c10 import", force=False)
    check_overwrite(path, "c10 import", force=True)


def test_a_device_is_nobodys_file():
    from pathlib import Path

    check_overwrite(Path("/dev/null"), "c10 import", force=False)
