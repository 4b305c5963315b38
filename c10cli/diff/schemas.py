"""What a changed schema does to those who call it: one finding per change, each with its reasons.

*Backward* compatible: calls written for the old schema work with the new one.
*Forward* compatible: calls written for the new schema work with the old one.

The verdicts are those of torch 2.13, which compares arguments place by place,
because stored calls and stacks hold them in schema order.  They differ where
torch overlooks something:

- torch does not look at returns when it judges forward compatibility, nor at
  an argument without default that is gone from the end;
- to torch ``ScalarType``, ``Layout`` and ``MemoryFormat`` are ints;
- torch lets any argument without default be added behind the last out argument,
  and an out argument behind all others: calls of an out overload, it supposes,
  pass their out arguments.  They do not pass the new one, and are refused.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from c10cli.diff.change import SchemaChange
from c10cli.diff.subtype import is_subtype, plain_alias, plain_type
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.schema.types import ListType, Type

__all__ = ["compare_schemas"]

_OVERLOAD: Final = "declare the new schema as another overload, and keep this one"


def compare_schemas(old: FunctionSchema, new: FunctionSchema) -> tuple[SchemaChange, ...]:
    """Every change from *old* to *new*, in the order of the schema; none where they say the same.

    >>> from c10cli.schema.parser import parse_schema
    >>> old = parse_schema("c10::f(Tensor x) -> Tensor")
    >>> new = parse_schema("c10::f(Tensor x, *, int n) -> Tensor")
    >>> [(f.what, f.where, f.backward) for f in compare_schemas(old, new)]
    [('argument-added', 'argument 1 `n`', False)]
    """
    if old == new:
        return ()
    return (*_compare_heads(old, new), *_Arguments(old, new).compare(), *_compare_returns(old, new))


def _compare_heads(old: FunctionSchema, new: FunctionSchema) -> Iterator[SchemaChange]:
    if old.name != new.name:
        yield SchemaChange(
            "name",
            "the name",
            f"`{old.name}` is now called `{new.name}`",
            backward=False,
            forward=False,
            why="calls look the operator up by its name",
            todo=f"keep `{old.name}` beside the new operator",
        )
    for what, was, now in (
        ("arguments", old.is_vararg, new.is_vararg),
        ("returns", old.is_varret, new.is_varret),
    ):
        if was != now:
            change = "now end" if now else "no longer end"
            why = f"`...` says that the number of {what} is open"
            yield SchemaChange(
                "vararg", f"the {what}", f"the {what} {change} in `...`", False, False, why, _OVERLOAD
            )


class _Arguments:
    """The arguments of two schemas, and which of the old ones is which of the new ones.

    The out arguments and the others before them are two parts; places count
    within a part, so that an argument may be added before the out arguments.
    """

    def __init__(self, old: FunctionSchema, new: FunctionSchema) -> None:
        self.old, self.new = old, new
        self.old_out, self.new_out = _first_out(old), _first_out(new)
        self.pairs: dict[int, int] = {}
        self._pair_names()
        self.renamed = self._pair_places()

    def _pair_names(self) -> None:
        waiting: dict[str, list[int]] = {}  # lists, because torch takes a name twice
        for j, argument in enumerate(self.new.arguments):
            waiting.setdefault(argument.name, []).append(j)
        for i, argument in enumerate(self.old.arguments):
            if waiting.get(argument.name):
                self.pairs[i] = waiting[argument.name].pop(0)

    def _pair_places(self) -> set[int]:
        """Pair what has another name but the same place and type: it was renamed."""
        taken = set(self.pairs.values())
        at_place = {self.new_place(j): j for j in range(len(self.new.arguments)) if j not in taken}
        renamed = set()
        for i, argument in enumerate(self.old.arguments):
            j = at_place.get(self.old_place(i))
            if i not in self.pairs and j is not None and _same_type(argument, self.new.arguments[j]):
                self.pairs[i] = j
                renamed.add(i)
        return renamed

    def old_place(self, i: int) -> tuple[bool, int]:
        """Whether old argument *i* is in the part of the out arguments, and where in its part."""
        return i >= self.old_out, i - self.old_out if i >= self.old_out else i

    def new_place(self, j: int) -> tuple[bool, int]:
        """The same of new argument *j*."""
        return j >= self.new_out, j - self.new_out if j >= self.new_out else j

    def compare(self) -> list[SchemaChange]:
        """The findings, in the order of the new arguments, what is gone last."""
        moved = _out_of_order(self.pairs)
        by_new = {j: i for i, j in sorted(self.pairs.items())}
        findings: list[SchemaChange] = []
        for j in range(len(self.new.arguments)):
            if j in by_new:
                findings += self._pair(by_new[j], j, by_new[j] in moved)
            else:
                findings.append(self._added(j))
        gone = [i for i in range(len(self.old.arguments)) if i not in self.pairs]
        return findings + [self._removed(i) for i in gone]

    def _pair(self, i: int, j: int, moved: bool) -> Iterator[SchemaChange]:
        old, new = self.old.arguments[i], self.new.arguments[j]
        found = list(_compare_values("argument", old, new))
        if i in self.renamed:
            found.append(_renamed(old, new))
        if moved:
            found.append(_moved(new, i, j))
        if old.kwarg_only != new.kwarg_only:
            found.append(_keyword_only(new, changes_part=self.old_place(i)[0] != self.new_place(j)[0]))
        if _default(old) != _default(new):
            found.append(_changed_default(old, new))
        for finding in found:
            yield self._placed(finding, i, j)

    def _added(self, j: int) -> SchemaChange:
        argument = self.new.arguments[j]
        is_out, place = self.new_place(j)
        size = len(self.old.arguments) - self.old_out if is_out else self.old_out
        finding = SchemaChange("argument-added", "", f"`{argument}` is added", False, False, "")
        # Behind an out argument, what was none of the out arguments has become one of them.
        if place < size or (is_out and any(k > j and i < self.old_out for i, k in self.pairs.items())):
            why = f"what follows `{argument.name}` moves one place back, in stacks and stored calls too"
            if not argument.has_default:
                why = f"calls do not pass `{argument.name}`, and {why}"
            todo = "add it behind the last argument" + ("" if argument.has_default else ", with a default")
            return self._placed(replace(finding, why=why, todo=todo), None, j)
        if not argument.has_default:
            why = f"calls do not pass `{argument.name}`, which has no default"
            todo = f"give `{argument.name}` a default"
            if is_out:
                why += (
                    "; torch counts what is added behind the other arguments of an out overload as compatible"
                )
                todo = _OVERLOAD
            finding = replace(finding, why=why, todo=todo)
        else:
            forward = not is_out and not isinstance(argument.default, tuple)
            why = f"calls that do not pass `{argument.name}` get its default"
            if not forward:
                why += "; the old schema cannot leave out such a default from a stored call"
            finding = replace(finding, backward=True, forward=forward, why=why)
        return self._placed(finding, None, j)

    def _removed(self, i: int) -> SchemaChange:
        argument = self.old.arguments[i]
        is_out, place = self.old_place(i)
        size = len(self.new.arguments) - self.new_out if is_out else self.new_out
        why = f"calls that pass `{argument.name}` are refused"
        if not is_out and not argument.has_default and place >= size:
            why += (
                "; torch reports such a change as forward compatible, but the old schema needs the argument"
            )
        return self._placed(
            SchemaChange(
                "argument-removed",
                "",
                f"`{argument}` is removed",
                backward=False,
                forward=argument.has_default and not is_out and place >= size,
                why=why,
                todo=f"keep it, or {_OVERLOAD}",
            ),
            i,
            None,
        )

    def _placed(self, finding: SchemaChange, i: int | None, j: int | None) -> SchemaChange:
        """*finding* about old argument *i* and new argument *j*."""
        old = None if i is None else self.old.arguments[i]
        new = None if j is None else self.new.arguments[j]
        where = _where("argument", i if j is None else j, new or old)
        return _at(replace(finding, where=where), self.old, old, self.new, new)


def _renamed(old: Argument, new: Argument) -> SchemaChange:
    return SchemaChange(
        "argument-renamed",
        "",
        f"`{old.name}` is now called `{new.name}`",
        backward=False,
        forward=False,
        why=f"calls pass it by the keyword `{old.name}`",
        todo=f"keep the name `{old.name}`",
    )


def _moved(argument: Argument, i: int, j: int) -> SchemaChange:
    why = "calls pass it by its place"
    if argument.kwarg_only:
        why = "stacks and stored calls hold all arguments in schema order"
    message = f"`{argument.name}` was argument {i} and is now argument {j}"
    return SchemaChange("argument-moved", "", message, False, False, why, "keep the order of the arguments")


def _keyword_only(new: Argument, *, changes_part: bool) -> SchemaChange:
    if new.kwarg_only:
        why = f"calls that pass `{new.name}` by its place are refused"
        todo = "leave it before `*`"
        message = f"`{new.name}` is now keyword-only"
        return SchemaChange("argument-keyword-only", "", message, False, False, why, todo)
    message = f"`{new.name}` is no longer keyword-only"
    if changes_part:
        why = "stored calls hold the out arguments apart from the others"
        return SchemaChange("argument-keyword-only", "", message, False, False, why, "leave it behind `*`")
    why = "what was passed by keyword still can be"
    return SchemaChange("argument-keyword-only", "", message, True, True, why)


def _changed_default(old: Argument, new: Argument) -> SchemaChange:
    was, now = _default_text(old), _default_text(new)
    if not old.has_default:
        message = f"`{new.name}` gets the default `{now}`"
        why = "calls pass it anyway; the old schema needs it, and new calls may leave it out"
        return SchemaChange("argument-default", "", message, True, False, why)
    if not new.has_default:
        message = f"`{new.name}` loses its default `{was}`"
        why = "calls that leave it out are refused"
    else:
        message = f"the default of `{new.name}` is `{now}`, and was `{was}`"
        why = "calls that leave it out compute something else"
    return SchemaChange("argument-default", "", message, False, False, why, f"keep the default `{was}`")


def _compare_returns(old: FunctionSchema, new: FunctionSchema) -> Iterator[SchemaChange]:
    if len(old.returns) != len(new.returns):
        message = f"there are {len(new.returns)} returns, and were {len(old.returns)}"
        why = "callers unpack as many results as there were"
        yield SchemaChange("return-count", "the returns", message, False, False, why, _OVERLOAD)
        return
    for i, (was, now) in enumerate(zip(old.returns, new.returns, strict=True)):
        for finding in (*_compare_values("return", was, now), *_compare_return_names(was, now)):
            placed = replace(finding, where=_where("return", i, now if now.name else was))
            yield _at(placed, old, was, new, now)


def _compare_return_names(old: Argument, new: Argument) -> Iterator[SchemaChange]:
    if old.name == new.name:
        return
    if not new.name:
        message = f"the return `{old.name}` has lost its name"
    elif old.name:
        message = f"the return `{old.name}` is now called `{new.name}`"
    else:
        message = f"the return is now called `{new.name}`"
    why = "results are taken apart by name or by place, and are no longer the same kind of value"
    todo = f"keep the name `{old.name}`" if old.name else "leave it without a name"
    yield SchemaChange("return-name", "", message, False, not new.name, why, todo)


def _compare_values(kind: str, old: Argument, new: Argument) -> Iterator[SchemaChange]:
    """Changes of type, size and annotation of one argument or return."""
    was, now = plain_type(old.type), plain_type(new.type)
    if was != now:
        yield _changed_type(kind, old.type, new.type)
    if old.N != new.N:
        message = f"the size of the list is {_size(new)}, and was {_size(old)}"
        why = "the size says which lists fit, and whether one value stands for all items"
        yield SchemaChange(f"{kind}-size", "", message, False, False, why, "keep the size")
    if plain_alias(old.alias) != plain_alias(new.alias):
        message = f"the annotation of `{new}` differs from that of `{old}`"
        why = "callers rely on what is written, and on what shares memory with what"
        yield SchemaChange(f"{kind}-alias", "", message, False, False, why, _OVERLOAD)


def _changed_type(kind: str, old: Type, new: Type) -> SchemaChange:
    widened = is_subtype(plain_type(old), plain_type(new))
    narrowed = is_subtype(plain_type(new), plain_type(old))
    message = f"the type is `{new}`, and was `{old}`"
    if widened:
        why = f"`{new}` takes every `{old}` and more"
    elif narrowed:
        why = f"`{old}` takes every `{new}` and more"
    else:
        why = _why_unrelated(old, new)
    # What a caller passes must fit the new type; what it is given must be of the old one.
    backward, forward = (widened, narrowed) if kind == "argument" else (narrowed, widened)
    if kind == "return" and not forward:
        why += "; torch does not look at returns here and calls every such change forward compatible"
    todo = "" if backward else f"keep `{old}`, or {_OVERLOAD}"
    return SchemaChange(f"{kind}-type", "", message, backward, forward, why, todo)


def _why_unrelated(old: Type, new: Type) -> str:
    if isinstance(old, ListType) and isinstance(new, ListType):
        return f"a list of `{old.element}` is not a list of `{new.element}`, since items may be put into it"
    return f"what fits `{old}` does not fit `{new}`, and the other way round"


def _same_type(old: Argument, new: Argument) -> bool:
    return plain_type(old.type) == plain_type(new.type) and old.N == new.N


def _default(argument: Argument) -> tuple[bool, str]:
    return argument.has_default, repr(argument.default)  # 1, 1.0 and True are three defaults


def _default_text(argument: Argument) -> str:
    return str(argument).partition("=")[2]


def _size(argument: Argument) -> str:
    return "open" if argument.N is None else str(argument.N)


def _first_out(schema: FunctionSchema) -> int:
    """The index of the first out argument: keyword-only and written."""
    arguments = schema.arguments
    return next((i for i, a in enumerate(arguments) if a.kwarg_only and a.is_mutable), len(arguments))


def _out_of_order(pairs: dict[int, int]) -> set[int]:
    """The fewest old indices without which the rest stand in the same order in both."""
    ends: list[int] = []  # by length, the lowest new index that a run in order can end with
    at_end: list[int] = []  # the old index there
    before: dict[int, int | None] = {}
    for i, j in sorted(pairs.items()):
        length = bisect_left(ends, j)
        before[i] = at_end[length - 1] if length else None
        ends[length : length + 1] = [j]
        at_end[length : length + 1] = [i]
    kept = set()
    last = at_end[-1] if at_end else None
    while last is not None:
        kept.add(last)
        last = before[last]
    return set(pairs) - kept


def _where(kind: str, index: int | None, value: Argument | None) -> str:
    name = f" `{value.name}`" if value is not None and value.name else ""
    return f"{kind} {index}{name}"


def _at(
    finding: SchemaChange,
    old: FunctionSchema,
    was: Argument | None,
    new: FunctionSchema,
    now: Argument | None,
) -> SchemaChange:
    """*finding* with its places in both texts."""
    subject = next((value.name for value in (was, now) if value is not None and value.name), "")
    return replace(
        finding,
        subject=subject,
        old_span=was.span if was is not None and old.text else None,
        new_span=now.span if now is not None and new.text else None,
    )
