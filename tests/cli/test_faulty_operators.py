"""A fault of one operator does not stop what is asked of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from c10cli import ManifestError, load_registry

GOOD = """\
  - schema: "d::good(Tensor x) -> Tensor"
    kernels: {CPU: k.py:f}
    reference: k.py:f
    cases: [{name: a, inputs: {x: "ones(2)"}}]
"""
LAST = GOOD.replace("good", "last").replace("k.py", "gone.py")
FAULTS = {
    "C10E108": '  - schema: "d::bad(Tensor x) -> Tensor"\n    kernels: {CPUU: k.py:f}\n',
    "C10E103": '  - schema: "d::bad(Tensor x) -> Tensor"\n    cost: {bytes: 1, bytes: 1}\n',
    "C10E204": '  - schema: "d::bad(Tensr x) -> Tensor"\n',
    "C10E104": '  - schema: "d::bad(Tensor x) -> Tensor"\n    kernel: 1\n',
    "C10E111": '  - schema: "d::bad(Tensor x) -> Tensor"\n    cost: {bytes: !!int 1}\n',
    "C10E301": '  - schema: "d::bad(Tensor x) -> Tensor"\n  - schema: "d::bad(Tensor x, int n) -> Tensor"\n',
    "C10E303": "  - {operator: 'd::bad', kernels: {CPU: k.py:f}}\n",
}
LEFT_OUT = "left out for their findings, see `c10 validate`: `d::bad`"


@pytest.fixture
def write(folder):
    Path("k.py").write_text("def f(x):\n    return x + 0\n")

    def write(*operators: str, head: str = "") -> None:
        Path("registry.yaml").write_text(f"version: 1\n{head}operators:\n{''.join(operators)}")

    return write


@pytest.mark.parametrize("code", FAULTS)
@pytest.mark.parametrize("words", [("show",), ("explain",), ("call", "ones(2)")])
def test_what_is_asked_of_an_operator_does_not_stop_for_a_fault_in_another(c10, write, code, words):
    write(GOOD, FAULTS[code], LAST)
    command, *arguments = words
    ran = c10(command, "good", *arguments)
    assert (ran.code, ran.err.splitlines()) == (0, [LEFT_OUT])
    ran = c10(command, "bad", *arguments)
    assert ran.code == 1
    assert f"error[{code}]" in ran.err


def test_what_is_left_out_of_a_registry_that_is_not_used_is_not_told(c10, write):
    write(GOOD)
    Path("registry.yaml").rename("good.yaml")
    write(GOOD, FAULTS["C10E108"])
    assert c10("call", "good", "ones(2)", "--registry", "good.yaml").err == ""


def test_a_file_that_is_not_there_stops_its_own_operator_alone(c10, write):
    write(GOOD, LAST)
    assert c10("call", "good", "ones(2)").code == 0
    assert c10("call", "last", "ones(2)").code == 3


def test_a_benchmark_stops_for_faults_of_what_it_selects(c10, write):
    write(GOOD, FAULTS["C10E108"])
    ran = c10("bench", "good", "--time", "0.01")
    assert ran.code == 0, ran.out
    assert ran.err.splitlines() == [LEFT_OUT]
    for select in ((), ("bad",), ("good", "bad/CPU"), ("d::*",)):
        ran = c10("bench", *select)
        assert (ran.code, "error[C10E108]" in ran.err) == (1, True)


def test_an_unknown_name_is_told_with_the_entries_whose_name_cannot_be_read(c10, write):
    write(GOOD, "  - schema: 5\n  - 7\n")
    ran = c10("show", "five")
    assert ran.code == 2
    assert ran.err.count("error[C10E401]") == 1
    assert ran.err.count("error[C10E106]") == 2
    assert c10("show", "good").err == "left out for their findings, see `c10 validate`: one without a name\n"


@pytest.mark.parametrize(
    ("head", "bad"),
    [("owner: me\n", ""), ("version: 1\n", ""), ("", "  - {schema: &s 'd::bad(Tensr x) -> Tensor'}\n")],
)
def test_a_fault_that_may_concern_all_operators_stops_all(c10, write, head, bad):
    write(GOOD, bad, head=head)
    assert c10("show", "good").code == 1


def test_all_operators_are_listed_and_loaded_or_none(c10, write):
    write(GOOD, FAULTS["C10E204"])
    assert c10("list").code == 1
    with pytest.raises(ManifestError):
        load_registry("registry.yaml")
    registry = load_registry("registry.yaml", partly=True)
    assert [str(linked.decl.name) for linked in registry] == ["d::good"]
    with pytest.raises(ManifestError, match="unknown type `Tensr`"):
        registry["d::bad"]
