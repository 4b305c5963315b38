"""Facts of the machine that a result depends on, and the peaks it was seen to reach."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from c10cli.bench.clock import SYSTEM_CLOCK, Clock, ClockQuality, measure_clock

__all__ = [
    "Commit",
    "Environment",
    "Peaks",
    "max_rss_bytes",
    "measure_peaks",
    "measure_rate",
    "read_commit",
    "read_environment",
    "read_load",
]

# Named in a result if they are loaded: their versions change its times.
_PACKAGES: Final = ("numpy", "numba", "scipy", "torch", "cupy", "triton", "jax")
# Variables that decide how many threads run, or which code.
_VARIABLE_PREFIXES: Final = (
    "C10_",
    "NUMBA_",
    "OMP_",
    "TRITON_",
    "CUDA_VISIBLE",
    "MKL_NUM",
    "OPENBLAS_NUM",
    "JAX_",
    "XLA_",
)
_VARIABLES: Final = ("PYTHONHASHSEED", "PYTHONMALLOC", "PYTHON_JIT", "PYTHON_GIL")

# In the caches of a core, around the size of the shared one, in memory.
_COPY_FOOTPRINTS: Final = (256 << 10, 8 << 20, 32 << 20, 128 << 20)
_MATMUL_SIZE: Final = 768
_PROBE_NS: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class Commit:
    """The git commit of a folder.

    Args:
        time: when it was committed, ISO 8601.
        dirty: whether tracked files differ from it.
    """

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

    @property
    def memory_bytes_per_s(self) -> float:
        """The rate of the largest copy."""
        return self.copies[-1][1]

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
        if other is None:
            return self
        copies = tuple(
            (size, max(rate, again))
            for (size, rate), (_, again) in zip(self.copies, other.copies, strict=True)
        )
        return Peaks(copies, max(self.matmul_flops_per_s, other.matmul_flops_per_s))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Peaks:
        """The peaks that `dataclasses.asdict` wrote."""
        return cls(tuple((size, rate) for size, rate in data["copies"]), data["matmul_flops_per_s"])


@dataclass(frozen=True, slots=True)
class Environment:
    """The machine and the programs of a run.

    The host's name is not among the facts: results are passed on.

    Args:
        cpus: how many CPUs this process may use; `cores` are those that exist.
        governor: the frequency governor; empty where it cannot be read.
        turbo: ``on``, ``off``, or empty where it cannot be read.
        load: load average over 1, 5 and 15 minutes; empty where the system has none.
        observers: tracers and profilers that were active.
    """

    python: str
    implementation: str
    compiler: str
    build: tuple[str, str]
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
    observers: tuple[str, ...] = ()
    commit: Commit | None = None
    clock: ClockQuality | None = None
    peaks: Peaks | None = None

    @property
    def fingerprint(self) -> str:
        """Equal for runs on machines of the same kind with the same Python."""
        facts = (self.cpu_model, self.cores, self.system, self.machine, self.implementation, self.python)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Environment:
        """The environment that `dataclasses.asdict` wrote."""
        facts = dict(data)
        facts["commit"] = Commit(**data["commit"]) if data.get("commit") else None
        facts["clock"] = ClockQuality(**data["clock"]) if data.get("clock") else None
        facts["peaks"] = Peaks.from_dict(data["peaks"]) if data.get("peaks") else None
        for name in ("build", "load", "observers"):
            facts[name] = tuple(facts.get(name, ()))
        return cls(**facts)


def read_environment(folder: Path, *, clock: Clock = SYSTEM_CLOCK) -> Environment:
    """The facts as they are now, the commit being that of *folder*; without peaks."""
    return Environment(
        python=platform.python_version(),
        implementation=platform.python_implementation(),
        compiler=platform.python_compiler(),
        build=platform.python_build(),
        system=platform.system(),
        release=platform.release(),
        machine=platform.machine(),
        cpu_model=_cpu_model(),
        cores=os.cpu_count() or 1,
        cpus=_usable_cpus(),
        governor=_read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        turbo=_turbo(),
        load=read_load(),
        packages=_loaded_packages(),
        variables=_relevant_variables(os.environ),
        commit=read_commit(folder),
        clock=measure_clock(clock),
    )


def read_load() -> tuple[float, ...]:
    """The load averages over 1, 5 and 15 minutes; empty where the system has none."""
    try:
        return os.getloadavg()
    except (AttributeError, OSError):  # Windows; a container without /proc
        return ()


def _read_line(path: str) -> str:
    """The first line of a file of the system, or the empty string."""
    try:
        return (Path(path).read_text(encoding="utf-8", errors="replace").splitlines() or [""])[0].strip()
    except OSError:
        return ""


def _cpu_model(cpuinfo: str = "/proc/cpuinfo") -> str:
    try:
        lines = Path(cpuinfo).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return platform.processor() or platform.machine()


def _usable_cpus() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _turbo() -> str:
    boost = _read_line("/sys/devices/system/cpu/cpufreq/boost")
    no_turbo = _read_line("/sys/devices/system/cpu/intel_pstate/no_turbo")
    return {("1", ""): "on", ("0", ""): "off", ("", "0"): "on", ("", "1"): "off"}.get((boost, no_turbo), "")


def _loaded_packages() -> dict[str, str]:
    found = [name for name in _PACKAGES if name in sys.modules]
    return {name: str(getattr(sys.modules[name], "__version__", "unknown")) for name in found}


def _relevant_variables(variables: Mapping[str, str]) -> dict[str, str]:
    return {
        name: variables[name]
        for name in sorted(variables)
        if name in _VARIABLES or name.startswith(_VARIABLE_PREFIXES)
    }


def read_commit(folder: Path) -> Commit | None:
    """The git commit that *folder* is at; None outside a repository or without git."""
    head = _git(folder, "log", "-1", "--format=%H%n%cI")
    if head is None:
        return None
    identity, time = head.split("\n")[:2]
    branch = _git(folder, "rev-parse", "--abbrev-ref", "HEAD") or ""
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return Commit(identity, time, branch, dirty=bool(changes))


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def max_rss_bytes() -> int | None:
    """The most memory this process has held so far; None where the system does not say."""
    # Linux first by /proc: getrusage there also counts what a process held before it became this one.
    peak = _status_bytes("/proc/self/status", "VmHWM")
    if peak is not None or sys.platform == "win32":
        return peak
    import resource

    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def _status_bytes(path: str, name: str) -> int | None:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    amounts = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return next((int(kilobytes) * 1024 for kilobytes in amounts), None)


def measure_peaks(clock: Clock = SYSTEM_CLOCK) -> Peaks:
    """The peaks of this machine, each the best of two rounds of probes of about 50 ms.

    Run it in a process of its own: it holds 128 MiB, which would count as
    the memory of a case measured in the same process.
    """
    threads = _usable_cpus()
    # Two rounds, since a neighbour can keep a CPU busy for all of one probe.
    rounds = [
        ([_measure_copy(f, threads, clock) for f in _COPY_FOOTPRINTS], _measure_matmul(_MATMUL_SIZE, clock))
        for _ in range(2)
    ]
    copies = map(max, *(rates for rates, _ in rounds))
    return Peaks(tuple(zip(_COPY_FOOTPRINTS, copies, strict=True)), max(flops for _, flops in rounds))


def _measure_copy(footprint_bytes: int, threads: int, clock: Clock) -> float:
    """The better rate of one thread and of *threads*, each with a part of the array."""
    import numpy as np

    source = np.ones(footprint_bytes // 8, dtype=np.float32)
    target = np.zeros_like(source)
    work = float(footprint_bytes)
    alone = measure_rate(lambda: np.copyto(target, source), work, clock=clock)
    if threads == 1:
        return alone
    parts = np.array_split(target, threads), np.array_split(source, threads)
    with ThreadPoolExecutor(threads) as pool:  # a copy holds no lock of the interpreter
        together = measure_rate(lambda: list(pool.map(np.copyto, *parts)), work, clock=clock)
    return max(alone, together)


def _measure_matmul(size: int, clock: Clock) -> float:
    import numpy as np

    left = np.random.default_rng(0).standard_normal((size, size), dtype=np.float32)
    out = np.empty_like(left)
    return measure_rate(lambda: np.matmul(left, left, out=out), 2.0 * size**3, clock=clock)


def measure_rate(
    function: Callable[[], object], work: float, *, time_ns: int = _PROBE_NS, clock: Clock = SYSTEM_CLOCK
) -> float:
    """The best *work* per second of *function*, called for *time_ns*; the first call is not counted."""
    function()
    best = elapsed = 0
    begin = clock()
    while not best or elapsed < time_ns:
        start = clock()
        function()
        end = clock()
        best = min(best or end - start, max(1, end - start))
        elapsed = end - begin
    return work * 1e9 / best
