"""`c10 explain`: why a call gets its kernel, or what an error code means.

Nothing is chosen here a second time: the reasons are those that linking left
beside each variant, and the kernel is what the operator's own table serves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from c10cli.cli.call import with_variants
from c10cli.cli.operator_command import OperatorCall, OperatorGroup
from c10cli.cli.options import command as c10_command
from c10cli.cli.session import Session, stdout_to_stderr
from c10cli.cli.show import fact_lines, variant_dict
from c10cli.describe import describe
from c10cli.errors import CODES, C10Error, DispatchError, InternalError, NoKernelError, did_you_mean
from c10cli.schema import types as schema_types

if TYPE_CHECKING:
    from c10cli.manifest.link import LinkedOperator, Variant

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
    lookup = _look_up(call)
    if session.is_json:
        session.echo_json("c10.explain/1", **_as_dict(lookup))
    else:
        session.echo("\n".join(_lines(lookup)))
    if lookup.error is not None:
        raise lookup.error
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
    """The explanation of *code*."""
    return (_PAGES / f"{code}.md").read_text(encoding="utf-8").rstrip("\n")


@dataclass
class _Lookup:
    """What decides which kernel a call gets.

    Args:
        rule: how the dispatch key is found.
        arguments: what is shown of each; None: none were given.
        source: the argument, or the element of one, that gave *key*; or the option.
        key: None where no tensor was given.
        error: what the call would end with before its kernel runs.
        import_error: why the kernel cannot be imported and bound, if so.
    """

    call: OperatorCall
    rule: str
    arguments: list[dict[str, Any]] | None = None
    source: str = ""
    key: str | None = None
    error: C10Error | None = None
    import_error: C10Error | None = None

    @property
    def linked(self) -> LinkedOperator:
        return self.call.linked

    @property
    def keys(self) -> list[str]:
        """The keys that have variants, that of the call first."""
        return sorted(self.linked.variants, key=lambda key: key != self.key)

    def variants(self, key: str | None) -> tuple[Variant, ...]:
        """The variants of *key*; where one is asked for by name, their reasons are that."""
        found, asked = self.linked.variants.get(key or "", ()), self.call.variant
        if key != self.key or asked is None:
            return found
        passed_over = f"`{asked}` is asked for with --variant"
        return tuple(
            replace(v, taken=True, reason="asked for with --variant")
            if v.kernel.name == asked
            else replace(v, taken=False, reason=v.reason if v.missing else passed_over)
            for v in found
        )

    def serving(self, key: str | None) -> Variant | None:
        return next((variant for variant in self.variants(key) if variant.taken), None)

    def why_not(self, key: str) -> str:
        """Why there is no call with *key*: no such tensors here, or those given have another key."""
        elsewhere = ""
        if self.key not in (None, key):
            asked = self.arguments is None
            elsewhere = f"{self.key} is asked for" if asked else f"{self.source} is on {self.key}"
        return self.linked.device(key).reason or elsewhere


def _look_up(call: OperatorCall) -> _Lookup:
    """Everything that decides the lookup of *call*, or of any call where it has no arguments.

    Raises:
        C10Error: the arguments cannot be bound, or there is no such variant; there is nothing to explain.
    """
    call.variant_for(call.key or "CPU")
    is_plain = schema_types.is_tensor(call.linked.handle.calling().dispatch_argument().type)
    rule = "the first argument of type Tensor"
    if not is_plain:
        rule = "the first tensor of the lists and optionals, since no argument is a plain Tensor"
    lookup = _Lookup(call, rule)
    if call.positional or call.keywords:
        _look_at_arguments(lookup)
    elif call.key or call.variant:
        _look_at_options(lookup, call.key or "CPU")
    else:
        names = call.linked.handle.calling().dispatch_arguments()
        lookup.source = " or ".join(f"`{argument.name}`" for argument in names)
    if isinstance(lookup.error, NoKernelError):
        lookup.error = with_variants(lookup.error, call.linked)
    serving = lookup.serving(lookup.key)
    if serving:
        with stdout_to_stderr():
            try:
                call.linked.bind(serving.kernel)
            except C10Error as error:
                lookup.import_error = error
    lookup.error = lookup.error or lookup.import_error
    return lookup


def _look_at_options(lookup: _Lookup, key: str) -> None:
    from c10cli.arrays.keys import DispatchKey

    lookup.key, lookup.source, lookup.rule = key, lookup.call.key_source, "as no arguments are given"
    table = lookup.linked.handle.table()
    if lookup.call.variant is None and table.serving(DispatchKey(key)) is None:
        lookup.error = table.no_kernel(DispatchKey(key), f"lookup of {lookup.linked.decl.name}")


def _look_at_arguments(lookup: _Lookup) -> None:
    from c10cli.arrays.tensor_types import key_of
    from c10cli.cli.shell_values import bind_values, place_values

    call, handle = lookup.call, lookup.linked.handle
    arguments = bind_values(call)
    try:
        arguments = place_values(call, arguments)
    except DispatchError as error:
        lookup.error = error
    # Where this machine makes no tensors of the key that is asked for, arrays of NumPy stand for them.
    stand_in = call.key if lookup.error else None
    positional = call.linked.decl.schema.positional[: len(call.positional)]
    given = {*(argument.name for argument in positional), *call.keywords}
    lookup.arguments = [
        {**_argument(name, value, stand_in), "default": name not in given}
        for name, value in arguments.items()
    ]
    try:
        tensor = handle.calling().key_tensor((), arguments)
        key = key_of(tensor)
        if key is None:
            raise handle.calling().not_a_tensor(tensor)
        lookup.source, lookup.key = _source(lookup.linked, arguments, tensor), stand_in or key.name
        if call.variant is None and lookup.error is None:
            handle.table().entry_for(tensor)
    except C10Error as error:
        lookup.error = lookup.error or error


def _argument(name: str, value: Any, stand_in: str | None) -> dict[str, Any]:
    """An argument with dtype and shape, or type, and the keys of its tensors; never its contents."""
    from c10cli.arrays.tensor_types import key_of, tensors_of

    tensors = tensors_of(value)
    found = {stand_in or getattr(key_of(tensor), "name", None) for tensor in tensors}
    shown = describe(value)
    if isinstance(value, list | tuple) and tensors:
        shown += f": {', '.join(describe(element) for element in value)}"
    return {"name": name, "value": shown, "keys": sorted(key for key in found if key)}


def _source(linked: LinkedOperator, arguments: dict[str, Any], tensor: Any) -> str:
    """Where in *arguments* the *tensor* that decides is: ``x``, or ``xs[1]``."""
    for argument in linked.handle.calling().dispatch_arguments():
        value = arguments[argument.name]
        if value is tensor:
            return f"`{argument.name}`"
        for index, element in enumerate(value if isinstance(value, list | tuple) else ()):
            if element is tensor:
                return f"`{argument.name}[{index}]`"
    raise InternalError("the tensor that decides is no argument")


def _lines(lookup: _Lookup) -> list[str]:
    decl, key, arguments = lookup.linked.decl, lookup.key, lookup.arguments
    lines = [str(decl.schema), f"  declared at {decl.schema_span}"]
    if arguments is not None:
        width = max(len(a["name"]) for a in arguments)
        lines += ["", "Arguments", *(_argument_line(a, width) for a in arguments)]
    lines += ["", f"Dispatch key: {key or ('that of the tensors given' if arguments is None else 'none')}"]
    lines.append(f"  from {lookup.source}, {lookup.rule}" if lookup.source else f"  from {lookup.rule}")
    if key is None:
        for declared in lookup.keys:
            lines += ["", *_key_lines(lookup, declared)]
        return lines if lookup.keys else [*lines, "", "No kernels"]
    lines += ["", *_kernel_lines(lookup, key)]
    others = [other for other in lookup.keys if other != key]
    if others:
        lines += ["", "Other keys", *(f"  {_other_key(lookup, other)}" for other in others)]
    return lines


def _argument_line(argument: dict[str, Any], width: int) -> str:
    keys = f" on {', '.join(argument['keys'])}" if argument["keys"] else ""
    default = " (default)" if argument["default"] else ""
    return f"  {argument['name']:{width}}  {argument['value']}{keys}{default}"


def _kernel_lines(lookup: _Lookup, key: str) -> list[str]:
    """The kernel of the call with all about it, then the other variants of its key."""
    serving, refused = lookup.serving(key), lookup.import_error
    lines = [f"No kernel serves {key}" if lookup.variants(key) else f"No kernel is declared for {key}"]
    if serving is not None:
        used = (
            f"cannot be used: {refused.diagnostics[0].message}"
            if refused
            else "imported, and fits the schema"
        )
        facts = dict.fromkeys([f"taken: {serving.reason}", *fact_lines(serving.kernel), used])
        lines = [f"Kernel: {serving.kernel.name}  {serving.kernel.entry_point.text}"]
        lines += [f"  {fact}" for fact in facts]
        if lookup.why_not(key):
            lines.append(f"  cannot be called here: {lookup.why_not(key)}")
    others = [variant for variant in lookup.variants(key) if not variant.taken]
    if others:
        title = "Other variants" if serving else "Variants"
        lines += ["", f"{title} for {key}", *(f"  {_variant_line(variant)}" for variant in others)]
    return lines


def _variant_line(variant: Variant) -> str:
    return f"{variant.kernel.name}  {variant.kernel.entry_point.text}: {variant.reason}"


def _key_lines(lookup: _Lookup, key: str) -> list[str]:
    """A key of the table alone, with all of its variants."""
    serving, reason = lookup.serving(key), lookup.why_not(key)
    head = f"{key}  served by {serving.kernel.name if serving else 'none'}"
    head += f"  (no tensors here: {reason})" if reason else ""
    return [head, *(f"  {'*' if v.taken else ' '} {_variant_line(v)}" for v in lookup.variants(key))]


def _other_key(lookup: _Lookup, key: str) -> str:
    serving, reason = lookup.serving(key), lookup.why_not(key)
    if serving:
        return f"{key}: {reason}; `{serving.kernel.name}` would serve it"
    why = "; ".join(f"`{variant.kernel.name}` {variant.reason}" for variant in lookup.variants(key))
    return f"{key}: {reason}, and nothing would serve it: {why}"


def _as_dict(lookup: _Lookup) -> dict[str, object]:
    decl, serving, error = lookup.linked.decl, lookup.serving(lookup.key), lookup.error
    table = []
    for key in lookup.keys:
        serves = lookup.serving(key)
        variants = [variant_dict(variant) for variant in lookup.variants(key)]
        name, reason = serves.kernel.name if serves else None, lookup.why_not(key) or None
        table.append({"key": key, "serves": name, "reason": reason, "variants": variants})
    return {
        "name": str(decl.name),
        "schema": str(decl.schema),
        "arguments": lookup.arguments,
        "key": lookup.key,
        "key_from": lookup.source.replace("`", "") or None,
        "key_rule": lookup.rule,
        "kernel": serving and {**variant_dict(serving), "importable": lookup.import_error is None},
        "table": table,
        "error": error.diagnostics[0].as_dict() if error else None,
    }
