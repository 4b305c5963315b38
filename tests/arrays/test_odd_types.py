"""Tensor types that give no device, raise when they are asked, or compare as they like."""

import numpy as np
import pytest

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.library import library_of
from c10cli.arrays.tensor_types import is_tensor, key_of, register_tensor_type, tensors_of
from c10cli.errors import ArgumentError


@pytest.mark.parametrize("error", [BufferError, RuntimeError, AttributeError])
def test_an_error_of_a_dlpack_exporter_is_told_as_its_own(error):
    def refuse(self):
        raise error("not today")

    with pytest.raises(
        ArgumentError, match=f"does not say where it lives.*{error.__name__}: not today"
    ) as caught:
        key_of(type("Exporter", (), {"__dlpack_device__": refuse})())
    assert caught.value.code == "C10E408"
    assert type(caught.value.__cause__) is error


@pytest.mark.parametrize("given", [None, 1, (), ("cpu", 0), (None, 0), [[1], 0], {}])
def test_a_dlpack_device_that_is_none_is_an_error_that_names_the_type(given):
    exporter = type("Exporter", (), {"__dlpack_device__": lambda self: given})
    with pytest.raises(ArgumentError, match="Exporter` does not say where it lives"):
        key_of(exporter())


def test_a_type_whose_dlpack_device_is_no_function_is_no_tensor():
    class Meta(type):
        def __getattr__(cls, name):
            raise RuntimeError(name)

    for kind in (type("Off", (), {"__dlpack_device__": None}), Meta("Lazy", (), {}), Meta("Off", (), {})):
        assert key_of(kind()) is None
        assert not is_tensor(kind())


def one_of(device, **attributes):
    """A type of a metaclass with *attributes*, whose values are on DLPack's *device*, if on any."""
    members = {"__dlpack_device__": lambda self: (device, 0)} if device else {}
    return type("Meta", (type,), attributes)("Odd", (), members)


def refuse(*_):
    raise RuntimeError("not comparable")


HOSTILE = {
    "equal to all": {"__eq__": lambda cls, other: True, "__hash__": lambda cls: hash(np.ndarray)},
    "without a hash": {"__eq__": lambda cls, other: True},
    "equal by name": {"__eq__": lambda cls, other: str(cls) == str(other), "__hash__": lambda cls: 1},
    "not comparable": {"__eq__": refuse, "__hash__": lambda cls: hash(np.ndarray)},
    "not hashable": {"__hash__": refuse},
}


@pytest.mark.parametrize("attributes", HOSTILE.values(), ids=HOSTILE)
def test_a_type_whose_metaclass_compares_as_it_likes_has_its_own_key(attributes):
    key_of(np.zeros(1))  # remembered
    here, there, none = (one_of(device, **attributes) for device in (1, 2, None))
    assert [key_of(kind()) for kind in (here, there, none) * 2] == [
        DispatchKey.CPU,
        DispatchKey.CUDA,
        None,
    ] * 2
    assert [is_tensor(kind()) for kind in (here, none)] == [True, False]
    assert library_of(here()) == ""
    assert tensors_of([none(), np.ones(1)]) == [np.ones(1)]
    register_tensor_type(none, "XLA")
    assert [key_of(kind()) for kind in (here, none)] == [DispatchKey.CPU, DispatchKey.XLA]
