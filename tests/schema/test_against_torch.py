"""Every schema that torch has, and every difference to torch that is meant: torch itself is the oracle."""

import re
from pathlib import Path

import pytest

from c10cli.errors import SchemaError
from c10cli.schema.parser import parse_schema
from c10cli.schema.types import BaseType, CompoundType, ListType, VarType

CLASSES = re.compile(r"__torch__\.torch\.classes\.(\w+\.\w+)")

# All that torch prints differently of its 6,958 texts, and why.
PRINTED_OTHERWISE = {
    "the order of alias sets": "torch prints them in the order of a hash table; ours are sorted"
}

# What the torch dialect does otherwise on purpose: the reasons stand in `c10cli.schema.parser`.
REFUSED = "refused"
DIFFERENCES = [
    ("a number is the number written", "int x=0x10", "int x=16", "int x=0"),
    ("a number is the number written", "int x=1E5", "int x=100000.", "int x=1"),
    ("a number is the number written", "complex x=12", "complex x=12.+0.j", "complex x=0.+1.j"),
    ("a number is the number written", "complex x=1", "complex x=1.+0.j", REFUSED),
    ("a size is a whole number", "int[3.5] x", REFUSED, "int[3] x"),
    ("a size is a whole number", "int[0x3] x", REFUSED, "int[0] x"),
    ("a size is a whole number", "int[1e1] x", REFUSED, "int[1] x"),
    ("a size has 31 bits", "int[4294967297] x", REFUSED, "int[1] x"),
    ("a default is of its type", "float x=float", "float x=6.", "float x=6"),
    ("a default is of its type", "complex x=complex", "complex x=9.+0.j", "complex x=9"),
    ("a string is no element type", "ScalarType x='a'", REFUSED, "ScalarType x=a"),
    ("a string is no layout", "Layout? x='a'", REFUSED, "Layout? x=a"),
    ("a default is of its type", "int[0] x='a'", REFUSED, "int[0] x=[]"),
    ("any word may name a device", "Device x='a'", "Device x=a", REFUSED),
    ("text is Unicode", "str x='é'", 'str x="é"', 'str x="\\0)+\\/.)"'),
    ("`\\r` can be read", "str x='\\r'", 'str x="\\015"', REFUSED),
    ("Scalar is a type like others", "Scalar?? x", "Scalar? x", "Union(Scalar)? x"),
    ("Scalar is a type like others", "Union(Scalar, int) x", "Union(Scalar, int) x", "Union(Scalar) x"),
    ("a Union has two members", "Union(Scalar) x", REFUSED, "Union(Scalar) x"),
    ("a Union keeps SymInt", "Union(SymInt, NoneType) x", "SymInt? x", "int? x"),
    ("the order of members", "Union(Device, double) x", "Union(Device, double) x", "Union(double, Device) x"),
    ("members that are one to torch", "Union(Any, int) x", "Union(Any, int) x", REFUSED),
    ("what is dropped is not counted", "(Tensor!, int) x, Tensor! y", "(Tensor, int) x, Tensor($0! -> ) y",
     "(Tensor, int) x, Tensor($1! -> ) y"),
    ("types have an end", "int[][][][][][][][][] x", REFUSED, "int[][][][][][][][][] x"),
    ("types have an end", f"{'(' * 33}int{')' * 33} x", REFUSED, f"{'(' * 33}int{')' * 33} x"),
    ("lists have an end", "int[5000] x=1", REFUSED, "int[5000] x=1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def native_functions(torch, needs):
    """The function strings of torchgen's copy of native_functions.yaml."""
    folder = Path(needs("torchgen").__file__).parent
    text = (folder / "packaged/ATen/native/native_functions.yaml").read_text(encoding="utf-8")
    yaml = needs("yaml")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [entry["func"] for entry in yaml.load(text, Loader=loader)]


@pytest.fixture(scope="module", params=["native_functions", "torch_schemas"])
def corpus(request, torch):
    """Name, and per text the schema as we and as torch read it."""
    texts = request.getfixturevalue(request.param)
    classes = set(CLASSES.findall("\n".join(texts)))
    pairs = [
        (parse_schema(text, "torch", known_classes=classes), torch._C.parse_schema(text)) for text in texts
    ]
    return request.param, texts, pairs, classes


def test_the_corpora_are_whole(corpus, torch):
    name, texts, _, _ = corpus
    registered = 4389 if torch.version.cuda else 4374
    assert len(texts) == {"native_functions": 2584, "torch_schemas": registered}[name]
    assert len(set(texts)) == len(texts)


def spelled_by_torch(t, *, stored):
    """*t* as torch's types print: its real type, or the one that its values are stored as."""
    if isinstance(t, BaseType):
        words = {"Scalar": "number", "SymInt": "int", "SymBool": "bool"}
        if stored:
            words |= dict.fromkeys(("ScalarType", "Layout", "MemoryFormat"), "int")
        return words.get(t.name, t.name)
    if isinstance(t, VarType):
        return t.name
    if isinstance(t, CompoundType):
        head, members = t.head or "Tuple", t.parts
    else:
        head, members = "List" if isinstance(t, ListType) else "Optional", (t.element,)
    return f"{head}[{', '.join(spelled_by_torch(m, stored=stored) for m in members)}]"


def sets_of(alias):
    return (set(alias.before), set(alias.after), alias.is_write) if alias else None


def torch_sets_of(alias):
    """Only the outermost annotation; those of elements show in the text."""
    return (alias.before_set, alias.after_set, alias.is_write) if alias else None


def ours(argument):
    return {
        "name": argument.name,
        "type": spelled_by_torch(argument.type, stored=True),
        "real type": spelled_by_torch(argument.type, stored=False),
        "is SymInt": str(argument.type) == "SymInt",
        "N": argument.N,
        "default": (argument.has_default, repr(argument.default)),
        "keyword-only": argument.kwarg_only,
        "alias": sets_of(argument.alias),
    }


def theirs(argument):
    default = argument.default_value if argument.has_default_value() else None
    if isinstance(default, list):
        default = tuple(default)
    return {
        "name": argument.name,
        "type": str(argument.type),
        "real type": str(argument.real_type),
        "is SymInt": argument.real_type.kind() == "SymIntType",
        "N": argument.N,
        "default": (argument.has_default_value(), repr(default)),
        "keyword-only": argument.kwarg_only,
        "alias": torch_sets_of(argument.alias_info),
    }


def test_each_piece_of_each_schema_is_what_torch_reads(corpus):
    for our, their in corpus[2]:
        name = our.name
        assert (name.qualified, name.overload) == (their.name, their.overload_name)
        assert list(map(ours, our.arguments)) == list(map(theirs, their.arguments)), their
        assert list(map(ours, our.returns)) == list(map(theirs, their.returns)), their
        assert our.is_mutable == their.is_mutable, their


def test_our_print_is_a_fixed_point_that_torch_reads_as_the_same_schema(corpus, torch):
    _, _, pairs, classes = corpus
    for our, their in pairs:
        text = str(our)
        again = parse_schema(text, "torch", known_classes=classes)
        assert again == our
        assert str(again) == text
        assert torch._C.parse_schema(text) == their, text


def with_sets_in_order(text):
    """*text* with the names of every alias set sorted."""

    def in_order(found):
        return "|".join(sorted(found[0].split("|")))

    return re.sub(r"[\w*]+(?:\|[\w*]+)+", in_order, text)


def difference(ours, theirs):
    """Which of the differences listed lies between two texts; the texts where none does."""
    if ours == with_sets_in_order(theirs):
        return "the order of alias sets"
    return f"{ours} | {theirs}"


def test_torch_prints_each_schema_as_we_do_but_for_the_differences_listed(corpus):
    pairs = [(our.to_torch_string(), str(their)) for our, their in corpus[2]]
    assert {difference(*pair) for pair in pairs if pair[0] != pair[1]} <= set(PRINTED_OTHERWISE)


def test_what_torch_printed_is_printed_again_but_for_the_differences_listed(torch_schemas):
    classes = set(CLASSES.findall("\n".join(torch_schemas)))
    printed = [parse_schema(text, "torch", known_classes=classes).to_torch_string() for text in torch_schemas]
    differ = [pair for pair in zip(printed, torch_schemas, strict=True) if pair[0] != pair[1]]
    assert {difference(*pair) for pair in differ} == set(PRINTED_OTHERWISE)
    assert len(differ) == 8


def answer(text, read):
    try:
        return read(f"n::f({text}) -> ()")[len("n::f(") : -len(") -> ()")]
    except (SchemaError, RuntimeError, IndexError, ValueError):
        return REFUSED


@pytest.mark.parametrize(("reason", "text", "our", "their"), DIFFERENCES)
def test_a_deliberate_difference_is_as_listed(reason, text, our, their, torch):
    assert answer(text, lambda schema: parse_schema(schema, "torch").to_torch_string()) == our
    assert answer(text, lambda schema: str(torch._C.parse_schema(schema))) == their
    assert our != their, reason
