"""What an operator returned, as text, as JSON, as a file."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from c10cli.arrays.compare import view_of
from c10cli.arrays.placement import to_numpy
from c10cli.bench.journal import write_atomic
from c10cli.dispatch.describe import describe
from c10cli.dispatch.tensor_types import is_tensor, key_of
from c10cli.errors import Diagnostic, ReportError
from c10cli.schema import FunctionSchema

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


def save_returns(path: Path, schema: FunctionSchema, returns: tuple[Any, ...]) -> None:
    """Write tensors to *path*, an .npy for one or an .npz for any number, whole or not at all.

    Raises:
        ReportError: C10E701.
    """
    named = _named_arrays(schema, returns)
    if path.suffix not in (".npy", ".npz") or (path.suffix == ".npy" and len(named) != 1):
        fact = f"`{path}` cannot hold {len(named)} array{'s' if len(named) != 1 else ''}"
        raise ReportError(Diagnostic("C10E701", fact, help="save one array as .npy, several as .npz"))
    content = io.BytesIO()
    try:
        if path.suffix == ".npy":
            np.save(content, next(iter(named.values())), allow_pickle=False)
        else:
            _write_archive(content, named)
    except ValueError as error:  # an array of Python objects
        raise ReportError(Diagnostic("C10E701", f"cannot write {path.name}: {error}")) from error
    write_atomic(path, content.getvalue())


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
