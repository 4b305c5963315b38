"""Checked calls: what goes in, what comes out, and what a kernel must leave alone.

For tests, so in plain code: some 30 µs for two small arrays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.memory import contents_of, share_memory
from c10cli.arrays.tensor_types import fault_of, is_tensor, placed_key, tensors_of
from c10cli.describe import describe, describe_error, is_numpy_scalar
from c10cli.dispatch.calling import call_error, returned_values
from c10cli.dispatch.generated import Function
from c10cli.dispatch.signature import PYTHON_TYPES
from c10cli.errors import ArgumentError, C10Error, Diagnostic, KernelError
from c10cli.schema import types as schema_types
from c10cli.schema.bindings import Bindings, bind_domain
from c10cli.schema.domain import Domain
from c10cli.schema.model import AliasInfo, Argument, FunctionSchema
from c10cli.schema.types import Type

# Identities of types: no tensor is in their values, and nothing can change them.
_PLAIN = frozenset(map(id, (bool, int, float, complex, str, type(None))))
_MOST_NOTES = 8


def call_checked(
    schema: FunctionSchema,
    kernel: str,
    function: Function,
    values: Sequence[Any],
    place: str = "",
    domain: Domain | None = None,
) -> tuple[Any, ...]:
    """The returns of *function* for *values*, always as a tuple, after all checks.

    What the kernel itself raises comes through, with notes that say which kernel it was.

    Args:
        kernel: its name, for messages.
        function: in schema form.
        values: of all arguments, in schema order.
        place: where the kernel is defined, for messages.
        domain: which arguments the operator takes, and what it returns.

    Raises:
        ArgumentError: C10E405, an argument is outside the domain; C10E406, the
            tensors are on different keys.
        KernelError: C10E502, returns that the schema does not have; C10E503,
            that the domain does not have; C10E505, an argument changed;
            C10E506, a result shares memory with an argument without saying so.
    """
    bindings = check_arguments(schema, domain, values)
    return call_watched(schema, kernel, function, values, place, bindings)


def check_arguments(schema: FunctionSchema, domain: Domain | None, values: Sequence[Any]) -> Bindings | None:
    """Refuse *values*, of all arguments, that no kernel takes; what they give to the names of *domain*.

    Raises:
        ArgumentError: C10E405, C10E406.
    """
    check_keys(schema, values)
    if domain is None:
        return None
    from c10cli.arrays.elements import judge_elements  # which imports NumPy

    names = [argument.name for argument in schema.arguments]
    return bind_domain(domain, dict(zip(names, values, strict=True)), judge=judge_elements)


def call_watched(
    schema: FunctionSchema,
    kernel: str,
    function: Function,
    values: Sequence[Any],
    place: str,
    bindings: Bindings | None,
) -> tuple[Any, ...]:
    """The same for *values* that have been checked."""
    before = _contents(schema, values)
    try:
        split = len(schema.positional)
        keywords = {a.name: v for a, v in zip(schema.keyword_only, values[split:], strict=True)}
        result = function(*values[:split], **keywords)
    except Exception as error:
        _add_notes(schema, kernel, error, values)
        raise
    try:
        returns = check_returns(schema, kernel, result)
        _check_promised(schema, kernel, returns, bindings)
        _check_unchanged(schema, kernel, values, before)
        _check_apart(schema, kernel, values, returns)
        return returns
    except KernelError as error:
        broken = error
    except (C10Error, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - what a kernel returns may run any code when it is looked at
        fact = f"returned what cannot be looked at: {describe_error(error)}"
        broken = wrong_return(schema, kernel, fact, "return plain arrays, numbers and lists")
    notes = [f"the kernel is defined at {place}"] if place else []
    raise KernelError(*(d.with_notes(*notes) for d in broken.diagnostics), **broken.facts)


def checked_function(
    schema: FunctionSchema, domain: Domain | None, kernel: str, function: Function, place: str
) -> Function:
    """*function*, in schema form, with the signature of *schema*, and every call checked."""

    def call(*args: Any, **kwargs: Any) -> Any:
        values = list(schema.bind(args, kwargs, is_tensor=is_tensor).values())
        return as_declared(call_checked(schema, kernel, function, values, place, domain))

    return call


def as_declared(returns: tuple[Any, ...]) -> Any:
    """Checked *returns* as a call gives them: one is the value, several are a tuple, none is None."""
    return returns[0] if len(returns) == 1 else returns or None


def check_keys(schema: FunctionSchema, values: Sequence[Any]) -> None:
    """Refuse tensors that no kernel can make sense of, and those of one call on different devices.

    Args:
        values: of all arguments, in schema order.

    Raises:
        ArgumentError: C10E405, with what the elements are; C10E406, with each argument and its key.
    """
    keys: dict[str, set[DispatchKey]] = {}
    for argument, value in zip(schema.arguments, values, strict=True):
        tensors = () if _is_plain(value) else tensors_of(value)
        fault, todo = _fault(tensors)
        if fault:
            fact = f"argument `{argument.name}` of `{schema.name}`, {describe(value)}, {fault}"
            place, name = f"call of {schema.name}", argument.name
            raise call_error(ArgumentError, schema, "C10E405", fact, todo, place=place, argument=name)
        # One may have none, as in a trace of jax: another one may choose the kernel.
        own = {key for key in map(placed_key, tensors) if key is not None}
        if own:
            keys[argument.name] = own
    if len({key.dense for own in keys.values() for key in own}) < 2:  # dense and sparse ones may be mixed
        return
    named = {name: [key.name for key in sorted(own)] for name, own in keys.items()}
    listed = ", ".join(f"`{name}` on {'/'.join(own)}" for name, own in named.items())
    fact = f"the tensors of `{schema.name}` are on different dispatch keys: {listed}"
    place, todo = f"call of {schema.name}", "move them to one device"
    raise call_error(ArgumentError, schema, "C10E406", fact, todo, place=place, keys=named)


def _fault(tensors: Sequence[Any]) -> tuple[str, str]:
    """`fault_of` the first of *tensors* that has one."""
    return next((fault for fault in map(fault_of, tensors) if fault[0]), ("", ""))


def _is_plain(value: Any) -> bool:
    return id(type(value)) in _PLAIN


def _contents(schema: FunctionSchema, values: Sequence[Any]) -> list[Any]:
    """What must be the same after the call; None for what may be written or cannot change."""
    return [
        None if _is_plain(value) or argument.is_mutable else contents_of(value)
        for argument, value in zip(schema.arguments, values, strict=True)
    ]


def _check_unchanged(schema: FunctionSchema, kernel: str, values: Sequence[Any], before: list[Any]) -> None:
    after = _contents(schema, values)
    for argument, value, old, new in zip(schema.arguments, values, before, after, strict=True):
        if old == new:
            continue
        written = [v for a, v in zip(schema.arguments, values, strict=True) if a.is_mutable]
        if share_memory(value, written):  # the caller passed it twice
            continue
        kind, todo = str(argument.type), "write to a copy"
        if "Tensor" in kind:
            declared = kind.replace("Tensor", "Tensor(a!)")
            todo += f", or declare it in the schema: `{declared} {argument.name}`"
        fact = f"kernel `{kernel}` of `{schema.name}` changed argument `{argument.name}`"
        raise kernel_error(schema, kernel, "C10E505", fact, todo, argument=argument.name)


def _check_apart(schema: FunctionSchema, kernel: str, values: Sequence[Any], returns: Sequence[Any]) -> None:
    """Refuse a result in the memory of an argument, unless the schema says so of both."""
    arguments = [(a, v) for a, v in zip(schema.arguments, values, strict=True) if not _is_plain(v)]
    for declared, result in zip(schema.returns, returns, strict=True):
        if _is_plain(result):
            continue
        for argument, value in arguments:
            if announced(declared, argument) or not share_memory(result, value):
                continue
            # The caller may have passed it a second time, as one that the result may be in.
            if share_memory(value, [v for a, v in arguments if announced(declared, a)]):
                continue
            what = f"return `{declared.name}`" if declared.name else "the result"
            what = f"{what} of kernel `{kernel}` of `{schema.name}`"
            fact = f"{what} shares memory with argument `{argument.name}`"
            todo = "return a copy, or declare the alias in the schema: `Tensor(a)` on both"
            raise kernel_error(schema, kernel, "C10E506", fact, todo, argument=argument.name)


def announced(declared: Argument, other: Argument) -> bool:
    """Whether the schema says that the return *declared* may be *other*, an argument or a return."""
    if declared.alias is None or other.alias is None:
        return False
    has_wildcard = _has_wildcard(declared.alias) or _has_wildcard(other.alias)
    return has_wildcard or bool(declared.alias.sets & other.alias.sets)


def _has_wildcard(alias: AliasInfo) -> bool:
    """Whether the value, or an element of it, may be in any set."""
    inside = alias.element is not None and _has_wildcard(alias.element)
    return inside or "*" in (*alias.before, *alias.after)


def _add_notes(schema: FunctionSchema, kernel: str, error: Exception, values: Sequence[Any]) -> None:
    """Add to *error* which kernel of which operator raised it, and for what."""
    if isinstance(error, KernelError) and error.facts.get("operator") == str(schema.name):
        return  # it says so itself
    told = kernel_raised(schema, kernel, error, values)
    with contextlib.suppress(Exception):  # the class may have notes of its own; its error comes through
        present = error.__dict__.get("__notes__", [])
        # One exception may be raised often, and pass through many kernels.
        if told.concise() not in present and len(present) < _MOST_NOTES:
            # As `add_note`, on Python 3.10 too, and past a `__setattr__` that refuses.
            BaseException.__setattr__(error, "__notes__", [*present, told.concise(), f"--> {told.place}"])


def kernel_raised(
    schema: FunctionSchema, kernel: str, error: BaseException, values: Sequence[Any]
) -> Diagnostic:
    """The finding that *kernel* raised *error* when called with *values* of all arguments."""
    arguments = zip(schema.arguments, values, strict=True)
    shown = ", ".join(f"`{argument.name}`: {describe(value)}" for argument, value in arguments)
    return Diagnostic(
        "C10E501",
        f"kernel `{kernel}` of `{schema.name}` raised {describe_error(error)}",
        place=f"call of {schema.name} with {shown}",
    )


def kernel_error(
    schema: FunctionSchema, kernel: str, code: str, fact: str, todo: str, **facts: Any
) -> KernelError:
    """The error for a *kernel* that breaks what its schema promises."""
    return call_error(KernelError, schema, code, fact, todo, kernel=kernel, **facts)


def wrong_return(schema: FunctionSchema, kernel: str, fact: str, todo: str) -> KernelError:
    """The error for returns of *kernel* that the schema does not have."""
    return kernel_error(schema, kernel, "C10E502", f"kernel `{kernel}` of `{schema.name}` {fact}", todo)


def check_returns(schema: FunctionSchema, kernel: str, result: Any) -> tuple[Any, ...]:
    """*result* as the schema's returns, each of its type.

    Raises:
        KernelError: C10E502.
    """
    values = returned_values(schema, result, kernel)
    for index, (declared, value) in enumerate(zip(schema.returns, values, strict=True)):
        name = f" `{declared.name}`" if declared.name else ""
        fault, todo = _fault(tensors_of(value))
        if fault:
            fact = f"gave {describe(value)} for return {index}{name}, which {fault}"
            raise wrong_return(schema, kernel, fact, todo)
        if not _fits(declared.type, value):
            came, todo = describe(value), "return what the schema says, as a tuple where there are several"
            if hasattr(value, "__array__"):
                todo = "return a plain array, or teach its type with register_tensor_type"
            listed = isinstance(value, list | tuple)
            scalar = next(filter(is_numpy_scalar, value if listed else [value]), None)
            if scalar is not None:
                came = f"{'a list with ' * listed}the NumPy scalar {scalar.dtype.name}"
                todo = "make an array of it: numpy.asarray(...)"
            fact = f"gave {came} for return {index}{name}, declared {declared.type}"
            raise wrong_return(schema, kernel, fact, todo)
    return values


def _check_promised(
    schema: FunctionSchema, kernel: str, returns: Sequence[Any], bindings: Bindings | None
) -> None:
    """Refuse returns of another shape or dtype than the domain says."""
    for index, value in enumerate(returns if bindings and bindings.domain.returns else ()):
        fault = bindings.return_fault(index, value)  # type: ignore[union-attr]
        if fault:
            what = f"return `{schema.returns[index].name or index}` of kernel `{kernel}` of `{schema.name}`"
            todo = "return what the domain says, or correct `returns`"
            raise kernel_error(schema, kernel, "C10E503", f"{what} breaks its domain: {fault}", todo)


def _fits(declared: Type, value: Any) -> bool:
    """Whether *value* may be returned as *declared*; types without a rule take anything."""
    if declared == schema_types.TENSOR:
        return is_tensor(value)
    if isinstance(declared, schema_types.OptionalType):
        return value is None or _fits(declared.element, value)
    if isinstance(declared, schema_types.ListType):
        return isinstance(value, list | tuple) and all(_fits(declared.element, v) for v in value)
    accepted = PYTHON_TYPES.get(str(declared))
    if accepted is None:
        return True
    plain = value.item() if is_numpy_scalar(value) else value
    return isinstance(plain, accepted) and (bool in accepted or not isinstance(plain, bool))
