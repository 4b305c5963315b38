import pytest

from c10cli.dispatch.calling import drop, last, peek, pop, push


def test_push_puts_the_last_value_uppermost():
    stack = [1]
    push(stack, 2, 3)
    assert stack == [1, 2, 3]


def test_pop_takes_the_top():
    stack = [1, 2]
    assert pop(stack) == 2
    assert stack == [1]


@pytest.mark.parametrize(("count", "left"), [(0, [1, 2, 3]), (1, [1, 2]), (3, [])])
def test_drop_takes_the_top_values_off(count, left):
    stack = [1, 2, 3]
    drop(stack, count)
    assert stack == left


def test_peek_counts_within_the_top_values_and_leaves_the_stack():
    stack = ["below", "a", "b"]
    assert [peek(stack, 0, 2), peek(stack, 1, 2)] == ["a", "b"]
    assert stack == ["below", "a", "b"]


@pytest.mark.parametrize(("count", "values"), [(0, []), (2, [2, 3])])
def test_last_gives_a_new_list_of_the_top_values(count, values):
    stack = [1, 2, 3]
    top = last(stack, count)
    top.append("more")
    assert (top[:-1], stack) == (values, [1, 2, 3])
