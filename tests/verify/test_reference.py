import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from c10cli import DispatchError, KernelError, RegistrationError, register_tensor_type
from c10cli.manifest.load import require_manifest
from c10cli.verify.difference import tolerance_of
from c10cli.verify.inputs import case_points
from c10cli.verify.reference import check_kernel, expect

KERNEL = SimpleNamespace(name="k", dispatch_key="CPU", arrays="")
REFERENCE = """\
import numpy as np
def plus_one(x):
    return x.astype(np.float64) + 1
def half(x):
    return x.astype(np.float16)
def total(x):
    return x.sum()
def extremes(x):
    return x.min(), x.max()
def two(x):
    return x.copy(), x > 0
def sizes(x):
    return [2, 3]
def text(x):
    return "abc"
def maybe(x):
    return None
buffer = np.zeros(3)
def reuses(x):
    np.add(x, 1, out=buffer)
    return buffer
def gappy(x):
    return [x.copy(), None]
def nested(x):
    return [[x.copy(), x + 1], [x + 2]]
def by_name(x):
    return {"a": x.copy(), "b": x + 1}
def whole(x):
    return x.astype(np.int64)
def wide_whole(x):
    return x.astype(np.int64) + 1
def twins(x):
    return x + 1, x + 1
def pieces(x):
    return [x.copy(), x + 1]
def same(x):
    return x
def views(x):
    return x[::-1], x
def adds_in_place(x):
    x += 1
    return x
def writes(x):
    x += 1
def returns_what_it_wrote(x):
    return x + 1
def bad(x):
    raise ValueError("no")
def changes(x):
    x += 1
    return x.copy()
"""
CASES = "cases: [{name: s, dtypes: [float32], inputs: {x: 'arange(3)'}}]"


@pytest.fixture
def declare(tmp_path):
    """One operator with a reference and its only case point."""
    (tmp_path / "r.py").write_text(REFERENCE, encoding="utf-8")

    def declare(reference, returns="Tensor", argument="Tensor x", fields=""):
        path = tmp_path / "registry.yaml"
        lines = [
            "version: 1",
            "operators:",
            f'  - schema: "t::f({argument}) -> {returns}"',
            f"    {CASES}",
            f"    reference: r.py:{reference}" if reference else "",
            f"    {fields}",
        ]
        path.write_text("\n".join(lines), encoding="utf-8")
        decl = require_manifest(path).operators[0]
        return decl, next(case_points(decl))

    return declare


@pytest.fixture
def facts(declare):
    """What differs between a kernel and a reference, without the words around it."""

    def facts(reference, kernel, **options):
        decl, point = declare(reference, **options)
        found = check_kernel(decl, KERNEL, kernel, expect(decl, point))
        assert {d.code for d in found} <= {"C10E504"}
        return [d.message.partition("the reference in ")[2] for d in found]

    return facts


def test_a_right_kernel_has_no_findings(facts):
    assert facts("plus_one", lambda x: x + 1) == []


def test_a_reference_may_give_numpys_scalars_for_tensors(facts):
    assert facts("total", lambda x: np.asarray(x.sum())) == []
    assert facts(
        "extremes", lambda x: (np.asarray(0, "f"), np.asarray(2.5, "f")), returns="(Tensor a, Tensor b)"
    ) == [
        "return `b`: 1 of 1 elements differ; at [] it is 2.5 where the reference gives 2.0"
        " (rtol 1e-05, atol 1e-06)"
    ]


def test_a_reference_may_give_views_of_its_arguments(facts):
    assert facts("same", lambda x: x.copy()) == []
    assert facts("views", lambda x: (x[::-1].copy(), x.copy()), returns="(Tensor a, Tensor b)") == []
    # Of what it wrote as well: the kernel is compared with what it held then.
    written = {"argument": "Tensor(a!) x", "returns": "Tensor(a!)"}
    assert facts("adds_in_place", lambda x: np.add(x, 1, out=x), **written) == []


def test_a_float_keeps_the_dtype_that_the_arguments_share(facts):
    wide = [lambda x: x + np.float64(1.0) * np.ones(3)]
    said = ["return `0`: the dtype is float64 where the arguments are float32"]
    assert [facts("plus_one", kernel) for kernel in wide] == [said]
    assert facts("plus_one", lambda x: (x + 1).astype(np.float16)) == [said[0].replace("float64", "float16")]
    assert facts("plus_one", wide[0], fields="domain: {returns: any}") == []


def test_a_dtype_that_the_reference_states_is_right_too(facts):
    assert facts("half", lambda x: x.astype(np.float16)) == []
    assert facts("half", lambda x: x.copy()) == []


def test_the_dtype_is_of_the_references_kind(facts):
    assert facts("plus_one", lambda x: (x + 1).astype(np.int32)) == [
        "return `0`: the dtype is int32 where the reference gives float64"
    ]


def test_the_finding_says_how_many_elements_differ_and_where_most(facts):
    assert facts("plus_one", lambda x: x * x + 1) == [
        "return `0`: 1 of 3 elements differ; at [2] it is 5.0 where the reference gives 3.0"
        " (rtol 1e-05, atol 1e-06)"
    ]


def test_a_finding_names_case_arguments_and_kernel(declare):
    decl, point = declare("plus_one")
    (finding,) = check_kernel(decl, KERNEL, lambda x: x.copy(), expect(decl, point))
    assert finding.message.startswith("kernel `k` of `t::f` differs from the reference in return `0`")
    assert finding.place == "case s/float32 of t::f"
    assert finding.notes == ("the arguments are `x`: float32[3]",)


def test_every_return_is_compared_under_its_name(facts):
    found = facts("two", lambda x: (x + 1, x < 0), returns="(Tensor values, Tensor mask)")
    assert [fact.partition(":")[0] for fact in found] == ["return `values`", "return `mask`"]


@pytest.mark.parametrize(
    ("reference", "returns", "value", "fact"),
    [
        ("sizes", "int[]", [2, 3], None),
        ("sizes", "int[]", [2, 4], "element 1: it is 4 where the reference gives 3"),
        ("sizes", "int[]", [2], "1 values where the reference gives 2"),
        ("text", "str", "abc", None),
        ("text", "str", "abd", "it is abd where the reference gives abc"),
        ("maybe", "Tensor?", None, None),
        ("maybe", "Tensor?", np.ones(1), "it is float64[1] where the reference gives None"),
    ],
)
def test_what_is_no_tensor_is_compared_too(facts, reference, returns, value, fact):
    found = facts(reference, lambda x: value, returns=returns)
    assert [f.partition(": ")[2].partition(" (rtol")[0] for f in found] == ([fact] if fact else [])


def test_lists_of_tensors_are_compared_one_by_one(facts):
    assert facts("pieces", lambda x: [x.copy(), x + 1], returns="Tensor[]") == []
    assert facts("pieces", lambda x: [x.copy(), x + 2], returns="Tensor[]") != []


def test_what_is_missing_has_a_place(facts):
    said = ["return `0`: element 0: it is None where the reference gives float32[3]"]
    assert facts("gappy", lambda x: [None, x.copy()], returns="Tensor?[]") == said
    assert facts("gappy", lambda x: [x.copy(), None], returns="Tensor?[]") == []


def test_lists_of_lists_and_dictionaries_are_compared_element_by_element(facts):
    assert facts("nested", lambda x: [[x.copy(), x + 1], [x + 2]], returns="Tensor[][]") == []
    (fact,) = facts("nested", lambda x: [[x.copy(), x + 1], [x + 3]], returns="Tensor[][]")
    assert fact.startswith("return `0`: element 1: element 0: 3 of 3 elements differ")
    kinds = {"returns": "Dict(str, Tensor)"}
    assert facts("by_name", lambda x: {"b": x + 1, "a": x.copy()}, **kinds) == []
    (fact,) = facts("by_name", lambda x: {"a": x.copy(), "b": x + 2}, **kinds)
    assert fact.startswith("return `0`: element 'b': 3 of 3 elements differ")
    (fact,) = facts("by_name", lambda x: {"a": x.copy()}, **kinds)
    assert fact == "return `0`: the keys are 'a' where the reference gives 'a', 'b'"


class Agreeable(np.ndarray):
    """An array that says yes to every question."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return np.ones(self.shape, bool)


def test_a_subclass_of_numpys_array_does_not_compare_itself(facts):
    with pytest.raises(KernelError, match=r"gave Agreeable float32\[3\] for return 0, declared Tensor"):
        facts("plus_one", lambda x: np.zeros(3, "f").view(Agreeable))
    register_tensor_type(Agreeable, "CPU")
    (fact,) = facts("plus_one", lambda x: np.zeros(3, "f").view(Agreeable))
    assert fact.startswith("return `0`: 3 of 3 elements differ")


def test_of_a_masked_array_that_is_taught_the_masked_elements_are_no_values(facts):
    masked = type("Masked", (np.ma.MaskedArray,), {})
    register_tensor_type(masked, "CPU")
    found = facts("plus_one", lambda x: masked(x + 1, [0, 1, 1]))
    assert found == ["return `0`: 2 elements are masked, and so have no value"]
    assert facts("plus_one", lambda x: masked(x + 1)) == []
    assert facts("plus_one", lambda x: masked(x + 2)) != []


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (lambda x: np.ma.masked_array(x + 1), "gave MaskedArray float32[3] for return 0, declared Tensor"),
        (lambda x: (x + 1).astype(object), "gave object[3] for return 0, which holds Python objects"),
        (lambda x: (x + 1).view("i2,i2"), "gave void32[3] for return 0, which holds records"),
        (lambda x: (x + 1).astype(">f4"), "gave >f4[3] for return 0, which has a foreign byte order"),
    ],
)
def test_results_whose_meaning_no_caller_can_see_are_findings(facts, kernel, words):
    with pytest.raises(KernelError, match=re.escape(words)):
        facts("plus_one", kernel)


def test_a_reference_that_writes_into_one_buffer_leaves_earlier_results_alone(declare):
    decl, point = declare("reuses")
    first = expect(decl, point)
    expect(decl, point, arguments={"x": np.full(3, 9, np.float32)})
    assert first.returns[0].tolist() == [1, 2, 3]


def test_what_a_reference_wrote_is_kept_too(declare):
    decl, point = declare("returns_what_it_wrote", returns="Tensor(a!)", argument="Tensor(a!) x")
    expectation = expect(decl, point)
    expectation.returns[0][:] = 9
    assert expectation.written["x"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64"])
def test_an_integer_has_the_references_width(facts, dtype):
    said = [f"return `0`: the dtype is {dtype} where the reference gives int64"]
    assert facts("whole", lambda x: x.astype(dtype)) == said
    assert facts("whole", lambda x: x.astype(dtype), fields="domain: {returns: any}") == []
    assert facts("whole", lambda x: x.astype(np.int64)) == []


def test_a_dtype_is_judged_inside_a_list_too(facts):
    (fact,) = facts("pieces", lambda x: [x.copy(), (x + 1).astype(np.float16)], returns="Tensor[]")
    assert fact == "return `0`: element 1: the dtype is float16 where the arguments are float32"


def test_the_tolerance_is_not_that_of_a_dtype_that_only_the_kernel_chose(facts):
    off = lambda x: ((x + 1) * np.float32(1.002)).astype(np.float16)  # noqa: E731
    assert facts("plus_one", off) != []
    (fact,) = facts(
        "plus_one", lambda x: ((x + 1) * 1.002).astype(np.float64), fields="domain: {returns: any}"
    )
    assert "(rtol 1e-12" in fact
    assert facts("plus_one", off, fields="domain: {returns: any}") == []  # the manifest leaves the dtype open


def test_without_a_floating_argument_no_float_is_coarser_than_float32(facts, declare):
    decl, point = declare("plus_one")
    whole = replace(point, dtype="int32")
    for dtype, found in (("float16", 1), ("float32", 0), ("float64", 0)):
        kernel = lambda x, dtype=dtype: (x + 1).astype(dtype)  # noqa: E731
        assert len(check_kernel(decl, KERNEL, kernel, expect(decl, whole))) == found


@pytest.mark.needs("torch")
def test_results_are_of_the_arguments_library(declare, torch):
    decl, point = declare("plus_one")
    with pytest.raises(KernelError) as caught:
        check_kernel(decl, KERNEL, lambda x: torch.from_numpy(x + 1), expect(decl, point))
    assert caught.value.code == "C10E502"
    assert caught.value.diagnostics[0].message == (
        "kernel `k` of `t::f` gave a torch tensor (float32[3]) for return 0, where the arguments are of numpy"
    )


def test_one_tensor_given_twice_is_refused(declare):
    decl, point = declare("twins", returns="(Tensor a, Tensor b)")

    def kernel(x):
        return (x + 1,) * 2

    with pytest.raises(KernelError) as caught:
        check_kernel(decl, KERNEL, kernel, expect(decl, point))
    assert caught.value.code == "C10E506"
    assert caught.value.diagnostics[0].message == (
        "return `a` and return `b` of kernel `k` of `t::f` share memory"
    )


class Twice:
    """Kernels that are right whenever they are called, and yet not twice."""

    def __init__(self):
        self.kept, self.calls = None, 0

    def reuses_its_buffer(self, x):
        self.kept = np.empty_like(x) if self.kept is None else self.kept
        return np.add(x, 1, out=self.kept)

    def changes_the_call_before(self, x):
        if self.kept is not None:
            self.kept[0] = 7
        self.kept = x
        return x + 1

    def is_right_once(self, x):
        self.calls += 1
        return x + self.calls


@pytest.mark.parametrize(
    ("name", "code", "fact"),
    [
        ("reuses_its_buffer", "C10E506", "is the same memory in every call: the next call overwrites it"),
        ("changes_the_call_before", "C10E505", "changed argument `x` of the call before it"),
    ],
)
def test_a_second_call_leaves_the_first_alone(declare, name, code, fact):
    decl, point = declare("plus_one")
    expectation = expect(decl, point)
    assert check_kernel(decl, KERNEL, getattr(Twice(), name), expectation) == ()
    with pytest.raises(KernelError) as caught:
        check_kernel(decl, KERNEL, getattr(Twice(), name), expectation, twice=True)
    assert caught.value.code == code
    assert fact in caught.value.diagnostics[0].message


def test_a_second_call_is_as_right_as_the_first(declare):
    decl, point = declare("plus_one")
    (finding,) = check_kernel(decl, KERNEL, Twice().is_right_once, expect(decl, point), twice=True)
    assert finding.code == "C10E504"
    assert finding.notes[-1] == "only in the second call with the same contents"


def write(amount):
    def kernel(x):
        x += amount

    return kernel


def test_what_a_kernel_writes_to_its_argument_is_compared(facts):
    options = {"returns": "()", "argument": "Tensor(a!) x"}
    assert facts("writes", write(1), **options) == []
    assert [f.partition(":")[0] for f in facts("writes", write(2), **options)] == ["argument `x`"]


def test_a_kernel_that_returns_the_result_must_also_write_it(facts):
    options = {"returns": "Tensor(a!)", "argument": "Tensor(a!) x"}

    def in_place(x):
        x += 1
        return x

    assert facts("returns_what_it_wrote", in_place, **options) == []
    assert [f.partition(":")[0] for f in facts("returns_what_it_wrote", lambda x: x + 1, **options)] == [
        "argument `x`"
    ]


def test_kernels_work_on_copies_so_that_one_cannot_spoil_the_next(declare):
    decl, point = declare("plus_one")
    expectation = expect(decl, point)
    with pytest.raises(KernelError):
        check_kernel(decl, KERNEL, write(5), expectation)
    assert check_kernel(decl, KERNEL, lambda x: x + 1, expectation) == ()


def test_without_a_reference_only_the_call_itself_is_checked(facts, declare):
    assert facts("", lambda x: x + 7) == []
    decl, point = declare("")
    with pytest.raises(KernelError) as caught:
        check_kernel(decl, KERNEL, lambda x: None, expect(decl, point))
    assert caught.value.code == "C10E502"


def test_a_kernel_that_raises_is_told_with_its_case_and_its_cause(declare):
    decl, point = declare("plus_one")
    with pytest.raises(KernelError) as caught:
        check_kernel(decl, KERNEL, lambda x: 1 / 0, expect(decl, point))
    assert caught.value.code == "C10E501"
    assert caught.value.diagnostics[0].notes[-1] == "in case s/float32"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("reference", "fact"), [("bad", "raised ValueError: no"), ("changes", "changed argument `x`")]
)
def test_a_reference_that_fails_is_found_at_its_place(declare, reference, fact):
    decl, point = declare(reference)
    with pytest.raises(KernelError) as caught:
        expect(decl, point)
    finding = caught.value.diagnostics[0]
    assert finding.code == "C10E508"
    assert finding.message == f"the reference of `t::f` failed on case s/float32: it {fact}"
    assert finding.span == decl.reference.span


def test_a_reference_that_is_not_there_is_found(declare):
    decl, point = declare("nowhere")
    with pytest.raises(RegistrationError) as caught:
        expect(decl, point)
    assert caught.value.code == "C10E304"


def test_a_key_without_a_device_is_refused(declare):
    decl, point = declare("plus_one")
    with pytest.raises(DispatchError) as caught:
        check_kernel(
            decl,
            SimpleNamespace(name="k", dispatch_key="XLA", arrays=""),
            lambda x: x + 1,
            expect(decl, point),
        )
    assert caught.value.code == "C10E607"


def test_tolerance_is_the_manifests_word_or_the_default_or_exact(declare):
    decl, _ = declare("plus_one", fields="tolerance: {float32: {rtol: 0.5, atol: 0}}")
    assert (tolerance_of(decl, "float32").rtol, tolerance_of(decl, "float32").atol) == (0.5, 0.0)
    assert 0 < tolerance_of(decl, "float64").rtol < tolerance_of(decl, "float16").rtol
    assert (tolerance_of(decl, "int64").rtol, tolerance_of(decl, "int64").atol) == (0.0, 0.0)


def test_a_tolerance_of_zero_in_the_manifest_counts(facts):
    slightly = lambda x: np.nextafter(x + 1, np.float32(9))  # noqa: E731
    assert facts("plus_one", slightly) == []
    assert facts("plus_one", slightly, fields="tolerance: {float32: {rtol: 0, atol: 0}}") != []
