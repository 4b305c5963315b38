"""Schema text to tokens, one at a time, and diagnostics that point into the text; strings to literals."""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

from c10cli.errors import Diagnostic, SchemaError, Span

# The kinds of tokens; a punctuation mark is its own kind.
WORD: Final = "name"
KEYWORD: Final = "keyword"
NUMBER: Final = "number"
STRING: Final = "string"
NEWLINE: Final = "end of line"
END: Final = "end of the text"
BAD: Final = "unexpected character"

# Words that torch's lexer never takes as a name.  Python's other keywords
# (`from`, `lambda`, …) are names to torch; the strict rules refuse them.
_KEYWORDS = """
    def if elif else while return is for in global and or not del pass class import with as raise assert break
    continue True False None NoneType Ellipsis
"""
KEYWORDS: Final = frozenset(_KEYWORDS.split())

_TOKEN = re.compile(
    r"""
    (?: [ \t\r\f\v]+ | \\\r?\n | \#(?!\ type:)[^\n]* )*   # blanks, joined lines, comments
    (?:
      ([A-Za-z_][A-Za-z0-9_]*)
    | (->|\.\.\.|[()\[\],?!|*=:-]|\.(?![0-9]))
    | (0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?j?
      |(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?j?)
    | ('''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''
      |\"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"""
      |'(?!'')[^'\\\n]*(?:\\.[^'\\\n]*)*'
      |"(?!"")[^"\\\n]*(?:\\.[^"\\\n]*)*")
    | (\n)
    | (\Z)
    | (.)
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = ("", WORD, "", NUMBER, STRING, NEWLINE, END, BAD)


class Lexer:
    """A place in a schema's text: the token there, and the way to the next one.

    ``kind``, ``word``, ``start`` and ``end`` describe the current token,
    ``last_end`` the end of the one before.
    """

    __slots__ = ("depth", "end", "file", "kind", "last_end", "start", "text", "word")

    def __init__(self, text: str, file: str = "<schema>") -> None:
        self.text = text
        self.file = file
        self.depth = 0
        self.kind = ""
        self.word = ""
        self.start = self.end = self.last_end = 0
        self.advance()
        while self.kind is NEWLINE:
            self.advance()

    def advance(self) -> None:
        """Go to the next token; inside brackets, ends of lines are blanks."""
        self.last_end = position = self.end
        while True:
            found = _TOKEN.match(self.text, position)
            assert found is not None  # the last alternative takes anything
            group = found.lastindex or 0
            self.start, position = found.span(group)
            if group != 5 or not self.depth:
                break
        self.end = position
        self.word = word = found[group]
        if group != 2:
            self.kind = KEYWORD if group == 1 and word in KEYWORDS else _KINDS[group]
            return
        self.kind = word
        if word in "([":
            self.depth += 1
        elif word in ")]" and self.depth:
            self.depth -= 1

    def take(self, kind: str) -> bool:
        """Whether the current token is of *kind*; if so it is passed."""
        if self.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, kind: str, what: str, code: str = "C10E201") -> None:
        """Pass a token of *kind*, or raise: *what* must stand here."""
        if not self.take(kind):
            self.fail_here(code, what)

    def found(self) -> str:
        """The current token, in the words of a message."""
        if self.kind in (END, NEWLINE):
            return f"the {self.kind}"
        if self.kind is BAD and not (self.word.isascii() and self.word.isprintable()):
            code_point = f"U+{ord(self.word):04X}"
            return f"`{self.word}` ({code_point})" if self.word.isprintable() else code_point
        return f"`{clip(self.word)}`"

    def fail_here(self, code: str, expected: str, **more: str) -> NoReturn:
        """Raise: *expected* stands where something else was found."""
        message = f"expected {expected}, found {self.found()}"
        if self.kind is BAD:
            code = "C10E201"
            hint = _BAD_HELP.get(self.word) or more.get("help", "")
            more = {**more, "help": hint}
        self.fail(code, message, self.start, self.end, **more)

    def fail(self, code: str, message: str, start: int, end: int, **more: Any) -> NoReturn:
        """Raise a `SchemaError` about ``text[start:end]``, with *more* of what a `Diagnostic` has."""
        diagnostic = Diagnostic(code, message, self.span(start, end), **more)
        raise SchemaError(diagnostic, text=self.text, start=start, end=end)

    def span(self, start: int, end: int) -> Span:
        """``text[start:end]`` as line and columns; cut at the end of its first line."""
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", start)
        line_end = len(self.text) if line_end < 0 else line_end
        line = self.text.count("\n", 0, start) + 1
        column, end_column = start - line_start + 1, min(end, line_end) - line_start + 1
        return Span(self.file, line, column, max(column, end_column), self.text[line_start:line_end])


_BAD_HELP = {
    "\u2192": "write the arrow as `->`",
    "\ufeff": "save the text without a byte-order mark",
    "\xa0": "write an ordinary blank",
    **dict.fromkeys("\u201c\u201d", 'write straight quotes, `"`'),
    **dict.fromkeys("\u2018\u2019", "write straight quotes, `'`"),
    **dict.fromkeys("\"'", "close the string on the same line; a line end inside is written `\\n`"),
    "{": "a schema has no braces; `Dict` takes no default",
    ";": "one text is one schema, without `;`",
}


def clip(word: str) -> str:
    """*word*, cut so that a message stays readable."""
    return word if len(word) <= 40 else f"{word[:39]}…"


_ESCAPES = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\a": "\\a", "\b": "\\b", "\f": "\\f"}
_ESCAPES |= {"\n": "\\n", "\t": "\\t", "\v": "\\v"}  # no `\\r`: torch writes it but cannot read it
_TO_ESCAPE = re.compile(r"""[\\'"\x00-\x1f\x7f]""")


def quote(text: str) -> str:
    """*text* as a string literal on one line."""
    return f'"{_TO_ESCAPE.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    return _ESCAPES.get(character) or f"\\{ord(character):03o}"
