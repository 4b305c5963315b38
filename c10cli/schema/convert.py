"""One value to one type of a schema, by a strict table of conversions.

A tensor never becomes a number and a bool never an int: what would lose a
value or guess a meaning is refused.  A NumPy scalar counts as its Python value.

==================  ====================================================  ==========================
type                takes                                                 gives
==================  ====================================================  ==========================
Tensor              what *is_tensor* says is one                          the same object
int, SymInt         int, ``__index__``; 64 bits; no bool, no array        int
float               float; an int that a double holds exactly             float
complex             complex, and what float takes                         complex
bool, SymBool       bool                                                  bool
str                 str, not bytes                                        the same object
Scalar              bool, int of 64 bits, float, complex                  of the same Python type
ScalarType          a name (``float32``, ``half``), a dtype object        the full name, the object
Layout,             the word (``strided``, ``contiguous_format``), an     the same object
MemoryFormat        object of a library
Device              ``"cuda:0"``, a device object                         the same object
T[]                 list, tuple, range, other sequence; no string,        new list; where the schema
                    array, set or iterator                                says it is written, itself
T[N]                the same with N items, in torch's dialect with any    new list
                    number; one T, for all of them; what the default is
T?                  None, what T takes                                    None, what T gives
(A, B)              tuple or list of as many values                       tuple
Dict(K, V)          dict                                                  new dict, same order
Union(A, B)         what a member takes                                   the first that changes
                                                                          nothing, else the first
Any, variables      anything                                              the same object
NoneType            None                                                  None
others              any object but plain Python values                    the same object
==================  ====================================================  ==========================
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, TypeGuard

from c10cli.describe import describe, is_numpy_scalar
from c10cli.schema import types
from c10cli.schema.types import BaseType, CompoundType, ListType, OptionalType, Type, VarType

IsTensor = Callable[[object], bool]

INT64: Final = range(-(2**63), 2**63)
# One value for all items of `int[1000000000]` would be a list of a billion.
_MAX_REPEATED: Final = 2**20
_PLAIN = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range)


class Mismatch(Exception):
    """A value that does not fit: what, and where inside the argument; `bind` makes an error of it."""

    def __init__(self, value: object, expected: str, where: str = "") -> None:
        super().__init__(value, expected, where)
        self.value = value
        self.expected = expected
        self.where = where

    def help(self, t: Type) -> str:
        """What to do about it where an argument of type *t* was wanted; nothing if that is plain."""
        value, expected = self.value, self.expected
        if value is None:
            return f"leave `None` out, or declare the argument `{t}?`" if isinstance(t, BaseType) else ""
        if hasattr(value, "tolist") and expected.endswith("]"):
            holds_tensors = expected.startswith("Tensor")
            return "pass a list of tensors" if holds_tensors else "pass `.tolist()` of the array"
        if expected.startswith("Tensor") and looks_like_tensor(value):
            name = type(value).__qualname__
            return f"pass an array, or teach the type with register_tensor_type({name}, KEY)"
        if isinstance(value, bool) and expected in ("int", "float"):
            return f"pass `{expected}({value})` if that is meant"
        return "pass a list" if isinstance(value, str) and expected.endswith("[]") else ""


def spelled(t: Type, size: int | None) -> str:
    """A type as in the schema, with the size of its list and without annotations."""
    if size is None:
        return str(t)
    inner = t.element if isinstance(t, OptionalType) else t
    return f"{str(inner)[:-1]}{size}]{'' if inner is t else '?'}"


def convert_argument(
    value: object,
    t: Type,
    size: int | None,
    is_tensor: IsTensor,
    *,
    sizes: Collection[int | None] | None,
    is_written: bool,
) -> object:
    """*value* as an argument of type *t*, which is a list of *size* where it has one.

    Args:
        sizes: the lengths that such a list may have; None for any.
        is_written: whether the list itself is written, and so must be passed on.

    Raises:
        Mismatch: it does not fit.
    """
    inner = t.element if isinstance(t, OptionalType) else t
    if not isinstance(inner, ListType) or (value is None and inner is not t):
        return convert(value, t, is_tensor)
    if size is not None and not is_sequence(value):
        if size > _MAX_REPEATED:
            raise Mismatch(value, f"a list of {size} items")
        try:
            return [convert(value, inner.element, is_tensor)] * size
        except Mismatch as mismatch:
            expected = f"{spelled(t, size)} or one {inner.element} for all items"
            raise Mismatch(mismatch.value, expected) from None
    items = convert(value, inner, is_tensor)
    assert isinstance(items, list)
    if size is not None and sizes is not None and len(items) not in sizes:
        raise Mismatch(value, spelled(t, size))
    if is_written and not isinstance(value, list):
        raise Mismatch(value, "a list, because it is written")
    return value if is_written else items


def convert(value: object, t: Type, is_tensor: IsTensor) -> object:
    """*value* as one of type *t*, of whose lists the size is not known here.

    Raises:
        Mismatch: it does not fit.
    """
    if isinstance(t, BaseType):
        if t.name == "Tensor":
            if not is_tensor(value):
                raise Mismatch(value, "Tensor")
            return value
        if isinstance(t, VarType):
            return value
        return _BASE.get(t.name, _opaque)(value, t.name)
    if isinstance(t, OptionalType):
        return None if value is None else convert(value, t.element, is_tensor)
    if isinstance(t, ListType):
        if not is_sequence(value):
            raise Mismatch(value, str(t))
        return [_inner(item, t.element, is_tensor, f"item {i}") for i, item in enumerate(value)]
    assert isinstance(t, CompoundType)
    return _convert_compound(value, t, is_tensor)


def _convert_compound(value: object, t: CompoundType, is_tensor: IsTensor) -> object:
    if t.head == "Union":
        return _convert_union(value, t, is_tensor)
    if t.head == "Dict":
        if not isinstance(value, dict):
            raise Mismatch(value, str(t))
        key_type, item_type = t.parts
        return {
            _inner(key, key_type, is_tensor, "a key"): _inner(
                item, item_type, is_tensor, f"the value of {describe(key)}"
            )
            for key, item in value.items()
        }
    if t.head:
        return _opaque(value, str(t))
    if not isinstance(value, (tuple, list)) or len(value) != len(t.parts):
        raise Mismatch(value, str(t))
    return tuple(
        _inner(item, part, is_tensor, f"item {i}")
        for i, (item, part) in enumerate(zip(value, t.parts, strict=True))
    )


def _convert_union(value: object, t: CompoundType, is_tensor: IsTensor) -> object:
    fits: list[object] = []
    for member in t.parts:
        try:
            fits.append(convert(value, member, is_tensor))
        except Mismatch:
            continue
        if fits[-1] is value:  # `1` for Union(float, int) is the int
            return value
    if not fits:
        raise Mismatch(value, str(t))
    return fits[0]


def _inner(value: object, t: Type, is_tensor: IsTensor, where: str) -> object:
    try:
        return convert(value, t, is_tensor)
    except Mismatch as mismatch:
        inside = f"{mismatch.where} of {where}" if mismatch.where else where
        raise Mismatch(mismatch.value, mismatch.expected, inside) from None


def is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Whether *value* can be a list argument: ordered, with a length, and no text or bytes."""
    if isinstance(value, (list, tuple, range)):
        return True
    try:
        is_any = isinstance(value, Sequence)
    except Exception:  # noqa: BLE001 - of a metaclass, whose `__hash__` and `__eq__` are asked
        return False
    return is_any and not isinstance(value, (str, bytes, bytearray, memoryview))


def looks_like_tensor(value: object) -> bool:
    """Whether *value* is neither a plain Python value nor a NumPy scalar."""
    return value is not None and not isinstance(value, _PLAIN) and not is_numpy_scalar(value)


def _is_object_of_a_library(value: object) -> bool:
    return looks_like_tensor(value) and not hasattr(value, "shape")


def _plain(value: object) -> object:
    """A NumPy scalar as its Python value, anything else as it is."""
    if not is_numpy_scalar(value):
        return value
    item = value.item()
    # What Python has no type for (long double, bfloat16) stays NumPy's; as a float it loses digits at most.
    return float(item) if is_numpy_scalar(item) and hasattr(item, "__float__") else item


def _int(value: object, name: str) -> int:
    plain = _plain(value)
    if isinstance(plain, int) and not isinstance(plain, bool):
        number = int(plain)
    elif hasattr(type(plain), "__index__") and not isinstance(plain, bool) and not hasattr(plain, "shape"):
        number = plain.__index__()  # type: ignore[attr-defined]
    else:
        raise Mismatch(value, name)
    if number not in INT64:
        raise Mismatch(value, f"{name} of 64 bits")
    return number


def _float(value: object, name: str) -> float:
    plain = _plain(value)
    if isinstance(plain, float):
        return float(plain)
    if isinstance(plain, int) and not isinstance(plain, bool):
        if abs(plain) < 2**1023 and int(float(plain)) == plain:
            return float(plain)
        raise Mismatch(value, f"{name}, which cannot hold this int exactly")
    raise Mismatch(value, name)


def _complex(value: object, name: str) -> complex:
    plain = _plain(value)
    return complex(plain) if isinstance(plain, complex) else complex(_float(value, name))


def _bool(value: object, name: str) -> bool:
    plain = _plain(value)
    if not isinstance(plain, bool):
        raise Mismatch(value, name)
    return plain


def _str(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise Mismatch(value, name)
    return value


def _scalar(value: object, name: str) -> bool | int | float | complex:
    plain = _plain(value)
    if isinstance(plain, bool):
        return plain
    if isinstance(plain, int):
        return _int(plain, name)
    if isinstance(plain, (float, complex)):
        return float(plain) if isinstance(plain, float) else complex(plain)
    raise Mismatch(value, name)


def _scalar_type(value: object, name: str) -> object:
    if isinstance(value, str) and value in types.SCALAR_TYPES:
        return types.SCALAR_TYPES[value]
    is_dtype = isinstance(value, type) or "dtype" in type(value).__name__.lower()
    if is_dtype or _is_object_of_a_library(value):
        return value
    raise Mismatch(value, f"{name}, a name such as 'float32' or a dtype")


def _layout(value: object, name: str) -> object:
    words = types.NUMBERED[BaseType(name)]
    if _is_object_of_a_library(value) or (isinstance(value, str) and value in words):
        return value
    raise Mismatch(value, f"{name}, one of {', '.join(map(repr, words))}")


def _device(value: object, name: str) -> object:
    if _is_object_of_a_library(value) or (isinstance(value, str) and types.DEVICE_NAME.fullmatch(value)):
        return value
    raise Mismatch(value, f"{name}, such as 'cpu' or 'cuda:0'")


def _any(value: object, name: str) -> object:
    return value


def _none(value: object, name: str) -> None:
    if value is not None:
        raise Mismatch(value, name)


def _opaque(value: object, name: str) -> object:
    if not looks_like_tensor(value):
        raise Mismatch(value, name)
    return value


_BASE: Final[dict[str, Callable[[object, str], object]]] = {
    **dict.fromkeys(("int", "SymInt"), _int),
    **dict.fromkeys(("bool", "SymBool"), _bool),
    **dict.fromkeys(("Layout", "MemoryFormat"), _layout),
    **dict.fromkeys(("Any", "AnyClassType", "AnyEnumType"), _any),
    **{"float": _float, "complex": _complex, "str": _str, "Scalar": _scalar, "ScalarType": _scalar_type},
    **{"Device": _device, "NoneType": _none},
}
