"""What the expressions of a domain may call, and of what kind the arguments and results are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import zip_longest
from typing import Any, Final

from c10cli.describe import describe, dtype_name
from c10cli.schema.dtypes import DTYPE_CLASSES, DTYPES
from c10cli.schema.expression_value import is_symbolic
from c10cli.schema.types import SCALAR_TYPES

# What libraries take Python's own types for.
_OF_PYTHON: Final = {"float": "float64", "int": "int64", "complex": "complex128"}


def plain_value(value: Any, kind: str) -> Any:
    """*value*, of an argument of *kind*, as expressions see it: dtypes by name, Python's numbers, lists."""
    if value is None or kind in ("tensor", "tensors"):
        return value
    if kind == "dtype" and isinstance(value, str):
        return SCALAR_TYPES.get(value, value)
    if kind == "dtype":
        name = getattr(value, "__name__", None) or dtype_name(value)
        return _OF_PYTHON.get(name, name)
    if hasattr(value, "tolist"):  # a scalar of NumPy, or an array in place of a list
        value = value.tolist()
    if kind == "list" and isinstance(value, list | tuple | range):
        return [plain_value(item, "list") for item in value]
    return bool(value) if kind == "truth" and isinstance(value, int | float) else value


def has_shape(tensor: Any) -> bool:
    """Whether *tensor* says its shape: those of a type that was taught need not."""
    try:
        return shape_of(tensor) is not None
    except Exception:  # noqa: BLE001 - its own code may raise anything
        return False


def shape_of(tensor: Any) -> tuple[Any, ...]:
    """The shape of *tensor*: integers, also where its library has tensors for them, as `torch.jit.trace`."""
    return tuple(size if type(size) is int or is_symbolic(size) else int(size) for size in tensor.shape)


def _rank(tensor: Any) -> int:
    return len(_shape(tensor))


def _size(tensor: Any, axis: int | None = None) -> Any:
    shape = _shape(tensor)
    return math.prod(shape) if axis is None else shape[_place(axis, len(shape))]


def _shape(tensor: Any) -> tuple[Any, ...]:
    if not has_shape(tensor):
        raise TypeError(f"{describe(tensor)} has no shape")
    return shape_of(tensor)


def _place(axis: int, rank: int) -> int:
    """*axis*, from 0; a negative one counts from the end."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} of {rank} axes")
    return axis % rank


def _least(*values: Any) -> Any:
    return min(*values) if values != ((),) else math.inf


def _greatest(*values: Any) -> Any:
    return max(*values) if values != ((),) else -math.inf


def _broadcast(*shapes: Sequence[Any]) -> tuple[Any, ...]:
    """The shape that *shapes* broadcast to."""
    backwards = zip_longest(*(tuple(shape)[::-1] for shape in shapes), fillvalue=1)
    return tuple(map(_common, backwards))[::-1]


def _common(sizes: Sequence[Any]) -> Any:
    wide = [size for size in sizes if not (isinstance(size, int) and size == 1)]
    if any(size != wide[0] for size in wide[1:]):
        raise ValueError(f"sizes {' and '.join(map(str, dict.fromkeys(wide)))} do not broadcast")
    return wide[0] if wide else 1


def _without(sizes: Sequence[Any], axis: int) -> tuple[Any, ...]:
    """*sizes* without that of *axis*."""
    place = _place(axis, len(sizes))
    return (*sizes[:place], *sizes[place + 1 :])


def _reduced(sizes: Sequence[Any], axes: Any, keep: bool) -> tuple[Any, ...]:
    """*sizes* after a reduction over *axes*: None and no axes are all of them."""
    given = [axes] if isinstance(axes, int) else list(axes or range(len(sizes)))
    gone = {_place(axis, len(sizes)) for axis in given}
    kept = [(1 if at in gone else size) for at, size in enumerate(sizes) if keep or at not in gone]
    return tuple(kept)


def _with_size(sizes: Sequence[Any], axis: int, size: Any) -> tuple[Any, ...]:
    """*sizes* with *size* for that of *axis*."""
    place = _place(axis, len(sizes))
    return (*sizes[:place], size, *sizes[place + 1 :])


def _joined(tensors: Sequence[Any], axis: int) -> tuple[Any, ...]:
    """The shape of *tensors* joined along *axis*, that of the first elsewhere."""
    shape = _shape(tensors[0])
    return _with_size(shape, axis, sum(_shape(tensor)[axis] for tensor in tensors))


def _promote(*dtypes: str) -> str:
    """The dtype of a result of several, as torch has it: the highest kind decides, then the widest."""
    return reduce(_promote_two, dtypes)


_KINDS: Final = ("boolean", "integer", "floating", "complex")


def _kind(dtype: str) -> int:
    kinds = [at for at, name in enumerate(_KINDS) if dtype in DTYPE_CLASSES[name]]
    if not kinds:
        raise ValueError(f"{dtype} is promoted to nothing")
    return kinds[0]


def _promote_two(first: str, second: str) -> str:
    low, high = sorted((first, second), key=lambda dtype: (_kind(dtype), DTYPES[dtype]))
    if low == high:
        return high
    if _kind(low) < _kind(high):
        return "complex128" if (low, high) == ("float64", "complex64") else high
    if _kind(high) == _KINDS.index("floating") and DTYPES[low] == DTYPES[high]:
        return "float32"  # which holds float16 and bfloat16
    if low[0] != high[0] and (high[0] == "u" or DTYPES[low] == DTYPES[high]):
        bits = min(16 * DTYPES[high], 64)
        return f"int{bits}"  # which holds both, as far as there is one
    return high


# By name: the kinds of the arguments, and of the result.  ``?`` may be left out, ``*`` repeats,
# ``_`` is the tensor that the condition is about.  A starred dim is of kind sizes.
SIGNATURES: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "rank": (("tensor",), "number"),
    "size": (("tensor", "number?"), "number"),
    "prod": (("sizes",), "number"),
    "len": (("sizes",), "number"),
    "itemsize": (("dtype",), "number"),
    "min": (("number*",), "number"),
    "max": (("number*",), "number"),
    "abs": (("number",), "number"),
    "finite": (("_", "number?"), "truth"),
    "sorted": (("_", "number?"), "truth"),
    "unique": (("_", "number?"), "truth"),
    "distribution": (("_", "number?"), "truth"),
    "offsets": (("_", "number"), "truth"),
    "broadcast": (("sizes*",), "sizes"),
    "without": (("sizes", "number"), "sizes"),
    "reduced": (("sizes", "any", "truth"), "sizes"),
    "with_size": (("sizes", "number", "number"), "sizes"),
    "joined": (("tensors", "number"), "sizes"),
    "promote": (("dtype*",), "dtype"),
}
# Those of all elements of a tensor, which `c10cli.arrays` knows how to judge.
ELEMENT_FUNCTIONS: Final = ("finite", "sorted", "unique", "distribution", "offsets")
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "rank": _rank,
    "size": _size,
    "prod": math.prod,
    "len": len,
    "itemsize": DTYPES.__getitem__,
    "min": _least,
    "max": _greatest,
    "abs": abs,
    "broadcast": _broadcast,
    "without": _without,
    "reduced": _reduced,
    "with_size": _with_size,
    "joined": _joined,
    "promote": _promote,
}
