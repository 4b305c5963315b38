"""Facts of the machine that a result depends on, and the peaks it was seen to reach."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from c10cli.bench.clock import ClockQuality, measure_clock
from c10cli.files import git

# Variables that decide how many threads run, or which code.
_VARIABLES: Final = re.compile(
    "(C10|NUMBA|OMP|TRITON|JAX|XLA)_|CUDA_VISIBLE|(MKL|OPENBLAS)_NUM|PYTHON(HASHSEED|MALLOC|_JIT|_GIL)"
)


@dataclass(frozen=True, slots=True)
class Commit:
    """The git commit of a folder, its time as ISO 8601, and whether tracked files differ from it."""

    id: str
    time: str
    branch: str
    dirty: bool


@dataclass(frozen=True, slots=True)
class Peaks:
    """The highest rates this machine reached in short probes, on the CPU.

    Args:
        copies: footprint in bytes and bytes per second, read plus written, of
            copies of several sizes, smallest first: caches make small ones faster.
            By one thread, or by all that may run here, whichever is faster.
        matmul_flops_per_s: a float32 matrix product.
    """

    copies: tuple[tuple[int, float], ...]
    matmul_flops_per_s: float

    def __post_init__(self) -> None:
        if not min((self.matmul_flops_per_s, *(rate for _, rate in self.copies)), default=0) > 0:
            raise ValueError("peaks without a rate")

    def percent(self, *, bytes_moved: float | None, flops: float | None, time_s: float) -> float | None:
        """The time these peaks would need, in per cent of *time_s*; None without bytes and flops.

        Bytes are compared with the best of the copies that are as large, or larger.
        """
        if bytes_moved is None and flops is None:
            return None
        moved = bytes_moved or 0.0
        smaller = sum(footprint <= moved for footprint, _ in self.copies)
        rate = max(rate for _, rate in self.copies[max(0, smaller - 1) :])
        return 100 * max(moved / rate, (flops or 0.0) / self.matmul_flops_per_s) / time_s

    def best_of(self, other: Peaks | None) -> Peaks:
        """The higher of the rates of two rounds of probes: a busy machine only lowers them."""
        if other is None or [size for size, _ in self.copies] != [size for size, _ in other.copies]:
            return self  # there is none, or it is of another version
        copies = tuple(
            (size, max(rate, again))
            for (size, rate), (_, again) in zip(self.copies, other.copies, strict=True)
        )
        return Peaks(copies, max(self.matmul_flops_per_s, other.matmul_flops_per_s))


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine and the programs of a run.

    The host's name is not among the facts: results are passed on.

    Args:
        cpus: how many CPUs this process may use; `cores` are those that exist.
        governor: of the frequency; like `turbo`, ``on`` or ``off``, empty where it cannot be read.
        load: load average over 1, 5 and 15 minutes; empty where the system has none.
    """

    python: str
    implementation: str
    system: str
    release: str
    machine: str
    cpu_model: str
    cores: int
    cpus: int
    governor: str = ""
    turbo: str = ""
    load: tuple[float, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    commit: Commit | None = None
    clock: ClockQuality | None = None
    peaks: Peaks | None = None


def read_environment(folder: Path, packages: Iterable[str] = ()) -> Environment:
    """The facts as they are now, the commit being that of *folder*; without peaks.

    Args:
        packages: those whose versions are facts of the run, as far as they are installed.
    """
    return Environment(
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        system=platform.system(),
        release=platform.release(),
        machine=platform.machine(),
        cpu_model=_cpu_model(),
        cores=os.cpu_count() or 1,
        cpus=len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1,
        governor=_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        turbo=_turbo(),
        load=read_load(),
        packages=_versions({"numpy", *packages}),
        variables={name: os.environ[name] for name in sorted(os.environ) if _VARIABLES.match(name)},
        commit=read_commit(folder),
        clock=measure_clock(),
    )


def read_load() -> tuple[float, ...]:
    """The load averages over 1, 5 and 15 minutes; empty where the system has none."""
    try:
        return os.getloadavg()
    except (AttributeError, OSError):  # Windows; a container without /proc
        return ()


def _read(path: str) -> str:
    """The text of a file of the system; empty where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _cpu_model(cpuinfo: str = "/proc/cpuinfo") -> str:
    for line in _read(cpuinfo).splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return platform.processor() or platform.machine()


def _turbo() -> str:
    boost = _read("/sys/devices/system/cpu/cpufreq/boost")
    no_turbo = _read("/sys/devices/system/cpu/intel_pstate/no_turbo")
    return {("1", ""): "on", ("0", ""): "off", ("", "0"): "on", ("", "1"): "off"}.get((boost, no_turbo), "")


def _versions(packages: Iterable[str]) -> dict[str, str]:
    found = {}
    for package in sorted(packages):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def read_commit(folder: Path) -> Commit | None:
    """The git commit that *folder* is at; None outside a repository or without git."""
    head = _git(folder, "log", "-1", "--format=%H%n%cI")
    if head is None:
        return None
    identity, time = head.split("\n")[:2]
    branch = _git(folder, "rev-parse", "--abbrev-ref", "HEAD") or ""
    return Commit(identity, time, branch, dirty=_has_changes(folder))


def _has_changes(folder: Path) -> bool:
    """Whether a file that git tracks has changed; without the filters that its configuration names."""
    filters = (_git(folder, "config", "--name-only", "--get-regexp", r"^filter\.") or "").splitlines()
    if any("=" in name for name in filters):  # which cannot be set to nothing
        return True
    unset = [word for name in filters for word in ("-c", f"{name}=")]
    return bool(
        _git(folder, *unset, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
    )


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = git("-C", str(folder), *arguments, timeout_s=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


def max_rss_bytes() -> int | None:
    """The most memory this process has held so far; None where the system does not say."""
    # Linux first by /proc: getrusage there also counts what a process held before it became this one.
    for line in _read("/proc/self/status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    if sys.platform == "win32":
        return None
    import resource

    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
