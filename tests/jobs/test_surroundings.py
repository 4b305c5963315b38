import locale
import os
import random
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from c10cli.jobs.surroundings import Surroundings


@pytest.fixture
def kept():
    before = Surroundings.read()
    yield before
    before.restore()


CHANGES = {
    "floating errors": lambda: np.seterr(all="raise"),
    "print options": lambda: np.set_printoptions(precision=1),
    "a new filter": lambda: warnings.simplefilter("ignore"),
    "no filters": warnings.resetwarnings,
    "the showing of warnings": lambda: setattr(warnings, "showwarning", print),
    "the folder": lambda: os.chdir("/"),
    "a new variable": lambda: os.environ.update(C10_NEW="1"),
    "no variables": os.environ.clear,
    "the search path": lambda: sys.path.insert(0, "/new"),
    "random numbers": lambda: random.seed(1),
    "NumPy's random numbers": lambda: np.random.seed(1),
    "the profiler": lambda: sys.setprofile(lambda *_: None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_put_back(kept, change):
    path = sys.path
    CHANGES[change]()
    assert _shown(Surroundings.read()) != _shown(kept)
    kept.restore()
    assert _shown(Surroundings.read()) == _shown(kept)
    assert sys.path is path


def test_warnings_are_as_they_were_also_for_what_remembers_them(kept):
    warnings.simplefilter("ignore")
    warnings.warn("a word", UserWarning, stacklevel=1)
    kept.restore()
    with pytest.raises(UserWarning, match="a word"):  # the tests' filters make an error of it
        warnings.warn("a word", UserWarning, stacklevel=1)


def test_the_language_is_put_back(kept):
    locale.setlocale(locale.LC_ALL, "C")
    before = Surroundings.read()
    locale.setlocale(locale.LC_CTYPE, "")
    before.restore()
    assert locale.setlocale(locale.LC_ALL) == "C"


def test_a_folder_that_is_gone_is_no_error(kept, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    inside = Surroundings.read()
    os.chdir(tmp_path)
    gone.rmdir()
    inside.restore()
    assert Path.cwd() == tmp_path


def _shown(surroundings):
    return repr(surroundings)
