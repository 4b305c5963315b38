"""What is imported when it is first used: public names of packages, parts that later layers provide."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of *package*.

    Args:
        homes: per module the public names that it defines, with blanks between.
    """
    module_of = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return get, names, sorted(module_of)


_homes: dict[str, str] = {}


def provide(name: str, home: str) -> None:
    """Let *home*, ``module:attribute``, be what lower layers ask for as *name*.

    For the package itself, which is above all layers: a layer may need what
    only a later one has, and may not import it.
    """
    _homes[name] = home


def provided(name: str) -> Any:
    """What is provided as *name*; its module is imported now."""
    module, _, attribute = _homes[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
