"""Where in the user's code a registration was made."""

from __future__ import annotations

import sys

# With the separator, so that a folder such as `c10cli_plugins` counts as outside.
_PACKAGE = __file__.rpartition("dispatch")[0]


def caller_site() -> str:
    """``file:line`` of the innermost frame outside c10cli, and its package, if it is of one."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    module = frame.f_globals.get("__package__")  # none in a script, and code may set it to anything
    package = module.partition(".")[0] if isinstance(module, str) else ""
    return with_package(f"{frame.f_code.co_filename}:{frame.f_lineno}", package)


def with_package(place: str, package: str) -> str:
    """*place* and the *package* that it is in, if that is any."""
    return f"{place}, package {package}" if package else place
