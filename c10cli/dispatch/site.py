"""Where in the user's code a registration was made."""

from __future__ import annotations

import sys

# With the separator, so that a folder such as `c10cli_plugins` counts as outside.
_PACKAGE = __file__.rpartition("dispatch")[0]


def caller_site() -> str:
    """``file:line`` of the innermost frame outside c10cli."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
