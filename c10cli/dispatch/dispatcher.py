"""The dispatcher: which operators exist, and which kernel runs where."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import ClassVar

from c10cli.arrays import tensor_types
from c10cli.arrays.keys import DispatchKey
from c10cli.dispatch import refusals
from c10cli.dispatch.calling import Stack
from c10cli.dispatch.dispatch_table import DispatchTable
from c10cli.dispatch.generated import Function
from c10cli.dispatch.kernel import BoxedKernel, CacheCreator, KernelEntry, KernelSource, OpKernel, as_source
from c10cli.dispatch.names import select_name
from c10cli.dispatch.operator import OperatorHandle, Unique
from c10cli.errors import counted
from c10cli.schema.domain import Domain
from c10cli.schema.expression import Expression
from c10cli.schema.model import FunctionSchema
from c10cli.schema.parser import parse_schema

# A change, or what undoes one, that runs no Python code: Note [Ctrl-C].
Step = Callable[[], object]
_call = methodcaller("__call__")


def _carry_out(steps: Iterable[Step]) -> None:
    """All *steps*, in one call of C.

    Note [Ctrl-C]: it comes between two steps of Python, and so before all of these or after;
    what several of them leave is never half.
    """
    with OperatorHandle.publishing:
        deque(map(_call, steps), 0)


class Dispatcher(Unique):
    """A set of operators with their kernels.

    ``Dispatcher.singleton()`` is the one that `ops` serves; ``Dispatcher()``
    makes a private one.  Readers (calls, lookups, `find`) take no lock;
    writers take turns.  No lock is held while a kernel, a cache creator or a
    kernel's module runs.

    Args:
        checked: check every call of its operators, by ``op.call``, ``op(...)``
            and ``op.call_boxed``: arguments are bound with the conversions of
            `FunctionSchema.bind` and live on one device; returns are those of
            the schema; what the schema does not mark as written is unchanged,
            and no result shares memory with an argument unannounced.  What a
            kernel raises gets a note that says which kernel it was.  So are
            the calls of a looked-up `OpKernel`.

    >>> dispatcher = Dispatcher()
    >>> op = dispatcher.register_schema("demo::twice(Tensor x) -> Tensor")
    >>> registrar = dispatcher.register_kernel(op, "CPU", lambda x: x + x)
    >>> import numpy
    >>> op.call(numpy.array([1, 2]))
    array([2, 4])
    """

    _singleton: ClassVar[Dispatcher | None] = None

    def __init__(self, *, checked: bool = False) -> None:
        self.checked = checked
        self.writing = threading.RLock()
        self._operators: dict[str, OperatorHandle] = {}  # of texts, which C can compare
        self._undo: list[Step] | None = None
        with _listing:
            _dispatchers.add(self)

    @classmethod
    def singleton(cls) -> Dispatcher:
        """The process's own dispatcher."""
        with _listing:
            if cls._singleton is None:
                cls._singleton = cls()
            return cls._singleton

    def register_schema(
        self,
        schema: FunctionSchema | str,
        *,
        domain: Domain | Mapping[str, object] | None = None,
        site: str | None = None,
    ) -> OperatorHandle:
        """A new operator with *schema*.

        Args:
            domain: which arguments it takes, as a value or as the texts of a manifest.
            site: where this is said, ``file:line``; None: the caller's place.

        Raises:
            SchemaError: *schema* is no schema, or nothing can be dispatched on it (C10E209);
                C10E211, *domain* is not understood.
            TypeError: *schema* is neither a schema nor a text.
            RegistrationError: C10E301, there is such an operator.
        """
        if not isinstance(schema, FunctionSchema):
            schema = parse_schema(schema)
        if isinstance(domain, Mapping):
            from c10cli.schema.domain_parser import parse_domain  # which many need not

            domain = parse_domain(domain, schema)
        handle = OperatorHandle(schema, site or caller_site(), self, domain)
        name = str(schema.name)
        with self.writing:
            existing = self._operators.get(name)
            if existing is not None:
                raise refusals.defined_twice(existing, handle)
            undo = self._removal(handle, "the end of a failed transaction")
            self._change([partial(self._operators.__setitem__, name, handle)], undo)
        return handle

    def deregister_schema(self, op: OperatorHandle | str) -> None:
        """Remove operator *op*, a handle or a name; its handles are stale from here on.

        Raises:
            StaleHandleError: C10E306, it is removed already.
            RegistrationError: C10E307, it still has kernels; nothing changes.
        """
        site = caller_site()
        with self.writing:
            op = self._owned(op)
            table = op.table()
            if table.registrations:
                raise refusals.kernels_alive(op, table)
            restore = partial(self._operators.__setitem__, str(op.name), op)
            self._change(self._removal(op, site), [restore, op.publication(table.renewed())])

    def register_kernel(
        self,
        op: OperatorHandle | str,
        dispatch_key: DispatchKey | str,
        kernel: Function | BoxedKernel | KernelSource,
        cache_creator: CacheCreator | None = None,
        *,
        arrays: str | Collection[str] = "",
        when: str = "",
        override: bool = False,
        site: str | None = None,
    ) -> KernelRegistrar:
        """Let *kernel* serve *dispatch_key*; the registrar undoes it.

        A key may have several kernels, for the arrays of several libraries and
        under several conditions: those with a condition are asked first, the last registered before others.

        Args:
            op: a handle, or a name as `find` takes it.
            kernel: a callable with the schema's arguments, a `BoxedKernel`, or
                a source that loads one at its first use.
            cache_creator: makes the kernel's cache; the kernel takes it as its
                last argument.
            arrays: the library whose tensors it takes, such as ``torch``; empty: all.
            when: a condition on the calls that it takes, over the dims, dtype variables and arguments of
                the operator's domain, such as ``d <= 128``.
            override: come before the kernels that are there already, with and without
                conditions; closing the registrar brings them back.

        Raises:
            RegistrationError: C10E302, the key has a kernel for such calls; C10E305, the
                signature does not fit; C10E309, no such library; C10E310, not a kernel.
            SchemaError: C10E211, *when* is not understood.
            ArgumentError: C10E405, *arrays* or *when* is no text.
            StaleHandleError: C10E306.
        """
        op, key = self._owned(op), DispatchKey(dispatch_key)
        source, libraries = as_source(op.schema, kernel, cache_creator), refusals.known_libraries(arrays)
        condition = _condition(when, op) if when else None
        entry = KernelEntry(key, source, site or caller_site(), libraries, condition, override)
        with self.writing:
            present = self._owned(op).table().registrations.get(key, ())
            same = [other for other in present if other.competes(entry)]
            if same and not override:
                raise refusals.registered_twice(op, same[-1], entry)
            self._publish(op, key, (*present, entry))
        return KernelRegistrar(self, op, entry)

    def deregister_kernel(self, op: OperatorHandle | str, dispatch_key: DispatchKey | str) -> None:
        """Remove the kernel that serves *dispatch_key*; one that it overrode serves again.

        Raises:
            RegistrationError: C10E308, there is none.
            StaleHandleError: C10E306.
        """
        key = DispatchKey(dispatch_key)
        with self.writing:
            op = self._owned(op)
            table = op.table()
            if key not in table.registrations:
                raise refusals.not_registered(op, key, table)
            self.remove_entry(op, table.registrations[key][-1])

    def lookup(self, op: OperatorHandle | str, stack: Stack) -> OpKernel:
        """The kernel for the arguments on top of *stack*, not called.

        Raises:
            DispatchError: C10E409, the stack is too short; C10E403, no kernel;
                C10E408, no tensor.
        """
        return self._owned(op).lookup_on(stack)

    def find(self, name: str) -> OperatorHandle:
        """The operator called *name*; namespace and overload may be left out where that is clear.

        Raises:
            UnknownOperatorError: C10E401, with near names.
            AmbiguousOverloadError: C10E402.
            ArgumentError: C10E405, *name* is no text.
        """
        if not isinstance(name, str):
            raise refusals.wrong_argument("find(...)", "the name of an operator", name)
        operators = self._operators.copy()  # no name may go between the two steps
        return operators[str(select_name(name, [op.name for op in operators.values()]))]

    def operators(self) -> list[OperatorHandle]:
        """All operators, by name."""
        return sorted(list(self._operators.values()), key=lambda op: str(op.name))

    @contextmanager
    def transaction(self) -> Iterator[Dispatcher]:
        """Undo every registration and deregistration of the body if it raises.

        Writers of other threads wait until the body ends.
        """
        with self.writing:
            undo, outer = self._undo, self._undo
            mark: Step = partial(bool)  # which does nothing: it tells where this one begins
            if undo is None:
                undo = [mark, partial(setattr, self, "_undo", None)]
            else:
                undo.append(mark)
            # Made before it is needed: once it is called, it ends.
            roll_back: Step = partial(deque, map(_call, iter(undo.pop, mark)), 0)
            try:
                try:
                    self._undo = undo
                    yield self
                    self._undo = outer
                    undo = []
                finally:
                    with OperatorHandle.publishing:
                        if mark in undo:
                            roll_back()
            finally:  # where Ctrl-C came before it was called
                with OperatorHandle.publishing:
                    if mark in undo:
                        roll_back()

    def refresh(self) -> None:
        """Forget what the tables learned about tensor types.

        It takes no lock that a transaction holds: the thread that teaches a
        type may be in one of another dispatcher's.
        """
        for op in list(self._operators.values()):
            op.forget()

    def after_fork(self) -> None:
        """Make the dispatcher of a forked child usable.

        A thread that was writing in the parent does not exist here: the lock
        that it held is renewed, and what its open transaction did is undone.
        """
        if self.writing.acquire(blocking=False):  # free, or held by the thread that forked
            self.writing.release()
        else:
            self.writing = threading.RLock()
            _carry_out(reversed(self._undo or []))

    def remove_entry(self, op: OperatorHandle, entry: KernelEntry) -> None:
        """Remove *entry*, wherever in an override stack it is, if it still is there; for registrars."""
        key = entry.dispatch_key
        with self.writing:
            present = op.table().registrations.get(key, ()) if op.is_live else ()
            left = tuple(e for e in present if e is not entry)
            if len(left) < len(present):
                self._publish(op, key, left)

    def _owned(self, op: OperatorHandle | str) -> OperatorHandle:
        if isinstance(op, str):
            return self.find(op)
        if not isinstance(op, OperatorHandle):
            raise refusals.wrong_argument("a dispatcher", "an operator handle or a name", op)
        op.table()
        if self._operators.get(str(op.name)) is not op:
            raise refusals.foreign_operator(op)
        return op

    def _publish(self, op: OperatorHandle, key: DispatchKey, entries: tuple[KernelEntry, ...]) -> None:
        before = op.table()
        registrations = {k: e for k, e in before.registrations.items() if k is not key}
        if entries:
            registrations[key] = entries
        after = DispatchTable(op.calling, registrations)
        self._change([op.publication(after)], [op.publication(before.renewed())])

    def _removal(self, op: OperatorHandle, site: str) -> list[Step]:
        gone = DispatchTable(op.calling, {}, deregistered_at=site)
        return [partial(self._operators.pop, str(op.name), None), op.publication(gone)]

    def _change(self, steps: list[Step], undo: list[Step]) -> None:
        """Do *steps*; *undo* is noted first, for Ctrl-C may come between."""
        self.on_rollback(*undo)
        _carry_out(steps)

    def __repr__(self) -> str:
        checked = "checked " if self.checked else ""
        return f"<{checked}Dispatcher of {counted(len(self._operators), 'operator')}>"

    def on_rollback(self, *steps: Step) -> None:
        """Do *steps* if the transaction that is open now fails; for those who hold the lock `writing`."""
        if self._undo is not None:
            self._undo.extend(steps)


def _condition(when: str, op: OperatorHandle) -> Expression:
    from c10cli.schema.domain_parser import parse_condition  # which many need not

    if not isinstance(when, str):
        raise refusals.wrong_argument("`when` of a kernel", "a condition as text", when)
    return parse_condition(when, op.schema, op.domain)


class KernelRegistrar(Unique):
    """Undoes one kernel registration: ``close()``, or the end of a ``with`` block.

    Closing twice does nothing.  Dropping a registrar without closing it leaves
    the kernel registered.
    """

    __slots__ = ("_dispatcher", "_entry", "dispatch_key", "op")

    def __init__(self, dispatcher: Dispatcher, op: OperatorHandle, entry: KernelEntry) -> None:
        self._dispatcher, self._entry = dispatcher, entry
        self.op, self.dispatch_key = op, entry.dispatch_key

    def close(self) -> None:
        """Deregister the kernel, if it still is registered."""
        self._dispatcher.remove_entry(self.op, self._entry)

    def __repr__(self) -> str:
        return f"<KernelRegistrar of {self._entry.source.name} for {self.op.name} at {self.dispatch_key}>"

    def __enter__(self) -> KernelRegistrar:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


_dispatchers: weakref.WeakSet[Dispatcher] = weakref.WeakSet()
_listing = threading.RLock()  # for them, and for the singleton


def _refresh_all() -> None:
    with _listing:
        dispatchers = list(_dispatchers)
    for dispatcher in dispatchers:
        dispatcher.refresh()


tensor_types.on_change(_refresh_all)


def _after_fork() -> None:
    global _listing
    _listing = threading.RLock()
    OperatorHandle.publishing = threading.RLock()
    for dispatcher in list(_dispatchers):
        dispatcher.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(after_in_child=_after_fork)


# With the separator, so that a folder such as `c10cli_plugins` counts as outside.
_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"


def caller_site() -> str:
    """``file:line`` of the innermost frame outside c10cli, and its package, if it is of one."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    module = frame.f_globals.get("__package__")  # none in a script, and code may set it to anything
    package = module.partition(".")[0] if isinstance(module, str) else ""
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    return f"{place}, package {package}" if package else place
