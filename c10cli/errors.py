"""Places, diagnostics, the table of codes and the exception families.

An error here is data with five parts: a code, the fact, the place, the
reasons (notes) and one thing to do (help).  `c10cli.report.diagnostics`
draws it; nothing in this module prints.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

# The only list of codes.  First digit = area: 1 manifest, 2 schema, 3 and 4
# dispatch, 5 the call boundary, 6 bench, 7 report.  Codes are never reused:
# C10E407 and C10E605 are retired, without ever having been given.
CODES: Final[Mapping[str, str]] = {
    "C10E101": "manifest missing, unreadable or changed meanwhile",
    "C10E102": "not YAML",
    "C10E103": "key given twice",
    "C10E104": "unknown field",
    "C10E105": "field missing",
    "C10E106": "field of wrong type or value",
    "C10E107": "manifest version unknown",
    "C10E108": "dispatch key unknown",
    "C10E109": "entry point malformed",
    "C10E110": "expression not understood",
    "C10E111": "YAML feature that a manifest may not use",
    "C10E112": "manifest too large or too deep",
    "C10E201": "unexpected character or end",
    "C10E202": "no `->` and returns",
    "C10E203": "operator name malformed",
    "C10E204": "unknown type",
    "C10E205": "default does not fit its type",
    "C10E206": "argument name used twice",
    "C10E207": "argument order",
    "C10E208": "alias annotation inconsistent",
    "C10E209": "no tensor argument to dispatch on",
    "C10E210": "schema change breaks callers",
    "C10E211": "domain or condition not understood",
    "C10E301": "operator defined twice",
    "C10E302": "kernel registered twice without `override`",
    "C10E303": "kernel for an operator without schema",
    "C10E304": "kernel file or function not found",
    "C10E305": "kernel signature does not match schema",
    "C10E306": "handle already closed",
    "C10E307": "schema deregistered while its kernels live",
    "C10E308": "kernel to deregister is not registered",
    "C10E309": "kernel registration incomplete or contradictory",
    "C10E310": "not a kernel",
    "C10E311": "variant that no call reaches",
    "C10E312": "operator that has to be complete has a hole",
    "C10E401": "unknown operator",
    "C10E402": "overload unknown or ambiguous",
    "C10E403": "no kernel for the dispatch key",
    "C10E404": "arguments missing, extra or given twice",
    "C10E405": "argument of wrong type, dtype, rank, shape or range",
    "C10E406": "arguments on different keys",
    "C10E408": "no tensor to dispatch on",
    "C10E409": "stack shorter than the operator's arguments",
    "C10E410": "argument text from the shell not understood",
    "C10E411": "file of an argument cannot be read",
    "C10E412": "variant unknown",
    "C10E413": "no variant takes the arguments",
    "C10E501": "kernel raised",
    "C10E502": "wrong number or type of returns",
    "C10E503": "result other than the domain says",
    "C10E504": "result differs from the reference",
    "C10E505": "argument changed though not mutable",
    "C10E506": "result aliases an argument unannounced",
    "C10E507": "boxed kernel broke the stack discipline",
    "C10E508": "reference raised or gave something else than the schema says",
    "C10E601": "no case selected",
    "C10E602": "clock too coarse for the case",
    "C10E603": "result file of unknown version",
    "C10E604": "results not comparable",
    "C10E606": "benchmark case failed",
    "C10E607": "key without a device or kernel on this machine",
    "C10E701": "report cannot be written",
    "C10E901": "broken invariant: a bug in c10cli",
    "C10W351": "kernel default different from the schema's",
    "C10W352": "calls that no variant of a key takes",
    "C10W651": "noise over 10 %",
    "C10W652": "first sample far slower than the rest",
    "C10W653": "too few samples for the stated change",
    "C10W654": "times disturbed, unsettled or watched",
    "C10W655": "lines of a journal that cannot be read",
}

# What to do where whoever found it knows nothing better.
_USUAL_HELP: Final[Mapping[str, str]] = {
    "C10E101": "name a manifest that is there, with --registry or C10_REGISTRY",
    "C10E102": "correct the YAML at this place",
    "C10E105": "add it",
    "C10E106": "write a value of the kind that is named",
    "C10E110": "write one of the functions, numbers, lists or names that are known here",
    "C10E201": "correct the schema at this place",
    "C10E202": "end the schema with `-> ` and what it returns; `-> ()` for nothing",
    "C10E204": "write one of the schema's types",
    "C10E205": "write a default of the argument's type, or declare the argument of the default's type",
    "C10E304": "correct the entry point, or the file",
    "C10E305": "give the function the schema's arguments: the same names, in the same order",
    "C10E310": "name a function that takes the schema's arguments",
    "C10E401": "see `c10 list` for the operators there are",
    "C10E404": "give each argument once; `c10 show OP` names them",
    "C10E405": "give a value of the type that is named",
    "C10E501": "give arguments that the kernel takes, or correct the kernel",
}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one line of a text: file, line and columns, all from 1.

    Args:
        file: the name shown; a manifest's path, or ``<schema>`` for a schema
            given in Python.
        end_column: the first column after the stretch.
        line_text: the line, for the caret; None where it is unknown.
        line_column: where in the line `line_text` begins.
    """

    file: str
    line: int
    column: int
    end_column: int
    line_text: str | None = None
    line_column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def excerpt(self) -> Span:
        """The same place with no more of a long line than what stands around it."""
        if self.line_text is None or len(self.line_text) <= _LONGEST_LINE:
            return self
        first = max(self.column - self.line_column - _LONGEST_LINE // 2, 0)
        piece = self.line_text[first : first + _LONGEST_LINE]
        return replace(self, line_text=piece, line_column=self.line_column + first)


_LONGEST_LINE: Final = 400
_LONGEST_TEXT: Final = 2_000  # of a message or note, which quotes what others wrote


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


# With an exception that ends a program; else they are part of its text.
_PRINTS_NOTES = sys.version_info >= (3, 11)

_SPAN_FIELDS = ("file", "line", "column", "end_column", "line_text")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: code, fact, place, reasons and one thing to do.

    Args:
        code: a key of `CODES`.
        message: the fact, readable alone; lower-case start, no full stop.
        span: where in a file, if in one.
        place: where, in words, for what has no file (a call, a kernel).
        label: the few words under the caret.
        notes: facts and reasons, never advice.
        help: one thing to do.
        cause: the same in all findings that have one cause, of which one is told; empty: it is alone.
    """

    code: str
    message: str
    span: Span | None = None
    place: str = ""
    label: str = ""
    notes: tuple[str, ...] = ()
    help: str = ""
    cause: str = ""

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise InternalError(f"{self.code} is not in the table of codes")
        if any(len(text) > _LONGEST_TEXT for text in (self.message, *self.notes)):
            object.__setattr__(self, "message", _shortened(self.message))
            object.__setattr__(self, "notes", tuple(map(_shortened, self.notes)))

    @property
    def severity(self) -> str:
        """``error`` or ``warning``, read off the code."""
        return "warning" if self.code.startswith("C10W") else "error"

    @property
    def advice(self) -> str:
        """The one thing to do: `help`, or what usually helps with the code."""
        return self.help or _USUAL_HELP.get(self.code, "")

    def concise(self) -> str:
        """The finding on one line: place, severity, code, fact."""
        where = f"{self.span}: " if self.span else ""
        return f"{where}{self.severity}[{self.code}] {self.message}"

    def with_notes(self, *notes: str) -> Diagnostic:
        """This finding with *notes* after its own."""
        return replace(self, notes=(*self.notes, *notes))

    def as_dict(self) -> dict[str, object]:
        """The finding as JSON-ready data; of a long line, only what stands around the place."""
        span = self.span.excerpt() if self.span else None
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            **{name: getattr(span, name, None) for name in _SPAN_FIELDS},
            "label": self.label or None,
            "place": self.place or None,
            "notes": list(self.notes),
            "help": self.advice or None,
            **({"line_column": span.line_column} if span and span.line_column > 1 else {}),
            **({"cause": self.cause} if self.cause else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Diagnostic:
        """The finding that `as_dict` wrote."""
        span = None
        if data["file"] is not None:
            span = Span(**{name: data[name] for name in ("line_column", *_SPAN_FIELDS) if name in data})
        code, help = data["code"], data["help"] or ""
        help = "" if help == _USUAL_HELP.get(code) else help
        place, label = data["place"] or "", data["label"] or ""
        return cls(
            code, data["message"], span, place, label, tuple(data["notes"]), help, data.get("cause", "")
        )


class C10Error(Exception):
    """Base of every error a user can cause.

    ``diagnostics`` holds the findings, ``code`` the first one's code, and
    the facts (operator, dispatch_key, …) are attributes.
    """

    def __init__(self, *diagnostics: Diagnostic, **facts: Any) -> None:
        # Not super(): OSError would take two diagnostics for a number and a text.
        Exception.__init__(self, *diagnostics)
        self.diagnostics = diagnostics
        self.facts = facts
        first = diagnostics[0] if diagnostics else None
        self.code = first.code if first else "C10E901"
        notes = [text for d in diagnostics for text in _note_lines(d)]
        if notes:  # what BaseException.add_note writes, on Python 3.10 too
            self.__notes__ = notes

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __str__(self) -> str:
        notes = () if _PRINTS_NOTES else getattr(self, "__notes__", ())
        return "\n".join([*(d.concise() for d in self.diagnostics), *notes])

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), *self.diagnostics, **self.facts), ()


def _note_lines(diagnostic: Diagnostic) -> list[str]:
    lines = [f"--> {diagnostic.place}"] if diagnostic.place else []
    lines += [f"note: {note}" for note in diagnostic.notes]
    return [*lines, f"help: {diagnostic.help}"] if diagnostic.help else lines


class ManifestError(C10Error, ValueError):
    """A manifest that cannot be read or does not say what it must (1xx)."""


class SchemaError(C10Error, ValueError):
    """Text that is no schema, or a schema that no operator can have (2xx)."""


class RegistrationError(C10Error, RuntimeError):
    """A registration or deregistration that the dispatcher refuses (3xx)."""


class StaleHandleError(RegistrationError, ReferenceError):
    """A handle, used after its operator was deregistered (C10E306)."""


class DispatchError(C10Error, RuntimeError):
    """A call or lookup that cannot be served (4xx)."""


class UnknownOperatorError(DispatchError, LookupError):
    """A name that no operator has (C10E401)."""


class NoKernelError(DispatchError, NotImplementedError):
    """No kernel for the dispatch key of a call (C10E403)."""


class AmbiguousOverloadError(DispatchError, TypeError):
    """A name that leaves open which overload is meant (C10E402)."""


class ArgumentError(DispatchError, TypeError):
    """Arguments that do not fit the schema (C10E404, 405, 406, 408)."""


class KernelError(C10Error, RuntimeError):
    """A kernel that raised or broke what its schema promises (5xx)."""


class BenchError(C10Error, RuntimeError):
    """A benchmark that cannot be run or judged (6xx)."""


class ReportError(C10Error, OSError):
    """A report that cannot be written (7xx)."""


class InternalError(AssertionError):
    """A broken invariant of c10cli itself (C10E901); not for catching."""


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """At most three of *known* that look like *name*, best first; case is ignored."""
    import difflib  # only errors need it

    by_folded = {word.casefold(): word for word in sorted(known)}
    matches = difflib.get_close_matches(name.casefold(), list(by_folded), n=3, cutoff=0.6)
    return [by_folded[match] for match in matches]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A help line that offers near names, or the empty string."""
    near = [f"`{word}`" for word in near_names(name, known)]
    return f"did you mean {' or '.join(near)}?" if near else ""


def counted(count: int, noun: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{count} {noun}{'s' * (count != 1)}"


def capped(lines: Sequence[str], most: int) -> tuple[str, ...]:
    """*lines*, or, where there are more than *most*, the first of them and how many more there are."""
    if len(lines) <= most:
        return tuple(lines)
    return (*lines[: most - 1], f"and {len(lines) - most + 1} more")
