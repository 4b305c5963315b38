"""Dispatch keys: why a kernel is chosen."""

from __future__ import annotations

import os
import threading
from typing import ClassVar

from c10cli.errors import Diagnostic, DispatchError, RegistrationError, did_you_mean

_BUILT_IN = ("Undefined", "CPU", "CUDA", "HIP", "SparseCPU", "SparseCUDA", "XLA", "MPS", "XPU", "Meta")


class DispatchKey:
    """One dispatch key; there is exactly one object per name, so ``is`` compares.

    ``DispatchKey("CPU")`` looks a key up, ``DispatchKey.register("MyNPU")``
    adds one.  Keys print as ``CPU[1]`` and sort by number.

    >>> DispatchKey("CPU") is DispatchKey.CPU
    True
    >>> str(DispatchKey.CUDA)
    'CUDA[2]'
    """

    __slots__ = ("name", "number")

    name: str
    number: int

    _by_name: ClassVar[dict[str, DispatchKey]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    Undefined: ClassVar[DispatchKey]
    CPU: ClassVar[DispatchKey]
    CUDA: ClassVar[DispatchKey]
    HIP: ClassVar[DispatchKey]
    SparseCPU: ClassVar[DispatchKey]
    SparseCUDA: ClassVar[DispatchKey]
    XLA: ClassVar[DispatchKey]
    MPS: ClassVar[DispatchKey]
    XPU: ClassVar[DispatchKey]
    Meta: ClassVar[DispatchKey]

    def __new__(cls, name: str | DispatchKey) -> DispatchKey:
        """The key called *name*.

        Raises:
            DispatchError: C10E108, with near names.
        """
        if isinstance(name, DispatchKey):
            return name
        key = cls._by_name.get(name) if isinstance(name, str) else None
        if key is None:
            raise DispatchError(unknown_key(name), dispatch_key=name)
        return key

    @classmethod
    def register(cls, name: str) -> DispatchKey:
        """The key called *name*, added if it is new."""
        if not (isinstance(name, str) and name.isidentifier()):
            fact = f"{name!r} cannot name a dispatch key"
            raise RegistrationError(
                Diagnostic("C10E108", fact, help="use a Python identifier, such as `MyNPU`"),
                dispatch_key=name,
            )
        with cls._lock:
            key = cls._by_name.get(name)
            if key is None:
                key = object.__new__(cls)
                key.name, key.number = name, len(cls._by_name)
                cls._by_name[name] = key
        return key

    @classmethod
    def known_names(cls) -> tuple[str, ...]:
        """The names of all keys, by number."""
        return tuple(cls._by_name)

    def __str__(self) -> str:
        return f"{self.name}[{self.number}]"

    def __repr__(self) -> str:
        return f"DispatchKey({self.name!r})"

    def __lt__(self, other: DispatchKey) -> bool:
        return self.number < other.number

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return DispatchKey.register, (self.name,)

    @classmethod
    def renew_lock(cls) -> None:
        """Forget who is registering; for a forked child."""
        cls._lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=DispatchKey.renew_lock)

for _name in _BUILT_IN:
    setattr(DispatchKey, _name, DispatchKey.register(_name))


def unknown_key(name: object, todo: str = "register it first with DispatchKey.register(...)") -> Diagnostic:
    """The finding for a text that names no dispatch key; *todo*, where none is near."""
    known = DispatchKey.known_names()
    return Diagnostic(
        "C10E108",
        f"unknown dispatch key `{name}`",
        notes=(f"the keys are {', '.join(known)}",),
        help=did_you_mean(str(name), known) or todo,
    )
