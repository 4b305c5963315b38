"""Dispatch keys: why a kernel is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from c10cli.errors import Diagnostic, DispatchError, RegistrationError, did_you_mean

# The keys of devices, by what array libraries call them, and by DLPack's numbers of them.
KEY_OF_DEVICE: Final[dict[str | int, DispatchKey]] = {}


class DispatchKey:
    """One dispatch key; there is exactly one object per name, so ``is`` compares.

    ``DispatchKey("CPU")`` looks a key up, ``DispatchKey.register("MyNPU")``
    adds one.  Keys print as ``CPU[1]`` and sort by number.

    >>> DispatchKey("CPU") is DispatchKey.CPU
    True
    >>> str(DispatchKey.CUDA)
    'CUDA[2]'

    ``dense`` is the key of the dense tensors on the same devices, for most keys
    itself, and ``sparse`` that of the sparse ones, or None.
    """

    __slots__ = ("dense", "name", "sparse")

    name: str
    dense: DispatchKey
    sparse: DispatchKey | None

    _by_name: ClassVar[dict[str, DispatchKey]] = {}

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
    def register(cls, name: str, *, devices: Iterable[str | int] = (), sparse_of: str = "") -> DispatchKey:
        """The key called *name*, added if it is new.

        Args:
            devices: the names that array libraries have for its devices, and DLPack's numbers of them.
            sparse_of: the key of the dense tensors on them, if it is one of sparse ones.

        Raises:
            RegistrationError: C10E108, *name* is no identifier.
        """
        if not (isinstance(name, str) and name.isidentifier()):
            fact = f"{name!r} cannot name a dispatch key"
            raise RegistrationError(
                Diagnostic("C10E108", fact, help="use a Python identifier, such as `MyNPU`"),
                dispatch_key=name,
            )
        key = cls._by_name.get(name)
        if key is None:
            new = object.__new__(cls)
            new.name, new.dense, new.sparse = name, new, None
            key = cls._by_name.setdefault(name, new)  # of threads that register it at once, the first one's
        if sparse_of:
            key.dense = cls(sparse_of)
            key.dense.sparse = key
        KEY_OF_DEVICE.update(dict.fromkeys(devices, key))
        return key

    @classmethod
    def known_names(cls) -> tuple[str, ...]:
        """The names of all keys, by number."""
        return tuple(cls._by_name)

    @property
    def number(self) -> int:
        """Its place among all keys, in the order in which they came."""
        return self.known_names().index(self.name)

    def __str__(self) -> str:
        return f"{self.name}[{self.number}]"

    def __repr__(self) -> str:
        return f"DispatchKey({self.name!r})"

    def __lt__(self, other: DispatchKey) -> bool:
        return self.number < other.number

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return DispatchKey.register, (self.name,)


# Name, devices, and the key of the dense tensors if it is one of sparse ones; in the
# order of their numbers.  torch says "hip" through "cuda" and jax "gpu" for both, so
# ROCm is told apart by the library.  DLPack's numbers are those of dlpack.h; host
# memory that a device can also reach (3, 11) is still host memory.  A tensor on meta
# has no contents, sparse or not.
_BUILT_IN: tuple[tuple[str, tuple[str | int, ...], str], ...] = (
    ("Undefined", (), ""),
    ("CPU", ("cpu", 1, 3, 11), ""),
    ("CUDA", ("cuda", 2, 13), ""),
    ("HIP", ("hip", "rocm", 10), ""),
    ("SparseCPU", (), "CPU"),
    ("SparseCUDA", (), "CUDA"),
    ("XLA", ("xla", "tpu"), ""),
    ("MPS", ("mps", 8), ""),
    ("XPU", ("xpu", 14), ""),
    ("Meta", ("meta",), "Meta"),
)
for _name, _devices, _dense in _BUILT_IN:
    setattr(DispatchKey, _name, DispatchKey.register(_name, devices=_devices, sparse_of=_dense))


def unknown_key(name: object, todo: str = "register it first with DispatchKey.register(...)") -> Diagnostic:
    """The finding for a text that names no dispatch key; *todo*, where none is near."""
    known = DispatchKey.known_names()
    return Diagnostic(
        "C10E108",
        f"unknown dispatch key `{name}`",
        notes=(f"the keys are {', '.join(known)}",),
        help=did_you_mean(str(name), known) or todo,
    )
