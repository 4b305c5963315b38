"""What the kernels of one process share beside their arguments, put back after each of them."""

from __future__ import annotations

import contextlib
import locale
import os
import random
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Surroundings"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The state of the process that one kernel may change and another one notice.

    Attributes of modules, open files and running threads are not in it: what
    a kernel does to those, the kernels after it in the same process do see.
    """

    floating_errors: Mapping[str, Any]
    print_options: Mapping[str, Any]
    warning_filters: tuple[Any, ...]
    show_warning: Any
    folder: str
    environment: Mapping[str, str]
    search_path: tuple[str, ...]
    randoms: tuple[Any, Any]
    language: str
    observers: tuple[Any, Any]

    @classmethod
    def read(cls) -> Surroundings:
        """What they are now."""
        return cls(
            np.geterr(),
            np.get_printoptions(),
            tuple(warnings.filters),
            warnings.showwarning,
            _folder(),
            dict(os.environ),
            tuple(sys.path),
            (random.getstate(), np.random.get_state()),
            locale.setlocale(locale.LC_ALL),
            (sys.gettrace(), sys.getprofile()),
        )

    def restore(self) -> None:
        """Make them what they were."""
        sys.settrace(self.observers[0])
        sys.setprofile(self.observers[1])
        np.seterr(**self.floating_errors)
        np.set_printoptions(**self.print_options)
        if tuple(warnings.filters) != self.warning_filters:
            warnings.filters[:] = self.warning_filters  # type: ignore[index]
            with warnings.catch_warnings():  # tells what remembers warnings that the filters are others
                pass
        warnings.showwarning = self.show_warning
        with contextlib.suppress(OSError):  # it may be gone
            os.chdir(self.folder)
        _restore_environment(self.environment)
        sys.path[:] = self.search_path
        random.setstate(self.randoms[0])
        np.random.set_state(self.randoms[1])
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_ALL, self.language)


def _folder() -> str:
    try:
        return str(os.getcwd())  # noqa: PTH109 - a path object would be made a text again
    except OSError:  # it was removed
        return os.sep


def _restore_environment(wanted: Mapping[str, str]) -> None:
    """One by one, because every change is a call into the C library."""
    for name in [*os.environ]:
        if name not in wanted:
            del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
