"""What a changed domain does to those who call the operator: one `SchemaChange` for each text that changed.

Whether one text allows more than another is told by dtypes, numbers of axes,
fixed sizes, added conditions and bounds.  Of the rest it is only told that it changed.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

from c10cli.diff.schemas import OVERLOAD, SchemaChange
from c10cli.manifest.waivers import DOMAIN_NARROWED, DOMAIN_RETURNS
from c10cli.schema.domain import Axis, Domain, ValueDomain, key_of
from c10cli.schema.domain_ranges import ranges
from c10cli.schema.dtypes import DTYPES
from c10cli.schema.expression import conjuncts, parse_expression, part_of

_OPEN = ValueDomain()


def compare_domains(old: Domain, new: Domain) -> Iterator[SchemaChange]:
    """Every text that changed from *old* to *new*."""
    texts = [_texts(domain) for domain in (old, new)]
    arguments = [{key_of(argument.name) for argument in domain.schema.arguments} for domain in (old, new)]
    both = (arguments[0] & arguments[1]) | (old.variables.keys() & new.variables.keys())
    for key in dict.fromkeys((*texts[1], *texts[0])):
        was, now = (side.get(key, _OPEN) for side in texts)
        is_return = key.startswith("returns[")
        if str(was) != str(now) and (is_return or key in (*both, "where")):
            less, more = _beyond(old, was, new, now), _beyond(new, now, old, was)
            yield _changed(key, was, now, *((more, less) if is_return else (less, more)))


def _texts(domain: Domain) -> dict[str, ValueDomain]:
    """What is said, by the place where it is."""
    found = {
        name: ValueDomain(tuple(map(parse_expression, words))) for name, words in domain.variables.items()
    }
    found |= {key_of(name): value for name, value in domain.arguments.items()}
    if domain.where:
        both = ast.BoolOp(ast.And(), [condition.tree for condition in domain.where])
        found["where"] = ValueDomain(condition=part_of(both))
    return found | {f"returns[{at}]": value for at, value in enumerate(domain.returns)}


def _changed(key: str, was: ValueDomain, now: ValueDomain, broken: str, other: str) -> SchemaChange:
    """The change of a text, for which calls are *broken*, or only calls written for the new one (*other*)."""
    old, new = (f"`{text}`" if str(text) else "left open" for text in (was, now))
    is_return = key.startswith("returns")
    verbs = ("returns {} now", "returned {}") if is_return else ("takes {} no more", "did not take {}")
    why = f"it {verbs[0] if broken else verbs[1]}".format(broken or other)
    why = why if broken or other else "nothing tells whether calls are affected"
    todo = f"keep what it {'returned' if is_return else 'took'}, or {OVERLOAD}" if broken else ""
    what = "domain-changed" if not broken else DOMAIN_RETURNS if is_return else DOMAIN_NARROWED
    message, where = f"it is {new}, and was {old}", f"`{key}` of the domain"
    subject = key.partition("[")[0]
    return SchemaChange(what, message, not broken, not other, why, todo, where, subject)


def _beyond(domain: Domain, value: ValueDomain, other: Domain, bound: ValueDomain) -> str:
    """What *value* of *domain* may be that *bound* of the *other* one may not; empty where none is known."""
    mine, theirs = (d.dtypes_of(v) or tuple(DTYPES) for d, v in ((domain, value), (other, bound)))
    # A dtype variable has a line of its own, and of an expression nothing is known.
    is_told = value.dtypes != bound.dtypes and DTYPES.keys() >= {*mine, *theirs}
    dtypes = ", ".join(dtype for dtype in mine if is_told and dtype not in theirs)
    return dtypes or _beyond_shapes(value.axes, bound.axes) or _beyond_conditions(value, bound)


def _beyond_shapes(axes: Sequence[Axis] | None, bound: Sequence[Axis] | None) -> str:
    (fewest, most), (least, widest) = _ranks(axes), _ranks(bound)
    if fewest < least or most > widest:
        return f"{'fewer' if fewest < least else 'more'} axes"
    for axis, size in zip(axes or (), bound or (), strict=False) if least == widest else ():
        if isinstance(size.expression.tree, ast.Constant) and str(axis) != str(size):
            return f"other sizes than {size}"
    return ""


def _ranks(axes: Sequence[Axis] | None) -> tuple[float, float]:
    """The fewest and the most axes."""
    fewest = sum(not axis.starred for axis in axes or ())
    return fewest, math.inf if axes is None or fewest < len(axes) else fewest


def _beyond_conditions(value: ValueDomain, bound: ValueDomain) -> str:
    conditions = [side.condition for side in (value, bound)]
    mine, other = ({ast.unparse(p): p for p in conjuncts(c.tree)} if c else {} for c in conditions)
    ours, theirs = ranges(mine.values()), ranges(other.values())
    pairs = [(ours[name], theirs[name]) for name in ours.keys() & theirs.keys()]
    is_wider = any(low < least or high > most for (low, high), (least, most) in pairs)
    added = [text for text in other if text not in mine]
    return f"what breaks `{added[0]}`" if added and (is_wider or mine.keys() <= other.keys()) else ""
