"""c10::add on CUDA devices, in Triton."""

from __future__ import annotations

import operator
from typing import Any

import triton
import triton.language as tl

from ._common import shown
from ._triton import LAUNCH, adopted, count, library_of

_BLOCK = 1024
_WORK = {
    "float16": tl.float32, "bfloat16": tl.float32, "float32": tl.float32, "float64": tl.float64,
    "int8": tl.int8, "int16": tl.int16, "int32": tl.int32, "int64": tl.int64, "uint8": tl.uint8,
}  # fmt: skip


@triton.jit(do_not_specialize=["whole"])
def add_kernel(
    self_ptr,
    other_ptr,
    out_ptr,
    size,
    self_size,
    other_size,
    factor: tl.float64,
    whole,
    WORK: tl.constexpr,
    SELF_REPEATS: tl.constexpr,
    OTHER_REPEATS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Out = self + factor * other; an array that repeats is read from its start again and again."""
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = places < size
    self_places = places % self_size if SELF_REPEATS else places
    other_places = places % other_size if OTHER_REPEATS else places
    first = tl.load(self_ptr + self_places, mask=inside).to(WORK)
    second = tl.load(other_ptr + other_places, mask=inside).to(WORK)
    alpha = tl.full((), factor, WORK) if WORK.is_floating() else tl.full((), whole, WORK)
    tl.store(out_ptr + places, (first + alpha * second).to(out_ptr.dtype.element_ty), mask=inside)


def add_triton(self: Any, other: Any, *, alpha: complex = 1) -> Any:
    """*self* plus *alpha* times *other*, broadcast against each other.

    Args:
        self: first summand, on a CUDA device; not modified.
        other: second summand, of the same library and device; not modified.
        alpha: factor of *other*; a whole number where the result is integer.

    Returns:
        The sum, allocated by the library of *self*.

    Shapes:
        self and other ``[*]``, broadcast to one shape.
    Dtypes:
        integers up to 64 bits, float16, bfloat16, float32, float64; the result has the
        common dtype of the two by the rules of their library. 16-bit floating-point types
        are computed in float32 and rounded once.
    Cost:
        Reads both arrays, writes the result. An array that repeats as a whole (a scalar, a
        row added to every row) is not copied; other broadcasts are, as are arrays that are
        not contiguous.
    Raises:
        TypeError: *self* is no CUDA array, of another dtype, or *alpha* does not fit the dtype.
        ValueError: the shapes do not broadcast, or the devices differ.
    Source:
        self + alpha * other
    """
    (self, other), give_back = adopted("self", self, other)
    library = library_of("self", self)
    if type(library) is not type(library_of("other", other)):
        raise TypeError("self and other must be arrays of one library")
    if getattr(self, "device", None) != getattr(other, "device", None):
        raise ValueError(f"self and other must be on one device, not {self.device} and {other.device}")
    dtype = library.promote(self, other)
    if dtype not in _WORK:
        raise TypeError(f"self and other must be real numbers, got {shown(self)} and {shown(other)}")
    factor, whole = _alpha(alpha, dtype)
    shape = _broadcast(self, other)
    with library.guard(self):
        out = library.empty(shape, dtype, self)
        first, second = (library.expand(x, _stored_shape(x, shape)) for x in (self, other))
        sizes = count(shape), count(first.shape), count(second.shape)
        if sizes[0]:
            add_kernel[(triton.cdiv(sizes[0], _BLOCK),)](
                *(library.argument(x) for x in (first, second, out)),
                *sizes,
                factor,
                whole,
                WORK=_WORK[dtype],
                SELF_REPEATS=sizes[1] != sizes[0],
                OTHER_REPEATS=sizes[2] != sizes[0],
                BLOCK=_BLOCK,
                **LAUNCH,
            )
    return give_back(out)


def _alpha(alpha: complex, dtype: str) -> tuple[float, int]:
    """*alpha* as the kernel's two factors, the one that *dtype* does not use being 0."""
    try:
        return (float(alpha), 0) if "float" in dtype else (0.0, operator.index(alpha))
    except TypeError:
        raise TypeError(f"alpha {alpha!r} does not fit a result of dtype {dtype}") from None


def _broadcast(self: Any, other: Any) -> tuple[int, ...]:
    """The shape of the result."""
    rank = max(len(self.shape), len(other.shape))
    pairs = list(zip(_padded(self, rank), _padded(other, rank), strict=True))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        raise ValueError(f"self {shown(self)} and other {shown(other)} do not broadcast")
    return tuple(b if a == 1 else a for a, b in pairs)


def _padded(array: Any, rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(array.shape)) + tuple(array.shape)


def _stored_shape(array: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to read *array* in: its own if it repeats as a whole, otherwise the result's."""
    own = tuple(array.shape)
    meaningful = own[next((i for i, size in enumerate(own) if size != 1), len(own)) :]
    return own if shape[len(shape) - len(meaningful) :] == meaningful and len(own) <= len(shape) else shape
