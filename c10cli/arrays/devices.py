"""What this machine has for each dispatch key: a device, and a library that makes its arrays."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import TABLE, load_library


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
        library: one of the table, which then makes the arrays; empty: the one that is usual for the key.
    """
    return _device_of(DispatchKey(dispatch_key).name, library)


@cache
def _device_of(name: str, library: str) -> Device:
    makers = [known for known, row in TABLE.items() if name in row.makes]
    if not makers:
        return Device(name, reason=f"c10cli makes no {name} tensors")
    if library and library not in makers:
        return Device(name, library, f"`{library}` has no {name} arrays")
    no_driver = cuda_driver_reason() if name == "CUDA" else ""
    if no_driver:
        return Device(name, library, no_driver)
    wanted = [library] if library else [known for known in makers if name in TABLE[known].usual_for]
    found = next((package for package in wanted if is_installed(package)), "")
    if found:
        return Device(name, found, *load_library(found).reason_against(DispatchKey(name)))
    if len(wanted) == 1:
        return Device(name, library, f"package `{wanted[0]}` is not installed")
    names = " nor ".join(f"`{package}`" for package in wanted)
    return Device(name, reason=f"no library for {name} arrays: neither {names} is installed")


def is_installed(package: str) -> bool:
    """Whether *package* can be imported, for a dotted name its first part: nothing is imported for it."""
    top = package.partition(".")[0]
    try:
        return top in sys.modules or importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):  # a module without a spec
        return False


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
    return load_library(device.library).synchronizer(DispatchKey(device.dispatch_key))


def waiter(device: Device) -> Callable[[object], object] | None:
    """What waits until all that a call on the CPU gave is computed; None where calls return when done."""
    return load_library(device.library).waiter(DispatchKey(device.dispatch_key))
