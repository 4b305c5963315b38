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
from c10cli.schema.type_parser import TypeParser
from c10cli.schema.types import ListType, Type


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
        lexer.expect(":", "`::` after the namespace", "C10E203")
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
    parser = TypeParser(text, strict=strict)
    with suppress(SchemaError):
        pieces = parser.read_type()
        parser.check_variables()
        return pieces if parser.kind is END and not parser.fresh and parser.dropped is None else None
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


# Names to torch, but no names of a Python function's parameters.
_PYTHON_ONLY: Final = {"async", "await", "except", "finally", "from", "lambda", "nonlocal", "try", "yield"}
_PYTHON_ONLY.add("__debug__")


class _Parser(TypeParser):
    """The descent through one text."""

    def __init__(self, text: str, file: str, dialect: Dialect, known_classes: Container[str]) -> None:
        super().__init__(text, file, known_classes, strict=dialect == "strict")
        self.dialect = dialect
        self.arguments: list[Argument] = []
        self.returns: list[Argument] = []
        self.stars: list[int] = []
        self.is_vararg = self.is_varret = False

    def declaration(self) -> FunctionSchema:
        name_start = self.start
        name = _read_name(self)
        if name.overload == "default" or name.overload.startswith("__"):
            message = f"an overload cannot be named `{clip(name.overload)}`"
            hint = "the overload without a name is the default" if name.overload == "default" else ""
            self.fail("C10E203", message, self.last_end - len(name.overload), self.last_end, help=hint)
        self._read_arguments()
        self._read_returns()
        self._check_order()
        if self.strict:
            self._check_strict(name, name_start)
        pieces = tuple(self.arguments), tuple(self.returns), self.is_vararg, self.is_varret
        return FunctionSchema(name, *pieces, self.text, self.dialect)

    def _read_arguments(self) -> None:
        if self.kind in (END, NEWLINE):
            self.fail_here("C10E202", "arguments, `->` and returns after the operator name")
        if self.kind != "(":
            self.fail_here("C10E203", "`(` and the arguments after the operator name")
        while True:
            found = _SHORT.match(self.text, self.end)
            if found is None or not self._short(found):
                self.advance()
                if self._item("argument"):
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
        self.end = found.end()
        if separator == ")":
            self.depth -= 1
            self.advance()
        return True

    def _item(self, what: str) -> bool:
        """Read one item of the list of arguments or returns, and whether it was the last one."""
        if self.kind == ")" and self.text[self.last_end - 1] == "(":
            self.advance()
            return True
        if self.take("..."):
            self.is_vararg |= what == "argument"
            self.is_varret |= what == "return"
            if self.take(","):
                self.fail("C10E207", f"`...` must be the last of the {what}s", self.start, self.end)
        elif what == "return":
            self._return()
        elif self.kind == "*":
            self.stars.append(self.start)
            self.advance()
        else:
            self._argument()
        if self.kind == ",":
            return False
        if not self.take(")"):
            hint = "a return has no default" if what == "return" and self.kind == "=" else ""
            self.fail_here("C10E201", f"`,` or `)` after the {what}", help=hint)
        return True

    def _argument(self) -> None:
        start = self.start
        t, alias, size = self.read_type()
        type_end = self.last_end
        if self.kind is not WORD:
            self._no_name(t, size)
        self.check_variables()
        name, name_start = self.word, self.start
        self.advance()
        value, source = None, None
        if self.take("="):
            default_start = self.start
            value = read_default(self, t, size, strict=self.strict)
            source = self.text[default_start : self.last_end]
        has_default, kwarg_only = source is not None, bool(self.stars)
        marks = (start, type_end, name_start, self.last_end)
        self.arguments.append(Argument(name, t, size, has_default, value, source, kwarg_only, alias, marks))

    def _no_name(self, t: Type, size: int | None) -> None:
        if self.kind is KEYWORD:
            message = f"`{self.word}` is a keyword and cannot name an argument"
            self.fail("C10E201", message, self.start, self.end, help=f"write `{self.word}_`")
        hint = {
            ":": "the type comes first: `Tensor x`",
            "!": "`!` belongs inside the parentheses: `(a!)`",
            "(": "one annotation per type, and before `?`: `Tensor(a)?`",
            "[": "a list with a size cannot be inside another list" if size is not None else "",
        }
        expected = f"a name for the argument of type `{clip(str(t))}`"
        self.fail_here("C10E201", expected, help=hint.get(self.kind, ""))

    def _read_returns(self) -> None:
        if self.kind != "->":
            hint = "write `-> ()` for an operator without returns" if self.kind in (END, NEWLINE) else ""
            self.fail_here("C10E202", "`->` and the returns", help=hint)
        self.advance()
        if self.take("..."):
            self.is_varret = True
        elif self.kind == "(":
            self.advance()
            while not self._item("return"):
                self.advance()
        elif self.kind in (END, NEWLINE):
            self.fail_here("C10E202", "the returns after `->`")
        else:
            self._return()
        while self.take(NEWLINE):
            pass
        if self.kind is not END:
            hint = "a return has no default" if self.kind == "=" else "one text declares one operator"
            self.fail_here("C10E201", "the end of the schema", help=hint)

    def _return(self) -> None:
        start = self.start
        t, alias, size = self.read_type()
        self.check_variables()
        type_end = name_start = end = self.last_end
        name = ""
        if self.kind is WORD:
            name, name_start, end = self.word, self.start, self.end
            self.advance()
        self.returns.append(Argument(name, t, size, alias=alias, marks=(start, type_end, name_start, end)))

    def _check_order(self) -> None:
        """Raise where a default stands before an argument without one, or beside ``...``."""
        seen = False
        for argument in self.arguments:
            # torch lets a list without default follow; Python, and so the strict dialect, does not.
            may_follow = argument.kwarg_only or (isinstance(argument.type, ListType) and not self.strict)
            if argument.has_default:
                if self.is_vararg:
                    message = f"`{argument.name}` has a default, but the arguments end in `...`"
                    self.fail("C10E207", message, *argument.span)
                seen = True
            elif seen and not may_follow:
                message = f"`{argument.name}` without a default follows an argument with one"
                hint = "give it a default, or move it before the others or behind `*`"
                self.fail("C10E207", message, *argument.name_span, help=hint)

    def _check_strict(self, name: OperatorName, start: int) -> None:
        """Raise for what torch takes and an operator of ours may not have."""
        self._check_stars()
        self._check_names(self.arguments, "argument")
        self._check_names(self.returns, "return")
        if self.dropped:
            message = "an alias annotation inside another type is not kept"
            self.fail("C10E208", message, *self.dropped, help="annotate the outermost list or value only")
        self._check_aliases()
        # Last, so that a text with another fault is told of that one.
        if not name.namespace:
            message = f"the operator name `{clip(name.base)}` has no namespace"
            hint = f"write `c10::{clip(name.base)}`, or your namespace for `c10`"
            self.fail("C10E203", message, start, start + len(name.base), help=hint)

    def _check_stars(self) -> None:
        if len(self.stars) > 1:
            message = "`*` is given twice among the arguments"
            self.fail("C10E207", message, self.stars[1], self.stars[1] + 1, help="keep the first one")
        if self.stars and not (self.arguments and self.arguments[-1].kwarg_only):
            message = "no keyword-only argument follows `*`"
            self.fail("C10E207", message, self.stars[0], self.stars[0] + 1, help="remove the `*`")

    def _check_names(self, values: list[Argument], what: str) -> None:
        seen: set[str] = set()
        for value in values:
            name = value.name
            if name and name in seen:
                message = f"the {what} name `{name}` is used twice"
                self.fail("C10E206", message, *value.name_span, help=f"rename one of the two {what}s")
            if name in _PYTHON_ONLY and what == "argument":
                message = f"`{name}` is a Python keyword and cannot name an argument"
                self.fail("C10E201", message, *value.name_span, help=f"write `{name}_`")
            seen.add(name)

    def _check_aliases(self) -> None:
        """Sets of returns must be those of arguments, and a written set has one argument."""
        declared: set[str] = set()
        written: set[str] = set()
        for argument in self.arguments:
            if argument.alias is not None:
                twice = written & argument.alias.written_sets
                if twice:
                    message = f"two arguments write the alias set `{min(twice)}`"
                    self.fail("C10E208", message, *argument.type_span, help="give each its own set")
                written |= argument.alias.written_sets
                declared |= argument.alias.sets
        for value in self.returns:
            unknown = value.alias.sets - declared if value.alias is not None else None
            if unknown:
                name = min(unknown)
                message = f"no argument declares the alias set `{name}` of the return"
                hint = f"annotate the argument that it aliases: `Tensor({name})`"
                if name[0] == "$":  # `Tensor!`, whose set has no name to share
                    message = "no argument declares the alias set of the return"
                    hint = "name the set, on the return and on the argument that it aliases: `Tensor(a!)`"
                self.fail("C10E208", message, *value.type_span, help=hint)
