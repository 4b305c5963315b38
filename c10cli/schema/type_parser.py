"""Types with their alias annotations and sizes, read from a `Lexer`."""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NoReturn

from c10cli.errors import did_you_mean
from c10cli.schema import types
from c10cli.schema.lexer import END, KEYWORD, NUMBER, WORD, Lexer, clip
from c10cli.schema.model import AliasInfo
from c10cli.schema.types import BASE_TYPES, BaseType, CompoundType, ListType, Type, VarType

# What keeps `str`, `hash` and `==` of a type far from Python's recursion
# limit, whatever the text: brackets in brackets, and postfixes on one type.
MAX_DEPTH: Final = 32
MAX_POSTFIXES: Final = 8
MAX_SIZE: Final = 2**31 - 1
# The last three are ints to torch.
_KEYS = "int SymInt float complex bool str Device Tensor Any ScalarType Layout MemoryFormat"
_KEY_TYPES = [BASE_TYPES[name] for name in _KEYS.split()]
_GENERIC = ("Future", "Await", "RRef")
_CLASS_PATH = ("__torch__", "torch", "classes")

# What other languages and libraries call the types.
_SPELLINGS = {
    **dict.fromkeys(("double", "float32", "float64", "SymFloat"), "float"),
    **dict.fromkeys(("long", "int32", "int64", "integer", "size_t"), "int"),
    **dict.fromkeys(("number", "Number"), "Scalar"),
    **dict.fromkeys(("array", "ndarray"), "Tensor"),
    **dict.fromkeys(("List", "list", "Sequence"), "T[]"),
    **dict.fromkeys(("Tuple", "tuple"), "(A, B)"),
    **{"string": "str", "boolean": "bool", "object": "Any", "dtype": "ScalarType", "Optional": "T?"},
    **{"dict": "Dict(K, V)", "TensorList": "Tensor[]", "IntArrayRef": "int[]"},
}

_TYPES_NOTE = (
    "schema types are `Tensor`, `Scalar`, `int`, `float`, `bool`, `str` and others; `T?` and `T[]` wrap them"
)

Annotated = tuple[Type, AliasInfo | None]


class TypeParser:
    """Reads the types of one schema, in order.

    ``size`` is the fixed length in the type read last, ``variable`` the first
    type variable in it and its place, ``annotation`` the place of the annotation read
    last, ``dropped`` that of the first one where a schema cannot keep it.
    """

    __slots__ = ("annotation", "classes", "dropped", "fresh", "lexer", "size", "strict", "variable")

    def __init__(self, lexer: Lexer, classes: Container[str], *, strict: bool) -> None:
        self.lexer = lexer
        self.classes = classes
        self.strict = strict
        self.fresh = 0
        self.size: int | None = None
        self.variable = ("", 0)
        self.annotation = (0, 0)
        self.dropped: tuple[int, int] | None = None

    def read(self) -> tuple[Type, AliasInfo | None, int | None]:
        """The type at the lexer's place, its annotation, and its size if it is a sized list."""
        self.size, self.variable = None, ("", 0)
        t, alias = self._type(0)
        return t, alias, self.size

    def check_variables(self) -> None:
        """Raise for a type variable in the type read last; only torch's dialect has them."""
        word, start = self.variable
        if word and self.strict:
            self._unknown(word, start, start + len(word))

    def _type(self, depth: int) -> Annotated:
        lexer = self.lexer
        if depth > MAX_DEPTH:
            lexer.fail("C10E201", f"types nest deeper than {MAX_DEPTH} brackets", lexer.start, lexer.end)
        start = lexer.start
        t, alias = self._base(depth)
        postfixes = 0
        while lexer.kind in ("[", "?"):
            if lexer.kind == "?":
                if t == types.NONE:
                    message = "`NoneType?` says None twice"
                    lexer.fail("C10E204", message, start, lexer.end, help="write `NoneType`")
                wrapped: Type = types.optional(t)
                lexer.advance()
            else:
                lexer.advance()
                if lexer.kind != "]":
                    return self._sized(t, alias, depth)
                wrapped, alias = self._list(t, alias)
            postfixes += wrapped is not t
            t = wrapped
            if postfixes > MAX_POSTFIXES:
                message = f"more than {MAX_POSTFIXES} of `[]` and `?` on one type"
                lexer.fail("C10E201", message, start, lexer.last_end)
        return t, alias

    def _list(self, element: Type, inner: AliasInfo | None) -> Annotated:
        """The list whose ``]`` the lexer is at, with its own annotation."""
        self.lexer.advance()
        alias = self._alias()
        if inner is not None:
            own = alias or AliasInfo((), (), inner.is_write)
            alias = AliasInfo(own.before, own.after, own.is_write, inner)
        return ListType(element), alias

    def _sized(self, element: Type, inner: AliasInfo | None, depth: int) -> Annotated:
        """The rest of ``T[N]``; what may follow it is an annotation and one ``?``."""
        lexer = self.lexer
        if depth:
            lexer.fail_here("C10E201", "`]`", help="only the outermost list of an argument may have a size")
        if lexer.kind != NUMBER:
            lexer.fail_here("C10E201", "`]` or the size of the list")
        if not lexer.word.isdigit():
            lexer.fail_here("C10E201", "a whole number as the size of the list")
        if len(lexer.word) > 10 or int(lexer.word) > MAX_SIZE:
            lexer.fail("C10E201", f"the size of a list is at most {MAX_SIZE}", lexer.start, lexer.end)
        self.size = int(lexer.word)
        lexer.advance()
        if lexer.kind != "]":
            lexer.fail_here("C10E201", "`]` after the size of the list")
        t, alias = self._list(element, inner)
        return (types.optional(t), alias) if lexer.take("?") else (t, alias)

    def _base(self, depth: int) -> Annotated:
        lexer = self.lexer
        word, start = lexer.word, lexer.start
        if lexer.kind is WORD or (lexer.kind is KEYWORD and word in BASE_TYPES):
            known = BASE_TYPES.get(word)
            if known is not None:
                lexer.advance()
                return known, self._alias()
            return self._named(word, start, depth)
        if lexer.kind == "(":
            return CompoundType("", tuple(self._members(depth))), None
        if lexer.kind is KEYWORD:
            lexer.fail("C10E201", f"expected a type, found the keyword `{word}`", start, lexer.end)
        return lexer.fail_here("C10E201", "a type")

    def _named(self, word: str, start: int, depth: int) -> Annotated:
        lexer = self.lexer
        if word == "__torch__":
            return self._class(start), None
        if word not in (*_GENERIC, "Dict", "Union"):
            if not word[0].islower():
                end = lexer.end
                lexer.advance()
                self._unknown(word, start, end)
            word = ".".join(name for name, _ in self._dotted())
            self.variable = self.variable if self.variable[0] else (word, start)
            return VarType(word), self._alias()
        lexer.advance()
        if word == "Dict":
            return self._dict(depth)
        if word == "Union":
            return self._union(start, depth)
        self._expect("(", f"`(` after `{word}`")
        element = self._inner(depth)
        self._expect(")", f"`)` to close `{word}(`")
        return CompoundType(word, (element,)), None

    def _dict(self, depth: int) -> Annotated:
        lexer = self.lexer
        self._expect("(", "`(` after `Dict`")
        start = lexer.start
        key = self._inner(depth)
        if key not in _KEY_TYPES:
            message = f"a Dict cannot have keys of type `{clip(str(key))}`"
            lexer.fail("C10E204", message, start, lexer.last_end, help="use `str` or `int` keys")
        self._expect(",", "`,` and the type of the values of the Dict")
        value = self._inner(depth)
        self._expect(")", "`)` to close `Dict(`")
        return CompoundType("Dict", (key, value)), self._alias()

    def _union(self, start: int, depth: int) -> Annotated:
        lexer = self.lexer
        if lexer.kind != "(":
            lexer.fail_here("C10E201", "`(` after `Union`")
        t = types.union(self._members(depth))
        if t is None:
            message = "a Union needs two different types"
            lexer.fail("C10E204", message, start, lexer.last_end, help="write the one type without `Union`")
        return t, self._alias()

    def _members(self, depth: int) -> list[Type]:
        """The types in the parentheses that the lexer is at."""
        lexer = self.lexer
        lexer.advance()
        if lexer.take(")"):
            return []
        members = [self._inner(depth)]
        while lexer.take(","):
            members.append(self._inner(depth))
        self._expect(")", "`,` or `)` in the list of types")
        return members

    def _inner(self, depth: int) -> Type:
        """A type inside another one; an annotation there is noted as dropped."""
        fresh = self.fresh
        t, alias = self._type(depth + 1)
        if alias is not None:
            self.fresh = fresh  # or the sets behind it would count on when the schema is printed without it
            self.dropped = self.dropped or self.annotation
        return t

    def _expect(self, kind: str, what: str) -> None:
        if not self.lexer.take(kind):
            self.lexer.fail_here("C10E201", what)

    def _class(self, start: int) -> Type:
        """``__torch__.torch.classes.ns.Name``, which must be among the known classes."""
        lexer = self.lexer
        names = self._dotted()
        message = "a class is named `__torch__.torch.classes.<namespace>.<name>`"
        for (word, at), expected in zip(names, _CLASS_PATH, strict=False):
            if word != expected:
                lexer.fail("C10E204", message, at, at + len(word))
        if len(names) < 5:
            lexer.fail("C10E204", message, start, lexer.last_end)
        path = ".".join(word for word, _ in names)
        name = path.split(".", 3)[3]
        if name not in self.classes:
            message = f"custom class `{clip(name)}` is not registered"
            lexer.fail("C10E204", message, names[-1][1], lexer.last_end)
        return BaseType(path)

    def _dotted(self) -> list[tuple[str, int]]:
        """The names with dots between them that the lexer is at, and where each begins."""
        lexer = self.lexer
        names = [(lexer.word, lexer.start)]
        lexer.advance()
        while lexer.take("."):
            if lexer.kind is not WORD:
                lexer.fail_here("C10E204", "a name after `.`")
            names.append((lexer.word, lexer.start))
            lexer.advance()
        return names

    def _unknown(self, word: str, start: int, end: int) -> NoReturn:
        spelling = _SPELLINGS.get(word.rpartition(".")[2])
        known = [*BASE_TYPES, *_GENERIC, "Dict", "Union"]
        hint = f"write `{spelling}`" if spelling else did_you_mean(word, known)
        if word == "Optional" and self.lexer.kind == "[":
            element = self.lexer.text[self.lexer.end :].partition("]")[0]
            hint = f"write `{clip(element)}?`"
        message, label = f"unknown type `{clip(word)}`", "not a schema type"
        self.lexer.fail("C10E204", message, start, end, label=label, notes=(_TYPES_NOTE,), help=hint)

    def _alias(self) -> AliasInfo | None:
        """The annotation at the lexer's place, if there is one."""
        lexer = self.lexer
        start = lexer.start
        if lexer.kind == "!":
            self.annotation = (start, lexer.end)
            lexer.advance()
            name = f"${self.fresh}"
            self.fresh += 1
            return AliasInfo((name,), (), True)
        if lexer.kind != "(":
            return None
        lexer.advance()
        before = self._sets()
        is_write = lexer.take("!")
        after = self._sets() if lexer.take("->") else before
        if lexer.kind != ")":
            expected = "`|`, `!`, `->` or `)` in the alias annotation"
            lexer.fail_here("C10E201", expected, help="join alias sets with `|`" if lexer.kind == "," else "")
        self.annotation = (start, lexer.end)
        lexer.advance()
        return AliasInfo(before, after, is_write)

    def _sets(self) -> tuple[str, ...]:
        lexer = self.lexer
        if lexer.take("*"):
            return ("*",)
        names = {self._set()}
        while lexer.take("|"):
            names.add("*" if lexer.take("*") else self._set())
        return tuple(sorted(names, key=lambda name: (name == "*", name)))

    def _set(self) -> str:
        lexer = self.lexer
        if lexer.kind is not WORD:
            end = "" if lexer.kind is not END else " before the end of the text"
            lexer.fail_here("C10E201", f"the name of an alias set{end}")
        word = lexer.word
        lexer.advance()
        return word
