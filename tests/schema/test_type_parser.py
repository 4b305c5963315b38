import pytest

from c10cli.errors import SchemaError
from c10cli.schema.model import AliasInfo
from c10cli.schema.parser import parse_schema


def argument(text, dialect="torch", **options):
    return parse_schema(f"c10::f({text} x) -> ()", dialect, **options).arguments[0]


def failure(text, dialect="torch"):
    """Code, offsets within *text*, and the help of what refuses it as a type."""
    with pytest.raises(SchemaError) as raised:
        argument(text, dialect)
    error = raised.value
    return error.code, error.start - 7, error.end - 7, error.diagnostics[0].help


@pytest.mark.parametrize(
    "text",
    [
        "Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "Tensor[]?", "Tensor?[]?", "int[][]",
        "str[][]", "SymInt", "Dict(str, (int, Tensor)[])?", "Dict(str, Dict(int, str)?[])[]",
        "Future(int)", "RRef(t)", "Await(t[])", "((), (int, str))", "()", "Union(Tensor, int)[]",
        "Any?", "AnyEnumType", "QScheme", "t", "tVal[]", "a.b", "torch.Tensor", "number", "from",
    ],
)  # fmt: skip
def test_a_type_prints_back(text):
    assert str(argument(text).type) == text


@pytest.mark.parametrize(
    ("text", "t", "size"),
    [
        ("int[2]", "int[]", 2),
        ("int[0]", "int[]", 0),
        ("int[2]?", "int[]?", 2),
        ("int?[2]", "int?[]", 2),
        ("int[][2]", "int[][]", 2),
        ("(int, str)[3]", "(int, str)[]", 3),
        ("Tensor(a!)[2](b!)", "Tensor[]", 2),
    ],
)
def test_a_size_belongs_to_the_argument(text, t, size):
    found = argument(text)
    assert (str(found.type), found.N) == (t, size)
    assert str(found) == f"{text} x"


A, B_WRITTEN = AliasInfo(("a",), ("a",), False), AliasInfo(("b",), ("b",), True)


@pytest.mark.parametrize(
    ("text", "alias"),
    [
        ("Tensor(a)", A),
        ("Tensor(b!)", B_WRITTEN),
        ("Tensor(b|a)", AliasInfo(("a", "b"), ("a", "b"), False)),
        ("Tensor(a|a)", A),
        ("Tensor(*)", AliasInfo(("*",), ("*",), False)),
        ("Tensor(a|*)", AliasInfo(("a", "*"), ("a", "*"), False)),
        ("Tensor(*!)", AliasInfo(("*",), ("*",), True)),
        ("Tensor(a -> *)", AliasInfo(("a",), ("*",), False)),
        ("Tensor(a! -> b|a)", AliasInfo(("a",), ("a", "b"), True)),
        ("Tensor(a)?", A),
        ("Tensor(a)[]", AliasInfo((), (), False, A)),
        ("Tensor(b!)[]", AliasInfo((), (), True, B_WRITTEN)),
        ("Tensor[](b!)", B_WRITTEN),
        ("Tensor(a)[](b!)", AliasInfo(("b",), ("b",), True, A)),
        ("Tensor(a)?[](b!)", AliasInfo(("b",), ("b",), True, A)),
        ("Tensor!", AliasInfo(("$0",), (), True)),
        ("Dict(str, t)(b!)", B_WRITTEN),
        ("Union(int, str)(a)", A),
        ("str(b!)", B_WRITTEN),
        ("(Tensor(a), int)", None),
        ("Dict(str, Tensor(a))", None),
    ],
)
def test_an_annotation_is_read_at_its_level(text, alias):
    assert argument(text).alias == alias


def test_each_unnamed_set_is_a_fresh_one():
    schema = parse_schema("c10::f(Tensor! x, Tensor! y) -> ()")
    assert [a.alias.before for a in schema.arguments] == [("$0",), ("$1",)]


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("int[-1]", 4, 5),
        ("int[n]", 4, 5),
        ("int[3.5]", 4, 7),
        ("int[99999999999]", 4, 15),
        ("int[2][]", 6, 7),
        ("Dict(int[2], str)", 9, 10),
        ("(int x)", 5, 6),
        ("(int,)", 5, 6),
        ("Tensor(a,b)", 8, 9),
        ("Tensor(1)", 7, 8),
        ("Tensor()", 7, 8),
        ("Tensor(*|a)", 8, 9),
        ("Tensor(a)!", 9, 10),
        ("Tensor?(a)", 7, 8),
        ("Tensor(a!)(b!)", 10, 11),
        ("(int, str)(a)", 10, 11),
        ("Dict(str)", 8, 9),
        ("Dict[str, int]", 4, 5),
        ("Future()", 7, 8),
        ("in", 0, 2),
        ("True", 0, 4),
        ("*", 2, 3),
    ],
)
def test_a_fault_of_syntax_points_at_the_token(text, start, end):
    assert failure(text)[:3] == ("C10E201", start, end)


@pytest.mark.parametrize(
    ("text", "start", "end", "hint"),
    [
        ("Tensr", 0, 5, "did you mean `Tensor`?"),
        ("K", 0, 1, ""),
        ("Foo.bar", 0, 3, ""),
        ("Optional[int]", 0, 8, "write `int?`"),
        ("List[int]", 0, 4, "write `T[]`"),
        ("SymFloat", 0, 8, "write `float`"),
        ("NoneType?", 0, 9, "write `NoneType`"),
        ("Union(int)", 0, 10, "write the one type without `Union`"),
        ("Dict(t, int)", 5, 6, "use `str` or `int` keys"),
        ("__torch__.other.classes.a.B", 10, 15, ""),
        (
            "__torch__.torch.classes.a.B",
            26,
            27,
            "name it under `classes:` of the manifest, or in known_classes",
        ),
        ("__torch__.torch", 0, 15, ""),
    ],
)
def test_a_type_that_does_not_exist_points_at_its_word(text, start, end, hint):
    assert failure(text) == ("C10E204", start, end, hint)


@pytest.mark.parametrize(
    ("text", "start", "end", "hint"),
    [
        ("double", 0, 6, "write `float`"),
        ("long[]", 0, 4, "write `int`"),
        ("string?", 0, 6, "write `str`"),
        ("number", 0, 6, "write `Scalar`"),
        ("tensor", 0, 6, "did you mean `Tensor`?"),
        ("torch.Tensor", 0, 12, "did you mean `Tensor`?"),
        ("t", 0, 1, ""),
        ("Dict(str, t)", 10, 11, ""),
    ],
)
def test_strict_has_no_type_variables(text, start, end, hint):
    assert argument(text, "torch").type
    assert failure(text, "strict") == ("C10E204", start, end, hint)


def test_a_known_class_is_a_type():
    text = "__torch__.torch.classes.ns.Name"
    spaced = text.replace(".", " . ")
    assert str(argument(f"{spaced}[]", known_classes={"ns.Name"}).type) == f"{text}[]"


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "Tensor" + "[]" * 10_000,
        "Tensor" + "[]?" * 10_000,
        "Dict(str, " * 1_500 + "int" + ")" * 1_500,
    ],
)
def test_deep_nesting_is_an_ordinary_refusal(text):
    assert failure(text)[0] == "C10E201"


def test_nesting_within_the_limits_can_be_printed_compared_and_hashed():
    text = "int"
    for _ in range(32):
        text = f"Dict(str, {text}[][][][][][][][])"
    assert str(argument(text).type) == text
    assert hash(argument(text)) == hash(argument(text))


def test_repeated_question_marks_are_one():
    assert str(argument("int" + "?" * 20_000).type) == "int?"
