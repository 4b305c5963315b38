import numpy as np
import pytest

from c10cli import KernelError, parse_schema
from c10cli.verify.kernel_call import check_left_alone, check_results, contents_of_call

PAIR = parse_schema("t::f(Tensor x) -> (Tensor a, Tensor b)")
X = {"x": np.ones(3)}


def refusal(check, *args):
    with pytest.raises(KernelError) as caught:
        check(*args)
    return caught.value


def test_two_results_of_their_own_are_right():
    check_results(PAIR, "k", X, (np.ones(3), np.ones(3)))
    whole = np.ones(6)
    check_results(PAIR, "k", X, (whole[:3], whole[3:]))


def test_two_results_that_overlap_are_refused():
    whole = np.ones(6)
    error = refusal(check_results, PAIR, "k", X, (whole[:4], whole[2:]))
    assert error.code == "C10E506"
    assert error.diagnostics[0].message == "return `a` and return `b` of kernel `k` of `t::f` share memory"


def test_two_returns_of_one_alias_set_may_be_one_tensor():
    schema = parse_schema("t::f(Tensor(a!) x) -> (Tensor(a!), Tensor(a!))")
    check_results(schema, "k", X, (X["x"], X["x"]))


@pytest.mark.needs("scipy")
def test_what_is_dense_among_scipys_is_numpys(needs):
    sparse = needs("scipy.sparse").csr_array(np.eye(3))
    check_results(PAIR, "k", {"x": sparse}, (np.ones(3), sparse.copy()))


@pytest.mark.needs("torch")
def test_a_result_of_another_library_is_refused_also_inside_a_list(torch):
    schema = parse_schema("t::f(Tensor x) -> Tensor[]")
    error = refusal(check_results, schema, "k", X, ([np.ones(1), torch.ones(1)],))
    assert error.code == "C10E502"
    assert "gave a torch tensor (list of 2) for return 0, where the arguments are of numpy" in str(error)
    assert error.diagnostics[0].help.endswith("or write `arrays: torch` at the kernel")
    check_results(schema, "k", {"x": torch.ones(1)}, ([torch.ones(2)],))


def left_alone(first, second, change=lambda: None):
    """What becomes of *first* where *change* happens before *second* is over."""
    before = contents_of_call(first)
    change()
    check_left_alone(PAIR, "k", first, before, second)


def test_a_next_call_that_leaves_the_one_before_alone_is_right():
    left_alone(({"x": np.ones(3)}, (np.ones(3), np.zeros(3))), ({"x": np.ones(3)}, (np.ones(3), np.zeros(3))))


def test_a_next_call_that_overwrites_a_result_is_refused():
    buffer = np.ones(3)
    first, second = (X, (np.ones(3), buffer)), (X, (np.ones(3), np.ones(3)))
    error = refusal(left_alone, first, second, lambda: buffer.fill(2))
    assert error.code == "C10E506"
    assert error.diagnostics[0].message.startswith("return `b` of kernel `k` of `t::f` is the same memory")


def test_a_result_given_out_again_is_refused_although_nothing_was_written_yet():
    buffer = np.ones(3)
    assert refusal(left_alone, (X, (buffer, np.ones(3))), (X, (buffer, np.ones(3)))).code == "C10E506"


def test_a_next_call_that_changes_an_earlier_argument_is_refused():
    x, pair = np.ones(3), (np.ones(3), np.ones(3))
    error = refusal(left_alone, ({"x": x}, pair), (X, (np.ones(3), np.ones(3))), lambda: x.fill(5))
    assert error.code == "C10E505"
    assert "changed argument `x` of the call before it" in error.diagnostics[0].message
