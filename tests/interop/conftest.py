"""Programs that register something with the real torch, each in a process of its own: it cannot be undone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

# What every program finds imported.  Importing torch takes a second, so the programs are forked.
START = """
import gc, importlib, json, os, sys, threading, traceback, warnings
import numpy as np
import torch
from c10cli import load_registry
from c10cli.interop.torch_export import export_to_torch
from c10cli.manifest.discover import shipped_registry

def error(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__} {error}"
"""
SERVER = (
    START
    + """
for line in sys.stdin:
    program, output, ends = json.loads(line)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which are those of a BLAS that knows of forks
        child = os.fork()
    if child == 0:
        for stream in (1, 2):
            os.dup2(os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT), stream)
        os.chdir(os.path.dirname(output))
        try:
            exec(program)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        if not ends:  # as torch's own end takes most of a second
            sys.stdout.flush()
            os._exit(0)
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
)


@pytest.fixture(scope="session")
def server(torch: Any) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVER],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        yield process
        process.stdin.close()


@pytest.fixture
def child(server: subprocess.Popen[str], tmp_path: Path) -> Callable[..., str]:
    """`child(program)`: what a process prints that runs *program* in an empty folder.

    With ``ends=True`` its interpreter comes to its own end, too.
    """

    def run(program: str, *, ends: bool = False) -> str:
        assert server.stdin
        assert server.stdout
        output = tmp_path / "output"
        output.unlink(missing_ok=True)
        print(json.dumps([textwrap.dedent(program), str(output), ends]), file=server.stdin, flush=True)
        code = server.stdout.readline().strip()
        assert code == "0", f"exit code {code}\n{output.read_text()}"
        return output.read_text()

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
