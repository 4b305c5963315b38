import pytest

from c10cli import BenchError, load_registry
from c10cli.bench.outcome import Skipped
from c10cli.bench.plan import make_plan

REGISTRY = """\
version: 1
operators:
  - schema: "t::add(Tensor x) -> Tensor"
    kernels:
      CPU: [{kernel: k.py:f, name: fast}, {kernel: k.py:f, name: plain}]
      XLA: {kernel: k.py:f, name: far}
    cases:
      - {name: small, sweep: {n: [1, 2]}, dtypes: [float32, float64], inputs: {x: 'ones(n)'}}
      - {name: untimed, bench: false, inputs: {x: 'ones(1)'}}
  - schema: "t::mul(Tensor x) -> Tensor"
    kernels: {CPU: {kernel: k.py:f, name: lost, requires: [no_such_package]}}
    cases: [{name: one, inputs: {x: 'ones(1)'}}]
  - schema: "t::idle(Tensor x) -> Tensor"
    kernels: {CPU: k.py:f}
"""


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "registry.yaml"
    path.write_text(REGISTRY, encoding="utf-8")
    return load_registry(path)


def ids(plan):
    return [*plan.cases]


def small(variant):
    return [f"t::add/CPU/{variant}/small[n={n}]/float{bits}" for n in (1, 2) for bits in (32, 64)]


def test_a_plan_holds_every_timed_case_of_every_kernel_with_a_device(registry):
    plan = make_plan(registry)
    assert ids(plan) == small("fast") + small("plain")
    assert all(case.result.id == identity for identity, case in plan.cases.items())


def test_a_batch_is_one_kernel(registry):
    assert [[*batch] for batch in make_plan(registry).batches()] == [small("fast"), small("plain")]


def test_kernels_that_cannot_run_here_are_left_out_with_the_reason(registry):
    assert make_plan(registry).skipped == (
        Skipped("t::add", "XLA", "far", "c10cli makes no XLA tensors", "C10E607"),
        Skipped("t::mul", "CPU", "lost", "needs `no_such_package`, not installed", "C10E607"),
    )


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        (["fast"], small("fast")),
        (["n=2]/float64"], [small("fast")[3], small("plain")[3]]),
        (["CPU/plain", "fast/small[n=1]/float32"], [small("fast")[0], *small("plain")]),
        (["*plain*"], small("plain")),
        (["t::add/*/small[n=?]/float32"], [*small("fast")[::2], *small("plain")[::2]]),
    ],
)
def test_parts_of_an_id_and_patterns_for_all_of_it_select(registry, select, expected):
    assert ids(make_plan(registry, select)) == expected


def test_selecting_only_what_cannot_run_gives_a_plan_of_skips(registry):
    plan = make_plan(registry, ["mul"])
    assert plan.cases == {}
    assert [s.variant for s in plan.skipped] == ["lost"]


def test_what_was_done_before_is_left_out(registry):
    plan = make_plan(registry, done=[*small("fast"), small("plain")[0]])
    assert ids(plan) == small("plain")[1:]


def test_when_all_was_done_before_nothing_is_left_and_nothing_is_wrong(registry):
    assert make_plan(registry, ["fast"], done=small("fast")).cases == {}


@pytest.mark.parametrize("pattern", ["adn", "add/fast*", "float3?"])
def test_a_selection_of_nothing_is_refused_with_examples(registry, pattern):
    with pytest.raises(BenchError) as caught:
        make_plan(registry, [pattern])
    (finding,) = caught.value.diagnostics
    assert finding.code == "C10E601"
    assert finding.message == f"no case matches `{pattern}`"
    assert finding.notes[0] == f"a case is called `{small('fast')[0]}`"


def test_the_examples_are_those_that_are_nearest(registry):
    with pytest.raises(BenchError) as caught:
        make_plan(registry, ["mul/*/float16"])
    assert caught.value.diagnostics[0].notes[0] == "a case is called `t::mul/CPU/lost/one/float32`"


def test_near_names_are_offered_for_a_misspelt_operator(registry):
    with pytest.raises(BenchError) as caught:
        make_plan(registry, ["ad", "mull"][1:])
    assert caught.value.diagnostics[0].help == "did you mean `mul` or `t::mul`?"


def test_a_registry_without_timed_cases_is_refused(tmp_path):
    path = tmp_path / "registry.yaml"
    path.write_text(REGISTRY[: REGISTRY.index("    cases:")], encoding="utf-8")
    with pytest.raises(BenchError) as caught:
        make_plan(load_registry(path))
    assert caught.value.diagnostics[0].message == "the registry has no cases"
    assert caught.value.diagnostics[0].help == "add `cases:` to the operators"


def test_points_whose_values_are_equal_are_cases_of_their_own(tmp_path):
    path = tmp_path / "registry.yaml"
    path.write_text(REGISTRY.replace("sweep: {n: [1, 2]}", "sweep: {n: [1, true, 1.0]}"), encoding="utf-8")
    cases = make_plan(load_registry(path), ["add/CPU/fast"], done=small("fast")[:1]).cases
    assert {repr(case.point.values["n"]) for case in cases.values()} == {"1", "True", "1.0"}
    assert len(cases) == 5


def test_two_cases_of_one_id_are_refused(tmp_path):
    case = "{name: 'small[n=1]', inputs: {x: 'ones(1)'}}"
    path = tmp_path / "registry.yaml"
    path.write_text(REGISTRY.replace("      - {name: untimed", f"      - {case}\n      - {{name: untimed"))
    with pytest.raises(BenchError) as caught:
        make_plan(load_registry(path))
    assert caught.value.code == "C10E604"
    assert caught.value.diagnostics[0].message == "two cases are called `t::add/CPU/fast/small[n=1]/float32`"
