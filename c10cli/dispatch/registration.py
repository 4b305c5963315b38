"""Ways to say a registration: the builder, the lazy schema getter, attribute access."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, cast

from c10cli.arrays.keys import DispatchKey
from c10cli.describe import callable_name
from c10cli.dispatch import refusals
from c10cli.dispatch.dispatcher import Dispatcher, KernelRegistrar, caller_site
from c10cli.dispatch.generated import Function
from c10cli.dispatch.kernel import BoxedKernel, CacheCreator, KernelCache, signature_of
from c10cli.dispatch.operator import OperatorHandle, Unique
from c10cli.dispatch.signature import needed_by
from c10cli.errors import Diagnostic, RegistrationError, StaleHandleError, UnknownOperatorError
from c10cli.schema.model import FunctionSchema

OperatorGetter = Callable[[], OperatorHandle]


def define_op_schema(text: str, dispatcher: Dispatcher | None = None) -> OperatorGetter:
    """A getter of the operator with schema *text*, which it registers on first use.

    In a transaction that fails, that use did not happen.
    """
    made: dict[str, OperatorHandle] = {}
    site = caller_site()

    def op() -> OperatorHandle:
        found = made.get(text)
        if found is None:
            home = dispatcher or Dispatcher.singleton()
            with home.transaction():  # whose lock is not its own, which a forked child could find held
                found = made.get(text)
                if found is None:
                    home.on_rollback(made.clear)
                    found = made[text] = home.register_schema(text, site=site)
        return found

    return op


class OpSchemaRegistrar:
    """Registers a schema; ``close()`` or the end of a ``with`` block deregisters it.

    Closing twice does nothing.  At the end of a block that raised, an operator
    whose kernels are still registered stays, so that the block's own error is seen.

    Raises, on closing:
        RegistrationError: C10E307, kernels are still registered; close them
            first, then close this again.
    """

    __slots__ = ("_dispatcher", "op")

    def __init__(self, schema: FunctionSchema | str, dispatcher: Dispatcher | None = None) -> None:
        self._dispatcher = dispatcher or Dispatcher.singleton()
        self.op = self._dispatcher.register_schema(schema)

    def close(self) -> None:
        """Deregister the schema, if it still is registered."""
        with contextlib.suppress(StaleHandleError):
            self._dispatcher.deregister_schema(self.op)

    def __repr__(self) -> str:
        return f"<OpSchemaRegistrar of {self.op.name}>"

    def __enter__(self) -> OperatorHandle:
        return self.op

    def __exit__(self, exc_type: type[BaseException] | None, *_exc: object) -> None:
        try:
            self.close()
        except RegistrationError:
            if exc_type is None:
                raise


def kernel_registration(
    op: OperatorHandle | OperatorGetter | str, dispatcher: Dispatcher | None = None
) -> KernelRegistrationBuilder:
    """A builder of one kernel registration of *op*: a handle, its getter, or a name, found on registering.

    Args:
        dispatcher: None: that of the handle, or for a name the singleton.

    >>> from c10cli.dispatch.dispatcher import Dispatcher
    >>> op = define_op_schema("demo::same(Tensor x) -> Tensor", Dispatcher())
    >>> with kernel_registration(op).kernel(lambda x: x).dispatch_key("CPU").register():
    ...     op().keys()
    (DispatchKey('CPU'),)
    """
    if not (isinstance(op, str) or callable(op)):
        raise refusals.wrong_argument("kernel_registration", "an operator handle, its getter or a name", op)
    return KernelRegistrationBuilder(op, dispatcher)


@dataclass(frozen=True)
class KernelRegistrationBuilder:
    """A kernel registration, said step by step; ``register()`` makes it.

    The steps may be given in any order, each once, but the cache before the
    kernel that takes it.
    """

    _op: OperatorHandle | OperatorGetter | str
    _dispatcher: Dispatcher | None = None
    _kernel: Function | BoxedKernel | None = None
    _key: DispatchKey | None = None
    _cache: CacheCreator | None = None

    def kernel(self, function: Function | BoxedKernel) -> KernelRegistrationBuilder:
        """With *function* as the kernel."""
        _refuse(self._kernel is not None, "kernel() is given twice", "give one kernel per registration")
        return replace(self, _kernel=function)

    def dispatch_key(self, key: DispatchKey | str) -> KernelRegistrationBuilder:
        """For *key*."""
        _refuse(self._key is not None, "dispatch_key() is given twice", "make one registration per key")
        return replace(self, _key=DispatchKey(key))

    def with_cache(self, cache: type[KernelCache]) -> KernelRegistrationBuilder:
        """With a kernel cache of class *cache*, made without arguments."""
        _refuse(self._cache is not None, "with_cache() is given twice", "give one cache class")
        _refuse(self._kernel is not None, "with_cache() comes after kernel()", "call with_cache() first")
        derived, name = isinstance(cache, type) and issubclass(cache, KernelCache), callable_name(cache)
        _refuse(not derived, f"`{name}` is not derived from KernelCache", "derive the class from KernelCache")
        _refuse(
            bool(needed_by(signature_of(cache))),
            f"`{name}` cannot be made without arguments",
            "give them defaults",
        )
        return replace(self, _cache=cache)

    def register(self) -> KernelRegistrar:
        """Make the registration.

        Raises:
            RegistrationError: C10E309, kernel or key were not given; and what
                `Dispatcher.register_kernel` raises.
        """
        if self._kernel is None or self._key is None:
            missing = "kernel()" if self._kernel is None else "dispatch_key()"
            raise _incomplete(f"{missing} is missing", f"call {missing} before register()")
        op = self._op if isinstance(self._op, OperatorHandle | str) else self._op()
        home = op.dispatcher if isinstance(op, OperatorHandle) else Dispatcher.singleton()
        return (self._dispatcher or home).register_kernel(op, self._key, self._kernel, self._cache)


def _refuse(condition: bool, fact: str, todo: str) -> None:
    if condition:
        raise _incomplete(fact, todo)


def _incomplete(fact: str, todo: str) -> RegistrationError:
    return RegistrationError(Diagnostic("C10E309", fact, place="kernel registration", help=todo))


class Ops(Unique):
    """Operators as attributes: ``ops.c10.add(x, y)``, ``ops.c10.add.out(...)``."""

    # Mangled: `_dispatcher` may be a namespace.
    __slots__ = ("__dispatcher",)

    def __init__(self, dispatcher: Callable[[], Dispatcher]) -> None:
        self.__dispatcher = dispatcher

    def __getattr__(self, namespace: str) -> OpsNamespace:
        # Python and its tools ask for such names, and go on if they find something.
        if namespace.startswith("__") and namespace not in dir(self):
            raise AttributeError(namespace)
        return OpsNamespace(self.__dispatcher, namespace)

    def __dir__(self) -> list[str]:
        return sorted({op.name.namespace for op in self.__dispatcher().operators()})


class UnknownOperatorAttribute(UnknownOperatorError, AttributeError):
    """The same as `UnknownOperatorError` from attribute access, so that ``hasattr`` works."""


class OpsNamespace(Unique):
    """The operators of one namespace, as attributes."""

    # Mangled: `_namespace` may be an operator.
    __slots__ = ("__dispatcher", "__namespace")

    def __init__(self, dispatcher: Callable[[], Dispatcher], namespace: str) -> None:
        self.__dispatcher, self.__namespace = dispatcher, namespace

    def __getattr__(self, base: str) -> Any:
        qualified = f"{self.__namespace}::{base}"
        dispatcher = self.__dispatcher()
        overloads = {op.name.overload: op for op in dispatcher.operators() if op.name.qualified == qualified}
        if overloads:
            return _packet(dispatcher, qualified, overloads)
        try:
            return dispatcher.find(qualified).call
        except UnknownOperatorError as error:
            raise UnknownOperatorAttribute(*error.diagnostics, **error.facts) from None

    def __dir__(self) -> list[str]:
        named = (op.name for op in self.__dispatcher().operators())
        return sorted({name.base for name in named if name.namespace == self.__namespace})


def _packet(
    dispatcher: Dispatcher, qualified: str, overloads: Mapping[str, OperatorHandle]
) -> Callable[..., Any]:
    """A function with the *overloads* as its attributes, made afresh: those of tomorrow may be others."""

    def find_and_call(*args: Any, **kwargs: Any) -> Any:
        return dispatcher.find(qualified)(*args, **kwargs)  # which is refused where there are several

    plain = overloads.get("")
    if plain is None:
        function: Callable[..., Any] = find_and_call
    elif len(overloads) == 1:
        function = plain.call
    else:
        function = _twin(plain)
    for overload, op in overloads.items():
        setattr(function, overload or "default", op.call)
    return function


def _twin(op: OperatorHandle) -> Callable[..., Any]:
    """Another function object that does what *op.call* does, at the same speed where that is generated."""
    call = cast(FunctionType, op.call)
    twin = FunctionType(call.__code__, call.__globals__, call.__name__, call.__defaults__, call.__closure__)
    twin.__kwdefaults__ = call.__kwdefaults__
    functools.update_wrapper(twin, call)
    del vars(twin)["__wrapped__"]
    return twin


ops = Ops(Dispatcher.singleton)
"""The operators of the singleton dispatcher, as attributes."""
