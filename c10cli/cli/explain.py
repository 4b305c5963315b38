"""`c10 explain`: why a call gets its kernel, or what an error code means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from c10cli.cli.call_words import WORDS_AS_THEY_ARE, CallOptions, call_options, read_options, read_words
from c10cli.cli.session import Session, command as c10_command
from c10cli.errors import CODES, did_you_mean

if TYPE_CHECKING:
    from c10cli.cli.lookup import Explanation, KeyRows, Row

_PAGES = Path(__file__).parents[1] / "explanations"
# No operator has a name of digits alone; one called `e204` is found by its whole name.
_CODE = re.compile(r"(?:c10[a-z]?)?\d+|[ew]\d{3}", re.IGNORECASE)


@c10_command("explain", context_settings=dict(WORDS_AS_THEY_ARE), options_metavar="[OPTIONS]")
@call_options
@click.pass_context
def command(
    ctx: click.Context, /, session: Session, op: str, arguments: tuple[str, ...], **options: Any
) -> int:
    """Say which kernel a call of OP with ARGUMENTS gets, and why; or what error code OP means.

    ARGUMENTS are those of `c10 call`; the kernel is imported, and not run.
    Without them, every dispatch key is explained and nothing is imported.
    Exits as the call would before its kernel runs: with 3 where no kernel
    serves it.

    \b
    c10 explain softmax 'randn(4, 8)'
    c10 explain softmax --key CUDA
    c10 explain C10E403
    """
    if _CODE.fullmatch(op):
        read_options(ctx, session, op, arguments)
        _show_page(session, code_of(op))
        return 0
    from c10cli.cli.lookup import explain_words

    words = read_words(ctx, session, op, arguments, options)
    explanation = explain_words(words, CallOptions(**words.options))
    if session.is_json:
        session.echo_json("c10.explain/1", **_as_dict(explanation))
    else:
        session.echo("\n".join(_lines(explanation)))
    if explanation.error is not None:
        raise explanation.error
    return 0


def code_of(text: str) -> str:
    """The code that *text* spells: in lower case, or without the prefix, too.

    Raises:
        click.UsageError: there is no such code.
    """
    digits = text.upper().removeprefix("C10")
    spellings = (f"C10{digits}", f"C10E{digits}", f"C10W{digits}")
    code = next((spelling for spelling in spellings if spelling in CODES), None)
    if code is None:
        hint = did_you_mean(spellings[0] if digits[:1].isalpha() else spellings[1], CODES)
        raise click.UsageError(f"no such code `{text}`{'; ' + hint if hint else ''}")
    return code


def read_page(code: str) -> str:
    """The explanation of *code*."""
    return (_PAGES / f"{code}.md").read_text(encoding="utf-8").rstrip("\n")


def _show_page(session: Session, code: str) -> None:
    if session.is_json:
        session.echo_json("c10.code/1", code=code, title=CODES[code], page=read_page(code))
    else:
        session.echo(read_page(code))


def _lines(explanation: Explanation) -> list[str]:
    decl, choice = explanation.linked.decl, explanation.choice
    lines = [str(decl.schema), f"  declared at {decl.schema_span}"]
    if explanation.arguments is not None:
        lines += ["", "Arguments", *_argument_lines(explanation)]
    none = "that of the tensors given" if explanation.arguments is None else "none"
    lines += ["", f"Dispatch key: {choice.key or none}"]
    lines.append(f"  from {choice.source}, {choice.rule}" if choice.source else f"  from {choice.rule}")
    if choice.key is None:
        for rows in explanation.table:
            lines += ["", *_key_lines(rows)]
        return lines if explanation.table else [*lines, "", "No kernels"]
    lines += ["", *_kernel_lines(explanation)]
    others = [rows for rows in explanation.table if rows.key != choice.key]
    if others:
        lines += ["", "Other keys", *(f"  {_other_key(rows)}" for rows in others)]
    return lines


def _argument_lines(explanation: Explanation) -> list[str]:
    arguments = explanation.arguments or ()
    width = max((len(a.name) for a in arguments), default=0)
    return [
        f"  {a.name:{width}}  {a.value}"
        + (f" on {', '.join(a.keys)}" if a.keys else "")
        + (" (default)" if a.is_default else "")
        for a in arguments
    ]


def _kernel_lines(explanation: Explanation) -> list[str]:
    """The kernel of the call with all about it, then the other candidates of its key."""
    rows, key = explanation.here, explanation.choice.key
    if rows is None:
        return [f"No kernel is declared for {key}"]
    serving = rows.serving
    lines = [f"No kernel serves {key}"] if serving is None else _serving_lines(explanation, serving)
    if serving is not None and rows.reason:
        lines.append(f"  cannot be called here: {rows.reason}")
    others = [row for row in rows.rows if not row.taken]
    if others:
        title = "Candidates" if serving is None else "Other candidates"
        lines += ["", f"{title} for {key}", *(f"  {_candidate(row)}" for row in others)]
    return lines


def _serving_lines(explanation: Explanation, row: Row) -> list[str]:
    kernel, refused = row.candidate.kernel, explanation.import_error
    imported = (
        f"cannot be used: {refused.diagnostics[0].message}" if refused else "imported, and fits the schema"
    )
    facts = [
        f"taken: {row.reason}",
        f"of package `{row.package}`" if row.package else "",
        f"needs {', '.join(kernel.requires)}" if kernel.requires else "",
        f"declared at {kernel.span}",
        f"defined at {row.definition}" if row.definition else "",
        imported,
    ]
    return [f"Kernel: {row.name}  {kernel.entry_point.text}", *(f"  {fact}" for fact in facts if fact)]


def _candidate(row: Row) -> str:
    return f"{row.name}  {row.candidate.kernel.entry_point.text}: {row.reason}"


def _key_lines(rows: KeyRows) -> list[str]:
    """A key of the table alone, with all of its candidates."""
    head = f"{rows.key}  {f'served by {rows.serving.name}' if rows.serving else 'served by none'}"
    head += f"  (no tensors here: {rows.reason})" if rows.reason else ""
    return [head, *(f"  {'*' if row.taken else ' '} {_candidate(row)}" for row in rows.rows)]


def _other_key(rows: KeyRows) -> str:
    if rows.serving:
        return f"{rows.key}: {rows.reason}; `{rows.serving.name}` would serve it"
    why = "; ".join(f"`{row.name}` {row.reason}" for row in rows.rows)
    return f"{rows.key}: {rows.reason}, and nothing would serve it: {why}"


def _as_dict(explanation: Explanation) -> dict[str, object]:
    decl, choice, error = explanation.linked.decl, explanation.choice, explanation.error
    arguments, here = explanation.arguments, explanation.here
    return {
        "name": str(decl.name),
        "schema": str(decl.schema),
        "arguments": None
        if arguments is None
        else [
            {"name": a.name, "value": a.value, "keys": list(a.keys), "default": a.is_default}
            for a in arguments
        ],
        "key": choice.key,
        "key_from": choice.source.replace("`", "") or None,
        "key_rule": choice.rule,
        "kernel": None
        if here is None or here.serving is None
        else {**_row_dict(here.serving), "importable": explanation.import_error is None},
        "table": [
            {
                "key": rows.key,
                "serves": rows.serving.name if rows.serving else None,
                "reason": rows.reason or None,
                "candidates": [_row_dict(row) for row in rows.rows],
            }
            for rows in explanation.table
        ],
        "error": error.diagnostics[0].as_dict() if error else None,
    }


def _row_dict(row: Row) -> dict[str, object]:
    kernel = row.candidate.kernel
    return {
        "name": row.name,
        "kernel": kernel.entry_point.text,
        "taken": row.taken,
        "reason": row.reason,
        "requires": list(kernel.requires),
        "package": row.package or None,
        "file": kernel.span.file,
        "line": kernel.span.line,
        "definition": row.definition or None,
    }
