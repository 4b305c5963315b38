"""Operator names as people type them: which operator is meant, or which ones."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from c10cli.errors import AmbiguousOverloadError, Diagnostic, UnknownOperatorError, near_names
from c10cli.schema.model import OperatorName


def select_name(text: str, known: Sequence[OperatorName]) -> OperatorName:
    """The one of *known* that *text* means.

    Namespace and overload may be left out where that leaves one operator; the
    empty overload wins over the others.

    Raises:
        UnknownOperatorError: C10E401, with near names.
        AmbiguousOverloadError: C10E402, with the operators that fit.
    """
    fitting = [name for name in known if _fits(text, name)]
    if len(fitting) > 1:
        exact = [n for n in fitting if str(n) == text]
        plain = [n for n in fitting if not n.overload]
        fitting = exact or (plain if len(plain) == 1 else fitting)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        todo = "write the whole name, such as"
        raise _ambiguous(text, "may be any of", sorted(map(str, fitting)), todo)
    raise _unknown(text, known)


def _fits(text: str, name: OperatorName) -> bool:
    spellings = {str(name), name.qualified, name.base}
    if name.overload:
        spellings.add(f"{name.base}.{name.overload}")
    else:
        spellings |= {f"{name.qualified}.default", f"{name.base}.default"}
    return text in spellings


def _ambiguous(text: str, fact: str, names: list[str], todo: str) -> AmbiguousOverloadError:
    listed = ", ".join(f"`{name}`" for name in names[:8])
    finding = Diagnostic("C10E402", f"`{text}` {fact} {listed}", help=f"{todo} `{names[0]}`")
    return AmbiguousOverloadError(finding, operator=text, operators=tuple(names))


def _unknown(text: str, known: Sequence[OperatorName]) -> UnknownOperatorError | AmbiguousOverloadError:
    namespace, _, rest = text.rpartition("::")
    base, _, overload = rest.partition(".")
    others = sorted(str(n) for n in known if n.base == base and namespace in ("", n.namespace))
    if others and overload:
        return _ambiguous(text, "is no overload; there is", others, "use")
    spellings = {str(n): n for n in known} | {n.base: n for n in known}
    near = tuple(dict.fromkeys(str(spellings[s]) for s in near_names(text, spellings)))
    notes = () if known else ("no operator is registered",)
    todo = f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else ""
    finding = Diagnostic("C10E401", f"unknown operator `{text}`", notes=notes, help=todo)
    return UnknownOperatorError(finding, operator=text, near=near)


def matches_name(name: str, patterns: Sequence[str]) -> bool:
    """Whether one of *patterns*, if any, is a part of *name*, or, with `*` or `?`, fits all of it.

    The namespace may be left out; brackets are characters like others.
    """
    return not patterns or any(_matches(name, pattern) for pattern in patterns)


def _matches(name: str, pattern: str) -> bool:
    if "*" not in pattern and "?" not in pattern:
        return pattern in name
    whole = pattern.replace("[", "[[]")
    return any(fnmatch.fnmatchcase(part, whole) for part in (name, name.partition("::")[2]))
