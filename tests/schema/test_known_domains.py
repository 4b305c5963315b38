"""Domains of operators that people know: read, printed, bound, and turned into arguments."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from c10cli.arrays.elements import judge_elements
from c10cli.errors import ArgumentError
from c10cli.manifest.discover import shipped_registry
from c10cli.manifest.load import require_manifest
from c10cli.schema.bindings import bind_domain
from c10cli.schema.domain_parser import parse_domain
from c10cli.schema.parser import parse_schema
from c10cli.verify.made_arguments import generate

KNOWN = {
    row["schema"].partition("(")[0]: row
    for row in yaml.safe_load((Path(__file__).parent / "known_domains.yaml").read_text(encoding="utf-8"))
}
_TENSOR = re.compile(r"(\w+)\[([\d, ]*)\]")


class Outline:
    """A tensor without elements, as ``float32[2, 3]`` spells it."""

    def __init__(self, dtype, shape):
        self.dtype, self.shape = type("dtype", (), {"name": dtype})(), shape


def value(given):
    if isinstance(given, list) and given and isinstance(given[0], str):
        return [value(one) for one in given]
    found = _TENSOR.fullmatch(given) if isinstance(given, str) else None
    return Outline(found[1], tuple(map(int, re.findall(r"\d+", found[2])))) if found else given


@pytest.fixture(params=KNOWN)
def known(request):
    """A domain, a row, and what binds the arguments of its call, changed by some."""
    row = KNOWN[request.param]
    schema = parse_schema(row["schema"])
    domain = parse_domain(row["domain"], schema)

    def bind(**changed):
        given = {name: value(one) for name, one in {**row["call"], **changed}.items()}
        is_tensor = lambda one: isinstance(one, Outline)  # noqa: E731
        return bind_domain(domain, schema.bind((), given, is_tensor=is_tensor))

    return domain, row, bind


def test_there_are_sixty_with_the_shipped_ones():
    assert len(KNOWN) + len(require_manifest(shipped_registry()).operators) >= 60


def test_it_prints_as_a_text_that_reads_back(known):
    domain, _, _ = known
    assert parse_domain(domain.as_entry(), domain.schema) == domain


def test_its_returns_follow_from_the_arguments(known):
    domain, row, bind = known
    bound = bind()
    given = []
    for index in range(len(domain.returns)):
        dtype, shape = bound.expected_return(index)
        given.append(f"{dtype}{list(shape)}" if dtype and shape is not None else "open")
    assert given == row["gives"]


def test_what_is_outside_is_refused(known):
    _, row, bind = known
    for changed in row.get("outside", ()):
        with pytest.raises(ArgumentError, match="outside its domain"):
            bind(**changed)


def test_arguments_inside_are_made_of_it_alone(known):
    domain, _, _ = known
    if "float8" in str(domain.as_entry()):
        pytest.importorskip("ml_dtypes", reason="arrays of float8 need ml_dtypes")
    for seed in range(4):
        made = generate(domain, {}, "float32", np.random.default_rng(seed))
        bind_domain(domain, made, judge=judge_elements)
