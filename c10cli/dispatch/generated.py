"""The call function of one operator, generated from its schema.

Note [Generated calls]: a generic ``__call__(*args, **kwargs)`` costs several
times what dispatch itself costs, so every operator gets a function with its
own signature, whose body is one dict lookup on the first tensor's type and
one call.  tests/perf/test_call_overhead.py measures it.  Everything rarer
lives in functions with ``slow`` in their name.
"""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, Protocol

from c10cli.schema import Argument, FunctionSchema

Function = Callable[..., Any]


class Helpers(Protocol):
    """What generated code calls for all that is not in its body."""

    def first_tensor(self, *values: Any) -> Any:
        """The tensor that decides, of several values; None where there is none."""

    def slow_returns(self, result: Any) -> Any:
        """A kernel's result as the schema returns it, or an error."""

    def slow_call(
        self,
        table: Any,
        key_of: Function | None,
        slow: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The whole call."""


def generate_call(
    schema: FunctionSchema,
    helpers: Helpers,
    tensor: str,
    table: Any,
    key_of: Function | None,
    slow: Function,
) -> tuple[Function, Callable[[Any], None]]:
    """A function with the signature of *schema*, and the function that gives it another *table*.

    Args:
        tensor: the expression of the tensor that decides, over argument names.
        table: functions in schema form, by what *key_of* says of that tensor.
        key_of: None: *slow* is called for everything.
        slow: called, in schema form, where *table* has nothing.
    """
    defaults = [a.default for a in schema.arguments if a.has_default]
    defaults = [list(d) if isinstance(d, tuple) else d for d in defaults]
    namespace: dict[str, Any] = {}
    exec(_compiled(_source(schema, tensor, direct=key_of is None)), namespace)
    # Taken out of the namespace that is its own __globals__: a cycle would
    # leave garbage behind every lookup.
    make = namespace.pop("make")
    call, swap = make(table, key_of, slow, helpers, *defaults)
    call.__name__, call.__qualname__ = schema.name.base, str(schema.name)
    call.__module__, call.__doc__ = "c10cli.ops", str(schema)
    return call, swap


def _source(schema: FunctionSchema, tensor: str, *, direct: bool) -> str:
    if not _has_python_signature(schema.arguments):
        return _SLOW_TEMPLATE
    passed = ", ".join(f"{a.name}={a.name}" if a.kwarg_only else a.name for a in schema.arguments)
    returns = len(schema.returns)
    listed = [a.name for a in schema.arguments if isinstance(a.default, tuple)]
    return _TEMPLATE.format(
        defaults="".join(f", c10_default_{a.name}" for a in schema.arguments if a.has_default),
        parameters=_parameters(schema),
        # A list default is copied, so that no kernel can change it for the next call.
        fresh="".join(f"if {n} is c10_default_{n}: {n} = {n}.copy()\n        " for n in listed),
        choose="c10_kernel = c10_slow" if direct else _CHOOSE.format(tensor=tensor),
        body=_BODIES.get(returns, _SEVERAL_RETURNS).format(result=f"c10_kernel({passed})", returns=returns),
    )


def _has_python_signature(arguments: Sequence[Argument]) -> bool:
    """Whether a Python function can have *arguments* as its parameters."""
    names = [argument.name for argument in arguments]
    if any(keyword.iskeyword(name) or name.startswith(("c10_", "__")) for name in names):
        return False
    # A list without default may follow an argument with one; in Python it may not.
    optional = [argument.has_default for argument in arguments if not argument.kwarg_only]
    return optional == sorted(optional)


def _parameters(schema: FunctionSchema) -> str:
    """The generated function's parameter list, its defaults bound by name."""
    texts = [f"{a.name}=c10_default_{a.name}" if a.has_default else a.name for a in schema.arguments]
    if schema.keyword_only:
        texts.insert(len(schema.positional), "*")
    return ", ".join(texts)


_TEMPLATE = """\
def make(c10_table, c10_key_of, c10_slow, c10_helpers{defaults}):
    c10_type, c10_tuple, c10_len, c10_miss = type, tuple, len, KeyError
    c10_first, c10_slow_returns = c10_helpers.first_tensor, c10_helpers.slow_returns
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
# For arguments that Python cannot have as parameters (`from` is a real argument
# of real operators): bound by the schema at every call.
_SLOW_TEMPLATE = """\
def make(c10_table, c10_key_of, c10_slow, c10_helpers, *defaults):
    def call(*args, **kwargs):
        return c10_helpers.slow_call(c10_table, c10_key_of, c10_slow, args, kwargs)
    def swap(table):
        nonlocal c10_table
        c10_table = table
    return call, swap
"""


@functools.lru_cache(maxsize=1024)
def _compiled(source: str) -> CodeType:
    """Compiled once per shape of schema: operators that look alike share the code."""
    return compile(source, "<c10 call>", "exec")
