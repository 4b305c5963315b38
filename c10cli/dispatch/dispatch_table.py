"""The dispatch table of one operator: an immutable snapshot.

A change to an operator makes a new table and swaps it in; a call that began
keeps the one it has.  What a table learns (which function serves a Python
type) belongs to it, so a slow lookup that ends after a deregistration cannot
bring a dead kernel back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.tensor_types import key_of, remember, resolve_type
from c10cli.describe import describe
from c10cli.dispatch.calling import Calling, call_error
from c10cli.dispatch.generated import Function
from c10cli.dispatch.kernel import KernelEntry
from c10cli.errors import NoKernelError


class DispatchTable:
    """Which kernel serves which key, as of one moment.

    Args:
        registrations: per key the registered kernels, oldest first; the last
            one serves, those before it were overridden.
        deregistered_at: where the operator was deregistered; empty while it is there.
    """

    __slots__ = ("_entries", "by_key", "by_type", "calling", "deregistered_at", "registrations")

    def __init__(
        self,
        calling: Calling,
        registrations: Mapping[DispatchKey, tuple[KernelEntry, ...]],
        deregistered_at: str = "",
    ) -> None:
        self.calling = calling
        self.registrations = registrations
        self.deregistered_at = deregistered_at
        self.by_type: dict[type, Function] = {}
        self.by_key: dict[DispatchKey, Function] = {}
        self._entries: dict[type, KernelEntry] = {}  # of types that have one key

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
        return self._entries.get(type(tensor)) or self._slow_entry_for(tensor)

    def _slow_entry_for(self, tensor: object) -> KernelEntry:
        key = key_of(tensor)
        if key is None:
            raise self.calling.not_a_tensor(tensor)
        entry = self.serving(key)
        if entry is None:
            place = f"call of {self.calling.schema.name}, argument {self.calling.deciding_names()}"
            raise self.no_kernel(key, f"{place}: {describe(tensor)} with key {key.name}")
        if isinstance(resolve_type(type(tensor)), DispatchKey):
            remember(self._entries, type(tensor), entry)
        return entry

    def slow_call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call what serves the arguments' tensor type, and remember it for the next call."""
        tensor = self.calling.key_tensor(args, kwargs)
        resolution = resolve_type(type(tensor))
        if resolution is None or isinstance(resolution, DispatchKey):
            function = self.function_of(self.entry_for(tensor))
        else:
            function = self.calling.generate(self.by_key, resolution, self._slow_call_by_key)[0]
        remember(self.by_type, type(tensor), function)
        return function(*args, **kwargs)

    def _slow_call_by_key(self, /, *args: Any, **kwargs: Any) -> Any:
        """The same for tensors whose type leaves the key open."""
        entry = self.entry_for(self.calling.key_tensor(args, kwargs))
        return self.function_of(entry)(*args, **kwargs)

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
