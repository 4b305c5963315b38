import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from c10cli.diff.schemas import compare_schemas, plain_alias, plain_type
from c10cli.errors import ArgumentError, SchemaError
from c10cli.schema.model import CHANGE_KINDS, AliasInfo, Argument
from c10cli.schema.parser import parse_schema
from c10cli.schema.types import INT

CASES = Path(__file__).parents[3] / "shared" / "cases" / "compat.jsonl"

# Where torch calls a change forward compatible and we do not: it looks at neither.
TORCH_IS_WRONG = {
    "CO010": "a needed argument is removed: `any(x, b=b)` is refused by the old schema",
    "CO073": "the two returns have changed places",
}


def compared(old, new):
    return compare_schemas(parse_schema(old, "torch"), parse_schema(new, "torch"))


def verdict_of(changes):
    """Whether all of them are backward compatible, and whether all are forward compatible."""
    return all(c.backward for c in changes), all(c.forward for c in changes)


def verdicts(old, new):
    changes = compared(old, new)
    return [c.what for c in changes], *verdict_of(changes)


YES_YES, YES_NO, NO_YES, NO_NO = (True, True), (True, False), (False, True), (False, False)


@pytest.mark.parametrize(
    ("old", "new", "what", "verdict"),
    [
        # Arguments that come and go.
        ("f(Tensor x) -> ()", "f(Tensor x, *, int n=1) -> ()", "argument-added", YES_YES),
        ("f(Tensor x) -> ()", "f(Tensor x, int n=1) -> ()", "argument-added", YES_YES),
        ("f(Tensor x) -> ()", "f(Tensor x, int[]? n=None) -> ()", "argument-added", YES_YES),
        ("f(Tensor x) -> ()", "f(Tensor x, int[] n=[1]) -> ()", "argument-added", YES_NO),
        ("f(Tensor x) -> ()", "f(Tensor x, int n) -> ()", "argument-added", NO_NO),
        ("f(Tensor x, *, int k) -> ()", "f(Tensor x, int n=1, *, int k) -> ()", "argument-added", NO_NO),
        ("f(Tensor x, *, int k) -> ()", "f(Tensor x, *, int n=1, int k) -> ()", "argument-added", NO_NO),
        ("f(Tensor x) -> ()", "f(Tensor x, *, Tensor(a!) out) -> ()", "argument-added", NO_NO),
        ("f(*, Tensor(a!) o) -> ()", "f(*, Tensor(a!) o, Tensor(b!) p) -> ()", "argument-added", NO_NO),
        (
            "f(*, Tensor(a!) o) -> ()",
            "f(*, Tensor(a!) o, Tensor(b!)? p=None) -> ()",
            "argument-added",
            YES_NO,
        ),
        ("f(*, Tensor(a!) o) -> ()", "f(*, int n=1, Tensor(a!) o) -> ()", "argument-added", YES_YES),
        ("f(*, Tensor(a!) o) -> ()", "f(*, Tensor(b!) n, Tensor(a!) o) -> ()", "argument-added", NO_NO),
        ("f(*, int n) -> ()", "f(*, Tensor(a!) o, int n) -> ()", "argument-added", NO_NO),
        ("f(*, Tensor(a!) o) -> ()", "f(*, Tensor(a!) o, int n) -> ()", "argument-added", NO_NO),
        ("f(*, Tensor(a!) o) -> ()", "f(*, Tensor(a!) o, int n=1) -> ()", "argument-added", YES_NO),
        ("f(Tensor x, int n=1) -> ()", "f(Tensor x) -> ()", "argument-removed", NO_YES),
        ("f(Tensor x, int n) -> ()", "f(Tensor x) -> ()", "argument-removed", NO_NO),
        ("f(int m=1, int n=1) -> ()", "f(int n=1) -> ()", "argument-removed", NO_NO),
        ("f(*, Tensor(a!) o) -> ()", "f() -> ()", "argument-removed", NO_NO),
        # Arguments that change.
        ("f(int a) -> ()", "f(int b) -> ()", "argument-renamed", NO_NO),
        ("f(int a, int b) -> ()", "f(int b, int a) -> ()", "argument-moved", NO_NO),
        ("f(*, int a, int b) -> ()", "f(*, int b, int a) -> ()", "argument-moved", NO_NO),
        ("f(int a) -> ()", "f(int? a) -> ()", "argument-type", YES_NO),
        ("f(int a) -> ()", "f(Scalar a) -> ()", "argument-type", YES_NO),
        ("f(int? a) -> ()", "f(int a) -> ()", "argument-type", NO_YES),
        ("f(int a) -> ()", "f(str a) -> ()", "argument-type", NO_NO),
        ("f(int[] a) -> ()", "f(int?[] a) -> ()", "argument-type", NO_NO),
        ("f(ScalarType a) -> ()", "f(int a) -> ()", "argument-type", NO_NO),
        ("f(int[] a) -> ()", "f(int[2] a) -> ()", "argument-size", NO_NO),
        ("f(Tensor a) -> ()", "f(Tensor(a!) a) -> ()", "argument-alias", NO_NO),
        ("f(Tensor(a!) a) -> ()", "f(Tensor(a) a) -> ()", "argument-alias", NO_NO),
        ("f(int a) -> ()", "f(int a=1) -> ()", "argument-default", YES_NO),
        ("f(int a=1) -> ()", "f(int a) -> ()", "argument-default", NO_NO),
        ("f(int a=1) -> ()", "f(int a=2) -> ()", "argument-default", NO_NO),
        ("f(Scalar a=1) -> ()", "f(Scalar a=1.0) -> ()", "argument-default", NO_NO),
        ("f(*, int a) -> ()", "f(int a) -> ()", "argument-keyword-only", YES_YES),
        ("f(int a) -> ()", "f(*, int a) -> ()", "argument-keyword-only", NO_NO),
        ("f(*, Tensor(a!) o) -> ()", "f(Tensor(a!) o) -> ()", "argument-keyword-only", NO_NO),
        # Returns.
        ("f() -> Tensor", "f() -> (Tensor, Tensor)", "return-count", NO_NO),
        ("f() -> Tensor?", "f() -> Tensor", "return-type", YES_NO),
        ("f() -> Tensor", "f() -> Tensor?", "return-type", NO_YES),
        ("f() -> Tensor", "f() -> int", "return-type", NO_NO),
        ("f() -> Tensor a", "f() -> Tensor", "return-name", NO_YES),
        ("f() -> Tensor", "f() -> Tensor a", "return-name", NO_NO),
        ("f() -> Tensor a", "f() -> Tensor b", "return-name", NO_NO),
        ("f(Tensor(a) x) -> Tensor", "f(Tensor(a) x) -> Tensor(a)", "return-alias", NO_NO),
        ("f() -> int[2]", "f() -> int[]", "return-size", NO_NO),
        # The whole.
        ("f(Tensor x, ...) -> ()", "f(Tensor x) -> ()", "vararg", NO_NO),
        ("f() -> ...", "f() -> ()", "vararg", NO_NO),
        ("f(Tensor x) -> ()", "f.o(Tensor x) -> ()", "name", NO_NO),
    ],
)
def test_a_change_has_one_change_with_its_verdict(old, new, what, verdict):
    assert verdicts(old, new) == ([what], *verdict)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("f(Tensor! x) -> ()", "f(Tensor! x) -> ()"),
        ("f(float a=nan) -> ()".replace("nan", "1.0"), "f(float a=1) -> ()"),
        ("f(int[2] a=1) -> ()", "f(int[2] a=[1, 1]) -> ()"),
    ],
)
def test_two_spellings_of_one_schema_do_not_differ(old, new):
    assert compared(old, new) == ()


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("f(int a=1) -> ()", "f(SymInt a=1) -> ()", "argument 0 `a`"),
        ("f(SymInt[]? a) -> ()", "f(int[]? a) -> ()", "argument 0 `a`"),
        ("f(Tensor x) -> (int, int)", "f(Tensor x) -> (int, SymInt)", "return 1"),
    ],
)
def test_an_int_that_becomes_symbolic_is_told_and_breaks_nobody(old, new, where):
    (change,) = compared(old, new)
    assert (change.where, change.backward, change.forward) == (where, True, True)
    assert change.what == f"{where.partition(' ')[0]}-type"
    assert change.why == "both take the same values"


def test_a_fresh_alias_set_does_not_differ_for_its_number():
    old, new = "f(Tensor! x) -> ()", "f(Tensor! x, Tensor? y=None) -> ()"
    assert verdicts(old, new) == (["argument-added"], True, True)
    assert verdicts("f(Tensor! x, Tensor! y) -> ()", "f(Tensor! y) -> ()")[0] == ["argument-removed"]


def test_a_nan_default_is_the_same_default():
    text = "c10::f(Tensor x, float n=nan) -> Tensor"
    assert compare_schemas(parse_schema(text), parse_schema(text)) == ()


def test_a_change_names_its_argument_its_place_and_what_to_do():
    old = parse_schema("c10::f(Tensor x, int alpha=1) -> Tensor")
    new = parse_schema("c10::f(Tensor x, int alpha=2) -> Tensor")
    (change,) = compare_schemas(old, new)
    assert change.where == "argument 1 `alpha`"
    assert change.subject == "alpha"
    assert change.message == "the default of `alpha` is `2`, and was `1`"
    assert change.why == "calls that leave it out compute something else"
    assert change.todo == "keep the default `1`"
    assert old.text[slice(*change.old_span)] == "int alpha=1"
    assert new.text[slice(*change.new_span)] == "int alpha=2"


def test_changes_stand_in_the_order_of_the_new_schema_and_what_is_gone_comes_last():
    changes = compared("f(int a, int? b, str c) -> int", "f(int? a, int b) -> str")
    assert [(f.what, f.where) for f in changes] == [
        ("argument-type", "argument 0 `a`"),
        ("argument-type", "argument 1 `b`"),
        ("argument-removed", "argument 2 `c`"),
        ("return-type", "return 0"),
    ]


def test_an_inserted_argument_is_one_change_not_one_for_each_that_moves():
    changes = compared("f(int a, int b, int c) -> ()", "f(int z, int a, int b, int c) -> ()")
    assert [(f.what, f.subject) for f in changes] == [("argument-added", "z")]


def test_only_the_argument_that_left_its_place_has_moved():
    changes = compared("f(int a, int b, int c) -> ()", "f(int b, int c, int a) -> ()")
    assert [(f.what, f.subject) for f in changes] == [("argument-moved", "a")]


def test_a_rename_with_a_changed_default_is_two_changes():
    changes = compared("f(int a=1) -> ()", "f(int b=2) -> ()")
    assert {f.what for f in changes} == {"argument-renamed", "argument-default"}


def test_names_given_twice_are_paired_in_order():
    changes = compared("f(int a, Tensor a) -> ()", "f(int? a, Tensor? a) -> ()")
    assert [f.where for f in changes] == ["argument 0 `a`", "argument 1 `a`"]
    assert all(f.backward for f in changes)


def test_where_torch_is_not_followed_the_change_says_so():
    removed = compared("f(Tensor x, int n) -> ()", "f(Tensor x) -> ()")
    returned = compared("f() -> Tensor", "f() -> int")
    added = compared("f(Tensor x) -> ()", "f(Tensor x, *, Tensor(a!) out) -> ()")
    assert all("torch" in change.why for change in (*removed, *returned, *added))


def test_a_needed_out_argument_breaks_every_caller_though_torch_lets_it_pass(torch):
    old, new = "f(Tensor x) -> ()", "f(Tensor x, *, Tensor(a!) out) -> ()"
    parse = torch._C.parse_schema
    assert parse(new).is_backward_compatible_with(parse(old))
    (change,) = compared(old, new)
    assert (change.backward, change.forward) == (False, False)
    assert change.why.startswith("calls do not pass `out`, which has no default; torch counts")
    assert change.todo == "declare the new schema as another overload, and keep this one"


def test_a_schema_built_by_hand_has_changes_without_places():
    old = replace(parse_schema("c10::f() -> ()"), arguments=(Argument("a", INT),), text="")
    (change,) = compare_schemas(old, replace(old, arguments=()))
    assert (change.old_span, change.new_span) == (None, None)


def test_thousands_of_arguments_in_reverse_are_compared_at_once():
    names = [f"a{i}" for i in range(3000)]
    old, new = (f"f({', '.join(f'int {n}' for n in order)}) -> ()" for order in (names, names[::-1]))
    changes = compared(old, new)
    assert len(changes) == 2999
    assert {f.what for f in changes} == {"argument-moved"}


@pytest.mark.skipif(not CASES.is_file(), reason="the shared cases are not beside the checkout")
def test_the_shared_cases_are_judged_as_recorded():
    differ = {}
    for line in CASES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        _, backward, forward = verdicts(row["old"], row["new"])
        assert backward == row["expect"]["backward"], row["id"]
        if forward != row["expect"]["forward"]:
            differ[row["id"]] = forward
    assert differ == dict.fromkeys(TORCH_IS_WRONG, False)


# Differential and property tests: schemas, and schemas one or two changes away.

BASES = [
    "f(Tensor x, int a, int b=1, *, Scalar c=2, Tensor? d=None) -> Tensor",
    "f(Tensor x, float[] a, int[2] b=[1, 1], *, str s='x') -> (Tensor out, int n)",
    "f(Tensor(a!) self, Tensor y, *, int n=1) -> Tensor(a!)",
    "f.out(Tensor x, int? a=None, *, bool flag=False, Tensor(a!) o, Tensor(b!) p) -> (Tensor(a!), int)",
    "f(Tensor[] xs, (int, int?) p, Union(int, str) u, ScalarType? t=None) -> Tensor?[]",
]
TYPES = ["Tensor", "Tensor?", "int", "SymInt", "int?", "float", "Scalar", "Scalar?", "bool", "str"]
TYPES += ["int[]", "int[]?", "int?[]", "Any", "ScalarType"]


def mutants(text):
    """Schemas one change away from *text*, most of them of a kind that torch can parse."""
    schema = parse_schema(text, "torch")
    arguments, returns = schema.arguments, schema.returns
    types = [parse_schema(f"f({t} x) -> ()", "torch").arguments[0].type for t in TYPES]
    fresh = [parse_schema(f"f({a}) -> ()", "torch").arguments[0] for a in ("int z", "int z=1", "int[] z=[1]")]
    fresh += parse_schema("f(*, int z, int z=1, Tensor(z!) z) -> ()", "torch").arguments
    for i, argument in enumerate(arguments):
        rest = arguments[:i], arguments[i + 1 :]
        bare = replace(argument, has_default=False, default=None)
        changed = [replace(argument, name="q"), bare, replace(argument, kwarg_only=not argument.kwarg_only)]
        changed += [replace(bare, type=t, N=None, alias=None) for t in types]
        changed += [replace(argument, has_default=True, default=value) for value in (None, 1, 2)]
        changed += [replace(argument, alias=AliasInfo(("w",), ("w",), write)) for write in (True, False)]
        for new in changed:
            yield replace(schema, arguments=(*rest[0], new, *rest[1]))
        yield replace(schema, arguments=rest[0] + rest[1])
        yield replace(schema, arguments=(*rest[0], *rest[1][:1], argument, *rest[1][1:]))
        for new in fresh:
            yield replace(schema, arguments=(*rest[0], new, argument, *rest[1]))
    for new in fresh:
        yield replace(schema, arguments=(*arguments, new))
    for i, value in enumerate(returns):
        rest = returns[:i], returns[i + 1 :]
        for new in (replace(value, name="q"), replace(value, name=""), replace(value, alias=None)):
            yield replace(schema, returns=(*rest[0], new, *rest[1]))
        for t in types:
            yield replace(schema, returns=(*rest[0], replace(value, type=t), *rest[1]))
        yield replace(schema, returns=rest[0] + rest[1])
        yield replace(schema, returns=(*rest[1], *rest[0], value))
    yield replace(schema, is_vararg=True)


def mutant_texts(text):
    """The texts of the mutants that our own torch dialect reads."""
    found = []
    for mutant in mutants(text):
        # A keyword-only argument may have come before a positional one.
        positional, keyword_only = mutant.positional, mutant.keyword_only
        try:
            parsed = parse_schema(str(replace(mutant, arguments=positional + keyword_only)), "torch")
        except SchemaError:
            continue
        found.append(str(parsed))
    return list(dict.fromkeys(found))


def is_torch_wrong(changes, way):
    """Whether the docstring of the module tells why torch finds nothing here."""
    for change in changes:
        if getattr(change, way):
            continue
        if change.what.endswith("-type") and "ScalarType" in change.message:
            return True  # an int to torch
        if way == "forward" and change.what.startswith("return-"):
            return True
        if way == "forward" and change.what == "argument-removed" and "torch" in change.why:
            return True
        if way == "backward" and change.what == "argument-added" and "no default" in change.why:
            return True  # an out argument, or behind one
    return False


def torch_verdicts(parse, old, new):
    """What torch says; None where it cannot read one of the two, or counts past the last argument."""
    try:
        first, second = parse(old), parse(new)
        backward = second.is_backward_compatible_with(first)
        return backward, second.check_forward_compatible_with(first)[0]
    except (RuntimeError, IndexError):
        return None


@pytest.mark.parametrize("base", BASES)
def test_torch_judges_the_same_but_for_what_the_module_lists(base, torch):
    parse = torch._C.parse_schema
    texts = [base, *mutant_texts(base)]
    pairs = [(base, text) for text in texts] + [(text, base) for text in texts]
    pairs += list(zip(texts, texts[7:], strict=False))  # two changes away from each other
    judged, differ = 0, []
    for old, new in pairs:
        theirs = torch_verdicts(parse, old, new)
        if theirs is None:
            continue
        judged += 1
        changes = compared(old, new)
        ours = verdict_of(changes)
        for way, our, their in zip(("backward", "forward"), ours, theirs, strict=True):
            if our != their and not (their and is_torch_wrong(changes, way)):
                differ.append((way, our, their, old, new))
    assert differ == []
    assert judged > 150


@st.composite
def calls(draw, schema):
    """A call that fits *schema* in its names: each argument by place, by keyword or left out."""
    by_place = draw(st.integers(0, len(schema.positional)))
    args, kwargs = [], {}
    for i, argument in enumerate(schema.arguments):
        value = draw(st.sampled_from([None, 1, 2.5, True, "float32", [1, 2], [None], object()]))
        if i < by_place:
            args.append(value)
        elif draw(st.booleans()) or not argument.has_default:
            kwargs[argument.name] = value
    return args, kwargs


PAIRS = [(base, text) for base in BASES for text in mutant_texts(base)]
COMPATIBLE = [
    (old, new)
    for old, new in itertools.chain(PAIRS, ((new, old) for old, new in PAIRS))
    if verdict_of(compared(old, new))[0]
]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_call_that_fits_the_old_schema_fits_a_backward_compatible_new_one(data):
    old, new = (parse_schema(text, "torch") for text in data.draw(st.sampled_from(COMPATIBLE)))
    args, kwargs = data.draw(calls(old))
    try:
        before = old.bind(args, kwargs, is_tensor=lambda value: type(value) is object)
    except ArgumentError:
        return
    after = new.bind(args, kwargs, is_tensor=lambda value: type(value) is object)
    assert {name: after[name] for name in before} == before


def test_every_kind_of_change_is_in_the_table_of_kinds():
    kinds = {change.what for old, new in PAIRS for change in compared(old, new)}
    assert kinds <= set(CHANGE_KINDS)
    assert len(kinds) >= 12


def argument(text):
    (found,) = parse_schema(f"f({text} x) -> ()", "torch").arguments
    return found


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("SymInt", "int"),
        ("SymInt[]?", "int[]?"),
        ("(SymInt, str)", "(int, str)"),
        ("Dict(str, SymInt)", "Dict(str, int)"),
        ("Future(SymInt)", "Future(int)"),
        ("Union(SymInt, str)", "Union(int, str)"),
        ("SymBool", "SymBool"),
    ],
)
def test_a_symbolic_int_is_an_int_wherever_it_stands(text, plain):
    assert str(plain_type(argument(text).type)) == plain


def test_sets_without_a_name_lose_their_number():
    first, second = parse_schema("f(Tensor! x, Tensor! y) -> ()", "torch").arguments
    assert first.alias != second.alias
    assert plain_alias(first.alias) == plain_alias(second.alias)
    assert plain_alias(None) is None
    named = argument("Tensor(a!)[](b)").alias
    assert plain_alias(named) == named
