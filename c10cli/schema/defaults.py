"""Defaults: from text to a value of the argument's type.

The strict dialect gives typed values or refuses.  The torch dialect takes what
torch's parser takes, which checks little: an int may default to a string.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NoReturn

from c10cli.errors import did_you_mean
from c10cli.schema.constants import INT64, Constant, read_constant
from c10cli.schema.lexer import NUMBER, STRING, WORD, Lexer, clip
from c10cli.schema.types import (
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    GENERATOR,
    INT,
    LAYOUT,
    MEMORY_FORMAT,
    NONE,
    SCALAR,
    SCALAR_TYPE,
    STR,
    SYM_INT,
    TENSOR,
    BaseType,
    ListType,
    OptionalType,
    Type,
)
from c10cli.schema.words import (
    DEVICE_NAME,
    LAYOUTS,
    MEMORY_FORMATS,
    REDUCTIONS,
    SCALAR_TYPE_NUMBERS,
    SCALAR_TYPES,
    TORCH_WORDS,
)

# `int[1000000000] x=1` is twenty characters, and its value a billion items.
_MAX_REPEATED: Final = 1024

_INTS = (INT, SYM_INT, SCALAR_TYPE, LAYOUT, MEMORY_FORMAT)
_TORCH_ANY_CONSTANT = (*_INTS, STR, SCALAR, BOOL, FLOAT, COMPLEX)
_WORDS_ONLY = (SCALAR_TYPE, LAYOUT, MEMORY_FORMAT)
_TORCH_NONE_ONLY = (TENSOR, GENERATOR, BaseType("Quantizer"))
_TORCH_ELEMENTS: dict[Type, type] = {**dict.fromkeys(_INTS, int), FLOAT: float, COMPLEX: complex, BOOL: bool}

_WRITE_INSTEAD = {"null": "None", "none": "None", "nullptr": "None", "true": "True", "false": "False"}


def read_default(lexer: Lexer, t: Type, size: int | None, *, strict: bool) -> object:
    """The default at the lexer's place as a value of type *t*; lists become tuples.

    Args:
        size: the fixed length of *t*, for which one constant stands for all items.
    """
    return _strict_default(lexer, t, size) if strict else _torch_default(lexer, t, size)


def _strict_default(lexer: Lexer, t: Type, size: int | None) -> object:
    inner = t.element if isinstance(t, OptionalType) else t
    start = lexer.start
    if inner is t and t not in _STRICT and not isinstance(t, ListType):
        hint = (
            "leave the default out" if t == NONE else f"write `{t}?` with `=None`, or leave the default out"
        )
        lexer.fail("C10E205", f"`{clip(str(t))}` cannot have a default", start, lexer.end, help=hint)
    if lexer.kind == "[" and isinstance(inner, ListType):
        items = [_fit(lexer, c, inner.element) for c in _read_list(lexer, strict=True)]
        if size is not None and len(items) not in (0, size):
            message = f"the default of a list of {size} has {len(items)} items"
            lexer.fail("C10E205", message, start, lexer.last_end)
        return tuple(items)
    constant = read_constant(lexer, strict=True)
    if inner is not t and constant.value is None:
        return None
    if isinstance(inner, ListType) and size is not None:
        return _repeat(lexer, constant, _fit(lexer, constant, inner.element), size)
    return _fit(lexer, constant, inner)


def _read_list(lexer: Lexer, *, strict: bool) -> list[Constant]:
    lexer.advance()
    if lexer.take("]"):
        return []
    items = [read_constant(lexer, strict=strict)]
    while lexer.take(","):
        items.append(read_constant(lexer, strict=strict))
    if not lexer.take("]"):
        lexer.fail_here("C10E205", "`,` or `]` in the list")
    return items


def _repeat(lexer: Lexer, constant: Constant, value: object, size: int) -> tuple[object, ...]:
    if size > _MAX_REPEATED:
        message = f"one default for all items is limited to {_MAX_REPEATED} of them, not {size}"
        lexer.fail("C10E205", message, constant.start, constant.end)
    return (value,) * size


def _fit(lexer: Lexer, c: Constant, t: Type) -> object:
    """The value of *c* as one of type *t*."""
    if isinstance(t, OptionalType):
        return None if c.value is None else _fit(lexer, c, t.element)
    rule = _STRICT.get(t)
    value = rule[1](c) if rule else _NO_FIT
    if value is _NO_FIT:
        expected = rule[0] if rule else "a list `[…]`" if isinstance(t, ListType) else "None"
        _refuse(lexer, c, t, expected)
    return value


def _refuse(lexer: Lexer, c: Constant, t: Type, expected: str) -> NoReturn:
    source = lexer.text[c.start : min(c.end, c.start + 80)]
    hint = ""
    if c.kind is WORD:
        instead = _WRITE_INSTEAD.get(source)
        known = [word for word in _WORDS.get(t, ()) if word != source]  # `inf` is no default to torch
        hint = f"write `{instead}`" if instead else did_you_mean(source, known)
        if t in (STR, DEVICE):
            hint = f'write `"{clip(source)}"`'
    elif c.value is None:
        hint = f"write `{t}?` as the type to allow None"
    lexer.fail(
        "C10E205", f"a default of `{t}` is {expected}, found `{clip(source)}`", c.start, c.end, help=hint
    )


_NO_FIT: Final = object()


def _int(c: Constant) -> object:
    if c.kind is WORD:
        return REDUCTIONS.get(str(c.value), _NO_FIT)
    return c.value if type(c.value) is int and c.value in INT64 else _NO_FIT


def _real(c: Constant) -> object:
    if c.kind is WORD:
        return {"inf": math.inf, "nan": math.nan}.get(str(c.value), _NO_FIT)
    return float(c.value) if type(c.value) in (int, float) else _NO_FIT  # type: ignore[arg-type]


def _complex(c: Constant) -> object:
    return _as_complex(c.value) if c.kind is NUMBER else _NO_FIT


def _as_complex(value: Any) -> complex:
    """A number as a complex one, without the sign of a zero."""
    return complex(value) + 0.0


def _scalar(c: Constant) -> object:
    if c.kind is WORD:
        return _real(c)
    fits = type(c.value) in (bool, float, complex) or (type(c.value) is int and c.value in INT64)
    return c.value if fits else _NO_FIT


def _bool(c: Constant) -> object:
    return c.value if type(c.value) is bool else _NO_FIT


def _string(c: Constant) -> object:
    return c.value if c.kind is STRING else _NO_FIT


def _device(c: Constant) -> object:
    return c.value if c.kind is STRING and DEVICE_NAME.fullmatch(str(c.value)) else _NO_FIT


def _scalar_type(c: Constant) -> object:
    if c.kind is WORD:
        return SCALAR_TYPES.get(str(c.value), _NO_FIT)
    return _by_number(c, SCALAR_TYPE_NUMBERS)


def _word_of(words: dict[str, int]) -> Callable[[Constant], object]:
    def fit(c: Constant) -> object:
        if c.kind is WORD:
            return c.value if c.value in words else _NO_FIT
        return _by_number(c, words)

    return fit


def _by_number(c: Constant, words: dict[str, int]) -> object:
    """The word for the number that torch prints in its place."""
    names = {number: name for name, number in words.items()}
    return names.get(c.value, _NO_FIT) if type(c.value) is int else _NO_FIT


_STRICT: dict[Type, tuple[str, Callable[[Constant], object]]] = {
    INT: ("an integer of 64 bits", _int),
    SYM_INT: ("an integer of 64 bits", _int),
    FLOAT: ("a number", _real),
    COMPLEX: ("a number such as `1.5` or `2j`", _complex),
    SCALAR: ("a number or a bool", _scalar),
    BOOL: ("True or False", _bool),
    STR: ("a string in quotes", _string),
    DEVICE: ('a device in quotes, such as `"cuda:0"`', _device),
    SCALAR_TYPE: ("an element type such as `float32`", _scalar_type),
    LAYOUT: ("`strided`", _word_of(LAYOUTS)),
    MEMORY_FORMAT: ("`contiguous_format`", _word_of(MEMORY_FORMATS)),
}
_WORDS: dict[Type, tuple[str, ...]] = {
    INT: tuple(REDUCTIONS),
    FLOAT: ("inf", "nan"),
    BOOL: ("True", "False"),
    SCALAR_TYPE: tuple(SCALAR_TYPES),
    LAYOUT: tuple(LAYOUTS),
    MEMORY_FORMAT: tuple(MEMORY_FORMATS),
}


def _torch_default(lexer: Lexer, t: Type, size: int | None) -> object:
    if isinstance(t, ListType):
        return _torch_list(lexer, t.element, size)
    start, end = lexer.start, lexer.end
    if t in _TORCH_NONE_ONLY:
        constant = read_constant(lexer, strict=False)
        if constant.value is not None:
            _refuse(lexer, constant, t, "None")
        return None
    if t == DEVICE:
        constant = read_constant(lexer, strict=False)
        if _device(constant) is _NO_FIT:
            _refuse(lexer, constant, t, _STRICT[DEVICE][0])
        return constant.value
    if t not in _TORCH_ANY_CONSTANT and not isinstance(t, OptionalType):
        lexer.fail("C10E205", f"`{clip(str(t))}` cannot have a default", start, end)
    return _torch_value(lexer, read_constant(lexer, strict=False), t)


def _torch_value(lexer: Lexer, c: Constant, t: Type) -> object:
    inner = t.element if isinstance(t, OptionalType) else t
    value = c.value
    if c.kind is WORD:
        value = _torch_word(lexer, c, inner)
    elif c.kind is STRING and inner in _WORDS_ONLY:
        _refuse(lexer, c, inner, _STRICT[inner][0])
    if t == COMPLEX and type(value) in (int, float):
        return _as_complex(value)
    if t == FLOAT and type(value) is int:
        return float(value)
    if type(value) is int and value not in INT64:
        _refuse(lexer, c, inner, _STRICT[INT][0])
    return value


def _torch_word(lexer: Lexer, c: Constant, t: Type) -> int:
    word = str(c.value)
    if word in TORCH_WORDS:
        return TORCH_WORDS[word]
    if t == SCALAR_TYPE and word in SCALAR_TYPES:
        return SCALAR_TYPE_NUMBERS[SCALAR_TYPES[word]]
    rule = _STRICT.get(t)
    return _refuse(lexer, c, t, rule[0] if rule else "None")


def _torch_list(lexer: Lexer, element: Type, size: int | None) -> tuple[object, ...]:
    start, end = lexer.start, lexer.end
    if lexer.kind == "[":
        constants = _read_list(lexer, strict=False)
    elif size is None or lexer.kind is WORD:
        lexer.fail_here("C10E205", "a list `[…]`")
    else:
        constants = [read_constant(lexer, strict=False)]
    kind = _TORCH_ELEMENTS.get(element)
    if kind is None:
        lexer.fail("C10E205", f"a list of `{clip(str(element))}` cannot have a default", start, end)
    values = [_torch_value(lexer, c, element) for c in constants]
    for c, value in zip(constants, values, strict=True):
        if type(value) is not kind:
            _refuse(lexer, c, element, _STRICT[element][0])
    if lexer.text[start] == "[" or size is None:
        return tuple(values)
    return _repeat(lexer, constants[0], values[0], size)
