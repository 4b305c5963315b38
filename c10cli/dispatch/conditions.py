"""Which of several kernels a call gets, by the conditions of each: written into its router, or judged.

Note [Conditions]: a router reads the shape of each argument once and unpacks
it, which fails for another number of axes; dtypes have their names by a dict.
Whatever fails there, and a call that no condition takes, goes the slow way,
where the same conditions are judged on the same values, with reasons.
"""

from __future__ import annotations

import ast
import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from c10cli.describe import dtype_name
from c10cli.dispatch.generated import DIRECT, Choice, Function
from c10cli.schema.domain import DOMAIN_WORDS, Bindings, Domain, ValueDomain
from c10cli.schema.domain_functions import FUNCTIONS
from c10cli.schema.expression import Expression

# The names of the dtypes that were met, by what they are; only so many, as memories are.
_dtype_names: dict[Any, str] = {}
_MOST_DTYPES: Final = 256


def by_condition(domain: Domain, kernels: Sequence[tuple[Expression | None, Function]]) -> Choice:
    """The first of *kernels*, in schema form, whose condition holds; where none does, the slow way.

    Args:
        domain: what gives the names of the conditions their values.
    """
    reader = _Reader(domain)
    chosen = "c10_slow"
    try:
        for at, (condition, _) in reversed([*enumerate(kernels)]):
            test = f" if {reader.source(condition)} else {chosen}" if condition is not None else ""
            chosen = f"c10_variant_{at}{test}"
    except LookupError:  # a name that is no size of one axis: only all arguments together tell
        return DIRECT
    lines = [*reader.lines(), f"c10_variant = {chosen}"]
    body = "\n".join(f"    {line}" for line in lines)
    begin = f"try:\n{body}\nexcept c10_exception:\n    c10_variant = c10_slow\n"
    names = {f"c10_variant_{at}": function for at, (_, function) in enumerate(kernels)}
    return Choice("c10_variant", "", {**names, **reader.held, "c10_dtype_names": _dtype_names}, begin)


class _Reader:
    """What a router reads of the arguments for the conditions of its kernels."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.arguments = {argument.name for argument in domain.schema.arguments}
        self.held: dict[str, object] = {}
        self.shapes: dict[str, set[str]] = {}  # by argument, the dims that are asked for
        self.dtypes: dict[str, str] = {}  # by dtype variable, the argument that has it

    def source(self, condition: Expression) -> str:
        """*condition* as Python over what is read.

        Raises:
            LookupError: a name has no axis of its own.
        """
        return f"({ast.unparse(_Sourced(self).visit(copy.deepcopy(condition.tree)))})"

    def name(self, name: str) -> ast.expr:
        """What stands for *name*."""
        if name in self.arguments:
            return ast.Name(name)
        if name in self.domain.variables:
            named = self.domain.arguments.items()
            self.dtypes[name] = next(a for a, value in named if name in [d.text for d in value.dtypes])
            return ast.Name(f"c10_dtype_{name}")
        if name in DOMAIN_WORDS:
            value = DOMAIN_WORDS[name]
            self.held[f"c10_word_{name}"] = value
            return (
                ast.Constant(value) if isinstance(value, str | bool | None) else ast.Name(f"c10_word_{name}")
            )
        argument = next(
            argument
            for argument, value in self.domain.arguments.items()
            if not value.each and any(axis.name == name and not axis.broadcasts for axis in value.axes or ())
        )
        self.shapes.setdefault(argument, set()).add(name)
        return ast.Name(f"c10_dim_{name}")

    def function(self, name: str) -> ast.expr:
        """What stands for the function *name*."""
        self.held[f"c10_call_{name}"] = FUNCTIONS[name]
        return ast.Name(f"c10_call_{name}")

    def lines(self) -> Iterator[str]:
        """The statements that read it all."""
        for argument, names in self.shapes.items():
            yield _unpacking(self.domain.arguments[argument], argument, names)
        for variable, argument in self.dtypes.items():
            yield f"c10_dtype_{variable} = c10_dtype_names[{argument}.dtype]"


def _unpacking(value: ValueDomain, argument: str, names: set[str]) -> str:
    axes = value.axes or ()
    star = next((at for at, axis in enumerate(axes) if axis.starred), None)
    if star is None:
        targets = [f"c10_dim_{axis.name}" if axis.name in names else "c10_other" for axis in axes]
        return f"{', '.join(targets)}, = {argument}.shape"
    places = [(axis, at if at < star else at - len(axes)) for at, axis in enumerate(axes)]
    after = star + 1 - len(axes)
    slices = {star: f"{star}:{after or ''}"}
    read = [
        f"c10_dim_{axis.name} = c10_shape[{slices.get(at % len(axes), at)}]"
        for axis, at in places
        if axis.name in names
    ]
    return "; ".join([f"c10_shape = {argument}.shape", *read])


class _Sourced(ast.NodeTransformer):
    """The tree of a condition with the names of a router."""

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader

    def visit_Name(self, node: ast.Name) -> ast.expr:
        try:
            return self.reader.name(node.id)
        except StopIteration:
            raise LookupError(node.id) from None

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if any(
            isinstance(value, ast.Constant) and value.value is None for value in ast.iter_child_nodes(node)
        ):
            # A tensor would compare its elements.
            same = {ast.Eq: ast.Is, ast.NotEq: ast.IsNot}
            node.ops = [same.get(type(op), type(op))() for op in node.ops]
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        assert isinstance(node.func, ast.Name)  # the language has nothing else
        arguments: list[ast.expr] = [self.visit(argument) for argument in node.args]
        return ast.Call(self.reader.function(node.func.id), arguments, [])


def bound(domain: Domain, values: Mapping[str, object]) -> Bindings:
    """The names of *domain* for *values*; their dtypes are known to routers from now on."""
    for value in values.values():
        dtype = getattr(value, "dtype", None)
        with contextlib.suppress(TypeError):  # of one that has no hash
            if dtype is not None and dtype not in _dtype_names and len(_dtype_names) < _MOST_DTYPES:
                _dtype_names[dtype] = dtype_name(dtype)
    return domain.bind(values, checked=False)
