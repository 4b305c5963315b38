"""The dispatch table of one operator: an immutable snapshot.

A change to an operator makes a new table and swaps it in; a call that began
keeps the one it has.  What a table learns (which function serves a Python
type) belongs to it, so a slow lookup that ends after a deregistration cannot
bring a dead kernel back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import TABLE, is_told_apart, library_for, library_of, remember
from c10cli.arrays.tensor_types import key_of, resolve_type
from c10cli.describe import describe
from c10cli.dispatch.calling import Calling, call_error
from c10cli.dispatch.conditions import bound, by_condition
from c10cli.dispatch.generated import (
    Choice,
    Function,
    by_type,
    by_value,
    generate_router,
    has_python_signature,
)
from c10cli.dispatch.kernel import KernelEntry
from c10cli.errors import NoKernelError
from c10cli.schema.domain import Domain
from c10cli.schema.expression import Expression


class DispatchTable:
    """Which kernel serves which key, as of one moment.

    Note [Variants]: of the kernels of a key that take the library of the tensor that decides, one that
    overrides comes before those that were there, one with a condition as well, and one without after them.
    The first whose condition holds is called.  What is behind one without was overridden, as was what has
    the condition of another one before it.

    Args:
        registrations: per key the registered kernels, oldest first.
        deregistered_at: where the operator was deregistered; empty while it is there.
    """

    __slots__ = ("_asked", "calling", "deregistered_at", "functions", "registrations", "tables")

    def __init__(
        self,
        calling: Calling,
        registrations: Mapping[DispatchKey, tuple[KernelEntry, ...]],
        deregistered_at: str = "",
    ) -> None:
        self.calling = calling
        self.registrations = registrations
        self.deregistered_at = deregistered_at
        # What calls have learned: a table for each argument that may decide.
        self.tables = [calling.new_table(at) for at in range(len(calling.in_list))]
        self.functions: dict[str, dict[DispatchKey, Function]] = {}  # by the library of the tensor
        # By identity of types that have one key.
        self._asked: dict[int, tuple[type, tuple[KernelEntry, ...]]] = {}

    def renewed(self) -> DispatchTable:
        """The same registrations, and nothing learned yet."""
        return DispatchTable(self.calling, self.registrations, self.deregistered_at)

    def keys(self) -> tuple[DispatchKey, ...]:
        """The keys with a kernel, by number."""
        return tuple(sorted(self.registrations))

    def serving(self, key: DispatchKey) -> KernelEntry | None:
        """The registration that serves *key*; of several, the last."""
        entries = self.registrations.get(key)
        return entries[-1] if entries else None

    def no_kernel(self, key: DispatchKey, place: str) -> NoKernelError:
        """The error for *key*, asked for at *place*, with what is registered instead."""
        schema, names = self.calling.schema, ", ".join(map(str, self.keys()))
        other = f", or pass a tensor of {names}" if names else ""
        fact = f"no kernel of `{schema.name}` for dispatch key {key}; registered: {names or 'none'}"
        todo, notes = f"register a kernel for {key}{other}", self.lines()[:8]
        facts = {"dispatch_key": key, "registered_keys": self.keys()}
        return call_error(NoKernelError, schema, "C10E403", fact, todo, place=place, notes=notes, **facts)

    def asked(self, key: DispatchKey, library: str) -> tuple[KernelEntry, ...]:
        """The kernels of *key* that are asked for tensors of *library*, in order; see Note [Variants]."""
        order: list[KernelEntry] = []
        for entry in self.registrations.get(key, ()):
            if entry.takes(library):
                order.insert(0 if entry.overrides or entry.condition else len(order), entry)
        asked: dict[Expression | None, KernelEntry] = {}
        for entry in order:
            if None not in asked:
                asked.setdefault(entry.condition, entry)
        return tuple(asked.values())

    def judged(
        self, entries: Iterable[KernelEntry], values: Sequence[Any]
    ) -> Iterator[tuple[KernelEntry, str]]:
        """Each of *entries* with why its condition does not hold for *values* of the call; or nothing."""
        schema = self.calling.schema
        names = [argument.name for argument in schema.arguments]
        bindings = bound(self.calling.domain or Domain(schema), dict(zip(names, values, strict=True)))
        for entry in entries:
            yield entry, "" if entry.condition is None else bindings.why_not(entry.condition)

    def entry_for(self, tensor: object, values: Callable[[], Sequence[Any]]) -> KernelEntry:
        """The registration that serves *tensor*.

        Args:
            values: gives those of all arguments, in schema order, where conditions ask for them.

        Raises:
            ArgumentError: C10E408, *tensor* is no known tensor.
            NoKernelError: C10E403; C10E413, no kernel of the key takes such a call.
        """
        found = self._asked.get(id(type(tensor)))
        entries = found[1] if found else self._slow_asked_for(tensor)
        if entries[0].condition is None:
            return entries[0]
        refused = []
        for entry, why in self.judged(entries, values()):
            if not why:
                return entry
            refused.append(f"`{entry.source.name}`: {why}")
        raise self._no_variant(tensor, refused)

    def _slow_asked_for(self, tensor: object) -> tuple[KernelEntry, ...]:
        key = key_of(tensor)
        if key is None:
            raise self.calling.not_a_tensor(tensor)
        if key not in self.registrations:
            place = f"call of {self.calling.schema.name}, argument {self.calling.deciding_names()}"
            raise self.no_kernel(key, f"{place}: {describe(tensor)} with key {key.name}")
        entries = self.asked(key, library_of(tensor))
        if not entries:
            raise self._no_variant(tensor, [])
        if isinstance(resolve_type(type(tensor)), DispatchKey):
            remember(self._asked, id(type(tensor)), (type(tensor), entries))
        return entries

    def _no_variant(self, tensor: object, refused: list[str]) -> NoKernelError:
        """The error for *tensor*, whose key has kernels that do not take such a call.

        Args:
            refused: the kernels whose condition does not hold, with why.
        """
        key, library, schema = key_of(tensor), library_of(tensor), self.calling.schema
        assert key is not None
        others = [entry for entry in self.registrations[key] if not entry.takes(library)]
        notes = refused + [
            f"`{e.source.name}` takes {' and '.join(sorted((e.libraries or set()) - {''}))} arrays"
            for e in others
        ]
        name, kind = self.calling.deciding_names(), library or type(tensor).__qualname__
        fact = (
            f"no kernel of `{schema.name}` for dispatch key {key} takes this call, whose {name} is of {kind}"
        )
        todo = "give arguments that one of them takes, or register a kernel without a condition"
        wanted = next((lib for e in others for lib in sorted(e.libraries or ()) if lib), "")
        if wanted and not refused:
            todo = f"convert the arguments, as by {TABLE[wanted].converts.format('x')}, or register a kernel"
        place = f"call of {schema.name}, argument {name}: {describe(tensor)} with key {key.name}"
        facts = {"dispatch_key": key, "registered_keys": self.keys()}
        return call_error(NoKernelError, schema, "C10E413", fact, todo, place=place, notes=notes[:8], **facts)

    def slow_call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call what serves the arguments, and remember it for the next call with tensors of such a type."""
        calling = self.calling
        tensor = calling.key_tensor(args, kwargs)
        entry = self.entry_for(tensor, lambda: calling.slow_bind(args, kwargs))
        function = self.function_of(entry)
        if has_python_signature(calling.schema) and is_told_apart(type(tensor)):
            self._learn(calling.deciding_values(args, kwargs), tensor, self._function_for(tensor))
        return function(*args, **kwargs)

    def _learn(self, values: list[Any], tensor: object, function: Function) -> None:
        """Note, where calls look, that *function* serves *tensor*, the first one among *values*.

        Not where a list is of a type of its own, or has None before the tensor.
        """
        calling = self.calling
        names = [argument.name for argument in calling.dispatch_arguments()]
        for at, (table, value) in enumerate(zip(self.tables, values, strict=True)):
            if calling.in_list[at]:
                if (type(value) is list or type(value) is tuple) and value and value[0] is tensor:
                    route = self._route(tensor, f"{names[at]}[0]", function)
                    remember(table[type(value)], type(tensor), route)
                return
            if value is not None:
                remember(table, type(tensor), self._route(tensor, names[at], function))
                return
            choice = by_type(self.tables[at + 1], names[at + 1], calling.in_list[at + 1])
            remember(table, NoneType, generate_router(calling.schema, choice, self.slow_call))

    def _route(self, tensor: object, name: str, function: Function) -> Function:
        """*function*, or a router for tensors, called *name*, of a type that leaves the key open."""
        key_of = resolve_type(type(tensor))
        if key_of is None or isinstance(key_of, DispatchKey):
            return function
        library, key = library_for(tensor), key_of(tensor)
        entries = self.asked(key, library.name)
        conditional = {key: self._by_condition(entries)} if entries[0].condition else {}
        functions, shortcuts = self.functions[library.name], library.shortcuts(key_of)
        choice = by_value(name, shortcuts, key_of, functions, self.slow_call, conditional)
        return generate_router(self.calling.schema, choice, self.slow_call)

    def _function_for(self, tensor: object) -> Function:
        """What calls with tensors such as *tensor* go to: a kernel, or a router that asks for conditions."""
        key, library = key_of(tensor), library_of(tensor)
        assert key is not None
        functions, entries = self.functions.setdefault(library, {}), self.asked(key, library)
        if entries[0].condition is not None:
            choice = self._by_condition(entries)
            functions[key] = generate_router(self.calling.schema, choice, self.slow_call)
        elif key not in functions:
            functions[key] = self.function_of(entries[0])
        return functions[key]

    def _by_condition(self, entries: Sequence[KernelEntry]) -> Choice:
        """How one of *entries* is found; those that no call came to are not imported, but go the slow way."""
        functions = [self.function_of(entry) if entry.is_bound else self.slow_call for entry in entries]
        conditions = [entry.condition for entry in entries]
        domain = self.calling.domain or Domain(self.calling.schema)
        return by_condition(domain, [*zip(conditions, functions, strict=True)])

    def function_of(self, entry: KernelEntry) -> Function:
        """The kernel of *entry*, in schema form; it is bound (and, from a manifest, imported) here."""
        return entry.bound(self.calling.schema).caller(self.calling)

    def lines(self) -> list[str]:
        """The table in use, one line per registration: which serve, which were overridden."""
        shown = []
        for key in self.keys():
            entries = self.registrations[key]
            is_asked = {id(entry) for library in (*TABLE, "") for entry in self.asked(key, library)}
            serving = [entry.describe() for entry in reversed(entries) if id(entry) in is_asked]
            overridden = [entry.describe() for entry in reversed(entries) if id(entry) not in is_asked]
            shown += serving + [f"  overridden: {text}" for text in overridden]
        return shown

    def __repr__(self) -> str:
        keys = ", ".join(map(str, self.keys())) or "no kernels"
        return f"<DispatchTable of {self.calling.schema.name}: {keys}>"
