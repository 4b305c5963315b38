"""`c10 explain`: why a call gets its kernel, or what an error code means.

Nothing is chosen here a second time: the reasons are those that linking left
beside each variant, and the kernel is what the operator's own table serves.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import library_of
from c10cli.arrays.tensor_types import key_of, tensors_of
from c10cli.cli.call import with_variants
from c10cli.cli.operator_command import OperatorCall, OperatorGroup
from c10cli.cli.options import command as c10_command
from c10cli.cli.session import Session, stdout_to_stderr
from c10cli.cli.show import fact_lines, variant_dict
from c10cli.describe import describe
from c10cli.errors import CODES, C10Error, DispatchError, InternalError, NoKernelError, Span, did_you_mean
from c10cli.manifest.link import LinkedOperator, Variant
from c10cli.schema import types as schema_types

_PAGES = Path(__file__).parents[1] / "explanations"
# No operator has a name of digits alone; one called `e204` is found by its whole name.
_CODE = re.compile(r"(?:c10[a-z]?)?\d+|[ew]\d{3}", re.IGNORECASE)


class _OperatorsAndCodes(OperatorGroup):
    """The operators as sub-commands, and the error codes."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if _CODE.fullmatch(args[0]):
            return args[0], _show_page, args[1:]
        return super().resolve_command(ctx, args)


@c10_command("explain", cls=_OperatorsAndCodes)
def command(session: Session, call: OperatorCall) -> int:
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
    shown, error = _explain(call)
    if session.is_json:
        source = (shown["key_from"] or "").replace("`", "")
        session.echo_json("c10.explain/1", **{**shown, "key_from": source or None})
    else:
        session.echo("\n".join(_lines(shown, call.linked.decl.schema_span)))
    if error is not None:
        raise error
    return 0


@c10_command("code")
def _show_page(session: Session) -> None:
    """The page of an error code."""
    code = code_of(str(click.get_current_context().info_name))
    if session.is_json:
        session.echo_json("c10.code/1", code=code, title=CODES[code], page=read_page(code))
    else:
        session.echo(read_page(code))


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
    """The explanation of *code*, under its title."""
    text = (_PAGES / f"{code}.md").read_text(encoding="utf-8").rstrip("\n")
    return f"# {code}: {CODES[code]}\n\n{text}"


def _explain(call: OperatorCall) -> tuple[dict[str, Any], C10Error | None]:
    """What decides which kernel *call* gets, as JSON-ready data; what it would end with before that runs."""
    linked, calling, table = call.linked, call.linked.handle.calling, call.linked.handle.table()
    call.variant_for(call.key or "CPU")  # refused where there is none: then there is nothing to explain
    rule = "the first argument of type Tensor"
    if not schema_types.is_tensor(calling.dispatch_arguments()[0].type):
        rule = "the first tensor of the lists and optionals, since no argument is a plain Tensor"
    key, source, error = call.key or ("CPU" if call.variant else None), call.key_source, None
    arguments, elsewhere = None, f"{key} is asked for" if key else ""
    left_by: dict[str, str] = {}
    if call.positional or call.keywords or call.dims is not None:
        arguments, source, key, error, left_by = _explain_arguments(call)
        elsewhere = f"{source} is on {key}" if key else ""
    elif key is None:
        source = " or ".join(f"`{argument.name}`" for argument in calling.dispatch_arguments())
    else:
        rule = "as no arguments are given"
        if call.variant is None and table.serving(DispatchKey(key)) is None:
            error = table.no_kernel(DispatchKey(key), f"lookup of {linked.decl.name}")
    keys = sorted(linked.variants, key=lambda other: other != key)
    entries = [_explain_key(call, other, other == key, elsewhere, left_by) for other in keys]
    variants = entries[0]["variants"] if entries and entries[0]["key"] == key else ()
    kernel = next((variant for variant in variants if variant["taken"]), None)
    if kernel:
        refused = _import_error(linked.variant(keys[0], kernel["name"]), linked)
        fault = refused.diagnostics[0].message if refused else None
        kernel = {**kernel, "fault": fault, "importable": refused is None}
        error = error or refused
    if isinstance(error, NoKernelError):
        error = with_variants(error, linked)
    return {
        "name": str(linked.decl.name),
        "schema": str(linked.decl.schema),
        "arguments": arguments,
        "key": key,
        "key_from": source or None,
        "key_rule": rule,
        "kernel": kernel,
        "table": entries,
        "error": error.diagnostics[0].as_dict() if error else None,
    }, error


def _explain_arguments(
    call: OperatorCall,
) -> tuple[list[dict[str, Any]], str, str | None, C10Error | None, dict[str, str]]:
    """The arguments; the one, or the element of one, that gives the dispatch key; that; what is wrong.

    And why each variant of the key that is here does not take them, by its name.
    """
    from c10cli.cli.shell_values import bind_values, place_values

    handle, source, name, refused_by = call.linked.handle, "", None, {}
    error: C10Error | None = None
    arguments = bind_values(call)
    try:
        arguments = place_values(call, arguments)
    except DispatchError as refused:
        error = refused
    # Where this machine makes no tensors of the key that is asked for, arrays of NumPy stand for them.
    stand_in = call.key if error else None
    positional = call.linked.decl.schema.positional[: len(call.positional)]
    given = {*(argument.name for argument in positional), *call.keywords}
    shown = [
        {**_explain_argument(name, value, stand_in), "default": name not in given and call.dims is None}
        for name, value in arguments.items()
    ]
    try:
        tensor = handle.calling.key_tensor((), arguments)
        key = key_of(tensor)
        if key is None:
            raise handle.calling.not_a_tensor(tensor)
        source, name = _source(call.linked, arguments, tensor), stand_in or key.name
        refused_by = _refusals(call.linked, name, None if error else library_of(tensor), arguments)
        if call.variant is None and error is None:
            handle.table().entry_for(tensor, lambda: [*arguments.values()])
    except C10Error as refused:
        error = error or refused
    return shown, source, name, error, refused_by


def _refusals(
    linked: LinkedOperator, key: str, library: str | None, arguments: dict[str, Any]
) -> dict[str, str]:
    """Why each registered variant of *key* does not take *arguments*, those of *library*, by its name."""
    found = {}
    for variant in linked.variants.get(key, ()):
        kernel = variant.kernel
        is_foreign = library is not None and kernel.libraries is not None and library not in kernel.libraries
        why = f"it takes no {library or 'such'} arrays" if is_foreign else linked.why_not(kernel, arguments)
        if variant.taken and why:
            found[kernel.name] = why
    return found


def _explain_argument(name: str, value: Any, stand_in: str | None) -> dict[str, Any]:
    """An argument with dtype and shape, or type, and the keys of its tensors; never its contents."""
    shown, tensors = describe(value), tensors_of(value)
    found = {stand_in or getattr(key_of(tensor), "name", None) for tensor in tensors}
    if isinstance(value, list | tuple) and tensors:
        shown += f": {', '.join(describe(element) for element in value)}"
    return {"name": name, "value": shown, "keys": sorted(key for key in found if key)}


def _source(linked: LinkedOperator, arguments: dict[str, Any], tensor: Any) -> str:
    """Where in *arguments* the *tensor* that decides is: ``x``, or ``xs[1]``."""
    for argument in linked.handle.calling.dispatch_arguments():
        value = arguments[argument.name]
        if value is tensor:
            return f"`{argument.name}`"
        for index, element in enumerate(value if isinstance(value, list | tuple) else ()):
            if element is tensor:
                return f"`{argument.name}[{index}]`"
    raise InternalError("the tensor that decides is no argument")


def _explain_key(
    call: OperatorCall, key: str, is_chosen: bool, elsewhere: str, refused: dict[str, str]
) -> dict[str, Any]:
    """The variants of *key* with their reasons, and why the call does not come to them.

    Args:
        refused: why variants of the chosen key do not take the arguments.
    """
    variants = [variant_dict(variant) for variant in call.linked.variants[key]]
    for variant in variants if is_chosen and not call.variant else ():
        if variant["name"] in refused:
            variant |= {"taken": False, "reason": refused[variant["name"]]}
    for variant in variants if is_chosen and call.variant else ():
        variant["taken"] = variant["name"] == call.variant
        if variant["taken"]:
            variant["reason"] = "asked for with --variant"
        elif not call.linked.variant(key, variant["name"]).missing:
            variant["reason"] = f"`{call.variant}` is asked for with --variant"
    serves = next((variant["name"] for variant in variants if variant["taken"]), None)
    reason = call.linked.device(key).reason or (None if is_chosen else elsewhere or None)
    return {"key": key, "serves": serves, "reason": reason, "variants": variants}


def _import_error(variant: Variant, linked: LinkedOperator) -> C10Error | None:
    with stdout_to_stderr():
        try:
            linked.bind(variant.kernel)
        except C10Error as error:
            return error
    return None


def _lines(shown: dict[str, Any], declared: Span) -> list[str]:
    key, arguments, table = shown["key"], shown["arguments"] or (), shown["table"]
    lines = [shown["schema"], f"  declared at {declared}"]
    if arguments:
        width = max(len(argument["name"]) for argument in arguments)
        lines += ["", "Arguments"]
        for argument in arguments:
            keys = f" on {', '.join(argument['keys'])}" if argument["keys"] else ""
            default = " (default)" if argument["default"] else ""
            lines.append(f"  {argument['name']:{width}}  {argument['value']}{keys}{default}")
    lines += ["", f"Dispatch key: {key or ('none' if arguments else 'that of the tensors given')}"]
    lines.append(f"  from {', '.join(text for text in (shown['key_from'], shown['key_rule']) if text)}")
    if key is None:
        lines += ["", "No kernels"] if not table else []
        return lines + [line for entry in table for line in ("", *_key_lines(entry))]
    lines += ["", *_kernel_lines(shown)]
    others = [entry for entry in table if entry["key"] != key]
    return lines + (["", "Other keys", *(f"  {_other_key(entry)}" for entry in others)] if others else [])


def _kernel_lines(shown: dict[str, Any]) -> list[str]:
    """The kernel of the call with all about it, then the other variants of its key."""
    key, kernel = shown["key"], shown["kernel"]
    entry = next((entry for entry in shown["table"] if entry["key"] == key), None)
    if entry is None:
        return [f"No kernel is declared for {key}"]
    lines = [f"No kernel serves {key}"]
    if kernel:
        lines = [f"Kernel: {kernel['name']}  {kernel['kernel']}", f"  taken: {kernel['reason']}"]
        lines += [f"  {fact}" for fact in fact_lines(kernel)]
        lines += ["  imported, and fits the schema"] if kernel["importable"] else []
        lines += [f"  cannot be called here: {entry['reason']}"] if entry["reason"] else []
    others = [variant for variant in entry["variants"] if not variant["taken"]]
    title = f"{'Other variants' if kernel else 'Variants'} for {key}"
    return lines + (["", title, *(f"  {_variant_line(variant)}" for variant in others)] if others else [])


def _variant_line(variant: dict[str, Any]) -> str:
    return f"{variant['name']}  {variant['kernel']}: {variant['reason']}"


def _key_lines(entry: dict[str, Any]) -> list[str]:
    """A key of the table alone, with all of its variants."""
    reason = f"  (no tensors here: {entry['reason']})" if entry["reason"] else ""
    head = f"{entry['key']}  served by {entry['serves'] or 'none'}{reason}"
    return [head, *(f"  {'*' if v['taken'] else ' '} {_variant_line(v)}" for v in entry["variants"])]


def _other_key(entry: dict[str, Any]) -> str:
    if entry["serves"]:
        return f"{entry['key']}: {entry['reason']}; `{entry['serves']}` would serve it"
    why = "; ".join(f"`{variant['name']}` {variant['reason']}" for variant in entry["variants"])
    return f"{entry['key']}: {entry['reason']}, and nothing would serve it: {why}"
