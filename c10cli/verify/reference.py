"""A kernel against the reference: the same arguments, results within the tolerance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from c10cli.describe import describe, describe_error, dtype_name
from c10cli.entry_points.importing import load_entry_point
from c10cli.errors import Diagnostic, KernelError
from c10cli.manifest.declarations import KernelDecl, OperatorDecl
from c10cli.schema.bindings import bind_domain
from c10cli.schema.model import FunctionSchema
from c10cli.verify.difference import WIDE, Difference, find_difference
from c10cli.verify.inputs import Arguments, CasePoint, as_arrays, copy_tensors, make_arguments, place_case
from c10cli.verify.kernel_call import Call, call_checked, check_left_alone, check_results, contents_of_call


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


def expect(
    decl: OperatorDecl, point: CasePoint, *, seed: int = 0, arguments: Arguments | None = None
) -> Expectation:
    """The arguments of *point*, or those given, and the reference's results for them.

    It gets copies, and what it gives is copied: it may give a view of an
    argument, or keep its output buffer and write into it at its next call.

    Raises:
        KernelError: C10E508, the reference raised or gave something else than the schema says.
        ManifestError, ArgumentError, RegistrationError: see `make_arguments`, `load_entry_point`.
    """
    if arguments is None:
        arguments = make_arguments(decl, point, seed=seed)
    if decl.reference is None:
        return Expectation(point, arguments, None)
    reference = load_entry_point(decl.reference)
    given = _upcast(copy_tensors(arguments), decl.upcast)
    try:
        returns = call_checked(decl.schema, decl.reference.text, _giving_arrays(reference), given)
        _check_domain(decl, arguments, returns)
    except KernelError as error:
        reason = error.diagnostics[0]
        told = reason.message.replace(f"kernel `{decl.reference.text}` of `{decl.name}`", "it")
        fact = f"the reference of `{decl.name}` failed on case {point.label}: {told}"
        todo = "make the reference right first; every kernel is judged by it"
        failed = Diagnostic("C10E508", fact, decl.reference.span, notes=reason.notes, help=todo)
        raise KernelError(failed, operator=str(decl.name)) from error
    written = _written(decl.schema, given, returns)
    return Expectation(point, arguments, returns, copy_tensors(written))


def _upcast(value: Any, dtype: str) -> Any:
    """*value*, such as arguments by name, with floating arrays in *dtype*, complex ones likewise."""
    if isinstance(value, dict):
        return {name: _upcast(element, dtype) for name, element in value.items()}
    if isinstance(value, list):
        return [_upcast(element, dtype) for element in value]
    if (
        not dtype
        or not isinstance(value, np.ndarray)
        or dtype_name(value.dtype).startswith(("int", "uint", "bool"))
    ):
        return value
    return value.astype(np.promote_types(value.dtype, dtype))  # what is wider stays that


def _compared(
    decl: OperatorDecl, kernel: str, returns: tuple[Any, ...], expectation: Expectation
) -> Difference | None:
    """What the operator's own comparator says of *returns*.

    Raises:
        KernelError: C10E508, it raised, or gave neither a text nor None.
    """
    assert decl.compare is not None
    # Copies, as it may sort them in place.
    given, results, expected = map(copy_tensors, (expectation.arguments, returns, expectation.returns or ()))
    arguments = {name: as_arrays(value) for name, value in given.items()}
    results, expected = tuple(map(as_arrays, results)), tuple(map(as_arrays, expected))
    try:
        said = load_entry_point(decl.compare)(results, expected, arguments)
        fault = (
            "" if said is None or isinstance(said, str) else f"gave {describe(said)}, neither a text nor None"
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever its own code raises
        said, fault = None, f"raised {describe_error(error)}"
    if fault:
        fact = f"the comparator `{decl.compare.text}` of `{decl.name}` {fault}"
        raise KernelError(Diagnostic("C10E508", fact, decl.compare.span, help="correct the comparator"))
    return (
        Difference(" ".join(said.split())[:1000], "correct the kernel, or the comparator") if said else None
    )


def _check_domain(decl: OperatorDecl, arguments: Arguments, returns: tuple[Any, ...]) -> None:
    """Refuse results of the reference that the domain does not have; any wide dtype is right."""
    bindings = bind_domain(decl.domain, arguments) if decl.domain and decl.domain.returns else None
    for at, result in enumerate(returns if bindings else ()):
        fault = bindings.return_fault(at, result, any_dtype=(*WIDE, decl.upcast))  # type: ignore[union-attr]
        if fault:
            fact = f"it breaks the domain in return `{decl.schema.returns[at].name or at}`: {fault}"
            raise KernelError(Diagnostic("C10E503", fact))


def _giving_arrays(reference: Callable[..., Any]) -> Callable[..., Any]:
    """*reference* with copies of its results, and its NumPy scalars as arrays.

    ``x.sum()`` and ``x.T`` are the obvious things to write.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        result = copy_tensors(reference(*args, **kwargs))
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
    kernel: KernelDecl,
    function: Callable[..., Any],
    expectation: Expectation,
    *,
    twice: bool = False,
) -> tuple[Diagnostic, ...]:
    """Where *function* differs from the reference on the arguments of *expectation*.

    Args:
        function: *kernel*, taking the schema's arguments.
        twice: call it a second time, and see what became of the first call.

    Raises:
        KernelError: the call breaks what the schema promises; see `call_checked`.
            Its cause is what the kernel raised.
        DispatchError, ArgumentError: the arguments cannot be made; see `place_case`.
    """

    name = kernel.name

    def call() -> Call:
        arguments = place_case(decl, expectation.point, expectation.arguments, kernel)
        returns = call_checked(decl.schema, name, function, arguments, decl.domain)
        check_results(decl.schema, name, arguments, returns)
        return arguments, returns

    try:
        first = call()
        found = find_differences(decl, name, *first, expectation)
        if found or not twice:
            return found
        before = contents_of_call(first)
        second = call()
        check_left_alone(decl.schema, name, first, before, second)
    except KernelError as error:
        noted = [d.with_notes(f"in case {expectation.point.label}") for d in error.diagnostics]
        raise KernelError(*noted, **error.facts) from (error.__cause__ or error)
    found = find_differences(decl, name, *second, expectation)
    return tuple(finding.with_notes("only in the second call with the same contents") for finding in found)


def find_differences(
    decl: OperatorDecl, kernel: str, arguments: Arguments, returns: tuple[Any, ...], expectation: Expectation
) -> tuple[Diagnostic, ...]:
    """A finding for each return and written argument that is not as the reference gives it."""
    if expectation.returns is None:
        return ()
    names = [f"return `{declared.name or index}`" for index, declared in enumerate(decl.schema.returns)]
    form_only = decl.compare is not None
    compared = [(*triple, form_only) for triple in zip(names, returns, expectation.returns, strict=True)]
    compared += [
        (f"argument `{n}`", arguments[n], wanted, False) for n, wanted in expectation.written.items()
    ]
    found = [(what, find_difference(decl, arguments, *values)) for what, *values in compared]
    if decl.compare is not None and not any(difference for _, difference in found):
        found.append(("what it gives", _compared(decl, kernel, returns, expectation)))
    place = f"case {expectation.point.label} of {decl.name}"
    shown = ", ".join(f"`{n}`: {describe(v)}" for n, v in expectation.arguments.items())
    return tuple(
        Diagnostic(
            "C10E504",
            f"kernel `{kernel}` of `{decl.name}` differs from the reference in {what}: {difference.fact}",
            place=place,
            notes=(f"the arguments are {shown}",),
            help=difference.help or "correct the kernel",
        )
        for what, difference in found
        if difference
    )
