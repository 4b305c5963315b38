"""The command, run in this process or in one of its own, in an empty folder and a clean environment."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from c10cli.cli.main import run

ROOT = Path(__file__).parents[2]
VARIABLES = ("C10_REGISTRY", "NO_COLOR", "FORCE_COLOR", "COLUMNS")


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty, with none of our variables set."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def c10(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """`c10(*words, stdin=b"")`, run in this process."""

    def call(*words: object, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = run([str(word) for word in words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def start_c10(folder: Path) -> Callable[..., subprocess.Popen[str]]:
    """`start_c10(*words, **settings)`, started as a process."""

    def start(*words: object, env: dict[str, str] | None = None, **settings: Any) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # What a shell starts in the background ignores interrupts, and so would the process.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(
                [sys.executable, "-m", "c10cli", *map(str, words)],
                env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
                **{"text": True, "encoding": "utf-8", "errors": "replace", **pipes, **settings},
            )
        finally:
            signal.signal(signal.SIGINT, before)

    return start


@pytest.fixture
def c10_process(start_c10: Callable[..., subprocess.Popen[str]]) -> Callable[..., Ran]:
    """`c10_process(*words, **settings)`, run to its end as a process."""

    def call(*words: object, **settings: Any) -> Ran:
        with start_c10(*words, **settings) as process:
            out, err = process.communicate(timeout=60)
        return Ran(process.returncode, out or "", err or "")

    return call


DEMO_KERNELS = '''
def double(x):
    """Twice *x*."""
    return x * 2


def triple(x):
    return x * 3


def add(x, y, *, alpha):
    """The sum, *y* scaled.

    More of it.
    """
    return x + alpha * y
'''

DEMO_REGISTRY = """\
version: 1
operators:
  - schema: "demo::double(Tensor x) -> Tensor"
    summary: Twice x.
    kernels:
      CPU:
        - {kernel: k.py:triple, name: odd, requires: [no_such_package]}
        - {kernel: k.py:double, name: plain}
      CUDA: {kernel: k.py:double, name: gpu}
    reference: k.py:double
    tolerance: {float32: {rtol: 1.0e-6, atol: 0.0}}
    cost: {bytes: "2 * nbytes(x)"}
    cases:
      - name: tiny
        sweep: {n: [4, 8]}
        dtypes: [float32]
        inputs: {x: "randn(n)"}
      - name: edge
        bench: false
        dtypes: [float32, float64]
        inputs: {x: "zeros(0)"}
  - schema: "demo::add(Tensor x, Tensor y, *, Scalar alpha=1) -> Tensor"
    kernels:
      CPU: k.py:add
"""


@pytest.fixture
def demo(folder: Path) -> Path:
    """A registry of two operators in the current folder."""
    (folder / "k.py").write_text(DEMO_KERNELS)
    path = folder / "registry.yaml"
    path.write_text(DEMO_REGISTRY)
    return path
