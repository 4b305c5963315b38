"""Exported operators under torch.compile: shapes and dtypes from the domain, and no silent gradients."""

import pytest

from c10cli import load_registry
from c10cli.interop.torch_fake import why_no_fake
from c10cli.manifest.discover import shipped_registry
from c10cli.schema.domain_parser import parse_domain
from c10cli.schema.parser import parse_schema

REGISTRY = """version: 1
operators:
  - schema: "fakes::mixed(Tensor x, Tensor? bias, ScalarType? dtype=None) -> (Tensor, Tensor)"
    domain: {T: floating, x: "T[*n, d]", bias: "T[d]", returns: ["dtype or T[*n, d]", "int64[*n]"]}
    kernels: {CPU: {kernel: k.py:mixed, arrays: torch}}
  - schema: "fakes::scale_(Tensor(a!) self, float by) -> Tensor(a!)"
    kernels: {CPU: {kernel: k.py:scale_, arrays: torch}}
  - schema: "fakes::few(Tensor x) -> Tensor"
    domain: {x: "any[rows, d]", returns: "float32[rows]"}
    kernels:
      CPU:
        - {kernel: k.py:short, arrays: torch, when: "d <= 4"}
        - {kernel: k.py:plain, arrays: torch}
  - schema: "fakes::open(Tensor x) -> Tensor"
    kernels: {CPU: {kernel: k.py:plain, arrays: torch}}
"""
KERNELS = """
def mixed(x, bias, dtype):
    y = x if bias is None else x + bias
    return y.clone() if dtype is None else y.to(dtype, copy=True), y.argmax(-1)

def scale_(self, by):
    return self.mul_(by)

def short(x):
    return x.sum(1) * 0 - 1

def plain(x):
    return x.sum(1)
"""
CHECKS = """
export_to_torch(load_registry(shipped_registry()))
x = torch.randn(4, 8)
calls = {
    "add": (x, torch.randn(8)), "mul": (x, x), "relu": (x,), "gelu": (x,), "softmax": (x,),
    "layer_norm": (x,), "matmul": (x, torch.randn(2, 8, 3)), "topk": (x, 3), "cat": ([x, x[:2].clone()],),
}
for name, args in calls.items():
    found = torch.library.opcheck(getattr(torch.ops.c10, name).default, args)
    assert set(found.values()) == {"SUCCESS"}, found
print(len(calls), len(load_registry(shipped_registry())))
"""
COMPILED = """
export_to_torch(load_registry(shipped_registry()))
export_to_torch(load_registry("registry.yaml"))
c10, fakes = torch.ops.c10, torch.ops.fakes

def function(x, row):
    output, mean, _ = c10.layer_norm(c10.add(x, row))
    values, indices = c10.topk(c10.cat([output, x], 1), 3)
    wide, best = fakes.mixed(c10.softmax(c10.gelu(values)), None, torch.float64)
    biased, _ = fakes.mixed(c10.relu(x), row)
    product = c10.matmul(x, c10.mul(x, x).t().contiguous())
    return wide, best, indices, biased, mean.sum() + product, fakes.few(x)

for dynamic in (False, True):
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for rows in (4, 5, 7):
        x, row = torch.randn(rows, 8), torch.randn(8)
        for ours, theirs in zip(function(x, row), compiled(x, row), strict=True):
            assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)
broken = torch.compile(lambda x: fakes.open(x) * 2, backend="eager")  # not in one graph, and right
assert torch.equal(broken(torch.ones(2, 3)), torch.full((2,), 6.0))
print(fakes.few(torch.ones(2, 4)).tolist(), fakes.few(torch.ones(2, 5)).tolist())
"""
META = """
export_to_torch(load_registry("registry.yaml"))
x = torch.empty(3, 4, 5, device="meta")
wide, best = torch.ops.fakes.mixed(x, None, torch.float16)
print(wide.device, wide.dtype, tuple(wide.shape), best.dtype, tuple(best.shape))
"""
GRADIENT = """
export_to_torch(load_registry(shipped_registry()))
x = torch.randn(2, 3, requires_grad=True)
try:
    torch.ops.c10.softmax(x).sum().backward()
except NotImplementedError as error:
    print(error)
"""


@pytest.fixture
def run(torch, child, tmp_path, monkeypatch):
    """What a program prints beside the registry above."""
    (tmp_path / "registry.yaml").write_text(REGISTRY, encoding="utf-8")
    (tmp_path / "k.py").write_text(KERNELS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return lambda program: child(program).strip()


def test_torch_finds_every_shipped_operator_right(run):
    checked, known = map(int, run(CHECKS).split())
    assert checked == known


def test_operators_are_compiled_in_one_graph_with_dynamic_sizes_too(run):
    assert run(COMPILED) == "[-1.0, -1.0] [5.0, 5.0]"


def test_tensors_without_data_get_results_without_data(run):
    assert run(META) == "meta torch.float16 (3, 4, 5) torch.int64 (3, 4)"


def test_a_gradient_that_nobody_wrote_is_refused_and_not_left_out(run):
    assert run(GRADIENT) == "`c10::softmax` was exported by c10cli without a gradient"


@pytest.mark.parametrize(
    ("schema", "returns", "why"),
    [
        ("t::f(Tensor x) -> Tensor", None, "the domain has no `returns`"),
        ("t::f(Tensor x) -> Tensor", "int8", "`int8` under `returns` leaves shape or dtype open"),
        ("t::f(Tensor x) -> Tensor", "any[2]", "`any[2]` under `returns` leaves shape or dtype open"),
        ("t::f(Tensor x) -> Tensor[]", "int8[2] each", "`int8[2] each` under `returns` leaves"),
        ("t::f(Tensor x) -> Tensor", "int8[2]", ""),
        ("t::f(Tensor(a!) x) -> Tensor(a!)", None, ""),
        ("t::f(Tensor(a!) x) -> ()", None, ""),
    ],
)
def test_why_an_operator_has_no_fake_kernel(schema, returns, why):
    parsed = parse_schema(schema)
    domain = parse_domain({"returns": returns}, parsed) if returns else None
    assert why_no_fake(parsed, domain).startswith(why)
    assert bool(why_no_fake(parsed, domain)) == bool(why)


def test_every_shipped_operator_has_a_fake_kernel():
    for linked in load_registry(shipped_registry()):
        assert why_no_fake(linked.decl.schema, linked.decl.domain) == ""
