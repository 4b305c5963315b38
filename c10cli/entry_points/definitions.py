"""What an entry point names, read in the source that defines it: nothing is imported or run."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Final, Literal

from c10cli.entry_points.entry_point import EntryPoint, python_file
from c10cli.errors import did_you_mean

# Decorators that leave a function's signature as it is written.
_TRANSPARENT: Final = frozenset(
    ("njit", "jit", "cache", "lru_cache", "staticmethod", "classmethod", "no_grad", "inference_mode")
)
_LITERALS: Final = (ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.JoinedStr)
_DEFINING: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What can define names that no reader of the source sees.
_DEFINES_UNSEEN: Final = re.compile(rb"\b(?:globals|exec|setattr|vars)\s*\(")

Function = ast.FunctionDef | ast.AsyncFunctionDef
# Each name with its last binding and those after it that may be skipped; `*` where more may be defined.
Names = dict[str, list[ast.stmt]]


@dataclass(frozen=True, slots=True)
class Definition:
    """What the module in the file at *path* defines under a name.

    Args:
        kind: ``unknown`` for what only running the module would tell.
        signature: of a function; of a class, that of its constructor; None
            where it cannot be told.  Defaults are values of literals, or ``...``.
        summary: the first line of its docstring; empty where there is none.
    """

    path: Path
    line: int
    kind: Literal["function", "async function", "generator", "class", "value", "unknown"] = "unknown"
    signature: Signature | None = None
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """The file, or the name in it, is surely not there."""

    message: str
    help: str = ""
    code: str = "C10E304"


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Only importing would tell."""

    reason: str


def definition_of(entry_point: EntryPoint, *, near: bool = True) -> Definition | Missing | Unresolved:
    """What *entry_point* names; a file is read once, however many entry points name it.

    Args:
        near: whether to look for near names where it is missing, which takes long.
    """
    path = locate_source(entry_point, near=near)
    if not isinstance(path, Path):
        return path
    shown, (first, *inner) = entry_point.holder, entry_point.attribute.split(".")
    try:
        state = path.stat()
        names = _names_in(path, state.st_ino, state.st_mtime_ns, state.st_size)
    except SyntaxError as error:
        return Missing(f"`{shown}` is not Python: {error.msg} (line {error.lineno})")
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return Missing(f"`{shown}` cannot be read: {getattr(error, 'strerror', None) or error}")
    if first in names:
        return _define(path, names, names[first], inner)
    modules = path.parent.iterdir() if path.name == "__init__.py" else ()
    if "*" in names or any(file.name.partition(".")[0] == first for file in modules):
        return Unresolved(f"`{shown}` may define `{first}` only when it is imported")
    defining = [name for name, nodes in names.items() if isinstance(nodes[-1], _DEFINING)]
    return Missing(f"`{shown}` has no `{first}`", did_you_mean(first, defining) if near else "")


def locate_source(entry_point: EntryPoint, *, near: bool = True) -> Path | Missing | Unresolved:
    """The file that holds the function of *entry_point*."""
    path = entry_point.path
    try:
        if path is None:
            return _locate_module(entry_point)
        if path.is_file():
            return path if entry_point.has_inside(path) else _outside(entry_point, path)
        if path.exists():  # reading a FIFO would wait
            kind = "a folder" if path.is_dir() else "no regular file"
            return Missing(f"kernel file `{entry_point.file}` is {kind}")
        fact = f"kernel file `{entry_point.file}` does not exist"
        known = [file.name for file in path.parent.glob("*.py")] if near else []
        return Missing(fact, did_you_mean(path.name, known) or "create it, or correct the path")
    except OSError as error:  # a name too long, a folder that may not be looked into
        reason = f"cannot be looked up: {error.strerror}"
        if path is None:
            return Unresolved(f"module `{entry_point.module}` {reason}")
        return Missing(f"kernel file `{entry_point.file}` {reason}")


def _outside(entry_point: EntryPoint, path: Path) -> Missing:
    real = os.path.realpath(path)
    fact = f"kernel file `{entry_point.file}` leaves the folder of the manifest: it is `{real}`"
    return Missing(fact, "put a file there, or name the folder that it is in under `roots:`", "C10E109")


def _locate_module(entry_point: EntryPoint) -> Path | Unresolved:
    top, *rest = entry_point.holder.split(".")
    try:
        spec = importlib.util.find_spec(top)  # of a top-level name: this imports nothing
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return entry_point.module_beside or Unresolved(f"package `{top}` is not installed")
    if rest:
        found = python_file(spec.submodule_search_locations or (), rest)
    else:
        found = Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    return found or Unresolved(f"module `{entry_point.module}` has no Python file")


@lru_cache(maxsize=128)
def _names_in(path: Path, *_state: int) -> Names:
    """The names in the file at *path*; it is read anew only when its state is another one."""
    source = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the author's own, shown when it is imported
        names = _names(ast.parse(source, filename=str(path)).body)
    if "__getattr__" in names or _DEFINES_UNSEEN.search(source):
        names.setdefault("*", [])
    return names


def _names(body: Sequence[ast.stmt]) -> Names:
    found: Names = {}
    for statement in body:
        for name in _bound_names(statement):
            found[name] = [statement]
        for block in _blocks(statement):
            for name, nodes in _names(block).items():
                found.setdefault(name, []).extend(nodes)
    return found


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, _DEFINING):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
    elif isinstance(statement, ast.Assign) or (isinstance(statement, ast.AnnAssign) and statement.value):
        for target in statement.targets if isinstance(statement, ast.Assign) else (statement.target,):
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statements inside an `if`, `try`, `with` or loop."""
    if not isinstance(statement, _DEFINING):
        for holder in (statement, *getattr(statement, "handlers", ())):
            for field in ("body", "orelse", "finalbody"):
                yield getattr(holder, field, [])


def _define(
    path: Path, names: Names, nodes: Sequence[ast.stmt], inner: Sequence[str] = (), followed: int = 0
) -> Definition:
    """What the last of *nodes* defines, or the attribute *inner* of that class."""
    last = nodes[-1]
    unknown = Definition(path, last.lineno)
    if inner:
        members = _names(last.body) if isinstance(last, ast.ClassDef) else {}
        found = members.get(inner[0])  # one that is not there may be inherited
        return _define(path, names, found, inner[1:]) if found else unknown
    if len(nodes) > 1:
        choices = [_define(path, names, [node]) for node in nodes]
        return choices[-1] if len({(d.kind, d.signature) for d in choices}) == 1 else unknown
    if isinstance(last, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return _function(path, last)
    if isinstance(last, ast.ClassDef):
        return Definition(path, last.lineno, "class", _constructor(last), _summary(last))
    if isinstance(last, ast.AnnAssign) or (
        isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name)
    ):
        if isinstance(last.value, _LITERALS):
            return Definition(path, last.lineno, "value")
        if isinstance(last.value, ast.Name) and last.value.id in names and followed < 10:
            return _define(path, names, names[last.value.id], (), followed + 1)
    return unknown


def _function(path: Path, node: Function) -> Definition:
    decorators = {_decorator_name(decorator) for decorator in node.decorator_list}
    if not decorators <= _TRANSPARENT:
        return Definition(path, node.lineno, summary=_summary(node))
    is_async = isinstance(node, ast.AsyncFunctionDef)
    kind: Any = "async function" if is_async else "generator" if _is_generator(node) else "function"
    signature = _signature(node, skip_first="classmethod" in decorators)
    return Definition(path, node.lineno, kind, signature, _summary(node))


def _signature(node: Function, *, skip_first: bool = False) -> Signature:
    """The signature that a function's source spells."""
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    parameters = []
    for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        is_named = index >= len(arguments.posonlyargs)
        kind = Parameter.POSITIONAL_OR_KEYWORD if is_named else Parameter.POSITIONAL_ONLY
        parameters.append(_parameter(argument, kind, default))
    if arguments.vararg:
        parameters.append(_parameter(arguments.vararg, Parameter.VAR_POSITIONAL))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(_parameter(argument, Parameter.KEYWORD_ONLY, default))
    if arguments.kwarg:
        parameters.append(_parameter(arguments.kwarg, Parameter.VAR_KEYWORD))
    return Signature(parameters[skip_first:], return_annotation=_annotation(node.returns))


def _parameter(argument: ast.arg, kind: Any, default: ast.expr | None = None) -> Parameter:
    value = Parameter.empty if default is None else _value(default)
    return Parameter(argument.arg, kind, default=value, annotation=_annotation(argument.annotation))


def _value(node: ast.expr) -> object:
    """The value of a literal, a list as a tuple; `...` for what running the source would tell."""
    try:
        value = ast.literal_eval(node)
        value = tuple(value) if isinstance(value, list) else value
        hash(value)  # signatures are compared
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return ...
    return value


def _annotation(node: ast.expr | None) -> object:
    """The text of an annotation, that in quotes where it is quoted."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    try:
        return Parameter.empty if node is None else ast.unparse(node)
    except RecursionError:
        return Parameter.empty


def _summary(node: Function | ast.ClassDef) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0].strip()


def _constructor(node: ast.ClassDef) -> Signature | None:
    """The signature of calling a class; None where a base or decorator may decide it."""
    found = _names(node.body).get("__init__", [])
    if len(found) == 1 and isinstance(found[0], ast.FunctionDef) and not node.decorator_list:
        return _signature(found[0], skip_first=True)
    return None


def _decorator_name(node: ast.expr) -> str:
    target = node.func if isinstance(node, ast.Call) else node
    return str(getattr(target, "attr", getattr(target, "id", "")))


def _is_generator(function: Function) -> bool:
    """Whether the function itself, not one inside it, yields."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (*_DEFINING, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))
    return False
