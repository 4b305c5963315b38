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
from types import NoneType
from typing import Any, Final, cast

from c10cli.describe import dtype_name
from c10cli.dispatch.generated import DIRECT, Choice, Function
from c10cli.schema.bindings import Bindings, bind_domain
from c10cli.schema.domain import DOMAIN_WORDS, Domain, ValueDomain
from c10cli.schema.domain_functions import FUNCTIONS, SIGNATURES, plain_value
from c10cli.schema.domain_kinds import kind_of_type
from c10cli.schema.expression import Expression

# The names of the dtypes that were met, by what they are; only so many, as memories are.
_dtype_names: dict[Any, str | None] = {None: None}
_MOST_DTYPES: Final = 256
# Lists for what list arguments mostly are, to be compared with lists.
_LISTS: Final[dict[type, Any]] = {list: list, tuple: list, range: list, NoneType: lambda none: none}


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
    held = {**reader.held, "c10_dtype_names": _dtype_names, "c10_lists": _LISTS, "c10_list": list}
    return Choice("c10_variant", "", {**names, **held}, begin)


class _Reader:
    """What a router reads of the arguments for the conditions of its kernels."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.arguments = {a.name: kind_of_type(a.type) for a in domain.schema.arguments}
        self.held: dict[str, object] = {}
        self.shapes: dict[str, set[str]] = {}  # by argument, the dims that are asked for
        self.read: dict[str, str] = {}  # what else is read, by the name that it gets

    def source(self, condition: Expression) -> str:
        """*condition* as Python over what is read.

        Raises:
            LookupError: a name has no axis of its own.
        """
        return f"({ast.unparse(_Sourced(self).visit(copy.deepcopy(condition.tree)))})"

    def name(self, name: str) -> ast.expr:
        """What stands for *name*."""
        if name in self.arguments:
            sources = {"list": f"c10_lists[c10_type({name})]({name})", "dtype": f"c10_dtype_names[{name}]"}
            source = sources.get(self.arguments[name])
            return self._read(f"c10_argument_{name}", source) if source else ast.Name(name)
        if name in self.domain.variables:
            named = self.domain.arguments.items()
            argument = next(a for a, value in named if name in [d.text for d in value.dtypes])
            return self._read(f"c10_dtype_{name}", f"c10_dtype_names[{argument}.dtype]")
        if name in DOMAIN_WORDS:
            value = DOMAIN_WORDS[name]
            self.held[f"c10_word_{name}"] = value
            return (
                ast.Constant(value) if isinstance(value, str | bool | None) else ast.Name(f"c10_word_{name}")
            )
        argument = next(
            a for a, axis in self.domain.named_axes() if axis.name == name and not axis.broadcasts
        )
        if self.domain.arguments[argument].each:
            raise LookupError(name)
        self.shapes.setdefault(argument, set()).add(name)
        return ast.Name(f"c10_dim_{name}")

    def _read(self, name: str, source: str) -> ast.expr:
        self.read[name] = source
        return ast.Name(name)

    def call(self, name: str, arguments: list[ast.expr]) -> ast.expr:
        """What stands for a call of the function *name*."""
        self.held[f"c10_call_{name}"] = FUNCTIONS[name]
        called = ast.Call(ast.Name(f"c10_call_{name}"), arguments, [])
        return ast.Call(ast.Name("c10_list"), [called], []) if SIGNATURES[name][1] == "sizes" else called

    def lines(self) -> Iterator[str]:
        """The statements that read it all."""
        for argument, names in self.shapes.items():
            yield _unpacking(self.domain.arguments[argument], argument, names)
        for name, source in self.read.items():
            yield f"{name} = {source}"


def _unpacking(value: ValueDomain, argument: str, names: set[str]) -> str:
    axes = value.axes or ()
    star = next((at for at, axis in enumerate(axes) if axis.starred), None)
    first = {axis.name: at for at, axis in reversed([*enumerate(axes)]) if axis.name in names}
    if star is None:
        targets = [
            f"c10_dim_{a.name}" if first.get(a.name) == at else "c10_other" for at, a in enumerate(axes)
        ]
        return f"{', '.join(targets)}, = {argument}.shape"
    starred = f"c10_list(c10_shape[{star}:{star + 1 - len(axes) or ''}])"
    places = {name: at if at < star else at - len(axes) for name, at in first.items() if at != star}
    read = [f"c10_dim_{name} = c10_shape[{at}]" for name, at in places.items()]
    read += [f"c10_dim_{axes[star].name} = {starred}"] if len(read) < len(first) else []
    if max((at + 1 if at >= 0 else -at for at in places.values()), default=0) < len(axes) - 1:
        read.insert(0, f"c10_shape[{len(axes) - 2}]")  # which fails where there are too few
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

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        return ast.List([self.visit(item) for item in node.elts])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.Pow):  # which has bounds where it is judged
            raise LookupError
        return cast(ast.expr, self.generic_visit(node))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        values = [node.left, *node.comparators]
        for at, op in enumerate(node.ops):
            if any(isinstance(v, ast.Constant) and v.value is None for v in values[at : at + 2]):
                # A tensor would compare its elements.
                node.ops[at] = {ast.Eq: ast.Is, ast.NotEq: ast.IsNot}.get(type(op), type(op))()
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        assert isinstance(node.func, ast.Name)  # the language has nothing else
        return self.reader.call(node.func.id, [self.visit(argument) for argument in node.args])


def bound(domain: Domain, values: Mapping[str, object]) -> Bindings:
    """The names of *domain* for *values*; their dtypes are known to routers from now on."""
    bindings = bind_domain(domain, values, checked=False)
    for argument in domain.schema.arguments if len(_dtype_names) < _MOST_DTYPES else ():
        value: Any = values[argument.name]
        with contextlib.suppress(Exception):  # of one that has no hash, or says no dtype
            if kind_of_type(argument.type) == "dtype":
                _dtype_names.setdefault(value, plain_value(value, "dtype"))
            else:
                _dtype_names.setdefault(value.dtype, dtype_name(value.dtype))
    return bindings
