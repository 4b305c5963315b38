import pytest

from c10cli.errors import RegistrationError


def refusal(call, *args, **kwargs):
    with pytest.raises(RegistrationError) as caught:
        call(*args, **kwargs)
    return caught.value


def test_an_identity_registered_twice_names_both_places(dispatcher, shown):
    first = dispatcher.register_schema("t::f.ov(Tensor x) -> Tensor")
    error = refusal(dispatcher.register_schema, "t::f.ov(Tensor x) -> Tensor")
    assert shown(error) == (
        "error[C10E301] operator `t::f.ov` is registered already, with the same schema\n"
        "--> FILE:N\n"
        "note: the first is registered at FILE:N\n"
        "note: the second comes from FILE:N\n"
        "help: register it once and share the handle"
    )
    assert error.sites[0] == first.site
    assert error.sites[1] != first.site
    assert error.operator == "t::f.ov"
    assert dispatcher.operators() == [first]


def test_an_identity_with_another_schema_says_what_differs_field_by_field(dispatcher, shown):
    dispatcher.register_schema("t::f(Tensor x, int a=1, int b=0) -> Tensor", site="a.py:1")
    error = refusal(
        dispatcher.register_schema, "t::f(Tensor y, float a=1.0, *, int b=0) -> (Tensor, int)", site="b.py:2"
    )
    assert shown(error) == (
        "error[C10E301] operator `t::f` is registered already, with another schema\n"
        "--> FILE:N\n"
        "note: the first is registered at FILE:N\n"
        "note: the second comes from FILE:N\n"
        "note: the first is t::f(Tensor x, int a=1, int b=0) -> Tensor\n"
        "note: the second is t::f(Tensor y, float a=1.0, *, int b=0) -> (Tensor, int)\n"
        "note: argument 0 is `Tensor x` in the first and `Tensor y` in the second\n"
        "note: argument 1 is `int a=1` in the first and `float a=1.0` in the second\n"
        "note: argument 2 is `int b=0` in the first and keyword-only `int b=0` in the second\n"
        "note: return 1 is absent in the first and `int` in the second\n"
        "help: give the second one an overload name"
    )
    assert error.sites == ("a.py:1", "b.py:2")
    assert error.diagnostics[0].place == "b.py:2"
    assert error.diagnostics[0].notes[:2] == (
        "the first is registered at a.py:1",
        "the second comes from b.py:2",
    )


def test_many_differences_do_not_make_a_long_error(dispatcher, shown):
    many = ", ".join(f"int a{i}" for i in range(30))
    dispatcher.register_schema(f"t::f(Tensor x, {many}) -> ()")
    text = shown(refusal(dispatcher.register_schema, f"t::f(Tensor x, {many.replace('int', 'float')}) -> ()"))
    assert "note: and 25 more\n" in text


def test_a_second_kernel_at_a_key_names_both_places_and_the_first_stays(dispatcher, x, shown):
    def first(x):
        return 1

    def second(x):
        return 2

    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    dispatcher.register_kernel(op, "CPU", first)
    for kernel in (second, first):
        error = refusal(dispatcher.register_kernel, op, "CPU", kernel)
    local = "test_a_second_kernel_at_a_key_names_both_places_and_the_first_stays.<locals>"
    assert shown(error) == (
        f"error[C10E302] `t::f` has a kernel for dispatch key CPU[1] already: `{local}.first`\n"
        "--> FILE:N\n"
        f"note: `{local}.first` is registered at FILE:N, and it stays\n"
        f"note: `{local}.first` comes from FILE:N\n"
        "help: deregister the first, or pass override=True"
    )
    assert (error.operator, error.dispatch_key.name, len(set(error.sites))) == ("t::f", "CPU", 2)
    assert op.call(x) == 1


def test_a_second_kernel_at_a_key_is_told_of_the_one_that_serves(dispatcher):
    op = dispatcher.register_schema("t::f(Tensor x) -> Tensor")
    for kernel in (len, abs):
        dispatcher.register_kernel(op, "CPU", kernel, override=True, site=f"{kernel.__name__}.py:1")
    error = refusal(dispatcher.register_kernel, op, "CPU", id, site="id.py:3")
    assert error.sites == ("abs.py:1", "id.py:3")
    (diagnostic,) = error.diagnostics
    assert (diagnostic.place, diagnostic.notes) == (
        "id.py:3",
        ("`abs` is registered at abs.py:1, and it stays", "`id` comes from id.py:3"),
    )


def test_deregistering_a_schema_with_kernels_names_them_and_changes_nothing(dispatcher, x, shown):
    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    for key in ("CUDA", "CPU"):
        dispatcher.register_kernel(op, key, len if key == "CUDA" else lambda x: 1, site=f"{key}.py:1")
    table = op.table()
    error = refusal(dispatcher.deregister_schema, op)
    local = "test_deregistering_a_schema_with_kernels_names_them_and_changes_nothing.<locals>.<lambda>"
    assert shown(error) == (
        "error[C10E307] the schema of `t::f` cannot be deregistered while kernels are registered for "
        "CPU[1], CUDA[2]\n"
        f"note: CPU[1]: {local} (registered at FILE:N)\n"
        "note: CUDA[2]: len (registered at FILE:N)\n"
        "help: deregister the kernels first"
    )
    assert "registered at CPU.py:1" in error.diagnostics[0].notes[0]
    assert (error.operator, [key.name for key in error.registered_keys]) == ("t::f", ["CPU", "CUDA"])
    assert (op.table(), dispatcher.find("t::f"), op.call(x)) == (table, op, 1)


@pytest.mark.parametrize(
    ("kernels", "last", "lines"), [(8, "overridden", 8), (9, "and 2 more", 8), (40, "and 33 more", 8)]
)
def test_of_many_kernels_eight_lines_are_shown_and_the_last_says_how_many_more(
    dispatcher, kernels, last, lines
):
    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    for _ in range(kernels):
        dispatcher.register_kernel(op, "CPU", len, override=True)
    for error in (
        refusal(dispatcher.deregister_schema, op),
        refusal(dispatcher.deregister_kernel, op, "XLA"),
    ):
        notes = error.diagnostics[0].notes
        assert (len(notes), last in notes[-1]) == (lines, True)


@pytest.mark.parametrize(("keys", "listed"), [((), "none"), (("CUDA", "CPU"), "CPU[1], CUDA[2]")])
def test_deregistering_an_absent_kernel_names_the_keys_that_there_are(dispatcher, keys, listed, shown):
    op = dispatcher.register_schema("t::f(Tensor x) -> int")
    for key in keys:
        dispatcher.register_kernel(op, key, len)
    error = refusal(dispatcher.deregister_kernel, op, "XLA")
    assert shown(error) == "\n".join(
        [
            "error[C10E308] `t::f` has no kernel for dispatch key XLA[6] to deregister; "
            f"registered: {listed}",
            *[f"note: {key}: len (registered at FILE:N)" for key in listed.split(", ") if keys],
            "help: close the registrar that registering gave, which knows whether its kernel is still there",
        ]
    )
    assert [key.name for key in error.registered_keys] == sorted(keys)


def test_an_operator_of_another_dispatcher_is_refused(dispatcher, shown):
    from c10cli.dispatch.dispatcher import Dispatcher

    op = Dispatcher().register_schema("t::f(Tensor x) -> int")
    for call in (
        lambda: dispatcher.register_kernel(op, "CPU", len),
        lambda: dispatcher.deregister_kernel(op, "CPU"),
        lambda: dispatcher.deregister_schema(op),
        lambda: dispatcher.lookup(op, []),
    ):
        error = refusal(call)
        assert shown(error) == (
            "error[C10E303] `t::f` belongs to another dispatcher\nhelp: find it in this one first"
        )
        assert error.operator == "t::f"
