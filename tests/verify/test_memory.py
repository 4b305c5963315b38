import numpy as np
import pytest

from c10cli.dispatch import register_tensor_type
from c10cli.verify.memory import MEMORY


def snapshot_of(*values):
    """Takes a snapshot of all *values*, each time it is called."""
    take = MEMORY.snapshots(tuple(map(type, values)), tuple(range(len(values))))
    return lambda: take(values)


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
    take = snapshot_of(holder(array))
    before = take()
    assert take() == before
    change(array)
    assert take() != before


def test_only_the_values_asked_for_are_looked_at():
    watched, free = np.ones(1), np.ones(1)
    take = MEMORY.snapshots((np.ndarray, np.ndarray), (0,))
    before = take((watched, free))
    free[0] = 2
    assert take((watched, free)) == before
    watched[0] = 2
    assert take((watched, free)) != before


def test_a_list_that_changes_is_seen_and_values_that_cannot_change_are_not_compared_by_their_own_rules():
    sizes = [1, 2]
    strange = type("Strange", (), {"__eq__": lambda self, other: np.ones(2)})()
    take = snapshot_of(sizes, strange, float("nan"), "text", None)
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
    take = snapshot_of(one)
    assert take() == take()
    assert shared(one, one)
    assert not shared(one, other)
    assert not shared(one, np.ones(1))
