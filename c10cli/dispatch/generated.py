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
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.schema.model import Argument, FunctionSchema

Function = Callable[..., Any]
SwapTable = Callable[[Mapping[Any, Function]], None]


def generate_call(
    schema: FunctionSchema,
    tensor: str,
    helpers: Mapping[str, Function],
    table: Mapping[Any, Function],
    key_of: Function | None,
    slow: Function,
) -> tuple[Function, SwapTable]:
    """A function with the signature of *schema*, and the function that gives it another *table*.

    Args:
        tensor: the expression of the tensor that decides, over argument names.
        helpers: what the code calls for all that is not in its body: ``c10_first(*values)``, which
            *tensor* may use, ``c10_slow_returns(result)``, a result as the schema returns it, and
            ``c10_slow_call(table, key_of, slow, args, kwargs)``, the whole call.
        table: functions in schema form, by what *key_of* says of that tensor.
        key_of: None: *slow* is called for everything.
        slow: called, in schema form, where *table* has nothing.
    """
    names: dict[str, Any] = {
        **helpers,
        "c10_table": table,
        "c10_key_of": key_of,
        "c10_slow": slow,
        "c10_is_miss": _is_miss,
        # Under names of their own, because an argument may be called `type`.
        "c10_type": type,
        "c10_tuple": tuple,
        "c10_len": len,
        "c10_miss": KeyError,
        **{f"c10_default_{a.name}": fresh(a.default) for a in schema.arguments if a.has_default},
    }
    exec(_compiled(_source(schema, tensor, direct=key_of is None)), names)
    # Taken out of the namespace that is its own __globals__: a cycle would
    # leave garbage behind every lookup.
    call: Function = names.pop("call")
    call.__name__, call.__qualname__ = schema.name.base, str(schema.name)
    call.__module__, call.__doc__ = "c10cli.ops", str(schema)

    def swap(table: Mapping[Any, Function]) -> None:
        names["c10_table"] = table

    return call, swap


def generate_apply(schema: FunctionSchema) -> Function:
    """``apply(function, *values)``: call *function*, in schema form, with all arguments in schema order."""
    values = [f"v{i}" for i in range(len(schema.arguments))]
    passed = values.copy()
    for i, argument in enumerate(schema.keyword_only, len(schema.positional)):
        is_name = not keyword.iskeyword(argument.name)  # torch has arguments called `from`
        passed[i] = f"{argument.name}=v{i}" if is_name else f"**{{{argument.name!r}: v{i}}}"
    names: dict[str, Any] = {}
    exec(_compiled(f"def apply(function, {', '.join(values)}): return function({', '.join(passed)})"), names)
    apply: Function = names.pop("apply")
    return apply


def _is_miss(error: KeyError) -> bool:
    """Whether *error* came from the generated function's own table, and not from a kernel.

    It was raised in that function's frame, where a kernel written in Python is
    in one further down, and holds a key of the table: a type or a dispatch key.
    """
    traceback = error.__traceback__
    return (
        traceback is not None
        and traceback.tb_next is None
        and len(error.args) == 1
        and isinstance(error.args[0], type | DispatchKey)
    )


def fresh(default: Any) -> Any:
    """*default*; of a list, which is kept as a tuple, a new one."""
    return list(default) if isinstance(default, tuple) else default


def _source(schema: FunctionSchema, tensor: str, *, direct: bool) -> str:
    if not _has_python_signature(schema.arguments):
        return _SLOW_TEMPLATE
    passed = ", ".join(f"{a.name}={a.name}" if a.kwarg_only else a.name for a in schema.arguments)
    form = _DIRECT if direct else _CHOOSING
    listed = [a.name for a in schema.arguments if isinstance(a.default, tuple)]
    return _TEMPLATE.format(
        parameters=_parameters(schema),
        # A list default is copied, so that no kernel can change it for the next call.
        fresh="".join(f"if {n} is c10_default_{n}: {n} = {n}.copy()\n    " for n in listed),
        body=form[min(len(schema.returns), 2)].format(
            key=f"c10_key_of({tensor})", passed=passed, returns=len(schema.returns)
        ),
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
def call({parameters}):
    {fresh}{body}
"""
# By number of returns: none, one, more.  They use globals of their own: a
# closure costs some 3 ns more.  With one return, the lookup that cannot fail
# and the call are one expression: `get` with a default costs 4 ns more, a dict
# subclass with __missing__ some 10.  What a miss needs is done outside the
# handler, so that its errors do not carry the KeyError as their context.
_NO_RETURN = """\
c10_result = {call}
    return None if c10_result is None else c10_slow_returns(c10_result)"""
_SEVERAL_RETURNS = """\
c10_result = {call}
    if c10_type(c10_result) is c10_tuple and c10_len(c10_result) == {{returns}}:
        return c10_result
    return c10_slow_returns(c10_result)"""
_ONE_RETURN = """\
try:
        return c10_table[{key}]({passed})
    except c10_miss as c10_error:
        if not c10_is_miss(c10_error):
            raise
    return c10_slow({passed})"""
_SLOW, _GET = "c10_slow({passed})", "c10_table.get({key}, c10_slow)({passed})"
_DIRECT = (_NO_RETURN.format(call=_SLOW), f"return {_SLOW}", _SEVERAL_RETURNS.format(call=_SLOW))
_CHOOSING = (_NO_RETURN.format(call=_GET), _ONE_RETURN, _SEVERAL_RETURNS.format(call=_GET))
# For arguments that Python cannot have as parameters (`from` is a real argument
# of real operators): bound by the schema at every call.
_SLOW_TEMPLATE = """\
def call(*args, **kwargs):
    return c10_slow_call(c10_table, c10_key_of, c10_slow, args, kwargs)
"""


@functools.lru_cache(maxsize=1024)
def _compiled(source: str) -> CodeType:
    """Compiled once per shape of schema: operators that look alike share the code."""
    return compile(source, "<c10 call>", "exec")
