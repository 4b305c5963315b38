"""Texts of a shell as the values of an operator's arguments: expressions, words and files of arrays."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from c10cli.arrays.evaluate import evaluate
from c10cli.arrays.more_dtypes import restored
from c10cli.arrays.tensor_types import is_tensor
from c10cli.cli.operator_command import OperatorCall
from c10cli.errors import ArgumentError, C10Error, Diagnostic, DispatchError, ManifestError, did_you_mean
from c10cli.manifest.cases import is_word
from c10cli.schema import types as schema_types
from c10cli.schema.dtypes import DTYPES
from c10cli.schema.expression import parse_expression
from c10cli.schema.model import Argument
from c10cli.verify.inputs import Arguments, as_argument, place_arguments
from c10cli.verify.made_arguments import generate, no_domain, parse_dims

_FILE = re.compile(r"@[^\s,\[\]]+")


def bind_values(call: OperatorCall) -> Arguments:
    """The operator's arguments by name, defaults filled; arrays are NumPy's.

    Raises:
        ArgumentError: C10E404, they do not fit the schema; C10E405, a value does not fit its
            type; C10E410, a text is not understood; C10E411, a file cannot be read.
        DispatchError: C10E410, the dtype is unknown.
    """
    schema, dtype = call.linked.decl.schema, call.dtype
    if dtype not in DTYPES:
        fact = f"unknown dtype `{dtype}`"
        raise DispatchError(Diagnostic("C10E410", fact, help=did_you_mean(dtype, DTYPES) or "use float32"))
    if len(call.positional) > len(schema.positional):
        # Binding counts what is given and names the schema; values do not matter.
        try:
            schema.bind(call.positional, dict.fromkeys(call.keywords))
        except ArgumentError as error:
            told = (replace(d, help=_unquoted(*call.positional) or d.help) for d in error.diagnostics)
            raise ArgumentError(*told, **error.facts) from None
    rng = np.random.default_rng(call.seed)

    def value(argument: Argument, text: str) -> Any:
        return _value(argument, text, dtype, rng, f"argument `{argument.name}` of `{schema.name}`")

    positional = [value(*given) for given in zip(schema.positional, call.positional, strict=False)]
    named = [argument for argument in schema.arguments if argument.name in call.keywords]
    keywords = {argument.name: value(argument, call.keywords[argument.name]) for argument in named}
    if call.dims is not None:
        domain = call.linked.handle.domain
        if domain is None:
            raise no_domain(schema.name)
        given = {a.name: v for a, v in zip(schema.positional, positional, strict=False)} | keywords
        positional, keywords = [], generate(domain, parse_dims(call.dims), dtype, rng, given)
    return schema.bind(positional, keywords, is_tensor=is_tensor)


def _unquoted(*words: str) -> str:
    """What to do where a shell has cut an expression at its blanks; empty where none is cut."""
    pairs = [(word.count(left), word.count(right)) for word in words for left, right in ("()", "[]")]
    return "" if all(left == right for left, right in pairs) else "quote expressions: '[1, 2]'"


def place_values(call: OperatorCall, arguments: Arguments) -> Arguments:
    """*arguments* with their arrays where *call* asks for them, in the library that its kernel takes.

    Raises:
        DispatchError: C10E607, this machine can make none.
    """
    variant = call.variant_for(call.key or "CPU")
    library = str(variant.kernel.arrays) if variant else ""
    return place_arguments(arguments, call.key or "CPU", library) if call.key or library else arguments


def _value(argument: Argument, text: str, dtype: str, rng: np.random.Generator, what: str) -> Any:
    """The value of *argument* that *text* says."""
    files: dict[str, Any] = {}
    if is_word(argument, text):
        return text
    if schema_types.is_tensor_list(argument.type):
        text, files = _files_in_list(text, what)
    elif text.startswith("@") or (text == "-" and str(argument.type) in ("Tensor", "Tensor?")):
        return _read(text, what)
    try:
        value = evaluate(
            parse_expression(text), files, dtype, rng, of_items=schema_types.is_tensor_list(argument.type)
        )
    except ManifestError as error:
        fault = error.diagnostics[0]
        help = fault.help or _unquoted(text) or f"give a value of type {argument.type}"
        told = replace(fault, code="C10E410", message=f"{what}: {fault.message}", help=help)
        raise ArgumentError(told) from error
    return as_argument(argument, value, dtype)


def _files_in_list(text: str, what: str) -> tuple[str, dict[str, Any]]:
    """*text* with a name for every ``@file`` in it, and the array that each name stands for."""
    files: dict[str, Any] = {}

    def name_of(match: re.Match[str]) -> str:
        name = f"file_{len(files)}"
        files[name] = _read(match[0], what)
        return name

    source = f"[{text}]" if text.startswith("@") else text
    return _FILE.sub(name_of, source), files


def _read(text: str, what: str) -> Any:
    """The array in ``@file.npy``, ``@file.npz:name`` or, for ``-``, on standard input."""
    name, colon, member = text[1:].rpartition(":")
    if not colon or Path(text[1:]).exists():  # a colon may also be part of the file's name
        name, member = text[1:], ""
    try:
        with io.BytesIO(sys.stdin.buffer.read()) if text == "-" else Path(name).open("rb") as source:
            loaded = np.load(source, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                names = [n for n in loaded.files if f"{n}.npy" in loaded.zip.namelist()]
                return restored(loaded[_member(names, name, member)])
            loaded = restored(loaded)
    except C10Error:
        raise
    except Exception as error:  # a damaged file makes NumPy and zipfile raise almost anything
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        if "allow_pickle" in reason:  # NumPy's advice is to load it unsafely
            reason = "it is no array file, or has pickled objects in it"
        where = "standard input" if text == "-" else f"`{name}`"
        fact = f"{where} cannot be read for {what}: {reason}"
        todo = "give an .npy or .npz file without pickled objects"
        raise ArgumentError(Diagnostic("C10E411", fact, help=todo)) from error
    if member:
        raise _refused(f"`{name}` is one array, without names", f"write @{name}")
    return loaded


def _member(names: list[str], file: str, member: str) -> str:
    """The array of an .npz that is meant; its name may be left out where there is one."""
    if member in names:
        return member
    if not member and len(names) == 1:
        return names[0]
    if not names:
        todo = "give an .npy or .npz file, such as numpy.save writes of a tensor"
        raise _refused(f"`{file}` has no arrays of NumPy", todo)
    listed = ", ".join(f"`{name}`" for name in names)
    fact = f"has no array `{member}`; there is {listed}" if member else f"has several arrays: {listed}"
    raise _refused(f"`{file}` {fact}", f"write @{file}:{names[0]}")


def _refused(fact: str, todo: str) -> ArgumentError:
    return ArgumentError(Diagnostic("C10E410", fact, help=todo))
