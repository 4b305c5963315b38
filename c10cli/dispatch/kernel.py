"""Kernels: plain functions, boxed functions, their caches, and the looked-up `OpKernel`."""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NoReturn, Protocol

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import usual_libraries
from c10cli.describe import callable_name
from c10cli.dispatch.calling import Calling, Stack
from c10cli.dispatch.checked import checked_function
from c10cli.dispatch.generated import Function
from c10cli.dispatch.signature import (
    CREATOR_ADVICE,
    annotation_advice,
    cache_parameter,
    has_arguments_of,
    has_schema_signature,
    mismatch,
    needed_by,
)
from c10cli.errors import Diagnostic, RegistrationError
from c10cli.schema.expression import Expression
from c10cli.schema.model import FunctionSchema

CacheCreator = Callable[[], object]


class KernelCache:
    """Base of the state that a kernel keeps between calls, such as a workspace."""


@dataclass(frozen=True, slots=True)
class BoxedKernel:
    """A function that works on the stack, marked as such for registration.

    Args:
        function: takes its arguments off the end of the list *stack* and
            puts its results there; called as ``function(stack, cache)``.
    """

    function: Callable[[Stack, Any], None]


class KernelSource(Protocol):
    """Where a kernel comes from."""

    @property
    def name(self) -> str:
        """The kernel's name, for messages."""

    def load(self, schema: FunctionSchema) -> BoundKernel:
        """The kernel, checked against *schema*; asked for when it is first needed."""


@dataclass(frozen=True, slots=True)
class BoundKernel:
    """A kernel's function, proven to fit its schema.

    Args:
        function: takes the schema's arguments, positional ones by position
            and keyword-only ones by keyword; with a cache, that too.
        cache_keyword: the name under which the cache is passed; None: last position.
    """

    name: str
    function: Function
    boxed: bool
    cache_creator: CacheCreator | None
    cache_keyword: str | None
    place: str

    def load(self, schema: FunctionSchema) -> BoundKernel:
        """Itself: a kernel that is given is bound when it is registered."""
        return self

    def caller(self, calling: Calling, get_cache: CacheCreator | None = None) -> Function:
        """The kernel as a function of the schema's arguments alone.

        Args:
            get_cache: gives the cache at each call; None: a fresh one every
                time, as the seed's dispatcher does.
        """
        if self.cache_creator is None and not self.boxed:
            return self.function
        get_cache = get_cache or self.cache_creator or (lambda: None)
        if self.boxed:
            return calling.unboxed(self.function, get_cache, self.name)
        function, keyword = self.function, self.cache_keyword
        if keyword is None:
            return lambda *args, **kwargs: function(*args, get_cache(), **kwargs)
        return lambda *args, **kwargs: function(*args, **kwargs, **{keyword: get_cache()})


def callable_place(function: object) -> str:
    """``file:line`` of a Python function, or the module of anything else."""
    # Wrappers go in a circle, attributes raise; a place is for messages, which must not fail.
    with contextlib.suppress(Exception):
        code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
        if code is not None:
            return f"{code.co_filename}:{code.co_firstlineno}"
    with contextlib.suppress(Exception):
        return str(getattr(function, "__module__", None) or type(function).__module__)
    return type(function).__module__


def bind_kernel(
    schema: FunctionSchema,
    name: str,
    function: Function,
    cache_creator: CacheCreator | None = None,
    *,
    boxed: bool = False,
) -> BoundKernel:
    """*function* as a kernel of *schema*, against which it is checked.

    Raises:
        RegistrationError: C10E310 for what is no kernel, C10E305 for one whose
            signature does not fit.
    """
    _check_is_kernel(schema, function)
    if cache_creator is not None:
        _check_is_creator(schema, name, cache_creator)
    cache_keyword, place, has_cache = None, callable_place(function), cache_creator is not None
    # What fits as it stands needs no `inspect.signature`, half the cost of a registration.
    fits = has_arguments_of(schema, function) and not (boxed or has_cache)
    signature = None if fits and not function.__annotations__ else signature_of(function)
    if signature is not None:
        reason = mismatch(schema, signature, has_cache=has_cache, boxed=boxed)
        if reason:
            fact, notes = f"kernel `{name}` of `{schema.name}` {reason}", (f"the schema is {schema}",)
            usual = "give the kernel the schema's arguments: the same names, in the same order"
            todo = annotation_advice(reason) or usual
            finding = Diagnostic("C10E305", fact, place=f"{name} ({place})", notes=notes, help=todo)
            raise RegistrationError(finding, operator=str(schema.name), kernel=name)
        parameter = cache_parameter(schema, signature) if has_cache and not boxed else None
        if parameter is not None and parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
            cache_keyword = parameter.name
    return BoundKernel(name, function, boxed, cache_creator, cache_keyword, place)


def as_source(schema: FunctionSchema, kernel: Any, cache_creator: CacheCreator | None) -> KernelSource:
    """Where the *kernel* that is registered comes from; one that is given is bound to *schema* here."""
    if not callable(kernel) and hasattr(kernel, "load"):
        source: KernelSource = kernel
        if cache_creator is not None:
            fact = f"kernel source `{source.name}` brings its own cache creator, and another one is given"
            raise RegistrationError(Diagnostic("C10E309", fact, help="leave out cache_creator"))
        return source
    boxed = isinstance(kernel, BoxedKernel)
    function: Any = kernel.function if isinstance(kernel, BoxedKernel) else kernel
    return bind_kernel(schema, callable_name(function), function, cache_creator, boxed=boxed)


_NOT_PLAIN = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def _check_is_kernel(schema: FunctionSchema, function: object) -> None:
    if not callable(function):
        raise _refusal(schema, "C10E310", f"a kernel is a callable, and this is {_what(function)}")
    if isinstance(function, FunctionType) and not function.__code__.co_flags & _NOT_PLAIN:
        return
    what = ""
    if _any_called(function, inspect.iscoroutinefunction, inspect.isasyncgenfunction):
        what = "an async function, and kernels are called, not awaited"
    elif _any_called(function, inspect.isgeneratorfunction):
        what = "a generator, and kernels return their results"
    if what:
        raise _refusal(schema, "C10E305", f"`{callable_name(function)}` is {what}")


def _check_is_creator(schema: FunctionSchema, kernel: str, creator: object) -> None:
    """Whatever makes a cache is called without arguments."""
    if not callable(creator):
        raise _refusal(schema, "C10E310", f"the cache creator of `{kernel}` is {_what(creator)}")
    fact, needed = "", needed_by(signature_of(creator))
    if needed:
        fact = f"is called without arguments, but needs {needed}"
    elif inspect.isabstract(creator):
        fact = "is an abstract class, of which there are no objects"
    elif _any_called(creator, inspect.iscoroutinefunction, inspect.isasyncgenfunction):
        fact = "is an async function, and caches are made by a call alone"
    if fact:
        fact = f"cache creator `{callable_name(creator)}` of `{kernel}` {fact}"
        raise _refusal(schema, "C10E305", fact, CREATOR_ADVICE if needed else "name what makes the cache")


def _any_called(function: object, *tests: Callable[[object], bool]) -> bool:
    """Whether *function*, or an object's own ``__call__``, passes one of *tests*."""
    try:
        called = (function, getattr(function, "__call__", None))  # noqa: B004
        return any(test(f) for test in tests for f in called)
    except Exception:  # noqa: BLE001 - the object's own attributes raised; it may be a kernel all the same
        return False


def _refusal(schema: FunctionSchema, code: str, fact: str, help: str = "") -> RegistrationError:
    diagnostic = Diagnostic(code, fact, place=f"registration of a kernel of {schema.name}", help=help)
    return RegistrationError(diagnostic, operator=str(schema.name))


def _what(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__qualname__}"


def signature_of(function: Function) -> inspect.Signature | None:
    """The signature of *function*, or None where Python cannot tell (built-ins, some C types)."""
    for evaluated in (True, False):  # of names for type checkers alone, annotations stay text
        # It asks the callable for `__signature__` and `__wrapped__`, which may be
        # code of the user's that raises anything; a kernel need not have either.
        with contextlib.suppress(Exception):
            return inspect.signature(function, eval_str=evaluated)
    return None


@dataclass(slots=True)
class KernelEntry:
    """One registration in a dispatch table: a key, a kernel, what it takes, and where it was registered.

    A kernel from a manifest is imported when a call first needs it; two
    threads that need it at once bind it twice, harmlessly.

    Args:
        libraries: whose tensors it takes, empty for those of no library; None: all.
        condition: of the calls that it takes; None: all.
        overrides: whether it comes before those that were there.
    """

    dispatch_key: DispatchKey
    source: KernelSource
    site: str
    libraries: frozenset[str] | None = None
    condition: Expression | None = None
    overrides: bool = False

    def takes(self, library: str) -> bool:
        """Whether it takes the tensors of *library*."""
        return self.libraries is None or library in self.libraries

    def competes(self, other: KernelEntry) -> bool:
        """Whether it would take calls of *other*, under the same condition."""
        if self.condition != other.condition:
            return False
        return self.libraries is None or other.libraries is None or bool(self.libraries & other.libraries)

    @property
    def is_bound(self) -> bool:
        """Whether the kernel is loaded and proven to fit."""
        return type(self.source) is BoundKernel

    def bound(self, schema: FunctionSchema) -> BoundKernel:
        """The kernel, bound on first use."""
        source = self.source
        if type(source) is not BoundKernel:  # `isinstance` costs a tenth of a lookup
            source = self.source = source.load(schema)
        return source

    def describe(self) -> str:
        """``CPU[1]: add_cpu (registered at file:line)``, with what it takes."""
        return f"{self.dispatch_key}: {self.source.name} ({self.taken()}registered at {self.site})"

    def taken(self) -> str:
        """What it takes, for messages: ``torch arrays, when d <= 128, ``; empty where that is everything."""
        is_usual = self.libraries == usual_libraries(self.dispatch_key.name)
        libraries = "" if is_usual else " and ".join(sorted((self.libraries or frozenset()) - {""}))
        arrays = f"{libraries} arrays, " if libraries else ""
        return arrays + (f"when {self.condition.text}, " if self.condition else "")


def _made_once(create: CacheCreator) -> CacheCreator:
    """What *create* gives, made when it is first asked for; made is made, also where it is None."""
    made: list[object] = []
    making = threading.RLock()

    def get_cache() -> object:
        if not made:
            with making:  # only threads that share an OpKernel against the advice ever meet here
                if not made:
                    made.append(create())
        return made[0]

    return get_cache


class OpKernel:
    """A kernel, looked up and ready to call, that owns its cache.

    The cache is made at the first call, once, and kept until the `OpKernel`
    goes.  One `OpKernel` serves one thread at a time; look up one each.  It
    goes on working after its kernel or operator is deregistered.  In a loop,
    take its `unboxed` function first; `function` is the registered one itself.

    Args:
        checked: check every call, as a checked dispatcher does.
    """

    __slots__ = ("__weakref__", "_caller", "_calling", "_unboxed", "dispatch_key", "function", "name")

    def __init__(
        self, calling: Calling, dispatch_key: DispatchKey, bound: BoundKernel, checked: bool = False
    ) -> None:
        self._calling = calling
        self.function, self.name = bound.function, bound.name
        create = bound.cache_creator
        # No method of self gives the cache: a cycle would keep it alive after its OpKernel.
        if create is None and not bound.boxed:  # spares the many a call, an eighth of a lookup
            self._caller = bound.function
        else:
            self._caller = bound.caller(calling, _made_once(create) if create else None)
        self._unboxed: Function | None = None
        if checked:
            self._caller = self._unboxed = checked_function(
                calling.schema, calling.domain, bound.name, self._caller, bound.place
            )
        self.dispatch_key = dispatch_key

    @property
    def unboxed(self) -> Function:
        """The same call as a function of the schema's signature: the kernel itself where it has that.

        Otherwise it costs one Python call more than the kernel.  It shares
        the cache with this `OpKernel`, and keeps it alive.
        """
        if self._unboxed is None:
            caller, calling = self._caller, self._calling
            fits = has_schema_signature(calling.schema, caller)
            self._unboxed = caller if fits else calling.generate_direct(caller)
        return self._unboxed

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The kernel's result for the schema's arguments, defaults filled."""
        return (self._unboxed or self.unboxed)(*args, **kwargs)

    def call(self, stack: Stack) -> None:
        """Replace the operator's arguments on top of *stack* by its results."""
        self._calling.call_boxed(self._caller, stack)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} has a cache of its own: look up another one instead of a copy")

    def __repr__(self) -> str:
        return f"<OpKernel {self.name} of {self._calling.schema.name} at {self.dispatch_key}>"
