"""Domains from text: what each argument may be, checked against the schema."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from c10cli.describe import describe
from c10cli.errors import Diagnostic, ManifestError, SchemaError, Span, did_you_mean
from c10cli.schema.domain import DOMAIN_WORDS, Axis, Domain, ValueDomain
from c10cli.schema.domain_kinds import KindFault, Kinds, kind_of_type
from c10cli.schema.domain_pieces import closing, find, split
from c10cli.schema.domain_ranges import contradictions
from c10cli.schema.dtypes import DTYPE_CLASSES, DTYPES
from c10cli.schema.expression import Expression, parse_expression, place_in, span_in
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.types import holds_tensors, is_optional_tensor, is_tensor_list

_VARIABLE: Final = re.compile(r"[A-Z][0-9]*")
_DTYPE_WORDS: Final = (*DTYPES, *DTYPE_CLASSES)
_MARKS: Final = re.compile(r"[#*\s]*")
_HELP: Final = "write it as in `T[rows, columns], 0 <= _ < 1`"
# Where a text stands in the entry: its key, and the item of a list.
Path = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class DomainFault:
    """A finding about one text of a domain, in whose span lines and columns count."""

    path: Path
    finding: Diagnostic
    part: Literal["value", "key"] = "value"  # that it is about

    @property
    def where(self) -> str:
        """The path as text."""
        key, item = self.path
        return key if item is None else f"{key}[{item}]"


def parse_domain(entry: Mapping[str, object], schema: FunctionSchema) -> Domain:
    """The domain that *entry* spells, of the operator with *schema*.

    Raises:
        SchemaError: C10E211, with all that is not understood, and where.

    >>> from c10cli.schema.parser import parse_schema
    >>> schema = parse_schema("c10::embedding(Tensor weight, Tensor indices) -> Tensor")
    >>> texts = {"weight": "floating[rows, columns]", "indices": "int64[*n], 0<=_<rows"}
    >>> parse_domain(texts, schema).as_entry()
    {'weight': 'floating[rows, columns]', 'indices': 'int64[*n], 0 <= _ < rows'}
    """
    domain, faults = read_domain(entry, schema)
    if domain is None:
        found = [replace(f.finding, place=f"domain of {schema.name}, {f.where}") for f in faults]
        raise SchemaError(*found, operator=str(schema.name))
    return domain


def read_domain(
    entry: Mapping[str, object], schema: FunctionSchema
) -> tuple[Domain | None, list[DomainFault]]:
    """The domain that *entry* spells, None where something is wrong, and what."""
    reader = _Reader(schema)
    domain = reader.read(entry)
    for check in (reader.check_names, reader.check_kinds, reader.check_ranges):
        if not reader.faults:  # one cause, one finding
            check(domain)
    return (None if reader.faults else domain), reader.faults


def parse_condition(text: str, schema: FunctionSchema, domain: Domain | None = None) -> Expression:
    """The condition of a variant that *text* spells, over dims, dtype variables and arguments, not elements.

    Raises:
        SchemaError: C10E211, with the column of what is not understood.
    """
    reader = _Reader(schema)
    condition = reader.expression(("when", None), text, 0, len(text), ("truth",))
    if not reader.faults:
        reader.check_kinds(domain or Domain(schema))
    if reader.faults:
        raise SchemaError(*(fault.finding for fault in reader.faults), operator=str(schema.name))
    return condition


def kinds_of(domain: Domain) -> dict[str, str]:
    """The kinds of the names of *domain*: dims, dtype variables and arguments."""
    kinds = {argument.name: kind_of_type(argument.type) for argument in domain.schema.arguments}
    kinds |= dict.fromkeys(domain.variables, "dtype")
    for _, axis in domain.named_axes():
        kinds[axis.name] = "sizes" if axis.starred else "number"
    return kinds


@dataclass(frozen=True, slots=True)
class _Written:
    """An expression of a text.

    Args:
        expression: with blanks instead of what stands before it in the text, for the places.
        kinds: what it may be.
        argument: whose value ``_`` is.
    """

    path: Path
    text: str
    expression: Expression
    kinds: tuple[str, ...]
    argument: Argument | None

    def span(self, node: ast.expr) -> Span:
        """Where *node*, a part of the expression, stands in the text."""
        return span_in(self.text, *place_in(self.expression.text, node))

    @property
    def name(self) -> str:
        """The name that it is; empty where it is more."""
        return self.expression.tree.id if isinstance(self.expression.tree, ast.Name) else ""


@dataclass
class _Reader:
    """Reads the texts of one domain; what is wrong with them is added to the faults."""

    schema: FunctionSchema
    faults: list[DomainFault] = field(default_factory=list)
    written: list[_Written] = field(default_factory=list)

    def report(self, path: Path, text: str, start: int, end: int, message: str, help: str = _HELP) -> None:
        """Add that the characters from *start* to *end* of *text* are not understood."""
        self._add(path, Diagnostic("C10E211", message, span_in(text, start, end), help=help))

    def _add(self, path: Path, finding: Diagnostic) -> None:
        self.faults.append(DomainFault(path, finding))

    def _refuse_key(self, key: str, fact: str, help: str) -> None:
        self.faults.append(DomainFault((key, None), Diagnostic("C10E211", fact, help=help), "key"))

    def read(self, entry: Mapping[str, object]) -> Domain:
        """The domain of *entry*, as far as it is understood."""
        by_name = {argument.name: argument for argument in self.schema.arguments}
        variables: dict[str, tuple[str, ...]] = {}
        arguments: dict[str, ValueDomain] = {}
        where: list[Expression] = []
        returns: list[ValueDomain] = []
        for key, value in entry.items():
            name = key[:-1] if key in ("where_", "returns_") else key
            if key == "where":
                where = [self.expression(p, t, 0, len(t), ("truth",)) for p, t in self._texts(key, value)]
            elif key == "returns":
                returns = [self._value(path, text, None) for path, text in self._texts(key, value)]
                self._check_count(value, len(returns))
            elif name in by_name:
                for path, text in self._texts(key, value, is_one=True):
                    arguments[name] = self._value(path, text, by_name[name])
            elif _VARIABLE.fullmatch(key):
                for path, text in self._texts(key, value, is_one=True):
                    variables[key] = self._variable(path, text)
            else:
                self._unknown_key(key, [*by_name, "where", "returns"])
        return Domain(self.schema, variables, arguments, tuple(where), tuple(returns))

    def _texts(self, key: str, value: object, *, is_one: bool = False) -> Iterator[tuple[Path, str]]:
        """The texts at *key*, a text or a list of some, each with its path."""
        is_list = isinstance(value, list | tuple) and not is_one
        for at, text in enumerate(value) if is_list else [(None, value)]:  # type: ignore[arg-type]
            path: Path = (key, at)
            if isinstance(text, str):
                yield path, text
            else:
                wanted = "a text" if is_one else "a text, or a list of texts"
                fact = f"`{key}` must be {wanted}, not {describe(text)}"
                self._add(path, Diagnostic("C10E211", fact, help=_HELP))

    def _unknown_key(self, key: str, known: list[str]) -> None:
        fact = f"`{key}` is no argument of `{self.schema.name}`, and no dtype variable (a capital letter)"
        help = did_you_mean(key, known) or "name an argument, `where` or `returns`"
        self._refuse_key(key, fact, help)

    def _check_count(self, value: object, count: int) -> None:
        wanted = len(self.schema.returns)
        if count != wanted and not self.faults:
            fact = f"`returns` has {count} texts, and `{self.schema.name}` returns {wanted} values"
            self._add(("returns", None), Diagnostic("C10E211", fact, help="write one for each return"))

    def _variable(self, path: Path, text: str) -> tuple[str, ...]:
        words = []
        for start, end in split(text, 0, len(text), "|"):
            words.append(text[start:end])
            if text[start:end] not in _DTYPE_WORDS:
                self._unknown_dtype(path, text, start, end)
        return tuple(words)

    def _unknown_dtype(self, path: Path, text: str, start: int, end: int) -> None:
        word = text[start:end]
        help = did_you_mean(word, _DTYPE_WORDS) or f"write {', '.join(DTYPE_CLASSES)}, or one dtype"
        fact = f"`{word}` is no dtype, class of dtypes or dtype variable" if word else "a dtype is missing"
        self.report(path, text, start, end, fact, help)

    def _value(self, path: Path, text: str, argument: Argument | None) -> ValueDomain:
        """What *argument* may be, or what a return is."""
        if argument is not None and not holds_tensors(argument.type):
            return ValueDomain(condition=self.expression(path, text, 0, len(text), ("truth",), argument))
        alone = closing(text, 0, len(text))
        if alone >= 0:
            self.report(path, text, alone, alone + 1, f"`{text[alone]}` closes what nothing opens")
            return ValueDomain()
        (start, end), *others = split(text, 0, len(text), ",")
        condition = None
        if others:
            last = others[-1][1]
            if argument is None:
                self.report(path, text, others[0][0], last, "a return has no condition", "leave it out")
            condition = self.expression(path, text, others[0][0], last, ("truth",), argument)
        opened = find(text, start, end, "[")
        closed = -1 if opened < 0 else closing(text, opened, end)
        if opened >= 0 and closed < 0:
            self.report(path, text, opened, opened + 1, "`[` is not closed")
            return ValueDomain()
        each = self._is_each(path, text, end if opened < 0 else closed + 1, end, argument)
        dtypes = self._dtypes(path, text, start, end if opened < 0 else opened, argument)
        is_free = opened < 0 or text[opened + 1 : closed].strip() == "..."
        axes = None if is_free else self._axes(path, text, opened + 1, closed, argument)
        return ValueDomain(dtypes, axes, each, condition)

    def _is_each(self, path: Path, text: str, start: int, end: int, argument: Argument | None) -> bool:
        """Whether `each` stands behind the dims; of a list of tensors it has to."""
        rest = text[start:end].strip()
        listed = argument is not None and is_tensor_list(argument.type)
        if rest and rest != "each":
            self.report(path, text, start, end, f"`{rest}` stands between the dims and the condition")
        elif rest and argument is not None and not listed:
            self.report(
                path, text, start, end, f"`{argument.name}` is one tensor, not a list", "leave it out"
            )
        elif listed and not rest:
            fact = f"`{argument.name}` is a list of tensors"  # type: ignore[union-attr]
            self.report(path, text, max(end - 1, 0), end, fact, "write `each` behind the dims")
        return rest == "each"

    def _dtypes(
        self, path: Path, text: str, start: int, end: int, argument: Argument | None
    ) -> tuple[Expression, ...]:
        found = []
        for at, stop in split(text, start, end, "|"):
            word = text[at:stop]
            is_known = word in _DTYPE_WORDS or _VARIABLE.fullmatch(word)
            if not word or (argument is not None and not is_known):
                self._unknown_dtype(path, text, at, stop)
            else:
                kinds = ("dtype",) if argument is None and word != "any" else ("dtype", "dtypes")
                found.append(self.expression(path, text, at, stop, kinds))
        if len(found) > 1 and (argument is None or any(_VARIABLE.fullmatch(d.text) for d in found)):
            fact = "a return has one dtype" if argument is None else "a dtype variable stands alone"
            self.report(path, text, start, end, fact, "declare a dtype variable that may be all of these")
        return tuple(found)

    def _axes(
        self, path: Path, text: str, start: int, end: int, argument: Argument | None
    ) -> tuple[Axis, ...]:
        axes: list[Axis] = []
        for at, stop in split(text, start, end, ",") if text[start:end].strip() else ():
            marks = _MARKS.match(text, at, stop)
            begin = marks.end() if marks else at
            broadcasts, starred = "#" in text[at:begin], "*" in text[at:begin]
            if begin == stop:
                self.report(path, text, at, max(stop, at + 1), "a dim is missing")
                continue
            expression = self.expression(
                path, text, begin, stop, ("sizes", "list") if starred else ("number",), argument
            )
            if broadcasts and argument is None:
                fact = "a return has its own size, and broadcasts to none"
                self.report(path, text, at, stop, fact, "leave `#` out")
            if starred and argument is not None and any(axis.starred for axis in axes):
                fact = "a second starred dim: where the first one ends is not known"
                self.report(path, text, at, stop, fact, "leave one star out")
            name = expression.text if argument is not None and self._is_dim(expression) else ""
            axes.append(Axis(expression, name, starred, broadcasts))
        return tuple(axes)

    def _is_dim(self, expression: Expression) -> bool:
        """Whether it is a name of its own, which axes give a size."""
        known = {*DOMAIN_WORDS, "_", *(argument.name for argument in self.schema.arguments)}
        return isinstance(expression.tree, ast.Name) and expression.text not in known

    def expression(
        self,
        path: Path,
        text: str,
        start: int,
        end: int,
        kinds: tuple[str, ...],
        argument: Argument | None = None,
    ) -> Expression:
        """The expression from *start* to *end* of *text*, in the spelling that it prints as.

        Args:
            kinds: which it may be of, to be seen when all names are known.
            argument: whose value is ``_``.
        """
        alone = re.sub(r"[^\n]", " ", text[:start]) + text[start:end]
        try:
            expression = parse_expression(alone)
        except ManifestError as error:
            for finding in error.diagnostics:
                self._add(path, _of_domain(finding, text))
            return parse_expression("none")
        self.written.append(_Written(path, text, expression, kinds, argument))
        return parse_expression(ast.unparse(expression.tree))

    def check_names(self, domain: Domain) -> None:
        """Every dim is one size or several, every dtype variable one of an argument's."""
        starred: dict[str, bool] = {}
        for written in self.written:
            is_axis = written.argument is not None and written.kinds[0] in ("number", "sizes")
            if is_axis and starred.setdefault(written.name, many := written.kinds[0] == "sizes") != many:
                here, elsewhere = ("several sizes", "one") if many else ("one size", "several")
                fact = f"`{written.name}` stands for {here} here, and for {elsewhere} elsewhere"
                todo = "choose another name for one of them"
                self._report_part(written, written.expression.tree, fact, todo)
        used = {dtype.text for argument in domain.arguments.values() for dtype in argument.dtypes}
        for name in domain.variables:
            if name not in used:
                fact = f"no argument has the dtype `{name}`"
                self._refuse_key(name, fact, "use it, or leave it out")

    def check_kinds(self, domain: Domain) -> None:
        """Every expression is of known names, and what it has to be."""
        kinds, sure = kinds_of(domain), self._sure_names(domain)
        for written in self.written:
            own = "" if written.argument is None else kind_of_type(written.argument.type)
            of_elements = own in ("tensor", "tensors")
            try:
                known = Kinds(kinds, "number" if of_elements else own, of_elements)
                if written.kinds != ("truth",):  # a dim or dtype is of no value
                    known = Kinds(kinds)
                known.expect(written.expression.tree, *written.kinds)
            except KindFault as fault:
                help = fault.help
                if written.kinds[0] == "dtype" and _VARIABLE.fullmatch(written.name):
                    help = f"declare it: `{written.name}: floating`"
                self._report_part(written, fault.node, fault.message, help)
                continue
            unsure = sorted(written.expression.names & kinds.keys() - sure)
            if written.path[0] == "returns" and unsure:
                fact = f"only an argument that may be None gives `{unsure[0]}` its value"
                self._report_part(written, written.expression.tree, fact, "write `...` for the dims")

    def _sure_names(self, domain: Domain) -> set[str]:
        """The names that have a value in every call."""
        by_name = {argument.name: argument for argument in domain.schema.arguments}
        sure = set(by_name)
        for name, argument in domain.arguments.items():
            if not is_optional_tensor(by_name[name].type):
                sure |= {axis.name for axis in argument.axes or ()} | {d.text for d in argument.dtypes}
        return sure

    def _report_part(self, written: _Written, node: ast.expr, message: str, help: str = "") -> None:
        finding = Diagnostic("C10E211", message, written.span(node), help=help or _HELP)
        self._add(written.path, finding)

    def check_ranges(self, domain: Domain) -> None:
        """No two conditions leave nothing."""
        dims = {axis.name for _, axis in domain.named_axes() if not axis.starred}
        conditions = [written for written in self.written if written.kinds == ("truth",)]
        trees = [(w.expression.tree, w.argument.name if w.argument else "") for w in conditions]
        for at, node, message in contradictions(trees, dims):
            self._report_part(conditions[at], node, message, "leave some values")


def _of_domain(finding: Diagnostic, text: str) -> Diagnostic:
    """*finding* about an expression, shown in the *text* that it is a part of."""
    span = finding.span
    assert span is not None
    line = replace(span, line_text=text.split("\n")[span.line - 1])
    return replace(finding, code="C10E211", span=line, help=finding.help or _HELP)
