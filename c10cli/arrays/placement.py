"""Arrays moved between NumPy and the library of a dispatch key."""

from __future__ import annotations

from typing import Any

from c10cli.arrays.devices import Device, device_of
from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import Array, library_for, load_library
from c10cli.arrays.tensor_types import key_of
from c10cli.describe import describe, error_text
from c10cli.errors import ArgumentError, C10Error, Diagnostic, DispatchError


def place(array: Array, dispatch_key: DispatchKey | str, library: str = "") -> Any:
    """*array* as a tensor of *dispatch_key*; on the CPU it shares the memory where that is possible.

    Args:
        library: whose tensor it becomes; empty: the one this machine has for the key.

    Raises:
        DispatchError: C10E607, this machine can make none, with the reason.
        ArgumentError: C10E405, the library makes none of such an array.
    """
    device = device_of(dispatch_key, library)
    if not device.available:
        todo = device.help or "run on a machine that has the device, or choose another key"
        raise _not_here(device, device.reason, todo)
    try:
        return load_library(device.library).make(array, DispatchKey(dispatch_key))
    except (C10Error, MemoryError):
        raise
    except Exception as error:  # whatever a library raises when it does not load, start or take the array
        raise _not_made(device, array, error) from error


def _not_made(device: Device, array: Array, error: Exception) -> DispatchError:
    """What to tell of *error*, which the making of *array* ended with: is it the array, or any?"""
    import numpy as np

    why = f"{type(error).__name__}: {_first_line(error)}"
    try:
        load_library(device.library).make(np.zeros((1, 1), np.float32), DispatchKey(device.dispatch_key))
    except Exception:  # noqa: BLE001 - as before, which is told
        return _not_here(device, why, f"make `{device.library}` work here, or choose another key")
    fact = f"{device.library} makes no {device.dispatch_key} array of {describe(array)}"
    return ArgumentError(Diagnostic("C10E405", f"{fact}: {why}", help="choose another shape or dtype"))


def _not_here(device: Device, reason: str, todo: str) -> DispatchError:
    key = device.dispatch_key
    diagnostic = Diagnostic("C10E607", f"no {key} tensor can be made here: {reason}", help=todo)
    return DispatchError(diagnostic, dispatch_key=key)


def _first_line(error: Exception) -> str:
    """What *error* says before the page that torch and jax go on for."""
    return error_text(error).partition("\n")[0] or "no message"


def to_numpy(tensor: Any) -> Array:
    """*tensor* in host memory as a plain NumPy array; a view where that is possible.

    Floats that NumPy does not have, such as torch's bfloat16, come as those of
    ml_dtypes, or as float32 where that is not installed, as quantized ones do;
    jax's random keys as the integers below them.
    A subclass of NumPy's array comes as the array below it: what the subclass
    says of its elements, or how it compares them, is left out.

    What gives its contents by ``__dlpack__`` alone, and only once, is used up.

    Raises:
        ArgumentError: C10E408, nothing known turns *tensor* into an array.
    """
    try:
        return library_for(tensor).read(tensor)
    except Exception as error:  # a tensor of any library may run any code when it is read
        name = f"{type(tensor).__module__}.{type(tensor).__qualname__}"
        fact = f"a `{name}` cannot be read as an array: {_first_line(error)}"
        raise ArgumentError(Diagnostic("C10E408", fact), tensor_type=type(tensor)) from error


def overwrite(tensor: Any, array: Array) -> bool:
    """Whether the contents of *array* could be put into *tensor*, in place, and now are there.

    Raises:
        DispatchError, ArgumentError: as `place`.
    """
    library, key = library_for(tensor), key_of(tensor)
    if key is None or key.dense is not key or library.is_immutable:
        return False
    contents = place(array, key, library.name)
    try:
        library.write(tensor, contents)
    except Exception:  # noqa: BLE001 - of a tensor that is read-only, or whatever its own code raises
        return False
    return True
