"""Every kernel that registry.yaml names, on every case it names, against the operator's reference."""

import functools
from pathlib import Path

import pytest

from c10cli.arrays.keys import DispatchKey
from c10cli.dispatch.kernel import OpKernel
from c10cli.manifest.link import link_manifest
from c10cli.manifest.load import require_manifest
from c10cli.verify.inputs import case_points
from c10cli.verify.reference import check_kernel, expect

REGISTRY = Path(__file__).parents[2] / "registry.yaml"


@functools.cache
def kernels():
    """The registry's kernels; nothing is imported for that."""
    return link_manifest(require_manifest(REGISTRY)).kernels()


@functools.cache
def points(place):
    return list(case_points(kernels()[place][0].decl))


def parameters():
    for place, (linked, candidate) in enumerate(kernels()):
        kernel = candidate.kernel
        for index, point in enumerate(points(place)):
            name = f"{linked.decl.name.base}-{kernel.dispatch_key}-{kernel.name}-{point.label}"
            yield pytest.param(place, index, id=name)


# The reference is slow, and the variants of an operator are judged by the same results.
@functools.lru_cache(maxsize=64)
def expectation(operator, index):
    place = next(p for p, (linked, _) in enumerate(kernels()) if linked.decl.name == operator)
    return expect(kernels()[place][0].decl, points(place)[index])


@pytest.fixture(scope="module")
def bind(needs):
    """A kernel ready to call; skips where this machine lacks what it needs."""

    @functools.cache
    def bind(place):
        linked, candidate = kernels()[place]
        bound = linked.bind(candidate.kernel)
        return OpKernel(linked.handle.calling, DispatchKey(candidate.kernel.dispatch_key), bound)

    def checked(place):
        _, candidate = kernels()[place]
        for package in candidate.kernel.requires:
            needs(package)
        if not candidate.kernel.device.available:
            pytest.skip(candidate.kernel.device.reason)
        return bind(place)

    return checked


@pytest.mark.parametrize(("place", "index"), list(parameters()))
def test_a_kernel_gives_what_the_reference_gives(bind, place, index):
    function = bind(place)
    linked, candidate = kernels()[place]
    expected = expectation(linked.decl.name, index)
    assert expected.returns is not None
    kernel = candidate.kernel
    assert check_kernel(linked.decl, kernel, function, expected) == ()
