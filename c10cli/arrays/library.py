"""The array libraries: a row for each, and what the file of each must be able to say.

Note [Array libraries]: a library has a row in `TABLE` and a file beside this
one, named after it, whose ``LIBRARY`` is a `Library`.  The file is imported
when one of the library's types is first met, or an array of it is to be made.
It imports the library itself only to make something: a type that is met comes
from a module in ``sys.modules``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from c10cli.arrays.keys import KEY_OF_DEVICE, DispatchKey
from c10cli.describe import describe_error
from c10cli.errors import ArgumentError, Diagnostic

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"
# A type's dispatch key, or the function of a value that gives it.
Resolution = DispatchKey | Callable[[Any], DispatchKey]


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of a library before its file is imported.

    Args:
        roots: the top-level packages that its types come from.
        makes: the keys it can make arrays of.
        usual_for: those of them where it is taken if no library is named; of several, the first installed.
        converts: what makes one of its tensors of another one, for help.
    """

    roots: tuple[str, ...]
    makes: tuple[str, ...]
    usual_for: tuple[str, ...] = ()
    converts: str = ""


class Shortcut(NamedTuple):
    """A test that is cheap, and true of most tensors of a type; written into the calls of operators.

    Args:
        key: of the tensors that pass it.
        test: an expression over ``{tensor}`` and, as ``{0}`` and so on, what is *held*.
    """

    key: DispatchKey
    test: str
    held: tuple[object, ...]


TABLE: Final[dict[str, Row]] = {
    "numpy": Row(("numpy",), ("CPU",), ("CPU",), "numpy.asarray({})"),
    "torch": Row(("torch",), ("CPU", "SparseCPU", "CUDA"), ("CUDA",), "torch.as_tensor({})"),
    "cupy": Row(("cupy", "cupyx"), ("CUDA",), ("CUDA",), "cupy.asarray({})"),
    "jax": Row(("jax", "jaxlib"), ("CPU", "SparseCPU", "CUDA"), (), "jax.numpy.asarray({})"),
    "scipy": Row(("scipy",), ("SparseCPU",), ("SparseCPU",), "scipy.sparse.csr_array({})"),
}
# The libraries whose arrays a kernel can take.
LIBRARIES: Final = TABLE.keys()


def usual_libraries(dispatch_key: str) -> frozenset[str] | None:
    """Whose tensors a kernel of *dispatch_key* takes that names none: also those of no library; None: all."""
    usual = [name for name, row in TABLE.items() if dispatch_key in row.usual_for]
    return frozenset((*usual, "")) if usual else None


class Library:
    """What a library's file says of its tensors; as it stands, of those of a library never heard of.

    Such a tensor is known by DLPack, and read by that or by ``__array__``.

    Args:
        name: in `TABLE`.
        tensor_types: by the qualified names of types, see `has_subclasses`: the key of
            all their tensors, or a function of the tensor, which runs in every call.
    """

    # Whether those of subclasses are its tensors as well.
    has_subclasses = True
    # Whether nothing can write to its tensors.
    is_immutable = False
    # The libraries that its functions give tensors of, beside its own.
    companions: tuple[str, ...] = ()

    def __init__(self, name: str, tensor_types: Mapping[str, Resolution]) -> None:
        self.name, self.tensor_types = name, tensor_types

    def shortcuts(self, key_of: Callable[[Any], DispatchKey]) -> tuple[Shortcut, ...]:
        """Tests that spare a call the function *key_of* of its tensor, the likeliest last."""
        return ()

    def reason_against(self, key: DispatchKey) -> tuple[str, str]:
        """Why it is not to make tensors of *key* here, and what to do about that; empty where it can."""
        return "", ""

    def make(self, array: Array, key: DispatchKey) -> Any:
        """*array* as a tensor of *key*, one that the row names; it may raise anything."""
        raise NotImplementedError

    def fault(self, tensor: Any) -> tuple[str, str]:
        """What its elements are that no kernel can see, and what to pass instead; empty where all is well."""
        return "", ""

    def read(self, tensor: Any) -> Array:
        """*tensor* as an array in host memory, of the same memory where possible; it may raise anything."""
        import numpy as np

        # Of a subclass of NumPy's array it is the array below, which the subclass cannot change.
        return np.asarray(tensor if hasattr(tensor, "__array__") else np.from_dlpack(tensor))

    def contents(self, tensor: Any) -> tuple[object, ...]:
        """What is equal while *tensor* is unchanged; reading it leaves no trace."""
        return contents_of_array(self.read(tensor))

    def memory(self, tensor: Any) -> list[Array]:
        """Arrays over all that *tensor*, which is in host memory, stores: to be located, not read."""
        return [self.read(tensor)]

    def write(self, tensor: Any, contents: Any) -> None:
        """Put *contents*, a tensor like it, into *tensor*, in place; it may raise anything."""
        tensor[...] = contents

    def synchronizer(self, key: DispatchKey) -> Callable[[], object] | None:
        """What waits until the device of *key* has done all it was asked to; None for the CPU."""
        return None

    def waiter(self, key: DispatchKey) -> Callable[[object], object] | None:
        """What waits until a call's result is computed; None where calls return when done."""
        return None

    def adapted(self, schema: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        """*function*, given the library's own objects for the words of *schema*, such as dtypes."""
        return function


_UNKNOWN: Final = Library("", {})


def load_library(name: str) -> Library:
    """What the file of the library *name* says; the defaults for the empty name."""
    if not name:
        return _UNKNOWN
    library: Library = importlib.import_module(f"{__package__}.{name}").LIBRARY
    return library


def _find_type(value_type: type) -> tuple[Library, Resolution | None]:
    for base in value_type.__mro__:
        root = base.__module__.partition(".")[0] if isinstance(base.__module__, str) else ""
        for name, row in TABLE.items():
            if root in row.roots and base.__qualname__ in load_library(name).tensor_types:
                library = load_library(name)
                if base is value_type or library.has_subclasses:
                    return library, library.tensor_types[base.__qualname__]
                return _UNKNOWN, None
    try:
        speaks_dlpack = callable(getattr(value_type, "__dlpack_device__", None))
    except Exception:  # noqa: BLE001 - a metaclass runs any code when it is asked
        speaks_dlpack = False
    return _UNKNOWN, _dlpack_key if speaks_dlpack else None


# By identity, which no metaclass can change.
_found: dict[int, tuple[type, Library, Resolution | None]] = {}
_MOST_REMEMBERED: Final = 256


def find_type(value_type: type) -> tuple[Library, Resolution | None]:
    """Whose tensors the values of *value_type* are, and their key; None where they are no tensors."""
    found = _found.get(id(value_type))
    if found is None:
        found = value_type, *_find_type(value_type)
        remember(_found, id(value_type), found)
    return found[1:]


def remember(memory: dict[Any, Any], key: object, value: object) -> None:
    """Note *value* under *key*; only so many, so that types made by the thousand are not kept."""
    if len(memory) >= _MOST_REMEMBERED:
        memory.clear()
    memory[key] = value


def is_told_apart(value_type: type) -> bool:
    """Whether a dict tells *value_type* from all others: its metaclass compares as `type` does."""
    kind = type(value_type)
    return kind is type or (kind.__eq__ is type.__eq__ and kind.__hash__ is type.__hash__)


def library_for(tensor: object) -> Library:
    """What is known of the library that made *tensor*, also as a subclass."""
    found = _found.get(id(type(tensor)))
    return found[1] if found else find_type(type(tensor))[0]


def library_of(tensor: object) -> str:
    """Which of `LIBRARIES` made *tensor*, also as a subclass; empty for any other."""
    return library_for(tensor).name


def _dlpack_key(value: Any) -> DispatchKey:
    try:
        device = int(value.__dlpack_device__()[0])
    except Exception as error:  # whatever its own code raises, or what it gives is no pair of numbers
        fact = f"does not say where it lives: `__dlpack_device__` ended with {describe_error(error)}"
        raise _no_key(value, fact) from error
    return key_of_device(value, device)


def key_of_device(value: object, device: str | int) -> DispatchKey:
    """The key of *value*, whose library says that it lives on *device*.

    Raises:
        ArgumentError: C10E408, no key has such a device.
    """
    key = KEY_OF_DEVICE.get(device)
    if key is None:
        raise no_key_of_device(value, device if isinstance(device, str) else f"DLPack {device}")
    return key


def sparse_key(value: Any, dense: DispatchKey) -> DispatchKey:
    """The key of a sparse tensor where a dense one has *dense*, whose kernels cannot read this one."""
    if dense.sparse is None:
        raise no_key_of_device(value, f"sparse {dense.name}")
    return dense.sparse


def no_key_of_device(value: object, device: object) -> ArgumentError:
    """C10E408: *value* lives on *device*, which has no key."""
    return _no_key(value, f"lives on device `{device}`, which has no dispatch key", device=device)


def _no_key(value: object, fact: str, **facts: object) -> ArgumentError:
    kind = type(value)
    told = f"a tensor of type `{kind.__module__}.{kind.__qualname__}` {fact}"
    todo = f"teach the key with register_tensor_type({kind.__qualname__}, FUNCTION)"
    return ArgumentError(Diagnostic("C10E408", told, help=todo), tensor_type=kind, **facts)


def contents_of_array(array: Array) -> tuple[object, ...]:
    """Dtype, shape and bytes, so that nan is nan, and -0.0 is not 0.0."""
    stored = array
    if 0 in array.strides:  # the same elements over and over
        stored = array[tuple(slice(None) if stride else slice(1) for stride in array.strides)]
    return array.dtype, array.shape, stored.tobytes()
