"""What the compiled CPU kernels share: compiling with a cache, and when to wake the threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numba
import numpy as np

from ._common import shown

# Note [A compiled kernel is one file]: numba's cache notices a change of the file that holds the
# cached function, and of no other. Device functions (such as an exponential) therefore stand in
# the file of their kernel, even where two kernels need the same one; shared, an edit would leave
# the other kernel running its old machine code, silently. For the same reason the options are
# literals at the function.

# One parallel launch at a time. A launch uses every core, so a second one wins nothing, and
# numba's fallback threading layer, workqueue, ends the process when two threads enter it.
_LAUNCH = threading.Lock()


def compiled(**options: object) -> Callable[[Callable], Callable]:
    """A decorator like ``numba.njit(cache=True)`` that leaves the cache where no folder is writable."""

    def decorate(function: Callable) -> Callable:
        # Cached code imports its module by name. The package that kernels are loaded under has one
        # name per loader, so each gets cache files of its own: numba names them after the qualname.
        function.__qualname__ = f"{function.__module__.replace('.', '_')}_{function.__qualname__}"
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError as error:
            if "no locator" not in str(error):
                raise
            return numba.njit(**options)(function)

    return decorate


def launch(serial: Callable, parallel: Callable, use_threads: bool, *args: object) -> None:
    """Run *serial*, or *parallel* where the work is worth waking the threads and there are several."""
    if not use_threads or numba.get_num_threads() == 1:
        serial(*args)
        return
    with _LAUNCH:
        parallel(*args)


def compiled_input(name: str, array: np.ndarray) -> np.ndarray:
    """*array* C-contiguous and in float32 or float64, which is what the compiled functions take."""
    if array.dtype.itemsize > 8:
        raise TypeError(f"{name} must be of at most 64 bits, got {shown(array)}")
    dtype = np.dtype(np.float32) if array.dtype.itemsize == 2 else array.dtype
    # The reshape undoes that ascontiguousarray makes a 0-d array 1-d.
    return np.ascontiguousarray(array, dtype=dtype).reshape(array.shape)
