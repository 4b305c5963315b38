import numpy as np
import pytest

from c10cli.arrays.memory import contents_of, share_memory
from c10cli.arrays.tensor_types import placed_key, register_tensor_type


class Taught(np.ndarray):
    pass


register_tensor_type(Taught, "CPU")


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.__setitem__(1, 0.0),  # -0.0 and 0.0 are equal, and yet not the same
        lambda a: a.__setitem__(2, -np.nan),
        lambda a: a.sort(),
    ],
)
@pytest.mark.parametrize("holder", [lambda a: a, lambda a: [a], lambda a: a.view(Taught)])
def test_any_bit_that_changes_is_seen(change, holder):
    array = np.array([0.5, -0.0, np.nan])
    value = holder(array)
    before = contents_of(value)
    assert contents_of(value) == before
    change(array)
    assert contents_of(value) != before


def test_a_list_that_changes_is_seen_and_values_that_cannot_change_are_not_compared_by_their_own_rules():
    sizes = [1, 2]
    strange = type("Strange", (), {"__eq__": lambda self, other: np.ones(2)})()
    values = [sizes, strange, float("nan"), "text", None]
    before = contents_of(values)
    assert contents_of(values) == before
    sizes.append(3)
    assert contents_of(values) != before


def test_overlap_is_told_of_arrays_of_views_and_of_lists():
    array, other = np.ones(6), np.ones(6)
    assert share_memory(array, array)
    assert share_memory(array[1:], array)
    assert share_memory([other, array[::2]], [array])
    assert not share_memory(array[::2], array[1::2])
    assert not share_memory(other, array)
    assert not share_memory(3, array)


def test_tensors_that_nothing_can_read_share_memory_only_with_themselves():
    class Opaque:
        pass

    register_tensor_type(Opaque, "CPU")
    one, other = Opaque(), Opaque()
    assert contents_of(one) == contents_of(one)
    assert share_memory(one, one)
    assert not share_memory(one, other)
    assert not share_memory(one, np.ones(1))


def test_jax_arrays_that_nothing_can_write_to_may_be_given_back(jax):
    x = jax.numpy.arange(3.0)
    assert not share_memory(x, x)
    host = np.arange(64.0, dtype=np.float32)
    borrowed = jax.dlpack.from_dlpack(host)
    assert share_memory(borrowed, host) == np.shares_memory(np.asarray(borrowed), host)
    assert not share_memory(jax.numpy.array(host, copy=True), host)


def test_views_of_torch_share_memory_whatever_their_dtype(torch):
    for dtype in (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.complex64):
        x = torch.ones(4).to(dtype)
        assert share_memory(x[1:], x)
        assert not share_memory(x[::2], x[1::2])
        assert not share_memory(x.clone(), x)
    assert share_memory(x.conj(), x)
    assert not share_memory(torch.empty(0), torch.empty(0))
    host = np.ones(4)
    assert share_memory(torch.from_numpy(host)[2:], host)


def test_the_stored_elements_of_sparse_tensors_are_their_memory(needs, torch):
    matrix = needs("scipy.sparse").eye_array(3).tocsr()
    assert share_memory(matrix.data, matrix)
    assert share_memory(matrix.T, matrix)
    assert not share_memory(matrix.copy(), matrix)
    coo = torch.eye(3).to_sparse()
    assert share_memory(coo._values(), coo)
    assert not share_memory(coo.clone(), coo)


@pytest.mark.parametrize("name", ["bsr", "coo", "csc", "csr", "dia", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_a_sparse_array_of_scipy_shares_each_of_its_parts(needs, name, kind):
    matrix = getattr(needs("scipy.sparse"), f"{name}_{kind}")(np.eye(4))
    attributes = [
        a for a in ("data", "indices", "indptr", "row", "col", "offsets", "rows") if hasattr(matrix, a)
    ]
    assert len(attributes) >= 2
    for attribute in attributes:
        other = matrix.copy()
        assert not share_memory(other, matrix)
        assert share_memory(getattr(matrix, attribute), matrix)


def test_results_that_share_only_the_indices_share_memory(needs):
    sparse = needs("scipy.sparse")
    csr = sparse.csr_array(np.eye(4))
    fresh = (csr.indices.copy(), csr.indptr.copy())
    for index in ((csr.indices, fresh[1]), (fresh[0], csr.indptr)):
        assert share_memory(sparse.csr_array((csr.data * 2, *index), shape=csr.shape), csr)
    assert not share_memory(sparse.csr_array((csr.data * 2, *fresh), shape=csr.shape), csr)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_a_sparse_tensor_of_torch_shares_each_of_its_parts_and_they_are_seen_to_change(torch, layout):
    size = {"blocksize": (2, 2)} if "bs" in layout else {}
    tensor = torch.eye(4).to_sparse(layout=getattr(torch, layout), **size)
    names = {"sparse_coo": ("_indices", "_values"), "sparse_csr": ("crow_indices", "col_indices", "values")}
    rows = names["sparse_csr"] if layout == "sparse_bsr" else ("ccol_indices", "row_indices", "values")
    for name in names.get(layout, rows):
        part = getattr(tensor, name)()
        assert share_memory(part, tensor)
        assert not share_memory(part.clone(), tensor)
        before = contents_of(tensor)
        assert contents_of(tensor) == before is not None
        part += 1
        assert contents_of(tensor) != before
        part -= 1


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


@pytest.mark.parametrize(
    ("form", "change"),
    [
        ("csr", "sort_indices"),
        ("csc", "sort_indices"),
        ("csr", "sum_duplicates"),
        ("coo", "sum_duplicates"),
        ("csr", "eliminate_zeros"),
        ("coo", "eliminate_zeros"),
    ],
)
def test_a_sparse_tensor_that_is_put_in_order_in_place_is_seen_to_change(needs, form, change):
    matrix = unordered(needs("scipy.sparse"), form)
    before = contents_of(matrix)
    getattr(matrix, change)()
    assert contents_of(matrix) != before


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_what_reads_a_sparse_tensor_leaves_it_as_it_is(needs, form):
    matrix = unordered(needs("scipy.sparse"), form)
    before = contents_of(matrix)
    for read in (lambda m: m.toarray(), lambda m: m @ np.ones(3), lambda m: m + m, lambda m: m * 2):
        read(matrix)
        assert contents_of(matrix) == before is not None


def unordered(sparse, form):
    """Elements out of order, one of them twice, one of them zero."""
    rows, columns = np.array([0, 0, 2, 0]), np.array([2, 0, 1, 2])
    if form == "coo":
        return sparse.coo_array((np.array([1.0, 2.0, 0.0, 3.0]), (rows, columns)), shape=(3, 3))
    if form in ("csr", "csc"):
        made = getattr(sparse, f"{form}_array")
        index = (np.array([2, 0, 2, 1]), np.array([0, 3, 3, 4]))
        return made((np.array([1.0, 2.0, 3.0, 0.0]), *index), shape=(3, 3))
    return unordered(sparse, "coo").asformat(form)


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
    monkeypatch.setattr(np, "asarray", lambda array: (_ for _ in ()).throw(MemoryError))
    assert contents_of(np.ones(2).view(Taught)) is None


def test_large_arrays_are_read_as_small_ones_are():
    array = np.zeros(2**20)
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
