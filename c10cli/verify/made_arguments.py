"""Arguments made from an operator's domain alone: sizes, dtypes, numbers and elements inside it.

What is not given is chosen: sizes are small, and tried until all conditions
between arguments hold; a name that an equation gives is computed.  Elements
get the form that their condition asks for.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from c10cli.arrays.elements import judge_elements
from c10cli.arrays.filling import available_bytes
from c10cli.arrays.more_dtypes import numpy_dtype
from c10cli.arrays.tensor_types import tensors_of
from c10cli.describe import dtype_name
from c10cli.errors import ArgumentError, Diagnostic, ManifestError, did_you_mean
from c10cli.schema.bindings import Bindings, bind_domain
from c10cli.schema.domain import Axis, Domain, ValueDomain
from c10cli.schema.expression import Expression, conjuncts, part_of
from c10cli.schema.model import Argument
from c10cli.schema.types import holds_tensors, is_optional_tensor, is_tensor_list
from c10cli.verify.draw import NotFound, limits_of, make_elements, value_if_known

Dims = Mapping[str, int | Sequence[int]]
_TRIES: Final = 300
_SIZES: Final = (2, 3, 4, 1, 6, 8, 5, 16)
_SHAPES: Final = ((3, 4), (5,), (2, 3, 4), (1,))
_DRAWN_BYTES: Final = 8  # of a number before it gets its dtype
_MOST_AXES: Final = 32
_USUAL: Final = ("float32", "int64", "bool", "complex64")


def generate(
    domain: Domain, dims: Dims, dtype: str, rng: np.random.Generator, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Arguments inside *domain*, by name, all of them; arrays are NumPy's.

    Args:
        dims: sizes of names; of starred ones, shapes.  The others are chosen.
        dtype: for every tensor that may have it; float32, the usual one, for none where none may.
        given: arguments that are as they are.

    Raises:
        ArgumentError: C10E405, no such dim; an argument that nothing is said of; a
            dtype that none may have; or nothing inside was found, with the condition.
    """
    choice, why = _Choice(domain, _fixed(domain, dims), dtype, rng), ""
    for attempt in range(_TRIES):
        try:
            outlined = choice.outline(dict(given or {}), attempt)
            made = choice.fill(outlined, given or {})
            break
        except (ArgumentError, ManifestError) as error:
            if error.facts.get("is_final"):
                raise
            why = error.diagnostics[0].message
        except NotFound as error:
            why = str(error)
    else:
        fact = f"no arguments inside the domain of `{domain.schema.name}` were found: {why}"
        raise ArgumentError(Diagnostic("C10E405", fact, help="give more dims, or the arguments themselves"))
    if dtype != _USUAL[0] and dtype not in {
        dtype_name(t.dtype) for v in made.values() for t in tensors_of(v)
    }:
        fact = f"no argument of `{domain.schema.name}` may be {dtype} in its domain"
        raise _final(fact, "give a dtype that the domain has")
    return made


def _final(fact: str, help: str, **facts: object) -> ArgumentError:
    """An error that no other choice mends."""
    return ArgumentError(Diagnostic("C10E405", fact, help=help), is_final=True, **facts)


def _fixed(domain: Domain, dims: Dims) -> dict[str, Any]:
    """*dims* as the domain has them: one size, or of starred names several."""
    starred = {axis.name: axis.starred for _, axis in domain.named_axes()}
    fixed: dict[str, Any] = {}
    for name, size in dims.items():
        if name not in starred:
            known = ", ".join(starred) or "none"
            fact = f"the domain of `{domain.schema.name}` has no dim `{name}`; it has {known}"
            help = did_you_mean(name, starred) or "name dims of the domain"
            raise _final(fact, help)
        sizes = list(size) if isinstance(size, list | tuple) else [size]
        if not all(type(s) is int and s >= 0 for s in sizes):
            fact = f"dim `{name}` of `{domain.schema.name}` wants sizes, and is {repr(size)[:80]}"
            raise _final(fact, "give integers from 0 on", dim=name)
        if not starred[name] and len(sizes) != 1:
            fact = f"dim `{name}` of `{domain.schema.name}` stands for one size, and {sizes} are {len(sizes)}"
            raise _final(fact, "give one number", dim=name)
        fixed[name] = tuple(sizes) if starred[name] else sizes[0]
    return fixed


def parse_dims(text: str) -> dict[str, int | list[int]]:
    """The dims that *text* spells, as in ``rows=7,n=4,8``: a part without a name belongs to the one before.

    Raises:
        ArgumentError: C10E410.
    """
    sizes: dict[str, list[int]] = {}
    name = ""
    for part in text.split(","):
        before, equals, after = part.rpartition("=")
        name, size = before.strip() or name, after.strip()
        is_new = bool(equals) and name not in sizes
        is_size = size.isdecimal() or (is_new and not size)
        if not (name.isidentifier() and is_size) or bool(equals) != is_new:
            fact = f"`{part.strip()}` in `--dims {text}` is no dim and its size"
            raise ArgumentError(Diagnostic("C10E410", fact, help="write them as in `rows=7,n=4,8`"))
        sizes.setdefault(name, []).extend([int(size)] if size else [])
    return {name: found[0] if len(found) == 1 else found for name, found in sizes.items()}


def no_domain(operator: object) -> ArgumentError:
    """The error for dims of an *operator* without a domain."""
    fact = f"`{operator}` has no domain, so no arguments can be made of dims"
    return ArgumentError(Diagnostic("C10E405", fact, help="give the arguments, or write its `domain:`"))


class _Outline(NamedTuple):
    """A tensor without elements."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass
class _Choice:
    """One choice of all arguments after another."""

    domain: Domain
    dims: dict[str, Any]
    dtype: str
    rng: np.random.Generator

    def outline(self, given: dict[str, Any], attempt: int) -> Bindings:
        """All arguments inside the domain, tensors without elements.

        Raises:
            ArgumentError, ManifestError, NotFound: the choice was not inside.
        """
        arguments = self.domain.schema.arguments
        defaults = {a.name: a.default for a in arguments if a.has_default}
        bindings = bind_domain(self.domain, {**defaults, **given}, checked=False)
        bindings.dims.update(self.dims)
        self._choose_dtypes(bindings)
        self._choose_scalars(bindings, given, attempt)
        self._choose_sizes(bindings, attempt)
        for argument in arguments:
            if argument.name not in given and holds_tensors(argument.type):
                bindings.values[argument.name] = self._outlined(argument, bindings)
        return bind_domain(self.domain, bindings.values)

    def fill(self, outlined: Bindings, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of *outlined* with elements.

        Raises:
            ArgumentError, ManifestError, NotFound: those that were drawn were not inside.
        """
        self._check_outlined(outlined, given)
        for name, value in outlined.values.items():
            domain = self.domain.arguments.get(name)
            if domain is not None and domain.dtypes and name not in given and value is not None:
                outlines: list[Any] = value if domain.each else [value]  # type: ignore[assignment]
                filled = [self._filled(outline, domain, outlined) for outline in outlines]
                outlined.values[name] = filled if domain.each else filled[0]
        return bind_domain(self.domain, outlined.values, judge=judge_elements).values

    def _check_outlined(self, outlined: Bindings, given: Mapping[str, Any]) -> None:
        """Refuse dims that the arguments do not have, and more elements than there is memory for."""
        operator = f"`{self.domain.schema.name}`"
        for name, size in self.dims.items():
            if outlined.dims.get(name) != size:
                why = outlined.told(name) if name in outlined.dims else "no argument that is made has it"
                shown = list(size) if isinstance(size, tuple) else size
                raise _final(f"dim `{name}` of {operator} is to be {shown}, but {why}", "give one of the two")
        made = [value for name, value in outlined.values.items() if name not in given]
        outlines = [o for v in made for o in (v if isinstance(v, list) else [v]) if isinstance(o, _Outline)]
        taken = sum(math.prod(o.shape) * (o.dtype.itemsize + _DRAWN_BYTES) for o in outlines)
        if taken > 2**20 and taken > available_bytes():  # small ones need no look
            fact = f"arguments of {operator} with these dims take {taken / 2**30:,.1f} GiB to make"
            raise _final(f"{fact}, more than is free", "give smaller dims")

    def _filled(self, outline: _Outline, domain: ValueDomain, bindings: Bindings) -> Any:
        return make_elements(outline.shape, outline.dtype.name, domain.condition, bindings, self.rng)

    def _choose_dtypes(self, bindings: Bindings) -> None:
        for variable in self.domain.variables:
            if variable not in bindings.dtypes:
                holder = next(
                    v for v in self.domain.arguments.values() if [d.text for d in v.dtypes] == [variable]
                )
                bindings.dtypes[variable] = self._dtype_of(holder)

    def _dtype_of(self, value: ValueDomain) -> str:
        allowed = self.domain.dtypes_of(value)
        return next((d for d in (self.dtype, *_USUAL) if d in allowed), allowed[0])

    def _choose_scalars(self, bindings: Bindings, given: Mapping[str, Any], attempt: int) -> None:
        for argument in self.domain.schema.arguments:
            name = argument.name
            if name in given or holds_tensors(argument.type) or (argument.has_default and attempt == 0):
                continue
            value = self.domain.arguments.get(name)
            if argument.has_default and value is None:
                continue
            bindings.values[name] = self._scalar(argument, value, bindings)

    def _scalar(self, argument: Argument, value: ValueDomain | None, bindings: Bindings) -> Any:
        usual: dict[str, tuple[Any, ...]] = {
            "bool": (False, True),
            "float": (1.0, 0.5),
            "Scalar": (1, 2),
            "complex": (1.0,),
        }
        kind = str(argument.type).removesuffix("?")
        pool = list(usual.get(kind, ()))
        if kind in ("int", "SymInt"):
            pool = [1, 0, 2, 3, -1, 4]
        elif kind in ("int[]", "SymInt[]"):
            count = argument.N or 1
            pool = [*([size] * count for size in (1, 2, 0)), [*range(count)], [*range(count)][::-1]]
        elif kind in ("float[]", "bool[]"):
            pool = [[1.0] * (argument.N or 1)] if kind == "float[]" else [[True] * (argument.N or 1)]
        if value is not None and value.condition is not None:
            pool = self._pool(value.condition, pool, bindings)
        if argument.has_default:
            pool = [argument.default, *pool]
        if not pool and kind != str(argument.type):
            return None
        if not pool:
            raise self._missing(argument)
        return pool[int(self.rng.integers(len(pool)))]

    def _pool(self, condition: Expression, pool: list[Any], bindings: Bindings) -> list[Any]:
        """The values to choose from under *condition*: its own list, its ends, or *pool*."""
        limits = limits_of(condition, bindings)
        if limits.among is not None:
            return list(limits.among)
        whole = all(isinstance(value, int) for value in pool)
        ends = [v for v in (limits.low, limits.high) if math.isfinite(v)]
        near = [v for e in ends for v in (e - 1, e, e + 1)] + pool
        inside = [
            int(v) if whole else v for v in near if not isinstance(v, list) and limits.low <= v <= limits.high
        ]
        return inside or pool

    def _choose_sizes(self, bindings: Bindings, attempt: int) -> None:
        free = [axis for _, axis in self.domain.named_axes() if axis.name not in bindings.dims]
        equations = list(self._equations())
        for at, axis in enumerate(free):
            if axis.name in bindings.dims:
                continue
            solved = self._solved(axis.name, equations, bindings)
            pool: Sequence[Any] = _SHAPES if axis.starred else _SIZES
            # First each another size, so that no two axes are taken for one another.
            usual = pool[at % len(pool)] if attempt == 0 else pool[int(self.rng.integers(len(pool)))]
            if not axis.starred:
                usual *= self._divisor(axis.name, bindings)
            bindings.dims[axis.name] = usual if solved is None else solved
            bindings.origins.setdefault(axis.name, "")
        for name, expression in equations:  # of names that come after those that they depend on
            if name in {axis.name for axis in free} and bindings.knows(expression):
                bindings.dims[name] = bindings.evaluate(expression)
        for name in [name for name, origin in bindings.origins.items() if not origin]:
            del bindings.origins[name]

    def _divisor(self, name: str, bindings: Bindings) -> int:
        """What the size *name* has to be a multiple of, as far as that is known."""
        divisor = 1
        for one, other in self._equated():
            is_zero = isinstance(other, ast.Constant) and other.value == 0
            if is_zero and isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mod):
                named = isinstance(one.left, ast.Name) and one.left.id == name
                by = value_if_known(one.right, bindings) if named else None
                divisor = math.lcm(divisor, by) if isinstance(by, int) and by > 0 else divisor
        return divisor

    def _equations(self) -> Iterator[tuple[str, Expression]]:
        """The names that a condition sets equal to something."""
        for one, other in self._equated():
            if isinstance(one, ast.Name):
                yield one.id, part_of(other)

    def _equated(self) -> Iterator[tuple[ast.expr, ast.expr]]:
        """What conditions between arguments set equal to what, from both sides."""
        for condition in self.domain.where:
            for part in conjuncts(condition.tree):
                if isinstance(part, ast.Compare) and [type(op) for op in part.ops] == [ast.Eq]:
                    yield part.left, part.comparators[0]
                    yield part.comparators[0], part.left

    def _solved(self, name: str, equations: Sequence[tuple[str, Expression]], bindings: Bindings) -> Any:
        for known, expression in equations:
            if known == name and bindings.knows(expression):
                return bindings.evaluate(expression)
        return None

    def _outlined(self, argument: Argument, bindings: Bindings) -> Any:
        value = self.domain.arguments.get(argument.name)
        if is_optional_tensor(argument.type) and (value is None or argument.has_default):
            return None
        if value is None:
            raise self._missing(argument)
        listed = is_tensor_list(argument.type)
        outlines = [self._outline_of(value, bindings) for _ in range((argument.N or 2) if listed else 1)]
        return outlines if listed else outlines[0]

    def _missing(self, argument: Argument) -> ArgumentError:
        fact = (
            f"the domain of `{self.domain.schema.name}` does not say what argument `{argument.name}` may be"
        )
        return _final(fact, "give it, or say it in the domain", argument=argument.name)

    def _outline_of(self, value: ValueDomain, bindings: Bindings) -> _Outline:
        dtype = bindings.dtypes.get(value.dtypes[0].text) or self._dtype_of(value)
        shape = (2, 3) if value.axes is None else tuple(self._sizes(value.axes, bindings))
        if any(not isinstance(size, int) or size < 0 for size in shape):
            raise NotFound(f"{dtype}{list(shape)} is no shape")
        if len(shape) > _MOST_AXES:
            raise NotFound(f"{len(shape)} axes are more than {_MOST_AXES}")
        return _Outline(shape, numpy_dtype(dtype))

    def _sizes(self, axes: Sequence[Axis], bindings: Bindings) -> Iterator[Any]:
        for axis in axes:
            size = bindings.dims[axis.name] if axis.name else bindings.evaluate(axis.expression)
            yield from size if axis.starred else (size,)
