import re
import sysconfig
import threading
import weakref

import pytest

from c10cli.arrays.tensor_types import register_tensor_type
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.kernel import bind_kernel

PATIENCE_S = 10


class Tensor:
    """Base of tensors without contents, one class per dispatch key."""

    dtype, shape = "float32", (2, 3)


class CPUTensor(Tensor):
    pass


class CUDATensor(Tensor):
    pass


class XLATensor(Tensor):
    pass


class MetaTensor(Tensor):
    pass


class UndefinedTensor(Tensor):
    pass


TENSORS = {
    "CPU": CPUTensor,
    "CUDA": CUDATensor,
    "XLA": XLATensor,
    "Meta": MetaTensor,
    "Undefined": UndefinedTensor,
}
for key, tensor_type in TENSORS.items():
    register_tensor_type(tensor_type, key)


@pytest.fixture
def tensor():
    """``tensor("CUDA")``: a tensor of that key, on no device."""
    return lambda key="CPU": TENSORS[key]()


@pytest.fixture
def x():
    return CPUTensor()


def check_invariants(op):
    """What the table of *op* learned follows from its registrations."""
    table = op.table()
    for library, functions in table.functions.items():
        for key, function in functions.items():
            first = table.asked(key, library)[0]
            bound = first.bound(op.schema)
            assert function is bound.function or first.condition or bound.boxed or bound.cache_creator
    assert all(entries for entries in table.registrations.values())


@pytest.fixture
def dispatcher():
    """A private dispatcher whose tables are checked when the test ends."""
    dispatcher = Dispatcher()
    yield dispatcher
    for op in dispatcher.operators():
        check_invariants(op)


@pytest.fixture
def shown():
    """An error with its place, notes and help, every file name replaced by ``FILE`` and line by ``N``."""

    def text(error):
        lines = [str(error), *getattr(error, "__notes__", [])]
        assert len(lines) <= 15
        return re.sub(r"[^\s(`]*\.py:\d+(, package tests)?", "FILE:N", "\n".join(lines))

    return text


@pytest.fixture
def counted():
    """Skips where objects outlive their last reference: without the GIL, CPython keeps functions and classes.

    Until the next garbage collection; CPython 3.13 for ever, once there was a second thread.
    """
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("without the GIL, functions and classes outlive their last reference")


@pytest.fixture
def alive():
    """Counts live objects: ``track(object)`` gives it back, ``len(alive)`` says how many are left."""

    class Alive(weakref.WeakSet):
        def track(self, value):
            self.add(value)
            return value

    return Alive()


@pytest.fixture
def start():
    """``start(function)``: a thread that runs it; what it raises, the test raises when it ends."""
    threads, errors = [], []

    def begin(function):
        def run():
            try:
                function()
            except BaseException as error:  # noqa: BLE001 - the test itself raises it
                errors.append(error)

        thread = threading.Thread(target=run, daemon=True)
        threads.append(thread)
        thread.start()
        return thread

    yield begin
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not [thread for thread in threads if thread.is_alive()], "deadlock"
    if errors:
        raise errors[0]


@pytest.fixture
def join():
    """``join(*threads)``: waits for all of them."""

    def wait(*threads):
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), "deadlock"

    return wait


@pytest.fixture
def slow_source():
    """``slow_source(function)``: a kernel whose load waits, as an import may, until ``go_on`` is set."""

    class SlowSource:
        name = "slow.py:f"

        def __init__(self, function):
            self.function = function
            self.loading, self.go_on = threading.Event(), threading.Event()

        def load(self, schema):
            self.loading.set()
            assert self.go_on.wait(PATIENCE_S)
            return bind_kernel(schema, self.name, self.function)

    return SlowSource
