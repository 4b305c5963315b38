"""From a tensor to its dispatch key, without importing any array library.

A Python type resolves once, to a key or, where the key depends on the value
(torch and jax tensors may live anywhere), to a function of the value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from c10cli.arrays.keys import DispatchKey
from c10cli.describe import callable_name, describe
from c10cli.errors import ArgumentError, Diagnostic, DispatchError, RegistrationError, did_you_mean

KeyFunction = Callable[[Any], DispatchKey]
Resolution = DispatchKey | KeyFunction

_taught: dict[type, Resolution] = {}
_listeners: list[Callable[[], None]] = []
# Replaced, not cleared, when a type is taught: what is being resolved just
# then goes into the old one.
_resolved: dict[type, Resolution | None] = {}
_MOST_REMEMBERED = 256


def register_tensor_type(tensor_type: type, key: DispatchKey | str | KeyFunction) -> None:
    """Teach that instances of *tensor_type* and its subclasses are tensors.

    Args:
        key: the dispatch key of every instance, or a function of an instance
            that gives it.

    Raises:
        RegistrationError: C10E309, *tensor_type* is no type or *key* no key.
        DispatchError: C10E108, there is no such key.

    >>> class Grid: pass
    >>> register_tensor_type(Grid, "CPU")
    >>> key_of(Grid())
    DispatchKey('CPU')
    """
    if not isinstance(tensor_type, type):
        raise _cannot_teach(f"{tensor_type!r} is no type", "pass the class of the tensors")
    if isinstance(key, str | DispatchKey):
        key = DispatchKey(key)
    elif not callable(key):
        raise _cannot_teach(f"{key!r} is neither a dispatch key nor a function", "pass a key such as `CPU`")
    global _resolved
    _taught[tensor_type] = key if isinstance(key, DispatchKey) else _checked(tensor_type, key)
    _resolved = {}
    for listener in _listeners:
        listener()


def _cannot_teach(fact: str, todo: str) -> RegistrationError:
    return RegistrationError(Diagnostic("C10E309", fact, place="register_tensor_type", help=todo))


def on_change(listener: Callable[[], None]) -> None:
    """Call *listener* after every `register_tensor_type`."""
    _listeners.append(listener)


def resolve_type(tensor_type: type) -> Resolution | None:
    """The key of *tensor_type*, a function of the value, or None for no tensor."""
    resolved = _resolved
    try:
        return resolved[tensor_type]
    except KeyError:
        resolution = _resolve(tensor_type)
        remember(resolved, tensor_type, resolution)
        return resolution


K = TypeVar("K")
V = TypeVar("V")


def remember(memory: dict[K, V], key: K, value: V) -> None:
    """Note *value* under *key*; only so many, so that types made by the thousand are not kept."""
    if len(memory) >= _MOST_REMEMBERED:
        memory.clear()
    memory[key] = value


def _resolve(tensor_type: type) -> Resolution | None:
    for base in tensor_type.__mro__:
        if base in _taught:
            return _taught[base]
    for base in tensor_type.__mro__:
        root = base.__module__.partition(".")[0] if isinstance(base.__module__, str) else ""
        resolution = _BUILT_IN.get((root, base.__qualname__))
        if resolution is not None:
            return resolution
    return _dlpack_key if hasattr(tensor_type, "__dlpack_device__") else None


def key_of(value: object) -> DispatchKey | None:
    """The dispatch key of *value*, or None where it is no known tensor."""
    resolution = resolve_type(type(value))
    if resolution is None or isinstance(resolution, DispatchKey):
        return resolution
    return resolution(value)


def is_tensor(value: object) -> bool:
    """True where the type of *value* is a known tensor type."""
    return resolve_type(type(value)) is not None


def tensors_of(value: Any) -> list[Any]:
    """The tensors in an argument or a result: itself, or those of its lists and dictionaries."""
    if is_tensor(value):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        return []
    return [tensor for element in value for tensor in tensors_of(element)]


def _checked(tensor_type: type, function: Callable[[Any], object]) -> KeyFunction:
    """*function*, with texts taken for keys: a user may return ``"CPU"``."""

    def key(value: object) -> DispatchKey:
        found = function(value)
        if isinstance(found, DispatchKey):
            return found
        if isinstance(found, str) and found in DispatchKey.known_names():
            return DispatchKey(found)
        raise _no_key(tensor_type, function, found)

    return key


def _no_key(tensor_type: type, function: object, found: object) -> DispatchError:
    known = DispatchKey.known_names()
    name = f"{tensor_type.__module__}.{tensor_type.__qualname__}"
    gave = f"`{found}`" if isinstance(found, str) else describe(found)
    who = f"`{callable_name(function)}`, the key function of tensor type `{name}`,"
    near = did_you_mean(found, known) if isinstance(found, str) else ""
    return DispatchError(
        Diagnostic(
            "C10E108",
            f"{who} gave {gave}, which is no dispatch key",
            notes=(f"the keys are {', '.join(known)}",),
            help=near or "return a DispatchKey, or the name of one",
        ),
        tensor_type=tensor_type,
        dispatch_key=found,
    )


# torch says "hip" through "cuda" and jax "gpu" for both, so ROCm is told apart by the library.
_KEY_OF_DEVICE = {
    "cpu": DispatchKey.CPU,
    "cuda": DispatchKey.CUDA,
    "hip": DispatchKey.HIP,
    "rocm": DispatchKey.HIP,
    "xla": DispatchKey.XLA,
    "tpu": DispatchKey.XLA,
    "mps": DispatchKey.MPS,
    "xpu": DispatchKey.XPU,
    "meta": DispatchKey.Meta,
}
_SPARSE = {DispatchKey.CPU: DispatchKey.SparseCPU, DispatchKey.CUDA: DispatchKey.SparseCUDA}


def _unknown_device(value: object, device: object) -> ArgumentError:
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    return ArgumentError(
        Diagnostic(
            "C10E408",
            f"a tensor of type `{name}` lives on device `{device}`, which has no dispatch key",
            help=f"teach the key with register_tensor_type({type(value).__qualname__}, FUNCTION)",
        ),
        tensor_type=type(value),
        device=device,
    )


def _torch_key(value: Any) -> DispatchKey:
    # is_cpu and is_cuda cost a tenth of device.type, and they are the common answers.
    if value.is_cpu:
        key = DispatchKey.CPU
    elif value.is_cuda:
        key = DispatchKey.HIP if sys.modules["torch"].version.hip else DispatchKey.CUDA
    else:
        device = value.device.type
        if device not in _KEY_OF_DEVICE:
            raise _unknown_device(value, device)
        key = _KEY_OF_DEVICE[device]
    if value.layout is sys.modules["torch"].strided:
        return key
    # Not every other layout is sparse: nested and mkldnn tensors have their own.
    return _sparse_key(value, key) if "sparse" in str(value.layout) else key


def _sparse_key(value: Any, dense: DispatchKey) -> DispatchKey:
    """The key of a sparse tensor where a dense one has *dense*; its kernels cannot read this one."""
    if dense is DispatchKey.Meta:  # without contents there is nothing to read
        return dense
    if dense not in _SPARSE:
        raise _unknown_device(value, f"sparse {dense.name}")
    return _SPARSE[dense]


def _jax_key(value: Any) -> DispatchKey:
    """The key of the devices that hold a jax array: they are of one platform, however it is sharded.

    Asked of its sharding, which a deleted (donated) array still has.
    """
    device = next(iter(value.sharding.device_set))
    platform = device.platform
    if platform == "gpu":  # told apart as jax does for DLPack
        version = device.client.platform_version
        platform = next((name for name in ("cuda", "rocm") if name in version), platform)
    key = _KEY_OF_DEVICE.get(platform)
    if key is None:
        raise _unknown_device(value, platform)
    return key


def _jax_sparse_key(value: Any) -> DispatchKey:
    dense = key_of(value.data)
    if dense is None:
        raise _unknown_device(value, type(value.data).__qualname__)
    return _sparse_key(value, dense)


def _jax_traced_key(value: Any) -> DispatchKey:
    """The key of the array that jax.grad, jax.jvp or jax.vmap wrapped, where there is one.

    In jax.jit (and lax.scan, jax.eval_shape, shard_map ...) there is none: a
    function is traced once for all devices, and compiled for one later.  Any
    key would be a guess, and the kernel part of a program that may well run
    elsewhere; so a program says itself whose kernels are traced.
    """
    held = value
    while held is not None and resolve_type(type(held)) is _jax_traced_key:
        held = getattr(held, "primal", getattr(held, "val", None))
    key = None if held is None else key_of(held)
    if key is None:
        raise _no_device_yet(value)
    return key


def _no_device_yet(value: object) -> ArgumentError:
    return ArgumentError(
        Diagnostic(
            "C10E408",
            f"{describe(value)}, an array that jax traces, is on no device yet, so it has no dispatch key",
            notes=(
                "jax.jit compiles for a device after the kernel is chosen,"
                " and a Python number under jax.grad is on none",
            ),
            help="call with arrays and outside jax.jit, or teach whose kernels it traces:"
            ' register_tensor_type(jax.core.Tracer, "CPU")',
        ),
        tensor_type=type(value),
    )


def _cupy_key(value: Any) -> DispatchKey:
    return DispatchKey.HIP if sys.modules["cupy"].cuda.runtime.is_hip else DispatchKey.CUDA


def _cupy_sparse_key(value: Any) -> DispatchKey:
    return _sparse_key(value, _cupy_key(value))


# Device types of the DLPack standard (dlpack.h).  Host memory that a device
# can also reach (3, 11) is still host memory.
_KEY_OF_DLPACK = {
    1: DispatchKey.CPU,
    2: DispatchKey.CUDA,
    3: DispatchKey.CPU,
    8: DispatchKey.MPS,
    10: DispatchKey.HIP,
    11: DispatchKey.CPU,
    13: DispatchKey.CUDA,
    14: DispatchKey.XPU,
}


def _dlpack_key(value: Any) -> DispatchKey:
    device = int(value.__dlpack_device__()[0])
    if device not in _KEY_OF_DLPACK:
        raise _unknown_device(value, f"DLPack {device}")
    return _KEY_OF_DLPACK[device]


_BUILT_IN: dict[tuple[str, str], Resolution] = {
    ("numpy", "ndarray"): DispatchKey.CPU,
    ("scipy", "_spbase"): DispatchKey.SparseCPU,
    ("scipy", "spmatrix"): DispatchKey.SparseCPU,
    ("cupy", "ndarray"): _cupy_key,
    ("cupyx", "_spbase"): _cupy_sparse_key,
    ("cupyx", "spmatrix"): _cupy_sparse_key,
    ("torch", "Tensor"): _torch_key,
    ("jax", "Tracer"): _jax_traced_key,
    ("jax", "JAXSparse"): _jax_sparse_key,
    ("jaxlib", "ArrayImpl"): _jax_key,
    ("jax", "Array"): _jax_key,  # of arrays of random keys, which are no ArrayImpl
    ("jax", "jaxlib._jax.Array"): _jax_key,  # the same in jax 0.10
}
