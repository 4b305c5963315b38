"""The real torch, in this process to read from and in child processes to register into."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def torch():
    """torch; without it the test is skipped, or fails where CI promised that everything is there."""
    if importlib.util.find_spec("torch") is None:
        if os.environ.get("C10_TESTS_REQUIRE_ALL") == "1":
            pytest.fail("torch is not installed, and C10_TESTS_REQUIRE_ALL is set")
        pytest.skip("torch is not installed")
    import torch

    return torch


@pytest.fixture
def child(tmp_path: Path) -> Callable[..., str]:
    """`child(program)`: what a new interpreter prints that runs *program* in an empty folder.

    A registration into torch cannot be undone, so each has a process of its own.
    """

    def run(program: str, *arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(program), *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def registry(tmp_path: Path) -> Callable[..., Path]:
    """`registry(manifest, kernels)`: the path of a manifest beside the file `k.py`."""

    def write(manifest: str, kernels: str = "") -> Path:
        (tmp_path / "k.py").write_text(textwrap.dedent(kernels), encoding="utf-8")
        path = tmp_path / "registry.yaml"
        path.write_text(f"version: 1\noperators:\n{textwrap.indent(textwrap.dedent(manifest), '  ')}")
        return path

    return write
