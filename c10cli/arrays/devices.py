"""What this machine has for each dispatch key: a device, and a library that makes its arrays."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from c10cli.arrays.words import LIBRARIES as LIBRARIES
from c10cli.dispatch.keys import DispatchKey


@dataclass(frozen=True, slots=True)
class Device:
    """Whether tensors of a key can be made here.

    Args:
        library: the package that makes them; empty where there is none.
        reason: why none can be made; empty where they can.
    """

    dispatch_key: str
    library: str = ""
    reason: str = ""

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
        return Device(name, library, _reason_against(name, library))
    library, reason = probe()
    return Device(name, library, reason)


# Whose arrays can be of a key.
_MAKERS: dict[str, tuple[str, ...]] = {
    "CPU": ("numpy", "torch"),
    "SparseCPU": ("scipy", "torch"),
    "CUDA": ("torch", "cupy"),
}


def _reason_against(name: str, library: str) -> str:
    """Why *library* can make no tensor of the key *name* here, or the empty string."""
    if library not in _MAKERS[name]:
        return f"`{library}` has no {name} arrays"
    reason = cuda_driver_reason() if name == "CUDA" else ""
    return reason or ("" if is_installed(library) else f"package `{library}` is not installed")


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
    """What waits until the device has done all it was asked to; None where calls return when done."""
    if device.library == "torch":
        import torch

        wait: Callable[[], object] = torch.cuda.synchronize
    elif device.library == "cupy":
        import cupy

        wait = cupy.cuda.runtime.deviceSynchronize
    else:
        return None
    return wait


_PROBES: dict[str, Callable[[], tuple[str, str]]] = {
    "CPU": _cpu,
    "SparseCPU": _sparse_cpu,
    "CUDA": _cuda,
}
