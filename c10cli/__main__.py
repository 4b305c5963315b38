"""``python -m c10cli``, the same as the command ``c10``."""

import sys

# Python puts the current folder first on the search path, where a `json.py` would shadow the
# standard library's.  It goes last, unless it is where this package itself is.
if not getattr(sys.flags, "safe_path", False) and not __file__.startswith(sys.path[0]):
    sys.path.append(sys.path.pop(0))

from c10cli.cli.main import main

main()
