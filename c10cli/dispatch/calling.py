"""The calling convention of one schema: which tensor decides, unboxed and boxed calls.

A function in *schema form* takes every argument of the schema: positional
ones by position, keyword-only ones by keyword.  Kernels, routers and the
values of dispatch tables are functions in schema form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from c10cli.describe import describe
from c10cli.dispatch.generated import DIRECT, Function, by_type, fresh, generate_apply, generate_call
from c10cli.errors import (
    ArgumentError,
    C10Error,
    Diagnostic,
    DispatchError,
    KernelError,
    SchemaError,
    counted,
)
from c10cli.schema import types as schema_types
from c10cli.schema.convert import is_sequence
from c10cli.schema.domain import Domain
from c10cli.schema.model import Argument, FunctionSchema

E = TypeVar("E", bound=C10Error)

# What boxed kernels work on: a plain list, its top last.
Stack = list[Any]


def push(stack: Stack, *values: object) -> None:
    """Put *values* on top, the last one uppermost."""
    stack.extend(values)


def pop(stack: Stack) -> Any:
    """The top value, taken off."""
    return stack.pop()


def drop(stack: Stack, count: int) -> None:
    """Take the top *count* values off."""
    if count:
        del stack[-count:]


def peek(stack: Stack, index: int, count: int) -> Any:
    """Value *index*, from 0, of the top *count* values; the stack stays as it is."""
    return stack[index - count]


def last(stack: Stack, count: int) -> list[Any]:
    """The top *count* values, as a new list; the stack stays as it is."""
    return stack[-count:] if count else []


def call_error(
    kind: type[E],
    schema: FunctionSchema,
    code: str,
    fact: str,
    todo: str,
    *,
    place: str = "",
    notes: Sequence[str] = (),
    **facts: Any,
) -> E:
    """An error of a call of the operator with *schema*, which it shows."""
    notes = (f"the schema is {schema}", *notes)
    return kind(
        Diagnostic(code, fact, place=place, notes=notes, help=todo), operator=str(schema.name), **facts
    )


def dispatch_arguments(schema: FunctionSchema) -> tuple[int, ...]:
    """Which arguments give the dispatch key, by position; empty where none can.

    The first plain `Tensor` decides alone (the seed's rule).  Without one, the
    tensor lists and optional tensors are asked in argument order.
    """
    for index, argument in enumerate(schema.arguments):
        if schema_types.is_tensor(argument.type):
            return (index,)
    return tuple(
        index
        for index, argument in enumerate(schema.arguments)
        if schema_types.is_tensor_list(argument.type) or schema_types.is_optional_tensor(argument.type)
    )


def check_can_dispatch(schema: FunctionSchema) -> Diagnostic | None:
    """Why no operator can have *schema*, C10E209; None where one can."""
    if not dispatch_arguments(schema):
        return Diagnostic(
            "C10E209",
            f"`{schema.name}` has no tensor argument to dispatch on",
            notes=("the first `Tensor` chooses the kernel, or else `Tensor[]`, `Tensor?` or `Tensor?[]`",),
            help="give it a `Tensor` argument, such as `Tensor like`",
        )
    if schema.is_vararg or schema.is_varret:
        fact = f"`{schema.name}` has `...`, and an operator has a fixed number of arguments and returns"
        return Diagnostic("C10E209", fact, help="write the arguments and returns out")
    return None


class Calling:
    """How one operator is called, unboxed and boxed; knows schema and domain, not the kernels.

    Args:
        domain: which arguments it takes; None: nothing is said.

    Raises:
        SchemaError: C10E209, the schema has no tensor argument, or no fixed
            number of arguments and returns.
    """

    def __init__(self, schema: FunctionSchema, domain: Domain | None = None) -> None:
        fault = check_can_dispatch(schema)
        if fault is not None:
            raise SchemaError(fault, operator=str(schema.name))
        self.schema, self.domain = schema, domain
        self._dispatch = dispatch_arguments(schema)
        first = self.dispatch_arguments()[0]
        self._plain = schema_types.is_tensor(first.type)
        self.in_list = tuple(schema_types.is_tensor_list(a.type) for a in self.dispatch_arguments())
        # Where the one that decides is among the positional arguments of a call.
        positional = self._plain and not first.kwarg_only
        self._position = self._dispatch[0] if positional else None
        self._keywords = tuple(argument.name for argument in schema.keyword_only)
        self._apply = generate_apply(schema) if schema.keyword_only else None
        self._inputs, self._outputs = len(schema.arguments), len(schema.returns)

    def dispatch_arguments(self) -> list[Argument]:
        """The arguments that may decide, in the order in which they are asked."""
        return [self.schema.arguments[index] for index in self._dispatch]

    def new_table(self, at: int) -> dict[type, Any]:
        """Where functions are learned by the type of deciding argument *at*: by that of its first element."""
        learned: dict[type, Function] = {}
        return {list: learned, tuple: learned} if self.in_list[at] else learned

    def generate(self, table: Mapping[type, Any], slow: Function) -> Function:
        """The operator's call, which finds kernels in *table*, a `new_table` for the first one to decide."""
        choice = by_type(table, self.dispatch_arguments()[0].name, self.in_list[0])
        return generate_call(self.schema, choice, slow, self._helpers())

    def generate_direct(self, function: Function) -> Function:
        """*function*, in schema form, with the operator's signature, returns as the schema says."""
        return generate_call(self.schema, DIRECT, function, self._helpers())

    def _helpers(self) -> dict[str, Function]:
        return {"c10_slow_returns": self.slow_returns, "c10_slow_call": self._slow_call}

    def unboxed(self, function: Function, get_cache: Callable[[], object], name: str) -> Function:
        """A boxed kernel as a function in schema form.

        The kernel works on a stack of its own, with a mark under its
        arguments: whatever it does or raises, the caller's stack stays whole,
        and a kernel that takes or leaves too much is found out.
        """
        keywords, outputs = self._keywords, self._outputs

        def run(*args: Any, **kwargs: Any) -> Any:
            stack: Stack = [_BELOW, *args, *(kwargs[keyword] for keyword in keywords)]
            try:
                function(stack, get_cache())
            except IndexError:
                if stack:
                    raise
            if not stack or stack[0] is not _BELOW:
                fact = f"took more values off the stack than its {self._inputs} arguments"
            elif len(stack) != outputs + 1:
                fact = f"left {len(stack) - 1} values on the stack where the schema returns {outputs}"
            else:
                return stack[1] if outputs == 1 else tuple(stack[1:]) or None
            fact = f"boxed kernel `{name}` of `{self.schema.name}` {fact}"
            todo = "make the kernel take exactly its arguments off and put exactly its returns on"
            notes = ["the caller's stack is as it was before the call"]
            raise call_error(KernelError, self.schema, "C10E507", fact, todo, notes=notes, kernel=name)

        return run

    def call_boxed(self, function: Function, stack: Stack) -> None:
        """Call *function* with the arguments on top of *stack* and put its results in their place.

        After an exception the stack is as it was.
        """
        base, apply = self._base(stack), self._apply
        result = function(*stack[base:]) if apply is None else apply(function, *stack[base:])
        stack[base:] = (result,) if self._outputs == 1 else returned_values(self.schema, result)

    def _base(self, stack: Stack) -> int:
        """Where on *stack* the arguments begin."""
        schema, name, inputs = self.schema, self.schema.name, self._inputs
        if not isinstance(stack, list):
            fact = f"the stack of `{name}` must be a list, not {describe(stack)}"
            todo, place = (
                "pass the arguments as a list, in the schema's order",
                f"boxed call or lookup of {name}",
            )
            raise call_error(ArgumentError, schema, "C10E405", fact, todo, place=place)
        depth = len(stack)
        if depth < inputs:
            fact = f"`{name}` needs {inputs} values on the stack, and it has {depth}"
            todo = "push every argument, in the schema's order; a boxed call fills no defaults"
            raise call_error(DispatchError, schema, "C10E409", fact, todo, needed=inputs, depth=depth)
        return depth - inputs

    def key_tensor(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The tensor that decides, of a call with *args* and *kwargs*."""
        if self._position is not None and self._position < len(args):
            return args[self._position]
        return self._deciding(self.deciding_values(args, kwargs))

    def deciding_values(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The values of `dispatch_arguments` in a call with *args* and *kwargs*."""
        return [self._argument_value(i, args, kwargs) for i in self._dispatch]

    def _argument_value(self, index: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        argument = self.schema.arguments[index]
        if index < len(args) and not argument.kwarg_only:
            return args[index]
        value = kwargs.get(argument.name, _default(argument))
        if value is _MISSING:
            self.schema.bind(args, kwargs)  # says which arguments are missing
        return value

    def values_on(self, stack: Stack) -> list[Any]:
        """The arguments on top of *stack*."""
        return stack[self._base(stack) :]

    def key_tensor_of(self, values: Sequence[Any]) -> Any:
        """The tensor that decides, of the *values* of all arguments, in schema order."""
        return self._deciding([values[index] for index in self._dispatch])

    def _deciding(self, values: Sequence[Any]) -> Any:
        if self._plain:
            return values[0]
        tensor = self._first_tensor(values)
        if tensor is None:
            raise self._no_tensor(values)
        return tensor

    def _first_tensor(self, values: Sequence[Any]) -> Any:
        """The first tensor in tensor lists and optional tensors; None also where a list is none."""
        for in_list, value in zip(self.in_list, values, strict=True):
            if value is None:
                continue
            if not in_list:
                return value
            if not is_sequence(value):
                return None
            for element in value:
                if element is not None:
                    return element
        return None

    def _no_tensor(self, values: Sequence[Any]) -> ArgumentError:
        """The error for a call in which none of the *values* that could decide is a tensor."""
        name, arguments = self.schema.name, self.dispatch_arguments()
        for argument, in_list, value in zip(arguments, self.in_list, values, strict=True):
            if in_list and value is not None and not is_sequence(value):
                what, todo = f"argument `{argument.name}`", "pass a list of tensors"
                fact = f"{what} of `{name}` must be {argument.type}, not {describe(value)}"
                return self._wrong_argument("C10E405", fact, todo, f", {what}", argument=argument.name)
        given = ", ".join(f"`{a.name}` is {_emptiness(v)}" for a, v in zip(arguments, values, strict=True))
        todo = f"pass at least one tensor in {self.deciding_names()}"
        return self._wrong_argument("C10E408", f"no tensor to dispatch `{name}` on: {given}", todo)

    def not_a_tensor(self, value: object) -> ArgumentError:
        """The error for a value, where a tensor should decide, that is of no known tensor type."""
        if value is None:
            return self._no_tensor([None])
        names, kind = self.deciding_names(), type(value)
        shown = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        what = f"argument {names}" if self._plain else f"what decides in {names}"
        fact = f"{what} of `{self.schema.name}` is of type `{shown}`, which is no known tensor"
        todo = f"pass an array, or teach the type with register_tensor_type({kind.__qualname__}, KEY)"
        if not self._plain and isinstance(value, list):
            todo = "pass a flat list of tensors"
        place, name = f", {names}: {describe(value)}", self.dispatch_arguments()[0].name
        return self._wrong_argument("C10E408", fact, todo, place, argument=name, tensor_type=kind)

    def deciding_names(self) -> str:
        """`dispatch_arguments` in words."""
        return " or ".join(f"`{argument.name}`" for argument in self.dispatch_arguments())

    def _wrong_argument(
        self, code: str, fact: str, todo: str, place: str = "", **facts: Any
    ) -> ArgumentError:
        place = f"call of {self.schema.name}{place}"
        return call_error(ArgumentError, self.schema, code, fact, todo, place=place, **facts)

    def slow_returns(self, result: Any) -> tuple[Any, ...] | None:
        """*result* as the schema returns it, of operators with none or several returns."""
        return returned_values(self.schema, result) or None

    def slow_bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The value of every argument in schema order, as Python binds a call: nothing is converted.

        Raises:
            ArgumentError: C10E404.
        """
        schema = self.schema
        given = dict(zip((argument.name for argument in schema.positional), args, strict=False))
        extra = len(args) > len(given) or not given.keys().isdisjoint(kwargs)
        given.update(kwargs)
        values = [given.pop(argument.name, _default(argument)) for argument in schema.arguments]
        if extra or given or any(value is _MISSING for value in values):
            schema.bind(args, kwargs)  # looks at the names first, and says what is wrong
        return values

    def _slow_call(self, slow: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a generated function does, for the rare schema that Python can have none for."""
        values = self.slow_bind(args, kwargs)
        result = slow(*values) if self._apply is None else self._apply(slow, *values)
        return result if self._outputs == 1 else self.slow_returns(result)


def returned_values(schema: FunctionSchema, result: Any, kernel: str = "") -> tuple[Any, ...]:
    """*result* as a tuple of as many values as the schema returns.

    Args:
        kernel: its name, where that is known.

    Raises:
        KernelError: C10E502, it has another number.
    """
    wanted = len(schema.returns)
    if wanted == 1:
        return (result,)
    if wanted == 0 and result is None:
        return ()
    if isinstance(result, tuple | list) and len(result) == wanted:
        return tuple(result)
    is_several = isinstance(result, tuple | list)
    came = counted(len(result), "value") if is_several else f"one value ({describe(result)})"
    who = f"kernel `{kernel}`" if kernel else "a kernel"
    fact = f"{who} of `{schema.name}` returned {came} where the schema returns {wanted}"
    todo = f"return a tuple of {wanted}" if wanted else "return None"
    named = {"kernel": kernel} if kernel else {}
    raise call_error(KernelError, schema, "C10E502", fact, todo, wanted=wanted, **named)


def _emptiness(value: object) -> str:
    if value is None:
        return "None"
    return "a list of None" if value else "an empty list"


_MISSING = object()


def _default(argument: Argument) -> Any:
    return fresh(argument.default) if argument.has_default else _MISSING


# What lies under a boxed kernel's arguments.
_BELOW = object()
