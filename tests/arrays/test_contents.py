import numpy as np
import pytest

from c10cli import register_tensor_type
from c10cli.arrays.contents import MOST_WRITTEN_OUT, contents_of, library_of, placed_key


def test_a_sparse_tensor_is_read_by_what_it_stores(needs):
    sparse = needs("scipy.sparse")
    huge = sparse.csr_array((10**6, 10**6))
    before = contents_of(huge)
    assert before is not None
    assert contents_of(huge) == before


@pytest.mark.parametrize("name", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_every_format_of_scipy_is_seen_to_change(needs, name):
    matrix = needs("scipy.sparse").eye_array(4).asformat(name)
    before = contents_of(matrix)
    assert contents_of(matrix) == before is not None
    stored = matrix.data if isinstance(getattr(matrix, "data", None), np.ndarray) else matrix
    if name in ("lil", "dok"):
        matrix[0, 0] = 7
    else:
        stored[(0,) * stored.ndim] = 7
    assert contents_of(matrix) != before


def test_a_sparse_tensor_that_is_only_put_in_order_is_the_same(needs):
    matrix = needs("scipy.sparse").csr_array((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])))
    before = contents_of(matrix)
    matrix.sort_indices()
    assert contents_of(matrix) == before


def test_torch_may_resize_what_was_read(torch):
    tensor = torch.ones(3)
    before = contents_of(tensor)
    tensor.resize_(3000)
    assert contents_of(tensor) != before


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64", "int8"])
@pytest.mark.parametrize(
    "layout", ["strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]
)
@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_torch_tensors_of_every_layout_are_seen_to_change(torch, layout, dtype):
    dense = torch.eye(4).to(getattr(torch, dtype))
    size = {"blocksize": (2, 2)} if "bs" in layout else {}
    tensor = dense.to_sparse(layout=getattr(torch, layout), **size) if layout != "strided" else dense
    before = contents_of(tensor)
    assert contents_of(tensor) == before is not None
    stored = (
        tensor if layout == "strided" else tensor._values() if layout == "sparse_coo" else tensor.values()
    )
    stored.zero_()
    assert contents_of(tensor) != before


def test_a_torch_tensor_that_needs_a_gradient_or_is_a_conjugate_is_read(torch):
    for tensor in (torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.complex64).conj()):
        assert contents_of(tensor) == contents_of(tensor) is not None
    assert contents_of(torch.ones(2, device="meta")) is None


def test_elements_that_repeat_without_end_are_read_once(torch):
    for tensor in (np.broadcast_to(np.float32(1), (10**6, 10**6)), torch.ones(1, 1).expand(10**6, 10**6)):
        assert contents_of(tensor) == contents_of(tensor) is not None


def test_what_is_too_large_to_be_kept_counts_as_untouched(monkeypatch):
    class Large(np.ndarray):
        pass

    monkeypatch.setattr(np, "asarray", lambda array: (_ for _ in ()).throw(MemoryError))
    assert contents_of(np.ones(2).view(Large)) is None


def test_large_arrays_are_read_as_small_ones_are():
    array = np.zeros(MOST_WRITTEN_OUT)
    before = contents_of(array)
    array[-1] = 1
    assert contents_of(array) != before


def test_whatever_the_code_of_a_tensor_raises_it_counts_as_untouched():
    class Lazy:
        dtype, shape = "float32", (2,)

        def __array__(self, *args, **kwargs):
            raise AssertionError("not computed yet")

    register_tensor_type(Lazy, "CPU")
    assert contents_of(Lazy()) is None


def test_jax_arrays_change_only_by_being_given_away(jax):
    array = jax.numpy.ones(2)
    before = contents_of(array)
    assert contents_of(array) == before
    array.delete()
    assert contents_of(array) != before
    seen = []
    jax.jit(lambda x: seen.append((contents_of(x), placed_key(x))) or x)(jax.numpy.ones(2))
    assert seen == [(None, None)]


def test_a_library_is_that_of_a_base_whose_tensors_can_be_read():
    masked = np.ma.masked_array([1.0])
    assert library_of(masked) == "numpy"
    assert library_of(object()) == "builtins"
