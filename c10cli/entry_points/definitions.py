"""What a Python file defines, read from its source: nothing is imported or run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from pathlib import Path
from typing import Final, Literal

__all__ = ["Definition", "SourceModule", "read_module", "signature_of"]

# Decorators that leave a function's signature as it is written.
_TRANSPARENT: Final = frozenset(
    ("njit", "jit", "cache", "lru_cache", "staticmethod", "no_grad", "inference_mode")
)
_LITERALS: Final = (ast.Constant, ast.List, ast.Dict, ast.Tuple, ast.Set, ast.JoinedStr)
# What can define names that no reader of the source sees.
_DEFINES_UNSEEN: Final = re.compile(r"\b(?:globals|exec|setattr|vars)\s*\(")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Kind = Literal["function", "async function", "generator", "class", "value", "unknown"]


@dataclass(frozen=True, slots=True)
class Definition:
    """One name that a module defines.

    Args:
        kind: ``unknown`` for what only running the module would tell.
        signature: of a function; of a class, that of its constructor; None
            where it cannot be told.
        summary: the first line of its docstring; empty where there is none.
    """

    kind: Kind
    line: int
    signature: Signature | None = None
    summary: str = ""


@dataclass(frozen=True, slots=True)
class _Binding:
    """A statement that gives a name its value, and whether it may be skipped."""

    node: ast.stmt
    conditional: bool


@dataclass(frozen=True, slots=True)
class SourceModule:
    """The names of one module.

    Args:
        fault: why the file cannot be read as Python, if so.
        is_open: whether it may have names that its source does not show.
    """

    path: Path
    bindings: dict[str, list[_Binding]]
    is_open: bool = False
    fault: str | None = None

    @property
    def functions(self) -> list[str]:
        """The names of its functions and classes."""
        defining = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return [name for name, found in self.bindings.items() if isinstance(found[-1].node, defining)]

    def find(self, attribute: str) -> Definition | None:
        """What *attribute*, dotted or not, is; None where the module has no such name."""
        first, *rest = attribute.split(".")
        bindings = self.bindings.get(first)
        for name in rest:
            node = bindings[-1].node if bindings else None
            if not isinstance(node, ast.ClassDef):
                break
            inner = _collect(node.body, conditional=False)
            if name not in inner:  # it may be inherited
                return Definition("unknown", node.lineno)
            bindings = inner[name]
        if not bindings:
            return None
        return self._define(bindings)

    def _define(self, bindings: Sequence[_Binding], followed: int = 0) -> Definition:
        last = bindings[-1]
        if last.conditional and len(bindings) > 1:
            found = [_definition(binding.node) for binding in bindings]
            same = all((d.kind, d.signature) == (found[0].kind, found[0].signature) for d in found)
            return found[-1] if same else Definition("unknown", last.node.lineno)
        if isinstance(last.node, ast.Assign) and isinstance(last.node.value, ast.Name) and followed < 10:
            target = self.bindings.get(last.node.value.id)
            return self._define(target, followed + 1) if target else Definition("unknown", last.node.lineno)
        return _definition(last.node)


def read_module(path: Path) -> SourceModule:
    """The module in the file at *path*; what is wrong with the file is its ``fault``."""
    try:
        source = path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the author's own, shown when it is imported
            tree = ast.parse(source, filename=str(path))
    except SyntaxError as error:
        return SourceModule(path, {}, fault=f"is not Python: {error.msg} (line {error.lineno})")
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return SourceModule(path, {}, fault=f"cannot be read: {reason}")
    bindings = _collect(tree.body, conditional=False)
    is_open = "*" in bindings or "__getattr__" in bindings
    is_open = is_open or _DEFINES_UNSEEN.search(source.decode("utf-8", "replace")) is not None
    return SourceModule(path, bindings, is_open)


def signature_of(node: Function, *, skip_first: bool = False) -> Signature:
    """The signature that a function's source spells; defaults are only marked as there."""
    arguments = node.args
    positional = [
        *((a, Parameter.POSITIONAL_ONLY) for a in arguments.posonlyargs),
        *((a, Parameter.POSITIONAL_OR_KEYWORD) for a in arguments.args),
    ]
    first_default = len(positional) - len(arguments.defaults)
    parameters = [_parameter(a, kind, i >= first_default) for i, (a, kind) in enumerate(positional)]
    if arguments.vararg:
        parameters.append(_parameter(arguments.vararg, Parameter.VAR_POSITIONAL))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(_parameter(argument, Parameter.KEYWORD_ONLY, default is not None))
    if arguments.kwarg:
        parameters.append(_parameter(arguments.kwarg, Parameter.VAR_KEYWORD))
    return Signature(
        parameters[1:] if skip_first else parameters, return_annotation=_annotation(node.returns)
    )


# Stands for any default: which one it is does not matter, the schema's is used.
_SOME_DEFAULT: Final = ...


def _parameter(argument: ast.arg, kind: object, has_default: bool = False) -> Parameter:
    assert isinstance(kind, type(Parameter.KEYWORD_ONLY))  # one of inspect's own kinds
    default = _SOME_DEFAULT if has_default else Parameter.empty
    return Parameter(argument.arg, kind, default=default, annotation=_annotation(argument.annotation))


def _annotation(node: ast.expr | None) -> object:
    """A plain name as a string; anything longer is left to those who import."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return Parameter.empty


def _collect(body: Sequence[ast.stmt], *, conditional: bool) -> dict[str, list[_Binding]]:
    """The names that *body* binds, with every binding in order."""
    found: dict[str, list[_Binding]] = {}
    for statement in body:
        for name in _bound_names(statement):
            found.setdefault(name, []).append(_Binding(statement, conditional))
        for block in _blocks(statement):
            for name, bindings in _collect(block, conditional=True).items():
                found.setdefault(name, []).extend(bindings)
    return found


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _target_names(target)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield from _target_names(statement.target)


def _target_names(target: ast.expr) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statements inside an `if`, `try`, `with` or loop."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for field in ("body", "orelse", "finalbody"):
        yield getattr(statement, field, [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body


def _definition(node: ast.stmt) -> Definition:
    line = node.lineno
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return _function_definition(node)
    if isinstance(node, ast.ClassDef):
        return Definition("class", line, _constructor(node), _summary(node))
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, _LITERALS):
        is_plain = isinstance(node, ast.AnnAssign) or isinstance(node.targets[0], ast.Name)
        return Definition("value" if is_plain else "unknown", line)
    return Definition("unknown", line)


def _function_definition(node: Function) -> Definition:
    names = [_decorator_name(decorator) for decorator in node.decorator_list]
    if not all(name in _TRANSPARENT or name == "classmethod" for name in names):
        return Definition("unknown", node.lineno, summary=_summary(node))
    kind: Kind = "generator" if _is_generator(node) else "function"
    if isinstance(node, ast.AsyncFunctionDef):
        kind = "async function"
    signature = signature_of(node, skip_first="classmethod" in names)
    return Definition(kind, node.lineno, signature, _summary(node))


def _summary(node: Function | ast.ClassDef) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0].strip()


def _constructor(node: ast.ClassDef) -> Signature | None:
    """The signature of calling a class; None where a base or decorator may decide it."""
    found = _collect(node.body, conditional=False).get("__init__", [])
    if len(found) == 1 and isinstance(found[0].node, ast.FunctionDef) and not node.decorator_list:
        return signature_of(found[0].node, skip_first=True)
    return None


def _decorator_name(node: ast.expr) -> str:
    target = node.func if isinstance(node, ast.Call) else node
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def _is_generator(function: Function) -> bool:
    """Whether the function itself, not one inside it, yields."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
    return False
