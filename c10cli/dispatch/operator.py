"""One operator: its schema, its dispatch table, its call function."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar, NoReturn, TypeVar, cast

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.tensor_types import is_tensor
from c10cli.dispatch.calling import Calling, Stack
from c10cli.dispatch.checked import as_declared, call_watched, check_arguments
from c10cli.dispatch.dispatch_table import DispatchTable
from c10cli.dispatch.generated import Function
from c10cli.dispatch.kernel import OpKernel
from c10cli.errors import ArgumentError, Diagnostic, StaleHandleError
from c10cli.schema.domain import Domain
from c10cli.schema.model import FunctionSchema, OperatorName

Self = TypeVar("Self")


class Unique:
    """A copy of it is itself, and it is not pickled: a second one would not hear of changes to the first."""

    __slots__ = ()

    def __copy__(self: Self, memo: object = None) -> Self:
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} cannot be pickled, because it belongs to this process;"
            " send the operator's name, and find(...) it in the other one"
        )


class SchemaSays:
    """An attribute that is of the schema where an operator is asked, and *of_class* where its class is."""

    def __init__(self, of_operator: Callable[[OperatorHandle], object], of_class: str | None = None) -> None:
        self._of_operator, self._of_class = of_operator, of_class

    def __get__(self, op: OperatorHandle | None, owner: type) -> object:
        if op is not None:
            return self._of_operator(op)
        if self._of_class is None:
            raise AttributeError
        return self._of_class


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
        dispatcher: the `Dispatcher` that made it.
        domain: which arguments it takes; None: nothing is said.
    """

    __slots__ = ("__weakref__", "_globals", "call", "calling", "dispatcher", "name", "schema", "site")

    call: Callable[..., Any]
    __signature__ = SchemaSays(lambda op: inspect.signature(op.call))

    # Held from when a table is read to when the one that replaces it is published, and
    # no other lock is taken meanwhile; reentrant for finalizers that register.
    publishing: ClassVar[threading.RLock] = threading.RLock()

    def __init__(
        self, schema: FunctionSchema, site: str, dispatcher: Any, domain: Domain | None = None
    ) -> None:
        self.schema, self.dispatcher = schema, dispatcher
        self.name: OperatorName = schema.name
        self.site = site
        self.calling = Calling(schema, domain)
        table = DispatchTable(self.calling, {})
        self.call = self.calling.generate(table.tables[0], self._slow_call)
        self._globals = cast(FunctionType, self.call).__globals__
        self.publish(table)
        if dispatcher.checked:
            self.call = self._checked_call(self.call)

    def _slow_call(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.table().slow_call(*args, **kwargs)

    def _checked_call(self, plain: Function) -> Function:
        """What is called and shown as *plain* is, with all checks around the kernel."""

        def call(*args: Any, **kwargs: Any) -> Any:
            table = self.table()  # staleness explains more than a missing argument
            values = list(self.schema.bind(args, kwargs, is_tensor=is_tensor).values())
            bindings = check_arguments(self.schema, self.domain, values)
            entry = table.entry_for(self.calling.key_tensor_of(values), lambda: values)
            kernel, function = entry.bound(self.schema), table.function_of(entry)
            returns = call_watched(self.schema, kernel.name, function, values, kernel.place, bindings)
            return as_declared(returns)

        functools.update_wrapper(call, plain)
        vars(call)["__signature__"] = inspect.signature(plain)
        del vars(call)["__wrapped__"]  # the unchecked call is nobody's
        return call

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
            if isinstance(error, ArgumentError):
                raise
            self.table()  # as in a checked call
            try:
                self.calling.slow_bind(args, kwargs)  # names alone: no value is looked into
            except ArgumentError as explained:
                raise explained from error
            raise

    def call_boxed(self, stack: Stack) -> None:
        """Replace the arguments on top of *stack* by the results; after an exception it is as before.

        Raises:
            DispatchError: C10E409, fewer values than arguments.
        """
        self.table()
        self.calling.call_boxed(self.call, stack)

    def lookup(self, /, *args: Any, **kwargs: Any) -> OpKernel:
        """The kernel that would serve a call with these arguments, not called."""
        calling = self.calling
        values = functools.partial(calling.slow_bind, args, kwargs)
        entry = self.table().entry_for(calling.key_tensor(args, kwargs), values)
        return OpKernel(self.calling, entry.dispatch_key, entry.bound(self.schema), self.dispatcher.checked)

    def lookup_on(self, stack: Stack) -> OpKernel:
        """The kernel that would serve the arguments on top of *stack*."""
        table = self.table()
        values = self.calling.values_on(stack)
        entry = table.entry_for(self.calling.key_tensor_of(values), lambda: values)
        return OpKernel(self.calling, entry.dispatch_key, entry.bound(self.schema), self.dispatcher.checked)

    def lookup_key(self, dispatch_key: DispatchKey | str) -> OpKernel:
        """The kernel of *dispatch_key*, whatever the arguments will be."""
        table, key = self.table(), DispatchKey(dispatch_key)
        entry = table.serving(key)
        if entry is None:
            raise table.no_kernel(key, f"lookup of {self.name}")
        return OpKernel(self.calling, key, entry.bound(self.schema), self.dispatcher.checked)

    @property
    def domain(self) -> Domain | None:
        """Which arguments the operator takes; None where nothing is said."""
        return self.calling.domain

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
        return not self._globals["c10_snapshot"].deregistered_at

    def table(self) -> DispatchTable:
        """The dispatch table in use.

        Raises:
            StaleHandleError: C10E306, the operator is deregistered.
        """
        table: DispatchTable = self._globals["c10_snapshot"]
        site = table.deregistered_at
        if not site:
            return table
        fact = f"the handle to `{self.name}` is stale: the operator was deregistered at {site}"
        finding = Diagnostic("C10E306", fact, help="ask the dispatcher for a new handle with find(...)")
        raise StaleHandleError(finding, operator=str(self.name), site=site)

    def publish(self, table: DispatchTable) -> None:
        """Make *table* the one in use."""
        with self.publishing:
            self.publication(table)()

    def publication(self, table: DispatchTable) -> Callable[[], object]:
        """What makes *table* the one in use, in one step of C that no signal and no reader comes into."""
        # In this order: the table that goes keeps what calls have learned until both are replaced.
        return functools.partial(self._globals.update, c10_table=table.tables[0], c10_snapshot=table)

    def forget(self) -> None:
        """Go on with a table of the same kernels that has learned nothing of tensor types.

        A lookup that began before writes what it learns to the table it began with.
        """
        with self.publishing:
            self.publish(self._globals["c10_snapshot"].renewed())

    def __repr__(self) -> str:
        state = "" if self.is_live else " (deregistered)"
        return f"<OperatorHandle {self.name}{state}>"


# Of a handle, what it is called by; of the class, what it is.
OperatorHandle.__doc__ = SchemaSays(lambda op: str(op.schema), OperatorHandle.__doc__)  # type: ignore[assignment]
