"""A manifest of torch's operators, or of those that a file of torch or ExecuTorch declares."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from c10cli import __version__
from c10cli.arrays.devices import is_installed
from c10cli.dispatch.names import matches_name
from c10cli.document.native_functions import NativeFunction, read_native_functions
from c10cli.document.source import load_document
from c10cli.errors import CODES, Diagnostic, ManifestError, SchemaError
from c10cli.manifest.entries import check_schema
from c10cli.schema.model import FunctionSchema, OperatorName
from c10cli.schema.parser import parse_schema

# The dispatch keys that torch has under the same name.
TORCH_KEYS = ("CPU", "CUDA", "HIP", "SparseCPU", "SparseCUDA", "XLA", "MPS", "XPU", "Meta")
# Those that c10cli makes tensors of, and the one that shapes are computed with.
DEFAULT_KEYS = ("CPU", "CUDA", "SparseCPU", "Meta")


@dataclass(frozen=True, slots=True)
class ImportedOperator:
    """One operator, and the dispatch keys for which torch has a kernel of it."""

    schema: FunctionSchema
    keys: tuple[str, ...] = ()

    @property
    def entry_point(self) -> str:
        """Where Python finds torch's operator."""
        name = self.schema.name
        return f"torch:ops.{name.namespace}.{name.base}.{name.overload or 'default'}"


@dataclass(frozen=True, slots=True)
class Imported:
    """The operators of *origin*, such as ``torch 2.13.0``, by name.

    Args:
        left_out: the names of those that no manifest can hold, by reason, the most frequent first.
        note: what else there is to say about all of them.
    """

    origin: str
    operators: tuple[ImportedOperator, ...]
    left_out: dict[str, list[str]]
    note: str = ""

    @property
    def kernel_count(self) -> int:
        """How many kernels there are, over all dispatch keys."""
        return sum(len(operator.keys) for operator in self.operators)


# The text of an operator's schema, None where there is none, and the keys of torch's kernels.
_Declared = tuple["str | None", tuple[str, ...]]


def import_torch(select: Sequence[str] = (), keys: Sequence[str] = DEFAULT_KEYS) -> Imported:
    """Every operator in torch's dispatcher that a tensor argument chooses the kernel of.

    A key is an operator's where torch's dispatch table has something to call
    for it: a kernel of its own, or one for many keys.

    Args:
        select: parts of names, or patterns for whole ones, to keep; empty: all.

    Raises:
        ManifestError: C10E101, torch is not installed.
    """
    if not is_installed("torch"):
        todo = "pip install torch, or name a file"
        raise ManifestError(Diagnostic("C10E101", "there is no torch to import from", help=todo))
    import torch

    dispatcher = torch._C
    dispatched = set(dispatcher._dispatch_get_all_op_names())
    has_kernel = dispatcher._dispatch_has_computed_kernel_for_dispatch_key

    def entries() -> Iterator[tuple[str, _Declared]]:
        for schema in dispatcher._jit_get_all_schemas():
            name = f"{schema.name}.{schema.overload_name}".removesuffix(".")
            if not matches_name(name, select):
                continue
            if name in dispatched:
                yield name, (str(schema), tuple(key for key in keys if has_kernel(name, key)))
            else:
                yield name, (None, ())

    reason = "not in torch's dispatcher, but in TorchScript only"
    return _imported(f"torch {torch.__version__}", entries(), reason)


def import_file(
    path: Path,
    select: Sequence[str] = (),
    keys: Sequence[str] = DEFAULT_KEYS,
    *,
    bind: bool | None = None,
    schemas: Path | None = None,
) -> Imported:
    """The operators that a `native_functions.yaml`, or a `functions.yaml` of ExecuTorch, declares.

    Args:
        select: see `import_torch`.
        bind: give them torch's kernels; None: unless the file is ExecuTorch's,
            whose own kernels are C++ functions that Python cannot call.
        schemas: the `native_functions.yaml` with the schemas of what an
            ExecuTorch file only names; None: the installed torch has them.

    Raises:
        ManifestError: the file is none of the two; or C10E101, schemas are
            needed and there is no torch.
    """
    functions = read_native_functions(load_document(path))
    is_executorch = any(function.is_executorch for function in functions)
    bound = tuple(keys) if (bind if bind is not None else not is_executorch) else ()
    named: Mapping[str, _Declared] = {}
    if any(function.schema is None for function in functions):
        named = _schemas(schemas, bound)

    def declared(function: NativeFunction) -> _Declared:
        if function.schema is None:
            return named.get(function.name, (None, ()))
        return function.schema, () if is_executorch else keys_of(function, bound)

    reason = f"only named, and {schemas.name if schemas else 'torch'} has no schema of it"
    entries = ((f.name, declared(f)) for f in functions if matches_name(f.name, select))
    return _imported(path.name, entries, reason, _CPP_KERNELS if is_executorch and bind is None else "")


_CPP_KERNELS = (
    "its own kernels are C++ functions; `--bind torch` gives torch's to the operators that torch has"
)


def _schemas(path: Path | None, keys: tuple[str, ...]) -> Mapping[str, _Declared]:
    """What the file at *path*, or the installed torch, says of each operator."""
    if path is None:
        return {str(o.schema.name): (str(o.schema), o.keys) for o in import_torch(keys=keys).operators}
    functions = read_native_functions(load_document(path))
    return {function.name: (function.schema, keys_of(function, keys)) for function in functions}


def _imported(
    origin: str, entries: Iterable[tuple[str, _Declared]], without_schema: str, note: str = ""
) -> Imported:
    """All of *entries* that an operator can be; the others are left out, with the reason."""
    operators: dict[OperatorName, ImportedOperator] = {}
    left_out: dict[str, list[str]] = {}
    for name, (text, keys) in entries:
        schema = without_schema if text is None else _read(text)
        if isinstance(schema, str):
            left_out.setdefault(schema, []).append(name)
        elif schema.name in operators:
            left_out.setdefault("given twice", []).append(name)
        else:
            operators[schema.name] = ImportedOperator(schema, keys)
    by_name = sorted(operators.values(), key=lambda operator: str(operator.schema.name))
    by_count = dict(sorted(left_out.items(), key=lambda item: -len(item[1])))
    return Imported(origin, tuple(by_name), by_count, note)


def _read(text: str) -> FunctionSchema | str:
    """The schema in *text*, or why no operator can have it."""
    try:
        schema = parse_schema(text, "torch")
    except SchemaError as error:
        return CODES[error.code]
    if schema.is_vararg or schema.is_varret:
        return "`...` among arguments or returns"
    fault = check_schema(schema)
    return schema if fault is None else CODES[fault.code]


_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")
# Has no kernel where tensors are sparse or an XLA program.
_DENSE_COMPOSITE = "CompositeExplicitAutogradNonFunctional"
_NOT_DENSE = ("SparseCPU", "SparseCUDA", "XLA")


def keys_of(function: NativeFunction, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Which of the *wanted* keys torch has a kernel for, by what the entry says."""
    fields = function.node.value
    dispatch = fields.get("dispatch", "CompositeImplicitAutograd")
    listed = {key.strip() for keys in _texts(dispatch) for key in keys.split(",")}
    is_structured = fields.get("structured") is True
    if "structured_delegate" in fields:
        # What is said beside it is for sparse tensors and the like.
        listed = {_DENSE_COMPOSITE, *(listed if "dispatch" in fields else ())}
    if "ufunc_inner_loop" in fields:
        listed |= {"CPU", "CUDA"}
    if not listed.isdisjoint(_COMPOSITE):
        return wanted
    if "CUDA" in listed:
        listed.add("HIP")
    if is_structured:
        listed.add("Meta")
    dense = _DENSE_COMPOSITE in listed
    return tuple(key for key in wanted if key in listed or (dense and key not in _NOT_DENSE))


def _texts(value: Any) -> tuple[str, ...]:
    """*value*, or the keys of the mapping that it is."""
    return tuple(key for key in value if isinstance(key, str)) if isinstance(value, dict) else (str(value),)


def render_manifest(imported: Imported, select: Sequence[str] = ()) -> str:
    """A manifest with the operators of *imported*; loading it imports nothing.

    Args:
        select: what the import was limited to, for the comment at the top.
    """
    limits = "".join(f" --select {json.dumps(pattern)}" for pattern in select)
    head = f"# The operators of {imported.origin}, by `c10 import{limits}` of c10cli {__version__}.\n"
    head += "version: 1\ndialect: torch\n"
    if imported.kernel_count:
        head += "arrays: torch\nrequires: [torch]\n"
    entries = "".join(_entry(operator) for operator in imported.operators)
    return f"{head}operators:\n{entries}" if entries else f"{head}operators: []\n"


def _entry(operator: ImportedOperator) -> str:
    # A JSON string is a YAML string, whatever is in it.
    schema = json.dumps(str(operator.schema))
    kernels = ", ".join(f"{key}: {operator.entry_point}" for key in operator.keys)
    return f"  - schema: {schema}\n" + (f"    kernels: {{{kernels}}}\n" if kernels else "")
