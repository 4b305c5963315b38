"""The dispatch table of one operator: an immutable snapshot.

A change to an operator makes a new table and swaps it in; a call that began
keeps the one it has.  What a table learns (which function serves a Python
type) belongs to it, so a slow lookup that ends after a deregistration cannot
bring a dead kernel back.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import is_told_apart, library_for, remember
from c10cli.arrays.tensor_types import key_of, resolve_type
from c10cli.describe import describe
from c10cli.dispatch.calling import Calling, call_error
from c10cli.dispatch.generated import Function, by_type, by_value, generate_router, has_python_signature
from c10cli.dispatch.kernel import KernelEntry
from c10cli.errors import NoKernelError


class DispatchTable:
    """Which kernel serves which key, as of one moment.

    Args:
        registrations: per key the registered kernels, oldest first; the last
            one serves, those before it were overridden.
        deregistered_at: where the operator was deregistered; empty while it is there.
    """

    __slots__ = ("_entries", "by_key", "calling", "deregistered_at", "registrations", "tables")

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
        self.by_key: dict[DispatchKey, Function] = {}
        self._entries: dict[int, tuple[type, KernelEntry]] = {}  # by identity of types that have one key

    def renewed(self) -> DispatchTable:
        """The same registrations, and nothing learned yet."""
        return DispatchTable(self.calling, self.registrations, self.deregistered_at)

    def keys(self) -> tuple[DispatchKey, ...]:
        """The keys with a kernel, by number."""
        return tuple(sorted(self.registrations))

    def serving(self, key: DispatchKey) -> KernelEntry | None:
        """The registration that serves *key*."""
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

    def entry_for(self, tensor: object) -> KernelEntry:
        """The registration that serves the key of *tensor*.

        Raises:
            ArgumentError: C10E408, *tensor* is no known tensor.
            NoKernelError: C10E403.
        """
        found = self._entries.get(id(type(tensor)))
        return found[1] if found else self._slow_entry_for(tensor)

    def _slow_entry_for(self, tensor: object) -> KernelEntry:
        key = key_of(tensor)
        if key is None:
            raise self.calling.not_a_tensor(tensor)
        entry = self.serving(key)
        if entry is None:
            place = f"call of {self.calling.schema.name}, argument {self.calling.deciding_names()}"
            raise self.no_kernel(key, f"{place}: {describe(tensor)} with key {key.name}")
        if isinstance(resolve_type(type(tensor)), DispatchKey):
            remember(self._entries, id(type(tensor)), (type(tensor), entry))
        return entry

    def slow_call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call what serves the arguments, and remember it for the next call with tensors of such a type."""
        tensor = self.calling.key_tensor(args, kwargs)
        function = self.function_of(self.entry_for(tensor))
        if has_python_signature(self.calling.schema) and is_told_apart(type(tensor)):
            self._learn(self.calling.deciding_values(args, kwargs), tensor, function)
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
        shortcuts = library_for(tensor).shortcuts(key_of)
        choice = by_value(name, shortcuts, key_of, self.by_key, self.slow_call)
        return generate_router(self.calling.schema, choice, self.slow_call)

    def function_of(self, entry: KernelEntry) -> Function:
        """The kernel of *entry*, in schema form; it is bound (and, from a manifest, imported) here."""
        function = self.by_key.get(entry.dispatch_key)
        if function is None:
            function = entry.bound(self.calling.schema).caller(self.calling)
            self.by_key[entry.dispatch_key] = function
        return function

    def lines(self) -> list[str]:
        """The table in use, one line per registration: which serves, which was overridden."""
        shown = []
        for key in self.keys():
            *overridden, serving = self.registrations[key]
            shown.append(serving.describe())
            shown += [f"  overridden: {entry.describe()}" for entry in reversed(overridden)]
        return shown

    def __repr__(self) -> str:
        keys = ", ".join(map(str, self.keys())) or "no kernels"
        return f"<DispatchTable of {self.calling.schema.name}: {keys}>"
