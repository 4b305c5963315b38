"""Every error of the dispatcher, provoked with far too much to say: 15 lines at most, and facts as data."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from c10cli.arrays.keys import DispatchKey
from c10cli.arrays.tensor_types import key_of, register_tensor_type
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.dispatch.kernel import BoxedKernel
from c10cli.dispatch.registration import Ops, OpSchemaRegistrar, kernel_registration
from c10cli.errors import CODES, C10Error
from c10cli.schema.parser import parse_schema

PACKAGE = Path(__file__).parents[2] / "c10cli"
SOURCES = [
    *(PACKAGE / "dispatch").glob("*.py"),
    PACKAGE / "arrays/keys.py",
    PACKAGE / "arrays/tensor_types.py",
]
MANY = ", ".join(f"int a{i}" for i in range(40))
LONG = f"t::f(Tensor x, {MANY}) -> Tensor"
KEYS = [f"ErrorTexts{i}" for i in range(40)]


class OnMeta:
    shape, dtype = (2,), "float32"


class Vulkan:
    def __dlpack_device__(self):
        return 7, 0


class Unknown:
    pass


@pytest.fixture(scope="module", autouse=True)
def _known_types():
    register_tensor_type(OnMeta, "Meta")


def crowded(schema=LONG, checked=False, kernel=lambda *args: args[0], **options):
    """An operator with many arguments, many kernels and many overridden ones."""
    op = Dispatcher(checked=checked).register_schema(schema)
    for key in ["CPU", *KEYS]:
        op.dispatcher.register_kernel(op, DispatchKey.register(key), kernel, **options)
    for _ in range(20):
        op.dispatcher.register_kernel(op, "CPU", kernel, override=True, **options)
    return op


def removed():
    op = Dispatcher().register_schema(LONG)
    op.dispatcher.deregister_schema(op)
    return op


def within(domain, **options):
    op = Dispatcher(checked=True).register_schema("t::f(Tensor x) -> Tensor", domain=domain)
    op.dispatcher.register_kernel(op, "CPU", lambda x: x + 1, **options)
    return op


def full():
    dispatcher = Dispatcher()
    for i in range(40):
        dispatcher.register_schema(f"t::same.o{i}(Tensor x) -> Tensor")
    return dispatcher


def boxed(function):
    return crowded("t::f(Tensor x) -> Tensor", kernel=BoxedKernel(function))


X = np.ones(2)
ARGS = (X, *range(40))
PAIR = "t::f(Tensor x) -> (int, int)"

# By code, perhaps with a word more: the provocation, and the facts that the error carries.
ERRORS = {
    "C10E108": (lambda: DispatchKey("Cudaa"), {"dispatch_key": "Cudaa"}),
    "C10E108 name": (lambda: DispatchKey.register("no name"), {"dispatch_key": "no name"}),
    "C10E209": (lambda: Dispatcher().register_schema(f"t::f({MANY}) -> ()"), {"operator": "t::f"}),
    "C10E209 dots": (lambda: Dispatcher().register_schema("t::f(Tensor x, ...) -> ()"), {"operator": "t::f"}),
    "C10E301": (
        lambda: [(d := crowded().dispatcher), d.register_schema(LONG.replace("int", "float"))],
        {"operator": "t::f", "sites": None},
    ),
    "C10E302": (
        lambda: (op := crowded()).dispatcher.register_kernel(op, "CPU", min),
        {"operator": "t::f", "dispatch_key": DispatchKey.CPU, "sites": None},
    ),
    "C10E303": (lambda: Dispatcher().deregister_kernel(crowded(), "CPU"), {"operator": "t::f"}),
    "C10E305": (lambda: crowded(kernel=lambda x: x), {"operator": "t::f", "kernel": None}),
    "C10E305 generator": (lambda: crowded(kernel=generator), {"operator": "t::f"}),
    "C10E306": (lambda: removed().call(*ARGS), {"operator": "t::f", "site": None}),
    "C10E307": (
        lambda: (op := crowded()).dispatcher.deregister_schema(op),
        {"operator": "t::f", "registered_keys": None},
    ),
    "C10E308": (
        lambda: (op := crowded()).dispatcher.deregister_kernel(op, "XLA"),
        {"operator": "t::f", "dispatch_key": DispatchKey.XLA, "registered_keys": None},
    ),
    "C10E309": (lambda: kernel_registration(crowded()).register(), {}),
    "C10E309 type": (lambda: register_tensor_type(3, "CPU"), {}),
    "C10E310": (lambda: crowded(kernel=3), {"operator": "t::f"}),
    "C10E401": (lambda: full().find("t::samee"), {"operator": "t::samee", "near": None}),
    "C10E401 attribute": (lambda: Ops(full).t.samee, {"operator": "t::samee", "near": None}),
    "C10E402": (lambda: full().find("same"), {"operator": "same", "operators": None}),
    "C10E402 overload": (lambda: full().find("t::same.no"), {"operator": "t::same.no", "operators": None}),
    "C10E402 attribute": (lambda: Ops(full).t.same(X), {"operator": "t::same", "operators": None}),
    "C10E403": (
        lambda: crowded().call(OnMeta(), *ARGS[1:]),
        {"operator": "t::f", "dispatch_key": DispatchKey.Meta, "registered_keys": None},
    ),
    "C10E404": (lambda: crowded().lookup(), {"operator": "t::f"}),
    "C10E413": (
        lambda: within({"x": "floating[n]"}, when="n > 2").call(np.ones(2)),
        {"operator": "t::f", "dispatch_key": DispatchKey.CPU, "registered_keys": None},
    ),
    "C10E405 domain": (
        lambda: within({"x": "floating[n]", "returns": "any[n]"}).call(np.ones((2, 2))),
        {"operator": "t::f", "argument": "x"},
    ),
    "C10E405": (lambda: crowded("t::f(Tensor[] x) -> Tensor").call(X), {"operator": "t::f", "argument": "x"}),
    "C10E406": (
        lambda: crowded("t::f(Tensor x, Tensor y) -> Tensor", checked=True).call(X, OnMeta()),
        {"operator": "t::f", "keys": {"x": ["CPU"], "y": ["Meta"]}},
    ),
    "C10E408": (lambda: crowded().call(None, *ARGS[1:]), {"operator": "t::f"}),
    "C10E408 type": (
        lambda: crowded().call(Unknown(), *ARGS[1:]),
        {"operator": "t::f", "argument": "x", "tensor_type": Unknown},
    ),
    "C10E408 device": (lambda: key_of(Vulkan()), {"tensor_type": Vulkan, "device": "DLPack 7"}),
    "C10E409": (lambda: crowded().call_boxed([X]), {"operator": "t::f", "needed": 41, "depth": 1}),
    "C10E502": (lambda: crowded(PAIR).call(X), {"operator": "t::f", "wanted": 2}),
    "C10E502 checked": (
        lambda: crowded(PAIR, checked=True).call(X),
        {"operator": "t::f", "kernel": None, "wanted": 2},
    ),
    "C10E503": (
        lambda: within({"x": "floating[n]", "returns": "float32[n]"}).call(np.ones(2)),
        {"operator": "t::f", "kernel": None},
    ),
    "C10E505": (
        lambda: crowded(checked=True, kernel=lambda x, *args: x.sort() or np.ones(1)).call(*changing()),
        {"operator": "t::f", "kernel": None, "argument": "x"},
    ),
    "C10E506": (
        lambda: crowded(checked=True).call(*ARGS),
        {"operator": "t::f", "kernel": None, "argument": "x"},
    ),
    "C10E507": (
        lambda: boxed(lambda stack, cache: stack.clear()).call(X),
        {"operator": "t::f", "kernel": None},
    ),
}


def generator(x):
    yield x


def changing():
    return np.array([2.0, 1.0]), *range(40)


def error_of(provoke):
    with pytest.raises(C10Error) as caught:
        provoke()
    return caught.value


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_has_its_code_and_at_most_fifteen_lines(name):
    error = error_of(ERRORS[name][0])
    lines = [
        *str(error).splitlines(),
        *(line for n in getattr(error, "__notes__", []) for line in n.split("\n")),
    ]
    assert error.code == name.split()[0]
    assert len(lines) <= 15
    assert all(diagnostic.advice for diagnostic in error.diagnostics)
    assert not [line for line in lines if len(line) > 1200]


@pytest.mark.parametrize("name", ERRORS)
def test_the_facts_in_an_error_are_its_attributes(name):
    provoke, facts = ERRORS[name]
    error = error_of(provoke)
    text = "\n".join([str(error), *getattr(error, "__notes__", [])])
    assert set(error.facts) == set(facts)
    for fact, value in facts.items():
        found = getattr(error, fact)
        assert value is None or found == value
        assert all(word in text for word in words(found)), fact


def words(fact):
    """What of *fact* is in the text: a long list may be cut there, and is whole in the data."""
    if isinstance(fact, dict):
        return [*fact, *(key for keys in fact.values() for key in keys)]
    if isinstance(fact, type):
        return [fact.__qualname__]
    return [str(part) for part in fact[:3]] if isinstance(fact, tuple) else [str(fact)]


def test_every_code_that_the_dispatcher_uses_is_provoked_here():
    texts = [path.read_text(encoding="utf-8") for path in SOURCES]
    strings = [n.value for t in texts for n in ast.walk(ast.parse(t)) if isinstance(n, ast.Constant)]
    used = {s for s in strings if isinstance(s, str) and re.fullmatch(r"C10E\d{3}", s)}
    # A note on a kernel's own exception, and a code that is compared with, not raised.
    assert used - {"C10E501"} <= {name.split()[0] for name in ERRORS}
    assert used <= set(CODES)


def test_a_schema_registrar_gives_the_same_errors():
    op = crowded()
    error = error_of(lambda: OpSchemaRegistrar(parse_schema(LONG), op.dispatcher))
    assert error.code == "C10E301"
