"""The arguments of a case: expressions evaluated, shaped by the schema, the same for every kernel."""

from __future__ import annotations

import copy
import hashlib
import inspect
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from c10cli.arrays.elements import judge_elements
from c10cli.arrays.evaluate import evaluate
from c10cli.arrays.filling import hold
from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import library_of
from c10cli.arrays.more_dtypes import numpy_dtype
from c10cli.arrays.placement import place, to_numpy
from c10cli.arrays.tensor_types import fault_of, is_mapping, is_tensor, tensors_of
from c10cli.describe import describe, describe_error
from c10cli.entry_points.entry_point import EntryPoint
from c10cli.entry_points.importing import load_entry_point
from c10cli.errors import ArgumentError, C10Error, Diagnostic, ManifestError, Span
from c10cli.manifest.cases import is_quoted, is_word
from c10cli.manifest.declarations import CaseDecl, KernelDecl, OperatorDecl
from c10cli.schema import types as schema_types
from c10cli.schema.bindings import bind_domain
from c10cli.schema.expression import parse_expression
from c10cli.schema.model import Argument
from c10cli.verify.made_arguments import generate, no_domain

Arguments = dict[str, Any]
# What kernels of other libraries than NumPy's could not be given.
_TEXTS = ("holds texts", "give numbers, such as their codes")


@dataclass(frozen=True, slots=True)
class CasePoint:
    """One point of a case's sweep, in one dtype."""

    case: CaseDecl
    values: Mapping[str, Any]
    dtype: str

    @property
    def label(self) -> str:
        """``transformer[rows=512,cols=768]/float32``."""
        sizes = ",".join(f"{name}={value}" for name, value in self.values.items())
        return f"{self.case.name}[{sizes}]/{self.dtype}" if sizes else f"{self.case.name}/{self.dtype}"


def case_points(decl: OperatorDecl, *, bench_only: bool = False) -> Iterator[CasePoint]:
    """Every point of every case of *decl*, in the manifest's order.

    Args:
        bench_only: leave out the cases that are not for timing.
    """
    for case in decl.cases:
        if bench_only and not case.bench:
            continue
        swept = (
            dict(zip(case.sweep, values, strict=True)) for values in itertools.product(*case.sweep.values())
        )
        for values, point in itertools.product(swept, case.points or ({},)):
            for dtype in case.dtypes:
                yield CasePoint(case, {**point, **values}, dtype)


def make_arguments(decl: OperatorDecl, point: CasePoint, *, seed: int = 0) -> Arguments:
    """The arguments of *point* by name, in schema order, defaults filled; arrays are NumPy's.

    The random numbers depend on the operator, the point and *seed* alone, so
    every kernel and every process gets the same.

    Raises:
        ManifestError: C10E110, an expression cannot be evaluated; at its place.
        ArgumentError: C10E404, C10E405, the values do not fit the schema.
    """
    text = f"{decl.name}/{point.label}/{seed}"
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
    by_name = {argument.name: argument for argument in decl.schema.arguments}
    given = {}
    for name, source in point.case.inputs.items():
        value = source
        with _findings_at(point.case.node.child("inputs").span(name), point):
            argument = by_name[name]
            if isinstance(source, EntryPoint):
                value = _made(source, point, rng)
            elif isinstance(source, str) and not is_word(argument, source, point.values):
                of_items = schema_types.is_tensor_list(argument.type)
                expression = parse_expression(source)
                value = evaluate(expression, point.values, point.dtype, rng, of_items=of_items)
                if isinstance(value, str) and is_quoted(value):  # a sweep's, written as inputs are
                    value = evaluate(parse_expression(value))
            given[name] = as_argument(argument, value, point.dtype)
            for tensor in tensors_of(given[name]):
                fault, todo = (
                    _TEXTS if getattr(tensor.dtype, "kind", "") in tuple("UST") else fault_of(tensor)
                )
                if fault:
                    fact = f"argument `{name}` of `{decl.name}` {fault}"
                    raise ArgumentError(Diagnostic("C10E405", fact, help=todo), argument=name)
    dims = _sizes_of_dims(point)
    with _findings_at(point.case.span, point):
        if point.case.dims is not None:
            if decl.domain is None:
                raise no_domain(decl.name)
            given = generate(decl.domain, dims, point.dtype, rng, given)
        arguments = decl.schema.bind((), given, is_tensor=is_tensor)
        if decl.domain is not None:
            bind_domain(decl.domain, arguments, judge=judge_elements)
    return arguments


def _made(maker: EntryPoint, point: CasePoint, rng: np.random.Generator) -> Any:
    """What *maker* makes, called with those of ``rng``, ``dtype`` and the names of the case that it takes."""
    function = load_entry_point(maker)
    names = {"rng": rng, "dtype": point.dtype, **point.values}
    try:
        parameters = inspect.signature(function).parameters.values()
        takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        taken = names if takes_all else {p.name: names[p.name] for p in parameters if p.name in names}
        made = function(**taken)
        return made if library_of(made) == "scipy" else as_arrays(made)  # placed for each kernel later
    except (Exception, SystemExit) as error:  # whatever the maker's own code raises
        fact = f"`{maker.text}`, which makes the input, raised {describe_error(error)}"
        raise ManifestError(Diagnostic("C10E110", fact, help="correct the function")) from error


def _sizes_of_dims(point: CasePoint) -> dict[str, Any]:
    """The dims of the case with what their expressions give."""
    dims: dict[str, Any] = dict(point.case.dims or {})
    for name, value in dims.items():
        if isinstance(value, str):
            with _findings_at(point.case.node.child("dims").span(name), point):
                dims[name] = evaluate(parse_expression(value), point.values, functions={})
    return dims


def as_arrays(value: Any) -> Any:
    """*value* with NumPy's arrays for all tensors, in lists as well."""
    if isinstance(value, list | tuple):
        return [as_arrays(element) for element in value]
    return to_numpy(value) if is_tensor(value) and not isinstance(value, np.ndarray) else value


@contextmanager
def _findings_at(span: Span, point: CasePoint) -> Iterator[None]:
    """Give what is found about *point* its place in the manifest."""
    try:
        yield
    except (ManifestError, ArgumentError) as error:
        for field, name in (("inputs", error.facts.get("argument")), ("dims", error.facts.get("dim"))):
            if name in point.case.node.value.get(field, ()):
                span = point.case.node.child(field).span(name)
        placed = [replace(d, span=span).with_notes(f"in case {point.label}") for d in error.diagnostics]
        raise type(error)(*placed, **error.facts, case=point.label) from (error.__cause__ or error)


def is_of_case(error: C10Error) -> bool:
    """Whether *error* says that the arguments of a case cannot be made, which is no fault of a kernel."""
    return "case" in error.facts


def as_argument(argument: Argument, value: Any, dtype: str) -> Any:
    """*value* as *argument* wants it: where that is a tensor, nested lists and numbers become arrays.

    Args:
        dtype: of the arrays made here.

    Raises:
        ArgumentError: C10E405, ragged lists, or numbers that *dtype* cannot hold.
    """
    if schema_types.is_tensor(argument.type) or schema_types.is_optional_tensor(argument.type):
        return _as_array(argument, value, dtype)
    if schema_types.is_tensor_list(argument.type) and isinstance(value, list | tuple):
        return [_as_array(argument, element, dtype) for element in value]
    return value


def _as_array(argument: Argument, value: Any, dtype: str) -> Any:
    if value is None or is_tensor(value) or isinstance(value, str):
        return value
    try:
        return hold(value, numpy_dtype(dtype))
    except (ValueError, TypeError, OverflowError, ImportError) as error:
        fact = f"the value of argument `{argument.name}` is no array of {dtype}: {error}"
        todo = "give nested lists of equal length, of numbers that fit the dtype"
        raise ArgumentError(Diagnostic("C10E405", fact, help=todo), argument=argument.name) from error


def place_arguments(arguments: Arguments, dispatch_key: DispatchKey | str, library: str = "") -> Arguments:
    """*arguments* with every NumPy array as a tensor of *dispatch_key*.

    Args:
        library: whose tensors the kernel takes; empty: the usual ones of the key.

    Raises:
        DispatchError: C10E607, this machine can make none.
        ArgumentError: C10E405, the library makes none of such an array.
    """
    return {name: _placed(value, dispatch_key, library) for name, value in arguments.items()}


def place_case(decl: OperatorDecl, point: CasePoint, arguments: Arguments, kernel: KernelDecl) -> Arguments:
    """Copies of *arguments*, those of *point*, as the tensors that *kernel* takes; see `place_arguments`.

    Raises:
        DispatchError: C10E607, this machine can make none.
        ArgumentError: C10E405, the library makes none of such an array; the
            case is at fault, and told at its place in the manifest.
    """
    placed = {}
    for name, value in copy_tensors(arguments).items():
        try:
            placed[name] = _placed(value, kernel.dispatch_key, kernel.arrays)
        except ArgumentError as error:
            what = f"case {point.label} of `{decl.name}` cannot be made"
            span = _span_of_array(point, name, value)
            told = [replace(d, message=f"{what}: {d.message}", span=span) for d in error.diagnostics]
            raise ArgumentError(*told, **error.facts, case=point.label) from (error.__cause__ or error)
    return placed


def _span_of_array(point: CasePoint, name: str, value: Any) -> Span:
    """Where the manifest asks for the array: the dtype of the case if it has that, or else the input."""
    node, names = point.case.node, {describe(array).partition("[")[0] for array in tensors_of(value)}
    if point.dtype in names and "dtypes" in node.value:
        return node.child("dtypes").span(point.case.dtypes.index(point.dtype))
    return node.child("inputs").span(name) if name in point.case.inputs else point.case.span


def _placed(value: Any, dispatch_key: DispatchKey | str, library: str) -> Any:
    if isinstance(value, np.ndarray):
        return place(value, dispatch_key, library)
    if isinstance(value, list) and any(isinstance(element, np.ndarray) for element in value):
        return [_placed(element, dispatch_key, library) for element in value]
    return value


def copy_tensors(value: Any) -> Any:
    """*value*, such as the arguments of a call, with a copy of every tensor in it, however deep."""
    if type(value) is np.ndarray:
        return _copy_array(value)
    if is_tensor(value):
        copying = getattr(value, "clone", None) or getattr(value, "copy", None)
        return copying() if copying else copy.deepcopy(value)
    if is_mapping(value):
        return {key: copy_tensors(element) for key, element in value.items()}
    if isinstance(value, list):
        return [copy_tensors(element) for element in value]
    return tuple(map(copy_tensors, value)) if isinstance(value, tuple) else value


def _copy_array(array: Any) -> Any:
    """A copy of *array* that lies in memory as it does: transposed, every second element, and so on."""
    if array.flags.c_contiguous or not array.size:
        return array.copy()
    reach = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    first = -sum(step for step in reach if step < 0)
    buffer = np.zeros(first + sum(step for step in reach if step > 0) + array.itemsize, np.uint8)
    copied: Any = np.ndarray(array.shape, array.dtype, buffer, first, array.strides)
    copied[...] = array
    return copied


def shapes_text(arguments: Arguments) -> str:
    """The tensors of a call, as ``float32[4, 8], float32[8]``; lists in brackets."""
    shown = []
    for value in arguments.values():
        tensors = [describe(tensor) for tensor in tensors_of(value)]
        if tensors:
            shown.append(f"[{', '.join(tensors)}]" if isinstance(value, list | tuple) else tensors[0])
    return ", ".join(shown)
