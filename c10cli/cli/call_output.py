"""What an operator returned, as text, as JSON, as a file."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import click
import numpy as np

from c10cli.arrays.compare import view_of
from c10cli.arrays.placement import to_numpy
from c10cli.arrays.tensor_types import is_tensor, key_of
from c10cli.cli.streams import written
from c10cli.describe import describe
from c10cli.errors import Diagnostic, ReportError
from c10cli.files import is_stream, write_atomic
from c10cli.schema import types as schema_types
from c10cli.schema.model import FunctionSchema

STANDARD_OUTPUT = Path("-")

_JSON_ELEMENTS = 1000


def as_text(name: str, value: Any) -> str:
    """One return: its name, dtype and shape, and a short view."""
    prefix = f"{name}: " if name else ""
    if is_tensor(value):
        return f"{prefix}{view_of(to_numpy(value))}"
    if isinstance(value, list | tuple) and any(is_tensor(element) for element in value):
        return "\n".join(as_text(f"{name}[{i}]", element) for i, element in enumerate(value))
    return f"{prefix}{_python(value)!r}"


def as_dict(name: str, value: Any) -> dict[str, object]:
    """One return as JSON-ready data; elements of large arrays are left out.

    nan and infinities become the strings ``nan``, ``inf`` and ``-inf``, which
    JSON has no numbers for.
    """
    if not is_tensor(value):
        if isinstance(value, list | tuple) and any(is_tensor(element) for element in value):
            return {"name": name, "value": [as_dict("", element) for element in value]}
        return {"name": name, "value": _plain(value)}
    array = to_numpy(value)
    key = key_of(value)
    fields: dict[str, object] = {
        "name": name,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "key": key.name if key else None,
    }
    if array.size <= _JSON_ELEMENTS:
        fields["data"] = _plain(array.tolist())
    return fields


def _python(value: Any) -> Any:
    """*value* with Python's own numbers in place of NumPy's."""
    if isinstance(value, list | tuple):
        return [_python(element) for element in value]
    return value.item() if isinstance(value, np.generic) else value


def _plain(value: Any) -> object:
    value = _python(value)
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def check_savable(path: Path, schema: FunctionSchema) -> None:
    """Refuse, before anything runs, what `save_returns` would surely refuse.

    Raises:
        click.UsageError: a file of this name cannot hold what *schema* returns.
        ReportError: C10E701, its folder is not there.
    """
    for index, declared in enumerate(schema.returns):
        if not (_is_tensor(declared.type) or schema_types.is_tensor_list(declared.type)):
            name = declared.name or f"return_{index}"
            raise click.UsageError(f"return `{name}` of `{schema.name}` is {declared.type}, no array to save")
    count = len(schema.returns)
    if _is_stream(path):
        if count != 1:
            raise click.UsageError(f"{_shown(path)} takes one array as .npy, not {count}; name an .npz file")
        return
    if path.suffix not in (".npy", ".npz"):
        raise click.UsageError(f"--save `{path}` ends in neither .npy nor .npz, for one array or several")
    if path.suffix == ".npy" and count != 1:
        raise click.UsageError(f"an .npy holds one array, not {count}; write `{path.with_suffix('.npz')}`")
    if not path.parent.is_dir():
        fact = f"cannot write {path.name}: there is no folder `{path.parent}`"
        raise ReportError(Diagnostic("C10E701", fact, help="make it, or name another"))


def save_returns(path: Path, schema: FunctionSchema, returns: tuple[Any, ...]) -> None:
    """Write tensors to *path*: an .npy for one or an .npz for any number, whole or not at all.

    A device, a FIFO or ``-``, standard output, takes one as .npy.

    Raises:
        ReportError: C10E701.
    """
    named = _named_arrays(schema, returns)
    kind = ".npy" if _is_stream(path) else path.suffix
    if kind not in (".npy", ".npz") or (kind == ".npy" and len(named) != 1):
        fact = f"{_shown(path)} cannot hold {len(named)} array{'s' if len(named) != 1 else ''}"
        raise ReportError(Diagnostic("C10E701", fact, help="save one array as .npy, several as .npz"))
    content = io.BytesIO()
    try:
        if kind == ".npy":
            np.save(content, next(iter(named.values())), allow_pickle=False)
        else:
            _write_archive(content, named)
    except ValueError as error:  # an array of Python objects
        raise ReportError(Diagnostic("C10E701", f"cannot write {path.name}: {error}")) from error
    if path != STANDARD_OUTPUT:
        write_atomic(path, content.getvalue())
        return
    with written(sys.stdout):
        sys.stdout.flush()
        sys.stdout.buffer.write(content.getvalue())
        sys.stdout.buffer.flush()


def _is_stream(path: Path) -> bool:
    return path == STANDARD_OUTPUT or is_stream(path)


def _shown(path: Path) -> str:
    return "standard output" if path == STANDARD_OUTPUT else f"`{path}`"


def _is_tensor(kind: schema_types.Type) -> bool:
    return schema_types.is_tensor(kind) or schema_types.is_optional_tensor(kind)


def _write_archive(content: io.BytesIO, named: dict[str, Any]) -> None:
    """An .npz; unlike `numpy.savez` it takes every name, such as ``file``."""
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in named.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _named_arrays(schema: FunctionSchema, returns: tuple[Any, ...]) -> dict[str, Any]:
    """Every tensor returned, under its name in the schema or its place."""
    named = {}
    for index, (declared, value) in enumerate(zip(schema.returns, returns, strict=True)):
        name = declared.name or f"return_{index}"
        if is_tensor(value):
            named[name] = to_numpy(value)
        elif isinstance(value, list | tuple) and (not value or any(is_tensor(v) for v in value)):
            named |= {f"{name}_{i}": to_numpy(v) for i, v in enumerate(value) if is_tensor(v)}
        else:
            fact = f"return `{name}` is {describe(value)}, no array, and cannot be saved"
            raise ReportError(Diagnostic("C10E701", fact, help="leave --save out and read the printed value"))
    return named
