"""A manifest of torch's operators, or of those that a file of torch or ExecuTorch declares."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from c10cli import __version__
from c10cli.arrays.devices import is_installed
from c10cli.diff.sides import read_document
from c10cli.dispatch.names import matches_name
from c10cli.document.native_functions import NativeFunction, read_native_functions
from c10cli.document.nodes import Document
from c10cli.document.source import parse_document
from c10cli.errors import CODES, Diagnostic, ManifestError, SchemaError, Span
from c10cli.manifest.entries import check_schema
from c10cli.schema.model import FunctionSchema, OperatorName
from c10cli.schema.parser import parse_schema
from c10cli.schema.serving import refusal
from c10cli.schema.type_parser import custom_classes

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
        unbound: the names of those that cannot have torch's kernels, by reason.
        findings: which schemas torch's kernels do not fit, and why.
    """

    origin: str
    operators: tuple[ImportedOperator, ...]
    left_out: dict[str, list[str]]
    note: str = ""
    unbound: dict[str, list[str]] = field(default_factory=dict)
    findings: tuple[Diagnostic, ...] = ()

    @property
    def kernel_count(self) -> int:
        """How many kernels there are, over all dispatch keys."""
        return sum(len(operator.keys) for operator in self.operators)


@dataclass(frozen=True, slots=True)
class _Declared:
    """What is said of an operator: its schema's text, if it has one, and the keys of torch's kernels."""

    name: str
    schema: str | None
    keys: tuple[str, ...]
    span: Span | None = None


def import_torch(select: Sequence[str] = (), keys: Sequence[str] = DEFAULT_KEYS) -> Imported:
    """Every operator in torch's dispatcher that a tensor argument chooses the kernel of.

    A key is an operator's where torch's dispatch table has something to call
    for it: a kernel of its own, or one for many keys.

    Args:
        select: parts of names, or patterns for whole ones, to keep; empty: all.

    Raises:
        ManifestError: C10E101, torch is not installed.
    """
    live = Live()
    entries = (
        _Declared(name, text, live.keys(name, keys))
        for name, text in live.schemas.items()
        if matches_name(name, select)
    )
    return _imported(live.origin, entries, "not in torch's dispatcher, but in TorchScript only")


class Live:
    """What the torch that is installed has.

    ``schemas`` has the text of every schema by the operator's name; None
    where torch's dispatcher does not have it.

    Raises:
        ManifestError: C10E101, torch is not installed.
    """

    def __init__(self, todo: str = "pip install torch, or name a file") -> None:
        if not is_installed("torch"):
            raise ManifestError(Diagnostic("C10E101", "there is no torch to import from", help=todo))
        import torch

        self.origin = f"torch {torch.__version__}"
        self._torch: Any = torch._C
        dispatched = set(self._torch._dispatch_get_all_op_names())
        named = ((_name(schema), schema) for schema in self._torch._jit_get_all_schemas())
        self.schemas = {name: str(schema) if name in dispatched else None for name, schema in named}

    def keys(self, name: str, wanted: Sequence[str]) -> tuple[str, ...]:
        """Those of the dispatch keys *wanted* for which torch has a kernel of the operator *name*."""
        has_kernel = self._torch._dispatch_has_computed_kernel_for_dispatch_key
        return tuple(key for key in wanted if has_kernel(name, key)) if self.schemas.get(name) else ()

    def document(self) -> Document:
        """The operators of torch's dispatcher as a `native_functions.yaml` would declare them."""
        texts = (json.dumps(text) for text in self.schemas.values() if text)
        return parse_document("".join(f"- func: {text}\n" for text in texts), f"<{self.origin}>")


def _name(schema: Any) -> str:
    return f"{schema.name}.{schema.overload_name}".removesuffix(".")


def import_file(
    path: Path | str,
    select: Sequence[str] = (),
    keys: Sequence[str] = DEFAULT_KEYS,
    *,
    bind: bool | None = None,
    schemas: Path | None = None,
) -> Imported:
    """The operators that a `native_functions.yaml`, or a `functions.yaml` of ExecuTorch, declares.

    Where torch is installed, its kernels go to the operators whose schemas they fit.

    Args:
        path: a file, or what else `read_document` takes.
        select: see `import_torch`.
        bind: give them torch's kernels; None: unless the file is ExecuTorch's,
            whose own kernels are C++ functions that Python cannot call.
        schemas: the `native_functions.yaml` with the schemas of what an
            ExecuTorch file only names; None: the installed torch has them.

    Raises:
        ManifestError: the file is none of the two; or C10E101, schemas are
            needed and there is no torch.
    """
    document = read_document(str(path))
    functions = read_native_functions(document)
    is_executorch = any(function.is_executorch for function in functions)
    bound = tuple(keys) if (bind if bind is not None else not is_executorch) else ()
    only_named = [function.name for function in functions if function.schema is None]
    todo = "name the file with its schemas, --schemas native_functions.yaml, or pip install torch"
    live = Live(todo) if (only_named and not schemas) or (bound and is_installed("torch")) else None
    if schemas:
        named = {
            f.name: (f.schema, keys_of(f, bound)) for f in read_native_functions(read_document(str(schemas)))
        }
    else:
        named = {name: (live.schemas.get(name), live.keys(name, bound)) for name in only_named if live}

    def declared(function: NativeFunction) -> _Declared:
        if function.schema is None:
            return _Declared(function.name, *named.get(function.name, (None, ())), function.span)
        keys = () if is_executorch else keys_of(function, bound)
        return _Declared(function.name, function.schema, keys, function.span)

    reason = f"only named, and {schemas.name if schemas else 'torch'} has no schema of it"
    entries = (declared(f) for f in functions if matches_name(f.name, select))
    note = _CPP_KERNELS if is_executorch and bind is None else ""
    if bound and live is None:
        note = "torch is not installed here, so nobody knows whether its kernels fit these schemas"
    return _imported(Path(document.file).name, entries, reason, note, live if bound else None)


_CPP_KERNELS = (
    "its own kernels are C++ functions; `--bind torch` gives torch's to the operators that torch has"
)


def _imported(
    origin: str, entries: Iterable[_Declared], without_schema: str, note: str = "", live: Live | None = None
) -> Imported:
    """All of *entries* that an operator can be; the others are left out, with the reason.

    Args:
        live: whose kernels they are to have, as far as they fit; None: they do.
    """
    operators: dict[OperatorName, ImportedOperator] = {}
    left_out: dict[str, list[str]] = {}
    unbound: dict[str, list[str]] = {}
    findings = []
    for entry in entries:
        schema = without_schema if entry.schema is None else _read(entry.schema)
        if isinstance(schema, str):
            left_out.setdefault(schema, []).append(entry.name)
            continue
        if schema.name in operators:
            left_out.setdefault("given twice", []).append(entry.name)
            continue
        keys = entry.keys
        theirs = live.schemas.get(entry.name) if live else None
        fault = refusal(schema, theirs) if keys and theirs else None
        if live and keys and (fault or not theirs):
            keys, reason = (), f"{live.origin} has {'another schema of it' if fault else 'no such operator'}"
            unbound.setdefault(reason, []).append(entry.name)
        if fault:
            todo = "correct the schema; it is imported without kernels"
            findings.append(replace(fault, span=entry.span, help=todo))
        operators[schema.name] = ImportedOperator(schema, keys)
    by_name = sorted(operators.values(), key=lambda operator: str(operator.schema.name))
    by_count = dict(sorted(left_out.items(), key=lambda item: -len(item[1])))
    return Imported(origin, tuple(by_name), by_count, note, unbound, tuple(findings))


def _read(text: str) -> FunctionSchema | str:
    """The schema in *text*, or why no operator can have it."""
    try:
        schema = parse_schema(text, "torch", known_classes=custom_classes(text))
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
    classes = {name for operator in imported.operators for name in custom_classes(str(operator.schema))}
    head += f"classes: [{', '.join(sorted(classes))}]\n" if classes else ""
    if imported.kernel_count:
        head += "arrays: torch\nrequires: [torch]\n"
    entries = "".join(_entry(operator) for operator in imported.operators)
    return f"{head}operators:\n{entries}" if entries else f"{head}operators: []\n"


def _entry(operator: ImportedOperator) -> str:
    # A JSON string is a YAML string, whatever is in it.
    schema = json.dumps(str(operator.schema))
    kernels = ", ".join(f"{key}: {operator.entry_point}" for key in operator.keys)
    return f"  - schema: {schema}\n" + (f"    kernels: {{{kernels}}}\n" if kernels else "")
