"""The words of `c10 call` and `c10 explain`: an operator, its arguments, our options among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from c10cli.cli.session import SEED, Session, complete_operator, key_name
from c10cli.errors import C10Error, Diagnostic, DispatchError, NoKernelError

if TYPE_CHECKING:
    from c10cli.cli.shell_arguments import Tail
    from c10cli.manifest.link import LinkedOperator

Function = TypeVar("Function", bound=Callable[..., Any])

# What lets the words after the operator reach us as they are.
WORDS_AS_THEY_ARE = {"ignore_unknown_options": True, "allow_interspersed_args": False}

_DEVICES = {"cpu": "CPU", "cuda": "CUDA", "gpu": "CUDA"}


@dataclass(frozen=True)
class CallOptions:
    """Where the arguments of a call are placed, how they are made, and which kernel is asked for.

    Args:
        key: a dispatch key's name; None: CPU.
        device: the same as a device's name.
        variant: the kernel to take instead of the registered one.
        dtype: of arrays made from expressions.
    """

    key: str | None = None
    device: str | None = None
    variant: str | None = None
    dtype: str = "float32"
    seed: int = 0

    @property
    def dispatch_key(self) -> str | None:
        """The key that --key or --device asks for.

        Raises:
            DispatchError: C10E108, there is no such key or device, or they differ.
        """
        if self.device is None:
            return None if self.key is None else key_name(self.key)
        key = _DEVICES.get(self.device.partition(":")[0].lower())
        if key is None or (self.key and self.key != key):
            fact = (
                f"device `{self.device}` is none of {', '.join(_DEVICES)}"
                if key is None
                else "--key and --device differ"
            )
            raise DispatchError(Diagnostic("C10E108", fact, help="give one of them, as --key KEY"))
        return key


@dataclass(frozen=True)
class CallWords:
    """What the words of a command line say: an operator and the texts of its arguments.

    Args:
        options: our own options, with those that stood after the operator.
    """

    linked: LinkedOperator
    tail: Tail
    options: dict[str, Any]


def call_options(function: Function) -> Function:
    """Add the fields of `CallOptions` as options, and the operator with its arguments."""
    decorators = (
        click.option("--key", metavar="KEY", help="Place arrays on this dispatch key (default: CPU)."),
        click.option("--device", metavar="DEVICE", help="The same, as a device's name: cpu or cuda."),
        click.option("--variant", metavar="NAME", help="Take this variant instead of the registered kernel."),
        click.option(
            "--dtype", default="float32", show_default=True, help="Of arrays made from expressions."
        ),
        click.option("--seed", type=SEED, default=0, show_default=True, help="Of the random numbers."),
        click.argument("op", shell_complete=complete_operator),
        click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]..."),
    )
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def read_words(
    ctx: click.Context, session: Session, op: str, words: Sequence[str], options: dict[str, Any]
) -> CallWords:
    """The operator that *op* names, and *words* split into its arguments and our options.

    Raises:
        ArgumentError: C10E404, C10E410, a word that is neither's.
        UnknownOperatorError, AmbiguousOverloadError: *op* names none, or several.
    """
    from c10cli.cli.shell_arguments import split_tail

    try:
        linked, others = _operator(session, op, words)
        tail = split_tail(linked.decl.schema, others, _known_options(ctx))
        if tail.options:
            options = options | _options_after(ctx, session, tail.options, op)
    finally:  # only now is it known which registry it is and, of a good call, in which format to tell
        session.tell_registry()
    return CallWords(linked, tail, options)


def _operator(session: Session, op: str, words: Sequence[str]) -> tuple[LinkedOperator, list[str]]:
    """The operator, and *words* without a `--registry` among them that is ours.

    It is ours unless the operator has an argument of that name; which operator
    is meant may depend on it.
    """
    registry, others = _registry_among(words)
    try:
        linked = session.load(quietly=True).find(op)
        if registry is None or any(a.name == "registry" for a in linked.decl.schema.arguments):
            return linked, list(words)
    except C10Error:
        if registry is None:
            raise
    session.registry = registry
    return session.load(quietly=True).find(op), others


def _registry_among(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The value of the last `--registry` among *words*, and the other words."""
    registry: str | None = None
    others: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return registry, [*others, word, *rest]
        if word == "--registry" and rest:
            registry = rest.pop(0)
        elif word.startswith("--registry="):
            registry = word.partition("=")[2]
        else:
            others.append(word)
    return registry, others


def _known_options(ctx: click.Context) -> dict[str, bool]:
    """The command's own long options, and whether each is a flag without a value."""
    return {
        name: bool(getattr(parameter, "is_flag", False))
        for parameter in ctx.command.get_params(ctx)
        for name in parameter.opts
        if name.startswith("--")
    }


def read_options(ctx: click.Context, session: Session, op: str, words: Sequence[str]) -> None:
    """Take the shared options among *words*, where *op* has no arguments and so nothing else may follow.

    Raises:
        click.UsageError: there is something else.
    """
    after = ctx.command.make_context(ctx.info_name, [*words, op], parent=ctx.parent, obj=session)
    if after.params["op"] != op:
        raise click.UsageError(f"`{op}` takes no arguments", ctx)


def _options_after(ctx: click.Context, session: Session, tokens: Sequence[str], op: str) -> dict[str, Any]:
    """Our options that stood after the operator, parsed by click like those before it."""
    after = ctx.command.make_context(ctx.info_name, [*tokens, op], parent=ctx.parent, obj=session)
    given = click.core.ParameterSource.COMMANDLINE
    return {
        name: value
        for name, value in after.params.items()
        if name not in ("op", "arguments") and after.get_parameter_source(name) is given
    }


def bind_words(words: CallWords, options: CallOptions) -> dict[str, Any]:
    """The operator's arguments by name, defaults filled; arrays are NumPy's.

    Raises:
        ArgumentError: C10E404, C10E405, C10E410, C10E411.
    """
    from c10cli.arrays.tensor_types import is_tensor
    from c10cli.cli.shell_arguments import evaluate_tail

    schema = words.linked.decl.schema
    positional, keywords = evaluate_tail(schema, words.tail, options.dtype, options.seed)
    return schema.bind(positional, keywords, is_tensor=is_tensor)


def place_bound(linked: LinkedOperator, options: CallOptions, bound: dict[str, Any]) -> dict[str, Any]:
    """*bound* with its arrays where *options* ask for them, in the library that the kernel takes.

    Raises:
        DispatchError: C10E607, this machine can make none.
    """
    from c10cli.verify.inputs import place_arguments

    key = options.dispatch_key
    arrays = _arrays(linked, key or "CPU", options.variant)
    return place_arguments(bound, key or "CPU", arrays) if key or arrays else bound


def _arrays(linked: LinkedOperator, key: str, variant: str | None) -> str:
    """The library whose arrays the kernel for *key* takes; empty where that is the usual one."""
    for candidate in linked.variants.get(key, ()):
        if candidate.taken if variant is None else candidate.kernel.name == variant:
            return str(candidate.kernel.arrays)
    return ""


def key_of_arguments(linked: LinkedOperator, arguments: dict[str, Any]) -> str:
    """The name of the dispatch key that *arguments* give.

    Raises:
        ArgumentError: C10E408, no tensor decides.
    """
    from c10cli.arrays.tensor_types import key_of

    calling = linked.handle.calling()
    tensor = calling.key_tensor((), arguments)
    key = key_of(tensor)
    if key is None:
        raise calling.not_a_tensor(tensor)
    return key.name


def with_candidates(error: NoKernelError, linked: LinkedOperator) -> NoKernelError:
    """*error*, with why each declared candidate of the key is not registered."""
    key = error.dispatch_key.name
    notes = [f"`{c.kernel.name}` for {key}: {c.reason}" for c in linked.variants.get(key, ())]
    return NoKernelError(*(d.with_notes(*notes) for d in error.diagnostics), **error.facts)
