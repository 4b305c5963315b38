"""Why a call gets the kernel it gets: the reasons that `c10 explain` shows, as values.

Nothing is chosen here a second time.  The reasons are those that linking left
beside each candidate, and the kernel is what the operator's own table serves.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.tensor_types import key_of, tensors_of
from c10cli.cli.call_words import CallOptions, CallWords, bind_words, place_bound, with_candidates
from c10cli.cli.session import short_path
from c10cli.cli.streams import stdout_to_stderr
from c10cli.describe import describe
from c10cli.entry_points.definitions import Definition, definition_of
from c10cli.entry_points.parse import EntryPoint
from c10cli.errors import C10Error, DispatchError, InternalError, NoKernelError
from c10cli.manifest.link import LinkedOperator, Variant
from c10cli.schema import types as schema_types
from c10cli.verify.inputs import Arguments

_FIRST_TENSOR = "the first argument of type Tensor"
_FIRST_INSIDE = "the first tensor of the lists and optionals, since no argument is a plain Tensor"


@dataclass(frozen=True, slots=True)
class GivenArgument:
    """One argument of the call.

    Args:
        value: dtype and shape, or type; never contents.
        keys: the dispatch keys of its tensors.
    """

    name: str
    value: str
    keys: tuple[str, ...]
    is_default: bool


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """Where the dispatch key comes from.

    Args:
        source: the argument, or the element of one, that gave it; or the option.
        key: None where no tensor was given.
    """

    source: str
    rule: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate of a key, with the reason why it is taken or not."""

    candidate: Variant
    taken: bool
    reason: str

    @property
    def name(self) -> str:
        """The variant's name."""
        return self.candidate.kernel.name

    @property
    def definition(self) -> str:
        """``file:line`` of the function, from its source; empty where that does not show it."""
        found = definition_of(self.candidate.kernel.entry_point)
        # A module that only hands a name on is not where it is defined.
        if isinstance(found, Definition) and found.kind != "unknown":
            return f"{short_path(found.path)}:{found.line}"
        return ""

    @property
    def package(self) -> str:
        """The installed package that the function is in; empty for a file of the registry."""
        return _package(self.candidate.kernel.entry_point)


def _package(entry_point: EntryPoint) -> str:
    return (entry_point.module or "").partition(".")[0]


@dataclass(frozen=True, slots=True)
class KeyRows:
    """The candidates of one dispatch key.

    Args:
        reason: why the call does not come to this key, or why no tensors of it are here.
    """

    key: str
    reason: str
    rows: tuple[Row, ...]

    @property
    def serving(self) -> Row | None:
        """The candidate that serves the key."""
        return next((row for row in self.rows if row.taken), None)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that decides a lookup.

    Args:
        arguments: None: none were given.
        table: every key that has candidates, that of the call first.
        import_error: why the kernel cannot be imported and bound, if so.
        error: what the call would end with before its kernel runs.
    """

    linked: LinkedOperator
    arguments: tuple[GivenArgument, ...] | None
    choice: KeyChoice
    table: tuple[KeyRows, ...]
    import_error: C10Error | None = None
    error: C10Error | None = None

    @property
    def here(self) -> KeyRows | None:
        """The candidates of the call's key; None where there is no key, or nothing for it."""
        return next((rows for rows in self.table if rows.key == self.choice.key), None)


def explain_words(words: CallWords, options: CallOptions) -> Explanation:
    """The explanation of the call that *words* spell, or of the whole table where they give no argument.

    Raises:
        C10Error: the arguments cannot be bound; there is nothing to explain yet.
    """
    if words.tail.positional or words.tail.keywords:
        return _explain_call(words, options)
    linked = words.linked
    names = " or ".join(f"`{a.name}`" for a in linked.handle.calling().dispatch_arguments())
    key = options.dispatch_key or (None if options.variant is None else "CPU")
    if key is None:
        choice = KeyChoice(names, _rule(linked))
        return Explanation(linked, None, choice, _table(linked, None, "", None))
    source = "--device" if options.device else "--key" if options.key else "the default"
    choice = KeyChoice(source, "as no arguments are given", key)
    error = None
    if options.variant is None and linked.handle.table().serving(DispatchKey(key)) is None:
        error = linked.handle.table().no_kernel(DispatchKey(key), f"lookup of {linked.decl.name}")
    return _explain_kernel(linked, options, None, choice, error)


def _explain_call(words: CallWords, options: CallOptions) -> Explanation:
    linked = words.linked
    asked = options.dispatch_key
    arguments = bind_words(words, options)
    error: C10Error | None = None
    try:
        arguments = place_bound(linked, options, arguments)
    except DispatchError as refused:
        error = refused
    # Where this machine makes no tensors of the key that is asked for, arrays of NumPy stand for them.
    stand_in = asked if error else None
    given = _given_names(words)
    shown = tuple(_given(name, value, name in given, stand_in) for name, value in arguments.items())
    choice = KeyChoice("", _rule(linked), None)
    try:
        choice = _choose(linked, arguments, stand_in)
        if options.variant is None and error is None:
            linked.handle.table().entry_for(linked.handle.calling().key_tensor((), arguments))
    except C10Error as refused:
        error = error or refused
    return _explain_kernel(linked, options, shown, choice, error)


def _given_names(words: CallWords) -> Collection[str]:
    positional = words.linked.decl.schema.positional[: len(words.tail.positional)]
    return {*(argument.name for argument in positional), *words.tail.keywords}


def _given(name: str, value: Any, is_given: bool, stand_in: str | None) -> GivenArgument:
    tensors = tensors_of(value)
    found = {stand_in or getattr(key_of(tensor), "name", None) for tensor in tensors}
    shown = describe(value)
    if isinstance(value, list | tuple) and tensors:
        shown += f": {', '.join(describe(element) for element in value)}"
    return GivenArgument(name, shown, tuple(sorted(key for key in found if key)), not is_given)


def _rule(linked: LinkedOperator) -> str:
    plain = schema_types.is_tensor(linked.handle.calling().dispatch_argument().type)
    return _FIRST_TENSOR if plain else _FIRST_INSIDE


def _choose(linked: LinkedOperator, arguments: Arguments, stand_in: str | None) -> KeyChoice:
    """The key of the call; *stand_in* is that of tensors that cannot be made here."""
    calling = linked.handle.calling()
    tensor = calling.key_tensor((), arguments)
    key = key_of(tensor)
    if key is None:
        raise calling.not_a_tensor(tensor)
    return KeyChoice(_source(linked, arguments, tensor), _rule(linked), stand_in or key.name)


def _source(linked: LinkedOperator, arguments: Arguments, tensor: Any) -> str:
    """Where in *arguments* the *tensor* that decides is: ``x``, or ``xs[1]``."""
    for argument in linked.handle.calling().dispatch_arguments():
        value = arguments[argument.name]
        if value is tensor:
            return f"`{argument.name}`"
        for index, element in enumerate(value if isinstance(value, list | tuple) else ()):
            if element is tensor:
                return f"`{argument.name}[{index}]`"
    raise InternalError("the tensor that decides is no argument")


def _explain_kernel(
    linked: LinkedOperator,
    options: CallOptions,
    arguments: tuple[GivenArgument, ...] | None,
    choice: KeyChoice,
    error: C10Error | None,
) -> Explanation:
    """The explanation once the key is known: which candidate of it, and whether it can be imported.

    Raises:
        UnknownOperatorError: C10E412, there is no such variant.
    """
    if isinstance(error, NoKernelError):
        error = with_candidates(error, linked)
    variant = options.variant
    if variant is not None and choice.key is not None:
        linked.variant(choice.key, variant)
    elsewhere = (
        f"{choice.source} is on {choice.key}" if arguments is not None else f"{choice.key} is asked for"
    )
    table = _table(linked, choice.key, elsewhere if choice.key else "", variant)
    explained = Explanation(linked, arguments, choice, table, error=error)
    serving = explained.here and explained.here.serving
    if not serving:
        return explained
    import_error = _import_error(linked, serving)
    return replace(explained, import_error=import_error, error=error or import_error)


def _import_error(linked: LinkedOperator, row: Row) -> C10Error | None:
    """What importing and binding the kernel ends with."""
    with stdout_to_stderr():
        try:
            linked.bind(row.candidate.kernel)
        except C10Error as error:
            return error
    return None


def _table(
    linked: LinkedOperator, chosen: str | None, elsewhere: str, variant: str | None
) -> tuple[KeyRows, ...]:
    """The candidates of every key, those of *chosen* first.

    Args:
        elsewhere: why the call does not come to another key.
        variant: the candidate of *chosen* that was asked for by name.
    """
    keys = sorted(linked.variants, key=lambda key: key != chosen)
    return tuple(
        KeyRows(
            key,
            linked.device(key).reason or ("" if key == chosen else elsewhere),
            _rows(linked.variants[key], variant if key == chosen else None),
        )
        for key in keys
    )


def _rows(candidates: tuple[Variant, ...], variant: str | None) -> tuple[Row, ...]:
    if variant is None:
        return tuple(Row(c, c.taken, c.reason) for c in candidates)
    return tuple(
        Row(c, True, "asked for with --variant")
        if c.kernel.name == variant
        else Row(c, False, c.reason if c.missing else f"`{variant}` is asked for with --variant")
        for c in candidates
    )
