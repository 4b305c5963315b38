import copy
import pickle
import sys
import threading
from types import SimpleNamespace

import pytest

from c10cli.arrays import keys
from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.tensor_types import key_of
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.errors import DispatchError, RegistrationError


def test_there_is_one_key_per_name():
    assert DispatchKey("CPU") is DispatchKey.CPU
    assert DispatchKey(DispatchKey.CPU) is DispatchKey.CPU


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda key: pickle.loads(pickle.dumps(key))])
def test_a_copy_of_a_key_is_the_key(copied):
    assert copied(DispatchKey.CUDA) is DispatchKey.CUDA


def test_a_key_prints_with_its_number():
    assert (str(DispatchKey.CPU), repr(DispatchKey.CPU)) == ("CPU[1]", "DispatchKey('CPU')")


def test_the_built_in_keys_are_numbered_as_in_the_documentation():
    names = ("Undefined", "CPU", "CUDA", "HIP", "SparseCPU", "SparseCUDA", "XLA", "MPS", "XPU", "Meta")
    assert DispatchKey.known_names()[:10] == names
    assert [DispatchKey(name).number for name in names] == list(range(10))


def test_keys_sort_by_number():
    assert sorted([DispatchKey.Meta, DispatchKey.CPU, DispatchKey.HIP]) == [
        DispatchKey.CPU,
        DispatchKey.HIP,
        DispatchKey.Meta,
    ]


def test_a_registered_key_is_as_good_as_a_built_in_one():
    key = DispatchKey.register("TestKeysNPU")
    assert DispatchKey("TestKeysNPU") is key
    assert key.number >= 10


def test_registering_a_key_twice_gives_the_same_key():
    assert DispatchKey.register("TestKeysNPU2") is DispatchKey.register("TestKeysNPU2")
    assert DispatchKey.register("CPU") is DispatchKey.CPU


def test_an_unknown_key_is_refused_with_a_near_name():
    with pytest.raises(DispatchError) as caught:
        DispatchKey("cuda")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("C10E108", "unknown dispatch key `cuda`")
    assert diagnostic.help == "did you mean `CUDA`?"
    assert diagnostic.notes[0].startswith("the keys are Undefined, CPU, CUDA, ")
    assert caught.value.dispatch_key == "cuda"


@pytest.mark.parametrize("name", [None, 3, "zzz"])
def test_what_is_no_key_and_near_none_says_how_to_register_one(name):
    with pytest.raises(DispatchError) as caught:
        DispatchKey(name)
    assert caught.value.diagnostics[0].help == "register it first with DispatchKey.register(...)"


@pytest.mark.parametrize("name", ["My NPU", "", "1st", None, 7])
def test_a_key_name_is_a_python_identifier(name):
    with pytest.raises(RegistrationError) as caught:
        DispatchKey.register(name)
    assert str(caught.value) == f"error[C10E108] {name!r} cannot name a dispatch key"
    assert caught.value.diagnostics[0].help == "use a Python identifier, such as `MyNPU`"


class SlowDict(dict):
    def get(self, name):
        found = super().get(name)
        threading.Event().wait(0.01)  # long enough for another thread to come
        return found


def test_threads_that_register_one_key_at_once_get_the_same_key(monkeypatch):
    monkeypatch.setattr(DispatchKey, "_by_name", SlowDict(DispatchKey._by_name))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(DispatchKey.register("TestKeysRace"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert len({id(key) for key in found}) == 1


def test_one_row_tells_all_that_is_to_be_known_of_a_key(monkeypatch):
    key = DispatchKey.register("TestRowNPU", devices=("testnpu", 77))
    sparse = DispatchKey.register("TestRowSparseNPU", sparse_of="TestRowNPU")
    strided, device = object(), SimpleNamespace(type="testnpu")
    monkeypatch.setitem(
        sys.modules, "torch", SimpleNamespace(strided=strided, version=SimpleNamespace(hip=None))
    )
    attributes = {"__module__": "torch", "is_cpu": False, "is_cuda": False, "device": device}
    dense = type("Tensor", (), {**attributes, "layout": strided})()
    coo = type("Tensor", (), {**attributes, "layout": "torch.sparse_coo"})()
    exported = type("Exporter", (), {"__dlpack_device__": lambda self: (77, 0)})()
    assert [key_of(tensor) for tensor in (dense, coo, exported)] == [key, sparse, key]
    assert (key.sparse, sparse.dense, key.dense) == (sparse, key, key)
    op = Dispatcher().register_schema("t::f(Tensor x) -> str")
    op.dispatcher.register_kernel(op, "TestRowNPU", lambda x: "dense")
    op.dispatcher.register_kernel(op, "TestRowSparseNPU", lambda x: "sparse")
    assert [op.call(tensor) for tensor in (dense, coo, exported)] == ["dense", "sparse", "dense"]


def test_every_built_in_key_is_known_to_type_checkers():
    declared = {name for name, kind in DispatchKey.__annotations__.items() if kind == "ClassVar[DispatchKey]"}
    assert declared == {row[0] for row in keys._BUILT_IN}
