"""Arguments of an operator as words of a shell: split from our options, then evaluated."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from c10cli.arrays.dtypes import DTYPES
from c10cli.arrays.expression import evaluate, parse_expression
from c10cli.errors import ArgumentError, C10Error, Diagnostic, DispatchError, ManifestError, did_you_mean
from c10cli.schema import types as schema_types
from c10cli.schema.model import Argument, FunctionSchema
from c10cli.verify.inputs import as_argument


@dataclass
class Tail:
    """The words after the operator's name, by whose they are.

    Args:
        positional: texts of arguments given by position.
        keywords: texts of arguments given as ``--name text``.
        options: words of our own options, to be parsed.
    """

    positional: list[str] = field(default_factory=list)
    keywords: dict[str, str] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)


def split_tail(schema: FunctionSchema, words: Sequence[str], ours: Mapping[str, bool]) -> Tail:
    """*words* split into the operator's arguments and our options.

    A word that starts with ``--`` is the operator's where an argument has that
    name, and ours otherwise; ``-1`` and ``-`` are values; after ``--`` all are.

    Args:
        ours: our options, and whether each is a flag.

    Raises:
        ArgumentError: C10E404, a name that is neither's, or given twice; C10E410, no value.
    """
    tail, arguments = Tail(), {a.name for a in schema.arguments}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            tail.positional += rest
            break
        name, has_value, value = word.partition("=")
        if not word.startswith("--"):
            tail.positional.append(word)
            continue
        argument = next((a for a in (name[2:], name[2:].replace("-", "_")) if a in arguments), None)
        if argument is None and name not in ours:
            raise _unknown_option(schema, name, ours)
        is_flag = argument is None and ours[name]
        if not has_value and not is_flag:
            value = _value_of(schema, name, rest)
        if argument is None:
            tail.options += [name] if is_flag else [name, value]
        elif argument in tail.keywords:
            raise _refused(schema, "C10E404", f"argument `{argument}` is given twice", "give it once")
        else:
            tail.keywords[argument] = value
    return tail


def _value_of(schema: FunctionSchema, name: str, rest: list[str]) -> str:
    if not rest:
        raise _refused(schema, "C10E410", f"`{name}` has no value", f"write {name} VALUE")
    return rest.pop(0)


def _unknown_option(schema: FunctionSchema, name: str, ours: Mapping[str, bool]) -> ArgumentError:
    known = [*(f"--{a.name}" for a in schema.arguments), *ours]
    todo = did_you_mean(name, known) or "see `c10 call --help` and `c10 show OP`"
    return _refused(schema, "C10E404", f"`{name}` is no argument of `{schema.name}` and no option", todo)


def evaluate_tail(
    schema: FunctionSchema, tail: Tail, dtype: str, seed: int
) -> tuple[list[Any], dict[str, Any]]:
    """The values of the operator's arguments, by position and by keyword.

    Raises:
        ArgumentError: C10E404, too many; C10E410, a text is not understood;
            C10E411, a file cannot be read.
        DispatchError: C10E410, *dtype* is unknown.
    """
    if dtype not in DTYPES:
        fact = f"unknown dtype `{dtype}`"
        raise DispatchError(Diagnostic("C10E410", fact, help=did_you_mean(dtype, DTYPES) or "use float32"))
    by_name = {argument.name: argument for argument in schema.arguments}
    rng = np.random.default_rng(seed)
    taken = schema.positional
    if len(tail.positional) > len(taken):
        # Binding counts what is given and names the schema; values do not matter.
        schema.bind(tail.positional, {name: None for name in tail.keywords})
    positional = [
        _value(schema, argument, text, dtype, rng)
        for argument, text in zip(taken, tail.positional, strict=False)
    ]
    keywords = {n: _value(schema, by_name[n], text, dtype, rng) for n, text in tail.keywords.items()}
    return positional, keywords


def _value(schema: FunctionSchema, argument: Argument, text: str, dtype: str, rng: Any) -> Any:
    """The value of *argument* that *text* says."""
    if _is_word(argument, text):
        return text
    if schema_types.is_tensor_list(argument.type):
        text, files = _files_in_list(schema, argument, text)
    elif text.startswith("@") or (text == "-" and _wants_tensor(argument)):
        return _read(schema, argument, text)
    else:
        files = {}
    try:
        value = evaluate(parse_expression(text), _WORDS | files, dtype, rng)
    except ManifestError as error:
        fault = error.diagnostics[0]
        raise ArgumentError(
            Diagnostic(
                "C10E410",
                f"argument `{argument.name}` of `{schema.name}`: {fault.message}",
                fault.span,
                notes=fault.notes,
                help=fault.help or f"give a value of type {argument.type}",
            ),
            operator=str(schema.name),
            argument=argument.name,
        ) from error
    return as_argument(argument, value, dtype)


# The schema language's spellings, which Python's expressions have no names for.
_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None}

_FILE = re.compile(r"@[^\s,\[\]]+")


def _files_in_list(schema: FunctionSchema, argument: Argument, text: str) -> tuple[str, dict[str, Any]]:
    """*text* with a name for every ``@file`` in it, and the array that each name stands for."""
    files: dict[str, Any] = {}

    def name_of(match: re.Match[str]) -> str:
        name = f"file_{len(files)}"
        files[name] = _read(schema, argument, match[0])
        return name

    source = f"[{text}]" if text.startswith("@") else text
    return _FILE.sub(name_of, source), files


def _is_word(argument: Argument, text: str) -> bool:
    """Whether *text* is the value itself: strings, dtypes and devices need no quotes in a shell."""
    declared = argument.type
    if isinstance(declared, schema_types.OptionalType):
        if text.lower() == "none":
            return False
        declared = declared.element
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return str(declared) in ("str", "ScalarType", "Device", "Layout", "MemoryFormat") and not quoted


def _wants_tensor(argument: Argument) -> bool:
    return schema_types.is_tensor(argument.type) or schema_types.is_optional_tensor(argument.type)


def _read(schema: FunctionSchema, argument: Argument, text: str) -> Any:
    """The array in ``@file.npy``, ``@file.npz:name`` or, for ``-``, on standard input."""
    name, member = _file_and_member(text)
    try:
        with io.BytesIO(sys.stdin.buffer.read()) if text == "-" else Path(name).open("rb") as source:
            loaded = np.load(source, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                return loaded[_member(schema, loaded.files, name, member)]
    except C10Error:
        raise
    except Exception as error:  # a damaged file makes NumPy and zipfile raise almost anything
        where = "standard input" if text == "-" else f"`{name}`"
        raise _unreadable(schema, argument, where, error) from error
    if member:
        raise _refused(schema, "C10E410", f"`{name}` is one array, without names", f"write @{name}")
    return loaded


def _file_and_member(text: str) -> tuple[str, str]:
    """The file in ``@file`` or ``@file:name``; a colon may also be part of the file's name."""
    whole = text[1:]
    name, colon, member = whole.rpartition(":")
    return (name, member) if colon and not Path(whole).exists() else (whole, "")


def _member(schema: FunctionSchema, names: list[str], file: str, member: str) -> str:
    """The array of an .npz that is meant; its name may be left out where there is one."""
    if member in names:
        return member
    if not member and len(names) == 1:
        return names[0]
    listed = ", ".join(f"`{name}`" for name in names)
    if not names:
        fact = f"`{file}` has no arrays"
    elif member:
        fact = f"`{file}` has no array `{member}`; there is {listed}"
    else:
        fact = f"`{file}` has several arrays: {listed}"
    raise _refused(schema, "C10E410", fact, f"write @{file}:{names[0]}" if names else "give another file")


def _unreadable(schema: FunctionSchema, argument: Argument, where: str, error: Exception) -> ArgumentError:
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    if "allow_pickle" in reason:  # NumPy's advice is to load it unsafely
        reason = "it is no array file, or has pickled objects in it"
    return ArgumentError(
        Diagnostic(
            "C10E411",
            f"{where} cannot be read for argument `{argument.name}` of `{schema.name}`: {reason}",
            help="give an .npy or .npz file without pickled objects",
        ),
        operator=str(schema.name),
        argument=argument.name,
    )


def _refused(schema: FunctionSchema, code: str, fact: str, todo: str) -> ArgumentError:
    return ArgumentError(
        Diagnostic(code, fact, notes=(f"the schema is {schema}",), help=todo), operator=str(schema.name)
    )
