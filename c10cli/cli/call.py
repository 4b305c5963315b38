"""`c10 call`: one operator, called with arguments from the shell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from c10cli.cli.session import SEED, Session, command as c10_command, complete_operator
from c10cli.cli.streams import stdout_to_stderr
from c10cli.errors import C10Error, Diagnostic, DispatchError, NoKernelError
from c10cli.schema import FunctionSchema


@c10_command(
    "call",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="[OPTIONS]",
)
@click.option("--key", metavar="KEY", help="Place arrays on this dispatch key (default: CPU).")
@click.option("--device", metavar="DEVICE", help="The same, as a device's name: cpu or cuda.")
@click.option("--variant", metavar="NAME", help="Call this variant instead of the registered kernel.")
@click.option("--dtype", default="float32", show_default=True, help="Of arrays made from expressions.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the random numbers.")
@click.option("--save", type=click.Path(path_type=Path), help="Write the result: .npy, or .npz for several.")
@click.argument("op", shell_complete=complete_operator)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]...")
@click.pass_context
def command(
    ctx: click.Context, /, session: Session, op: str, arguments: tuple[str, ...], **options: Any
) -> int:
    """Call operator OP with ARGUMENTS and print what it returns.

    Arguments are bound by the schema: by position, or as --name VALUE.  A
    tensor is an expression (`randn(4, 8)`, `[[1, 2], [3, 4]]`, `zeros(3) + 1`),
    a file (`@x.npy`, `@x.npz:name`) or `-` for an .npy on standard input.

    Options of c10 may also follow OP, unless the operator has an argument of
    that name.
    """
    from c10cli.cli.shell_arguments import split_tail

    linked, words = _operator(session, op, arguments)
    tail = split_tail(linked.decl.schema, words, known_options(ctx))
    if tail.options:
        options |= _options_after(ctx, session, tail.options, op)
    return _call(session, linked, tail, CallOptions(**options))


@dataclass(frozen=True)
class CallOptions:
    """The options of `c10 call`; see its help."""

    key: str | None
    device: str | None
    variant: str | None
    dtype: str
    seed: int
    save: Path | None


def _operator(session: Session, op: str, words: tuple[str, ...]) -> tuple[Any, list[str]]:
    """The operator, and *words* without a `--registry` among them that is ours.

    It is ours unless the operator has an argument of that name; which operator
    is meant may depend on it.
    """
    registry, others = _registry_among(words)
    try:
        linked = session.load().find(op)
        if registry is None or any(a.name == "registry" for a in linked.decl.schema.arguments):
            return linked, list(words)
    except C10Error:
        if registry is None:
            raise
    session.registry = registry
    return session.load().find(op), others


def _registry_among(words: tuple[str, ...]) -> tuple[str | None, list[str]]:
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


def known_options(ctx: click.Context) -> dict[str, bool]:
    """The command's own long options, and whether each is a flag without a value."""
    return {
        name: bool(getattr(parameter, "is_flag", False))
        for parameter in ctx.command.get_params(ctx)
        for name in parameter.opts
        if name.startswith("--")
    }


def _options_after(ctx: click.Context, session: Session, tokens: Sequence[str], op: str) -> dict[str, Any]:
    """Our options that stood after the operator, parsed by click like those before it."""
    after = ctx.command.make_context("call", [*tokens, op], parent=ctx.parent, obj=session)
    given = click.core.ParameterSource.COMMANDLINE
    return {
        name: value
        for name, value in after.params.items()
        if name not in ("op", "arguments") and after.get_parameter_source(name) is given
    }


def _call(session: Session, linked: Any, tail: Any, options: CallOptions) -> int:
    from c10cli.cli.shell_arguments import evaluate_tail
    from c10cli.dispatch.tensor_types import is_tensor
    from c10cli.verify.checked import call_checked
    from c10cli.verify.inputs import place_arguments

    schema: FunctionSchema = linked.decl.schema
    key = _dispatch_key(options)
    positional, keywords = evaluate_tail(schema, tail, options.dtype, options.seed)
    bound = schema.bind(positional, keywords, is_tensor=is_tensor)
    arrays = _arrays(linked, key or "CPU", options.variant)
    arguments = place_arguments(bound, key or "CPU", arrays) if key or arrays else bound
    # A kernel that prints must not spoil what the command prints.
    with stdout_to_stderr():
        name, function = _kernel(linked, options, arguments)
        returns = call_checked(schema, name, function, arguments)
    _show(session, linked, name, returns)
    if options.save:
        from c10cli.cli.call_output import save_returns

        save_returns(options.save, schema, returns)
    return 0


def _dispatch_key(options: CallOptions) -> str | None:
    """The key that --key or --device asks for."""
    from c10cli.dispatch import DispatchKey

    if options.device is None:
        return None if options.key is None else DispatchKey(options.key).name
    names = {"cpu": "CPU", "cuda": "CUDA", "gpu": "CUDA"}
    key = names.get(options.device.partition(":")[0].lower())
    if key is None or (options.key and options.key != key):
        fact = (
            f"device `{options.device}` is none of {', '.join(names)}"
            if key is None
            else "--key and --device differ"
        )
        raise DispatchError(Diagnostic("C10E108", fact, help="give one of them, as --key KEY"))
    return key


def _arrays(linked: Any, key: str, variant: str | None) -> str:
    """The library whose arrays the kernel for *key* takes; empty where that is the usual one."""
    for candidate in linked.candidates.get(key, ()):
        if candidate.taken if variant is None else candidate.kernel.name == variant:
            return str(candidate.kernel.arrays)
    return ""


def _kernel(linked: Any, options: CallOptions, arguments: dict[str, Any]) -> tuple[str, Any]:
    """The kernel to call: the registered one for the arguments, or the variant asked for."""
    from c10cli.dispatch.kernel import OpKernel

    handle = linked.handle
    key = _dispatch_key(options)
    if options.variant is None:
        try:
            kernel = handle.lookup(**arguments)
        except NoKernelError as error:
            raise _with_candidates(error, linked) from error
    else:
        wanted = key or handle_key(linked, arguments)
        candidate = linked.variant(wanted, options.variant)
        bound = linked.bind(candidate.kernel)
        from c10cli.dispatch import DispatchKey

        kernel = OpKernel(handle.calling(), DispatchKey(wanted), bound)
    return kernel.name, kernel


def handle_key(linked: Any, arguments: dict[str, Any]) -> str:
    """The name of the dispatch key that *arguments* give."""
    from c10cli.dispatch.tensor_types import key_of

    tensor = linked.handle.calling().key_tensor((), arguments)
    key = key_of(tensor)
    if key is None:
        raise linked.handle.calling().not_a_tensor(tensor)
    return key.name


def _with_candidates(error: NoKernelError, linked: Any) -> NoKernelError:
    """*error*, with why each declared candidate of the key is not registered."""
    key = error.dispatch_key.name
    notes = [f"`{c.kernel.name}` for {key}: {c.reason}" for c in linked.candidates.get(key, ())]
    return NoKernelError(*(d.with_notes(*notes) for d in error.diagnostics), **error.facts)


def _show(session: Session, linked: Any, kernel: str, returns: tuple[Any, ...]) -> None:
    from c10cli.cli.call_output import as_dict, as_text

    if session.is_json:
        session.echo_json(
            "c10.call/1",
            name=str(linked.decl.name),
            kernel=kernel,
            returns=[
                as_dict(declared.name, value)
                for declared, value in zip(linked.decl.schema.returns, returns, strict=True)
            ],
        )
        return
    for declared, value in zip(linked.decl.schema.returns, returns, strict=True):
        session.echo(as_text(declared.name, value))
