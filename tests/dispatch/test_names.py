import pytest

from c10cli.dispatch.names import select_name
from c10cli.errors import AmbiguousOverloadError, UnknownOperatorError
from c10cli.schema.parser import parse_name

KNOWN = [parse_name(n) for n in ("c10::add", "c10::add.out", "c10::mul.a", "c10::mul.b", "x::add", "x::only")]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("c10::add", "c10::add"),
        ("c10::add.out", "c10::add.out"),
        ("c10::add.default", "c10::add"),
        ("add.out", "c10::add.out"),
        ("only", "x::only"),
        ("mul.b", "c10::mul.b"),
    ],
)
def test_namespace_and_overload_may_be_left_out_where_one_operator_fits(text, name):
    assert str(select_name(text, KNOWN)) == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add", "`add` may be any of `c10::add`, `c10::add.out`, `x::add`"),
        ("c10::mul", "`c10::mul` may be any of `c10::mul.a`, `c10::mul.b`"),
        ("c10::add.inplace", "`c10::add.inplace` is no overload; there is `c10::add`, `c10::add.out`"),
    ],
)
def test_a_name_that_leaves_the_overload_open_is_refused_with_those_that_fit(text, message):
    with pytest.raises(AmbiguousOverloadError) as caught:
        select_name(text, KNOWN)
    assert str(caught.value) == f"error[C10E402] {message}"
    assert len(caught.value.operators) >= 2


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("c10::ad", "did you mean `c10::add` or `c10::add.out` or `c10::mul.a`?"),
        ("onyl", "did you mean `x::only`?"),
        ("y::only.out", "did you mean `x::only`?"),
        ("qqqqqq", ""),
    ],
)
def test_an_unknown_name_is_refused_with_near_ones(text, help):
    with pytest.raises(UnknownOperatorError) as caught:
        select_name(text, KNOWN)
    assert str(caught.value) == f"error[C10E401] unknown operator `{text}`"
    assert caught.value.diagnostics[0].help == help


@pytest.mark.parametrize(("text", "listed"), [("many", "`x::many.o0`"), ("many.no", "`x::many.o0`")])
def test_of_many_that_fit_eight_are_shown_and_all_are_in_the_data(text, listed):
    known = [parse_name(f"x::many.o{i}") for i in range(12)]
    with pytest.raises(AmbiguousOverloadError) as caught:
        select_name(text, known)
    assert listed in str(caught.value)
    assert str(caught.value).count("`x::many.") == 8
    assert len(caught.value.operators) == 12
    assert caught.value.diagnostics[0].help.endswith(listed)


def test_without_any_operator_the_error_says_so():
    with pytest.raises(UnknownOperatorError) as caught:
        select_name("add", [])
    assert caught.value.diagnostics[0].notes == ("no operator is registered",)
