"""Operator handles: what registration and `find` give, and what one calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from c10cli.arrays.keys import DispatchKey
from c10cli.dispatch.calling import Calling
from c10cli.dispatch.checked import CheckedCall
from c10cli.dispatch.kernel import OpKernel
from c10cli.dispatch.stack import Stack
from c10cli.dispatch.table import DispatchTable, StaleTable
from c10cli.dispatch.unique import Unique
from c10cli.errors import ArgumentError
from c10cli.schema.model import FunctionSchema, OperatorName

if TYPE_CHECKING:
    from c10cli.dispatch.dispatcher import Dispatcher
    from c10cli.dispatch.kernel import KernelEntry


class OperatorHandle(Unique):
    """One registered operator: its schema, its dispatch table, its call function.

    ``handle.call(x, y)`` is the fast call, a function generated from the
    schema; ``handle(x, y)`` is the same and explains wrong arguments better.
    Values reach the kernel as they are, a list as the caller's own list; what
    is left out comes from the schema's defaults, never from the kernel's.
    There is one handle per registration: after the operator is deregistered,
    every use raises `StaleHandleError`, also when its name is registered anew.

    Args:
        site: where the schema was registered, ``file:line``.
        dispatcher: the one that the operator is registered with.
    """

    __slots__ = (
        "__weakref__",
        "_around",
        "_calling",
        "_swap",
        "_swap_checked",
        "_table",
        "call",
        "dispatcher",
        "name",
        "schema",
        "site",
    )

    call: Callable[..., Any]

    # Held for the two steps of a publication, by whoever makes one, and no
    # other lock is taken meanwhile; reentrant for finalizers that register.
    _publishing: ClassVar[threading.RLock] = threading.RLock()

    def __init__(self, schema: FunctionSchema, site: str, dispatcher: Dispatcher) -> None:
        self.schema = schema
        self.name: OperatorName = schema.name
        self.site = site
        self.dispatcher = dispatcher
        self._calling = Calling(schema)
        self._table: DispatchTable | StaleTable = DispatchTable(self._calling, {})
        self.call, self._swap = self._calling.dispatching(self._table.by_type, self._slow_call)
        # Of a checked dispatcher: what swaps the table by the types of all arguments, what checks a kernel.
        self._swap_checked = self._around = None
        if dispatcher.memory_check is not None:
            checked = CheckedCall(self, dispatcher.memory_check)
            self.call, self._swap_checked, self._around = checked.call, checked.swap, checked.around

    def _slow_call(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._table.slow_call(*args, **kwargs)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel that serves the arguments; see `call`.

        Raises:
            ArgumentError: C10E404 for arguments missing, extra or given twice;
                C10E405 for a single tensor instead of a list; C10E408 where
                there is no tensor to dispatch on.
            NoKernelError: C10E403.
        """
        try:
            return self.call(*args, **kwargs)
        except TypeError as error:
            self.explain(error, args, kwargs)
            raise

    def explain(self, error: TypeError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise what is wrong with the arguments, if it is they that Python refused."""
        if isinstance(error, ArgumentError):
            return
        self.table()  # staleness explains more than a missing argument
        try:
            self._calling.slow_bind(args, kwargs)  # names alone: no value is looked into
        except ArgumentError as explained:
            raise explained from error

    def call_boxed(self, stack: Stack) -> None:
        """Replace the arguments on top of *stack* by the results; after an exception it is as before.

        Raises:
            DispatchError: C10E409, fewer values than arguments.
        """
        self.table()
        self._calling.call_boxed(self.call, stack)

    def lookup(self, /, *args: Any, **kwargs: Any) -> OpKernel:
        """The kernel that would serve a call with these arguments, not called."""
        entry = self.table().entry_for(self._calling.key_tensor(args, kwargs))
        return OpKernel(self._calling, entry.dispatch_key, entry.bound(self.schema), self._around)

    def lookup_on(self, stack: Stack) -> OpKernel:
        """The kernel that would serve the arguments on top of *stack*."""
        table = self.table()
        return self._op_kernel(table.entry_for(self._calling.key_tensor_on(stack)))

    def lookup_key(self, dispatch_key: DispatchKey | str) -> OpKernel:
        """The kernel of *dispatch_key*, whatever the arguments will be."""
        table, key = self.table(), DispatchKey(dispatch_key)
        entry = table.serving(key)
        if entry is None:
            raise table.no_kernel(key, f"lookup of {self.name}")
        return self._op_kernel(entry)

    def _op_kernel(self, entry: KernelEntry) -> OpKernel:
        return OpKernel(self._calling, entry.dispatch_key, entry.bound(self.schema), self._around)

    def keys(self) -> tuple[DispatchKey, ...]:
        """The dispatch keys with a kernel, by number."""
        return self.table().keys()

    def dump(self) -> str:
        """The dispatch table in use, as text."""
        lines = self.table().lines() or ["no kernels"]
        return "\n".join([f"{self.schema}", f"registered at {self.site}", *lines])

    @property
    def is_live(self) -> bool:
        """False once the operator is deregistered."""
        return not isinstance(self._table, StaleTable)

    def table(self) -> DispatchTable:
        """The dispatch table in use.

        Raises:
            StaleHandleError: C10E306, the operator is deregistered.
        """
        table = self._table
        if isinstance(table, StaleTable):
            raise table.error()
        return table

    def publish(self, table: DispatchTable | StaleTable) -> None:
        """Make *table* the one in use; for the dispatcher, under its lock."""
        with self._publishing:
            self._table = table
            self._swap(table.by_type)
            if self._swap_checked is not None:
                self._swap_checked(table.by_types)

    def forget(self) -> None:
        """Go on with a table of the same kernels that has learned nothing of tensor types.

        A lookup that began before writes what it learns to the table it began with.
        """
        with self._publishing:
            table = self._table
            if not isinstance(table, StaleTable):
                self.publish(table.renewed())

    @classmethod
    def renew_lock(cls) -> None:
        """Forget who is publishing; for a forked child."""
        cls._publishing = threading.RLock()

    def calling(self) -> Calling:
        """How this operator is called; for building tables."""
        return self._calling

    def __repr__(self) -> str:
        state = "" if self.is_live else " (deregistered)"
        return f"<OperatorHandle {self.name}{state}>"
