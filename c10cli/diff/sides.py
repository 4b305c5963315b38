"""The two sides of a comparison: operators out of a file, or out of a file in git.

A side is a manifest with all that it includes, or torch's
``native_functions.yaml``, whose schemas are in torch's dialect and get the
namespace ``aten``; its ``dispatch`` is not read, since a composite kernel may
stand for any key.
"""

from __future__ import annotations

import os
import posixpath
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from c10cli.document.native_functions import NativeFunction, read_native_functions
from c10cli.document.nodes import Document, Node
from c10cli.document.source import load_document, parse_document
from c10cli.errors import Diagnostic, ManifestError, SchemaError, Span
from c10cli.manifest.declarations import OperatorDecl, Waiver
from c10cli.manifest.load import load_manifest
from c10cli.schema.model import FunctionSchema
from c10cli.schema.parser import parse_schema

_HELP: Final = "name a file, or `REV:path` with the path from the top of the git repository"


@dataclass(frozen=True, slots=True)
class DeclaredOperator:
    """An operator of one side, and where its pieces stand.

    Args:
        field_name: the field of *node* that holds the schema.
        kernels: where the kernels of each dispatch key stand.
    """

    schema: FunctionSchema
    node: Node = field(repr=False)
    field_name: str = "schema"
    kernels: Mapping[str, Span] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()

    def span(self, offsets: tuple[int, int] | None = None) -> Span:
        """The place of a stretch of the schema's text, or of the whole of it."""
        if offsets is None:
            return self.node.span(self.field_name)
        return _stretch(self.node, self.field_name, self.schema.text, *offsets)


@dataclass(frozen=True, slots=True)
class Side:
    """The operators of one side by their full names, and the waivers for those that are gone."""

    operators: Mapping[str, DeclaredOperator]
    waivers: tuple[Waiver, ...] = ()


def read_side(text: str) -> Side:
    """The side that *text* names: a file, or ``REV:path`` in the git repository of this folder.

    Raises:
        ManifestError: it cannot be read (C10E101), or has faults: all of them.
    """
    read, path = _reader(text)
    document = read(path, text)
    document.findings[:] = [  # none of these is about the manifest that an option or a variable names
        replace(d, help=d.help or _HELP) if d.code == "C10E101" else d for d in document.findings
    ]
    if type(document.value) is list:
        return Side(_native_operators(read_native_functions(document)))

    result = load_manifest(path, read=lambda place: document if place == path else read(place))
    if result.manifest is None or result.diagnostics:
        raise ManifestError(*result.diagnostics, path=path)
    operators = {str(decl.name): _declared(decl) for decl in result.manifest.operators}
    return Side(operators, result.manifest.removals)


def _declared(decl: OperatorDecl) -> DeclaredOperator:
    kernels = {key: decl.variants(key)[0].key_span for key in decl.dispatch_keys}
    return DeclaredOperator(decl.schema, decl.node, kernels=kernels, waivers=decl.waivers)


def _reader(text: str) -> tuple[Callable[..., Document], Path]:
    """How the file that *text* names is read, and its path there."""
    revision, colon, path = text.partition(":")
    if not colon or os.path.exists(text):  # noqa: PTH110 - total, whatever the text
        return load_document, Path(text)
    # git counts from the top of the repository, unless the path begins with a dot.
    from_here = path.startswith(("./", "../"))

    def read(place: Path, _shown: str = "") -> Document:
        name = posixpath.normpath(place.as_posix())
        dot = "./" if from_here and not name.startswith("../") else ""
        return _read_from_git(f"{revision}:{dot}{name}")

    return read, Path(path)


def _read_from_git(name: str) -> Document:
    """The document that git has as *name*; a fault is a finding of it."""
    message = f"`{name}` is no file that exists"
    words, environment = ["git", "show", "--end-of-options", name], {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(words, capture_output=True, check=False, env=environment)
    except (OSError, ValueError) as error:
        reason = "git is not installed" if isinstance(error, FileNotFoundError) else str(error)
        return _without_value(name, f"{message}, and {reason}")
    if done.returncode or done.stdout.startswith(b"tree "):
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0] or "it is a folder"
        return _without_value(name, f"{message}, nor one in git: {said.removeprefix('fatal: ')}")
    document = parse_document(done.stdout, name)
    if type(document.value) is str:  # what a symbolic link leads to
        help = "name the file itself, where this is a symbolic link: none is followed in git"
        return _without_value(name, f"`{name}` is no manifest, but the text `{document.value:.80}`", help)
    return document


def _without_value(name: str, message: str, help: str = "") -> Document:
    document = Document(name)
    document.findings.append(Diagnostic("C10E101", message, help=help))
    return document


def _native_operators(functions: tuple[NativeFunction, ...]) -> dict[str, DeclaredOperator]:
    found: dict[str, DeclaredOperator] = {}
    faults: list[Diagnostic] = []
    for function in functions:
        try:
            operator = _native_operator(function)
        except SchemaError as error:
            faults += error.diagnostics
            continue
        name = str(operator.schema.name)
        first = found.setdefault(name, operator)
        if first is not operator:
            notes = (f"the first is at {first.span()}",)
            message = f"operator `{name}` is defined twice"
            faults.append(Diagnostic("C10E301", message, operator.span(), notes=notes))
    if faults:
        raise ManifestError(*faults)
    return found


def _native_operator(function: NativeFunction) -> DeclaredOperator:
    node, text = function.node, function.schema
    if text is None:
        message = f"`{function.name}` has no `func`, and so no schema to compare"
        raise SchemaError(Diagnostic("C10E105", message, node.span()))
    try:
        schema = parse_schema(text, "torch")
    except SchemaError as error:
        span = _stretch(node, "func", text, error.start, error.end)
        raise SchemaError(*(replace(d, span=span) for d in error.diagnostics)) from None
    return DeclaredOperator(schema, node, "func")


def _stretch(node: Node, field_name: str, text: str, start: int, end: int) -> Span:
    """The place of a stretch of *text*, which may have a namespace in front of what the field says."""
    more = len(text) - len(node.value[field_name])
    return node.span_within(field_name, max(start - more, 0), max(end - more, 0))
