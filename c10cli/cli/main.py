"""The group `c10` and the one place that turns errors into exit codes.

Sub-commands are imported when they run: `c10 --help` imports click alone.
"""

from __future__ import annotations

import gc
import importlib
import io
import keyword
import sys
import warnings
from collections.abc import Sequence

import click

from c10cli import __version__
from c10cli.cli.options import shared_options, value_given
from c10cli.cli.session import Session, prepare_streams, silence
from c10cli.errors import C10Error, Diagnostic, DispatchError, InternalError, did_you_mean

# Exit codes.
DONE, FINDINGS, WRONG_USE, COULD_NOT, NOTHING_DONE, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130

_COMMANDS = {
    "list": "Operators, and the dispatch keys that have a kernel.",
    "show": "One operator: schema, kernels with the reason for each choice, cases.",
    "call": "Call an operator with arguments from the shell.",
    "explain": "Why a call gets its kernel, or what an error code means.",
    "validate": "Check a registry: the manifest, every kernel, every result.",
    "bench": "Measure the dispatcher and every kernel on the declared cases.",
    "import": "Write a manifest of the operators of torch or of a file.",
    "export": "Write a module that registers the operators with torch.",
    "diff": "What a change of schemas does to callers; exits with 1 where it breaks them.",
}


class _LazyGroup(click.Group):
    """A group whose commands live in `c10cli.cli.<name>`, imported when needed.

    A name that Python keeps for itself has an underscore more there: `import_`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            if ctx.resilient_parsing:
                return None
            hint = did_you_mean(cmd_name, _COMMANDS)
            raise click.UsageError(f"no such command `{cmd_name}`{'; ' + hint if hint else ''}", ctx)
        module = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command: click.Command = importlib.import_module(f"c10cli.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # click would import every command for its one line of help.
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _explain_code(ctx: click.Context, _parameter: click.Parameter, code: str | None) -> None:
    """The callback of --explain: print the page of *code* and end."""
    if code is None or ctx.resilient_parsing:
        return
    from c10cli.cli.explain import code_of, read_page

    click.echo(read_page(code_of(code)))
    ctx.exit(DONE)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="c10")
@click.option(
    "--explain",
    metavar="CODE",
    is_eager=True,
    expose_value=False,
    callback=_explain_code,
    help="Say what an error code means, and exit.",
)
@shared_options
def group() -> None:
    """A registry of operators and kernels: see it, call it, check it, measure it.

    The registry is the manifest given with --registry, or else C10_REGISTRY,
    or registry.yaml in this folder or above it, or the one that c10cli ships.

    Exit codes: 0 done, 1 findings, 2 wrong use, 3 could not, 4 nothing to do,
    70 a bug in c10cli, 130 interrupted.  With --format json a command that
    ends with an error and has no result writes {"format": "c10.error/1"}.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run `c10` with *argv* and exit with its code."""
    prepare_streams()
    # Of what c10cli itself does, a user learns by its messages.
    warnings.filterwarnings("ignore", module=r"c10cli\b")
    # A command reads much and keeps it: the collector would look at it often, and find nothing.
    gc.set_threshold(100_000, 50, 50)
    code = run(argv)
    # The interpreter's last collection would walk every value of a large manifest.  Built with
    # nanobind, these tell at the end of each value of theirs that was not collected.
    if not {"jaxlib", "triton"} & sys.modules.keys():
        gc.freeze()
    sys.exit(code)


def run(argv: Sequence[str] | None = None) -> int:
    """The exit code of `c10` with *argv*; errors are printed on standard error."""
    session = Session()
    code = _run(argv, session)
    if code != DONE:
        # click may have stopped before that word
        if session.format == "text":
            session.format = value_given(sys.argv[1:] if argv is None else argv, "--format") or "text"
        session.end_with_error()
    session.tell_left_out()
    session.name_page()
    return code


def _run(argv: Sequence[str] | None, session: Session) -> int:
    stdout = sys.stdout
    try:
        code = group.main(args=argv, prog_name="c10", standalone_mode=False, obj=session)
        return code if isinstance(code, int) else DONE
    except SystemExit:
        if sys.stdout is stdout:
            raise
        silence(stdout)  # click put another in its place: the reader of its help has left
        return DONE
    except click.ClickException as error:
        told = io.StringIO()
        error.show(told)
        session.tell(told.getvalue().removesuffix("\n"))
        session.usage = error.format_message()
        return WRONG_USE
    except (click.Abort, KeyboardInterrupt):
        session.tell("interrupted")
        return INTERRUPTED
    except C10Error as error:
        session.show_diagnostics(error.diagnostics)
        return exit_code_of(error)
    except OSError as error:
        silence(sys.stdout)  # what it could not take would be tried again at the end
        where = f"`{error.filename}` cannot be read or written" if error.filename else "output failed"
        session.show_diagnostics([Diagnostic("C10E701", f"{where}: {error.strerror or error}")])
        return COULD_NOT
    except InternalError as error:
        todo = "this is a bug in c10cli; report it with the command"
        session.show_diagnostics([Diagnostic("C10E901", str(error), help=todo)])
        return BUG
    except Exception as error:  # noqa: BLE001 - the last stop: a bug is told, with its traceback
        import traceback

        session.tell(traceback.format_exc().removesuffix("\n"))
        session.show_diagnostics([Diagnostic("C10E901", f"a bug in c10cli: {type(error).__name__}")])
        return BUG


# By how an error's code begins; the first that fits.
_EXIT_CODES = {
    COULD_NOT: ("C10E101", "C10E304", "C10E403", "C10E411", "C10E413", "C10E603", "C10E607", "C10E7"),
    NOTHING_DONE: ("C10E601",),
    WRONG_USE: ("C10E4", "C10E604"),
}


def exit_code_of(error: C10Error) -> int:
    """The exit code that an error ends a command with."""
    if error.facts.get("refuses_arguments"):
        return WRONG_USE
    usual = WRONG_USE if isinstance(error, DispatchError) else FINDINGS
    return next((code for code, begins in _EXIT_CODES.items() if error.code.startswith(begins)), usual)
