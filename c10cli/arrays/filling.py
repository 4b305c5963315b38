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

from c10cli.arrays.dtypes import ARRAY_FUNCTIONS, DTYPES

_WORK_BYTES: Final = 8  # per element, for what is drawn before it is converted
_MAX_DIMENSIONS: Final = 32
_INTEGERS: Final = tuple(name for name in DTYPES if name.startswith(("int", "uint")))


def array_functions(dtype: str = "float32", rng: Any = None) -> dict[str, Callable[..., object]]:
    """The functions by name, making arrays of *dtype* with random numbers from *rng*."""
    filler = _Filler(dtype, rng)
    return {name: getattr(filler, name) for name in ARRAY_FUNCTIONS}


def convert_like(array: Any, result: Any, dtype: str) -> Any:
    """*result* of arithmetic on *array*, as an array in the array's dtype.

    Where integers became fractions, it takes *dtype*, if that is no integer.
    """
    result = np.asarray(result)  # arithmetic makes a scalar of an array without dimensions
    if array.dtype.kind not in "iub":
        return result if result.dtype.kind == "c" else result.astype(array.dtype, copy=False)
    wanted = _numpy_dtype(dtype)
    became_fraction = result.dtype.kind not in "iub"
    return result.astype(wanted, copy=False) if became_fraction and wanted.kind not in "iub" else result


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
        kind = _numpy_dtype(name)
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
        with np.errstate(all="ignore"):
            return np.full(sizes, _number(value), dtype=_numpy_dtype(name))

    def arange(self, start: Any, stop: Any = None, step: Any = 1, *, dtype: str | None = None) -> Any:
        """Numbers from start (0 if only one argument is given) to stop, exclusive."""
        first, last = (0, start) if stop is None else (start, stop)
        for value in (first, last, step):
            _number(value)
        if step == 0:
            raise ValueError("the step is 0")
        name = dtype or self.dtype
        self._reserve((max(math.ceil((last - first) / step), 0),), name)
        with np.errstate(all="ignore"):
            return np.arange(first, last, step).astype(_numpy_dtype(name))

    def randint(self, low: Any, high: Any, *shape: Any, dtype: str | None = None) -> Any:
        """Integers from low to high, exclusive: int64 unless the dtype is an integer one."""
        name = dtype or self.dtype
        drawn_as = name if name in _INTEGERS else "int64"
        sizes = self._reserve(_shape(shape), drawn_as)
        drawn = np.asarray(self.rng.integers(_integer(low), _integer(high), sizes, dtype=drawn_as))
        return drawn if dtype is None else drawn.astype(_numpy_dtype(dtype), copy=False)

    def linspace(self, start: Any, stop: Any, count: Any, *, dtype: str | None = None) -> Any:
        """Count numbers from start to stop, inclusive, evenly apart."""
        name = dtype or self.dtype
        (size,) = self._reserve((_size(count),), name)
        with np.errstate(all="ignore"):
            return np.linspace(_number(start), _number(stop), size).astype(_numpy_dtype(name))

    def _reserve(self, shape: tuple[int, ...], dtype: str) -> tuple[int, ...]:
        """*shape*, if an array of it and those made before fit into the memory there is."""
        _check_dtype(dtype)
        self.taken += math.prod(shape) * (DTYPES[dtype] + _WORK_BYTES)
        if self.taken > 2**20 and self.taken > available_bytes():  # small ones need no look
            sizes = ", ".join(map(str, shape))
            message = f"{dtype}[{sizes}] takes {self.taken / 2**30:,.1f} GiB to make, more than is free"
            raise MemoryError(message)
        return shape


def _check_dtype(name: str) -> None:
    if name not in DTYPES:
        raise ValueError(f"unknown dtype `{name}`")


def _numpy_dtype(name: str) -> Any:
    if name.startswith(("bfloat", "float8")):
        try:
            import ml_dtypes
        except ImportError as error:
            raise ImportError(f"{name} needs the package ml_dtypes (extra `dtypes`)") from error
        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


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
