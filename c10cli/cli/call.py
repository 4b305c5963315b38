"""`c10 call`: one operator, called with arguments from the shell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from c10cli.cli.call_words import (
    WORDS_AS_THEY_ARE,
    CallOptions,
    CallWords,
    bind_words,
    call_options,
    key_of_arguments,
    place_bound,
    read_words,
    with_candidates,
)
from c10cli.cli.session import Session, command as c10_command
from c10cli.cli.streams import stdout_to_stderr
from c10cli.errors import NoKernelError

if TYPE_CHECKING:
    from c10cli.dispatch.kernel import OpKernel
    from c10cli.manifest.link import LinkedOperator
    from c10cli.schema.model import FunctionSchema


@c10_command("call", context_settings=dict(WORDS_AS_THEY_ARE), options_metavar="[OPTIONS]")
@call_options
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the result: .npy, or .npz for several; `-`: an .npy on standard output, and nothing else.",
)
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

    Example: c10 call softmax 'randn(4, 8)' --dim -1 --save y.npy
    """
    words = read_words(ctx, session, op, arguments, options)
    save = words.options.pop("save")
    return _call(session, words, CallOptions(**words.options), save)


def _call(session: Session, words: CallWords, options: CallOptions, save: Path | None) -> int:
    from c10cli.verify.checked import call_checked

    linked = words.linked
    schema = linked.decl.schema
    if save is not None:
        _check_save(session, save, schema)
    arguments = place_bound(linked, options, bind_words(words, options))
    # A kernel that prints must not spoil what the command prints.
    with stdout_to_stderr():
        kernel = _kernel(linked, options, arguments)
        returns = call_checked(schema, kernel.name, kernel, arguments)
    if save is None or str(save) != "-":
        _show(session, linked, kernel.name, returns)
    if save is not None:
        from c10cli.cli.call_output import save_returns

        save_returns(save, schema, returns)
    return 0


def _check_save(session: Session, save: Path, schema: FunctionSchema) -> None:
    """Refuse what cannot be saved while nothing has run yet."""
    from c10cli.cli.call_output import check_savable

    if session.is_json and str(save) == "-":
        raise click.UsageError("--format json leaves no room for the array; name a file for --save")
    check_savable(save, schema)


def _kernel(linked: LinkedOperator, options: CallOptions, arguments: dict[str, Any]) -> OpKernel:
    """The kernel to call: the registered one for the arguments, or the variant asked for."""
    from c10cli.arrays.keys import DispatchKey
    from c10cli.dispatch.kernel import OpKernel

    if options.variant is None:
        try:
            return linked.handle.lookup(**arguments)
        except NoKernelError as error:
            raise with_candidates(error, linked) from error
    key = options.dispatch_key or key_of_arguments(linked, arguments)
    bound = linked.bind(linked.variant(key, options.variant).kernel)
    return OpKernel(linked.handle.calling(), DispatchKey(key), bound)


def _show(session: Session, linked: LinkedOperator, kernel: str, returns: tuple[Any, ...]) -> None:
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
