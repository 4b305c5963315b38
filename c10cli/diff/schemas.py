"""What a changed schema does to those who call it: one `SchemaChange` per change, each with its reasons.

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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from c10cli.schema.model import AliasInfo, Argument, FunctionSchema
from c10cli.schema.types import ListType, Type, is_subtype, plain_type

OVERLOAD: Final = "declare the new schema as another overload, and keep this one"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One change between two schemas of an operator.

    Args:
        what: the kind, one of `c10cli.schema.model.CHANGE_KINDS`.
        backward: whether calls written for the old schema go on to work.
        forward: whether calls written for the new schema work with the old one.
        todo: what to do instead, where callers break.
        where: what has changed, such as ``argument 1 `alpha```.
        subject: the argument's or return's name; empty where it has none.
        old_span: its place in the text of the old schema.
        new_span: its place in the text of the new schema.
    """

    what: str
    message: str
    backward: bool
    forward: bool
    why: str
    todo: str = ""
    where: str = ""
    subject: str = ""
    old_span: tuple[int, int] | None = None
    new_span: tuple[int, int] | None = None


def compare_schemas(old: FunctionSchema, new: FunctionSchema) -> tuple[SchemaChange, ...]:
    """Every change from *old* to *new*, in the order of the schema; none where they say the same.

    >>> from c10cli.schema.parser import parse_schema
    >>> old = parse_schema("c10::f(Tensor x) -> Tensor")
    >>> new = parse_schema("c10::f(Tensor x, *, int n) -> Tensor")
    >>> [(c.what, c.where, c.backward) for c in compare_schemas(old, new)]
    [('argument-added', 'argument 1 `n`', False)]
    """
    if old == new:
        return ()
    return (*_compare_heads(old, new), *_Arguments(old, new).compare(), *_compare_returns(old, new))


def _compare_heads(old: FunctionSchema, new: FunctionSchema) -> Iterator[SchemaChange]:
    if old.name != new.name:
        message, why = f"`{old.name}` is now called `{new.name}`", "calls look the operator up by its name"
        todo = f"keep `{old.name}` beside the new operator"
        yield _break("name", message, why, todo, "the name")
    for where, was, now in (
        ("the arguments", old.is_vararg, new.is_vararg),
        ("the returns", old.is_varret, new.is_varret),
    ):
        if was != now:
            message = f"{where} {'now' if now else 'no longer'} end in `...`"
            why = f"`...` says that the number of {where.removeprefix('the ')} is open"
            yield _break("vararg", message, why, OVERLOAD, where)


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
        at_place = {
            (_place(j, self.new_out), plain_type(new.type), new.N): j
            for j, new in enumerate(self.new.arguments)
            if j not in taken
        }
        renamed = set()
        for i, old in enumerate(self.old.arguments):
            j = at_place.get((_place(i, self.old_out), plain_type(old.type), old.N))
            if i not in self.pairs and j is not None:
                self.pairs[i] = j
                renamed.add(i)
        return renamed

    def compare(self) -> Iterator[SchemaChange]:
        """The changes, in the order of the new arguments, what is gone last."""
        moved = _out_of_order(self.pairs)
        by_new = {j: i for i, j in sorted(self.pairs.items())}
        for j in range(len(self.new.arguments)):
            if j in by_new:
                yield from self._pair(by_new[j], j, by_new[j] in moved)
            else:
                yield self._added(j)
        yield from (self._removed(i) for i in range(len(self.old.arguments)) if i not in self.pairs)

    def _pair(self, i: int, j: int, moved: bool) -> Iterator[SchemaChange]:
        old, new = self.old.arguments[i], self.new.arguments[j]
        found = list(_compare_values("argument", old, new))
        if i in self.renamed:
            why, todo = f"calls pass it by the keyword `{old.name}`", f"keep the name `{old.name}`"
            found.append(_break("argument-renamed", f"`{old.name}` is now called `{new.name}`", why, todo))
        if moved:
            message = f"`{new.name}` was argument {i} and is now argument {j}"
            stored = "stacks and stored calls hold all arguments in schema order"
            why = stored if new.kwarg_only else "calls pass it by its place"
            found.append(_break("argument-moved", message, why, "keep the order of the arguments"))
        if old.kwarg_only != new.kwarg_only:
            changes_part = _place(i, self.old_out)[0] != _place(j, self.new_out)[0]
            found.append(_keyword_only(new, changes_part=changes_part))
        # `repr`, because 1, 1.0 and True are three defaults.
        if (old.has_default, repr(old.default)) != (new.has_default, repr(new.default)):
            found.append(_changed_default(old, new))
        for change in found:
            yield _at(change, f"argument {j}", old, new)

    def _added(self, j: int) -> SchemaChange:
        argument = self.new.arguments[j]
        name, has_default = argument.name, argument.has_default
        is_out, place = _place(j, self.new_out)
        size = len(self.old.arguments) - self.old_out if is_out else self.old_out
        # Behind an out argument, what was none of the out arguments has become one of them.
        moves = place < size or (is_out and any(k > j and i < self.old_out for i, k in self.pairs.items()))
        backward = has_default and not moves
        forward = backward and not is_out and not isinstance(argument.default, tuple)
        todo = ""
        if moves:
            why = f"what follows `{name}` moves one place back, in stacks and stored calls too"
            why = why if has_default else f"calls do not pass `{name}`, and {why}"
            todo = "add it behind the last argument" + ("" if has_default else ", with a default")
        elif has_default:
            why = f"calls that do not pass `{name}` get its default"
            why += "" if forward else "; the old schema cannot leave out such a default from a stored call"
        else:
            why, todo = f"calls do not pass `{name}`, which has no default", f"give `{name}` a default"
            if is_out:
                todo = OVERLOAD
                why += (
                    "; torch counts what is added behind the other arguments of an out overload as compatible"
                )
        change = SchemaChange("argument-added", f"`{argument}` is added", backward, forward, why, todo)
        return _at(change, f"argument {j}", None, argument)

    def _removed(self, i: int) -> SchemaChange:
        argument = self.old.arguments[i]
        is_out, place = _place(i, self.old_out)
        was_last = not is_out and place >= self.new_out
        why = f"calls that pass `{argument.name}` are refused"
        if was_last and not argument.has_default:
            why += (
                "; torch reports such a change as forward compatible, but the old schema needs the argument"
            )
        message, todo = f"`{argument}` is removed", f"keep it, or {OVERLOAD}"
        forward = was_last and argument.has_default
        change = SchemaChange("argument-removed", message, False, forward, why, todo)
        return _at(change, f"argument {i}", argument, None)


def _place(index: int, first_out: int) -> tuple[bool, int]:
    """Whether argument *index* is in the part of the out arguments, and where in its part."""
    return index >= first_out, index - first_out if index >= first_out else index


def _break(what: str, message: str, why: str, todo: str, where: str = "") -> SchemaChange:
    """What breaks callers both ways."""
    return SchemaChange(what, message, False, False, why, todo, where)


def _keyword_only(new: Argument, *, changes_part: bool) -> SchemaChange:
    what, name = "argument-keyword-only", new.name
    if new.kwarg_only:
        why = f"calls that pass `{name}` by its place are refused"
        return _break(what, f"`{name}` is now keyword-only", why, "leave it before `*`")
    message = f"`{name}` is no longer keyword-only"
    if changes_part:
        why = "stored calls hold the out arguments apart from the others"
        return _break(what, message, why, "leave it behind `*`")
    return SchemaChange(what, message, True, True, "what was passed by keyword still can be")


def _changed_default(old: Argument, new: Argument) -> SchemaChange:
    was, now = (str(argument).partition("=")[2] for argument in (old, new))
    if not old.has_default:
        message = f"`{new.name}` gets the default `{now}`"
        why = "calls pass it anyway; the old schema needs it, and new calls may leave it out"
        return SchemaChange("argument-default", message, True, False, why)
    message = f"`{new.name}` loses its default `{was}`"
    why = "calls that leave it out are refused"
    if new.has_default:
        message = f"the default of `{new.name}` is `{now}`, and was `{was}`"
        why = "calls that leave it out compute something else"
    return _break("argument-default", message, why, f"keep the default `{was}`")


def _compare_returns(old: FunctionSchema, new: FunctionSchema) -> Iterator[SchemaChange]:
    if len(old.returns) != len(new.returns):
        message = f"there are {len(new.returns)} returns, and were {len(old.returns)}"
        why = "callers unpack as many results as there were"
        yield _break("return-count", message, why, OVERLOAD, "the returns")
        return
    for i, (was, now) in enumerate(zip(old.returns, new.returns, strict=True)):
        for change in (*_compare_values("return", was, now), *_compare_return_names(was, now)):
            yield _at(change, f"return {i}", was, now)


def _compare_return_names(old: Argument, new: Argument) -> Iterator[SchemaChange]:
    if old.name == new.name:
        return
    was = f"the return `{old.name}`" if old.name else "the return"
    message = f"{was} is now called `{new.name}`" if new.name else f"{was} has lost its name"
    why = "results are taken apart by name or by place, and are no longer the same kind of value"
    todo = f"keep the name `{old.name}`" if old.name else "leave it without a name"
    yield SchemaChange("return-name", message, False, not new.name, why, todo)


def _compare_values(kind: str, old: Argument, new: Argument) -> Iterator[SchemaChange]:
    """Changes of type, size and annotation of one argument or return."""
    if plain_type(old.type) != plain_type(new.type):
        yield _changed_type(kind, old.type, new.type)
    elif old.type != new.type:
        message, why = f"the type is `{new.type}`, and was `{old.type}`", "both take the same values"
        yield SchemaChange(f"{kind}-type", message, True, True, why)
    if old.N != new.N:
        now, was = ("open" if size is None else str(size) for size in (new.N, old.N))
        message = f"the size of the list is {now}, and was {was}"
        why = "the size says which lists fit, and whether one value stands for all items"
        yield _break(f"{kind}-size", message, why, "keep the size")
    if plain_alias(old.alias) != plain_alias(new.alias):
        message = f"the annotation of `{new}` differs from that of `{old}`"
        why = "callers rely on what is written, and on what shares memory with what"
        yield _break(f"{kind}-alias", message, why, OVERLOAD)


def _changed_type(kind: str, old: Type, new: Type) -> SchemaChange:
    widened = is_subtype(plain_type(old), plain_type(new))
    narrowed = is_subtype(plain_type(new), plain_type(old))
    message = f"the type is `{new}`, and was `{old}`"
    if widened or narrowed:
        wide, narrow = (new, old) if widened else (old, new)
        why = f"`{wide}` takes every `{narrow}` and more"
    elif isinstance(old, ListType) and isinstance(new, ListType):
        why = f"a list of `{old.element}` is not a list of `{new.element}`, since items may be put into it"
    else:
        why = f"what fits `{old}` does not fit `{new}`, and the other way round"
    # What a caller passes must fit the new type; what it is given must be of the old one.
    backward, forward = (widened, narrowed) if kind == "argument" else (narrowed, widened)
    if kind == "return" and not forward:
        why += "; torch does not look at returns here and calls every such change forward compatible"
    todo = "" if backward else f"keep `{old}`, or {OVERLOAD}"
    return SchemaChange(f"{kind}-type", message, backward, forward, why, todo)


def _first_out(schema: FunctionSchema) -> int:
    """The index of the first out argument: keyword-only and written."""
    arguments = schema.arguments
    return next((i for i, a in enumerate(arguments) if a.kwarg_only and a.is_mutable), len(arguments))


def _out_of_order(pairs: dict[int, int]) -> set[int]:
    """The fewest old indices without which the rest stand in the same order in both."""

    def rank(run: list[int]) -> tuple[int, int]:
        return len(run), -pairs[run[-1]] if run else 0

    runs: list[list[int]] = [[]]  # the best in order that ends with each old index
    for i, j in sorted(pairs.items()):
        before = max((run for run in runs if not run or pairs[run[-1]] < j), key=rank)
        runs.append([*before, i])
    in_order = max(runs, key=rank)
    return set(pairs).difference(in_order)


def _at(change: SchemaChange, where: str, was: Argument | None, now: Argument | None) -> SchemaChange:
    """*change* with its place in words and in both texts."""
    names = [value.name for value in (was, now) if value is not None and value.name]
    old_span, new_span = (None if value is None or not value.marks[3] else value.span for value in (was, now))
    where, subject = (f"{where} `{names[-1]}`", names[0]) if names else (where, "")
    return replace(change, where=where, subject=subject, old_span=old_span, new_span=new_span)


def plain_alias(alias: AliasInfo | None) -> AliasInfo | None:
    """*alias* without the numbers of sets that were never named, which count all of a schema's."""
    if alias is None:
        return None
    before, after = (tuple("$" if s[0] == "$" else s for s in sets) for sets in (alias.before, alias.after))
    return AliasInfo(before, after, alias.is_write, plain_alias(alias.element))
