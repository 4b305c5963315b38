"""Schema values to canonical text: one spelling per schema, which parses back to an equal schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from c10cli.schema.types import INT, LAYOUT, MEMORY_FORMAT, SCALAR_TYPE, ListType, OptionalType, Type

if TYPE_CHECKING:
    from c10cli.schema.model import AliasInfo, Argument, FunctionSchema

__all__ = ["quote", "render_argument", "render_parts", "render_schema"]

_ESCAPES = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\a": "\\a", "\b": "\\b", "\f": "\\f"}
_ESCAPES |= {"\n": "\\n", "\t": "\\t", "\v": "\\v"}  # no `\\r`: torch writes it but cannot read it
_TO_ESCAPE = re.compile(r"""[\\'"\x00-\x1f\x7f]""")
_WORDS = (SCALAR_TYPE, LAYOUT, MEMORY_FORMAT)


def render_schema(schema: FunctionSchema) -> str:
    """The schema on one line."""
    arguments, returns = render_parts(schema, render_argument)
    return f"{schema.name}({arguments}) -> {returns}"


def render_parts(schema: FunctionSchema, render: Callable[[Argument], str]) -> tuple[str, str]:
    """What stands between the parentheses of the arguments, and what after the arrow."""
    arguments: list[str] = []
    keyword_only = False
    for argument in schema.arguments:
        if argument.kwarg_only and not keyword_only:
            arguments.append("*")
            keyword_only = True
        arguments.append(render(argument))
    if schema.is_vararg:
        arguments.append("...")
    returns = [render(r) for r in schema.returns]
    if schema.is_varret:
        returns.append("...")
    # `((A, B))` is one return, a tuple; `(A, B)` are two.
    bare = len(returns) == 1 and not returns[0].startswith("(")
    return ", ".join(arguments), returns[0] if bare else f"({', '.join(returns)})"


def render_argument(argument: Argument) -> str:
    """``type name=default`` of an argument or a return, as far as it has them."""
    text = _render_type(argument.type, argument.alias, argument.N)
    if argument.name:
        text += f" {argument.name}"
    if argument.has_default:
        text += f"={_render_default(argument.default, argument.type, argument.N)}"
    return text


def _render_type(t: Type, alias: AliasInfo | None, size: int | None) -> str:
    """A type with its annotations, each where it was written."""
    if isinstance(t, OptionalType):
        return f"{_render_type(t.element, alias, size)}?"
    own = "" if alias is None else _render_alias(alias)
    if isinstance(t, ListType):
        inner = alias.element if alias else None
        return f"{_render_type(t.element, inner, None)}[{'' if size is None else size}]{own}"
    return f"{t}{own}"


def _render_alias(alias: AliasInfo) -> str:
    if not alias.before:  # only its elements are annotated
        return ""
    if alias.before[0].startswith("$"):
        return "!"
    after = f" -> {'|'.join(alias.after)}" if alias.after != alias.before else ""
    return f"({'|'.join(alias.before)}{'!' if alias.is_write else ''}{after})"


def _render_default(value: object, t: Type, size: int | None) -> str:
    """A default as text that the parser reads back as the same value.

    A sized list of equal ints is written as the one int, as torch does.
    """
    if isinstance(t, OptionalType) and value is not None:
        return _render_default(value, t.element, size)
    if isinstance(value, tuple):
        element = t.element if isinstance(t, ListType) else t
        if element == INT and size is not None and len(value) == size > 1 and len(set(value)) == 1:
            return _render_constant(value[0], element)
        return f"[{', '.join(_render_constant(item, element) for item in value)}]"
    return _render_constant(value, t)


def _render_constant(value: object, t: Type) -> str:
    if isinstance(value, str):
        return value if t in _WORDS else quote(value)
    if isinstance(value, complex):
        # Only one part can be written; the parser never makes a value with two.
        return repr(value.real) if value.real else f"{value.imag!r}j"
    return repr(value)


def quote(text: str) -> str:
    """*text* as a string literal on one line."""
    return f'"{_TO_ESCAPE.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _ESCAPES.get(character) or f"\\{ord(character):03o}"
