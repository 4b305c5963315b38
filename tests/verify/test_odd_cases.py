"""Cases that expressions alone cannot say: made by functions, for some kernels, compared in another way."""

import numpy as np
import pytest

from c10cli import ManifestError
from c10cli.arrays.evaluate import evaluate
from c10cli.manifest.checks import check_operator
from c10cli.manifest.load import load_manifest, require_manifest
from c10cli.schema.expression import parse_expression
from c10cli.verify.gate import validate
from c10cli.verify.inputs import case_points, copy_tensors, make_arguments, place_case

FILES = {
    "k.py": """
import numpy as np

def plain(x, k): return x * k
def wrong_sign(x, k): return -x * k
def reference(x, k): return x * k
def narrow_only_where_it_was(x, k):
    assert x.dtype in (np.float32, np.float64, np.complex128, np.int64), x.dtype
    return x * k
def first(x, k): return x[:1] * k
def wide(x, k): return x.astype("float64") * k
def wants_its_dtype(x, k):
    assert x.dtype in (np.float64, np.complex128, np.int64), x.dtype
    return x * k
""",
    "makers.py": """
import numpy as np

def rows(rng, dtype, count): return np.sort(rng.random((count, 3)), axis=0).astype(dtype)
def everything(**names): return [float(len(names)), float(names["count"])]
def fails(count): raise OSError("no such table")
def ends(): raise SystemExit(3)
async def later(): return [1.0]
def each(): yield 1.0
def texts(): return np.array([["a"]])
def objects(): return np.array([1, None])
def foreign(): return np.ones(2, ">f4")
def named(rng, dtype): return [float(rng), float(dtype)]
def of_torch():
    import torch
    return torch.ones(2, 3).T
from builtins import int as unreadable
VALUE = 3
""",
    "compare.py": """
def same_size(results, expected, arguments):
    if sorted(arguments) != ["k", "x"]:
        return "the arguments are others"
    if abs(results[0]).tolist() != abs(expected[0]).tolist():
        return "the sizes are others"

def raises(results, expected, arguments): return results[5]
def ends(results, expected, arguments): raise SystemExit(2)
def nothing(results, expected, arguments): pass
def in_place(results, expected, arguments):
    for array in (*results, *expected, arguments["x"]):
        array[...] = 0
    return "all\\nare  0"
def gives(results, expected, arguments): return True
""",
}


@pytest.fixture
def declare(tmp_path):
    """A registry of one operator with *cases* and *more* fields."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def declare(cases, more="reference: k.py:reference", kernels="{CPU: k.py:plain}"):
        path = tmp_path / "registry.yaml"
        path.write_text(
            f"""version: 1
operators:
  - schema: "t::f(Tensor x, int k=2) -> Tensor"
    kernels: {kernels}
    {more}
    cases: [{cases}]
""",
            encoding="utf-8",
        )
        return path

    return declare


def arguments(path):
    decl = require_manifest(path).operators[0]
    return {point.label: make_arguments(decl, point) for point in case_points(decl)}


def codes(path):
    return [(d.code, d.message) for d in validate(path).diagnostics]


def test_a_function_makes_an_input_of_the_names_that_it_takes(declare):
    path = declare("{name: a, sweep: {count: [2, 4]}, dtypes: [float16], inputs: {x: makers.py:rows}}")
    made = arguments(path)
    assert [(label, a["x"].shape, a["x"].dtype.name) for label, a in made.items()] == [
        ("a[count=2]/float16", (2, 3), "float16"),
        ("a[count=4]/float16", (4, 3), "float16"),
    ]
    assert all((np.diff(a["x"], axis=0) >= 0).all() for a in made.values())
    again = arguments(path)
    assert all((a["x"] == again[label]["x"]).all() for label, a in made.items())
    assert codes(path) == []
    path = declare("{name: a, sweep: {count: [2]}, inputs: {x: makers.py:everything}}")
    assert arguments(path)["a[count=2]/float32"]["x"].tolist() == [3, 2]


def test_a_name_of_the_case_comes_before_those_that_every_maker_gets(declare):
    path = declare("{name: a, points: [{rng: 4, dtype: 5}], inputs: {x: makers.py:named}}")
    assert arguments(path)["a[rng=4,dtype=5]/float32"]["x"].tolist() == [4, 5]


def test_what_a_maker_makes_reaches_kernels_of_any_library(declare, needs):
    needs("torch")
    kernels = "{CPU: [k.py:plain, {kernel: k.py:plain, arrays: torch, name: torch}]}"
    path = declare("{name: a, inputs: {x: makers.py:of_torch}}", kernels=kernels)
    assert type(arguments(path)["a/float32"]["x"]) is np.ndarray
    assert codes(path) == []
    assert validate(path).cases == 2


@pytest.mark.parametrize(
    ("maker", "code", "words"),
    [
        ("fails", "C10E110", "which makes the input, raised OSError: no such table"),
        ("missing", "C10E304", "no `missing`"),
        ("VALUE", "C10E310", "maker `VALUE` of `t::f` is a value, not a function"),
        ("ends", "C10E110", "raised SystemExit: 3"),
        ("later", "C10E305", "is an async function, which gives nothing when called"),
        ("each", "C10E305", "is a generator, which gives nothing when called"),
        ("unreadable", "C10E110", "raised ValueError: no signature found"),
        ("texts", "C10E405", "argument `x` of `t::f` holds texts"),
        ("objects", "C10E405", "argument `x` of `t::f` holds Python objects"),
        ("foreign", "C10E405", "argument `x` of `t::f` has a foreign byte order"),
    ],
)
def test_a_maker_that_does_not_make_is_found(declare, maker, code, words):
    path = declare(f"{{name: a, sweep: {{count: [2]}}, inputs: {{x: makers.py:{maker}}}}}")
    (found,) = validate(path).diagnostics
    assert (found.code, words in found.message) == (code, True), found.message
    assert found.span.line == 6


def test_points_are_taken_together_and_with_every_one_of_the_sweep(declare):
    path = declare(
        "{name: a, sweep: {k: [1, 3]}, points: [{r: 2, c: 5}, {r: 1, c: 7}], inputs: {x: 'ones(r, c)', k: k}}"
    )
    assert [(label, a["x"].shape, a["k"]) for label, a in arguments(path).items()] == [
        ("a[r=2,c=5,k=1]/float32", (2, 5), 1),
        ("a[r=1,c=7,k=1]/float32", (1, 7), 1),
        ("a[r=2,c=5,k=3]/float32", (2, 5), 3),
        ("a[r=1,c=7,k=3]/float32", (1, 7), 3),
    ]
    assert codes(path) == []


@pytest.mark.parametrize(
    ("case", "code", "words"),
    [
        ("{name: a, points: [{r: 2}, {c: 3}], inputs: {x: 'ones(r)'}}", "C10E104", "field `c` of point 2"),
        ("{name: a, points: [{r: 2, c: 1}], inputs: {x: 'ones(r)'}}", "C10E110", "`c` in the points of case"),
        ("{name: a, points: [{r: [1]}], inputs: {x: 'ones(r)'}}", "C10E106", "must be a number, a string"),
        ("{name: a, points: [{r: \"a\\nb\"}], inputs: {x: 'ones(r)'}}", "C10E106", "has U+000A in it"),
        ("{name: a, points: [{nan: 1}], inputs: {x: 'ones(2)'}}", "C10E106", "`nan` in point 1 of case `a`"),
        ("{name: a, points: [], inputs: {x: 'ones(2)'}}", "C10E106", "`points` of case `a`"),
        ("{name: a, points: [{r: 1}, {r: '1'}], inputs: {x: 'ones(r)'}}", "C10E103", "point 2 of case `a`"),
        ("{name: a, keys: [], inputs: {x: 'ones(2)'}}", "C10E106", "is an empty list"),
        ("{name: a, inputs: {x: ../makers.py:rows}}", "C10E109", "leaves the folder"),
        ("{name: a, keys: [CUDA], inputs: {x: 'ones(2)'}}", "C10E106", "names `CUDA`, which"),
        (
            "{name: a, variants: [plane], inputs: {x: 'ones(2)'}}",
            "C10E106",
            "names `plane`, which no kernel has",
        ),
    ],
)
def test_faults_of_such_cases_are_found(declare, case, code, words):
    loaded = load_manifest(declare(case))
    found = loaded.findings or check_operator(loaded.manifest.operators[0])[0]
    assert [(f.code, words in f.message) for f in found][:1] == [(code, True)], found


def test_points_and_sweep_together_have_no_more_combinations_than_a_sweep(declare):
    many = f"sweep: {{r: {[*range(200)]}}}, points: {[{'c': c} for c in range(51)]}"
    (found,) = load_manifest(declare(f"{{name: a, {many}, inputs: {{x: 'ones(r, c)'}}}}")).findings
    assert "has 10,200 combinations" in found.message


def test_a_case_is_run_by_the_kernels_that_it_is_for(declare):
    one = "{name: a, variants: [plain], inputs: {x: 'ones(2)'}}"
    cases = f"{one}, {{name: b, keys: [CPU], inputs: {{x: 'zeros(2)'}}}}"
    path = declare(cases, kernels="{CPU: [k.py:plain, k.py:wrong_sign]}")
    assert codes(path) == []  # the wrong one is only asked for zeros
    validation = validate(path)
    assert (validation.run, validation.cases) == (2, 3)


def test_a_reference_gets_its_arguments_in_the_dtype_that_it_is_to_compute_in(declare):
    case = "{name: a, dtypes: [float16, float32, complex64, int64], inputs: {x: 'tensor([1, 2])'}}"
    path = declare(case, "reference: {kernel: k.py:wants_its_dtype, upcast: float64}")
    assert codes(path) == []
    assert codes(declare(case, "reference: k.py:wants_its_dtype"))[0][0] == "C10E508"
    (found,) = load_manifest(declare(case, "reference: {kernel: k.py:reference, upcast: int8}")).findings
    assert found.code == "C10E106"


def test_an_upcast_narrows_nothing_and_is_no_fault_of_returns(declare):
    case = "{name: a, dtypes: [float16, float64, complex128, int64], inputs: {x: 'tensor([1, 2])'}}"
    domain = "domain: {T: number, x: 'T[n]', returns: 'T[n]'}"
    more = f"reference: {{kernel: k.py:narrow_only_where_it_was, upcast: float32}}\n    {domain}"
    assert codes(declare(case, more)) == []


@pytest.mark.parametrize(
    ("compare", "kernel", "found"),
    [
        ("same_size", "wrong_sign", []),
        ("same_size", "plain", []),
        ("raises", "plain", [("C10E508", "raised IndexError")]),
        ("gives", "plain", [("C10E508", "gave True, neither a text nor None")]),
        ("missing", "plain", [("C10E304", "no `missing`")]),
        ("ends", "plain", [("C10E508", "raised SystemExit: 2")]),
        ("nothing", "first", [("C10E504", "the shape is [1] where the reference gives [2]")]),
        ("nothing", "wide", [("C10E504", "the dtype is float64 where the arguments are float32")]),
        ("in_place", "plain", [("C10E504", "in what it gives: all are 0")]),
    ],
)
def test_a_function_compares_instead_of_the_tolerance(declare, compare, kernel, found):
    more = f"reference: k.py:reference\n    compare: compare.py:{compare}"
    told = codes(declare("{name: a, inputs: {x: 'ones(2)'}}", more, f"{{CPU: k.py:{kernel}}}"))
    assert [code for code, _ in told] == [code for code, _ in found]
    assert all(words in message for (_, message), (_, words) in zip(told, found, strict=True)), told


def test_what_a_comparator_says_is_the_finding(declare):
    more = "reference: k.py:reference\n    compare: compare.py:same_size"
    path = declare("{name: a, inputs: {x: 'ones(2)'}}", more)
    (path.parent / "k.py").write_text(
        FILES["k.py"].replace("return x * k", "return x + k", 1), encoding="utf-8"
    )
    ((code, message),) = codes(path)
    assert code == "C10E504"
    assert message.endswith("differs from the reference in what it gives: the sizes are others")


def value(text, dtype="float32"):
    return evaluate(parse_expression(text), {}, dtype, np.random.default_rng(3))


def test_more_functions_fill_arrays():
    assert ((value("uniform(-1, 2, 500)") >= -1) & (value("uniform(-1, 2, 500)") < 2)).all()
    assert value("uniform(0, 5, 100)", "int8").max() == 4
    assert sorted(value("permutation(7)").tolist()) == list(range(7))
    assert value("permutation(7)", "int8").dtype == np.int8
    assert set(value("bernoulli(0.5, 100)").tolist()) == {0.0, 1.0}
    assert value("bernoulli(1, 2)", "bool").tolist() == [True, True]
    assert value("sorted(tensor([[3, 1], [2, 4]]))").tolist() == [[1, 3], [2, 4]]
    assert value("sorted(tensor([[3, 1], [2, 4]]), 0)").tolist() == [[2, 1], [3, 4]]
    assert value("triangular(ones(2, 3))").tolist() == [[1, 0, 0], [1, 1, 0]]
    assert value("triangular(ones(2, 3), 1)").tolist() == [[1, 1, 0], [1, 1, 1]]
    for text in (
        "strided(ones(2), 0)",
        "transposed(ones(2))",
        "sorted(3)",
        "strided(full((), 1), 2)",
        "triangular(ones(3))",
        "bernoulli(2, 3)",
        "bernoulli(nan, 3)",
        "bernoulli(1j, 3)",
    ):
        with pytest.raises(ManifestError, match="C10E110"):
            value(text)


@pytest.mark.parametrize(
    ("text", "strides"),
    [("strided(ones(2, 3), 2)", (24, 8)), ("transposed(ones(2, 3))", (4, 8)), ("ones(2, 3)", (12, 4))],
)
def test_layouts_reach_the_kernel_of_numpy_and_of_torch(declare, needs, text, strides):
    torch = needs("torch")
    path = declare(
        f"{{name: a, inputs: {{x: '{text}'}}}}", kernels="{CPU: {kernel: k.py:plain, arrays: torch}}"
    )
    decl = require_manifest(path).operators[0]
    (point,) = case_points(decl)
    made = make_arguments(decl, point)
    assert made["x"].strides == strides
    assert copy_tensors(made)["x"].strides == strides
    placed = place_case(decl, point, made, decl.kernels[0])["x"]
    assert isinstance(placed, torch.Tensor)
    assert tuple(4 * step for step in placed.stride()) == strides
    assert (placed.numpy() == made["x"]).all()


def test_copies_of_reversed_and_repeated_arrays_lie_as_they_do():
    x = np.arange(12.0).reshape(3, 4)
    for view in (x[::-1], x[:, ::-2], np.broadcast_to(x[:1], (3, 4)), x[:0], x.T[::-1, ::2]):
        copied = copy_tensors(view)
        assert copied.strides == view.strides or not view.size
        assert np.array_equal(copied, view)
        assert not np.shares_memory(copied, x)
