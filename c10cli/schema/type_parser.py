"""Types with their alias annotations and sizes, from text to values."""

from __future__ import annotations

import re
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
_CLASS = re.compile(rf"{re.escape('.'.join(_CLASS_PATH))}\.(\w+(?:\.\w+)+)", re.ASCII)

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


def custom_classes(text: str) -> set[str]:
    """The names ``ns.Name`` of the custom classes in a schema's text, whether or not they are known."""
    return set(_CLASS.findall(text))


class TypeParser(Lexer):
    """A place in a schema's text from which types can be read.

    ``size`` is the fixed length in the type read last, ``variable`` the first
    type variable in it and its place, ``annotation`` the place of the annotation read
    last, ``dropped`` that of the first one where a schema cannot keep it.
    """

    __slots__ = ("annotation", "classes", "dropped", "fresh", "size", "strict", "variable")

    def __init__(self, text: str, file: str = "", classes: Container[str] = (), *, strict: bool) -> None:
        super().__init__(text, file)
        self.classes = classes
        self.strict = strict
        self.fresh = 0
        self.size: int | None = None
        self.variable = ("", 0)
        self.annotation = (0, 0)
        self.dropped: tuple[int, int] | None = None

    def read_type(self) -> tuple[Type, AliasInfo | None, int | None]:
        """The type here, its annotation, and its size if it is a sized list."""
        self.size, self.variable = None, ("", 0)
        t, alias = self._type(0)
        return t, alias, self.size

    def check_variables(self) -> None:
        """Raise for a type variable in the type read last; only torch's dialect has them."""
        word, start = self.variable
        if word and self.strict:
            self._unknown(word, start, start + len(word))

    def _type(self, depth: int) -> Annotated:
        if depth > MAX_DEPTH:
            self.fail("C10E201", f"types nest deeper than {MAX_DEPTH} brackets", self.start, self.end)
        start = self.start
        t, alias = self._base(depth)
        postfixes = 0
        while self.kind in ("[", "?"):
            if self.kind == "?":
                if t == types.NONE:
                    message = "`NoneType?` says None twice"
                    self.fail("C10E204", message, start, self.end, help="write `NoneType`")
                wrapped: Type = types.optional(t)
                self.advance()
            else:
                self.advance()
                if not self.take("]"):
                    return self._sized(t, alias, depth)
                wrapped, alias = self._list(t, alias)
            postfixes += wrapped is not t
            t = wrapped
            if postfixes > MAX_POSTFIXES:
                message = f"more than {MAX_POSTFIXES} of `[]` and `?` on one type"
                self.fail("C10E201", message, start, self.last_end)
        return t, alias

    def _list(self, element: Type, inner: AliasInfo | None) -> Annotated:
        """The list whose ``]`` was passed, with its own annotation."""
        alias = self._alias()
        if inner is not None:
            own = alias or AliasInfo((), (), inner.is_write)
            alias = AliasInfo(own.before, own.after, own.is_write, inner)
        return ListType(element), alias

    def _sized(self, element: Type, inner: AliasInfo | None, depth: int) -> Annotated:
        """The rest of ``T[N]``; what may follow it is an annotation and one ``?``."""
        if depth:
            self.fail_here("C10E201", "`]`", help="only the outermost list of an argument may have a size")
        if self.kind != NUMBER:
            self.fail_here("C10E201", "`]` or the size of the list")
        if not self.word.isdigit():
            self.fail_here("C10E201", "a whole number as the size of the list")
        if len(self.word) > 10 or int(self.word) > MAX_SIZE:
            self.fail("C10E201", f"the size of a list is at most {MAX_SIZE}", self.start, self.end)
        self.size = int(self.word)
        self.advance()
        self.expect("]", "`]` after the size of the list")
        t, alias = self._list(element, inner)
        return (types.optional(t), alias) if self.take("?") else (t, alias)

    def _base(self, depth: int) -> Annotated:
        word, start = self.word, self.start
        if self.kind is WORD or (self.kind is KEYWORD and word in BASE_TYPES):
            known = BASE_TYPES.get(word)
            if known is not None:
                self.advance()
                return known, self._alias()
            return self._named(word, start, depth)
        if self.kind == "(":
            return CompoundType("", tuple(self._members(depth))), None
        if self.kind is KEYWORD:
            self.fail("C10E201", f"expected a type, found the keyword `{word}`", start, self.end)
        return self.fail_here("C10E201", "a type")

    def _named(self, word: str, start: int, depth: int) -> Annotated:
        if word == "__torch__":
            return self._class(start), None
        if word not in (*_GENERIC, "Dict", "Union"):
            if not word[0].islower():
                end = self.end
                self.advance()
                self._unknown(word, start, end)
            word = ".".join(name for name, _ in self._dotted())
            self.variable = self.variable if self.variable[0] else (word, start)
            return VarType(word), self._alias()
        self.advance()
        if word == "Dict":
            return self._dict(depth)
        if word == "Union":
            return self._union(start, depth)
        self.expect("(", f"`(` after `{word}`")
        element = self._inner(depth)
        self.expect(")", f"`)` to close `{word}(`")
        return CompoundType(word, (element,)), None

    def _dict(self, depth: int) -> Annotated:
        self.expect("(", "`(` after `Dict`")
        start = self.start
        key = self._inner(depth)
        if key not in _KEY_TYPES:
            message = f"a Dict cannot have keys of type `{clip(str(key))}`"
            self.fail("C10E204", message, start, self.last_end, help="use `str` or `int` keys")
        self.expect(",", "`,` and the type of the values of the Dict")
        value = self._inner(depth)
        self.expect(")", "`)` to close `Dict(`")
        return CompoundType("Dict", (key, value)), self._alias()

    def _union(self, start: int, depth: int) -> Annotated:
        if self.kind != "(":
            self.fail_here("C10E201", "`(` after `Union`")
        members = self._members(depth)
        t = types.union(members)
        if t is None:
            message = "a Union needs two different types"
            todo = "write the one type without `Union`" if members else "write the types into it"
            self.fail("C10E204", message, start, self.last_end, help=todo)
        return t, self._alias()

    def _members(self, depth: int) -> list[Type]:
        """The types in the parentheses here."""
        self.advance()
        if self.take(")"):
            return []
        members = [self._inner(depth)]
        while self.take(","):
            members.append(self._inner(depth))
        self.expect(")", "`,` or `)` in the list of types")
        return members

    def _inner(self, depth: int) -> Type:
        """A type inside another one; an annotation there is noted as dropped."""
        fresh = self.fresh
        t, alias = self._type(depth + 1)
        if alias is not None:
            self.fresh = fresh  # or the sets behind it would count on when the schema is printed without it
            self.dropped = self.dropped or self.annotation
        return t

    def _class(self, start: int) -> Type:
        """``__torch__.torch.classes.ns.Name``, which must be among the known classes."""
        names = self._dotted()
        message = "a class is named `__torch__.torch.classes.<namespace>.<name>`"
        for (word, at), expected in zip(names, _CLASS_PATH, strict=False):
            if word != expected:
                self.fail("C10E204", message, at, at + len(word))
        if len(names) < 5:
            self.fail("C10E204", message, start, self.last_end)
        path = ".".join(word for word, _ in names)
        name = path.split(".", 3)[3]
        if name not in self.classes:
            message = f"custom class `{clip(name)}` is not registered"
            todo = "name it under `classes:` of the manifest, or in known_classes"
            self.fail("C10E204", message, names[-1][1], self.last_end, help=todo)
        return BaseType(path)

    def _dotted(self) -> list[tuple[str, int]]:
        """The names with dots between them here, and where each begins."""
        names = [(self.word, self.start)]
        self.advance()
        while self.take("."):
            if self.kind is not WORD:
                self.fail_here("C10E204", "a name after `.`")
            names.append((self.word, self.start))
            self.advance()
        return names

    def _unknown(self, word: str, start: int, end: int) -> NoReturn:
        spelling = _SPELLINGS.get(word.rpartition(".")[2])
        known = [*BASE_TYPES, *_GENERIC, "Dict", "Union"]
        hint = f"write `{spelling}`" if spelling else did_you_mean(word, known)
        if word == "Optional" and self.kind == "[":
            element = self.text[self.end :].partition("]")[0]
            hint = f"write `{clip(element)}?`"
        message, label = f"unknown type `{clip(word)}`", "not a schema type"
        self.fail("C10E204", message, start, end, label=label, notes=(_TYPES_NOTE,), help=hint)

    def _alias(self) -> AliasInfo | None:
        """The annotation here, if there is one."""
        start = self.start
        if self.kind == "!":
            self.annotation = (start, self.end)
            self.advance()
            name = f"${self.fresh}"
            self.fresh += 1
            return AliasInfo((name,), (), True)
        if self.kind != "(":
            return None
        self.advance()
        before = self._sets()
        is_write = self.take("!")
        after = self._sets() if self.take("->") else before
        if self.kind != ")":
            expected = "`|`, `!`, `->` or `)` in the alias annotation"
            self.fail_here("C10E201", expected, help="join alias sets with `|`" if self.kind == "," else "")
        self.annotation = (start, self.end)
        self.advance()
        return AliasInfo(before, after, is_write)

    def _sets(self) -> tuple[str, ...]:
        if self.take("*"):
            return ("*",)
        names = {self._set()}
        while self.take("|"):
            names.add("*" if self.take("*") else self._set())
        return tuple(sorted(names, key=lambda name: (name == "*", name)))

    def _set(self) -> str:
        if self.kind is not WORD:
            end = "" if self.kind is not END else " before the end of the text"
            self.fail_here("C10E201", f"the name of an alias set{end}")
        word = self.word
        self.advance()
        return word
