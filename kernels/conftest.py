"""Which kernel files the doctest run leaves out: those whose optional package is not installed."""

import importlib.util
import os

_PACKAGES = {"*_numba.py": "numba", "*_triton.py": "triton", "_triton*.py": "triton"}

# With C10_TESTS_REQUIRE_ALL=1 nothing is left out, so that a missing package is an error.
collect_ignore_glob = [
    pattern
    for pattern, package in _PACKAGES.items()
    if os.environ.get("C10_TESTS_REQUIRE_ALL") != "1" and importlib.util.find_spec(package) is None
]
