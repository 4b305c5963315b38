"""What can differ between two schemas: the kinds of changes, and two schemas of one name in words."""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

from c10cli.schema.model import Argument, FunctionSchema

_KINDS = """
    name vararg argument-added argument-removed argument-renamed argument-moved argument-type argument-size
    argument-alias argument-default argument-keyword-only return-count return-name return-type return-size
    return-alias
"""
# What `c10 diff` tells apart, and what a manifest may waive.
CHANGE_KINDS: Final = tuple(_KINDS.split())


def schema_differences(first: FunctionSchema, second: FunctionSchema) -> list[str]:
    """What differs between two schemas, a sentence for each argument and return; none where they are equal.

    >>> from c10cli.schema.parser import parse_schema
    >>> schema_differences(parse_schema("t::f(Tensor x) -> Tensor"), parse_schema("t::f(Tensor x) -> ()"))
    ['return 0 is `Tensor` in the first and absent in the second']
    """
    if first == second:
        return []
    found = []
    for kind, left, right in (
        ("argument", first.arguments, second.arguments),
        ("return", first.returns, second.returns),
    ):
        for index, (one, other) in enumerate(
            zip_longest(map(_shown, left), map(_shown, right), fillvalue="absent")
        ):
            if one != other:
                found.append(f"{kind} {index} is {one} in the first and {other} in the second")
    return found or [f"the first is `{first}` and the second `{second}`"]


def _shown(argument: Argument) -> str:
    return f"keyword-only `{argument}`" if argument.kwarg_only else f"`{argument}`"
