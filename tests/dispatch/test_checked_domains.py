"""Checked calls with a domain, also of values that stand for others while something is traced."""

import numpy as np
import pytest

from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.errors import ArgumentError, KernelError

EMBEDDING = "t::embedding(Tensor weight, Tensor indices) -> Tensor"
ROWS = {
    "T": "floating",
    "weight": "T[rows, columns]",
    "indices": "int32 | int64 [*n], 0 <= _ < rows",
    "returns": "T[*n, columns]",
}
HALVES = "t::halves(Tensor x, Tensor y) -> Tensor"
EVEN = {"x": "float32[n, n // 2]", "y": "float32[#n]", "where": "n % 2 == 0", "returns": "float32[n]"}
JOIN = "t::join(Tensor[] xs, Tensor? bias, int dim=0) -> Tensor"
JOINED = {"T": "any", "xs": "T[...] each, finite(_)", "bias": "T[n]", "returns": "T[*joined(xs, dim)]"}


def operator(schema, domain, kernel):
    dispatcher = Dispatcher(checked=True)
    op = dispatcher.register_schema(schema, domain=domain)
    dispatcher.register_kernel(op, "CPU", kernel)
    return op


@pytest.fixture
def embedding():
    return operator(EMBEDDING, ROWS, lambda weight, indices: weight[indices])


@pytest.fixture
def halves():
    return operator(HALVES, EVEN, lambda x, y: x.sum(1) + y)


def test_jax_compares_shapes_of_a_trace_and_leaves_elements_out(jax, embedding):
    weight, indices = jax.numpy.ones((4, 3)), jax.numpy.array([[0, 1], [2, 9]])
    assert jax.vmap(lambda row: embedding(weight, row))(indices).shape == (2, 2, 3)
    with pytest.raises(ArgumentError, match="element \\[1, 1\\] is 9, rows is 4"):
        embedding(weight, indices)
    with pytest.raises(ArgumentError, match="it has 1 axes, not 2"):
        jax.vmap(lambda row: embedding(row, indices))(weight)


def test_jax_has_sizes_without_a_value(jax, halves):
    (n,) = jax.export.symbolic_shape("n")
    floats = jax.ShapeDtypeStruct((n, 2 * n), "float32")
    with pytest.raises(ArgumentError, match=r"`n // 2` is floordiv\(n, 2\), not 2\*n: n is n"):
        jax.export.export(jax.jit(lambda x: halves(x, jax.numpy.ones(1))))(floats)


@pytest.mark.filterwarnings("ignore")  # torch warns of all that such a trace keeps
def test_torch_traces_sizes_as_tensors(torch, embedding, halves):
    traced = torch.jit.trace(lambda x, y: halves(x, y), (torch.ones(4, 2), torch.ones(1)))
    assert traced(torch.ones(4, 2), torch.ones(1)).tolist() == [3] * 4
    with pytest.raises(ArgumentError, match="rows is 4"):
        torch.jit.trace(lambda *args: embedding(*args), (torch.ones(4, 3), torch.tensor([4])))


@pytest.mark.parametrize("transform", ["vmap", "grad", "functionalize"])
def test_functorch_gives_tensors_whose_elements_nobody_sees(torch, embedding, transform):
    weight, indices = torch.ones(4, 3), torch.tensor([[0, 1], [2, 3]])
    if transform == "vmap":
        assert torch.func.vmap(lambda row: embedding(weight, row))(indices).shape == (2, 2, 3)
    if transform == "grad":
        assert torch.func.grad(lambda w: embedding(w, indices).sum())(weight).tolist() == [[1] * 3] * 4
    if transform == "functionalize":
        assert torch.func.functionalize(lambda *args: embedding(*args))(weight, indices).shape == (2, 2, 3)


def test_fakes_with_sizes_that_may_change_are_compared(torch, halves):
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    free = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * 2)
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        good, odd = (mode.from_tensor(torch.ones(n, n // 2), symbolic_context=free) for n in (6, 7))
        assert halves(good, torch.ones(1)).shape == (6,)
        with pytest.raises(ArgumentError, match="`n % 2 == 0` is false: n is 7, from x"):
            halves(odd, torch.ones(1))


def test_lists_and_optional_arguments_are_inside_or_told():
    op = operator(JOIN, JOINED, lambda xs, bias, dim: np.concatenate(xs, dim) + (0 if bias is None else bias))
    x, y = np.ones((2, 3)), np.ones((1, 3))
    assert op([x, y], None).shape == (3, 3)
    assert op((x, x), None, -1).shape == (2, 6)
    for arguments, words in [
        (([x, np.float32(y)], None), "T is float64, from xs list of 2"),
        (([x, y * np.nan], None), "element \\[0, 0\\] is nan"),
        (([x], np.ones((3, 1))), "it has 2 axes, not 1"),
    ]:
        with pytest.raises(ArgumentError, match=words):
            op(*arguments)


def test_what_is_written_and_views_are_compared_with_returns():
    domain = {"x": "float32[n, m], finite(_)", "returns": "float32[m, n]"}
    turned = operator("t::turned(Tensor(a!) x) -> Tensor(a!)", domain, lambda x: x.T)
    assert turned(np.ones((2, 3), "float32")).shape == (3, 2)
    same = operator("t::same(Tensor(a) x) -> Tensor(a)", domain, lambda x: x[:])
    with pytest.raises(KernelError, match=r"float32\[2, 3\] where the domain says shape \[3, 2\]"):
        same(np.ones((2, 3), "float32"))


def test_arrays_of_no_axes_and_of_no_elements():
    domain = {"p": "float32[], 0 < _ ** 2 <= 1", "x": "any[*n], _ >= 0", "returns": "float32[*n]"}
    op = operator("t::f(Tensor p, Tensor x) -> Tensor", domain, lambda p, x: np.asarray(x * p, "float32"))
    p = np.array(0.5, "float32")
    for shape in ((), (0,), (3, 0)):
        assert op(p, np.ones(shape)).shape == shape
    with pytest.raises(ArgumentError, match=r"`0 < _ \*\* 2 <= 1` is false: it is 5.0"):
        op(np.array(5, "float32"), p)
