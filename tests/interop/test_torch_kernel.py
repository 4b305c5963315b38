"""What torch gives a kernel and what it gets back."""

import textwrap

import pytest

START = """
export_to_torch(load_registry("registry.yaml"))
t, folder = torch.ops.t, os.getcwd()
"""


@pytest.fixture
def run(child, registry):
    """`run(manifest, kernels, program)`: the lines that *program* prints after the export."""

    def run(manifest, kernels, program):
        registry(manifest, f"import numpy as np\n{kernels}")
        return child(START + textwrap.dedent(program)).splitlines()

    return run


def test_defaults_are_the_schemas_though_torch_leaves_them_out(run):
    manifest = """\
    - schema: "t::f(Tensor x, int k=3, *, float s=0.5, int[] d=[1, 2]) -> Tensor"
      kernels: {CPU: k.py:f}
    """
    kernels = "def f(x, k=7, *, s=9.0, d=(8,)): return x * 0 + k + s + sum(d)"
    program = "x = torch.zeros(1)\nprint(*(t.f(x).item(), t.f(x, 3).item(), t.f(x, 4, s=1.0, d=[1]).item()))"
    assert run(manifest, kernels, program) == ["6.5 6.5 6.0"]


def test_a_kernel_gets_the_tensors_own_memory_as_an_array(run):
    manifest = """\
    - schema: "t::f(Tensor x, Tensor?[] more, Tensor? none=None) -> bool"
      kernels: {CPU: k.py:f}
    """
    kernels = """
seen = []
def f(x, more, none):
    seen.append((x, more))
    return isinstance(x, np.ndarray) and more[0] is None and none is None
"""
    program = """
x, y = torch.zeros(3, requires_grad=True), torch.zeros(2)
print(t.f(x, [None, y]))
kernel = next(m for m in sys.modules.values() if getattr(m, "__file__", None) == f"{folder}/k.py")
array, more = kernel.seen[0]
array[0] = 5; more[1][1] = 6
print(x.tolist(), y.tolist())
"""
    assert run(manifest, kernels, program) == ["True", "[5.0, 0.0, 0.0] [0.0, 6.0]"]


def test_a_written_argument_is_written_and_given_back_itself(run):
    manifest = """\
    - schema: "t::f_(Tensor(a!) x, *, Tensor(b!) out) -> (Tensor(a!), Tensor(b!))"
      kernels: {CPU: k.py:f}
    """
    kernels = "def f(x, *, out):\n    x += 1\n    out[...] = x\n    return x, out"
    program = """
x, out = torch.zeros(2), torch.zeros(2)
a, b = t.f_(x, out=out)
print(x.tolist(), out.tolist(), a is x, b is out)
"""
    assert run(manifest, kernels, program) == ["[1.0, 1.0] [1.0, 1.0] True True"]


def test_a_result_that_shares_memory_unannounced_is_copied_and_an_announced_view_is_not(run):
    manifest = """\
    - {schema: "t::same(Tensor x) -> Tensor", kernels: {CPU: "k.py:same"}}
    - {schema: "t::part(Tensor x) -> Tensor[]", kernels: {CPU: "k.py:part"}}
    - {schema: "t::view(Tensor(a) x) -> Tensor(a)", kernels: {CPU: "k.py:view"}}
    - {schema: "t::own(Tensor x) -> Tensor", kernels: {CPU: {kernel: "k.py:same", arrays: torch}}}
    - {schema: "t::own_view(Tensor(a) x) -> Tensor(a)", kernels: {CPU: {kernel: "k.py:view", arrays: torch}}}
    """
    kernels = """
def same(x): return x
def part(x): return [x[1:], x[:1]]
def view(x): return x[1:]
"""
    program = """
x = torch.zeros(3)
results = t.same(x), t.part(x)[0], t.view(x), t.own(x), t.own_view(x)
x += 1
print([result.tolist() for result in results])
"""
    expected = "[[0.0, 0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0]]"
    assert run(manifest, kernels, program) == [expected]


def test_results_that_torch_cannot_take_as_they_are_come_right(run):
    manifest = """\
    - schema: "t::f(Tensor x) -> (Tensor a, Tensor b, Tensor c, Tensor? d, float e, int f)"
      kernels: {CPU: k.py:f}
    """
    kernels = """
def f(x):
    fixed = np.broadcast_to(np.float32(2), (2,))
    return np.arange(3.0)[::-1], fixed, np.float64(3), None, np.float32(4), np.int64(5)
"""
    program = """
import warnings
a, b, c, d, e, f = t.f(torch.zeros(1))
print(a.tolist(), b.tolist(), c, c.dtype, d, e, f)
"""
    assert run(manifest, kernels, program) == [
        "[2.0, 1.0, 0.0] [2.0, 2.0] tensor(3., dtype=torch.float64) torch.float64 None 4.0 5"
    ]


@pytest.mark.parametrize(
    ("returns", "result", "message"),
    [
        ("(Tensor, Tensor)", "x, x, x, x", "returned 4"),
        ("(Tensor, Tensor)", "x", "returned"),
        ("Tensor", "None", "gave None for a return that is Tensor"),
        ("Tensor[]", "[x, 3]", "gave"),
        ("()", "x", "returned"),
    ],
)
def test_returns_that_are_not_the_schemas_are_an_error_and_no_crash(run, returns, result, message):
    manifest = f"""\
    - {{schema: "t::f(Tensor x) -> {returns}", kernels: {{CPU: "k.py:f"}}}}
    """
    (line,) = run(manifest, f"def f(x): return {result}", "print(error(lambda: t.f(torch.zeros(1))))")
    assert message in line
    assert "C10E502" in line


def test_words_of_torch_come_as_words_of_the_schema(run):
    manifest = """\
    - schema: "t::f(Tensor x, ScalarType d, Device e, *, Layout l, MemoryFormat m) -> str"
      kernels: {CPU: k.py:f}
    """
    kernels = "def f(x, d, e, *, l, m): return ' '.join([d, e, l, m])"
    program = """
d, e = torch.half, torch.device("cpu:0")
print(t.f(torch.zeros(1), d, e, l=torch.strided, m=torch.contiguous_format))
"""
    assert run(manifest, kernels, program) == ["float16 cpu:0 strided contiguous_format"]


def test_a_dtype_that_numpy_has_not_is_refused_by_name(run):
    manifest = """\
    - {schema: "t::f(Tensor x) -> Tensor", kernels: {CPU: "k.py:f"}}
    """
    program = "print(error(lambda: t.f(torch.zeros(2, dtype=torch.bfloat16))))"
    (line,) = run(manifest, "def f(x): return x", program)
    assert line.startswith("ArgumentError")
    assert "bfloat16[2]" in line


def test_the_kernels_own_exception_comes_through(run):
    manifest = """\
    - {schema: "t::f(Tensor x) -> Tensor", kernels: {CPU: "k.py:f"}}
    """
    kernels = "class Mine(Exception): pass\ndef f(x): raise Mine('so')"
    assert run(manifest, kernels, "print(error(lambda: t.f(torch.zeros(2))))") == ["Mine so"]


def test_a_kernel_keeps_its_cache_in_each_thread(run):
    manifest = """\
    - {schema: "t::f(Tensor x) -> int", kernels: {CPU: {kernel: "k.py:f", cache: "k.py:Count"}}}
    """
    kernels = """
class Count:
    def __init__(self): self.calls = 0
def f(x, cache):
    cache.calls += 1
    return cache.calls
"""
    program = """
x = torch.zeros(1)
print(t.f(x), t.f(x))
other = threading.Thread(target=lambda: print(t.f(x)))
other.start(); other.join()
print(t.f(x))
"""
    assert run(manifest, kernels, program) == ["1 2", "1", "3"]


def test_a_kernel_is_imported_at_its_first_call(run):
    manifest = """\
    - {schema: "t::f(Tensor x) -> Tensor", kernels: {CPU: "broken.py:f"}}
    """
    (line,) = run(manifest, "", "print(error(lambda: t.f(torch.zeros(2))))")
    assert "kernel file `broken.py` does not exist" in line


def test_a_boxed_kernel_works_too(run):
    manifest = """\
    - {schema: "t::f(Tensor x, int k=2) -> Tensor", kernels: {CPU: {kernel: "k.py:f", boxed: true}}}
    """
    kernels = "def f(stack, cache):\n    k, x = stack.pop(), stack.pop()\n    stack.append(x * k)"
    assert run(manifest, kernels, "print(t.f(torch.ones(2)).tolist())") == ["[2.0, 2.0]"]


def test_a_conjugated_tensor_comes_with_its_values(run):
    manifest = """\
    - {schema: "t::f(Tensor x) -> Tensor", kernels: {CPU: "k.py:f"}}
    """
    program = "print(t.f(torch.tensor([1 + 2j]).conj()).tolist())"
    assert run(manifest, "def f(x): return x + 0", program) == ["[(1-2j)]"]


def test_of_several_kernels_the_first_that_takes_the_call_runs_and_where_none_does_each_is_told_why(run):
    manifest = """\
    - schema: "t::f(Tensor x, *, ScalarType? dtype=None) -> Tensor"
      domain: {T: any, x: "T[*n, d]"}
      kernels:
        CPU:
          - {kernel: k.py:one, when: "d <= 8"}
          - {kernel: k.py:two, arrays: torch, when: "dtype == float16"}
          - {kernel: k.py:three, arrays: torch, when: "T == float64"}
    """
    kernels = "\n".join(
        f"def {name}(x, *, dtype): return x + {at}" for at, name in enumerate(["one", "two", "three"], 1)
    )
    program = """
    half, double = {"dtype": torch.half}, torch.zeros(9, dtype=torch.float64)
    print(*(t.f(x, **o)[0].item() for x, o in [(torch.zeros(2), {}), (torch.zeros(2), half), (double, {})]))
    try:
        t.f(torch.zeros(9))
    except Exception as refused:
        print(refused.code, *refused.diagnostics[0].notes, sep="\\n")
    """
    assert run(manifest, kernels, program) == [
        "1.0 2.0 3.0",
        "C10E413",
        "`two`: `dtype == float16` is false: dtype is None",
        "`three`: `T == float64` is false: T is float32, from x float32[9]",
        "`one`: `d <= 8` is false: d is 9, from x float32[9]",
    ]
