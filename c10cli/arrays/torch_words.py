"""The words for dtypes, layouts and memory formats, as torch's own objects.

A schema's default and an argument from a shell are the word; torch's kernels
take the object alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from c10cli.schema.model import FunctionSchema
from c10cli.schema.types import LAYOUT, MEMORY_FORMAT, SCALAR_TYPE, ListType, OptionalType, Type

__all__ = ["with_torch_objects"]

_WORDS = (SCALAR_TYPE, LAYOUT, MEMORY_FORMAT)


def with_torch_objects(schema: FunctionSchema, function: Callable[..., Any]) -> Callable[..., Any]:
    """*function*, given torch's objects for words; itself where *schema* has no such argument."""
    wanted = [argument for argument in schema.arguments if _is_word(argument.type)]
    if not wanted:
        return function
    places = [i for i, argument in enumerate(schema.positional) if _is_word(argument.type)]
    names = [argument.name for argument in wanted]

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        values = list(args)
        for place in places:
            if place < len(values):
                values[place] = _object(values[place])
        for name in names:
            if name in kwargs:
                kwargs[name] = _object(kwargs[name])
        return function(*values, **kwargs)

    return call


def _is_word(t: Type) -> bool:
    while isinstance(t, OptionalType | ListType):
        t = t.element
    return t in _WORDS


def _object(value: Any) -> Any:
    if isinstance(value, list):
        return [_object(element) for element in value]
    if not isinstance(value, str):
        return value
    import torch

    return getattr(torch, value)
