import numpy as np
import pytest

from c10cli.arrays.memory import MEMORY
from c10cli.arrays.tensor_types import register_tensor_type


def contents_of(value):
    """What tells that *value* is the same, each time it is called: by the function, or by its code."""
    code = MEMORY.contents_code(type(value))
    parts = "".join(f"{text.format('value')}, " for text in code.parts) if code else "0"
    return lambda: (MEMORY.contents(value), eval(parts, {"value": value}))


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.__setitem__(1, 0.0),  # -0.0 and 0.0 are equal, and yet not the same
        lambda a: a.__setitem__(2, -np.nan),
        lambda a: a.sort(),
    ],
)
@pytest.mark.parametrize("holder", [lambda a: a, lambda a: [a], lambda a: a.view(np.ma.MaskedArray)])
def test_any_bit_that_changes_is_seen(change, holder):
    array = np.array([0.5, -0.0, np.nan])
    take = contents_of(holder(array))
    before = take()
    assert take() == before
    change(array)
    assert take() != before


def test_the_code_says_what_the_function_says():
    array = np.ones((2, 3), np.float32)
    said, code_said = contents_of(array)()
    assert said == code_said == (np.float32, (2, 3), array.tobytes())
    assert eval(MEMORY.contents_code(np.ndarray).holds.format("array"))
    assert MEMORY.contents_code(list) is None


def test_the_code_tells_arrays_apart_only_where_both_own_their_memory():
    code = MEMORY.apart_code(np.ndarray, np.ndarray).format("r", "v")
    one, other = np.ones(2), np.ones(2)
    told = [
        eval(code, {"r": r, "v": v})
        for r, v in ((one, other), (one, one), (one[1:], other), (one, other[1:]))
    ]
    assert told == [True, False, False, False]
    assert MEMORY.apart_code(np.ndarray, list) == MEMORY.apart_code(list, np.ndarray) == ""


def test_a_list_that_changes_is_seen_and_values_that_cannot_change_are_not_compared_by_their_own_rules():
    sizes = [1, 2]
    strange = type("Strange", (), {"__eq__": lambda self, other: np.ones(2)})()
    take = contents_of([sizes, strange, float("nan"), "text", None])
    before = take()
    assert take() == before
    sizes.append(3)
    assert take() != before


def shared(left, right):
    return MEMORY.shared([left], [right], [(0, 0)]) == (0, 0)


def test_overlap_is_told_of_arrays_of_views_and_of_lists():
    array, other = np.ones(6), np.ones(6)
    assert shared(array, array)
    assert shared(array[1:], array)
    assert shared([other, array[::2]], [array])
    assert not shared(array[::2], array[1::2])
    assert not shared(other, array)
    assert not shared(3, array)
    assert MEMORY.shared([other], [other, array], [(0, 1)]) is None


def test_tensors_that_nothing_can_read_share_memory_only_with_themselves():
    class Opaque:
        pass

    register_tensor_type(Opaque, "CPU")
    one, other = Opaque(), Opaque()
    assert MEMORY.contents(one) == MEMORY.contents(one)
    assert shared(one, one)
    assert not shared(one, other)
    assert not shared(one, np.ones(1))


def test_jax_arrays_that_nothing_can_write_to_may_be_given_back(jax):
    x = jax.numpy.arange(3.0)
    assert not shared(x, x)
    host = np.arange(64.0, dtype=np.float32)
    borrowed = jax.dlpack.from_dlpack(host)
    assert shared(borrowed, host) == np.shares_memory(np.asarray(borrowed), host)
    assert not shared(jax.numpy.array(host, copy=True), host)


def test_views_of_torch_share_memory_whatever_their_dtype(torch):
    for dtype in (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.complex64):
        x = torch.ones(4).to(dtype)
        assert shared(x[1:], x)
        assert not shared(x[::2], x[1::2])
        assert not shared(x.clone(), x)
    assert shared(x.conj(), x)
    assert not shared(torch.empty(0), torch.empty(0))
    host = np.ones(4)
    assert shared(torch.from_numpy(host)[2:], host)


def test_the_stored_elements_of_sparse_tensors_are_their_memory(needs, torch):
    matrix = needs("scipy.sparse").eye_array(3).tocsr()
    assert shared(matrix.data, matrix)
    assert shared(matrix.T, matrix)
    assert not shared(matrix.copy(), matrix)
    coo = torch.eye(3).to_sparse()
    assert shared(coo._values(), coo)
    assert not shared(coo.clone(), coo)
