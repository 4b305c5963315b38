"""Cases that no manifest has: made from dims."""

import pytest

from c10cli import BenchError, load_registry
from c10cli.bench.plan import MadeCases, make_plan
from c10cli.manifest.discover import shipped_registry


def ids(select, *dims, dtypes=("float32",)):
    return list(make_plan(load_registry(shipped_registry()), select, made=MadeCases(dims, dtypes)).cases)


def test_each_text_and_dtype_is_a_case_of_each_operator_that_has_such_dims():
    assert ids(["softmax/CPU/numpy"], "n=7,33", "n=64", dtypes=("float32", "float16")) == [
        "c10::softmax/CPU/numpy/dims[n=7x33]/float32",
        "c10::softmax/CPU/numpy/dims[n=7x33]/float16",
        "c10::softmax/CPU/numpy/dims[n=64]/float32",
        "c10::softmax/CPU/numpy/dims[n=64]/float16",
    ]
    assert {identity.partition("/")[0] for identity in ids([], "rows=2")} == {"c10::matmul"}


def test_dims_that_no_operator_has_are_told():
    with pytest.raises(BenchError, match="that `softmax` names has a domain with the dims of `m=3`"):
        ids(["softmax"], "m=3")
