"""What the arguments of a call give to the names of the operator's domain, and whether they are inside it.

Note [Binding]: the axes of the tensors of a call give the dims their sizes, by
their first use; every further use is compared.  What is written as an expression is computed
when all dims are known, and compared as well.  What only a tensor that is None
or an empty list would give stays unknown, and conditions on it hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from c10cli.describe import describe, dtype_name
from c10cli.errors import ArgumentError, Diagnostic, ManifestError
from c10cli.schema.domain import DOMAIN_WORDS, Axis, Domain, ValueDomain
from c10cli.schema.domain_functions import FUNCTIONS, has_shape, plain_value, shape_of
from c10cli.schema.domain_kinds import kind_of_type
from c10cli.schema.expression import Expression, conjuncts, part_of
from c10cli.schema.expression_value import Evaluation
from c10cli.schema.types import is_tensor_list

# Says why a condition does not hold for all elements of a tensor, given the names it may use; or nothing.
Judge = Callable[[Expression, Any, Mapping[str, object]], str]
_HELP: Final = "give arguments inside the domain, or widen the domain"


@dataclass(frozen=True, slots=True)
class Bindings:
    """The values of a call, and what they give to the dims and dtype variables of its domain.

    Args:
        values: of the arguments.
        dims: sizes, of starred names tuples of them.
        dtypes: of the dtype variables.
        origins: the argument that gave each dim and variable.
    """

    domain: Domain
    values: dict[str, object]
    dims: dict[str, Any] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, object]:
        """What every name of an expression stands for."""
        return {**DOMAIN_WORDS, **self.values, **self.dims, **self.dtypes}

    def knows(self, expression: Expression) -> bool:
        """Whether all names of *expression* have values."""
        return all(map(self._has, expression.names))

    def _has(self, name: str) -> bool:
        known = (DOMAIN_WORDS, self.dims, self.dtypes, self.values, ("_",))
        return any(name in names for names in known)

    def evaluate(self, expression: Expression, **more: object) -> Any:
        """The value of *expression*.

        Raises:
            ManifestError: C10E110, it cannot be computed for these values.
        """
        return Evaluation(expression.text, {**self.names, **more}, FUNCTIONS).value(expression.tree)

    def why_false(self, condition: Expression, **more: object) -> str:
        """`why_not`, but empty also where a name has no value."""
        return self.why_not(condition, **more) if self.knows(condition) else ""

    def why_not(self, condition: Expression, **more: object) -> str:
        """Why *condition* does not hold, as in ``d <= 8 is false: d is 9, from q float16[9]``; or empty."""
        for part in conjuncts(condition.tree):
            piece = part_of(part)
            try:
                holds = self.evaluate(piece, **more)
            except ManifestError as error:
                unknown = [name for name in sorted(piece.names) if not self._has(name)]
                why = f"nothing gives `{unknown[0]}` a value" if unknown else error.diagnostics[0].message
                return f"{why}{self._told(piece, more)}"
            if not holds:
                return f"`{piece.text}` is false{self._told(piece, more)}"
        return ""

    def _told(self, expression: Expression, more: Mapping[str, object]) -> str:
        names = filter(self._has, sorted(expression.names - DOMAIN_WORDS.keys()))
        told = [self.told(name, more) for name in names]
        return f": {', '.join(told)}" if told else ""

    def told(self, name: str, more: Mapping[str, object] | None = None) -> str:
        """*name* with its value, and the argument that it comes from."""
        if name in self.origins:
            value = self.dims[name] if name in self.dims else self.dtypes[name]
            origin = self.origins[name]
            shown = list(value) if isinstance(value, tuple) else value
            return f"{name} is {shown}, from {origin} {_described(self.values[origin])}"
        value = (more or {}).get(name, self.values.get(name))
        return f"{'it' if name == '_' else name} is {_described(value)}"

    def expected_return(self, index: int) -> tuple[str, tuple[Any, ...] | None]:
        """Dtype and shape of return *index*; empty and None where the domain leaves them open.

        Raises:
            ManifestError: C10E110, they cannot be computed for these values.
        """
        value = self.domain.returns[index]
        (dtype,) = value.dtypes
        known = dtype.text != "any" and self.knows(dtype)
        is_shaped = value.axes is not None and all(self.knows(axis.expression) for axis in value.axes)
        shape = tuple(self._sizes(value.axes or ())) if is_shaped else None
        return self.evaluate(dtype) if known else "", shape

    def _sizes(self, axes: Sequence[Axis]) -> Iterator[Any]:
        for axis in axes:
            size = self.evaluate(axis.expression)
            yield from size if axis.starred else (size,)

    def return_fault(self, index: int, result: Any, *, any_dtype: Collection[str] = ()) -> str:
        """How *result*, for return *index*, is other than the domain says; empty where it is not.

        Args:
            any_dtype: dtypes that it may have whatever the domain says.
        """
        try:
            dtype, shape = self.expected_return(index)
        except ManifestError as error:
            return error.diagnostics[0].message
        for tensor in result if isinstance(result, list | tuple) else (result,):
            if not hasattr(tensor, "shape"):
                continue
            if shape is not None and shape_of(tensor) != shape:
                return f"it is {describe(tensor)} where the domain says shape {list(shape)}"
            if dtype and dtype_name(tensor.dtype) not in (dtype, *any_dtype):
                return f"it is {describe(tensor)} where the domain says {dtype}"
        return ""


def bind_domain(
    domain: Domain, values: Mapping[str, object], *, judge: Judge | None = None, checked: bool = True
) -> Bindings:
    """What the dims and dtype variables of *domain* are for the *values* of all arguments.

    Args:
        judge: None: conditions on elements are left out.
        checked: whether values outside of the domain are refused; else the first use tells.

    Raises:
        ArgumentError: C10E405, a value is outside; with the condition and the values.
    """
    kinds = {a.name: kind_of_type(a.type) for a in domain.schema.arguments}
    plain = {name: plain_value(value, kinds[name]) for name, value in values.items()}
    binding = _Binding(Bindings(domain, plain), judge, checked)
    binding.bind()
    return binding.bindings


def _described(value: object) -> str:
    is_plain = isinstance(value, bool | int | float | str | type(None))
    if isinstance(value, list | tuple) and all(isinstance(item, int) for item in value):
        return str(list(value))
    return repr(value)[:60] if is_plain else describe(value)


class _Outside(Exception):
    """Why a value is outside of its domain."""


class _Binding:
    """One binding under way; see Note [Binding]."""

    def __init__(self, bindings: Bindings, judge: Judge | None, checked: bool) -> None:
        self.bindings, self.judge, self.checked = bindings, judge, checked
        # What is to be seen when the names have sizes: the argument, its axis, the sizes there.
        self.broadcasting: list[tuple[str, Axis, tuple[Any, ...]]] = []
        self.computed: list[tuple[str, Axis, tuple[Any, ...]]] = []

    def bind(self) -> None:
        domain = self.bindings.domain
        for name, argument in domain.arguments.items():
            for tensor in self._tensors(name) if argument.dtypes else ():
                self._within(name, self._bind_tensor, name, argument, tensor)
        given = set(self.bindings.dims)
        for name, axis, sizes in self.broadcasting:
            self._within(name, self._broadcast, name, axis, sizes, axis.name in given)
        if not self.checked:
            return
        for name, axis, sizes in self.computed:
            self._within(name, self._compare, axis, sizes)
        for name, argument in domain.arguments.items():
            if argument.condition is not None:
                self._within(name, self._check_condition, name, argument)
        for condition in domain.where:
            self._within("", self._hold, condition)

    def _tensors(self, name: str) -> Sequence[Any]:
        value = self.bindings.values.get(name)
        listed = is_tensor_list(next(a.type for a in self.bindings.domain.schema.arguments if a.name == name))
        tensors = value if listed and isinstance(value, list | tuple) else (value,)
        return [tensor for tensor in tensors if has_shape(tensor)]

    def _within(self, name: str, step: Callable[..., None], *arguments: Any) -> None:
        try:
            step(*arguments)
        except (_Outside, ManifestError) as error:
            if not self.checked:
                return
            why = error.diagnostics[0].message if isinstance(error, ManifestError) else str(error)
            raise self._error(name, why) from None

    def _hold(self, condition: Expression, **more: object) -> None:
        why = self.bindings.why_false(condition, **more)
        if why:
            raise _Outside(why)

    def _error(self, name: str, why: str) -> ArgumentError:
        domain, values = self.bindings.domain, self.bindings.values
        operator = domain.schema.name
        if not name:
            fact = f"the arguments of `{operator}` are outside its domain: {why}"
            return ArgumentError(Diagnostic("C10E405", fact, help=_HELP), operator=str(operator))
        fact = (
            f"argument `{name}` of `{operator}`, {_described(values.get(name))}, is outside its domain: {why}"
        )
        note = f"the domain of `{name}` is `{domain.arguments[name]}`"
        finding = Diagnostic("C10E405", fact, notes=(note,), help=_HELP)
        return ArgumentError(finding, operator=str(operator), argument=name)

    def _bind_tensor(self, name: str, argument: ValueDomain, tensor: Any) -> None:
        self._bind_dtype(name, argument, dtype_name(getattr(tensor, "dtype", None)))
        if argument.axes is not None:
            self._bind_shape(name, argument.axes, shape_of(tensor))

    def _bind_dtype(self, name: str, argument: ValueDomain, dtype: str) -> None:
        bindings = self.bindings
        words = [d.text for d in argument.dtypes]
        allowed = bindings.domain.dtypes_of(argument)
        if self.checked and words != ["any"] and dtype not in allowed:
            raise _Outside(f"its dtype is none of {', '.join(allowed)}")
        variable = words[0] if words[0] in bindings.domain.variables else ""
        if variable and bindings.dtypes.setdefault(variable, dtype) != dtype and self.checked:
            raise _Outside(bindings.told(variable))
        if variable:
            bindings.origins.setdefault(variable, name)

    def _bind_shape(self, name: str, axes: Sequence[Axis], shape: tuple[Any, ...]) -> None:
        star = next((at for at, axis in enumerate(axes) if axis.starred), None)
        fewest = len(axes) - (star is not None)
        if len(shape) < fewest or (star is None and len(shape) > fewest):
            raise _Outside(f"it has {len(shape)} axes, not {fewest}{' or more' * (star is not None)}")
        after = len(axes) - star - 1 if star is not None else 0
        for at, axis in enumerate(axes):
            if star is not None and at == star:
                self._bind_axis(name, axis, shape[at : len(shape) - after])
            else:
                place = at if star is None or at < star else at - len(axes)
                self._bind_axis(name, axis, (shape[place],))

    def _bind_axis(self, name: str, axis: Axis, sizes: tuple[Any, ...]) -> None:
        bindings = self.bindings
        if not axis.name:
            self.computed.append((name, axis, sizes))
        elif axis.broadcasts:
            self.broadcasting.append((name, axis, sizes))
        else:
            size = sizes if axis.starred else sizes[0]
            if axis.name not in bindings.dims:
                bindings.dims[axis.name], bindings.origins[axis.name] = size, name
            elif self.checked and bindings.dims[axis.name] != size:
                shown = list(size) if isinstance(size, tuple) else size
                raise _Outside(f"`{axis}` is {shown} here, and {bindings.told(axis.name)}")

    def _broadcast(self, argument: str, axis: Axis, sizes: tuple[Any, ...], is_given: bool) -> None:
        """Let *sizes* broadcast to those of *axis*, which other axes gave, or to one another."""
        bindings, name = self.bindings, axis.name
        known = bindings.dims.get(name, ())
        wide = known if isinstance(known, tuple) else (known,)
        bindings.origins.setdefault(name, argument)
        try:
            both = FUNCTIONS["broadcast"](wide, sizes)
        except ValueError as error:
            raise _Outside(f"{error}: {bindings.told(name)}") from None
        if is_given and both != wide:
            raise _Outside(f"`{axis}` is {list(sizes)} here, which does not broadcast: {bindings.told(name)}")
        bindings.dims[name] = both if axis.starred else both[0]

    def _compare(self, axis: Axis, sizes: tuple[Any, ...]) -> None:
        if not self.bindings.knows(axis.expression):
            return
        expected = self.bindings.evaluate(axis.expression)
        expected = tuple(expected) if axis.starred else (expected,)
        if (FUNCTIONS["broadcast"](expected, sizes) if axis.broadcasts else sizes) != expected:
            names = sorted(axis.expression.names - DOMAIN_WORDS.keys())
            told = ", ".join(map(self.bindings.told, names))
            shown = [list(size) if axis.starred else size[0] for size in (expected, sizes)]
            raise _Outside(f"`{axis}` is {shown[0]}, not {shown[1]}{f': {told}' if told else ''}")

    def _check_condition(self, name: str, argument: ValueDomain) -> None:
        condition, bindings = argument.condition, self.bindings
        assert condition is not None
        if not argument.of_elements:
            value = bindings.values.get(name)
            if value is not None:
                self._hold(condition, _=value)
            return
        for tensor in self._tensors(name) if self.judge is not None and bindings.knows(condition) else ():
            why = self.judge(condition, tensor, bindings.names)  # type: ignore[misc]
            if why:
                told = [bindings.told(n) for n in sorted(condition.names - DOMAIN_WORDS.keys() - {"_"})]
                raise _Outside(", ".join([why, *told]))
