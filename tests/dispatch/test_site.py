import contextlib

import pytest

from c10cli.dispatch.dispatcher import caller_site
from c10cli.dispatch.registration import OpSchemaRegistrar, define_op_schema, kernel_registration

LINE = "tests/dispatch/test_site.py:"


def test_the_site_is_the_file_and_line_of_the_caller():
    line = caller_site.__code__.co_firstlineno
    assert line > 0
    site, here = caller_site(), test_the_site_is_the_file_and_line_of_the_caller.__code__.co_firstlineno
    assert site.removesuffix(", package tests") == f"{__file__}:{here + 3}"


def test_every_way_to_register_names_the_users_line(dispatcher):
    op = dispatcher.register_schema("t::a(Tensor x) -> Tensor")
    registrar = OpSchemaRegistrar("t::b(Tensor x) -> Tensor", dispatcher)
    getter = define_op_schema("t::c(Tensor x) -> Tensor", dispatcher)
    kernel_registration(op).kernel(lambda x: x).dispatch_key("CPU").register()
    first = test_every_way_to_register_names_the_users_line.__code__.co_firstlineno
    said = [op.site, registrar.op.site, getter().site, op.dump().rstrip(")")]
    lines = [site.rpartition(LINE)[2].removesuffix(", package tests") for site in said]
    assert lines == [str(first + n) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("package", "said"),
    [("flash.ops", ", package flash"), ("flash", ", package flash"), ("", ""), (None, ""), (3, "")],
)
def test_a_site_in_a_package_names_it(dispatcher, package, said):
    source = "op = dispatcher.register_schema('t::a(Tensor x) -> Tensor')"
    namespace = {"dispatcher": dispatcher, "__package__": package}
    exec(compile(source, "ops.py", "exec"), namespace)
    assert namespace["op"].site == f"ops.py:1{said}"
    assert f"registered at ops.py:1{said}\n" in namespace["op"].dump()


def test_a_site_may_be_given(dispatcher):
    op = dispatcher.register_schema("t::a(Tensor x) -> Tensor", site="registry.yaml:3:5")
    with contextlib.closing(dispatcher.register_kernel(op, "CPU", lambda x: x, site="registry.yaml:5:7")):
        assert "registry.yaml:5:7" in op.dump()
    assert op.site == "registry.yaml:3:5"
