"""`c10 call OP` and `c10 explain OP` as click commands made from the schema of the operator OP.

The operators of the registry are the sub-commands of a group.  Our options may
stand before or after the operator's name; after it, one that has the name of
an argument is the operator's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from c10cli.cli.options import SEED, complete_operator, key_name, value_given
from c10cli.cli.session import Session
from c10cli.describe import printable
from c10cli.errors import ArgumentError, C10Error, Diagnostic, DispatchError, did_you_mean
from c10cli.manifest.link import LinkedOperator, Variant
from c10cli.schema.model import Argument

_DEVICES = {"cpu": "CPU", "cuda": "CUDA", "gpu": "CUDA"}
_ONE_KEY = "give one of them, as --key KEY"


def _key_of_device(device: str) -> str:
    """The dispatch key of a device's name, such as ``cuda:0``."""
    key = _DEVICES.get(device.partition(":")[0].lower())
    if key is None:
        fact = f"device `{device}` is none of {', '.join(_DEVICES)}"
        raise DispatchError(Diagnostic("C10E108", fact, help=_ONE_KEY))
    return key


_CALL_OPTIONS = (
    click.Option(["--key"], type=key_name, metavar="KEY", help="Place arrays on this key (default: CPU)."),
    click.Option(
        ["--device"], type=_key_of_device, metavar="DEVICE", help="The same as a device's name: cpu or cuda."
    ),
    click.Option(["--variant"], metavar="NAME", help="Take this variant instead of the registered kernel."),
    click.Option(["--dtype"], default="float32", show_default=True, help="Of arrays made from expressions."),
    click.Option(["--dims"], metavar="NAME=SIZE,…", help="Make what is not given from the domain: n=4,8."),
    click.Option(["--seed"], type=SEED, default=0, show_default=True, help="Of the random numbers."),
)

# How a value of a type is written in a shell.
_WRITTEN = {
    "Tensor": "such as 'randn(4, 8)', '[[1, 2]]', @x.npy, @x.npz:name, or - for standard input",
    "Tensor[]": "such as '[ones(2), @x.npy]'",
    "int": "such as -1",
    "float": "such as 1e-3",
    "bool": "true or false",
    "str": "a text, without quotes",
    "Scalar": "such as 2 or 0.5",
    "ScalarType": "such as float32",
    "Device": "such as cuda:0",
    "int[]": "such as '[1, -2]'",
    "float[]": "such as '[0.5, 2]'",
}


@dataclass(frozen=True)
class OperatorCall:
    """A call as the words of a command line give it; nothing is evaluated yet.

    Args:
        positional: texts of the arguments given by position.
        keywords: texts of those given as ``--name text``.
        key: the dispatch key to place arrays on; None: that of the arguments, which is CPU.
        key_source: the option that gives *key*.
        variant: the kernel to take instead of the registered one.
        dtype: of arrays made from expressions.
        dims: sizes of the domain's dims, from which the arguments that are not given are made.
    """

    linked: LinkedOperator
    positional: Sequence[str]
    keywords: Mapping[str, str]
    key: str | None = None
    key_source: str = "the default"
    variant: str | None = None
    dtype: str = "float32"
    dims: str | None = None
    seed: int = 0

    def variant_for(self, key: str) -> Variant | None:
        """The variant for *key*: the one asked for, or else the registered one.

        Raises:
            UnknownOperatorError: C10E412, there is none of the name asked for.
        """
        if self.variant is not None:
            return self.linked.variant(key, self.variant)
        return next((v for v in self.linked.variants.get(key, ()) if v.taken), None)


class OperatorGroup(click.Group):
    """A command whose sub-commands are operators; its function gets the `OperatorCall`."""

    def __init__(self, *, callback: Any, params: list[click.Parameter], **settings: Any) -> None:
        settings |= {"params": [*_CALL_OPTIONS, *params], "no_args_is_help": False}
        super().__init__(subcommand_metavar="OP [ARGUMENTS]...", **settings)
        self.run = callback

    def invoke(self, ctx: click.Context) -> Any:
        """Run the operator's command, and call it an operator where there is none."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if error.message == "Missing command.":  # what click calls a sub-command
                raise click.UsageError("Missing argument 'OP'.", ctx) from None
            raise

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The operator's name, its command, and the words behind it."""
        op, *words = args
        session = ctx.ensure_object(Session)
        ctx.default_map = {op: ctx.params}  # what stood before the operator holds where nothing follows it
        try:
            return op, _OperatorCommand(self, _find(session, op, words)), words
        except C10Error:
            if ctx.resilient_parsing:  # a shell's prompt is no place to tell it
                return op, None, words
            session.tell_registry()
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The operators and options that begin so."""
        operators = [CompletionItem(name) for name in complete_operator(ctx, self.params[0], incomplete)]
        return [*operators, *click.Command.shell_complete(self, ctx, incomplete)]


def _find(session: Session, op: str, words: Sequence[str]) -> LinkedOperator:
    """The operator; a `--registry` among *words* is ours unless the operator has such an argument."""
    named = value_given(words, "--registry")
    session.is_quiet = True
    try:
        if named is not None:
            with contextlib.suppress(C10Error):
                linked = session.load(partly=True).find(op)
                if any(argument.name == "registry" for argument in linked.decl.schema.arguments):
                    return linked
            session.registry = named
        return session.load(partly=True).find(op)
    finally:
        session.is_quiet = False


class _OperatorCommand(click.Command):
    """The command of one operator: an option for each argument of its schema, then ours."""

    def __init__(self, group: OperatorGroup, linked: LinkedOperator) -> None:
        schema = linked.decl.schema
        arguments = [_argument_option(argument) for argument in schema.arguments]
        taken = {name for option in arguments for name in option.opts}
        usage = [f"[{a.name}]" if a.has_default else a.name for a in schema.positional]
        metavar = " ".join(usage).upper()
        values = click.Argument(["values"], nargs=-1, type=click.UNPROCESSED, metavar=metavar)
        super().__init__(
            str(schema.name),
            params=[values, *arguments, *(o for o in group.params if taken.isdisjoint(o.opts))],
            help=f"{linked.decl.summary or f'The operator {schema.name.base}.'}\n\n\b\n{schema}",
            epilog="Arguments may be given in their order, or by name.",
            # With unknown options ignored, `-1` is a value.
            context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]},
        )
        self.linked, self.run = linked, group.run

    def get_help(self, ctx: click.Context) -> str:
        return printable(super().get_help(ctx))  # the summary and the defaults are of the registry

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # What is behind a `--` are values, whatever they are.
        behind = len(args) - args.index("--") - 1 if "--" in args else 0
        rest = super().parse_args(ctx, args)
        values = ctx.params["values"]
        unknown = next((v for v in values[: len(values) - behind] if v.startswith("--")), None)
        if unknown and not ctx.resilient_parsing:
            name = unknown.partition("=")[0]
            known = [p.opts[0] for p in self.params if isinstance(p, click.Option)]
            todo = did_you_mean(name, known) or f"see `c10 call {self.name} --help`"
            raise self._refused(f"`{name}` is no argument of `{self.name}` and no option", todo)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        ctx.ensure_object(Session).tell_registry()
        params = {**(ctx.parent.params if ctx.parent else {}), **ctx.params}
        keywords = {}
        for argument in self.linked.decl.schema.arguments:
            texts = params.pop(f"argument_{argument.name}")
            if len(texts) > 1:
                raise self._refused(f"argument `{argument.name}` is given twice", "give it once")
            if texts:
                keywords[argument.name] = texts[0]
        key, device = params.pop("key"), params.pop("device")
        if key and device and key != device:
            raise DispatchError(Diagnostic("C10E108", "--key and --device differ", help=_ONE_KEY))
        source = "--device" if device else "--key" if key else "the default"
        made = {name: params.pop(name) for name in ("variant", "dtype", "seed", "dims")}
        call = OperatorCall(self.linked, params.pop("values"), keywords, device or key, source, **made)
        return ctx.invoke(self.run, call=call, **params)

    def _refused(self, fact: str, todo: str) -> ArgumentError:
        notes = (f"the schema is {self.linked.decl.schema}",)
        return ArgumentError(Diagnostic("C10E404", fact, notes=notes, help=todo), operator=self.name)


def _argument_option(argument: Argument) -> click.Option:
    kind = str(argument.type)
    written = _WRITTEN.get(kind.removesuffix("?"), "")
    if kind.endswith("?"):
        written = f"{written}, or none" if written else "none"
    needed = f"[default: {argument.default_source}]" if argument.has_default else "[required]"
    spellings = dict.fromkeys([f"--{argument.name}", f"--{argument.name.replace('_', '-')}"])
    names = [*spellings, f"argument_{argument.name}"]  # in Python, never that of an option of ours
    help = f"{written}  {needed}".lstrip()
    # Multiple, so that a second one is seen.
    return click.Option(names, type=click.UNPROCESSED, multiple=True, metavar=kind, help=help)
