"""What it takes to add an array library: here one that nobody has heard of, `tiny`."""

import sys
from pathlib import Path

import numpy as np
import pytest

from c10cli import Dispatcher, KernelError, arrays, load_registry
from c10cli.arrays.devices import device_of, synchronizer, waiter
from c10cli.arrays.library import LIBRARIES, TABLE, Row, library_of
from c10cli.arrays.memory import contents_of, share_memory
from c10cli.arrays.placement import overwrite, place, to_numpy
from c10cli.arrays.tensor_types import is_tensor, key_of

# The library itself: arrays that are computed when one waits for them.
TINY = """\
class Grid:
    dtype = "float64"

    def __init__(self, elements, is_done=True):
        self.elements, self.is_done = elements, is_done

    @property
    def shape(self):
        return self.elements.shape

    def __add__(self, other):
        return Grid(self.elements + other, is_done=False)
"""
# The one new file.
FILE = """\
from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import Library


class Tiny(Library):
    def make(self, array, key):
        import tiny

        return tiny.Grid(array.copy())

    def read(self, tensor):
        return tensor.elements

    def write(self, tensor, contents):
        tensor.elements[...] = contents.elements

    def waiter(self, key):
        return lambda result: setattr(result, "is_done", True)


LIBRARY = Tiny("tiny", {"Grid": DispatchKey.CPU})
"""
MANIFEST = """\
version: 1
operators:
  - schema: "demo::plus_one(Tensor x) -> Tensor"
    kernels: {CPU: {kernel: kernels.py:plus_one, arrays: tiny}}
"""


@pytest.fixture(autouse=True)
def tiny(tmp_path, monkeypatch):
    (tmp_path / "tiny.py").write_text(TINY, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "arrays").mkdir()
    (tmp_path / "arrays" / "tiny.py").write_text(FILE, encoding="utf-8")
    monkeypatch.setattr(arrays, "__path__", [*arrays.__path__, str(tmp_path / "arrays")])
    # The one new row.
    monkeypatch.setitem(TABLE, "tiny", Row(("tiny",), makes=("CPU",)))
    yield
    for name in ("tiny", "c10cli.arrays.tiny"):
        sys.modules.pop(name, None)


@pytest.fixture
def x():
    return place(np.arange(3.0), "CPU", "tiny")


def test_its_arrays_are_made_known_and_read(x):
    assert "tiny" in LIBRARIES
    assert device_of("CPU", "tiny").available
    assert device_of("CUDA", "tiny").reason == "`tiny` has no CUDA arrays"
    assert (type(x).__name__, library_of(x), is_tensor(x), key_of(x).name) == ("Grid", "tiny", True, "CPU")
    assert to_numpy(x).tolist() == [0, 1, 2]


def test_its_arrays_are_overwritten_and_compared(x):
    before = contents_of(x)
    assert contents_of(x) == before is not None
    assert overwrite(x, np.full(3, 7.0))
    assert contents_of(x) != before
    assert to_numpy(x).tolist() == [7, 7, 7]
    view = type(x)(x.elements[1:])
    assert share_memory([view], x)
    assert not share_memory(view, place(np.ones(3), "CPU", "tiny"))


def test_its_results_are_waited_for(x):
    device = device_of("CPU", "tiny")
    result = x + 1
    waiter(device)(result)
    assert result.is_done
    assert synchronizer(device) is None


def test_its_arrays_are_dispatched_and_checked(x):
    dispatcher = Dispatcher(checked=True)
    op = dispatcher.register_schema("t::plus_one(Tensor x) -> Tensor")
    with dispatcher.register_kernel(op, "CPU", lambda x: x + 1):
        assert to_numpy(op.call(x)).tolist() == [1, 2, 3]
    for kernel, code in ((lambda x: overwrite(x, np.ones(3)) and x + 1, "C10E505"), (lambda x: x, "C10E506")):
        with dispatcher.register_kernel(op, "CPU", kernel), pytest.raises(KernelError) as caught:
            op.call(x)
        assert caught.value.code == code


def test_a_manifest_may_name_it(tmp_path, x):
    (tmp_path / "registry.yaml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "kernels.py").write_text("def plus_one(x):\n    return x + 1\n", encoding="utf-8")
    op = load_registry(tmp_path / "registry.yaml").find("plus_one")
    assert op.device("CPU").library == "tiny"
    assert to_numpy(op.handle.call(x)).tolist() == [1, 2, 3]


def test_a_library_is_that_of_a_base_whose_tensors_it_has():
    assert library_of(np.memmap.__new__(np.memmap, __file__, mode="r")) == "numpy"
    assert [library_of(value) for value in (object(), np.float32(1), [np.ones(1)])] == [""] * 3


def test_every_row_has_a_file_and_every_file_of_a_library_a_row():
    folder = Path(arrays.__file__).parent
    files = {path.stem for path in folder.glob("*.py") if "\nLIBRARY" in path.read_text(encoding="utf-8")}
    assert files == TABLE.keys() - {"tiny"}
