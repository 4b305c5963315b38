"""The calling convention of one schema: functions generated from its text.

Note [Generated calls]: a generic ``__call__(*args, **kwargs)`` costs several
times what dispatch itself costs, so every operator gets a function with its
own signature, whose body is one dict lookup on the first tensor's type and
one call.  tests/perf/test_call_overhead.py measures it.  Everything rarer
lives in functions with ``slow`` in their name.

A function in *schema form* takes every argument of the schema: positional
ones by position, keyword-only ones by keyword.  Kernels, routers and the
values of dispatch tables are functions in schema form.
"""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import Any

from c10cli.dispatch.describe import describe
from c10cli.dispatch.stack import Stack
from c10cli.dispatch.tensor_types import is_tensor
from c10cli.errors import ArgumentError, Diagnostic, DispatchError, KernelError, SchemaError
from c10cli.schema import Argument, FunctionSchema
from c10cli.schema import types as schema_types

Function = Callable[..., Any]


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


def no_tensor_argument(schema: FunctionSchema) -> Diagnostic:
    """The finding for a schema that nothing can be dispatched on."""
    return Diagnostic(
        "C10E209",
        f"`{schema.name}` has no tensor argument, and the kernel is chosen by the first one",
        notes=(f"the schema is {schema}",),
        help="give it an argument of type Tensor, Tensor[] or Tensor?",
    )


class Calling:
    """How one operator is called, unboxed and boxed; knows the schema, not the kernels."""

    __slots__ = ("_dispatch", "_keyword_names", "_plain", "schema")

    def __init__(self, schema: FunctionSchema) -> None:
        self.schema = schema
        self._dispatch = dispatch_arguments(schema)
        if not self._dispatch:
            raise SchemaError(no_tensor_argument(schema), operator=str(schema.name))
        self._plain = schema_types.is_tensor(schema.arguments[self._dispatch[0]].type)
        self._keyword_names = tuple(argument.name for argument in schema.keyword_only)

    def dispatching(
        self, table: Mapping[type, Function], slow: Function
    ) -> tuple[Function, Callable[[Any], None]]:
        """The operator's call function, and the function that gives it another *table*.

        Args:
            table: functions in schema form by the type of the tensor that decides.
            slow: called, in schema form, where *table* has nothing.
        """
        return self._generate(table, type, slow)

    def routing(self, key_of: Function, table: Mapping[Any, Function], slow: Function) -> Function:
        """A function in schema form that asks *key_of* the tensor and calls what *table* holds."""
        return self._generate(table, key_of, slow)[0]

    def bind_to(self, kernel: Function) -> Function:
        """*kernel* with the operator's signature: defaults filled, returns as the schema says."""
        return self._generate({}, None, kernel)[0]

    def unboxed(self, function: Function, get_cache: Callable[[], object], name: str) -> Function:
        """A boxed kernel as a function in schema form.

        The kernel works on a stack of its own, with a mark under its
        arguments: whatever it does or raises, the caller's stack stays whole,
        and a kernel that takes or leaves too much is found out.
        """
        keyword_names, outputs = self._keyword_names, len(self.schema.returns)

        def run(*args: Any, **kwargs: Any) -> Any:
            stack: Stack = [_BELOW, *args, *(kwargs[keyword] for keyword in keyword_names)]
            try:
                function(stack, get_cache())
            except IndexError:
                if stack:
                    raise
            if len(stack) != outputs + 1 or stack[0] is not _BELOW:
                raise self._broken_discipline(stack, name)
            return stack[1] if outputs == 1 else tuple(stack[1:]) or None

        return run

    def call_boxed(self, function: Function, stack: Stack) -> None:
        """Call *function* with the arguments on top of *stack* and put its results in their place.

        After an exception the stack is as it was.
        """
        self._check_depth(stack)
        base = len(stack) - len(self.schema.arguments)
        args, split = stack[base:], len(self.schema.positional)
        result = function(*args[:split], **dict(zip(self._keyword_names, args[split:], strict=True)))
        returns = len(self.schema.returns)
        stack[base:] = [result] if returns == 1 else self.slow_returns(result) or ()

    def key_tensor(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The tensor that decides, of a call with *args* and *kwargs*."""
        values = [_argument_value(self.schema, i, args, kwargs) for i in self._dispatch]
        return values[0] if self._plain else self.first_tensor(*values)

    def key_tensor_on(self, stack: Stack) -> Any:
        """The tensor that decides, of the arguments on top of *stack*."""
        self._check_depth(stack)
        base = len(stack) - len(self.schema.arguments)
        values = [stack[base + index] for index in self._dispatch]
        return values[0] if self._plain else self.first_tensor(*values)

    def first_tensor(self, *values: Any) -> Any:
        """The first tensor in lists of tensors and optional tensors."""
        for value in values:
            if isinstance(value, list | tuple):
                for element in value:
                    if element is not None:
                        return element
            elif value is not None:
                return value
        raise self._no_tensor_given(values)

    def dispatch_argument(self) -> Argument:
        """The first of the arguments that decide."""
        return self.schema.arguments[self._dispatch[0]]

    def not_a_tensor(self, value: object) -> ArgumentError:
        """The error for a value, where a tensor should decide, that is of no known tensor type."""
        argument = self.dispatch_argument()
        tensor_type = type(value)
        shown = f"{tensor_type.__module__}.{tensor_type.__qualname__}".removeprefix("builtins.")
        looks_nested = not self._plain and isinstance(value, list)
        return ArgumentError(
            Diagnostic(
                "C10E408",
                f"argument `{argument.name}` of `{self.schema.name}` is of type `{shown}`, which is no known tensor",
                place=f"call of {self.schema.name}, argument `{argument.name}`: {describe(value)}",
                notes=(f"the schema is {self.schema}",),
                help="pass a flat list of tensors"
                if looks_nested
                else f"pass an array, or teach the type with register_tensor_type({tensor_type.__qualname__}, KEY)",
            ),
            operator=str(self.schema.name),
            argument=argument.name,
            tensor_type=tensor_type,
        )

    def _no_tensor_given(self, values: Iterable[Any]) -> ArgumentError:
        names = [self.schema.arguments[i].name for i in self._dispatch]
        given = ", ".join(f"`{name}` is {_emptiness(v)}" for name, v in zip(names, values, strict=True))
        return ArgumentError(
            Diagnostic(
                "C10E408",
                f"no tensor to dispatch `{self.schema.name}` on: {given}",
                place=f"call of {self.schema.name}",
                notes=(f"the schema is {self.schema}",),
                help=f"pass at least one tensor in {' or '.join(f'`{name}`' for name in names)}",
            ),
            operator=str(self.schema.name),
        )

    def _check_depth(self, stack: Stack) -> None:
        needed = len(self.schema.arguments)
        if len(stack) < needed:
            raise DispatchError(
                Diagnostic(
                    "C10E409",
                    f"`{self.schema.name}` needs {needed} values on the stack, and it has {len(stack)}",
                    notes=(f"the schema is {self.schema}",),
                    help="push every argument, in the schema's order; a boxed call fills no defaults",
                ),
                operator=str(self.schema.name),
                needed=needed,
                depth=len(stack),
            )

    def _broken_discipline(self, stack: Stack, name: str) -> KernelError:
        outputs = len(self.schema.returns)
        if not stack or stack[0] is not _BELOW:
            fact = f"took more values off the stack than its {len(self.schema.arguments)} arguments"
        else:
            fact = f"left {len(stack) - 1} values on the stack where the schema returns {outputs}"
        return KernelError(
            Diagnostic(
                "C10E507",
                f"boxed kernel `{name}` of `{self.schema.name}` {fact}",
                notes=(f"the schema is {self.schema}", "the caller's stack is as it was before the call"),
                help="make the kernel take exactly its arguments off and put exactly its returns on",
            ),
            operator=str(self.schema.name),
            kernel=name,
        )

    def slow_returns(self, result: Any) -> tuple[Any, ...] | None:
        """*result* as the schema returns it, of operators with none or several returns."""
        wanted = len(self.schema.returns)
        if wanted == 0:
            if result is None or result == ():
                return None
        elif isinstance(result, tuple | list) and len(result) == wanted:
            return tuple(result)
        came = (
            f"{len(result)} values" if isinstance(result, tuple | list) else f"one value ({describe(result)})"
        )
        raise KernelError(
            Diagnostic(
                "C10E502",
                f"a kernel of `{self.schema.name}` returned {came} where the schema returns {wanted}",
                notes=(f"the schema is {self.schema}",),
                help=f"return a tuple of {wanted}" if wanted else "return None",
            ),
            operator=str(self.schema.name),
            wanted=wanted,
        )

    def slow_call(
        self,
        table: Any,
        key_of: Function | None,
        slow: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """What a generated function does, for the rare schema that Python can have none for."""
        bound = self.schema.bind(args, kwargs, is_tensor=is_tensor)
        function = slow if key_of is None else table.get(key_of(self.key_tensor((), bound)), slow)
        split = len(self.schema.positional)
        result = function(*list(bound.values())[:split], **dict(list(bound.items())[split:]))
        return result if len(self.schema.returns) == 1 else self.slow_returns(result)

    def _generate(
        self, table: Any, key_of: Function | None, slow: Function
    ) -> tuple[Function, Callable[[Any], None]]:
        """The generated function over *table*, and the function that replaces *table*.

        Args:
            key_of: what *table* is asked for, of the tensor that decides; None:
                *slow* is called for everything.
        """
        defaults = [a.default for a in self.schema.arguments if a.has_default]
        defaults = [list(d) if isinstance(d, tuple) else d for d in defaults]
        namespace: dict[str, Any] = {}
        exec(_compiled(self._call_source(direct=key_of is None)), namespace)
        call, swap = namespace["make"](table, key_of, slow, self, *defaults)
        call.__name__, call.__qualname__ = self.schema.name.base, str(self.schema.name)
        call.__module__, call.__doc__ = "c10cli.ops", str(self.schema)
        return call, swap

    def _call_source(self, *, direct: bool) -> str:
        if any(keyword.iskeyword(argument.name) for argument in self.schema.arguments):
            return _SLOW_TEMPLATE
        dispatched = ", ".join(self.schema.arguments[i].name for i in self._dispatch)
        tensor = dispatched if self._plain else f"c10_first({dispatched})"
        passed = ", ".join(f"{a.name}={a.name}" if a.kwarg_only else a.name for a in self.schema.arguments)
        returns = len(self.schema.returns)
        listed = [a.name for a in self.schema.arguments if isinstance(a.default, tuple)]
        return _TEMPLATE.format(
            defaults="".join(f", c10_default_{a.name}" for a in self.schema.arguments if a.has_default),
            parameters=self._parameters(),
            # A list default is copied, so that no kernel can change it for the next call.
            fresh="".join(f"if {n} is c10_default_{n}: {n} = {n}.copy()\n        " for n in listed),
            choose="c10_kernel = c10_slow" if direct else _CHOOSE.format(tensor=tensor),
            body=_BODIES.get(returns, _SEVERAL_RETURNS).format(
                result=f"c10_kernel({passed})", returns=returns
            ),
        )

    def _parameters(self) -> str:
        """The generated function's parameter list, its defaults bound by name."""
        texts = [f"{a.name}=c10_default_{a.name}" if a.has_default else a.name for a in self.schema.arguments]
        if self._keyword_names:
            texts.insert(len(self.schema.positional), "*")
        return ", ".join(texts)


_TEMPLATE = """\
def make(c10_table, c10_key_of, c10_slow, c10_calling{defaults}):
    c10_type, c10_tuple, c10_len, c10_miss = type, tuple, len, KeyError
    c10_first, c10_slow_returns = c10_calling.first_tensor, c10_calling.slow_returns
    def call({parameters}):
        {fresh}{choose}
        {body}
    def swap(table):
        nonlocal c10_table
        c10_table = table
    return call, swap
"""
# An exact dict and a handler that costs nothing until it is needed: some 10 ns
# less than a dict subclass with __missing__.  What a miss needs is done outside
# the handler, so that its errors do not carry the KeyError as their context.
_CHOOSE = """\
try:
            c10_kernel = c10_table[c10_key_of({tensor})]
        except c10_miss:
            c10_kernel = c10_slow"""
_BODIES = {
    1: "return {result}",
    0: """\
c10_result = {result}
        return None if c10_result is None else c10_slow_returns(c10_result)""",
}
_SEVERAL_RETURNS = """\
c10_result = {result}
        if c10_type(c10_result) is c10_tuple and c10_len(c10_result) == {returns}:
            return c10_result
        return c10_slow_returns(c10_result)"""
# For names that Python cannot have as parameters (`from` is a real argument of
# real operators): bound by the schema at every call.
_SLOW_TEMPLATE = """\
def make(c10_table, c10_key_of, c10_slow, c10_calling, *defaults):
    def call(*args, **kwargs):
        return c10_calling.slow_call(c10_table, c10_key_of, c10_slow, args, kwargs)
    def swap(table):
        nonlocal c10_table
        c10_table = table
    return call, swap
"""


@functools.cache
def _compiled(source: str) -> CodeType:
    """Compiled once per shape of schema: operators that look alike share the code."""
    return compile(source, "<c10 call>", "exec")


class _Below:
    """What lies under a boxed kernel's arguments."""

    def __repr__(self) -> str:
        return "<the end of the kernel's arguments>"


_BELOW = _Below()


def _argument_value(
    schema: FunctionSchema, index: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    argument = schema.arguments[index]
    if index < len(args) and not argument.kwarg_only:
        return args[index]
    if argument.name in kwargs:
        return kwargs[argument.name]
    if argument.has_default:
        return argument.default
    raise ArgumentError(
        Diagnostic(
            "C10E404",
            f"`{schema.name}` is missing argument `{argument.name}`",
            notes=(f"the schema is {schema}",),
            help=f"pass `{argument.name}`",
        ),
        operator=str(schema.name),
        argument=argument.name,
    )


def _emptiness(value: object) -> str:
    if value is None:
        return "None"
    return "a list of None" if value else "an empty list"
