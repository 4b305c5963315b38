"""jax's arrays, which nobody can write to, on whatever device; those that it traces; its sparse ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from c10cli.arrays.keys import KEY_OF_DEVICE, DispatchKey
from c10cli.arrays.library import Library, Shortcut, key_of_device, no_key_of_device, sparse_key
from c10cli.arrays.tensor_types import key_of, resolve_type
from c10cli.describe import describe
from c10cli.errors import ArgumentError, Diagnostic


def _key(value: Any) -> DispatchKey:
    """The key of the devices that hold an array: they are of one platform, however it is sharded.

    Asked of its sharding, which a deleted (donated) array still has.
    """
    sharding = value.sharding
    device = next(iter(sharding.device_set))
    platform = device.platform
    if platform == "gpu":  # told apart as jax does for DLPack
        version = device.client.platform_version
        platform = next((name for name in ("cuda", "rocm") if name in version), platform)
    key = KEY_OF_DEVICE.get(platform) or key_of_device(value, platform)
    if getattr(sharding, "_device", None) is device:
        _single.setdefault((key, type(sharding)), set()).add(device)
    return key


# By key and type of sharding, the devices of arrays that are on one alone: to ask such a
# sharding costs half of what its `device_set` costs, where it has this attribute.
_single: dict[tuple[DispatchKey, type], set[object]] = {}


def _key_of_sparse(value: Any) -> DispatchKey:
    dense = key_of(value.data)
    if dense is None:
        raise no_key_of_device(value, type(value.data).__qualname__)
    return sparse_key(value, dense)


def _key_of_traced(value: Any) -> DispatchKey:
    """The key of the array that jax.grad, jax.jvp or jax.vmap wrapped, where there is one.

    In jax.jit (and lax.scan, jax.eval_shape, shard_map ...) there is none: a
    function is traced once for all devices, and compiled for one later.  Any
    key would be a guess, and the kernel part of a program that may well run
    elsewhere; so a program says itself whose kernels are traced.
    """
    held = value
    while held is not None and resolve_type(type(held)) is _key_of_traced:
        held = getattr(held, "primal", getattr(held, "val", None))
    key = None if held is None else key_of(held)
    if key is not None:
        return key
    raise ArgumentError(
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


class _Jax(Library):
    is_immutable = True

    def shortcuts(self, key_of: Callable[[Any], DispatchKey]) -> tuple[Shortcut, ...]:
        if key_of is not _key:
            return ()
        test = "(c10_sharding := {tensor}.sharding).__class__ is {0} and c10_sharding._device in {1}"
        return tuple(Shortcut(key, test, (kind, devices)) for (key, kind), devices in _single.items())

    def reason_against(self, key: DispatchKey) -> tuple[str, str]:
        # The environment answers without importing jax; once it is imported, jax
        # itself, whose settings the program may have changed.
        config = getattr(sys.modules.get("jax"), "config", None)
        told = os.environ.get("JAX_PLATFORMS") if config is None else getattr(config, "jax_platforms", None)
        on_cuda = key is DispatchKey.CUDA
        wanted = ("cuda", "gpu") if on_cuda else ("cpu",)
        if not told or not set(wanted).isdisjoint(str(told).split(",")):
            return "", ""
        reason = f"JAX_PLATFORMS leaves out {'CUDA' if on_cuda else 'the CPU'}"
        return reason, f"add `{wanted[0]}` to JAX_PLATFORMS, after a comma, or unset it"

    def make(self, array: Any, key: DispatchKey) -> Any:
        """A copy of *array*: jax takes what it is given for unchangeable."""
        import jax

        device = jax.devices("cuda" if key is DispatchKey.CUDA else "cpu")[0]
        try:
            made = jax.numpy.array(array, device=device)
        except TypeError as error:
            fact = f"jax has no dtype for an array of {array.dtype.name}"
            raise ArgumentError(Diagnostic("C10E405", fact, help="choose another dtype")) from error
        if made.dtype != array.dtype:
            fact = f"jax makes {made.dtype.name} of an array of {array.dtype.name}"
            todo = "set JAX_ENABLE_X64=1 in the environment, or choose another dtype"
            raise ArgumentError(Diagnostic("C10E405", fact, help=todo))
        made = made.block_until_ready()
        if key is not DispatchKey.SparseCPU:
            return made
        from jax.experimental import sparse

        return sparse.BCOO.fromdense(made)

    def read(self, tensor: Any) -> Any:
        jax = sys.modules["jax"]
        if hasattr(tensor, "todense"):
            return np.asarray(tensor.todense())
        is_key = jax.dtypes.issubdtype(tensor.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(tensor) if is_key else tensor)

    def contents(self, tensor: Any) -> tuple[object, ...]:
        # Nothing can change it, but it may be given away.
        held = getattr(tensor, "data", tensor)
        return (getattr(held, "is_deleted", bool)(),)

    def synchronizer(self, key: DispatchKey) -> Callable[[], object] | None:
        """A little program at the end of the queue of the first device: jax has nothing else."""
        if key is not DispatchKey.CUDA:
            return None
        import jax

        last = jax.jit(lambda x: x + 1)
        one = jax.device_put(1, jax.devices("cuda")[0])

        def wait() -> None:
            last(one).block_until_ready()

        wait()  # which compiles it
        return wait

    def waiter(self, key: DispatchKey) -> Callable[[object], object] | None:
        """jax gives its results before it has computed them, and not one after the other."""
        if key is DispatchKey.CUDA:
            return None
        import jax

        wait_for_all: Any = jax.block_until_ready

        def wait(result: Any) -> None:
            if hasattr(result, "block_until_ready"):
                result.block_until_ready()  # a third of what the general one costs
            else:
                wait_for_all(result)

        return wait


LIBRARY = _Jax(
    "jax",
    {
        "ArrayImpl": _key,
        "Array": _key,  # of arrays of random keys, which are no ArrayImpl
        "jaxlib._jax.Array": _key,  # the same in jax 0.10
        "TypedNdArray": DispatchKey.CPU,  # as which jax.grad holds an array of NumPy
        "JAXSparse": _key_of_sparse,
        "Tracer": _key_of_traced,
    },
)
