"""The functions that fill arrays in input expressions: `randn`, `zeros`, `arange` and their kin.

Sizes are computed as Python integers and compared with the free memory before
anything is allocated.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from c10cli.arrays.more_dtypes import numpy_dtype
from c10cli.schema.dtypes import ARRAY_FUNCTIONS, DTYPES, is_exact

_WORK_BYTES: Final = 8  # per element, for what is drawn before it is converted
_MAX_DIMENSIONS: Final = 32
_INTEGERS: Final = tuple(name for name in DTYPES if name.startswith(("int", "uint")))


def array_functions(dtype: str = "float32", rng: Any = None) -> dict[str, Callable[..., object]]:
    """The functions by name, making arrays of *dtype* with random numbers from *rng*."""
    filler = _Filler(dtype, rng)
    return {name: getattr(filler, name) for name in ARRAY_FUNCTIONS}


def calculate(function: Callable[[Any], Any], array: Any, dtype: str) -> Any:
    """*function*, arithmetic with one number, of *array*: in the array's dtype, which has to hold it.

    Where integers became fractions, it takes *dtype*, if that is no integer.

    Raises:
        ValueError: an element that the dtype cannot hold.
    """
    with np.errstate(all="ignore"):
        result = np.asarray(function(array))  # arithmetic makes a scalar of an array without dimensions
    if array.dtype.kind in "iub":
        if result.dtype.kind not in "iub":
            return result if is_exact(dtype) else hold(result, numpy_dtype(dtype))
        # The least and the greatest element give the least and the greatest result, here without wrapping.
        ends = (array.min(), array.max()) if array.size else ()
        hold([function(int(end)) for end in ends], result.dtype)
        return result
    result = result if result.dtype.kind == "c" else result.astype(array.dtype, copy=False)
    if not np.isfinite(result).all():  # too large for the dtype, or infinite by itself?
        with np.errstate(all="ignore"):
            exact = function(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
        hold(exact, result.dtype)
    return result


def hold(value: Any, dtype: Any) -> Any:
    """*value*, numbers or arrays of them, as an array of *dtype*, NumPy's.

    Integers and booleans are held exactly.  Floats are rounded, but what is finite
    stays that, and infinity and nan stay what they are.

    Raises:
        ValueError: an element that *dtype* cannot hold; lists of different lengths.
        TypeError: an element is no number.
        OverflowError: an integer is too large even for a float.
    """
    values = np.asarray(value)
    if values.dtype.kind in "USO":  # a text is refused; an integer of more than 64 bits is in floats alone
        numbers = [float(_number(element)) for element in values.ravel().tolist()]
        values = np.array(numbers).reshape(values.shape)
    elif values.dtype.isbuiltin != 1:  # of ml_dtypes
        values = values.astype(np.float64)
    real = values.real if dtype.kind != "c" else values
    with np.errstate(all="ignore"):
        made = np.asarray(real.astype(dtype, copy=False))
        fits = _keeps_integers(real, made) if dtype.kind in "iub" else _keeps_floats(real, made)
    fits = fits & (values.imag == 0) if dtype.kind != "c" else fits
    if not fits.all():
        raise ValueError(f"{dtype.name} cannot hold {values[~fits].flat[0]}")
    return made


def _keeps_integers(values: Any, made: Any) -> Any:
    """Where *made* is what *values* are."""
    if values.dtype.kind in "iub" or made.dtype.kind == "b":
        return made == values
    # Of what is just above the greatest some processors make that, which as a float is the same.
    return (made == values) & (values < float(np.iinfo(made.dtype).max + 1))


def _keeps_floats(values: Any, made: Any) -> Any:
    """Where *made* is as finite as *values* are."""
    return (np.isnan(made) == np.isnan(values)) & (np.isinf(made) == np.isinf(values))


def available_bytes() -> int:
    """Memory that can be taken now: what Linux tells of machine and container; elsewhere the machine's."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # Windows has no such function
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return 8 * 2**30
    group = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):  # there is no such group, or the limit is the word max
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        free = min(free, max(limit - int((group / "memory.current").read_text(encoding="ascii")), 0))
    return free


class _Filler:
    """The functions, bound to a dtype and a generator; sizes add up over one expression."""

    def __init__(self, dtype: str, rng: Any) -> None:
        _check_dtype(dtype)
        self.dtype = dtype
        self.rng = np.random.default_rng(0) if rng is None else rng
        self.taken = 0

    def randn(self, *shape: Any, dtype: str | None = None) -> Any:
        """Normal numbers; rounded and times four for integers, the sign for booleans."""
        name = dtype or self.dtype
        sizes = self._reserve(_shape(shape), name)
        kind = numpy_dtype(name)
        if name == "float64":
            return self.rng.standard_normal(sizes)
        drawn = np.asarray(self.rng.standard_normal(sizes, dtype=np.float32))
        if kind.kind == "c":
            drawn = drawn + 1j * self.rng.standard_normal(sizes, dtype=np.float32)
        elif kind.kind == "b":
            drawn = drawn > 0
        elif kind.kind in "iu":
            drawn = np.rint(drawn * 4)
            drawn = np.abs(drawn) if kind.kind == "u" else drawn
        return np.asarray(drawn).astype(kind, copy=False)

    def zeros(self, *shape: Any, dtype: str | None = None) -> Any:
        """Zeros."""
        return self.full(*shape, 0, dtype=dtype)

    def ones(self, *shape: Any, dtype: str | None = None) -> Any:
        """Ones."""
        return self.full(*shape, 1, dtype=dtype)

    def full(self, *shape_and_value: Any, dtype: str | None = None) -> Any:
        """The last argument, in the shape given by those before it."""
        if not shape_and_value:
            raise TypeError("a shape and a value are wanted")
        *shape, value = shape_and_value
        name = dtype or self.dtype
        sizes = self._reserve(_shape(tuple(shape)), name)
        held = hold(_number(value), numpy_dtype(name))
        return np.full(sizes, held, dtype=held.dtype)

    def arange(self, start: Any, stop: Any = None, step: Any = 1, *, dtype: str | None = None) -> Any:
        """Numbers from start (0 if only one argument is given) to stop, exclusive."""
        first, last = (0, start) if stop is None else (start, stop)
        for value in (first, last, step):
            _number(value)
        if step == 0:
            raise ValueError("the step is 0")
        name = dtype or self.dtype
        self._reserve((max(math.ceil((last - first) / step), 0),), name)
        return hold(np.arange(first, last, step), numpy_dtype(name))

    def randint(self, low: Any, high: Any, *shape: Any, dtype: str | None = None) -> Any:
        """Integers from low to high, exclusive: int64 unless the dtype is an integer one."""
        name = dtype or self.dtype
        drawn_as = name if name in _INTEGERS else "int64"
        sizes = self._reserve(_shape(shape), drawn_as)
        hold([_integer(low), _integer(high) - 1], numpy_dtype(drawn_as))
        drawn = np.asarray(self.rng.integers(low, high, sizes, dtype=drawn_as))
        return drawn if dtype is None else hold(drawn, numpy_dtype(dtype))

    def linspace(self, start: Any, stop: Any, count: Any, *, dtype: str | None = None) -> Any:
        """Count numbers from start to stop, inclusive, evenly apart."""
        name = dtype or self.dtype
        (size,) = self._reserve((_size(count),), name)
        return hold(np.linspace(_number(start), _number(stop), size), numpy_dtype(name))

    def tensor(self, values: Any, *, dtype: str | None = None) -> Any:
        """Nested lists of numbers."""
        name = dtype or self.dtype
        _check_dtype(name)
        made = hold(values, numpy_dtype(name))
        self._reserve(made.shape, name)
        return made

    def uniform(self, low: Any, high: Any, *shape: Any, dtype: str | None = None) -> Any:
        """Numbers between low and high, evenly spread; whole ones for integers, high exclusive."""
        name = dtype or self.dtype
        if is_exact(name):
            return self.randint(low, high, *shape, dtype=name)
        sizes = self._reserve(_shape(shape), name)
        return hold(self.rng.uniform(_number(low), _number(high), sizes), numpy_dtype(name))

    def permutation(self, count: Any, *, dtype: str | None = None) -> Any:
        """The integers below count in random order: int64 unless the dtype is an integer one."""
        name = dtype or (self.dtype if self.dtype in _INTEGERS else "int64")
        (size,) = self._reserve((_size(count),), name)
        return hold(self.rng.permutation(size), numpy_dtype(name))

    def bernoulli(self, chance: Any, *shape: Any, dtype: str | None = None) -> Any:
        """Ones with the chance given, zeros else."""
        name = dtype or self.dtype
        sizes = self._reserve(_shape(shape), name)
        if isinstance(chance, complex) or not 0 <= _number(chance) <= 1:
            raise ValueError("a chance is from 0 to 1")
        return np.asarray(self.rng.random(sizes) < chance).astype(numpy_dtype(name))

    def sorted(self, array: Any, axis: Any = -1) -> Any:
        """The array's elements in ascending order along axis."""
        return np.sort(_array(array), _integer(axis))

    def triangular(self, array: Any, diagonal: Any = 0) -> Any:
        """The array with zeros above the diagonal."""
        return np.tril(_matrices(array), _integer(diagonal))

    def strided(self, array: Any, step: Any) -> Any:
        """The same elements, each step elements from the next along the last axis in memory."""
        array = _array(array)
        if not array.ndim or _integer(step) < 1:
            raise ValueError("an array with axes and a step from 1 on are wanted")
        wide = self.zeros(*array.shape[:-1], array.shape[-1] * step, dtype=array.dtype.name)
        wide[..., ::step] = array
        return wide[..., ::step]

    def transposed(self, array: Any) -> Any:
        """The same elements, the last two axes swapped in memory."""
        return np.ascontiguousarray(_matrices(array).swapaxes(-1, -2)).swapaxes(-1, -2)

    def _reserve(self, shape: tuple[int, ...], dtype: str) -> tuple[int, ...]:
        """*shape*, if an array of it and those made before fit into the memory there is."""
        _check_dtype(dtype)
        self.taken += math.prod(shape) * (DTYPES[dtype] + _WORK_BYTES)
        if self.taken > 2**20 and self.taken > available_bytes():  # small ones need no look
            sizes = ", ".join(map(str, shape))
            message = f"{dtype}[{sizes}] takes {self.taken / 2**30:,.1f} GiB to make, more than is free"
            raise MemoryError(message)
        return shape


def _matrices(value: Any) -> Any:
    if _array(value).ndim < 2:
        raise ValueError("an array with two axes or more is wanted")
    return value


def _array(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"an array is wanted, not {value!r}"[:80])
    return value


def _check_dtype(name: str) -> None:
    if name not in DTYPES:
        raise ValueError(f"unknown dtype `{name}`")


def _shape(arguments: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given one by one, or as one list or tuple."""
    if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)):
        arguments = tuple(arguments[0])
    if len(arguments) > _MAX_DIMENSIONS:
        raise ValueError(f"{len(arguments)} dimensions are more than {_MAX_DIMENSIONS}")
    return tuple(map(_size, arguments))


def _size(value: Any) -> int:
    if _integer(value) < 0:
        raise ValueError(f"size {value} is negative")
    return int(value)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"an integer is wanted, not {value!r}"[:80])
    return value


def _number(value: Any) -> Any:
    if not isinstance(value, (int, float, complex)):
        raise TypeError(f"a number is wanted, not {value!r}"[:80])
    return value
