import pytest

from c10cli import ManifestError
from c10cli.interop import torch_import
from c10cli.interop.manifest_text import render_manifest
from c10cli.interop.torch_import import import_torch
from c10cli.manifest.link import link_manifest
from c10cli.manifest.load import load_manifest


@pytest.fixture(scope="module")
def everything(torch):
    return import_torch()


@pytest.fixture(scope="module")
def linked(everything, tmp_path_factory):
    path = tmp_path_factory.mktemp("all") / "torch.yaml"
    path.write_text(render_manifest(everything), encoding="utf-8")
    result = load_manifest(path)
    assert result.diagnostics == ()
    return link_manifest(result.manifest)


def test_thousands_of_operators_are_taken_and_load_without_findings(everything, linked):
    assert len(everything.operators) > 3000
    assert len(linked.operators) == len(everything.operators)
    assert [o.decl.schema for o in linked.operators.values()] == [o.schema for o in everything.operators]


def test_nothing_is_lost_without_a_reason(torch, everything):
    known = {
        f"{schema.name}.{schema.overload_name}".removesuffix(".")
        for schema in torch._C._jit_get_all_schemas()
    }
    taken = {str(operator.schema.name) for operator in everything.operators}
    left_out = {entry.name for entry in everything.left_out}
    assert taken | left_out >= known
    assert not taken & left_out


def test_a_key_is_an_operators_where_torch_has_something_to_call(everything):
    keys = {str(operator.schema.name): operator.keys for operator in everything.operators}
    assert keys["aten::add.Tensor"] == ("CPU", "CUDA", "SparseCPU", "Meta")
    assert "CPU" not in keys["aten::_coalesce"]  # of sparse tensors alone


def test_the_origin_is_the_version(torch, everything):
    assert everything.origin == f"torch {torch.__version__}"


def test_select_and_keys_limit_what_is_taken(torch):
    imported = import_torch(["aten::add.*"], ("Meta",))
    names = [str(operator.schema.name) for operator in imported.operators]
    assert names == ["aten::add.Scalar", "aten::add.Scalar_out", "aten::add.Tensor", "aten::add.out"]
    assert {operator.keys for operator in imported.operators} == {("Meta",)}
    assert {entry.name.rpartition(".")[0] for entry in imported.left_out} == {"aten::add"}


def test_every_kernel_is_found_and_takes_the_arguments(linked):
    """A quick one per operator: each is imported and bound to its schema."""
    for operator in linked.operators.values():
        for candidates in operator.variants.values():
            assert callable(operator.bind(candidates[0].kernel).function)
            break


def call(linked, name, *args, **kwargs):
    return linked.find(name).handle.call(*args, **kwargs)


def test_operators_give_what_torch_gives(linked, torch):
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    cases = [
        (call(linked, "aten::add.Tensor", x, y), x + y),
        (call(linked, "aten::add.Tensor", x, y, alpha=2), x + 2 * y),
        (call(linked, "aten::cat", [x, y], 1), torch.cat([x, y], 1)),
        (call(linked, "aten::layer_norm", x, [4]), torch.nn.functional.layer_norm(x, [4])),
        (
            call(linked, "aten::layer_norm", x, [4], x[0], None, 1e-3),
            torch.layer_norm(x, [4], x[0], None, 1e-3),
        ),
        (call(linked, "aten::sum", x), x.sum()),
        (call(linked, "aten::sum", x, dtype=torch.float64), x.sum(dtype=torch.float64)),
        (call(linked, "aten::sum.dim_IntList", x, [0, 1]), x.sum([0, 1])),
        (call(linked, "aten::sum.dim_IntList", x, None, True), x.sum(None, True)),
    ]
    for result, expected in cases:
        torch.testing.assert_close(result, expected, rtol=0, atol=0)


def test_several_results_come_as_a_tuple(linked, torch):
    values, indices = call(linked, "aten::topk", torch.tensor([3.0, 1.0, 2.0]), 2)
    assert (values.tolist(), indices.tolist()) == ([3.0, 2.0], [0, 2])


def test_words_for_dtypes_and_formats_become_torchs_objects(linked, torch):
    x = torch.ones(2)
    assert call(linked, "aten::sum", x, dtype="float64").dtype is torch.float64
    assert call(linked, "aten::to.dtype", x, "float16").dtype is torch.float16
    assert call(linked, "aten::contiguous", x) is x or call(linked, "aten::contiguous", x).equal(x)
    assert call(linked, "aten::empty_like", x, layout="strided").layout is torch.strided


def test_an_argument_called_like_a_keyword_of_python_is_passed(linked, torch):
    x = torch.zeros(50)
    result = call(linked, "aten::random_.from", x, 3, 5)
    assert result is x
    assert set(x.tolist()) == {3.0, 4.0}


def test_sparse_and_meta_tensors_find_their_kernel(linked, torch):
    sparse = torch.eye(2).to_sparse()
    assert call(linked, "aten::add.Tensor", sparse, sparse).to_dense().tolist() == [[2, 0], [0, 2]]
    meta = torch.ones(2, 3, device="meta")
    assert call(linked, "aten::relu", meta).shape == (2, 3)


def test_without_torch_the_import_is_refused(monkeypatch):
    monkeypatch.setattr(torch_import, "is_installed", lambda package: False)
    with pytest.raises(ManifestError) as caught:
        import_torch()
    assert caught.value.code == "C10E101"
