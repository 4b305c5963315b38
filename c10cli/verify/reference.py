"""A kernel against the reference: the same arguments, results within the tolerance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from c10cli.arrays.compare import compare_arrays
from c10cli.arrays.placement import to_numpy
from c10cli.dispatch.describe import describe
from c10cli.errors import C10Error, Diagnostic, KernelError
from c10cli.manifest.loading import load_entry_point
from c10cli.manifest.model import OperatorDecl, Tolerance
from c10cli.verify.checked import call_checked
from c10cli.verify.inputs import (
    Arguments,
    CasePoint,
    copy_tensors,
    make_arguments,
    place_arguments,
    tensors_of,
)

# Where a manifest has no tolerance for a dtype: some ten times the rounding of one operation.
_DEFAULT_TOLERANCE = {
    "float64": Tolerance(1e-12, 1e-13),
    "float32": Tolerance(1e-5, 1e-6),
    "float16": Tolerance(5e-3, 1e-3),
    "bfloat16": Tolerance(4e-2, 1e-2),
    "complex64": Tolerance(1e-5, 1e-6),
    "complex128": Tolerance(1e-12, 1e-13),
}
_EXACT = Tolerance(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The arguments of a case point, and what the reference makes of them.

    Args:
        returns: the reference's results, as arrays; None where the operator
            has no reference.
    """

    point: CasePoint
    arguments: Arguments
    returns: tuple[Any, ...] | None


def expect(decl: OperatorDecl, point: CasePoint, *, seed: int = 0) -> Expectation:
    """The arguments of *point* and the reference's results for them.

    Raises:
        KernelError: C10E508, the reference raised or gave something else than the schema says.
        ManifestError, ArgumentError, RegistrationError: see `make_arguments`, `load_entry_point`.
    """
    arguments = make_arguments(decl, point, seed=seed)
    if decl.reference is None:
        return Expectation(point, arguments, None)
    reference = load_entry_point(decl.reference)
    try:
        returns = call_checked(decl.schema, decl.reference.text, reference, copy_tensors(arguments))
    except KernelError as error:
        reason = error.diagnostics[0]
        raise KernelError(
            Diagnostic(
                "C10E508",
                f"the reference of `{decl.name}` failed on case {point.label}: {reason.message}",
                decl.reference.span,
                notes=reason.notes,
                help="make the reference right first; every kernel is judged by it",
            ),
            operator=str(decl.name),
        ) from error
    return Expectation(point, arguments, returns)


def check_kernel(
    decl: OperatorDecl,
    kernel: str,
    function: Callable[..., Any],
    dispatch_key: str,
    expectation: Expectation,
) -> tuple[Diagnostic, ...]:
    """What is wrong with *function* on the arguments of *expectation*; nothing where it is right.

    Args:
        kernel: its name, for messages.
        function: takes the schema's arguments.
        dispatch_key: where the arguments are placed.

    Raises:
        DispatchError: C10E607, this machine makes no tensor of *dispatch_key*.
    """
    arguments = place_arguments(copy_tensors(expectation.arguments), dispatch_key)
    try:
        returns = call_checked(decl.schema, kernel, function, arguments)
    except C10Error as error:
        notes = (f"in case {expectation.point.label}",)
        return tuple(diagnostic.with_notes(*notes) for diagnostic in error.diagnostics)
    return check_returns(decl, kernel, returns, expectation)


def check_returns(
    decl: OperatorDecl, kernel: str, returns: tuple[Any, ...], expectation: Expectation
) -> tuple[Diagnostic, ...]:
    """Where *returns* differ from what the reference gives; nothing without a reference."""
    if expectation.returns is None:
        return ()
    found = []
    for index, (actual, expected) in enumerate(zip(returns, expectation.returns, strict=True)):
        fact = _difference(decl, actual, expected)
        if fact:
            name = decl.schema.returns[index].name or str(index)
            found.append(_wrong(decl, kernel, name, fact, expectation))
    return tuple(found)


def _difference(decl: OperatorDecl, actual: Any, expected: Any) -> str:
    got, wanted = _arrays(actual), _arrays(expected)
    if len(got) != len(wanted):
        return f"{len(got)} tensors where the reference gives {len(wanted)}"
    for one, other in zip(got, wanted, strict=True):
        if _kind(one) != _kind(other):
            return f"the dtype is {one.dtype} where the reference gives {other.dtype}"
        tolerance = tolerance_of(decl, one.dtype.name)
        mismatch = compare_arrays(one, other, rtol=tolerance.rtol, atol=tolerance.atol)
        if mismatch:
            return mismatch.fact
    return ""


def _arrays(value: Any) -> list[Any]:
    """A result as arrays to compare: tensors read, numbers as 0-d arrays."""
    tensors = tensors_of(value)
    if tensors:
        return [to_numpy(tensor) for tensor in tensors]
    return [] if isinstance(value, list | tuple) or value is None else [np.asarray(value)]


def _kind(array: Any) -> str:
    """The dtype's kind; what is no kind of NumPy's own (bfloat16) is a float."""
    kind = str(array.dtype.kind)
    return {"u": "i", "V": "f"}.get(kind, kind)


def tolerance_of(decl: OperatorDecl, dtype: str) -> Tolerance:
    """How far a result of *dtype* may be from the reference: the manifest's word, or the default."""
    return decl.tolerance.get(dtype) or _DEFAULT_TOLERANCE.get(dtype, _EXACT)


def _wrong(decl: OperatorDecl, kernel: str, name: str, fact: str, expectation: Expectation) -> Diagnostic:
    shown = ", ".join(f"`{n}`: {describe(v)}" for n, v in expectation.arguments.items())
    return Diagnostic(
        "C10E504",
        f"kernel `{kernel}` of `{decl.name}` differs from the reference in return `{name}`: {fact}",
        place=f"case {expectation.point.label} of {decl.name}",
        notes=(f"the arguments are {shown}",),
        help="correct the kernel, or widen `tolerance:` with a reason",
    )
