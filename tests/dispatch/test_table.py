import gc

import pytest

from c10cli.arrays.tensor_types import key_of, register_tensor_type
from c10cli.dispatch.dispatcher import Dispatcher
from c10cli.errors import DispatchError, NoKernelError

SCHEMA = "t::f(Tensor x, int i) -> int"


@pytest.fixture
def op(dispatcher):
    return dispatcher.register_schema(SCHEMA)


def test_a_missing_kernel_is_an_error_with_key_place_and_what_there_is(op, dispatcher, tensor, shown):
    def on_cuda(x, i):
        return i

    def on_cpu(x, i):
        return i

    dispatcher.register_kernel(op, "CUDA", on_cuda)
    dispatcher.register_kernel(op, "CPU", on_cpu)
    name = "test_a_missing_kernel_is_an_error_with_key_place_and_what_there_is.<locals>"
    for call in (op.call, op, op.lookup, lambda *args: op.call_boxed(list(args))):
        with pytest.raises(NoKernelError) as caught:
            call(tensor("XLA"), 1)
        assert shown(caught.value) == (
            "error[C10E403] no kernel of `t::f` for dispatch key XLA[6]; registered: CPU[1], CUDA[2]\n"
            "--> call of t::f, argument `x`: float32[2, 3] with key XLA\n"
            "note: the schema is t::f(Tensor x, int i) -> int\n"
            f"note: CPU[1]: {name}.on_cpu (registered at FILE:N)\n"
            f"note: CUDA[2]: {name}.on_cuda (registered at FILE:N)\n"
            "help: register a kernel for XLA[6], or pass a tensor of CPU[1], CUDA[2]"
        )
        assert caught.value.__context__ is None
    assert caught.value.operator == "t::f"
    assert caught.value.dispatch_key.name == "XLA"
    assert [key.name for key in caught.value.registered_keys] == ["CPU", "CUDA"]


def test_a_missing_kernel_where_there_is_none_at_all(op, tensor, shown):
    with pytest.raises(NoKernelError) as caught:
        op.call(tensor(), 1)
    assert shown(caught.value) == (
        "error[C10E403] no kernel of `t::f` for dispatch key CPU[1]; registered: none\n"
        "--> call of t::f, argument `x`: float32[2, 3] with key CPU\n"
        "note: the schema is t::f(Tensor x, int i) -> int\n"
        "help: register a kernel for CPU[1]"
    )


def test_the_error_names_all_arguments_that_could_decide(dispatcher, tensor):
    op = dispatcher.register_schema("t::g.ov(Tensor[] a, Tensor? b) -> ()")
    with pytest.raises(NoKernelError) as caught:
        op.call([tensor()], None)
    assert caught.value.operator == "t::g.ov"
    assert caught.value.diagnostics[0].place.startswith("call of t::g.ov, argument `a` or `b`: float32")


def test_a_lookup_by_key_needs_no_tensor(op, dispatcher, x, shown):
    dispatcher.register_kernel(op, "CPU", lambda x, i: i + 1)
    assert op.lookup_key("CPU")(x, 1) == 2
    with pytest.raises(NoKernelError) as caught:
        op.lookup_key("CUDA")
    assert "--> lookup of t::f\n" in shown(caught.value)
    with pytest.raises(DispatchError, match="unknown dispatch key `Cuda`"):
        op.lookup_key("Cuda")


def test_a_removed_kernel_is_not_remembered(op, dispatcher, tensor):
    dispatcher.register_kernel(op, "CPU", lambda x, i: i)
    assert op.call(tensor(), 1) == 1
    dispatcher.deregister_kernel(op, "CPU")
    for call in (op.call, op.lookup):
        with pytest.raises(NoKernelError):
            call(tensor(), 1)
    dispatcher.register_kernel(op, "CPU", lambda x, i: i + 1)
    assert op.call(tensor(), 1) == 2


class Movable:
    """A tensor whose key depends on the value, as torch's does."""

    dtype, shape = "float32", (1,)

    def __init__(self, place):
        self.place = place


register_tensor_type(Movable, lambda value: value.place)


@pytest.mark.parametrize(
    "schema", ["(Tensor x) -> str", "(Tensor[] x) -> str", "(int i=0, *, Tensor x) -> str"]
)
def test_a_type_whose_key_depends_on_the_value_is_routed_call_by_call(dispatcher, tensor, schema):
    op = dispatcher.register_schema(f"t::g{schema}")
    for key in ("CPU", "CUDA"):
        dispatcher.register_kernel(op, key, lambda *args, key=key, **kwargs: key)

    def call(value):
        return op.call(x=[value] if "[]" in schema else value)

    moving = Movable("CPU")
    seen = [call(moving), call(Movable("CUDA")), call(moving), call(tensor("CUDA")), call(tensor())]
    moving.place = "CUDA"
    assert [*seen, call(moving)] == ["CPU", "CUDA", "CPU", "CUDA", "CPU", "CUDA"]
    with pytest.raises(NoKernelError, match="dispatch key Meta"):
        call(Movable("Meta"))
    dispatcher.deregister_kernel(op, "CUDA")
    assert call(Movable("CPU")) == "CPU"
    with pytest.raises(NoKernelError, match="dispatch key CUDA"):
        call(moving)


@pytest.mark.parametrize("first", range(4))
def test_torch_tensors_are_routed_by_device_and_layout_whichever_comes_first(dispatcher, needs, first):
    torch = needs("torch")
    op = dispatcher.register_schema("t::g(Tensor x) -> str")
    listed = dispatcher.register_schema("t::h(Tensor[] x) -> str")
    for key in ("CPU", "Meta", "SparseCPU"):
        dispatcher.register_kernel(op, key, lambda x, key=key: key)
        dispatcher.register_kernel(listed, key, lambda x, key=key: key)
    tensors = [torch.zeros(2), torch.zeros(2, device="meta"), torch.eye(2).to_sparse(), torch.zeros(1)]
    keys = ["CPU", "Meta", "SparseCPU", "CPU"]
    op.call(tensors[first])
    for _ in range(2):
        assert [op.call(t) for t in tensors] == keys
        assert [listed.call(kind((t, t))) for kind in (list, tuple) for t in tensors] == keys * 2
    dispatcher.deregister_kernel(op, "SparseCPU")
    with pytest.raises(NoKernelError, match="dispatch key SparseCPU"):
        op.call(tensors[2])
    assert op.call(tensors[0]) == "CPU"


def test_a_kernel_that_comes_later_serves_torch_tensors_that_had_none(dispatcher, needs):
    torch = needs("torch")
    op = dispatcher.register_schema("t::g(Tensor x) -> str")
    dispatcher.register_kernel(op, "Meta", lambda x: "Meta")
    assert op.call(torch.zeros(2, device="meta")) == "Meta"
    with pytest.raises(NoKernelError):
        op.call(torch.zeros(2))
    dispatcher.register_kernel(op, "CPU", lambda x: "CPU")
    assert [op.call(torch.zeros(2)), op.call(torch.zeros(2, device="meta"))] == ["CPU", "Meta"]


def test_a_torch_type_that_is_taught_is_asked_by_the_users_function(dispatcher, needs):
    torch = needs("torch")

    class Own(torch.Tensor):
        pass

    register_tensor_type(Own, lambda value: "CUDA" if value.numel() > 1 else "CPU")
    op = dispatcher.register_schema("t::g(Tensor x) -> str")
    for key in ("CPU", "CUDA"):
        dispatcher.register_kernel(op, key, lambda x, key=key: key)
    tensors = [torch.ones(n).as_subclass(Own) for n in (1, 2, 1)] + [torch.ones(2)]
    assert [op.call(tensor) for tensor in tensors] == ["CPU", "CUDA", "CPU", "CPU"]


def test_every_sharding_of_a_jax_array_is_routed(dispatcher, jax):
    op = dispatcher.register_schema("t::g(Tensor x) -> str")
    dispatcher.register_kernel(op, "CPU", lambda x: "CPU")
    mesh = jax.sharding.Mesh(jax.devices("cpu")[:1], ("i",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    arrays = [jax.numpy.ones(2), jax.device_put(jax.numpy.ones(2), spread), jax.numpy.ones(3)]
    assert [op.call(array) for array in arrays * 2] == ["CPU"] * 6


def test_scipy_matrices_reach_the_sparse_kernel(dispatcher, needs):
    sparse, numpy = needs("scipy.sparse"), needs("numpy")
    op = dispatcher.register_schema("t::g(Tensor x) -> str")
    for key in ("CPU", "SparseCPU"):
        dispatcher.register_kernel(op, key, lambda x, key=key: key)
    dense = numpy.eye(2)
    assert [op.call(v) for v in (dense, sparse.csr_matrix(dense), sparse.csr_array(dense))] == [
        "CPU",
        "SparseCPU",
        "SparseCPU",
    ]


def test_an_error_of_a_key_function_comes_through(dispatcher):
    class Broken:
        pass

    def key_of(value):
        raise KeyError("no idea")

    register_tensor_type(Broken, key_of)
    op = dispatcher.register_schema("t::g(Tensor x) -> str")
    dispatcher.register_kernel(op, "CPU", lambda x: "CPU")
    for _ in range(2):
        with pytest.raises(KeyError, match="no idea"):
            op.call(Broken())


def test_teaching_a_type_reaches_tables_that_have_learned_already(dispatcher):
    class Parent:
        pass

    class Child(Parent):
        pass

    op = dispatcher.register_schema("t::g(Tensor x) -> str")
    for key in ("CPU", "CUDA"):
        dispatcher.register_kernel(op, key, lambda x, key=key: key)
    with pytest.raises(TypeError, match="no known tensor"):
        op.call(Child())
    register_tensor_type(Parent, "CPU")
    assert op.call(Child()) == "CPU"
    register_tensor_type(Child, "CUDA")
    assert [op.call(Child()), op.call(Parent())] == ["CUDA", "CPU"]
    register_tensor_type(Child, lambda value: "CPU")
    assert op.call(Child()) == "CPU"


def test_teaching_a_type_while_it_is_being_resolved_is_not_forgotten(dispatcher):
    class Teaching(type):
        @property
        def __module__(cls):
            if not taught:  # asked for when the type is resolved
                taught.append(cls)
                register_tensor_type(cls, "CPU")
            return "elsewhere"

    taught = []
    grid = Teaching("Grid", (), {})()
    op = dispatcher.register_schema("t::g(Tensor x) -> str")
    dispatcher.register_kernel(op, "CPU", lambda x: "CPU")
    assert key_of(grid) is None  # what it was when that was asked
    assert [op.call(grid), op.lookup(grid)(grid)] == ["CPU", "CPU"]


class Alike(type):
    """Of types that all claim to be one."""

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return 1


class Unhashable(type):
    def __eq__(cls, other):
        return True


class Raising(type):
    def __hash__(cls):
        raise KeyError(cls)


@pytest.mark.parametrize("metaclass", [Alike, Unhashable, Raising])
@pytest.mark.parametrize("schema", ["(Tensor x)", "(Tensor[] x)", "(Tensor? x)"])
def test_a_type_that_claims_to_be_another_gets_its_own_kernel(dispatcher, tensor, metaclass, schema):
    types = [metaclass(name, (type(tensor(name)),), {}) for name in ("CPU", "CUDA", "Meta")]
    op = dispatcher.register_schema(f"t::g{schema} -> str")
    for key in ("CPU", "CUDA"):
        dispatcher.register_kernel(op, key, lambda x, key=key: key)
    for _ in range(2):
        for own in types:
            x = [own()] if "[]" in schema else own()
            if own.__name__ == "Meta":
                with pytest.raises(NoKernelError, match="for dispatch key Meta"):
                    op.call(x)
            else:
                assert [op.call(x), op.lookup(x)(x)] == [own.__name__] * 2


@pytest.mark.parametrize("metaclass", [Alike, Unhashable, Raising])
def test_a_value_of_a_type_that_cannot_be_compared_is_no_tensor(dispatcher, metaclass):
    op = dispatcher.register_schema("t::g(Tensor x) -> str")
    dispatcher.register_kernel(op, "CPU", lambda x: "CPU")
    with pytest.raises(TypeError, match="which is no known tensor"):
        op.call(metaclass("Own", (), {})())


def test_the_dump_shows_the_table_in_use_with_what_was_overridden(op, dispatcher):
    def first(x, i):
        return 1

    def second(x, i):
        return 2

    dispatcher.register_kernel(op, "CUDA", second, site="c.py:3")
    dispatcher.register_kernel(op, "CPU", first, site="a.py:1")
    dispatcher.register_kernel(op, "CPU", second, override=True, site="b.py:2")
    local = "test_the_dump_shows_the_table_in_use_with_what_was_overridden.<locals>"
    assert op.dump().splitlines() == [
        SCHEMA,
        f"registered at {op.site}",
        f"CPU[1]: {local}.second (registered at b.py:2)",
        f"  overridden: CPU[1]: {local}.first (registered at a.py:1)",
        f"CUDA[2]: {local}.second (registered at c.py:3)",
    ]


def test_the_dump_lists_what_was_overridden_from_the_newest_to_the_oldest(op, dispatcher):
    for number in range(4):
        dispatcher.register_kernel(op, "CPU", lambda x, i: i, override=True, site=f"{number}.py:1")
    lines = op.dump().splitlines()[2:]
    assert [line.rpartition("registered at ")[2] for line in lines] == [
        f"{number}.py:1)" for number in (3, 2, 1, 0)
    ]
    assert [line.startswith("  overridden: ") for line in lines] == [False, True, True, True]


def test_a_table_without_kernels_says_so(op):
    assert op.dump().splitlines()[-1] == "no kernels"


@pytest.mark.parametrize("checked", [False, True])
def test_types_made_by_the_thousand_are_not_kept_alive(checked, tensor, alive, counted):
    dispatcher = Dispatcher(checked=checked)
    op = dispatcher.register_schema("t::many(Tensor x) -> Tensor")
    dispatcher.register_kernel(op, "CPU", lambda x: type(x)())
    for _ in range(1000):
        x = alive.track(type("Own", (type(tensor()),), {}))()
        op.call(x)
        op.lookup(x)
    del x
    gc.collect()
    assert len(alive) <= 600
