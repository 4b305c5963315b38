"""Calls that cannot be served, and kernels that break what their schema promises, as errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from c10cli.describe import describe, describe_error
from c10cli.errors import ArgumentError, Diagnostic, DispatchError, KernelError
from c10cli.schema import types as schema_types
from c10cli.schema.model import Argument, FunctionSchema


def no_tensor(schema: FunctionSchema, values: Mapping[str, object]) -> ArgumentError:
    """The error for a call without any tensor in the arguments that could decide, named in *values*."""
    given = ", ".join(f"`{name}` is {_emptiness(value)}" for name, value in values.items())
    return _argument_error(
        schema,
        "C10E408",
        f"no tensor to dispatch `{schema.name}` on: {given}",
        place=f"call of {schema.name}",
        help=f"pass at least one tensor in {_any_of(list(values))}",
    )


def _emptiness(value: object) -> str:
    if value is None:
        return "None"
    return "a list of None" if value else "an empty list"


def not_a_list(schema: FunctionSchema, argument: Argument, value: object) -> ArgumentError:
    """The error for a single *value* where the schema has a list of tensors."""
    return _argument_error(
        schema,
        "C10E405",
        f"argument `{argument.name}` of `{schema.name}` must be {argument.type}, not {describe(value)}",
        place=f"call of {schema.name}, argument `{argument.name}`",
        help="pass a list of tensors",
        argument=argument.name,
    )


def not_a_tensor(schema: FunctionSchema, arguments: Sequence[Argument], value: object) -> ArgumentError:
    """The error for a *value* of no known tensor type, which came from one of *arguments*."""
    names = [argument.name for argument in arguments]
    value_type = type(value)
    shown = f"{value_type.__module__}.{value_type.__qualname__}".removeprefix("builtins.")
    plain = str(arguments[0].type) == "Tensor"
    what = f"argument `{names[0]}`" if plain else f"what decides in {_any_of(names)}"
    todo = f"pass an array, or teach the type with register_tensor_type({value_type.__qualname__}, KEY)"
    return _argument_error(
        schema,
        "C10E408",
        f"{what} of `{schema.name}` is of type `{shown}`, which is no known tensor",
        place=f"call of {schema.name}, {_any_of(names)}: {describe(value)}",
        help="pass a flat list of tensors" if not plain and isinstance(value, list) else todo,
        argument=names[0],
        tensor_type=value_type,
    )


def missing_argument(schema: FunctionSchema, argument: Argument) -> ArgumentError:
    """The error for a lookup without the *argument* that decides."""
    return _argument_error(
        schema,
        "C10E404",
        f"`{schema.name}` is missing argument `{argument.name}`",
        place=f"call of {schema.name}",
        help=f"pass `{argument.name}`",
        argument=argument.name,
    )


def _argument_error(
    schema: FunctionSchema, code: str, fact: str, *, place: str, help: str, **facts: object
) -> ArgumentError:
    diagnostic = Diagnostic(code, fact, place=place, notes=(f"the schema is {schema}",), help=help)
    return ArgumentError(diagnostic, operator=str(schema.name), **facts)


def _any_of(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def not_a_stack(schema: FunctionSchema, value: object) -> ArgumentError:
    """The error for a boxed call or lookup on a *value* that is no list."""
    return _argument_error(
        schema,
        "C10E405",
        f"the stack of `{schema.name}` must be a list, not {describe(value)}",
        place=f"boxed call or lookup of {schema.name}",
        help="pass the arguments as a list, in the schema's order",
    )


def stack_too_short(schema: FunctionSchema, depth: int) -> DispatchError:
    """The error for a boxed call on a stack of *depth* values."""
    needed = len(schema.arguments)
    return DispatchError(
        Diagnostic(
            "C10E409",
            f"`{schema.name}` needs {needed} values on the stack, and it has {depth}",
            notes=(f"the schema is {schema}",),
            help="push every argument, in the schema's order; a boxed call fills no defaults",
        ),
        operator=str(schema.name),
        needed=needed,
        depth=depth,
    )


def broken_discipline(schema: FunctionSchema, kernel: str, left: int | None) -> KernelError:
    """The error for a boxed *kernel* that left *left* values; None: it took what was not its own."""
    if left is None:
        fact = f"took more values off the stack than its {len(schema.arguments)} arguments"
    else:
        fact = f"left {left} values on the stack where the schema returns {len(schema.returns)}"
    return KernelError(
        Diagnostic(
            "C10E507",
            f"boxed kernel `{kernel}` of `{schema.name}` {fact}",
            notes=(f"the schema is {schema}", "the caller's stack is as it was before the call"),
            help="make the kernel take exactly its arguments off and put exactly its returns on",
        ),
        operator=str(schema.name),
        kernel=kernel,
    )


def wrong_returns(schema: FunctionSchema, result: object, kernel: str = "") -> KernelError:
    """The error for a *result* that has not as many values as the schema returns.

    Args:
        kernel: its name, where that is known.
    """
    wanted = len(schema.returns)
    if isinstance(result, tuple | list):
        came = "1 value" if len(result) == 1 else f"{len(result)} values"
    else:
        came = f"one value ({describe(result)})"
    return KernelError(
        Diagnostic(
            "C10E502",
            f"{f'kernel `{kernel}`' if kernel else 'a kernel'} of `{schema.name}` returned {came}"
            f" where the schema returns {wanted}",
            notes=(f"the schema is {schema}",),
            help=f"return a tuple of {wanted}" if wanted else "return None",
        ),
        operator=str(schema.name),
        wanted=wanted,
        **({"kernel": kernel} if kernel else {}),
    )


def different_keys(schema: FunctionSchema, keys: Mapping[str, Sequence[str]]) -> ArgumentError:
    """The error for tensors on different devices; *keys* are those of each argument."""
    listed = ", ".join(f"`{name}` on {'/'.join(of_argument)}" for name, of_argument in keys.items())
    return _argument_error(
        schema,
        "C10E406",
        f"the tensors of `{schema.name}` are on different dispatch keys: {listed}",
        place=f"call of {schema.name}",
        help="move them to one device",
        keys=dict(keys),
    )


def kernel_raised(
    schema: FunctionSchema, kernel: str, error: BaseException, arguments: Mapping[str, object]
) -> Diagnostic:
    """The finding that *kernel* raised *error* when called with *arguments*."""
    shown = ", ".join(f"`{name}`: {describe(value)}" for name, value in arguments.items())
    return Diagnostic(
        "C10E501",
        f"kernel `{kernel}` of `{schema.name}` raised {describe_error(error)}",
        place=f"call of {schema.name} with {shown}",
    )


def wrong_return(schema: FunctionSchema, kernel: str, fact: str, todo: str = "") -> KernelError:
    """The error for returns of *kernel* that the schema does not have."""
    return _kernel_error(
        schema,
        kernel,
        "C10E502",
        f"kernel `{kernel}` of `{schema.name}` {fact}",
        help=todo or "return what the schema says, as a tuple where there are several",
    )


def argument_changed(schema: FunctionSchema, kernel: str, argument: Argument) -> KernelError:
    """The error for a *kernel* that wrote to *argument*."""
    return _kernel_error(
        schema,
        kernel,
        "C10E505",
        f"kernel `{kernel}` of `{schema.name}` changed argument `{argument.name}`",
        help=f"write to a copy{_or_declare(argument)}",
        argument=argument.name,
    )


def _or_declare(argument: Argument) -> str:
    """How a schema says that *argument* is written; nothing where only tensors can be."""
    if schema_types.is_tensor_list(argument.type):
        declared = f"{str(argument.type).removesuffix('[]')}(a!)[]"
    elif schema_types.is_tensor(argument.type) or schema_types.is_optional_tensor(argument.type):
        declared = str(argument.type).replace("Tensor", "Tensor(a!)")
    else:
        return ""
    return f", or declare it in the schema: `{declared} {argument.name}`"


def result_aliases(
    schema: FunctionSchema, kernel: str, declared: Argument, argument: Argument
) -> KernelError:
    """The error for a return, *declared* in the schema, that is in the memory of *argument*."""
    result = f"return `{declared.name}`" if declared.name else "the result"
    return _kernel_error(
        schema,
        kernel,
        "C10E506",
        f"{result} of kernel `{kernel}` of `{schema.name}` shares memory with argument `{argument.name}`",
        help="return a copy, or declare the alias in the schema: `Tensor(a)` on both",
        argument=argument.name,
    )


def _kernel_error(
    schema: FunctionSchema, kernel: str, code: str, fact: str, *, help: str, **facts: object
) -> KernelError:
    diagnostic = Diagnostic(code, fact, notes=(f"the schema is {schema}",), help=help)
    return KernelError(diagnostic, operator=str(schema.name), kernel=kernel, **facts)
