"""From a tensor to its dispatch key, without importing any array library.

A Python type resolves once, to a key or, where the key depends on the value
(torch and jax tensors may live anywhere), to a function of the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from c10cli.arrays.keys import DispatchKey, unknown_key
from c10cli.arrays.library import Resolution, find_type, is_told_apart, library_for, remember
from c10cli.describe import callable_name, describe
from c10cli.errors import ArgumentError, Diagnostic, DispatchError, RegistrationError

# Types by identity, which no metaclass can change.
_taught: dict[int, tuple[type, Resolution]] = {}
_listeners: list[Callable[[], None]] = []
# Replaced, not cleared, when a type is taught: what is being resolved just
# then goes into the old one.
_resolved: dict[int, tuple[type, Resolution | None]] = {}


def register_tensor_type(
    tensor_type: type, key: DispatchKey | str | Callable[[Any], DispatchKey | str]
) -> None:
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
    resolution = key if isinstance(key, DispatchKey) else _checked(tensor_type, key)
    _taught[id(tensor_type)] = tensor_type, resolution
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
    found = resolved.get(id(tensor_type))
    if found is None:
        taught = next((_taught[id(base)] for base in tensor_type.__mro__ if id(base) in _taught), None)
        found = tensor_type, taught[1] if taught else find_type(tensor_type)[1]
        remember(resolved, id(tensor_type), found)
    return found[1]


def key_of(value: object) -> DispatchKey | None:
    """The dispatch key of *value*, or None where it is no known tensor."""
    resolution = resolve_type(type(value))
    if resolution is None or isinstance(resolution, DispatchKey):
        return resolution
    return resolution(value)


def placed_key(tensor: Any) -> DispatchKey | None:
    """The key of *tensor*; None also where it has none yet, as in a trace of jax."""
    try:
        return key_of(tensor)
    except ArgumentError:
        return None


def fault_of(tensor: Any) -> tuple[str, str]:
    """What the elements of a tensor are that no kernel can see, and what to pass instead; empty if taught.

    A call looks at types alone, because it is to be fast; a checked one looks at this, too.
    """
    fault = library_for(tensor).fault(tensor)
    is_taught = fault[0] and any(id(base) in _taught for base in type(tensor).__mro__)
    return ("", "") if is_taught else fault


def is_tensor(value: object) -> bool:
    """True where the type of *value* is a known tensor type."""
    return resolve_type(type(value)) is not None


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Whether *value* is a dictionary or the like, whatever its type does when it is looked up."""
    return is_told_apart(type(value)) and isinstance(value, Mapping)


def tensors_of(value: Any) -> list[Any]:
    """The tensors in an argument or a result: itself, or those of its lists and dictionaries."""
    if is_tensor(value):
        return [value]
    if is_mapping(value):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        return []
    return [tensor for element in value for tensor in tensors_of(element)]


def _checked(tensor_type: type, function: Callable[[Any], object]) -> Callable[[Any], DispatchKey]:
    """*function*, with texts taken for keys: a user may return ``"CPU"``."""

    def key(value: object) -> DispatchKey:
        found = function(value)
        if isinstance(found, DispatchKey):
            return found
        if isinstance(found, str) and found in DispatchKey.known_names():
            return DispatchKey(found)
        name = f"{tensor_type.__module__}.{tensor_type.__qualname__}"
        who = f"`{callable_name(function)}`, the key function of tensor type `{name}`,"
        gave = f"`{found}`" if isinstance(found, str) else describe(found)
        told = unknown_key(found, "return a DispatchKey, or the name of one")
        told = replace(told, message=f"{who} gave {gave}, which is no dispatch key")
        raise DispatchError(told, tensor_type=tensor_type, dispatch_key=found)

    return key
