"""What is imported when it is first used: public names of packages, parts that later layers provide."""

from __future__ import annotations

import importlib
from typing import Any

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
