"""What this machine has for each dispatch key: a device, and a library that makes its arrays."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from c10cli.arrays.dtypes import LIBRARIES as LIBRARIES
from c10cli.arrays.keys import DispatchKey


@dataclass(frozen=True, slots=True)
class Device:
    """Whether tensors of a key can be made here.

    Args:
        library: the package that makes them; empty where there is none.
        reason: why none can be made; empty where they can.
        help: what to do about that here; empty where only another machine helps.
    """

    dispatch_key: str
    library: str = ""
    reason: str = ""
    help: str = ""

    @property
    def available(self) -> bool:
        """True where tensors of the key can be made and kernels run on them."""
        return not self.reason


def device_of(dispatch_key: DispatchKey | str, library: str = "") -> Device:
    """What this machine has for *dispatch_key*; asked once per process.

    Args:
        library: one of `LIBRARIES`, which then makes the arrays; empty: the
            one that is usual for the key.
    """
    return _device_of(DispatchKey(dispatch_key).name, library)


@cache
def _device_of(name: str, library: str) -> Device:
    probe = _PROBES.get(name)
    if probe is None:
        return Device(name, reason=f"c10cli makes no {name} tensors")
    if library:
        reason = _reason_against(name, library)
        return Device(name, library, reason) if reason or library != "jax" else _of_jax(name)
    library, reason = probe()
    return Device(name, library, reason)


# Whose arrays can be of a key.
_MAKERS: dict[str, tuple[str, ...]] = {
    "CPU": ("numpy", "torch", "jax"),
    "SparseCPU": ("scipy", "torch", "jax"),
    "CUDA": ("torch", "cupy", "jax"),
}


def _reason_against(name: str, library: str) -> str:
    """Why *library* can make no tensor of the key *name* here, or the empty string."""
    if library not in _MAKERS[name]:
        return f"`{library}` has no {name} arrays"
    reason = cuda_driver_reason() if name == "CUDA" else ""
    return reason or ("" if is_installed(library) else f"package `{library}` is not installed")


# What jax calls the platforms of a key.
_JAX_PLATFORMS: dict[str, tuple[str, ...]] = {"CPU": ("cpu",), "SparseCPU": ("cpu",), "CUDA": ("cuda", "gpu")}


def _of_jax(name: str) -> Device:
    """What jax has for the key *name*, unless it is told to leave that out.

    Asked of the environment, which answers without importing jax; once it is
    imported, of jax, whose settings the program may have changed.
    """
    config = getattr(sys.modules.get("jax"), "config", None)
    told = getattr(config, "jax_platforms", None) if config is not None else os.environ.get("JAX_PLATFORMS")
    wanted = _JAX_PLATFORMS[name]
    if not told or any(platform in wanted for platform in str(told).split(",")):
        return Device(name, "jax")
    reason = f"JAX_PLATFORMS leaves out {'CUDA' if name == 'CUDA' else 'the CPU'}"
    return Device(name, "jax", reason, f"add `{wanted[0]}` to JAX_PLATFORMS, after a comma, or unset it")


def is_installed(package: str) -> bool:
    """Whether *package*, a top-level name, can be imported; it is not."""
    try:
        return package in sys.modules or importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # a dotted name without its parent; a module without a spec
        return False


def _cpu() -> tuple[str, str]:
    return "numpy", ""


def _sparse_cpu() -> tuple[str, str]:
    return ("scipy", "") if is_installed("scipy") else ("", "package `scipy` is not installed")


def _cuda() -> tuple[str, str]:
    reason = cuda_driver_reason()
    if reason:
        return "", reason
    for library in ("torch", "cupy"):
        if is_installed(library):
            return library, ""
    return "", "no library for CUDA arrays: neither `torch` nor `cupy` is installed"


def cuda_driver_reason() -> str:
    """Why no CUDA kernel can run here, or the empty string; asks the driver itself."""
    import ctypes  # slow to import, and few commands ask

    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(name)
    except OSError:
        return "no CUDA driver found"
    status = int(driver.cuInit(0))
    if status:
        return f"the CUDA driver does not start (cuInit gives {status})"
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    return "" if count.value else "the CUDA driver finds no device"


def synchronizer(device: Device) -> Callable[[], object] | None:
    """What waits until a device has done all it was asked to; None for the CPU, see `waiter`."""
    if device.dispatch_key != "CUDA":
        return None
    if device.library == "jax":
        return jax_barrier("cuda")
    if device.library == "torch":
        import torch

        wait: Callable[[], object] = torch.cuda.synchronize
    else:
        import cupy

        wait = cupy.cuda.runtime.deviceSynchronize
    return wait


def jax_barrier(platform: str) -> Callable[[], object]:
    """A little program at the end of the queue of jax's first device of *platform*: jax has nothing else."""
    import jax

    last = jax.jit(lambda x: x + 1)
    one = jax.device_put(1, jax.devices(platform)[0])

    def wait() -> None:
        last(one).block_until_ready()

    wait()  # which compiles it
    return wait


def waiter(device: Device) -> Callable[[object], object] | None:
    """What waits until all that a call on the CPU gave is computed; None where calls return when done.

    jax gives its results before it has computed them, and not one after the other.
    """
    if device.library != "jax" or device.dispatch_key == "CUDA":
        return None
    import jax

    wait_for_all: Any = jax.block_until_ready

    def wait(result: Any) -> None:
        if hasattr(result, "block_until_ready"):
            result.block_until_ready()  # a third of what the general one costs
        else:
            wait_for_all(result)

    return wait


_PROBES: dict[str, Callable[[], tuple[str, str]]] = {"CPU": _cpu, "SparseCPU": _sparse_cpu, "CUDA": _cuda}
