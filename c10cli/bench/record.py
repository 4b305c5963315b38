"""Dataclasses as JSON and back: `dataclasses.asdict` writes a record, `read_record` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from c10cli.errors import BenchError, Diagnostic

T = TypeVar("T")

_PLAIN: Mapping[Any, Any] = {str: str, int: int, bool: bool, float: (int, float), object: object, Any: object}
_hints = lru_cache(get_type_hints)


def read_record(kind: type[T], data: Mapping[str, Any]) -> T:
    """The value of the dataclass *kind* that *data* was made of; other fields are left out.

    Raises:
        BenchError: *data* is not of this form (C10E603).
    """
    try:
        value: T = _read(kind, data, kind.__name__)
    except ValueError as error:
        raise not_a_result(str(error)) from error
    return value


def not_a_result(reason: str) -> BenchError:
    """The error for data that `c10 bench` did not write."""
    return BenchError(Diagnostic("C10E603", "not a result of `c10 bench` that can be read", notes=(reason,)))


def _read(kind: Any, data: Any, place: str) -> Any:
    origin, of = get_origin(kind), get_args(kind)
    if origin is UnionType:  # each of ours is of a type and None
        return None if data is None else _read(of[0], data, place)
    if is_dataclass(kind) and isinstance(data, Mapping):
        return _read_fields(kind, data, place)
    if origin is tuple and isinstance(data, list | tuple):
        kinds = of[:1] * len(data) if of[-1] is ... else of
        return tuple(_read(one, value, place) for one, value in zip(kinds, data, strict=True))
    if origin is Mapping and isinstance(data, Mapping):
        return {name: _read(of[1], value, f"{place}.{name}") for name, value in data.items()}
    fits = data in of if origin is Literal else isinstance(data, _PLAIN.get(kind, ()))
    if not fits:
        raise ValueError(f"{place} cannot be {data!r}")
    return data


def _read_fields(kind: Any, data: Mapping[str, Any], place: str) -> Any:
    given = {}
    for field in fields(kind):
        here = f"{place}.{field.name}"
        if field.name in data:
            given[field.name] = _read(_hints(kind)[field.name], data[field.name], here)
        elif field.default is field.default_factory is MISSING:
            raise ValueError(f"{here} is missing")
    return kind(**given)
