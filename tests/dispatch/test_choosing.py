"""Choosing among kernels, held against the rules in a few lines: every way to call gets the same kernel."""

import random

import numpy as np
import pytest

from c10cli import Dispatcher, NoKernelError, RegistrationError
from c10cli.dispatch.kernel import BoxedKernel

SCHEMA = (
    "t::f(Tensor? y, Tensor? x, *, int k=1, int[]? s=None, bool? flag=None, ScalarType? dtype=None) -> Tensor"
)
DOMAIN = {"T": "any", "y": "any[m, m, q]", "x": "T[rows, *n, d]"}


def dims(x, y):
    """The dims and dtype that *x* and *y* give to the names of the domain, by their first use."""
    known = {}
    if y is not None and len(y.shape) == 3:
        known |= {"m": y.shape[0], "q": y.shape[2]}
    if x is not None:
        known["T"] = str(x.dtype).removeprefix("torch.")
        if len(x.shape) >= 2:
            known |= {"rows": x.shape[0], "n": [*x.shape[1:-1]], "d": x.shape[-1]}
    return known


# Each condition as text, and as what it means; a KeyError is a name without a value.
CONDITIONS = {
    "d <= 3": lambda v: v["d"] <= 3,
    "m == 2": lambda v: v["m"] == 2,
    "y == none or m <= 2": lambda v: v["y"] is None or v["m"] <= 2,
    "n == (2, 2)": lambda v: v["n"] == [2, 2],
    "n in ((), (2,))": lambda v: v["n"] in ([], [2]),
    "len(n) == 0 and rows == 2": lambda v: v["n"] == [] and v["rows"] == 2,
    "without(n, 0) == ()": lambda v: len(v["n"]) == 1,
    "T in floating": lambda v: v["T"] in ("float16", "float32", "float64"),
    "itemsize(T) * d <= 12": lambda v: {"float32": 4, "float64": 8, "int32": 4}[v["T"]] * v["d"] <= 12,
    "2 ** d <= 4": lambda v: 2 ** v["d"] <= 4,
    "1 <= rows // (d - 1)": lambda v: v["rows"] // (v["d"] - 1) >= 1,
    "k > 1": lambda v: v["k"] > 1,
    "s == (1, 1)": lambda v: v["s"] is not None and [*v["s"]] == [1, 1],
    "s != none and s[0] == 2": lambda v: v["s"] is not None and v["s"][0] == 2,
    "flag": lambda v: v["flag"],
    "not flag": lambda v: not v["flag"],
    "dtype == float16": lambda v: str(v["dtype"]).endswith(("half", "float16", "float16'>")),
}


def library_of(array):
    return type(array).__module__.partition(".")[0]


def expected(kernels, values):
    """The name of what *kernels*, oldest first, should give; one without condition comes last, if it may."""
    deciding = values["y"] if values["y"] is not None else values["x"]
    order = []
    for name, arrays, when, override in kernels:
        if arrays in ("", library_of(deciding)):
            order = [(name, when), *order] if when or override else [*order, (name, when)]
    known = {**values, **dims(values["x"], values["y"])}
    for name, when in order:
        try:
            if not when or CONDITIONS[when](known):
                return name
        except (KeyError, ZeroDivisionError):
            continue
    return "C10E413" if kernels else "C10E403"


def made(name, is_boxed):
    def boxed(stack, _cache):
        stack[-6:] = [name]

    return BoxedKernel(boxed) if is_boxed else lambda y, x, *, k, s, flag, dtype: name


def outcomes(op, values):
    """What each way to call *op* gives."""
    args, options = (values["y"], values["x"]), {k: v for k, v in values.items() if k not in "xy"}

    def boxed():
        stack = [0, *values.values()]
        op.call_boxed(stack)
        return stack[1]

    yield lambda: op.call(*args, **options)
    yield lambda: op(*args, **options)
    yield boxed
    yield lambda: op.lookup(*args, **options)(*args, **options)
    yield lambda: op.dispatcher.lookup(op, [0, *values.values()])(*args, **options)


def caught(call):
    try:
        return call()
    except NoKernelError as error:
        return error.code


def drawn(rng, makers, torch):
    def array(like=None):
        shape = [rng.choice([1, 2, 2, 3, 4]) for _ in range(rng.choice([0, 1, 2, 2, 3, 3, 4]))]
        return (like or rng.choice(makers))(np.zeros(shape, rng.choice(["float32", "float64", "int32"])))

    y = rng.choice([None, None, array(), makers[0](np.zeros((2, 3, 4), "float32"))])
    return {
        "y": y,
        "x": rng.choice([None, array(), array()]) if y is not None else array(),
        "k": rng.choice([1, 2, np.int64(1), np.int64(2)]),
        "s": rng.choice([None, [1, 1], (1, 1), [2, 1], range(2, 4), torch.Size([1, 1]), np.array([1, 1])]),
        "flag": rng.choice([None, True, False, 1, 0, np.True_]),
        "dtype": rng.choice(
            [None, "float16", "half", torch.float16, np.float16, np.dtype("float16"), "int8"]
        ),
    }


@pytest.mark.parametrize("seed", range(15))
def test_every_way_to_call_gets_the_kernel_that_the_rules_name(torch, seed):
    rng, kernels, registrars = random.Random(seed), [], []
    op = Dispatcher().register_schema(SCHEMA, domain=DOMAIN)
    for number in range(25):
        if registrars and rng.random() < 0.2:
            at = rng.randrange(len(kernels))
            registrars.pop(at).close()
            del kernels[at]
        elif rng.random() < 0.5:
            when, arrays = rng.choice(["", *CONDITIONS]), rng.choice(["", "numpy", "torch"])
            kernel = f"k{number}", arrays, when, rng.random() < 0.3
            rivals = [k for k in kernels if k[2] == when and (not k[1] or not arrays or k[1] == arrays)]
            given = {"arrays": arrays, "when": when, "override": kernel[3]}
            try:
                registrar = op.dispatcher.register_kernel(
                    op, "CPU", made(kernel[0], rng.random() < 0.3), **given
                )
            except RegistrationError:
                assert rivals
                assert not kernel[3]
                continue
            assert not rivals or kernel[3]
            kernels.append(kernel)
            registrars.append(registrar)
        for values in [drawn(rng, (np.asarray, torch.from_numpy), torch) for _ in range(4)]:
            name = expected(kernels, values)
            for _ in range(2):  # what was learned says the same
                assert {caught(way) for way in outcomes(op, values)} == {name}, (values, kernels)


def pair(*conditions, schema="t::g(Tensor x, int k=1) -> Tensor", **domain):
    """An operator with a kernel named by each condition, and `other`."""
    op = Dispatcher().register_schema(schema, domain=domain or {"T": "any", "x": "T[rows, *n, d]"})
    for when in ("", *conditions):
        op.dispatcher.register_kernel(op, "CPU", lambda *args, name=when or "other": name, when=when)
    return op


def test_a_tensor_of_too_few_axes_gives_no_dims_also_when_calls_have_learned():
    op = pair("d <= 8")
    assert [op.call(np.zeros((2, 3))), op.call(np.zeros(3)), op.call(np.zeros(()))] == [
        "d <= 8",
        "other",
        "other",
    ]


def test_a_name_is_what_its_first_use_says_also_where_a_later_one_differs():
    op = pair("n == 2", x="any[n, n]")
    assert [op.call(np.zeros(shape)) for shape in [(2, 3), (2, 3), (3, 2)]] == ["n == 2", "n == 2", "other"]
    xs = pair("n == 2", schema="t::g(Tensor[] xs, Tensor x) -> Tensor", xs="any[n] each", x="any[n]")
    assert [xs.call([np.zeros(2)], np.zeros(3)) for _ in range(2)] == ["n == 2"] * 2


def test_powers_are_bounded_in_calls_that_have_learned_too():
    op = pair("2 ** (k ** 9) ** 9 <= 4")
    assert [op.call(np.zeros(1), k) for k in (1, 1, 10**6)] == ["2 ** (k ** 9) ** 9 <= 4"] * 2 + ["other"]


@pytest.mark.parametrize("dtype", ["datetime64[s]", "U3", ">f4", [("a", "f4")]])
def test_conditions_do_not_hold_for_dtypes_that_have_no_name(dtype):
    op = pair("itemsize(T) == 4", "T == float32")
    assert [op.call(np.zeros((2, 3), dtype)) for _ in range(2)] == ["other"] * 2


def test_tensors_of_a_taught_type_may_say_no_dtype_or_no_shape():
    from c10cli import register_tensor_type

    class NoDtype:
        shape = (2, 3)

    class Broken:
        @property
        def shape(self):
            raise RuntimeError

    op = pair("d <= 8", "T == float32")
    for kind, name in ((NoDtype, "d <= 8"), (Broken, "other")):
        register_tensor_type(kind, "CPU")
        assert [op.call(kind()) for _ in range(2)] == [name] * 2


def test_kernels_that_compare_in_their_own_way_are_told_apart():
    class Kernel:
        def __init__(self, name):
            self.name = name

        def __call__(self, x, k):
            return self.name

        def __eq__(self, other):
            raise RuntimeError

        __hash__ = None

    op = pair()
    for name in ("a", "b"):
        op.dispatcher.register_kernel(op, "CPU", Kernel(name), when=f"k == {ord(name)}")
    assert [op.call(np.zeros(1), ord(name)) for name in "aab"] == [*"aab"]


def test_an_overriding_kernel_comes_before_those_with_conditions_until_it_is_closed():
    op = pair("k <= 3")
    with op.dispatcher.register_kernel(op, "CPU", lambda x, k: "over", arrays="numpy", override=True):
        assert op.call(np.zeros(1)) == "over"
        with op.dispatcher.register_kernel(op, "CPU", lambda x, k: "later", when="k == 1"):
            assert [op.call(np.zeros(1), k) for k in (1, 2)] == ["later", "over"]
    assert op.call(np.zeros(1)) == "k <= 3"


@pytest.mark.parametrize("given", [{"arrays": None}, {"arrays": ["torch", 3]}, {"when": 3}, {"when": b"k"}])
def test_what_a_kernel_takes_is_said_in_texts(given):
    with pytest.raises(Exception, match="C10E405"):
        pair().dispatcher.register_kernel("t::g", "CPU", lambda x, k: x, **given)


def test_checked_calls_know_dtypes_as_libraries_spell_them(torch):
    schema = "t::g(Tensor x, *, ScalarType? dtype=None) -> Tensor"
    domain = {"T": "any", "x": "T[*n]", "returns": "dtype or T [*n]"}
    op = Dispatcher(checked=True).register_schema(schema, domain=domain)
    op.dispatcher.register_kernel(op, "CPU", lambda x, *, dtype: x.astype(dtype or x.dtype, copy=True))
    for dtype in (np.float16, np.dtype("float16"), "float16", float, None):
        assert op.call(np.zeros(3), dtype=dtype).dtype == np.dtype(dtype)
    op.dispatcher.register_kernel(op, "CPU", lambda x, *, dtype: x.to(dtype), arrays="torch", override=True)
    assert op.call(torch.zeros(3), dtype=torch.float16).dtype == torch.float16
