import contextlib

from c10cli.dispatch import OpSchemaRegistrar, define_op_schema, kernel_registration
from c10cli.dispatch.site import caller_site

LINE = "tests/dispatch/test_site.py:"


def test_the_site_is_the_file_and_line_of_the_caller():
    line = caller_site.__code__.co_firstlineno
    assert line > 0
    site, here = caller_site(), test_the_site_is_the_file_and_line_of_the_caller.__code__.co_firstlineno
    assert site == f"{__file__}:{here + 3}"


def test_every_way_to_register_names_the_users_line(dispatcher):
    op = dispatcher.register_schema("t::a(Tensor x) -> Tensor")
    registrar = OpSchemaRegistrar("t::b(Tensor x) -> Tensor", dispatcher)
    getter = define_op_schema("t::c(Tensor x) -> Tensor", dispatcher)
    kernel_registration(op).kernel(lambda x: x).dispatch_key("CPU").register()
    first = test_every_way_to_register_names_the_users_line.__code__.co_firstlineno
    sites = [op.site, registrar.op.site, getter().site]
    assert [site.partition(LINE)[2] for site in sites] == [str(first + n) for n in (1, 2, 3)]
    assert op.dump().endswith(f"{LINE}{first + 4})")


def test_a_path_that_only_begins_like_the_package_is_outside_of_it(tmp_path, dispatcher):
    from c10cli.dispatch import site

    neighbour = site._PACKAGE.rstrip("/\\") + "_plugins/plugin.py"
    source = "def register(): return dispatcher.register_schema('t::a(Tensor x) -> Tensor')"
    namespace = {"dispatcher": dispatcher}
    exec(compile(source, neighbour, "exec"), namespace)
    assert namespace["register"]().site == f"{neighbour}:1"


def test_a_site_may_be_given(dispatcher):
    op = dispatcher.register_schema("t::a(Tensor x) -> Tensor", site="registry.yaml:3:5")
    with contextlib.closing(dispatcher.register_kernel(op, "CPU", lambda x: x, site="registry.yaml:5:7")):
        assert "registry.yaml:5:7" in op.dump()
    assert op.site == "registry.yaml:3:5"
