"""`c10 call`: one operator, called from the shell; what it returned as text, as JSON, as a file."""

from __future__ import annotations

import io
import math
import sys
import traceback
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import click

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import library_of
from c10cli.arrays.placement import to_numpy
from c10cli.arrays.tensor_types import is_tensor, key_of
from c10cli.cli.operator_command import OperatorCall, OperatorGroup
from c10cli.cli.options import FILE, command as c10_command, memory_option
from c10cli.cli.session import Session, stdout_to_stderr, written
from c10cli.describe import describe, dtype_name
from c10cli.dispatch.kernel import OpKernel
from c10cli.errors import C10Error, Diagnostic, KernelError, NoKernelError, ReportError, counted
from c10cli.files import is_stream, write_atomic
from c10cli.jobs.fork import run_copy
from c10cli.manifest.link import LinkedOperator
from c10cli.schema import types as schema_types
from c10cli.schema.model import Argument, FunctionSchema

STANDARD_OUTPUT = Path("-")

_JSON_ELEMENTS = 1000


@c10_command("call", cls=OperatorGroup)
@click.option(
    "--save", type=FILE, metavar="FILE", help="Write the result: .npy, .npz for several, `-` to stdout."
)
@click.option("--traceback", "traced", is_flag=True, help="Show the traceback of what the kernel raised.")
@memory_option
@click.option("--in-process", is_flag=True, help="Call it in this process, which a debugger can look into.")
def command(
    session: Session,
    call: OperatorCall,
    save: Path | None,
    traced: bool,
    memory_bytes: int | None,
    in_process: bool,
) -> int:
    """Call operator OP with ARGUMENTS and print what it returns.

    Arguments are bound by the schema: by position, or as --name VALUE; see
    `c10 call OP --help`.  A tensor is an expression (`randn(4, 8)`,
    `[[1, 2], [3, 4]]`, `zeros(3) + 1`), a file (`@x.npy`, `@x.npz:name`) or
    `-` for an .npy on standard input.

    Options of c10 may also follow OP, unless the operator has an argument of
    that name.  On Linux the kernel runs in a process of its own, so that one
    that crashes is told as that.

    Example: c10 call softmax 'randn(4, 8)' --dim -1 --save y.npy
    """
    from c10cli.cli.shell_values import bind_values

    schema = call.linked.decl.schema
    if save is not None:
        if session.is_json and save == STANDARD_OUTPUT:
            raise click.UsageError("--format json leaves no room for the array; name a file for --save")
        check_savable(save, schema)
    do = partial(_outcome, call, bind_values(call), save, as_json=session.is_json)
    try:
        outcome = do() if in_process or _runs_threads() else _apart(session, call, do, memory_bytes)
    except C10Error as error:
        if traced and "traceback" in error.facts:
            session.tell(error.facts["traceback"])
        raise
    if save is not None:  # first: where nothing can be printed, this is not lost
        write_saved(save, outcome.saved)
    if session.is_json:
        name, returns = str(schema.name), outcome.returns
        session.echo_json("c10.call/1", name=name, kernel=outcome.kernel, returns=returns)
    elif save != STANDARD_OUTPUT:
        for returned in outcome.returns:
            session.echo(returned)
    return 0


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a call gave, as plain data: its returns as text or for JSON, and as the bytes of a file."""

    kernel: str
    returns: list[Any]
    saved: bytes


def _outcome(call: OperatorCall, arguments: dict[str, Any], save: Path | None, *, as_json: bool) -> _Outcome:
    """Call the kernel; an error has the traceback of its cause with it."""
    from c10cli.cli.shell_values import place_values
    from c10cli.verify.kernel_call import call_checked

    schema, show = call.linked.decl.schema, as_dict if as_json else as_text
    try:
        placed = place_values(call, arguments)
        # A kernel that prints must not spoil what the command prints.
        with stdout_to_stderr():
            kernel = _kernel(call, placed)
            returns = call_checked(schema, kernel.name, kernel, placed, call.linked.decl.domain)
    except C10Error as error:
        error.facts["traceback"] = _traceback_of(error)
        raise
    results = [*zip(schema.returns, returns, strict=True)]
    results += [(a, placed[a.name]) for a in _written(schema) if placed[a.name] is not None]
    shown = [show(declared.name, value) for declared, value in results]
    return _Outcome(kernel.name, shown, saved_bytes(save, results) if save else b"")


def _written(schema: FunctionSchema) -> list[Argument]:
    """The arguments that are written and that no return is: what else a call gives."""
    returned = {name for declared in schema.returns if declared.alias for name in declared.alias.sets}
    return [a for a in schema.arguments if a.alias and a.is_mutable and not a.alias.sets & returned]


def _traceback_of(error: BaseException) -> str:
    """The traceback of what caused *error*, without the frames of ours that lead to the user's."""
    while isinstance(error, C10Error) and error.__cause__ is not None:
        error = error.__cause__
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_globals.get("__name__", "").startswith(
        ("c10cli.", "importlib")
    ):
        entry = entry.tb_next
    return "".join(traceback.format_exception(type(error), error, entry)).removesuffix("\n")


def _runs_threads() -> bool:
    """Whether this process may run a library's threads, which a fork would lose; a command's does not."""
    return not {"torch", "jax", "cupy", "numba"}.isdisjoint(sys.modules)


def _apart(
    session: Session, call: OperatorCall, do: Callable[[], _Outcome], memory_bytes: int | None
) -> _Outcome:
    """What *do* gives in a process of its own.

    Raises:
        KernelError: C10E501, that process ended instead.
    """
    variant = call.variant_for(call.key or "CPU")
    who = f"kernel `{variant.kernel.name}` of" if variant else "a kernel of"
    who = f"{who} `{call.linked.decl.name}`"
    answer = run_copy(do, memory_bytes=memory_bytes, hear=partial(session.tell_printed, who, most=None))
    if answer.left:
        session.tell(f"{who} left running, and ended now: {', '.join(answer.left)}")
    if answer.result is None:
        todo = "run it with --in-process, under a debugger"
        raise KernelError(Diagnostic("C10E501", f"{who} ended its process: {answer.reason}", help=todo))
    outcome: _Outcome = answer.result
    return outcome


def _kernel(call: OperatorCall, arguments: dict[str, Any]) -> OpKernel:
    """The kernel to call: the registered one for the arguments, or the variant asked for."""
    linked, key = call.linked, call.key or "CPU"
    linked.handle.calling.key_tensor((), arguments)  # refused where there is none, with a variant, too
    if call.variant is None:
        try:
            return linked.handle.lookup(**arguments)
        except NoKernelError as error:
            raise with_variants(error, linked) from error
    kernel = linked.variant(key, call.variant).kernel
    linked.check_takes(kernel, arguments)
    bound = linked.bind(kernel)
    return OpKernel(linked.handle.calling, DispatchKey(key), bound)


def with_variants(error: NoKernelError, linked: LinkedOperator) -> NoKernelError:
    """*error*, with why declared variants of the key are not registered."""
    key = error.dispatch_key.name
    notes = [f"`{v.kernel.name}` for {key}: {v.reason}" for v in linked.variants.get(key, ()) if not v.taken]
    return NoKernelError(*(d.with_notes(*notes) for d in error.diagnostics), **error.facts)


def as_text(name: str, value: Any) -> str:
    """One return: its name, dtype and shape, and a short view."""
    from c10cli.arrays.compare import view_of

    prefix = f"{name}: " if name else ""
    if is_tensor(value):
        return f"{prefix}{view_of(to_numpy(value))}"
    if _holds_tensors(value):
        return "\n".join(as_text(f"{name}[{i}]", element) for i, element in enumerate(value))
    return f"{prefix}{_python(value)!r}"


def as_dict(name: str, value: Any) -> dict[str, object]:
    """One return as JSON-ready data; elements of large arrays are left out.

    nan and infinities become the strings ``nan``, ``inf`` and ``-inf``, which
    JSON has no numbers for.
    """
    if _holds_tensors(value):
        return {"name": name, "value": [as_dict("", element) for element in value]}
    if not is_tensor(value):
        return {"name": name, "value": _plain(value)}
    array, key = to_numpy(value), key_of(value)
    data = {"data": _plain(array.tolist())} if array.size <= _JSON_ELEMENTS else {}
    shape, key_name = list(array.shape), key.name if key else None
    return {"name": name, "dtype": array.dtype.name, "shape": shape, "key": key_name, **data}


def _holds_tensors(value: Any) -> bool:
    return isinstance(value, list | tuple) and any(is_tensor(element) for element in value)


def _python(value: Any) -> Any:
    """*value* with Python's own numbers in place of NumPy's."""
    if isinstance(value, list | tuple):
        return [_python(element) for element in value]
    return value.item() if hasattr(value, "item") else value


def _plain(value: Any) -> object:
    value = _python(value)
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def check_savable(path: Path, schema: FunctionSchema) -> None:
    """Refuse, before anything runs, what `save_returns` would surely refuse.

    Raises:
        click.UsageError: a file of this name cannot hold what *schema* returns.
        ReportError: C10E701, its folder is not there.
    """
    outputs = (*schema.returns, *_written(schema))
    for index, declared in enumerate(outputs):
        kind = declared.type
        is_array = schema_types.is_tensor(kind) or schema_types.is_optional_tensor(kind)
        if not (is_array or schema_types.is_tensor_list(kind)):
            name = declared.name or f"return_{index}"
            raise click.UsageError(f"return `{name}` of `{schema.name}` is {kind}, no array to save")
    count, is_piped = len(outputs), path == STANDARD_OUTPUT or is_stream(path)
    if not is_piped and path.suffix not in (".npy", ".npz"):
        raise click.UsageError(f"--save `{path}` ends in neither .npy nor .npz, for one array or several")
    if count != 1 and (is_piped or path.suffix == ".npy"):
        raise click.UsageError(f"`{path}` takes one array as .npy, not {count}; name an .npz file")
    if not path.parent.is_dir():
        fact = f"cannot write {path.name}: there is no folder `{path.parent}`"
        raise ReportError(Diagnostic("C10E701", fact, help="make it, or name another"))


def saved_bytes(path: Path, results: Sequence[tuple[Argument, Any]]) -> bytes:
    """What goes into *path*: an .npz for any number of tensors or else an .npy for one.

    Raises:
        ReportError: C10E701, it cannot hold them.
    """
    named = _named_arrays(results)
    is_archive = path.suffix == ".npz" and not is_stream(path)
    if not is_archive and len(named) != 1:  # such as a list of tensors, which only now is counted
        fact = f"`{path}` cannot hold {counted(len(named), 'array')}"
        raise ReportError(Diagnostic("C10E701", fact, help="save one array as .npy, several as .npz"))
    content = io.BytesIO()
    try:
        _write_archive(content, named) if is_archive else _write_array(content, *named.values())
    except ValueError as error:  # an array of Python objects
        raise ReportError(Diagnostic("C10E701", f"cannot write {path.name}: {error}")) from error
    return content.getvalue()


def write_saved(path: Path, content: bytes) -> None:
    """Put *content* into *path*, whole or not at all: a file, a device, a FIFO, or standard output.

    Raises:
        ReportError: C10E701.
    """
    if path != STANDARD_OUTPUT:
        write_atomic(path, content)
        return
    with written(sys.stdout):
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def _write_archive(content: IO[bytes], named: dict[str, Any]) -> None:
    """An .npz; unlike `numpy.savez` it takes every name, such as ``file``."""
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in named.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                _write_array(member, array)


def _write_array(file: IO[bytes], array: Any) -> None:
    import numpy as np

    from c10cli.arrays.more_dtypes import storable

    np.save(file, storable(array), allow_pickle=False)


def _as_saved(name: str, tensor: Any) -> Any:
    """*tensor* as an array of its own dtype, as which it is read back."""
    array, dtype = to_numpy(tensor), dtype_name(tensor.dtype) if library_of(tensor) else ""
    if dtype in ("", array.dtype.name):
        return array
    fact = f"return `{name}` is of {dtype}, and would be saved as {array.dtype.name}"
    todo = "install ml_dtypes (extra `dtypes`)" if "float" in dtype else "return a dtype that NumPy has"
    raise ReportError(Diagnostic("C10E701", fact, help=todo))


def _named_arrays(results: Sequence[tuple[Argument, Any]]) -> dict[str, Any]:
    """Every tensor of *results*, under its name in the schema or its place."""
    named: list[tuple[str, Any]] = []
    for index, (declared, value) in enumerate(results):
        name = declared.name or f"return_{index}"
        if is_tensor(value):
            named.append((name, value))
        elif isinstance(value, list | tuple) and (not value or _holds_tensors(value)):
            named += [(f"{name}_{i}", element) for i, element in enumerate(value) if is_tensor(element)]
        else:
            fact = f"return `{name}` is {describe(value)}, no array, and cannot be saved"
            raise ReportError(Diagnostic("C10E701", fact, help="leave --save out and read the printed value"))
    arrays = {name: _as_saved(name, tensor) for name, tensor in named}
    if len(arrays) < len(named):  # such as `Tensor[] a, Tensor a_0`
        fact = f"two of {counted(len(named), 'array')} would be saved under one name"
        raise ReportError(Diagnostic("C10E701", fact, help="name the returns otherwise"))
    return arrays
