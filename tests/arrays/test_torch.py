import inspect

import pytest

from c10cli import RegistrationError
from c10cli.arrays.library import load_library
from c10cli.schema.parser import parse_schema

SCHEMA = parse_schema(
    "t::f(Tensor x, ScalarType dtype=float, Layout? layout=None, *, MemoryFormat format=contiguous_format, "
    "ScalarType[] more=[], str word='float') -> Tensor"
)


with_torch_objects = load_library("torch").adapted


def seen(*args, **kwargs):
    return args, kwargs


def test_words_become_torchs_objects_by_position_and_by_keyword(torch):
    args, kwargs = with_torch_objects(SCHEMA, seen)(
        1, "float16", "strided", format="contiguous_format", more=["int8"], word="float32"
    )
    assert args == (1, torch.float16, torch.strided)
    assert kwargs == {"format": torch.contiguous_format, "more": [torch.int8], "word": "float32"}


def test_what_is_no_word_stays_itself(torch):
    args, kwargs = with_torch_objects(SCHEMA, seen)(1, torch.int8, None, format=0)
    assert args == (1, torch.int8, None)
    assert kwargs == {"format": 0}


def test_a_function_without_such_arguments_is_not_wrapped():
    assert with_torch_objects(parse_schema("t::f(Tensor x, str dtype) -> Tensor"), seen) is seen


def test_the_signature_stays_for_the_check_against_the_schema():
    def f(x, dtype, layout, *, format, more, word): ...

    wrapped = with_torch_objects(SCHEMA, f)
    assert wrapped is not f
    assert inspect.signature(wrapped) == inspect.signature(f)


SUB = "(Tensor {}, Tensor {}, *, Scalar alpha=1) -> Tensor"


def test_an_operator_of_torch_serves_only_a_schema_that_it_fits(torch):
    sub = torch.ops.aten.sub.Tensor
    assert with_torch_objects(parse_schema(f"t::minus{SUB.format('x', 'y')}"), sub) is sub
    with pytest.raises(RegistrationError) as caught:
        with_torch_objects(parse_schema(f"t::minus{SUB.format('other', 'self')}"), sub)
    assert (caught.value.code, caught.value.operator) == ("C10E305", "t::minus")
    assert "it takes `self` where the schema has `other`" in str(caught.value)
