"""Several kernels under one key: by array library, and by conditions on the call."""

import numpy as np
import pytest

from c10cli import Dispatcher, NoKernelError, RegistrationError, SchemaError
from c10cli.dispatch.kernel import BoxedKernel

ROWS = {"T": "floating", "x": "T[rows, *n, d]", "y": "any[m]", "returns": "any"}
SCHEMA = "t::f(Tensor x, Tensor? y=None, *, int k=1, int[2] stride=1) -> Tensor"


def named(name):
    def kernel(x, y, *, k, stride):
        return name

    kernel.__qualname__ = name
    return kernel


def operator(*variants, domain=ROWS, checked=False):
    """An operator with CPU kernels of those names, each with what it takes."""
    op = Dispatcher(checked=checked).register_schema(SCHEMA, domain=domain)
    for name, options in variants:
        op.dispatcher.register_kernel(op, "CPU", named(name), **options)
    return op


def boxed(stack, _cache):
    stack[-2:] = ["b"]


def x(*shape, dtype="float32"):
    return np.zeros(shape, dtype)


@pytest.mark.parametrize("first", ["numpy", "torch"])
def test_each_librarys_arrays_get_their_kernel_in_either_order(needs, first):
    torch = needs("torch")
    order = [first, "torch" if first == "numpy" else "numpy"]
    op = operator(*[(library, {"arrays": library}) for library in order])
    for _ in range(2):  # the first call learns, the second one uses it
        assert op.call(x(2, 3)) == "numpy"
        assert op.call(torch.zeros(2, 3)) == "torch"
        assert (op.lookup(x(2, 3)).name.split()[0], op.lookup(torch.zeros(2, 3)).function.__qualname__)[
            1
        ] == "torch"
    stack = [torch.zeros(2, 3), None, 1, [1, 1]]
    op.call_boxed(stack)
    assert stack == ["torch"]


def test_what_no_kernel_takes_is_told_with_the_library_and_how_to_convert(needs):
    torch = needs("torch")
    op = operator(("numpy", {"arrays": "numpy"}))
    registrar = op.dispatcher.register_kernel(op, "CPU", named("torch"), arrays="torch")
    assert op.call(torch.zeros(2, 3)) == "torch"
    registrar.close()
    for call in (op.call, op, op.lookup):
        with pytest.raises(NoKernelError) as caught:
            call(torch.zeros(2, 3))
        (finding,) = caught.value.diagnostics
        assert finding.code == "C10E413"
        assert (
            finding.message
            == "no kernel of `t::f` for dispatch key CPU[1] takes this call, whose `x` is of torch"
        )
        assert any("takes numpy arrays" in note for note in finding.notes)
        assert "numpy.asarray(x)" in finding.advice
    assert op.call(x(2, 3)) == "numpy"


def test_a_kernel_that_names_no_library_takes_all_and_another_one_has_to_override_it(needs):
    torch = needs("torch")
    op = operator(("all", {}))
    with pytest.raises(RegistrationError, match="C10E302"):
        op.dispatcher.register_kernel(op, "CPU", named("torch"), arrays="torch")
    with op.dispatcher.register_kernel(op, "CPU", named("torch"), arrays="torch", override=True):
        assert [op.call(x(2, 3)), op.call(torch.zeros(2, 3))] == ["all", "torch"]
    assert op.call(torch.zeros(2, 3)) == "all"


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize(
    ("when", "inside", "outside"),
    [
        ("d <= 3", [x(2, 3)], [x(2, 4)]),
        ("T in (float16, bfloat16)", [x(2, 3, dtype="float16")], [x(2, 3)]),
        ("T in floating and not T == float64", [x(2, 3)], [x(2, 3, dtype="float64")]),
        ("rows == 2 and prod(n) == 20", [x(2, 4, 5, 3)], [x(2, 4, 4, 3)]),
        ("len(n) == 0", [x(2, 3)], [x(2, 2, 3)]),
        ("size(x, -1) % 2 == 1 and rank(x) == 2", [x(2, 3)], [x(2, 2, 3)]),
        ("y == none", [x(2, 3)], [x(2, 3), x(3)]),
        ("m <= 3", [x(2, 3), x(3)], [x(2, 3), x(4)]),
        ("m <= 3 or d == 1", [x(2, 3), x(3)], [x(2, 3), x(4)]),
        ("1 <= rows // d", [x(3, 3)], [x(3, 0)]),  # a division by zero holds for nothing
        ("itemsize(T) * d <= max(8, 12)", [x(2, 3)], [x(2, 3, dtype="float64")]),
    ],
)
def test_conditions_choose_in_calls_lookups_and_boxed_calls(checked, when, inside, outside):
    def kernel(name):
        return lambda x, y, *, k, stride: np.array([name])

    op = Dispatcher(checked=checked).register_schema(SCHEMA, domain={**ROWS, "T": "floating"})
    op.dispatcher.register_kernel(op, "CPU", kernel("other"))
    op.dispatcher.register_kernel(op, "CPU", kernel("special"), when=when)
    for _ in range(3):
        for arguments, name in ((inside, "special"), (outside, "other")):
            assert op.call(*arguments)[0] == name
            assert op(*arguments)[0] == name
            assert op.lookup(*arguments)(*arguments)[0] == name
            stack = [*arguments, *[None] * (2 - len(arguments)), 1, [1, 1]]
            assert op.dispatcher.lookup(op, stack)(*arguments)[0] == name
            op.call_boxed(stack)
            assert stack[0][0] == name


def test_keyword_arguments_and_items_of_lists_are_in_conditions():
    op = operator(
        ("other", {}), ("k", {"when": "k > 1"}), ("strided", {"when": "stride[0] == stride[1] == 2"})
    )
    assert op.call(x(2, 3)) == "other"
    assert op.call(x(2, 3), k=2) == "k"
    assert op.call(x(2, 3), stride=[2, 2]) == "strided"
    assert op.call(x(2, 3), k=2, stride=[2, 2]) == "strided"  # the last registered is asked first
    assert op.call(x(2, 3), stride=2) == "other"  # no list: the condition cannot hold


def test_where_no_condition_holds_each_is_told_with_its_values():
    op = operator(("flash", {"when": "T == float16 and d <= 128"}), ("small", {"when": "rows < m"}))
    for _ in range(2):
        with pytest.raises(NoKernelError) as caught:
            op.call(x(2, 7, 192, dtype="float16"), x(1))
        finding = caught.value.diagnostics[0]
        assert finding.code == "C10E413"
        notes = "\n".join(finding.notes)
        assert "`d <= 128` is false: d is 192, from x float16[2, 7, 192]" in notes
        assert "`rows < m` is false: m is 1, from y float32[1], rows is 2, from x float16[2, 7, 192]" in notes
    with pytest.raises(NoKernelError) as caught:
        op.call(x(2))  # of another rank than the domain's
    assert "nothing gives `m` a value" in "\n".join(caught.value.diagnostics[0].notes)


def test_conditions_of_broadcast_names_are_judged_on_all_arguments():
    op = Dispatcher().register_schema(
        "t::g(Tensor x, Tensor y) -> Tensor", domain={"x": "any[#*n]", "y": "any[#*n]"}
    )
    op.dispatcher.register_kernel(op, "CPU", lambda x, y: "large")
    op.dispatcher.register_kernel(op, "CPU", lambda x, y: "small", when="prod(n) <= 6")
    for _ in range(2):
        assert op.call(x(2, 1), x(3)) == "small"
        assert op.call(x(2, 1), x(4)) == "large"


def test_a_condition_is_read_once_and_refused_at_its_column():
    op = operator()
    with pytest.raises(SchemaError) as caught:
        op.dispatcher.register_kernel(op, "CPU", named("a"), when="dd <= 128")
    (finding,) = caught.value.diagnostics
    assert (finding.code, finding.span.column, finding.span.end_column) == ("C10E211", 1, 3)
    assert op.keys() == ()
    with pytest.raises(RegistrationError, match="no array library is called `tourch`") as caught:
        op.dispatcher.register_kernel(op, "CPU", named("a"), arrays="tourch")
    assert "torch" in caught.value.diagnostics[0].advice


def test_the_same_condition_twice_is_refused_and_registrars_undo_theirs():
    op = operator(("other", {}), ("a", {"when": "d <= 3"}))
    with pytest.raises(RegistrationError, match="C10E302"):
        op.dispatcher.register_kernel(op, "CPU", named("b"), when="d<=3")
    with op.dispatcher.register_kernel(op, "CPU", named("b"), when="d<=3", override=True):
        assert op.call(x(2, 3)) == "b"
        assert "  overridden: CPU[1]: " in op.dump()
        assert "when d <= 3, registered at" in op.dump()
    assert op.call(x(2, 3)) == "a"
    op.dispatcher.deregister_kernel(op, "CPU")
    assert op.call(x(2, 3)) == "other"


def test_kernels_that_no_call_came_to_are_not_loaded():
    loaded = []

    class Source:
        def __init__(self, name):
            self.name = name

        def load(self, schema):
            from c10cli.dispatch.kernel import bind_kernel

            loaded.append(self.name)
            return bind_kernel(schema, self.name, named(self.name))

    op = Dispatcher().register_schema(SCHEMA, domain=ROWS)
    op.dispatcher.register_kernel(op, "CPU", Source("other"))
    op.dispatcher.register_kernel(op, "CPU", Source("special"), when="d <= 3")
    assert [op.call(x(2, 4)) for _ in range(3)] == ["other"] * 3
    assert loaded == ["other"]
    assert [op.call(x(2, 3)) for _ in range(3)] == ["special"] * 3
    assert loaded == ["other", "special"]


def test_conditions_choose_boxed_kernels_lists_and_optionals(needs):
    torch = needs("torch")
    op = Dispatcher().register_schema("t::h(Tensor[] xs, int k) -> Tensor", domain={"xs": "any[n] each"})
    op.dispatcher.register_kernel(op, "CPU", BoxedKernel(boxed), when="k > 1")
    op.dispatcher.register_kernel(op, "CPU", lambda xs, k: "n", arrays="numpy")
    op.dispatcher.register_kernel(op, "CPU", lambda xs, k: "t", arrays="torch", when="n > 2")
    for _ in range(2):
        assert op.call([x(2)], 1) == "n"
        assert op.call((torch.zeros(3),), 1) == "t"
        assert op.call([torch.zeros(2)], 2) == "b"
    with pytest.raises(NoKernelError, match="C10E413"):
        op.call([torch.zeros(2)], 1)
