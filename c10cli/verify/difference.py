"""How a result differs from the reference's: in what it is, in its dtype, in its elements.

Note [Result dtypes]: a reference computes in float64 (complex128), so that
dtype of its own states nothing; any other one is a statement.  A floating
result is to have the dtype of the floating arguments, or the one that the
reference states.  Where the arguments have several, none coarser than all of
them; where they have none, none coarser than float32.  Integers are computed
exactly, so theirs is the reference's dtype.  Where the domain has `returns`, it
says all of that, or leaves the width open.  The tolerance is that of the coarser of the two dtypes compared:
of one that is right, or that the manifest leaves open, never of one that only
the kernel chose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from c10cli.arrays.compare import compare_arrays
from c10cli.arrays.placement import to_numpy
from c10cli.arrays.tensor_types import is_mapping, is_tensor, tensors_of
from c10cli.describe import describe, dtype_name
from c10cli.manifest.declarations import OperatorDecl, Tolerance
from c10cli.verify.inputs import Arguments

# Where a manifest has no tolerance for a dtype: some ten times the rounding of one operation.
_DEFAULT_TOLERANCE: Final = {
    "float64": Tolerance(1e-12, 1e-13),
    "float32": Tolerance(1e-5, 1e-6),
    "float16": Tolerance(5e-3, 1e-3),
    "bfloat16": Tolerance(4e-2, 1e-2),
    "complex64": Tolerance(1e-5, 1e-6),
    "complex128": Tolerance(1e-12, 1e-13),
}

# The finest first; a dtype that is not here counts as the finest.
_FLOATS: Final = ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
_COMPLEX: Final = ("complex128", "complex64")
_FLOAT_OF: Final = {"complex128": "float64", "complex64": "float32"}
# What references compute in, whatever they are given; says nothing of a result.
WIDE: Final = ("float64", "complex128")


@dataclass(frozen=True, slots=True)
class Difference:
    """What is different, and what to do about it where that is clear."""

    fact: str
    help: str = ""


def tolerance_of(decl: OperatorDecl, dtype: str) -> Tolerance:
    """How far a result of *dtype* may be from the reference: the manifest's word, or the default."""
    return decl.tolerance.get(dtype, _DEFAULT_TOLERANCE.get(dtype, Tolerance(0.0, 0.0)))


def find_difference(
    decl: OperatorDecl, arguments: Arguments, actual: Any, expected: Any, form_only: bool = False
) -> Difference | None:
    """The first difference of *actual* from *expected*, or None; see Note [Result dtypes].

    Args:
        arguments: of the call, whose dtypes a result keeps.
        form_only: whether elements and numbers may be any.
    """
    return _Comparison(decl, arguments, form_only).of(actual, expected)


class _Comparison:
    """Results of one call with those of the reference; lists and dictionaries place by place."""

    def __init__(self, decl: OperatorDecl, arguments: Arguments, form_only: bool) -> None:
        self._decl, self._form_only = decl, form_only
        tensors = [tensor for value in arguments.values() for tensor in tensors_of(value)]
        self._given = list(dict.fromkeys(dtype_name(tensor.dtype) for tensor in tensors))

    def of(self, actual: Any, expected: Any) -> Difference | None:
        if is_tensor(actual) and is_tensor(expected):
            return self._of_tensors(actual, expected)
        if is_mapping(actual) and is_mapping(expected):
            if actual.keys() != expected.keys():
                shown = (", ".join(sorted(map(repr, keys))) or "none" for keys in (actual, expected))
                return Difference("the keys are {} where the reference gives {}".format(*shown))
            return self._of_elements(actual, expected)
        if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
            if len(actual) != len(expected):
                return Difference(f"{len(actual)} values where the reference gives {len(expected)}")
            return self._of_elements(dict(enumerate(actual)), dict(enumerate(expected)))
        return self._of_values(actual, expected)

    def _of_elements(self, actual: Mapping[Any, Any], expected: Mapping[Any, Any]) -> Difference | None:
        for place, wanted in expected.items():
            found = self.of(actual[place], wanted)
            if found:
                return Difference(f"element {place!r}: {found.fact}", found.help)
        return None

    def _of_values(self, actual: Any, expected: Any) -> Difference | None:
        """Numbers within the tolerance, anything else exactly."""
        is_same_kind = _kind_of_number(actual) == _kind_of_number(expected)
        fits = is_same_kind if self._form_only else _equal(actual, expected)
        if is_same_kind and not fits and _kind_of_number(actual) in ("float", "complex"):
            # A number out of arrays is no more exact than they are.
            coarse = _coarsest([d for d in self._given if d in _FLOATS + _COMPLEX], "float64")
            tolerance = tolerance_of(self._decl, coarse)
            fits = _mismatch(np.asarray(actual), np.asarray(expected), tolerance) is None
        if fits:
            return None
        widen = WIDEN if _kind_of_number(expected) in ("float", "complex") else ""
        return Difference(f"it is {_shown(actual)} where the reference gives {_shown(expected)}", widen)

    def _of_tensors(self, actual: Any, expected: Any) -> Difference | None:
        masked = np.count_nonzero(actual.mask) if isinstance(actual, np.ma.MaskedArray) else 0
        if masked:
            fact = f"{masked} elements are masked, and so have no value"
            return Difference(fact, "return a plain array, with a value everywhere")
        got, wanted = to_numpy(actual), to_numpy(expected)
        # What speaks DLPack alone has no dtype of its own; what NumPy does not have is read as another one.
        dtype, stated = (
            dtype_name(getattr(t, "dtype", a.dtype)) for t, a in ((actual, got), (expected, wanted))
        )
        fault = self._dtype_fault(dtype, stated)
        if fault:
            return fault
        tolerance = tolerance_of(self._decl, _coarsest([dtype, stated], stated))
        if self._form_only and got.shape == wanted.shape:
            return None
        mismatch = _mismatch(got, wanted, tolerance)
        widens = got.shape == wanted.shape and _kind(stated) in ("float", "complex")
        return Difference(mismatch, WIDEN if widens else "") if mismatch else None

    def _dtype_fault(self, dtype: str, stated: str) -> Difference | None:
        kind, fact = _kind(dtype), f"the dtype is {dtype} where the reference gives {stated}"
        if kind != _kind(stated):
            wanted = {"float": "a floating", "complex": "a complex"}.get(_kind(stated), "the reference's")
            return Difference(fact, f"return {wanted} dtype")
        if (self._decl.domain and self._decl.domain.returns) or (dtype == stated and stated not in WIDE):
            return None
        if kind == "integer":
            return Difference(fact, _KEEP.format("the reference's"))
        if kind not in ("float", "complex"):
            return None
        kept = _COMPLEX if dtype in _COMPLEX else (*_FLOATS, *_COMPLEX)
        given = [d if kept is _COMPLEX else _FLOAT_OF.get(d, d) for d in self._given if d in kept]
        coarsest = _coarsest(given, "complex64" if kept is _COMPLEX else "float32")
        if dtype in given or (len(set(given)) != 1 and _rank(dtype) <= _rank(coarsest)):
            return None
        if not given:
            return Difference(fact, _KEEP.format("the reference's"))
        fact = f"the dtype is {dtype} where the arguments are {' and '.join(dict.fromkeys(given))}"
        return Difference(fact, _KEEP.format("the arguments'"))


_KEEP = "return {} dtype, or say another one under `returns` in the operator's domain"
WIDEN = "correct the kernel, or widen `tolerance:` with a reason"


def _mismatch(actual: Any, expected: Any, tolerance: Tolerance) -> str | None:
    return compare_arrays(actual, expected, rtol=tolerance.rtol, atol=tolerance.atol)


def _rank(dtype: str) -> int:
    order = _COMPLEX if dtype in _COMPLEX else _FLOATS
    return order.index(dtype) if dtype in order else 0


def _coarsest(dtypes: list[str], usual: str) -> str:
    return max(dtypes, key=_rank, default=usual)


def _kind(dtype: str) -> str:
    """``float``, ``integer``, ``complex``, or the dtype itself."""
    family = dtype.rstrip("0123456789")
    if dtype.startswith(("float", "bfloat")):
        return "float"
    return {"int": "integer", "uint": "integer"}.get(family, family)


def _kind_of_number(value: Any) -> str:
    """``int``, ``float``, …; empty for what is no number."""
    plain = value.item() if isinstance(value, np.generic) else value
    return next((n.__name__ for n in (bool, int, float, complex) if isinstance(plain, n)), "")


def _equal(actual: Any, expected: Any) -> bool:
    """Whether two values are of one kind and equal; what refuses to be compared is not."""
    if _kind_of_number(actual) != _kind_of_number(expected):
        return False
    try:
        return actual is expected or bool(actual == expected)
    except Exception:  # noqa: BLE001 - of a value that c10cli knows nothing of
        return False


def _shown(value: Any) -> str:
    """A text or a number itself, anything else described."""
    plain = isinstance(value, str | int | float | complex | np.generic)
    return str(value)[:80] if plain else describe(value)
