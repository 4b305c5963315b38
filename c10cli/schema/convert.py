"""One value to one type, strictly; the rules are the table in `c10cli.schema.match`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeGuard

from c10cli.describe import describe
from c10cli.schema.types import (
    BaseType,
    DictType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    UnionType,
    VarType,
)
from c10cli.schema.words import DEVICE_NAME, LAYOUTS, MEMORY_FORMATS, SCALAR_TYPES

IsTensor = Callable[[object], bool]

_INT64: Final = range(-(2**63), 2**63)
_PLAIN = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range)


class Mismatch(Exception):
    """A value that does not fit: what, and where inside the argument; `bind` makes an error of it."""

    def __init__(self, value: object, expected: str, where: str = "") -> None:
        super().__init__(value, expected, where)
        self.value = value
        self.expected = expected
        self.where = where


def convert(value: object, t: Type, is_tensor: IsTensor) -> object:
    """*value* as one of type *t*.

    Raises:
        Mismatch: it does not fit.
    """
    if isinstance(t, BaseType):
        if t.name == "Tensor":
            if not is_tensor(value):
                raise Mismatch(value, "Tensor")
            return value
        return _BASE.get(t.name, _opaque)(value, t.name)
    if isinstance(t, OptionalType):
        return None if value is None else convert(value, t.element, is_tensor)
    if isinstance(t, ListType):
        if not is_sequence(value):
            raise Mismatch(value, str(t))
        return [_inner(item, t.element, is_tensor, f"item {i}") for i, item in enumerate(value)]
    return _convert_rare(value, t, is_tensor)


def _convert_rare(value: object, t: Type, is_tensor: IsTensor) -> object:
    if isinstance(t, TupleType):
        if not isinstance(value, (tuple, list)) or len(value) != len(t.elements):
            raise Mismatch(value, str(t))
        pairs = enumerate(zip(value, t.elements, strict=True))
        return tuple(_inner(item, element, is_tensor, f"item {i}") for i, (item, element) in pairs)
    if isinstance(t, DictType):
        if not isinstance(value, dict):
            raise Mismatch(value, str(t))
        keys = [_inner(key, t.key, is_tensor, "a key") for key in value]
        values = [
            _inner(item, t.value, is_tensor, f"the value of {describe(k)}") for k, item in value.items()
        ]
        return dict(zip(keys, values, strict=True))
    if isinstance(t, UnionType):
        return _convert_union(value, t, is_tensor)
    return value if isinstance(t, VarType) else _opaque(value, str(t))


def _convert_union(value: object, t: UnionType, is_tensor: IsTensor) -> object:
    fits: list[object] = []
    for member in t.members:
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
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview))


def _is_numpy_scalar(value: object) -> TypeGuard[Any]:
    return any(c.__name__ == "generic" and c.__module__ == "numpy" for c in type(value).__mro__)


def looks_like_tensor(value: object) -> bool:
    """Whether *value* is neither a plain Python value nor a NumPy scalar."""
    return value is not None and not isinstance(value, _PLAIN) and not _is_numpy_scalar(value)


def _plain(value: object) -> object:
    """A NumPy scalar as its Python value, anything else as it is."""
    if not _is_numpy_scalar(value):
        return value
    item = value.item()
    # What Python has no type for (long double, bfloat16) stays NumPy's; as a float it loses digits at most.
    return float(item) if _is_numpy_scalar(item) and hasattr(item, "__float__") else item


def _int(value: object, name: str) -> int:
    plain = _plain(value)
    if isinstance(plain, int):
        number = int(plain)
        if isinstance(plain, bool):
            raise Mismatch(value, name)
    elif hasattr(type(plain), "__index__") and not hasattr(plain, "shape"):
        number = plain.__index__()  # type: ignore[attr-defined]
    else:
        raise Mismatch(value, name)
    if number not in _INT64:
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
    if isinstance(plain, complex):
        return complex(plain)
    return complex(_float(value, name))


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
    if isinstance(value, str) and value in SCALAR_TYPES:
        return SCALAR_TYPES[value]
    is_dtype = isinstance(value, type) or "dtype" in type(value).__name__.lower()
    if is_dtype or (looks_like_tensor(value) and not hasattr(value, "shape")):
        return value
    raise Mismatch(value, f"{name}, a name such as 'float32' or a dtype")


def _word_of(words: dict[str, int]) -> Callable[[object, str], object]:
    def check(value: object, name: str) -> object:
        is_object = looks_like_tensor(value) and not hasattr(value, "shape")
        if is_object or (isinstance(value, str) and value in words):
            return value
        raise Mismatch(value, f"{name}, one of {', '.join(map(repr, words))}")

    return check


def _device(value: object, name: str) -> object:
    if isinstance(value, str) and DEVICE_NAME.fullmatch(value):
        return value
    if looks_like_tensor(value) and not hasattr(value, "shape"):
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
    "int": _int,
    "SymInt": _int,
    "float": _float,
    "complex": _complex,
    "bool": _bool,
    "SymBool": _bool,
    "str": _str,
    "Scalar": _scalar,
    "ScalarType": _scalar_type,
    "Layout": _word_of(LAYOUTS),
    "MemoryFormat": _word_of(MEMORY_FORMATS),
    "Device": _device,
    "Any": _any,
    "AnyClassType": _any,
    "AnyEnumType": _any,
    "NoneType": _none,
}
