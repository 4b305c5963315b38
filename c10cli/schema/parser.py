"""Schema text to `FunctionSchema`: recursive descent, with a short way for what was seen before.

The torch dialect takes what torch 2.13 takes, means the same by it, and so
binds calls as torch does.  It differs, on purpose, where torch loses what was
written, cannot print it, or gives up on an assertion of its own:

- A number is the number written.  torch reads ``0x10`` as 0 and ``1E5`` as 1,
  drops the last character of a complex default, and cuts ``int[3.5]`` to 3 and
  a size over 31 bits to its lower bits; here such sizes are refused.
- The default of a ``float`` or ``complex`` is of that type, written as a word too.
- A string is no default of ``ScalarType``, ``Layout`` or ``MemoryFormat``, nor
  of a list of no items; torch checks neither.
- Any word may name a device, since users add keys; torch has a closed list.
- Text is Unicode, and ``\\r`` may stand in a string; torch prints the one as
  garbage and cannot read the other.
- ``Scalar`` takes part in ``T??`` and Unions like other types.  torch leaves
  it out of their members, and in Unions forgets ``SymInt``; it has an order of
  its own, and fails where the members are one to it.
- Alias sets stand in order; torch's order is by hash.  ``Tensor!`` inside a
  tuple, Dict or Future is dropped in both, but torch still counts it.
- Types end at 32 brackets in brackets and 8 postfixes, and one default for all
  items of a list at 1,024 of them, so that no text takes long or much memory.
- Custom classes are those that the caller knows; torch asks its own registry.
"""

from __future__ import annotations

import re
from collections.abc import Container
from contextlib import suppress
from functools import lru_cache
from typing import Final

from c10cli.errors import SchemaError
from c10cli.schema.defaults import read_default
from c10cli.schema.lexer import END, KEYWORD, KEYWORDS, NEWLINE, WORD, Lexer, clip
from c10cli.schema.model import AliasInfo, Argument, Dialect, FunctionSchema, OperatorName
from c10cli.schema.rules import check_order, check_strict
from c10cli.schema.type_parser import TypeParser
from c10cli.schema.types import Type


def parse_schema(
    text: str, dialect: Dialect = "strict", *, file: str = "<schema>", known_classes: Container[str] = ()
) -> FunctionSchema:
    """The schema that *text* declares.

    Args:
        dialect: ``strict`` for operators of ours; ``torch`` takes whatever
            torch's own parser takes.
        file: the name in the place of an error.
        known_classes: names ``ns.Name`` of custom classes that types may use.

    Raises:
        SchemaError: with one diagnostic (C10E2xx) for the first fault; its
            facts ``start`` and ``end`` are offsets into *text*.
        TypeError: *text* is no string.

    >>> str(parse_schema("c10::add(Tensor self,Tensor other,*,Scalar alpha=1)->Tensor"))
    'c10::add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor'
    """
    if dialect not in ("strict", "torch"):
        raise ValueError(f"a dialect is 'strict' or 'torch', not {dialect!r}")
    if not isinstance(text, str):
        raise TypeError(f"a schema is a text such as 'ns::f(Tensor x) -> Tensor', not {text!r:.80}")
    return _Parser(text, file, dialect, known_classes).declaration()


def parse_name(text: str) -> OperatorName:
    """The operator name in *text*; the overload ``default`` is the empty one.

    The namespace may be missing, for names that a person types.

    Raises:
        SchemaError: *text* is no name (C10E203).

    >>> parse_name("c10::add.out")
    OperatorName(namespace='c10', base='add', overload='out')
    """
    lexer = Lexer(text, "<operator>")
    name = _read_name(lexer)
    if lexer.kind is not END:
        lexer.fail_here("C10E203", "the end of the operator's name")
    return OperatorName(name.namespace, name.base, "") if name.overload == "default" else name


def _read_name(lexer: Lexer) -> OperatorName:
    first = _read_part(lexer, "an operator name")
    namespace = ""
    if lexer.take(":"):
        if not lexer.take(":"):
            lexer.fail_here("C10E203", "`::` after the namespace")
        namespace, first = first, _read_part(lexer, f"an operator name after `{first}::`")
    overload = _read_part(lexer, "an overload name after `.`") if lexer.take(".") else ""
    return OperatorName(namespace, first, overload)


def _read_part(lexer: Lexer, what: str) -> str:
    word = lexer.word
    if lexer.kind is KEYWORD:
        message = f"the keyword `{word}` cannot stand in an operator's name"
        lexer.fail("C10E203", message, lexer.start, lexer.end, help=f"write `{word}_`")
    if lexer.kind is not WORD:
        lexer.fail_here("C10E203", what)
    lexer.advance()
    return word


# Note [The short way]
# Most arguments of most schemas are spelled as thousands before them: a type
# and a default from a small set, then a name.  One regular expression finds the
# pieces; what the types and defaults mean is remembered by their text.  It
# reads nothing that the descent below would read differently, and leaves every
# fault to it, and what is longer than most.  Measured on torch's 4,374 schemas: 25 µs each, without it 55.
_SHORT_TYPE = r"([A-Za-z]\w*(?:\([\w!|*> -]+\))?(?:\[\d*\](?:\([\w!|*> -]+\))?|\?)*)"
_SHORT_DEFAULT = r"""(-?[\w.]+|"[^"\\\n]*"|\[[\w., -]*\])"""
_SHORT = re.compile(rf" *(?:(\*) *, *)?{_SHORT_TYPE} +([A-Za-z_]\w*)(?:={_SHORT_DEFAULT})? *([,)])", re.ASCII)
_MAX_LENGTH: Final = 100

_TypePieces = tuple[Type, "AliasInfo | None", "int | None"]


@lru_cache(4096)
def _remembered_type(text: str, strict: bool) -> _TypePieces | None:
    """What a type means wherever it stands; None where that is not known, or it has a fault."""
    lexer = Lexer(text)
    parser = TypeParser(lexer, (), strict=strict)
    with suppress(SchemaError):
        pieces = parser.read()
        parser.check_variables()
        return pieces if lexer.kind is END and not parser.fresh and parser.dropped is None else None
    return None


_UNKNOWN: Final = object()


@lru_cache(4096)
def _remembered_default(text: str, t: Type, size: int | None, strict: bool) -> object:
    """The value of a default; `_UNKNOWN` where it has a fault, or is more than one."""
    lexer = Lexer(text)
    with suppress(SchemaError):
        value = read_default(lexer, t, size, strict=strict)
        return value if lexer.kind is END else _UNKNOWN
    return _UNKNOWN


class _Parser:
    """The descent through one text."""

    def __init__(self, text: str, file: str, dialect: Dialect, known_classes: Container[str]) -> None:
        self.lexer = Lexer(text, file)
        self.dialect = dialect
        self.strict = dialect == "strict"
        self.types = TypeParser(self.lexer, known_classes, strict=self.strict)
        self.arguments: list[Argument] = []
        self.returns: list[Argument] = []
        self.stars: list[int] = []
        self.is_vararg = self.is_varret = False

    def declaration(self) -> FunctionSchema:
        lexer = self.lexer
        name_start = lexer.start
        name = _read_name(lexer)
        if name.overload == "default" or name.overload.startswith("__"):
            message = f"an overload cannot be named `{clip(name.overload)}`"
            hint = "the overload without a name is the default" if name.overload == "default" else ""
            lexer.fail("C10E203", message, lexer.last_end - len(name.overload), lexer.last_end, help=hint)
        self._read_arguments()
        self._read_returns()
        arguments, returns = tuple(self.arguments), tuple(self.returns)
        schema = FunctionSchema(
            name, arguments, returns, self.is_vararg, self.is_varret, lexer.text, self.dialect
        )
        check_order(lexer, schema, strict=self.strict)
        if self.strict:
            check_strict(lexer, schema, name_start, self.stars, self.types.dropped)
        return schema

    def _read_arguments(self) -> None:
        lexer = self.lexer
        if lexer.kind in (END, NEWLINE):
            lexer.fail_here("C10E202", "arguments, `->` and returns after the operator name")
        if lexer.kind != "(":
            lexer.fail_here("C10E203", "`(` and the arguments after the operator name")
        while True:
            found = _SHORT.match(lexer.text, lexer.end)
            if found is None or not self._short(found):
                lexer.advance()
                if self._item():
                    return
            elif found[5] == ")":
                return

    def _short(self, found: re.Match[str]) -> bool:
        """Whether the argument that *found* holds could be taken from memory.

        The lexer goes to the ``,`` behind it, or past the ``)``.
        """
        star, type_text, name, default, separator = found.groups()
        if found.end() - found.start() > _MAX_LENGTH or name in KEYWORDS:
            return False
        pieces = _remembered_type(type_text, self.strict)
        if pieces is None:
            return False
        t, alias, size = pieces
        value = None if default is None else _remembered_default(default, t, size, self.strict)
        if value is _UNKNOWN:
            return False
        if star:
            self.stars.append(found.start(1))
        start, type_end = found.span(2)
        marks = (start, type_end, found.start(3), found.end(3 if default is None else 4))
        has_default, kwarg_only = default is not None, bool(self.stars)
        self.arguments.append(Argument(name, t, size, has_default, value, default, kwarg_only, alias, marks))
        lexer = self.lexer
        lexer.end = found.end()
        if separator == ")":
            lexer.depth -= 1
            lexer.advance()
        return True

    def _item(self) -> bool:
        """Read one item of the argument list, and whether it was the last one."""
        lexer = self.lexer
        if lexer.kind == ")" and lexer.text[lexer.last_end - 1] == "(":
            lexer.advance()
            return True
        if lexer.kind == "...":
            self.is_vararg = True
            self._last("the arguments")
        elif lexer.kind == "*":
            self.stars.append(lexer.start)
            lexer.advance()
        else:
            self._argument()
        if lexer.kind == ",":
            return False
        if not lexer.take(")"):
            lexer.fail_here("C10E201", "`,` or `)` after the argument")
        return True

    def _last(self, what: str) -> None:
        """Pass ``...``, behind which only ``)`` may stand."""
        lexer = self.lexer
        lexer.advance()
        if lexer.take(","):
            lexer.fail("C10E207", f"`...` must be the last of {what}", lexer.start, lexer.end)

    def _argument(self) -> None:
        lexer = self.lexer
        start = lexer.start
        t, alias, size = self.types.read()
        type_end = lexer.last_end
        if lexer.kind is not WORD:
            self._no_name(t, size)
        self.types.check_variables()
        name, name_start = lexer.word, lexer.start
        lexer.advance()
        value, source = None, None
        if lexer.take("="):
            default_start = lexer.start
            value = read_default(lexer, t, size, strict=self.strict)
            source = lexer.text[default_start : lexer.last_end]
        has_default, kwarg_only = source is not None, bool(self.stars)
        marks = (start, type_end, name_start, lexer.last_end)
        self.arguments.append(Argument(name, t, size, has_default, value, source, kwarg_only, alias, marks))

    def _no_name(self, t: Type, size: int | None) -> None:
        lexer = self.lexer
        if lexer.kind is KEYWORD:
            message = f"`{lexer.word}` is a keyword and cannot name an argument"
            lexer.fail("C10E201", message, lexer.start, lexer.end, help=f"write `{lexer.word}_`")
        hint = {
            ":": "the type comes first: `Tensor x`",
            "!": "`!` belongs inside the parentheses: `(a!)`",
            "(": "one annotation per type, and before `?`: `Tensor(a)?`",
            "[": "a list with a size cannot be inside another list" if size is not None else "",
        }
        expected = f"a name for the argument of type `{clip(str(t))}`"
        lexer.fail_here("C10E201", expected, help=hint.get(lexer.kind, ""))

    def _read_returns(self) -> None:
        lexer = self.lexer
        if lexer.kind != "->":
            hint = "write `-> ()` for an operator without returns" if lexer.kind in (END, NEWLINE) else ""
            lexer.fail_here("C10E202", "`->` and the returns", help=hint)
        lexer.advance()
        if lexer.kind == "...":
            self.is_varret = True
            lexer.advance()
        elif lexer.kind == "(":
            self._return_list()
        elif lexer.kind in (END, NEWLINE):
            lexer.fail_here("C10E202", "the returns after `->`")
        else:
            self._return()
        while lexer.take(NEWLINE):
            pass
        if lexer.kind is not END:
            hint = "a return has no default" if lexer.kind == "=" else "one text declares one operator"
            lexer.fail_here("C10E201", "the end of the schema", help=hint)

    def _return_list(self) -> None:
        lexer = self.lexer
        lexer.advance()
        if lexer.take(")"):
            return
        while True:
            if lexer.kind == "...":
                self.is_varret = True
                self._last("the returns")
            else:
                self._return()
            if lexer.take(")"):
                return
            if not lexer.take(","):
                hint = "a return has no default" if lexer.kind == "=" else ""
                lexer.fail_here("C10E201", "`,` or `)` after the return", help=hint)

    def _return(self) -> None:
        lexer = self.lexer
        start = lexer.start
        t, alias, size = self.types.read()
        self.types.check_variables()
        type_end = name_start = end = lexer.last_end
        name = ""
        if lexer.kind is WORD:
            name, name_start, end = lexer.word, lexer.start, lexer.end
            lexer.advance()
        self.returns.append(Argument(name, t, size, alias=alias, marks=(start, type_end, name_start, end)))
