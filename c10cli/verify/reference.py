"""A kernel against the reference: the same arguments, results within the tolerance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from c10cli.arrays.compare import compare_arrays
from c10cli.arrays.placement import to_numpy
from c10cli.dispatch.describe import describe, dtype_name
from c10cli.dispatch.tensor_types import is_tensor
from c10cli.errors import Diagnostic, KernelError
from c10cli.manifest.loading import load_entry_point
from c10cli.manifest.model import OperatorDecl, Tolerance
from c10cli.schema import FunctionSchema
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
        written: what the mutable arguments hold after the call.
    """

    point: CasePoint
    arguments: Arguments
    returns: tuple[Any, ...] | None
    written: Mapping[str, Any] = field(default_factory=dict)


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
    given = copy_tensors(arguments)
    try:
        returns = call_checked(decl.schema, decl.reference.text, _giving_arrays(reference), given)
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
    return Expectation(point, arguments, returns, _written(decl.schema, given, returns))


def _giving_arrays(reference: Callable[..., Any]) -> Callable[..., Any]:
    """*reference* with its NumPy scalars as arrays: ``x.sum()`` is the obvious thing to write."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = reference(*args, **kwargs)
        if isinstance(result, tuple):
            return tuple(np.asarray(r) if isinstance(r, np.generic) else r for r in result)
        return np.asarray(result) if isinstance(result, np.generic) else result

    return call


def _written(schema: FunctionSchema, arguments: Arguments, returns: tuple[Any, ...]) -> dict[str, Any]:
    """What each mutable argument holds: the return that it is, or else what was written there."""
    written = {}
    for argument in schema.arguments:
        if argument.alias is not None and argument.is_mutable:
            sets = argument.alias.written_sets
            values = zip(schema.returns, returns, strict=True)
            same = [value for declared, value in values if declared.alias and declared.alias.sets & sets]
            written[argument.name] = same[0] if same else arguments[argument.name]
    return written


def check_kernel(
    decl: OperatorDecl,
    kernel: str,
    function: Callable[..., Any],
    dispatch_key: str,
    expectation: Expectation,
    *,
    arrays: str = "",
) -> tuple[Diagnostic, ...]:
    """Where *function* differs from the reference on the arguments of *expectation*.

    Args:
        kernel: its name, for messages.
        function: takes the schema's arguments.
        dispatch_key: where the arguments are placed.
        arrays: the library whose tensors it takes; empty: the usual one of the key.

    Raises:
        KernelError: the call breaks what the schema promises; see `call_checked`.
            Its cause is what the kernel raised.
        DispatchError: C10E607, this machine makes no tensor of *dispatch_key*.
    """
    arguments = place_arguments(copy_tensors(expectation.arguments), dispatch_key, arrays)
    try:
        returns = call_checked(decl.schema, kernel, function, arguments)
    except KernelError as error:
        noted = [d.with_notes(f"in case {expectation.point.label}") for d in error.diagnostics]
        raise KernelError(*noted, **error.facts) from (error.__cause__ or error)
    return _differences(decl, kernel, arguments, returns, expectation)


def _differences(
    decl: OperatorDecl,
    kernel: str,
    arguments: Arguments,
    returns: tuple[Any, ...],
    expectation: Expectation,
) -> tuple[Diagnostic, ...]:
    """A finding for each return and written argument that is not as the reference gives it."""
    if expectation.returns is None:
        return ()
    compared = [
        (f"return `{declared.name or index}`", actual, expected)
        for index, (declared, actual, expected) in enumerate(
            zip(decl.schema.returns, returns, expectation.returns, strict=True)
        )
    ]
    compared += [(f"argument `{n}`", arguments[n], expected) for n, expected in expectation.written.items()]
    shared = _shared_float(arguments) if decl.result_dtype == "argument" else ""
    found = []
    for what, actual, expected in compared:
        fact = _other_dtype(actual, expected, shared)
        todo = _KEEP_DTYPE if fact else ""
        fact = fact or _difference(decl, actual, expected)
        if fact:
            found.append(_wrong(decl, kernel, what, fact, expectation, todo))
    return tuple(found)


_KEEP_DTYPE = "return the arguments' dtype, or write `result_dtype: any` in the operator"


def _shared_float(arguments: Arguments) -> str:
    """The floating dtype of all tensor arguments that have one; empty where they have several or none."""
    dtypes = {dtype_name(t.dtype) for value in arguments.values() for t in tensors_of(value)}
    floats = {dtype for dtype in dtypes if _is_float(dtype)}
    return floats.pop() if len(floats) == 1 else ""


def _other_dtype(actual: Any, expected: Any, shared: str) -> str:
    """What is said of a floating result in neither the arguments' dtype nor one that the reference states.

    A reference computes in float64, so float64 of its own states nothing.
    """
    if not (shared and is_tensor(actual) and is_tensor(expected)):
        return ""
    dtype, stated = dtype_name(actual.dtype), dtype_name(expected.dtype)
    if (
        not _is_float(dtype)
        or not _is_float(stated)
        or dtype in (shared, stated if stated != "float64" else "")
    ):
        return ""
    return f"the dtype is {dtype} where the arguments are {shared}"


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def _difference(decl: OperatorDecl, actual: Any, expected: Any) -> str:
    got, wanted = _arrays(actual), _arrays(expected)
    if len(got) != len(wanted):
        return f"{len(got)} values where the reference gives {len(wanted)}"
    for one, other in zip(got, wanted, strict=True):
        if _kind(one) != _kind(other):
            return f"the dtype is {one.dtype} where the reference gives {other.dtype}"
        if _kind(one) in "USO":
            if one != other:
                return f"it is {one!s} where the reference gives {other!s}"
            continue
        tolerance = tolerance_of(decl, one.dtype.name)
        mismatch = compare_arrays(one, other, rtol=tolerance.rtol, atol=tolerance.atol)
        if mismatch:
            return mismatch.fact
    return ""


def _arrays(value: Any) -> list[Any]:
    """A result as arrays to compare: tensors read, anything else as 0-d arrays, None left out."""
    elements = value if isinstance(value, list | tuple) else [value]
    return [to_numpy(e) if is_tensor(e) else np.asarray(e) for e in elements if e is not None]


def _kind(array: Any) -> str:
    """The dtype's kind; what is no kind of NumPy's own (bfloat16) is a float."""
    kind = str(array.dtype.kind)
    return {"u": "i", "V": "f"}.get(kind, kind)


def tolerance_of(decl: OperatorDecl, dtype: str) -> Tolerance:
    """How far a result of *dtype* may be from the reference: the manifest's word, or the default."""
    return decl.tolerance.get(dtype, _DEFAULT_TOLERANCE.get(dtype, _EXACT))


def _wrong(
    decl: OperatorDecl, kernel: str, what: str, fact: str, expectation: Expectation, todo: str = ""
) -> Diagnostic:
    shown = ", ".join(f"`{n}`: {describe(v)}" for n, v in expectation.arguments.items())
    return Diagnostic(
        "C10E504",
        f"kernel `{kernel}` of `{decl.name}` differs from the reference in {what}: {fact}",
        place=f"case {expectation.point.label} of {decl.name}",
        notes=(f"the arguments are {shown}",),
        help=todo or "correct the kernel, or widen `tolerance:` with a reason",
    )
