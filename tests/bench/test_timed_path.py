import numpy as np
import pytest

from c10cli import KernelError
from c10cli.bench.timed_path import TimedPath
from c10cli.manifest.load import require_manifest
from c10cli.verify.inputs import case_points, copy_tensors, place_arguments
from c10cli.verify.reference import expect

REFERENCE = """\
def plus_one(xs):
    return xs[0] + 1
def positive(xs):
    assert xs[0].min() > 0.9
    return xs[0] + 1
"""


@pytest.fixture
def path_of(tmp_path):
    """A timed path of a kernel over one list of tensors, and what is expected of it."""
    (tmp_path / "r.py").write_text(REFERENCE, encoding="utf-8")

    def path_of(kernel, inputs, reference="plus_one", library="", dtype="float32"):
        file = tmp_path / "registry.yaml"
        lines = [
            "version: 1",
            "operators:",
            '  - schema: "t::f(Tensor[] xs) -> Tensor"',
            f"    cases: [{{name: s, dtypes: [{dtype}], inputs: {{xs: '{inputs}'}}}}]",
            f"    reference: r.py:{reference}" if reference else "",
        ]
        file.write_text("\n".join(lines), encoding="utf-8")
        decl = require_manifest(file).operators[0]
        expectation = expect(decl, next(case_points(decl)))
        timed = place_arguments(copy_tensors(expectation.arguments), "CPU", library)
        return TimedPath(decl, "k", kernel, timed), expectation

    return path_of


def remembering():
    results = {}

    def kernel(xs):
        return results.setdefault(id(xs), xs[0] + 1) + 0

    return kernel


@pytest.mark.parametrize("inputs", ["[randn(3)]", "[ones(3)]", "[arange(3), randn(3)]"])
def test_a_result_that_follows_other_contents_is_right(path_of, inputs):
    path, expectation = path_of(lambda xs: xs[0] + 1, inputs)
    path.check(expectation)
    before = expectation.arguments["xs"][0].tolist()
    assert path.check_follows(expectation, seed=1) == "ok"
    assert expectation.arguments["xs"][0].tolist() == before


@pytest.mark.parametrize("inputs", ["[randn(3)]", "[ones(3)]"])
def test_a_kernel_that_knows_its_arguments_by_identity_is_found(path_of, inputs):
    path, expectation = path_of(remembering(), inputs)
    path.check(expectation)
    path.check(expectation)
    with pytest.raises(KernelError) as caught:
        path.check_follows(expectation, seed=1)
    (finding,) = caught.value.diagnostics
    assert finding.code == "C10E504"
    assert finding.message.startswith(
        "the result of kernel `k` of `t::f` did not follow its arguments in return `0`: "
    )
    assert finding.help == "keep no result by the identity of arguments"


@pytest.mark.needs("torch")
def test_tensors_of_other_libraries_get_other_contents_in_place_too(path_of):
    path, expectation = path_of(remembering(), "[randn(3)]", library="torch")
    path.check(expectation)
    with pytest.raises(KernelError, match="did not follow"):
        path.check_follows(expectation, seed=1)


def test_a_wrong_result_of_the_timed_arguments_is_found(path_of):
    path, expectation = path_of(lambda xs: xs[0] + 2, "[ones(3)]")
    with pytest.raises(KernelError) as caught:
        path.check(expectation)
    assert caught.value.code == "C10E504"


@pytest.mark.parametrize(
    ("inputs", "reference", "reason"),
    [
        ("[zeros(3)]", "plus_one", "the arguments have no contents to change in place"),
        ("[ones(3)]", "", "the operator has no reference"),
        ("[ones(3)]", "positive", "the reference of `t::f` failed"),
    ],
)
def test_where_it_cannot_be_seen_there_is_a_reason(path_of, inputs, reference, reason):
    path, expectation = path_of(lambda xs: xs[0] + 1, inputs, reference)
    assert path.check_follows(expectation, seed=1).startswith(f"not checked: {reason}")


def test_arrays_of_jax_which_nothing_changes_in_place_are_not_asked_for_it(path_of):
    path, expectation = path_of(lambda xs: xs[0] + 1, "[randn(3)]")
    stand_in = object()  # for one of jax's, which has no way to write to it either
    path = TimedPath(path._decl, "k", path._call, {"xs": [stand_in]})
    reason = "not checked: the arguments have no contents to change in place"
    assert path.check_follows(expectation, seed=1) == reason


def test_whole_numbers_that_no_seed_changes_are_left_alone(path_of):
    path, expectation = path_of(lambda xs: xs[0] + 1, "[arange(3)]", dtype="int64")
    assert path.check_follows(expectation, seed=1).startswith("not checked")
    assert path.arguments["xs"][0].tolist() == np.arange(3).tolist()
