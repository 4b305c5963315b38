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
from typing import Final

from c10cli.schema.defaults import read_default
from c10cli.schema.lexer import END, KEYWORD, KEYWORDS, NEWLINE, WORD, Lexer, clip
from c10cli.schema.model import AliasInfo, Argument, Dialect, FunctionSchema, OperatorName
from c10cli.schema.rules import check_order, check_strict
from c10cli.schema.type_parser import TypeParser
from c10cli.schema.types import Type

__all__ = ["parse_name", "parse_schema"]


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
# fault to it.  Measured on torch's 4,374 schemas: 25 µs each, without it 55.
_SHORT_TYPE = r"([A-Za-z]\w*(?:\([\w!|*> -]+\))?(?:\[\d*\](?:\([\w!|*> -]+\))?|\?)*)"
_SHORT_DEFAULT = r"""(-?[\w.]+|"[^"\\\n]*"|\[[\w., -]*\])"""
_SHORT = re.compile(rf" *(?:(\*) *, *)?{_SHORT_TYPE} +([A-Za-z_]\w*)(?:={_SHORT_DEFAULT})? *([,)])", re.ASCII)
_SHORT_RETURN = re.compile(rf" *-> *{_SHORT_TYPE} *\Z", re.ASCII)

_TypePieces = tuple[Type, "AliasInfo | None", "int | None"]


class _Memory:
    """What the texts of types and defaults mean in one dialect."""

    # Bounds on memory, for callers that parse whatever comes.
    MAX_ENTRIES: Final = 4096
    MAX_LENGTH: Final = 100

    def __init__(self) -> None:
        self.types: dict[str, _TypePieces] = {}
        self.defaults: dict[tuple[str, str], object] = {}

    def keep(self, found: re.Match[str], argument: Argument) -> None:
        """Remember the pieces of *argument*, which `_SHORT` found by its regular expression."""
        type_text, default = found[2], found[4]
        if found.end() - found.start() > self.MAX_LENGTH:
            return
        if len(self.types) < self.MAX_ENTRIES:
            self.types[type_text] = (argument.type, argument.alias, argument.N)
        if default is not None and len(self.defaults) < self.MAX_ENTRIES:
            self.defaults[type_text, default] = argument.default


_MEMORIES: Final[dict[Dialect, _Memory]] = {"strict": _Memory(), "torch": _Memory()}
_MISSING: Final = object()


class _Parser:
    """The descent through one text."""

    __slots__ = (
        "arguments",
        "dialect",
        "is_vararg",
        "is_varret",
        "lexer",
        "memory",
        "returns",
        "stars",
        "strict",
        "types",
    )

    def __init__(self, text: str, file: str, dialect: Dialect, known_classes: Container[str]) -> None:
        self.lexer = Lexer(text, file)
        self.dialect = dialect
        self.strict = dialect == "strict"
        self.memory = _MEMORIES[dialect]
        self.types = TypeParser(self.lexer, known_classes)
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
        schema = FunctionSchema(
            name,
            tuple(self.arguments),
            tuple(self.returns),
            self.is_vararg,
            self.is_varret,
            lexer.text,
            self.dialect,
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
                if self._item(found):
                    return
            elif found[5] == ")":
                return

    def _short(self, found: re.Match[str]) -> bool:
        """Whether the argument that *found* holds could be taken from memory.

        The lexer goes to the ``,`` behind it, or past the ``)``.
        """
        star, type_text, name, default, separator = found.groups()
        pieces = self.memory.types.get(type_text)
        value = None if default is None else self.memory.defaults.get((type_text, default), _MISSING)
        if pieces is None or value is _MISSING or name in KEYWORDS:
            return False
        if star:
            self.stars.append(found.start(1))
        start, type_end = found.span(2)
        marks = (start, type_end, found.start(3), found.end(3 if default is None else 4))
        t, alias, size = pieces
        self.arguments.append(
            Argument(name, t, size, default is not None, value, default, bool(self.stars), alias, marks)
        )
        lexer = self.lexer
        lexer.end = found.end()
        if separator == ")":
            lexer.depth -= 1
            lexer.advance()
        return True

    def _item(self, found: re.Match[str] | None) -> bool:
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
            self._argument(found)
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

    def _argument(self, found: re.Match[str] | None) -> None:
        lexer, text = self.lexer, self.lexer.text
        start, fresh = lexer.start, self.types.fresh
        t, alias, size = self.types.read()
        type_end = lexer.last_end
        if lexer.kind is not WORD:
            self._no_name(t, size)
        self._check_variables()
        name, name_start = lexer.word, lexer.start
        lexer.advance()
        value, source = None, None
        if lexer.take("="):
            default_start = lexer.start
            value = read_default(lexer, t, size, strict=self.strict)
            source = text[default_start : lexer.last_end]
        marks = (start, type_end, name_start, lexer.last_end)
        argument = Argument(name, t, size, source is not None, value, source, bool(self.stars), alias, marks)
        self.arguments.append(argument)
        # The pieces must be those of `_SHORT`: it reads `1_000` as one, the descent only the `1`.
        if found is not None and found.span(2) == marks[:2] and found.start(5) >= marks[3]:
            between = text[marks[3] : found.start(5)]
            if not between.strip() and fresh == self.types.fresh and self.types.dropped is None:
                self.memory.keep(found, argument)

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

    def _check_variables(self) -> None:
        if self.types.variables and self.strict:
            self.types.refuse_variables()

    def _read_returns(self) -> None:
        lexer = self.lexer
        if lexer.kind != "->":
            hint = "write `-> ()` for an operator without returns" if lexer.kind in (END, NEWLINE) else ""
            lexer.fail_here("C10E202", "`->` and the returns", help=hint)
        if not self._short_return():
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

    def _short_return(self) -> bool:
        """Whether a single return was taken from memory (see Note [The short way])."""
        found = _SHORT_RETURN.match(self.lexer.text, self.lexer.start)
        pieces = self.memory.types.get(found[1]) if found else None
        if found is None or pieces is None:
            return False
        t, alias, size = pieces
        start, end = found.span(1)
        self.returns.append(Argument("", t, size, alias=alias, marks=(start, end, end, end)))
        self.lexer.seek(found.end())
        return True

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
        type_end = name_start = end = lexer.last_end
        self._check_variables()
        name = ""
        if lexer.kind is WORD:
            name, name_start, end = lexer.word, lexer.start, lexer.end
            lexer.advance()
        self.returns.append(Argument(name, t, size, alias=alias, marks=(start, type_end, name_start, end)))
