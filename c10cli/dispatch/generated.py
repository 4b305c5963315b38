"""The call function of one operator, generated from its schema.

Note [Generated calls]: a generic ``__call__(*args, **kwargs)`` costs several
times what dispatch itself costs, so every operator gets a function with its
own signature, whose body is one dict lookup on the first tensor's type and
one call.  For a type that leaves the key open, and for None, the table has a
*router*: a function in schema form that looks further and calls the kernel.
tests/perf measures them.  Everything rarer lives in functions with ``slow``
in their name.  A dict is only fooled by a type that computes the hash of
another one on purpose; to look up `id` instead would double the price.
"""

from __future__ import annotations

import functools
import keyword
from collections.abc import Callable, Mapping, Sequence
from textwrap import indent
from types import CodeType
from typing import Any, NamedTuple

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import Shortcut, is_told_apart
from c10cli.schema.model import FunctionSchema

Function = Callable[..., Any]


class Choice(NamedTuple):
    """How a generated function finds what it calls.

    Args:
        callee: an expression of it.
        looked_up: the argument that *callee* looks up in a table, which may
            not have it; empty where it always gives a function.
        names: what it uses beside the function's arguments.
        begin: statements that come before.
    """

    callee: str
    looked_up: str
    names: Mapping[str, object]
    begin: str = ""


# What is called for everything, in schema form.
DIRECT = Choice("c10_slow", "", {})


def by_type(table: Mapping[type, Any], name: str, in_list: bool) -> Choice:
    """What *table* has for the type of argument *name*.

    Args:
        in_list: the argument is a list; *table* has a table for its type, and that one a function
            for the type of its first element.
    """
    callee = f"c10_table[c10_type({name})]" + (f"[c10_type({name}[0])]" if in_list else "")
    return Choice(callee, name, {"c10_table": table})


def by_value(
    tensor: str,
    shortcuts: Sequence[Shortcut],
    key_of: Function,
    by_key: Mapping[DispatchKey, Function],
    slow: Function,
    conditional: Mapping[DispatchKey, Choice],
) -> Choice:
    """What *by_key* has for the key of *tensor*, an expression; *slow* where it has nothing.

    Args:
        shortcuts: tests of the tensor that are tried before *key_of* is asked;
            what they lead to is what *by_key* has now.
        conditional: what else is to be asked for tensors of at most one key.
    """
    callee = f"c10_table.get(c10_key_of({tensor}), c10_slow)"
    names: dict[str, object] = {"c10_table": by_key, "c10_key_of": key_of}
    begin = ""
    for at, (key, test, held) in enumerate(shortcuts):
        # A global for each function: to look it up by key would cost 10 ns more.
        function, held_names = f"c10_function_{at}", [f"c10_held_{at}_{n}" for n in range(len(held))]
        names |= {function: by_key.get(key, slow), **dict(zip(held_names, held, strict=True))}
        if key in conditional:  # here and now, which spares a call
            names |= conditional[key].names
            function, begin = conditional[key].callee, conditional[key].begin
        callee = f"{function} if {test.format(*held_names, tensor=tensor)} else {callee}"
    return Choice(f"({callee})", "", names, begin)


def generate_call(
    schema: FunctionSchema, choice: Choice, slow: Function, helpers: Mapping[str, Function]
) -> Function:
    """A function with the signature of *schema*, defaults filled, that returns what the schema says.

    Args:
        slow: called, in schema form, for what *choice* does not find.
        helpers: what the code calls for all that is not in its body: ``c10_slow_returns(result)``, a
            result as the schema returns it, and ``c10_slow_call(slow, args, kwargs)``, the whole call.
    """
    defaults = {f"c10_default_{a.name}": fresh(a.default) for a in schema.arguments if a.has_default}
    source = _call_source(schema, choice) if has_python_signature(schema) else _SLOW_TEMPLATE
    call = _defined(source, {**helpers, **choice.names, **defaults, "c10_slow": slow})
    call.__name__, call.__qualname__ = schema.name.base, str(schema.name)
    call.__module__, call.__doc__ = "c10cli.ops", str(schema)
    return call


def generate_router(schema: FunctionSchema, choice: Choice, slow: Function) -> Function:
    """A function in schema form that calls what *choice* finds, else *slow*, and gives what that gives."""
    source = _source(schema, choice, _parameters(schema, with_defaults=False), 1, choice.begin)
    return _defined(source, {**choice.names, "c10_slow": slow})


def generate_apply(schema: FunctionSchema) -> Function:
    """``apply(function, *values)``: call *function*, in schema form, with all arguments in schema order."""
    values = [f"v{i}" for i in range(len(schema.arguments))]
    passed = values.copy()
    for i, argument in enumerate(schema.keyword_only, len(schema.positional)):
        is_name = not keyword.iskeyword(argument.name)  # torch has arguments called `from`
        passed[i] = f"{argument.name}=v{i}" if is_name else f"**{{{argument.name!r}: v{i}}}"
    return _defined(f"def call(function, {', '.join(values)}): return function({', '.join(passed)})", {})


def fresh(default: Any) -> Any:
    """*default*; of a list, which is kept as a tuple, a new one."""
    return list(default) if isinstance(default, tuple) else default


def has_python_signature(schema: FunctionSchema) -> bool:
    """Whether a Python function can have the arguments of *schema* as its parameters."""
    names = [argument.name for argument in schema.arguments]
    if any(keyword.iskeyword(name) or name.startswith(("c10_", "__")) for name in names):
        return False
    # A list without default may follow an argument with one; in Python it may not.
    optional = [argument.has_default for argument in schema.positional]
    return optional == sorted(optional)


def _defined(source: str, names: Mapping[str, object]) -> Function:
    """The function ``call`` of *source*, over *names* of its own: a closure costs some 3 ns more."""
    own: dict[str, Any] = {
        **names,
        "c10_is_miss": _is_miss,
        # Under names of their own, because an argument may be called `type`.
        "c10_type": type,
        "c10_tuple": tuple,
        "c10_exception": Exception,
        "c10_wrong_length": ValueError,
    }
    exec(_compiled(source), own)
    # Taken out of the namespace that is its own __globals__: a cycle would
    # leave garbage behind every lookup.
    call: Function = own.pop("call")
    # Code of its own: Python adapts it to the globals and types that it meets, and where
    # operators that are called in turn share it, that is in vain and costs some 20 ns a call.
    call.__code__ = call.__code__.replace()
    return call


def _is_miss(error: Exception, value: Any) -> bool:
    """Whether *error* came from looking *value* up, and not from a kernel.

    It was raised in the generated function's own frame, where a kernel written
    in Python is in one further down: by a table, for a type, or by a list, for
    want of a first element.  Or by a type that no table has.
    """
    is_plain = type(value) is list or type(value) is tuple  # `in` would ask the type's own `__eq__`
    traceback = error.__traceback__
    if traceback is not None and traceback.tb_next is None:
        if isinstance(error, KeyError) and len(error.args) == 1 and isinstance(error.args[0], type):
            return True
        if isinstance(error, IndexError) and is_plain and not value:
            return True
    first = value[:1] if is_plain else ()
    return not all(is_told_apart(type(tensor)) for tensor in (value, *first))


def _call_source(schema: FunctionSchema, choice: Choice) -> str:
    listed = [a.name for a in schema.arguments if isinstance(a.default, tuple)]
    # A list default is copied, so that no kernel can change it for the next call.
    begin = "".join(f"if {n} is c10_default_{n}: {n} = {n}.copy()\n" for n in listed)
    return _source(schema, choice, _parameters(schema, with_defaults=True), len(schema.returns), begin)


def _source(schema: FunctionSchema, choice: Choice, parameters: str, returns: int, begin: str = "") -> str:
    """A function that calls what *choice* finds with all arguments of *schema*."""
    passed = ", ".join(f"{a.name}={a.name}" if a.kwarg_only else a.name for a in schema.arguments)
    called, slow = f"{choice.callee}({passed})", f"c10_slow({passed})"
    values = ", ".join(f"c10_value_{at}" for at in range(returns))
    finish = _FINISH[min(returns, 2)].format(values=values)
    if returns == 1:
        body, missed = f"return {called}", f"return {slow}"
    else:
        body, missed = f"c10_result = {called}", f"return c10_slow_returns({slow})"
    if choice.looked_up:
        body = _GUARDED.format(body=body, name=choice.looked_up)
        if finish:
            body += f"else:\n{indent(finish, '    ')}"
        body += missed
    else:
        body += f"\n{finish}"
    return f"def call({parameters}):\n{indent(begin + body, '    ')}"


def _parameters(schema: FunctionSchema, *, with_defaults: bool) -> str:
    """The parameter list, its defaults bound by name."""
    texts = [
        f"{a.name}=c10_default_{a.name}" if with_defaults and a.has_default else a.name
        for a in schema.arguments
    ]
    if schema.keyword_only:
        texts.insert(len(schema.positional), "*")
    return ", ".join(texts)


# The lookup that cannot fail and the call are one expression: to keep the
# function in between costs 5 ns more, `get` with a default 4, a dict subclass
# with __missing__ some 10.  What a miss needs is done outside the handler, so
# that its errors do not carry the KeyError as their context.
_GUARDED = """\
try:
    {body}
except c10_exception as c10_error:
    if not c10_is_miss(c10_error, {name}):
        raise
"""
# By number of returns: none, one, more.  A tuple that is unpacked into the
# right number of names has the right length, and that costs less than `len`.
_FINISH = (
    "return None if c10_result is None else c10_slow_returns(c10_result)\n",
    "",
    """\
if c10_type(c10_result) is c10_tuple:
    try:
        {values} = c10_result
        return c10_result
    except c10_wrong_length:
        pass
return c10_slow_returns(c10_result)
""",
)
# For arguments that Python cannot have as parameters (`from` is a real argument
# of real operators): bound by the schema at every call.
_SLOW_TEMPLATE = """\
def call(*args, **kwargs):
    return c10_slow_call(c10_slow, args, kwargs)
"""


@functools.lru_cache(maxsize=1024)
def _compiled(source: str) -> CodeType:
    """Compiled once per shape of schema, which takes longer than all else that a registration does."""
    return compile(source, "<c10 call>", "exec")
