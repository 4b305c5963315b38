"""A call that is checked on the way in, on the way out, and for what it must not touch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from c10cli.arrays.placement import to_numpy
from c10cli.dispatch.describe import describe
from c10cli.dispatch.keys import DispatchKey
from c10cli.dispatch.tensor_types import is_tensor, key_of
from c10cli.errors import ArgumentError, Diagnostic, KernelError
from c10cli.schema import Argument, FunctionSchema, Type, types as schema_types
from c10cli.schema.model import AliasInfo
from c10cli.verify.inputs import Arguments, tensors_of


def call_checked(
    schema: FunctionSchema, kernel: str, function: Callable[..., Any], arguments: Arguments
) -> tuple[Any, ...]:
    """The returns of *function* for *arguments*, always as a tuple, after all checks.

    Args:
        kernel: its name, for messages.
        function: takes the schema's arguments.
        arguments: by name, in schema order, all of them.

    Raises:
        ArgumentError: C10E406, the tensors are on different keys.
        KernelError: C10E501, it raised; C10E502, returns that the schema does
            not have; C10E505, it changed an argument; C10E506, a result shares
            memory with an argument without saying so.
    """
    check_keys(schema, arguments)
    before = {a.name: _snapshot(arguments[a.name]) for a in schema.arguments if not a.is_mutable}
    returns = _returns(schema, kernel, _call(schema, kernel, function, arguments))
    _check_unchanged(schema, kernel, arguments, before)
    _check_aliases(schema, kernel, arguments, returns)
    return returns


def check_keys(schema: FunctionSchema, arguments: Arguments) -> None:
    """Refuse tensors of one call that live on different dispatch keys.

    Raises:
        ArgumentError: C10E406, with each argument and its key.
    """
    found: dict[str, set[DispatchKey]] = {}
    for name, value in arguments.items():
        keys = {key_of(t) for t in tensors_of(value)}
        if keys:
            found[name] = {key for key in keys if key is not None}
    if len(set().union(*found.values())) > 1:
        listed = ", ".join(f"`{n}` on {'/'.join(k.name for k in sorted(keys))}" for n, keys in found.items())
        raise ArgumentError(
            Diagnostic(
                "C10E406",
                f"the tensors of `{schema.name}` are on different dispatch keys: {listed}",
                place=f"call of {schema.name}",
                help="move them to one device",
            ),
            operator=str(schema.name),
        )


def _call(schema: FunctionSchema, kernel: str, function: Callable[..., Any], arguments: Arguments) -> Any:
    positional = [arguments[a.name] for a in schema.positional]
    keywords = {a.name: arguments[a.name] for a in schema.keyword_only}
    try:
        return function(*positional, **keywords)
    except KernelError:
        raise
    except (Exception, SystemExit) as error:  # a kernel must not end the command
        shown = ", ".join(f"`{name}`: {describe(value)}" for name, value in arguments.items())
        text = " ".join(str(error).split()) or "no message"
        raise KernelError(
            Diagnostic(
                "C10E501",
                f"kernel `{kernel}` of `{schema.name}` raised {type(error).__name__}: {text}",
                place=f"call of {schema.name} with {shown}",
                notes=(f"raised at {_place(error)}",),
            ),
            operator=str(schema.name),
            kernel=kernel,
        ) from error


def _place(error: BaseException) -> str:
    """``file:line`` of the innermost frame of *error*."""
    traceback, place = error.__traceback__, "an unknown place"
    while traceback is not None:
        place = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def _returns(schema: FunctionSchema, kernel: str, result: Any) -> tuple[Any, ...]:
    """*result* as the schema's returns, each of its type."""
    wanted = len(schema.returns)
    if wanted == 1:
        values: tuple[Any, ...] = (result,)
    elif isinstance(result, tuple | list):
        values = tuple(result)
    else:
        values = () if result is None else (result,)
    if len(values) != wanted:
        raise _return_error(
            schema, kernel, f"returned {len(values)} values where the schema returns {wanted}"
        )
    for index, (declared, value) in enumerate(zip(schema.returns, values, strict=True)):
        if not _fits(declared.type, value):
            name = f" `{declared.name}`" if declared.name else ""
            is_scalar = isinstance(value, np.generic)
            came = f"the NumPy scalar {value.dtype.name}" if is_scalar else describe(value)
            fact = f"gave {came} for return {index}{name}, declared {declared.type}"
            todo = "make an array of it: numpy.asarray(...)" if is_scalar else ""
            raise _return_error(schema, kernel, fact, todo)
    return values


def _return_error(schema: FunctionSchema, kernel: str, fact: str, todo: str = "") -> KernelError:
    return KernelError(
        Diagnostic(
            "C10E502",
            f"kernel `{kernel}` of `{schema.name}` {fact}",
            notes=(f"the schema is {schema}",),
            help=todo or "return what the schema says, as a tuple where there are several",
        ),
        operator=str(schema.name),
        kernel=kernel,
    )


_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int, np.integer),
    "SymInt": (int, np.integer),
    "float": (float, np.floating),
    "bool": (bool, np.bool_),
    "str": (str,),
    "complex": (complex, np.complexfloating),
    "Scalar": (int, float, complex, np.number),
}


def _fits(declared: Type, value: Any) -> bool:
    """Whether *value* may be returned as *declared*; types without a rule take anything."""
    if schema_types.is_tensor(declared):
        return is_tensor(value)
    if isinstance(declared, schema_types.OptionalType):
        return value is None or _fits(declared.element, value)
    if isinstance(declared, schema_types.ListType):
        return isinstance(value, list | tuple) and all(_fits(declared.element, v) for v in value)
    accepted = _PYTHON_TYPES.get(str(declared))
    if accepted is None:
        return True
    return isinstance(value, accepted) and (accepted[0] is bool or not isinstance(value, bool))


def _check_unchanged(schema: FunctionSchema, kernel: str, arguments: Arguments, before: Arguments) -> None:
    for name, snapshot in before.items():
        if not _is_unchanged(arguments[name], snapshot):
            raise KernelError(
                Diagnostic(
                    "C10E505",
                    f"kernel `{kernel}` of `{schema.name}` changed argument `{name}`",
                    notes=(f"the schema is {schema}",),
                    help=f"write to a copy, or declare it in the schema: `Tensor(a!) {name}`",
                ),
                operator=str(schema.name),
                kernel=kernel,
                argument=name,
            )


def _snapshot(value: Any) -> Any:
    """A copy of an argument to compare it with later; tensors come as arrays."""
    if isinstance(value, list | tuple):
        return [_snapshot(element) for element in value]
    return to_numpy(value).copy() if is_tensor(value) else value


def _is_unchanged(value: Any, snapshot: Any) -> bool:
    if isinstance(snapshot, list):
        return len(value) == len(snapshot) and all(map(_is_unchanged, value, snapshot))
    if not isinstance(snapshot, np.ndarray):
        return type(value) is type(snapshot) and (value is snapshot or value == snapshot)
    if not is_tensor(value):
        return False
    now = to_numpy(value)
    return now.dtype == snapshot.dtype and now.shape == snapshot.shape and _same_bytes(now, snapshot)


def _same_bytes(left: Any, right: Any) -> bool:
    """Equal to the bit: nan is nan, and -0.0 is not 0.0."""
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    return bool(np.array_equal(left.reshape(-1).view(np.uint8), right.reshape(-1).view(np.uint8)))


def _check_aliases(
    schema: FunctionSchema, kernel: str, arguments: Arguments, returns: tuple[Any, ...]
) -> None:
    for declared, value in zip(schema.returns, returns, strict=True):
        for argument in schema.arguments:
            if _announced(declared, argument):
                continue
            for result in tensors_of(value):
                if any(_share_memory(result, tensor) for tensor in tensors_of(arguments[argument.name])):
                    raise _alias_error(schema, kernel, declared, argument)


def _announced(declared: Argument, argument: Argument) -> bool:
    if declared.alias is None or argument.alias is None:
        return False
    if _has_wildcard(declared.alias) or _has_wildcard(argument.alias):
        return True
    return bool(declared.alias.sets & argument.alias.sets)


def _has_wildcard(alias: AliasInfo) -> bool:
    """Whether the value, or an element of it, may be in any set."""
    inside = alias.element is not None and _has_wildcard(alias.element)
    return inside or "*" in (*alias.before, *alias.after)


def _share_memory(left: Any, right: Any) -> bool:
    """Whether two tensors overlap in memory; False where they are not plain arrays in host memory."""
    if left is right:
        return True
    if not all(key_of(tensor) is DispatchKey.CPU for tensor in (left, right)):
        return False
    left, right = to_numpy(left), to_numpy(right)
    return np.may_share_memory(left, right) and np.shares_memory(left, right, max_work=-1)


def _alias_error(schema: FunctionSchema, kernel: str, declared: Argument, argument: Argument) -> KernelError:
    result = f"return `{declared.name}`" if declared.name else "the result"
    return KernelError(
        Diagnostic(
            "C10E506",
            f"{result} of kernel `{kernel}` of `{schema.name}` shares memory with argument `{argument.name}`",
            notes=(f"the schema is {schema}",),
            help="return a copy, or declare the alias in the schema: `Tensor(a)` on both",
        ),
        operator=str(schema.name),
        kernel=kernel,
        argument=argument.name,
    )
